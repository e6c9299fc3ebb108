"""
strace's text, read back into calls.

The log is taken with FLAGS: every string in hexadecimal (-xx), constants as
numbers (-X raw), descriptors with their paths (-y). A call that another
thread's line interrupts is printed in two halves, `<unfinished ...>` and
`<... resumed>`; both halves matter, for what happened lies between them.
parse() therefore yields each call twice, when it is entered and when it
returns, in the order of the log.
"""

import re
import subprocess

# All that changes content or names, and all that moves what those calls
# depend on: descriptors, offsets, working directories, processes.
CALLS = """
open openat openat2 creat close close_range dup dup2 dup3 fcntl ioctl
read readv write pwrite64 writev pwritev pwritev2 lseek
sendfile splice copy_file_range fallocate truncate ftruncate
rename renameat renameat2 unlink unlinkat rmdir mkdir mkdirat
mknod mknodat bind link linkat symlink symlinkat
chmod fchmod fchmodat fchmodat2 chown lchown fchown fchownat
utime utimes utimensat futimesat
setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr
mmap msync
fork vfork clone clone3 execve execveat chdir fchdir prctl
setuid setreuid setresuid
""".split()

FLAGS = ["-f", "--seccomp-bpf", "-ttt", "-y", "-xx", "-X", "raw", "-s", "256",
         "-a", "1", "-e", "trace=" + ",".join("?" + c for c in CALLS)]


def command(log, argv):
    """The command line that runs `argv` traced into the file `log`."""
    return ["strace", *FLAGS, "-o", str(log), "--", *argv]


def unavailable():
    """Why processes cannot be traced here; None if they can."""
    try:
        r = subprocess.run(command("/dev/null", ["true"]), text=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    except FileNotFoundError:
        return "strace is not installed"
    if r.returncode:
        return "strace cannot trace here: " + r.stderr.strip()
    return None


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[({]|[\])}]|, |[^"\[\](){},]+|,')
_FD = re.compile(r"(-?\d+)(?:<(.*)>(\(deleted\))?)?$", re.S)
_INT = re.compile(r"-?(?:0x[0-9a-f]+|\d+)")
_ESCAPE = re.compile(rb"\\(x[0-9a-f]{2}|[0-7]{1,3}|.)", re.S)
_PLAIN = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"f": b"\f", b"v": b"\v",
          b"a": b"\a", b"b": b"\b", b"e": b"\x1b"}


def split(text):
    """Arguments, at the commas outside quotes and brackets."""
    out, depth, cur = [], 0, []
    for tok in _TOKEN.findall(text):
        if tok == ", " and depth == 0:
            out.append("".join(cur))
            cur = []
            continue
        if tok in "[({":
            depth += 1
        elif tok in "])}":
            depth -= 1
        cur.append(tok)
    if cur or out:
        out.append("".join(cur))
    return [a.strip() for a in out]


def unescape(text):
    def one(m):
        e = m[1]
        if e[:1] == b"x":
            return bytes([int(e[1:], 16)])
        if e[:1].isdigit():
            return bytes([int(e, 8)])
        return _PLAIN.get(e, e)
    return _ESCAPE.sub(one, text.encode("utf-8", "surrogateescape"))


def string(arg):
    """The bytes of a quoted argument; None for NULL or an address."""
    if not arg.startswith('"'):
        return None
    return unescape(arg[1:arg.rindex('"')])


def strings(arg):
    """All quoted strings in an array or struct."""
    return [unescape(m) for m in re.findall(r'"((?:[^"\\]|\\.)*)"', arg)]


def number(arg):
    """The first number of an argument, with `|` taken as the sum of bits."""
    total = 0
    found = _INT.match(arg.lstrip("["))
    if not found:
        return None
    for part in arg.lstrip("[").split("|"):
        m = _INT.match(part)
        if not m:
            break
        text = m[0]
        octal = text.lstrip("-").startswith("0") and text.isdigit()
        total |= int(text, 8 if octal else 0)
    return total


def fd(arg):
    """(descriptor, path or None) of `3<path>`."""
    m = _FD.match(arg)
    if not m:
        return None, None
    path = unescape(m[2]) if m[2] is not None else None
    return int(m[1]), path


class Call:
    """One system call of one thread. `end` is None until it returns."""

    __slots__ = ("tid", "name", "text", "ret", "ret_path", "err", "begin",
                 "end", "_args")

    def __init__(self, tid, name, text, begin):
        self.tid, self.name, self.text, self.begin = tid, name, text, begin
        self.end = self.ret = self.ret_path = self.err = self._args = None

    @property
    def args(self):
        if self._args is None or self.end is None:
            self._args = split(self.text)
        return self._args

    @property
    def ok(self):
        return self.ret is not None and self.err is None

    def finish(self, text, end):
        self.end = end
        m = re.match(r"(\?|-?0x[0-9a-f]+|-?\d+)(?:<(.*?)>(?:\(deleted\))?)?"
                     r"(?:\s+(E[A-Z0-9]+)\b)?", text)
        if not m:
            raise ValueError(f"line {end + 1}: result {text!r}")
        self.ret = None if m[1] == "?" else int(m[1], 0)
        self.ret_path = unescape(m[2]) if m[2] else None
        self.err = m[3]

    def __repr__(self):
        res = f"{self.ret} {self.err or ''}" if self.end else "unfinished"
        text = re.sub(r"(?:\\x[0-9a-f]{2})+",
                      lambda m: repr(unescape(m[0]))[2:-1], self.text)
        return f"[{self.tid}] {self.name}({text[:200]}) = {res.strip()}"


_LINE = re.compile(r"(\d+)\s+(?:\d+\.\d+\s+)?(.*)", re.S)
_RESUMED = re.compile(r"<\.\.\. (\w+) resumed>,?\s?(.*)", re.S)
_CALL = re.compile(r"(\w+)\((.*)", re.S)
_SUPERSEDED = re.compile(r"\+\+\+ superseded by execve in pid (\d+)")
UNFINISHED = " <unfinished ...>"


def parse(lines):
    """
    Yield ("enter", call), ("exit", call), ("gone", tid) and
    ("became", old tid, new tid) in the order of the log.
    """
    open_calls = {}
    for at, line in enumerate(lines):
        m = _LINE.match(line.rstrip("\n"))
        if not m:
            raise ValueError(f"line {at + 1}: {line!r}")
        tid, rest = int(m[1]), m[2]
        if rest.startswith("+++"):
            s = _SUPERSEDED.match(rest)
            if s:
                # The leader is replaced by the thread that called execve.
                call = open_calls.pop(int(s[1]), None)
                if call:
                    call.tid = tid
                    open_calls[tid] = call
                yield "became", int(s[1]), tid
            else:
                open_calls.pop(tid, None)
                yield "gone", tid
            continue
        # Signals, and calls that a killed thread never made.
        if rest.startswith(("---", "???(")):
            continue
        r = _RESUMED.match(rest)
        if r:
            call = open_calls.pop(tid, None)
            if call is None or call.name != r[1]:
                raise ValueError(f"line {at + 1}: {r[1]} was not entered")
            tail = r[2]
        else:
            c = _CALL.match(rest)
            if not c:
                raise ValueError(f"line {at + 1}: {line!r}")
            call, tail = Call(tid, c[1], "", at), c[2]
        if tail.endswith(UNFINISHED):
            call.text += tail[:-len(UNFINISHED)].rstrip()
            if call.text and not call.text.endswith(","):
                call.text += ","
            call.text += " "
            open_calls[tid] = call
            yield "enter", call
            continue
        args, eq, result = tail.rpartition(") = ")
        if not eq:
            raise ValueError(f"line {at + 1}: no result in {line!r}")
        call.text = (call.text + args).strip().rstrip(",")
        if not r:
            yield "enter", call
        call.finish(result, at)
        yield "exit", call

"""Support for end-to-end cases: a scratch directory, a mount, and clean-up.

    import st

    def a_write_is_logged():
        with st.Mount() as m:
            with open(m.path + "/a", "w") as f:
                f.write("x")
            assert any(l["op"] == "write" for l in m.journal())

    st.main(a_write_is_logged)

A case never sees the user's state: XDG directories are made for each Home.
A Mount always unmounts, and touches no process that it did not start. Paths
are str with surrogate escapes, so any bytes go.
"""

import contextlib
import ctypes
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

STATETAPE = os.environ.get("STATETAPE") or shutil.which("statetape")
NOBODY = 65534
_libc = ctypes.CDLL(None, use_errno=True)
# Generous: a slow machine must not fail a case, only a hung one.
DEADLINE = float(os.environ.get("ST_DEADLINE", "60"))

for _stream in (sys.stdout, sys.stderr):
    _stream.reconfigure(errors="backslashreplace", line_buffering=True)

# Ignored in the background of a script, or under nohup; and what is ignored is
# so for all that are started here, agents among them.
for _number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
    if signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, signal.default_int_handler
                      if _number == signal.SIGINT else signal.SIG_DFL)


# -- outcomes ---------------------------------------------------------------

class Skip(SystemExit):
    """Uncaught, it ends the script with 77; main() counts it per case."""

    def __init__(self, reason):
        super().__init__(77)
        self.reason = reason


def skip(reason):
    """This machine lacks what the case needs."""
    print("skip:", reason)
    raise Skip(reason)


def main(*cases):
    """Run the cases (those named on the command line, if any) and exit: 1 if
    one failed, 77 if all were skipped, 0 otherwise."""
    wanted = sys.argv[1:]
    failed, skipped, ran = [], [], 0
    for case in cases:
        if wanted and case.__name__ not in wanted:
            continue
        ran += 1
        begin = time.monotonic()
        try:
            case()
            print("ok   %s (%.1f s)" % (case.__name__,
                                        time.monotonic() - begin))
        except Skip:
            print("skip", case.__name__)
            skipped.append(case.__name__)
        except Exception:  # a failing case must not hide the next
            print("FAIL", case.__name__)
            traceback.print_exc()
            failed.append(case.__name__)
    if not ran:
        print("no such case:", *wanted)
        sys.exit(2)
    print("%d ran, %d skipped, %d failed%s" % (
        ran, len(skipped), len(failed), "".join(": " + f for f in failed)))
    sys.stdout.flush()
    sys.exit(1 if failed else 77 if len(skipped) == ran else 0)


def eventually(truth, what, deadline=DEADLINE):
    """Wait until truth() is true and return what it returned."""
    end = time.monotonic() + deadline
    while True:
        value = truth()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError("never happened: " + what)
        time.sleep(0.01)


# -- what this machine can do -----------------------------------------------

def is_root():
    return os.geteuid() == 0


def have_fuse():
    """True if we can mount: /dev/fuse opens, or fusermount3 mounts for us."""
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC))
        return True
    except OSError:
        return os.path.exists("/dev/fuse") and bool(which("fusermount3"))


def which(tool):
    return shutil.which(tool)


def need(*tools):
    for tool in tools:
        if not which(tool):
            skip(tool + " is not installed")


def need_fuse():
    if not have_fuse():
        skip("/dev/fuse cannot be used here")


def all_stopped(pid):
    """Each thread of the process has stopped."""
    for task in os.listdir("/proc/%d/task" % pid):
        with contextlib.suppress(OSError), \
                open("/proc/%d/task/%s/stat" % (pid, task)) as f:
            if f.read().rsplit(")", 1)[1].split()[0] != "T":
                return False
    return True


def need_root(why="this case"):
    if not is_root():
        skip(why + " needs root")


def as_user(uid=NOBODY):
    """Prefix that runs a command as an ordinary user without groups."""
    need_root("becoming another user")
    need("setpriv")
    return ["setpriv", "--reuid=%d" % uid, "--regid=%d" % uid,
            "--clear-groups", "--"]


def own_mounts():
    """From here on this process and its children have a mount namespace of
    their own; whatever they mount goes with the last of them."""
    need_root("a mount namespace")
    need("mount")
    clone_newns = 0x20000
    if _libc.unshare(clone_newns) != 0:
        skip("a mount namespace cannot be made here")
    if not can_run("mount", "--make-rprivate", "/"):
        skip("mounts cannot be made private here")


def open_fuse_device():
    """Give this process and its children a /dev/fuse that every user may
    open, as it is on most systems, whatever its mode is here."""
    own_mounts()
    top = tempfile.mkdtemp(prefix="st.dev.")
    try:
        node = top + "/fuse"
        if not can_run("mount", "-t", "tmpfs", "none", top):
            skip("a tmpfs cannot be mounted here")
        os.mknod(node, 0o020666, os.makedev(10, 229))
        os.chmod(node, 0o666)
        if not can_run("mount", "--bind", node, "/dev/fuse") or \
                not can_run(*as_user(), "sh", "-c", ": <>/dev/fuse"):
            skip("a /dev/fuse for all users cannot be made here")
    except OSError as e:
        skip("a /dev/fuse for all users cannot be made here: %s" % e)
    finally:
        can_run("umount", "-l", top)
        os.rmdir(top)


def can_run(*argv):
    """True if the command succeeds, for probing features."""
    return subprocess.run(argv, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode == 0


# -- processes and mounts ---------------------------------------------------

def alive(pid):
    """True while the process runs; a zombie does not, unless it is only the
    first thread of several that has ended."""
    try:
        with open("/proc/%d/stat" % pid, "rb") as f:
            state = f.read().rsplit(b")", 1)[1].split()[0]
        return state not in (b"Z", b"X") or \
            len(os.listdir("/proc/%d/task" % pid)) > 1
    except OSError:
        return False


def children(pid):
    """Living children of `pid`, oldest number first."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open("/proc/%s/stat" % name, "rb") as f:
                state, ppid = f.read().rsplit(b")", 1)[1].split()[:2]
        except OSError:
            continue
        if int(ppid) == pid and state not in (b"Z", b"X"):
            found.append(int(name))
    return sorted(found)


def _unescape(field):
    return os.fsdecode(re.sub(rb"\\([0-7]{3})",
                              lambda m: bytes([int(m.group(1), 8)]), field))


def mounts(pid="self"):
    """[(mountpoint, type, source)], topmost last."""
    table = []
    with open("/proc/%s/mountinfo" % pid, "rb") as f:
        for line in f.read().split(b"\n"):
            if not line:
                continue
            left, right = line.split(b" - ", 1)
            right = right.split(b" ")
            table.append((_unescape(left.split(b" ")[4]),
                          _unescape(right[0]), _unescape(right[1])))
    return table


def mounted(path, pid="self"):
    """True if a statetape mount is the topmost one at `path`."""
    kinds = [t for p, t, _ in mounts(pid) if p == os.path.realpath(path)]
    return bool(kinds) and kinds[-1] == "fuse.statetape"


def _mounted_below(top):
    top = os.path.realpath(top)
    return [p for p, _, _ in mounts() if p == top or p.startswith(top + "/")]


def detach_below(top):
    """Lazily unmount everything at or below `top`, deepest and newest first."""
    for path in reversed(_mounted_below(top)):
        if not can_run("umount", "-l", path):
            can_run("fusermount3", "-uz", path)


def _die_with_us():
    """A case killed for its time must not leave a mount: TERM ends it."""
    pr_set_pdeathsig = 1
    _libc.prctl(pr_set_pdeathsig, signal.SIGTERM)


# -- scratch directories ---------------------------------------------------

class Home:
    """A scratch directory with private XDG directories, and `statetape` run
    with them. With `uid`, everything belongs to and runs as that user."""

    def __init__(self, uid=None):
        self.top = os.path.realpath(tempfile.mkdtemp(prefix="st."))
        self.prefix = as_user(uid) if uid is not None else []
        self.uid = uid
        os.chmod(self.top, 0o755)
        self.env = dict(os.environ)
        for name in ("STATE_HOME", "RUNTIME_DIR", "CACHE_HOME",
                     "CONFIG_HOME"):
            self.env["XDG_" + name] = self.mkdir("xdg/" + name[0].lower())
        self.env["HOME"] = self.mkdir("home")
        self.binary = STATETAPE
        if uid is not None:
            os.chown(self.top, uid, uid)
            if STATETAPE:  # it may be built where that user cannot go
                self.binary = shutil.copy(STATETAPE, self.top + "/statetape")

    def mkdir(self, name):
        """A directory below the scratch directory, its owner the user."""
        path = self.top
        for part in name.split("/"):
            path = path + "/" + part
            with contextlib.suppress(FileExistsError):
                os.mkdir(path, 0o755)
                if self.uid is not None:
                    os.chown(path, self.uid, self.uid)
        return path

    def argv(self, *args):
        if not STATETAPE:
            skip("STATETAPE does not name the binary and it is not installed")
        return self.prefix + [self.binary] + list(args)

    def run(self, *args, check=False, **kw):
        """statetape ARGS... to its end; .stdout and .stderr are text."""
        kw.setdefault("timeout", DEADLINE)
        r = subprocess.run(self.argv(*args), env=self.env, text=True,
                           errors="surrogateescape",
                           stdin=subprocess.DEVNULL, capture_output=True,
                           **kw)
        if check and r.returncode != 0:
            raise AssertionError("statetape %s: exit %d\n%s%s" % (
                " ".join(args), r.returncode, r.stdout, r.stderr))
        return r

    def start(self, *args, **kw):
        """statetape ARGS... in the background, to be waited for by the
        caller; it gets SIGTERM when this script dies."""
        return subprocess.Popen(self.argv(*args), env=self.env,
                                preexec_fn=_die_with_us, **kw)

    def state_dirs(self):
        """State directories of all repositories known here."""
        top = self.env["XDG_STATE_HOME"] + "/statetape"
        return [top + "/" + n for n in os.listdir(top)] \
            if os.path.isdir(top) else []

    def close(self):
        detach_below(self.top)
        shutil.rmtree(self.top, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()


# -- a mount ----------------------------------------------------------------

# An unexpected suspicious word in the log fails the case.
SUSPICIOUS = re.compile(r"error|warning|AddressSanitizer|ThreadSanitizer"
                        r"|LeakSanitizer|runtime error:|assert", re.I)


class Mount:
    """`statetape mount --foreground`, ready to be used inside `with`.

    repo        directory to mount; None: a new one (m.repo)
    mountpoint  None: over the repository itself; True: a new directory
    args        further options of `mount`
    home        a Home to share with other mounts; None: its own
    expect_log  regular expression of suspicious log lines that are all right
    broken      True: the case kills it, so its exit status does not matter

    m.path      the mountpoint: where observed work is done
    m.below     the directory below it, past the mount, for any process
    m.below_fd  its descriptor
    m.pid       the guard's process id; m.fs_pid the file system's
    """

    def __init__(self, repo=None, mountpoint=None, args=(), home=None,
                 uid=None, expect_log=None, broken=False):
        self._own_home = home is None
        self._repo, self._mountpoint = repo, mountpoint
        self._args, self._home, self._uid = list(args), home, uid
        self._expect_log, self.broken = expect_log, broken
        self.proc, self.below_fd = None, -1

    def __enter__(self):
        need_fuse()
        self.home = self._home or Home(self._uid)
        try:
            self._start()
        except BaseException:
            self._stop()
            self._release()
            raise
        return self

    def __exit__(self, kind, exc, tb):
        try:
            self._stop()
            if kind is None or issubclass(kind, Exception):
                self._verdict(kind)
        finally:
            self._release()

    def _start(self):
        self.repo = self._repo or self.home.mkdir("repo")
        self.path = self.repo
        if self._mountpoint:
            self.path = self._mountpoint if self._mountpoint is not True \
                else self.home.mkdir("mnt")
        self.below_fd = os.open(self.repo, os.O_RDONLY | os.O_DIRECTORY)
        self.below = "/proc/%d/fd/%d" % (os.getpid(), self.below_fd)
        fd, self.log_path = tempfile.mkstemp(prefix="log.", dir=self.home.top)
        with os.fdopen(fd, "wb") as log:
            self.proc = self.home.start(
                "mount", "--foreground", *self._args, self.repo,
                *([self.path] if self._mountpoint else []),
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)
        self.pid = self.proc.pid
        # The one line on stdout is printed when the mount is served.
        self.banner = os.fsdecode(self.proc.stdout.readline())
        if not self.banner.startswith("mounted "):
            self.proc.wait(DEADLINE)
            raise AssertionError("mount failed: " + self.log())

    @property
    def fs_pid(self):
        found = children(self.pid)
        assert len(found) == 1, "guard has children %r" % found
        return found[0]

    def log(self):
        """The stderr of guard and file system so far."""
        with open(self.log_path, errors="backslashreplace") as f:
            return f.read()

    def journal(self, since=0, *args):
        """The journal's lines after number `since`, as dictionaries."""
        r = self.home.run("journal", "--json", "--since", str(since), *args,
                          self.repo, check=True)
        return [json.loads(line) for line in r.stdout.splitlines()]

    def head(self):
        """Number of the newest line."""
        return self.status()["journal"]["head"]

    def status(self):
        r = self.home.run("status", "--json", self.repo, check=True)
        return json.loads(r.stdout)

    def reads(self, *args):
        """The read sets, from `statetape reads --json`."""
        r = self.home.run("reads", "--json", *args, self.repo, check=True)
        return json.loads(r.stdout)

    def umount(self, *args):
        return self.home.run("umount", *args, self.path)

    @contextlib.contextmanager
    def still(self):
        """The file system process does nothing meanwhile."""
        pid = self.fs_pid
        os.kill(pid, signal.SIGSTOP)
        try:
            eventually(lambda: all_stopped(pid), "each thread has stopped")
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    def _stop(self):
        """Orderly if possible, by force if not; nothing stays mounted."""
        if not self.proc:
            return
        pids = [self.pid] + children(self.pid)
        if self.proc.poll() is None and mounted(self.path):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.umount("--lazy")
        if self.proc.poll() is None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.proc.wait(DEADLINE / 2)
        for pid in pids:
            if self.proc.poll() is None and alive(pid):
                self.broken = self.broken or "had to be killed"
                os.kill(pid, signal.SIGKILL)
        if mounted(self.path):
            detach_below(self.path)
        self.proc.wait(DEADLINE)
        self.proc.stdout.close()

    def _verdict(self, failed):
        log = self.log()
        if failed:
            print("-- log of the failed mount:\n" + log, file=sys.stderr)
            return
        if self.broken == "had to be killed":
            raise AssertionError("the mount did not end by itself:\n" + log)
        if not self.broken and self.proc.returncode != 0:
            raise AssertionError("the mount ended with %d:\n%s" % (
                self.proc.returncode, log))
        for line in log.splitlines():
            if SUSPICIOUS.search(line) and not (
                    self._expect_log and re.search(self._expect_log, line)):
                raise AssertionError("suspicious log line: %s\n%s" % (
                    line, log))

    def _release(self):
        if self.below_fd >= 0:
            os.close(self.below_fd)
            self.below_fd = -1
        if self._own_home:
            self.home.close()

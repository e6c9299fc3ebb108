"""
The journal against the oracle, both ways.

A thread makes one call at a time and each call's line is written before the
call returns, so the lines of one thread stand in the order of its calls.
Hence no search for the best pairing: per thread, walk both lists together.
A call without a line is "missing"; a line that no call explains is "not seen
by strace"; the rest are pairs whose pid, path, offset, length and author must
agree.

Two kinds of line have no call of their own and are placed by their file:
write-back of a shared mapping (allowed only inside a range that was mapped
shared and writable) and the release of a handle that could write (one for
each open that could).
"""

import os

from .tree import NAMELESS

# The kernel cuts a write that is larger than a request, or that does not start
# on a page's boundary, into several: at a boundary, or, if it passes the page
# cache by, where the caller's memory has filled as many pages as it can take.
PAGE = 4096
REQUEST = 1 << 20
OF_ITSELF = ("session", "actor", "gap")


class Author:
    """A process as the journal names it."""

    def __init__(self, pid, comm, cmdline, parent=None, session_root=False):
        self.pid, self.comm, self.cmdline = pid, comm, cmdline
        self.parent, self.session_root = parent, session_root

    def chain(self):
        a, out = self, []
        while a is not None and len(out) < 1000:
            out.append(a)
            a = a.parent
        return out


class Line:
    """One line of the journal."""

    def __init__(self, n, op, path, path2=None, off=None, len=None, res=0,
                 pid=0, tid=0, ino=0, detail=None, author=None, uid=None):
        self.n, self.op, self.path, self.path2 = n, op, path, path2
        self.off, self.len, self.res = off, len, res
        self.pid, self.tid, self.ino = pid, tid, ino
        self.detail, self.author, self.uid = detail, author, uid

    def __repr__(self):
        more = ""
        if self.path2 is not None:
            more += f" -> {os.fsdecode(self.path2)!r}"
        if self.off is not None:
            more += f" off={self.off}"
        if self.len is not None:
            more += f" len={self.len}"
        if self.detail:
            more += f" ({self.detail})"
        who = self.author.comm if self.author else b"?"
        return (f"#{self.n} {self.op} {os.fsdecode(self.path)!r}{more} "
                f"by {self.pid}/{self.tid} [{os.fsdecode(who)}]")


class Matcher:
    """
    `root_pid`: the process every author's ancestors must lead to; None skips
    that check. compare() gives the list of differences, empty when the
    journal is right.
    """

    def __init__(self, model, lines, root_pid=None):
        self.model, self.root_pid = model, root_pid
        self.lines = [x for x in lines
                      if x.op not in OF_ITSELF and x.res >= 0]
        self.problems = []
        self.pairs = []

    def compare(self):
        by_tid, expected = {}, {}
        for x in self.lines:
            if x.op not in ("mmap", "close"):
                by_tid.setdefault(x.tid, []).append(x)
        for e in self.model.events:
            expected.setdefault(e.tid, []).append(e)
        for tid in sorted(by_tid.keys() | expected.keys()):
            self._thread(expected.get(tid, []), by_tid.get(tid, []))
        self._appends()
        self._mappings()
        self._closes()
        return self.problems

    def _problem(self, what, thing, *more):
        text = f"{what}: {thing}"
        for m in more:
            text += f"\n    {m}"
        self.problems.append(text)

    # Calls

    def _thread(self, expected, lines):
        at = 0
        for e in expected:
            if e.maybe:
                at = self._take_maybe(e, lines, at)
                continue
            here = self._find(e, lines, at)
            if here is None:
                self._problem("missing", e, e.call)
                continue
            for x in lines[at:here]:
                self._problem("not seen by strace", x)
            at = self._take(e, lines, here)
        for x in lines[at:]:
            self._problem("not seen by strace", x)

    @staticmethod
    def _ops(e):
        # Between two files of one file system the kernel may copy by itself.
        return ("copy", "write") if e.op == "copy" else (e.op,)

    def _same(self, e, x):
        """Is this line about that call (if perhaps wrong in details)?"""
        return (x.op in self._ops(e) and
                x.path in e.paths and
                (e.off is None or x.off == e.off) and
                (e.off is None or e.len is None or x.len <= e.len))

    def _find(self, e, lines, at):
        for i in range(at, len(lines)):
            if self._same(e, lines[i]):
                return i
        return None

    def _take_maybe(self, e, lines, at):
        while at < len(lines) and self._same(e, lines[at]):
            at += 1
        return at

    def _take(self, e, lines, at):
        """Pair `e` with the line, or the adjacent lines, that record it."""
        first = lines[at]
        self._check(e, first)
        self.pairs.append((e, first))
        at += 1
        if e.op not in ("write", "copy"):
            return at
        x, got, end = first, first.len, first.off + first.len
        while got < e.len and at < len(lines) and \
                (e.split or end % PAGE == 0 or x.len > REQUEST - PAGE):
            x = lines[at]
            if x.op != first.op or x.path not in e.paths or x.off != end \
                    or got + x.len > e.len:
                break
            self._check(e, x)
            got, end, at = got + x.len, end + x.len, at + 1
        if got != e.len:
            self._problem(f"{got} bytes in the journal", e, first)
        return at

    def _check(self, e, x):
        bad = []
        if x.pid != e.pid:
            bad.append(f"pid {x.pid}, not {e.pid}")
        if x.uid != e.uid:
            bad.append(f"uid {x.uid}, not {e.uid}")
        if e.paths2 and x.op != "write" and x.path2 not in e.paths2:
            bad.append(f"second path {x.path2!r}")
        if e.op not in ("write", "copy") and (x.off, x.len) != (e.off, e.len):
            bad.append(f"range {x.off}, {x.len}, not {e.off}, {e.len}")
        if e.detail is not None and x.detail != e.detail:
            bad.append(f"detail {x.detail!r}, not {e.detail!r}")
        bad += self._check_author(e, x.author)
        if bad:
            self._problem("wrong " + ", ".join(bad), e, x)

    def _check_author(self, e, a):
        if a is None:
            return ["author: none"]
        bad = []
        if a.pid != e.pid:
            bad.append(f"author pid {a.pid}")
        if a.comm != e.comm:
            bad.append(f"author comm {a.comm!r}, not {e.comm!r}")
        if not self._cmdline_agrees(e, a.cmdline):
            bad.append(f"author command line {a.cmdline!r}")
        if self.root_pid is not None:
            bad += self._check_chain(e, a.chain())
        return bad

    @staticmethod
    def _cmdline_agrees(e, cmdline):
        # strace prints the first 256 bytes of an argument, and a script runs
        # as its interpreter with the script's path put before the arguments.
        # `mkdir -p a/b` cuts its own arguments at the slashes while it works,
        # and what /proc shows is the process's own memory.
        def words(*args):
            return b" ".join(a[:250] for a in args).replace(b"/", b" ").split()
        said = words(*e.argv)
        script = words(e.exe, *e.argv[1:])
        have = cmdline.replace(b"/", b" ").split()
        if any(len(a) > 250 for a in e.argv):
            cut = [len(a) > 250 for a in e.argv].index(True)
            said = words(*e.argv[:cut + 1])[:-1]
            return have[:len(said)] == said
        return have == said or have[-len(script):] == script

    def _check_chain(self, e, chain):
        pids = [a.pid for a in chain]
        if self.root_pid not in pids:
            return [f"ancestors {pids}: {self.root_pid} not among them"]
        if any(p not in pids for p in e.lineage):
            return [f"ancestors {pids}, by strace {e.lineage}"]
        return []

    # Appends: each starts where the file ended, in the journal's own order.

    def _appends(self):
        if not any(e.append and e.off is None for e, _ in self.pairs):
            return
        appended = {x.n for e, x in self.pairs if e.append and e.off is None}
        size = {}
        for x in self.lines:
            if x.op in ("create", "tmpfile", "mknod"):
                size[x.ino] = 0
            elif x.op == "truncate":
                size[x.ino] = x.len
            elif x.op in ("write", "copy", "fallocate"):
                known = size.get(x.ino)
                if x.n in appended and known is not None and x.off != known:
                    self._problem(f"append not at the end ({known})", x)
                size[x.ino] = max(known or 0, x.off + x.len)

    # Mappings

    def _mappings(self):
        for x in self.lines:
            if x.op == "mmap" and not self._mapped(x):
                self._problem("write-back of what nobody mapped", x)

    def _mapped(self, x):
        for inode, off, n, _ in self.model.mapped:
            inode.paths()
            inside = x.off is None or (x.off >= off and
                                       x.off + x.len <= off + n)
            if x.path in inode.ever and inside:
                return True
        return False

    def dirtied(self, path, off, n):
        """Ask for write-back lines that cover [off, off + n) of path."""
        need = set(range(off // 4096, -(-(off + n) // 4096)))
        for x in self.lines:
            if x.op == "mmap" and x.path == path and x.off is not None:
                need -= set(range(x.off // 4096, -(-(x.off + x.len) // 4096)))
            elif x.op == "mmap" and x.path == path:
                need = set()
        if need:
            self._problem("missing write-back", os.fsdecode(path),
                          f"pages {sorted(need)}")

    # Releases

    def _closes(self):
        """
        Match each release to an open whose file had that name at some time.
        Names are reused, so the first fitting open may belong to another
        release: a bipartite matching with augmenting paths.
        """
        by_name, holder = {}, {}
        for of in self.model.opened:
            of.inode.paths()
            for name in of.inode.ever | {NAMELESS}:
                by_name.setdefault(name, []).append(of)

        def place(x, asked):
            fitting = [of for of in by_name.get(x.path, ())
                       if of not in asked]
            asked.update(fitting)
            for of in fitting:
                if of not in holder:
                    holder[of] = x
                    return True
            for of in fitting:
                if place(holder[of], asked):
                    holder[of] = x
                    return True
            return False

        for x in self.lines:
            if x.op == "close" and not place(x, set()):
                self._problem("release of what nobody opened", x)
        self.unreleased = [of for of in self.model.opened
                           if of not in holder]

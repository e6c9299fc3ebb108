"""
A small Unix, replayed from a trace.

The model holds the state that system calls change below one directory (names,
inodes, sizes) and the state that decides which file a call uses: descriptors
and the open files they share, offsets, working directories, forks, execs.
Replaying a trace yields the list of events a complete journal holds.

Order. A call takes effect somewhere between its two halves in the log, and
the model lets it happen at the second; close alone happens at the first, for
its number may be handed out again before it returns. Where two calls on one
file overlap, their order is unknown and so is the offset of an append: the
event's `off` is None then, and match.py asks the journal to be consistent
with itself.

The model is checked too: a descriptor that strace says lies below the
directory and that the model does not know is an error, and at the end the
model's tree must be the real one (tree.differences()).
"""

import os
import re
import stat

from . import trace
from .trace import number, string, strings
from .tree import Inode, Lost, Tree, snapshot

AT_FDCWD = -100
AT_SYMLINK_NOFOLLOW = 0x100
AT_REMOVEDIR = 0x200
AT_SYMLINK_FOLLOW = 0x400
AT_EMPTY_PATH = 0x1000
O_ACCMODE, O_CREAT, O_EXCL, O_TRUNC = 3, 0o100, 0o200, 0o1000
O_APPEND, O_NOFOLLOW, O_CLOEXEC = 0o2000, 0o400000, 0o2000000
O_PATH = 0o10000000
O_TMPFILE = 0o20000000
CLONE_FS, CLONE_FILES, CLONE_THREAD = 0x200, 0x400, 0x10000
RENAME_EXCHANGE = 2
FALLOC_KEEP_SIZE, FALLOC_COLLAPSE, FALLOC_INSERT = 1, 8, 0x20
RWF_APPEND, RWF_NOAPPEND = 0x10, 0x20
MAP_SHARED, MAP_SHARED_VALIDATE, MAP_TYPE = 1, 3, 0xf
FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR = 0x40086602, 0x401c5820
UTIME_OMIT = 0x3ffffffe
PR_SET_NAME = 15
PAGE = 4096
PROC_FD = re.compile(rb"/(?:proc/(?:self|thread-self|\d+)|dev)/fd/(\d+)$")
STD_FD = {b"/dev/stdin": 0, b"/dev/stdout": 1, b"/dev/stderr": 2}


class OpenFile:
    """What dup and fork share: the inode, the offset, the flags."""

    def __init__(self, inode, flags):
        self.inode, self.flags, self.pos = inode, flags, 0
        self.moved = -1		# line of the last call that moved pos

    @property
    def writable(self):
        return self.flags & O_ACCMODE in (1, 2) and not self.flags & O_PATH


class Process:
    def __init__(self, pid, parent, uid, argv, comm, path):
        self.pid, self.parent, self.uid = pid, parent, uid
        self.argv, self.comm, self.path = argv, comm, path


class Task:
    def __init__(self, tid, process, fds, cwd):
        self.tid, self.process, self.fds, self.cwd = tid, process, fds, cwd


class Event:
    """One line the journal must hold."""

    def __init__(self, task, call, op, paths, paths2=None, off=None, len=None,
                 detail=None):
        self.tid, self.pid, self.call, self.op = (
            task.tid, task.process.pid, call, op)
        self.paths, self.paths2 = set(paths), paths2
        self.off, self.len, self.detail = off, len, detail
        self.append = False	# off comes from the journal's own order
        self.split = False	# may be several adjacent lines at any size
        self.maybe = False	# cut short: may be in the journal or not
        p = task.process
        self.uid = p.uid
        self.comm, self.argv, self.exe = p.comm, p.argv, p.path
        self.lineage = []
        while p:
            self.lineage.append(p.pid)
            p = p.parent

    def __repr__(self):
        names = "|".join(sorted(os.fsdecode(p) for p in self.paths))
        more = ""
        if self.paths2:
            more += " -> " + "|".join(sorted(map(os.fsdecode, self.paths2)))
        if self.off is not None:
            more += f" off={self.off}"
        if self.len is not None:
            more += f" len={self.len}"
        if self.detail is not None:
            more += f" ({self.detail})"
        return (f"{self.op} {names!r}{more} by {self.pid}/{self.tid} "
                f"[{os.fsdecode(b' '.join(self.argv))[:60]}]")


class Model:
    def __init__(self, root, tree=None, cwd=None):
        """
        Start with the snapshot `tree`, or the tree that is now at `root` (a
        canonical path), and in the directory `cwd`, or `root`.
        """
        self.tree = Tree(root, snapshot(root) if tree is None else tree)
        self.start_cwd = os.fsencode(cwd if cwd is not None else root)
        self.tasks = {}
        self.births = {}
        self.pending = {}
        self.events = []
        self.opened = []	# every open file that could write
        self.mapped = []	# (inode, offset, length, tid): shared, writable
        self.processes = 0
        self.calls = 0

    def _at(self, task, dirfd_arg, path_arg, follow=True):
        """Resolve a (dirfd, path) pair; dirfd_arg None: the working dir."""
        path = string(path_arg)
        if path is None:
            raise Lost(f"no path in {path_arg!r}")
        magic = PROC_FD.match(path)
        if follow and (magic or path in STD_FD):
            of = task.fds.get(int(magic[1]) if magic else STD_FD[path])
            return None, b"", of[0].inode if of else path
        base = task.cwd[0]
        if dirfd_arg is not None and not path.startswith(b"/"):
            fd, said = trace.fd(dirfd_arg)
            if fd != AT_FDCWD:
                of = self._of(task, dirfd_arg)
                base = of.inode if of else said
                if base is None:
                    raise Lost(f"descriptor {dirfd_arg!r} is unknown")
        return self.tree.walk(base, path, follow)

    def _inode(self, task, dirfd_arg, path_arg, follow=True):
        """The inode below the root that the pair names; None: not below."""
        there = self._at(task, dirfd_arg, path_arg, follow)[2]
        return there if isinstance(there, Inode) else None

    def _slot(self, task, dirfd_arg, path_arg):
        """A name to be made or removed: (directory, name), None: outside."""
        d, name, _ = self._at(task, dirfd_arg, path_arg, follow=False)
        return (d, name) if isinstance(d, Inode) else None

    # Descriptors

    def _of(self, task, arg):
        """The open file below the root behind a descriptor, or None."""
        fd, said = trace.fd(arg)
        entry = task.fds.get(fd)
        if said is not None and self.tree.below(said) != (entry is not None):
            raise Lost(f"[{task.tid}] descriptor {fd} is {said!r}, the model "
                       f"has {entry and entry[0].inode.paths()}")
        return entry[0] if entry else None

    def _put(self, task, fd, of, cloexec):
        if of is None:
            task.fds.pop(fd, None)
        else:
            task.fds[fd] = (of, bool(cloexec))

    # Replaying

    def replay(self, lines):
        """Run a whole log. Returns the events in order."""
        lines = list(lines)
        self._find_births(lines)
        for what, *rest in trace.parse(lines):
            getattr(self, "_on_" + what)(*rest)
        return self.events

    def _find_births(self, lines):
        """A child's first line may precede its parent's clone returning."""
        for what, call, *_ in trace.parse(lines):
            if what == "exit" and call.ok and call.ret > 0 and \
                    call.name in ("fork", "vfork", "clone", "clone3"):
                self.births.setdefault(call.ret, []).append(call)

    def _task(self, tid):
        task = self.tasks.get(tid)
        if task:
            return task
        if self.births.get(tid):
            return self._born(self.births[tid].pop(0))
        if self.tasks:
            raise Lost(f"thread {tid} was never started")
        place = self.tree.walk(b"/", self.start_cwd, True)[2]
        p = Process(tid, None, os.geteuid(), [b"?"], b"?", b"?")
        self.processes += 1
        self.tasks[tid] = Task(tid, p, {}, [place])
        return self.tasks[tid]

    def _born(self, call):
        parent = self._task(call.tid)
        m = re.search(r"flags=([0-9a-fx|]+)", call.text)
        flags = number(m[1]) if m and call.name.startswith("clone") else 0
        tid = call.ret
        if flags & CLONE_THREAD:
            process = parent.process
        else:
            p = parent.process
            process = Process(tid, p, p.uid, p.argv, p.comm, p.path)
            self.processes += 1
        fds = parent.fds if flags & CLONE_FILES else dict(parent.fds)
        cwd = parent.cwd if flags & CLONE_FS else list(parent.cwd)
        self.tasks[tid] = Task(tid, process, fds, cwd)
        return self.tasks[tid]

    def _on_enter(self, call):
        task = self._task(call.tid)
        self.pending[call.tid] = call
        if call.name == "close":
            self._of(task, call.args[0])
            task.fds.pop(trace.fd(call.args[0])[0], None)

    def _on_exit(self, call):
        self.pending.pop(call.tid, None)
        self.calls += 1
        if call.ret is None and not call.err and call.name in WRITES:
            self._cut_short(self._task(call.tid), call)
        if not call.ok:
            return
        handler = getattr(self, "do_" + call.name, None)
        if handler:
            handler(self._task(call.tid), call)

    def _on_gone(self, tid):
        task = self.tasks.pop(tid, None)
        call = self.pending.pop(tid, None)
        if task and call and call.name in WRITES:
            self._cut_short(task, call)

    def _on_became(self, old, new):
        if old in self.tasks:
            self.tasks[new] = self.tasks.pop(old)
            self.tasks[new].tid = new
        if old in self.pending:
            self.pending[new] = self.pending.pop(old)

    def _cut_short(self, task, call):
        of = self._of(task, call.args[0])
        if of and of.inode.kind == "file":
            of.inode.unsure = True
            e = Event(task, call, "write", of.inode.paths())
            e.maybe = e.split = True
            self.events.append(e)

    def _event(self, task, call, op, paths, **kw):
        e = Event(task, call, op, paths, **kw)
        self.events.append(e)
        return e

    # Processes

    def do_fork(self, task, call):
        if call.ret not in self.tasks and self.births.get(call.ret):
            self._born(self.births[call.ret].pop(0))

    do_vfork = do_clone = do_clone3 = do_fork

    def do_execve(self, task, call, path=0, argv=1):
        p = task.process
        p.path = string(call.args[path]) or b""
        p.argv = strings(call.args[argv])
        p.comm = os.path.basename(p.path)[:15]
        task.fds = {fd: e for fd, e in task.fds.items() if not e[1]}
        task.cwd = list(task.cwd)

    def do_execveat(self, task, call):
        self.do_execve(task, call, 1, 2)

    def do_prctl(self, task, call):
        if number(call.args[0]) == PR_SET_NAME and \
                task.tid == task.process.pid:
            task.process.comm = string(call.args[1])[:15]

    def do_setuid(self, task, call, effective=0):
        uid = number(call.args[effective])
        if uid not in (-1, 0xffffffff):
            task.process.uid = uid

    def do_setreuid(self, task, call):
        self.do_setuid(task, call, 1)

    do_setresuid = do_setreuid

    def do_chdir(self, task, call):
        task.cwd[0] = self._at(task, None, call.args[0])[2]

    def do_fchdir(self, task, call):
        of = self._of(task, call.args[0])
        task.cwd[0] = of.inode if of else trace.fd(call.args[0])[1]

    # Opening

    def _open(self, task, call, dirfd, path, flags):
        follow = not flags & O_NOFOLLOW and \
            flags & (O_CREAT | O_EXCL) != O_CREAT | O_EXCL
        d, name, there = self._at(task, dirfd, path, follow)
        if flags & O_TMPFILE:
            if not isinstance(there, Inode):
                return self._put(task, call.ret, None, 0)
            self._event(task, call, "tmpfile", there.paths())
            inode = Inode("file")
        elif isinstance(there, Inode):
            inode = there
            if flags & O_TRUNC and inode.kind == "file" \
                    and flags & O_ACCMODE in (1, 2):
                inode.size, inode.changed = 0, call.end
                self._event(task, call, "truncate", inode.paths(), len=0,
                            detail="open")
        elif there is None and flags & O_CREAT and isinstance(d, Inode):
            inode = Inode("file")
            self.tree.enter(d, name, inode)
            self._event(task, call, "create", self.tree.path((d, name)))
        elif there is None and isinstance(d, Inode):
            raise Lost(f"{call}: opened, not in the model")
        else:
            if self.tree.below(call.ret_path):
                raise Lost(f"{call}: below the root, not in the model")
            return self._put(task, call.ret, None, 0)
        of = OpenFile(inode, flags)
        if of.writable and inode.kind == "file":
            self.opened.append(of)
        self._put(task, call.ret, of, flags & O_CLOEXEC)

    def do_open(self, task, call):
        a = call.args
        self._open(task, call, None, a[0], number(a[1]))

    def do_creat(self, task, call):
        self._open(task, call, None, call.args[0], 1 | O_CREAT | O_TRUNC)

    def do_openat(self, task, call):
        a = call.args
        self._open(task, call, a[0], a[1], number(a[2]))

    def do_openat2(self, task, call):
        a = call.args
        m = re.search(r"flags=([0-9a-fx|]+)", a[2])
        self._open(task, call, a[0], a[1], number(m[1]))

    def _dup(self, task, call, cloexec):
        self._put(task, call.ret, self._of(task, call.args[0]), cloexec)

    def do_dup(self, task, call):
        self._dup(task, call, 0)

    def do_dup2(self, task, call):
        if trace.fd(call.args[0])[0] != trace.fd(call.args[1])[0]:
            self._dup(task, call, 0)

    def do_dup3(self, task, call):
        self._dup(task, call, number(call.args[2]) & O_CLOEXEC)

    def do_fcntl(self, task, call):
        of, cmd = self._of(task, call.args[0]), number(call.args[1])
        if cmd in (0, 1030):
            self._dup(task, call, cmd == 1030)
        elif of and cmd == 2:
            self._put(task, trace.fd(call.args[0])[0], of,
                      number(call.args[2]) & 1)
        elif of and cmd == 4:
            of.flags = of.flags & ~O_APPEND | number(call.args[2]) & O_APPEND

    def do_close_range(self, task, call):
        first, last = number(call.args[0]), number(call.args[1])
        for fd in [f for f in task.fds if first <= f <= last]:
            if number(call.args[2]) & 4:
                task.fds[fd] = (task.fds[fd][0], True)
            else:
                del task.fds[fd]

    # Content

    def _overlapped(self, call, of, shared_offset):
        """Was another call at work on the same file, or the same offset?"""
        last = of.moved if shared_offset else of.inode.changed
        if last > call.begin:
            return True
        for other in self.pending.values():
            if other.name not in CONTENT:
                continue
            task = self.tasks.get(other.tid)
            try:
                there = task and self._of(task, other.args[CONTENT[other.name]])
            except (Lost, IndexError):
                continue
            if there and (there is of if shared_offset else
                          there.inode is of.inode):
                return True
        return False

    def _wrote(self, task, call, out, off, n, append=False, op="write",
               **kw):
        """n bytes went to `out`; off None: at its own offset."""
        of = self._of(task, out)
        if of is None or of.inode.kind != "file":
            return None
        inode, at = of.inode, off
        if append:
            at = inode.size
            if self._overlapped(call, of, shared_offset=False):
                at = None
        elif off is None:
            at = of.pos
            if self._overlapped(call, of, shared_offset=True):
                at = None
        end = (inode.size if append else of.pos if off is None else off) + n
        if off is None:
            of.pos, of.moved = end, call.end
        if n <= 0:
            return None
        inode.size, inode.changed = max(inode.size, end), call.end
        e = self._event(task, call, op, inode.paths(), off=at, len=n, **kw)
        e.append = append
        return e

    def _appends(self, task, out, flags=0):
        of = self._of(task, out)
        return bool(of and (of.flags & O_APPEND or flags & RWF_APPEND)
                    and not flags & RWF_NOAPPEND)

    def do_write(self, task, call):
        out = call.args[0]
        self._wrote(task, call, out, None, call.ret, self._appends(task, out))

    do_writev = do_write

    def do_pwrite64(self, task, call):
        a = call.args
        self._wrote(task, call, a[0], number(a[3]), call.ret,
                    self._appends(task, a[0]))

    do_pwritev = do_pwrite64

    def do_pwritev2(self, task, call):
        a = call.args
        off, flags = number(a[3]), number(a[4])
        self._wrote(task, call, a[0], None if off == -1 else off, call.ret,
                    self._appends(task, a[0], flags))

    def do_read(self, task, call):
        of = self._of(task, call.args[0])
        if of and of.inode.kind == "file":
            of.pos, of.moved = of.pos + call.ret, call.end

    do_readv = do_read

    def do_lseek(self, task, call):
        of = self._of(task, call.args[0])
        if of:
            of.pos, of.moved = call.ret, call.end

    def _took(self, task, arg, off_arg, n):
        of = self._of(task, arg)
        if of and off_arg == "NULL" and of.inode.kind == "file":
            of.pos += n
        return of

    def do_sendfile(self, task, call):
        a = call.args
        self._took(task, a[1], a[2], call.ret)
        e = self._wrote(task, call, a[0], None, call.ret)
        if e:
            e.split = True

    def do_splice(self, task, call):
        a = call.args
        self._took(task, a[0], a[1], call.ret)
        e = self._wrote(task, call, a[2],
                        None if a[3] == "NULL" else number(a[3]), call.ret)
        if e:
            e.split = True

    def do_copy_file_range(self, task, call):
        a = call.args
        source = self._took(task, a[0], a[1], call.ret)
        e = self._wrote(task, call, a[2],
                        None if a[3] == "NULL" else number(a[3]), call.ret,
                        op="copy")
        if e:
            e.paths2 = source.inode.paths() if source else None
            e.split = True

    def do_fallocate(self, task, call):
        of = self._of(task, call.args[0])
        if not of:
            return
        mode, off, n = (number(x) for x in call.args[1:4])
        inode = of.inode
        if mode & FALLOC_COLLAPSE:
            inode.size -= n
        elif mode & FALLOC_INSERT:
            inode.size += n
        elif not mode & FALLOC_KEEP_SIZE:
            inode.size = max(inode.size, off + n)
        inode.changed = call.end
        self._event(task, call, "fallocate", inode.paths(), off=off, len=n)

    def _truncate(self, task, call, inode):
        if inode:
            size = number(call.args[1])
            inode.size, inode.changed = size, call.end
            self._event(task, call, "truncate", inode.paths(), len=size)

    def do_truncate(self, task, call):
        self._truncate(task, call, self._inode(task, None, call.args[0]))

    def do_ftruncate(self, task, call):
        of = self._of(task, call.args[0])
        self._truncate(task, call, of and of.inode)

    def do_mmap(self, task, call):
        a = call.args
        if number(a[3]) & MAP_TYPE not in (MAP_SHARED, MAP_SHARED_VALIDATE) \
                or a[4].startswith("-1"):
            return
        of = self._of(task, a[4])
        if of and of.flags & O_ACCMODE == 2:
            n = -(-number(a[1]) // PAGE) * PAGE
            self.mapped.append((of.inode, number(a[5]), n, task.tid))

    # Names

    def _make(self, task, call, op, dirfd, path, inode, **kw):
        slot = self._slot(task, dirfd, path)
        if slot:
            self.tree.enter(*slot, inode)
            self._event(task, call, op, self.tree.path(slot), **kw)

    def do_mkdir(self, task, call):
        self._make(task, call, "mkdir", None, call.args[0], Inode("dir"))

    def do_mkdirat(self, task, call):
        a = call.args
        self._make(task, call, "mkdir", a[0], a[1], Inode("dir"))

    def _mknod(self, task, call, dirfd, path, mode):
        regular = stat.S_IFMT(mode) in (0, stat.S_IFREG)
        self._make(task, call, "mknod", dirfd, path,
                   Inode("file" if regular else "other"))

    def do_mknod(self, task, call):
        self._mknod(task, call, None, call.args[0], number(call.args[1]))

    def do_mknodat(self, task, call):
        a = call.args
        self._mknod(task, call, a[0], a[1], number(a[2]))

    def do_bind(self, task, call):
        m = re.search(r'sun_path=("(?:[^"\\]|\\.)*")', call.args[1])
        if m:
            self._make(task, call, "mknod", None, m[1], Inode("other"))

    def do_symlink(self, task, call):
        self._symlink(task, call, call.args[0], None, call.args[1])

    def do_symlinkat(self, task, call):
        self._symlink(task, call, *call.args)

    def _symlink(self, task, call, target, dirfd, path):
        text = string(target)
        self._make(task, call, "symlink", dirfd, path,
                   Inode("link", target=text), paths2={text})

    def do_link(self, task, call):
        a = call.args
        self._link(task, call, self._inode(task, None, a[0], False),
                   None, a[1])

    def do_linkat(self, task, call):
        a = call.args
        flags = number(a[4])
        if flags & AT_EMPTY_PATH and string(a[1]) == b"":
            of = self._of(task, a[0])
            inode = of and of.inode
        else:
            inode = self._inode(task, a[0], a[1],
                                bool(flags & AT_SYMLINK_FOLLOW))
        self._link(task, call, inode, a[2], a[3])

    def _link(self, task, call, inode, dirfd, path):
        slot = self._slot(task, dirfd, path)
        if slot and inode:
            old = inode.paths()
            self.tree.enter(*slot, inode)
            self._event(task, call, "link", old, paths2=self.tree.path(slot))

    def _remove(self, task, call, op, dirfd, path):
        slot = self._slot(task, dirfd, path)
        if slot:
            self._event(task, call, op, self.tree.path(slot))
            self.tree.leave(*slot)

    def do_unlink(self, task, call):
        self._remove(task, call, "unlink", None, call.args[0])

    def do_rmdir(self, task, call):
        self._remove(task, call, "rmdir", None, call.args[0])

    def do_unlinkat(self, task, call):
        a = call.args
        op = "rmdir" if number(a[2]) & AT_REMOVEDIR else "unlink"
        self._remove(task, call, op, a[0], a[1])

    def do_rename(self, task, call):
        a = call.args
        self._rename(task, call, (None, a[0]), (None, a[1]), 0)

    def do_renameat(self, task, call):
        a = call.args
        self._rename(task, call, a[0:2], a[2:4], 0)

    def do_renameat2(self, task, call):
        a = call.args
        self._rename(task, call, a[0:2], a[2:4], number(a[4]))

    def _rename(self, task, call, old, new, flags):
        old, new = self._slot(task, *old), self._slot(task, *new)
        if not old or not new:
            return
        moved, target = old[0].children[old[1]], new[0].children.get(new[1])
        if moved is target:
            return	# POSIX: two names of one file, nothing happens
        op = "exchange" if flags & RENAME_EXCHANGE else "rename"
        self._event(task, call, op, self.tree.path(old), paths2=self.tree.path(new))
        self.tree.leave(*old)
        if target:
            self.tree.leave(*new)
        if target and op == "exchange":
            self.tree.enter(*old, target)
        self.tree.enter(*new, moved)

    # Attributes

    def _attribute(self, task, call, op, inode, **kw):
        if inode:
            self._event(task, call, op, inode.paths(), **kw)

    def _by_path(self, op, dirfd, path, follow=lambda a: True):
        def do(task, call):
            a = call.args
            inode = self._inode(task, a[dirfd] if dirfd is not None else None,
                                a[path], follow(a))
            self._attribute(task, call, op, inode)
        return do

    def _by_fd(self, op):
        def do(task, call):
            of = self._of(task, call.args[0])
            self._attribute(task, call, op, of and of.inode)
        return do

    def do_chmod(self, task, call):
        self._by_path("chmod", None, 0)(task, call)

    def do_fchmodat(self, task, call):
        self._by_path("chmod", 0, 1)(task, call)

    def do_fchmodat2(self, task, call):
        self._by_path("chmod", 0, 1, lambda a: not number(a[3])
                      & AT_SYMLINK_NOFOLLOW)(task, call)

    def do_fchmod(self, task, call):
        self._by_fd("chmod")(task, call)

    def do_chown(self, task, call):
        self._by_path("chown", None, 0)(task, call)

    def do_lchown(self, task, call):
        self._by_path("chown", None, 0, lambda a: False)(task, call)

    def do_fchownat(self, task, call):
        if string(call.args[1]) == b"":
            return self._by_fd("chown")(task, call)
        self._by_path("chown", 0, 1, lambda a: not number(a[4])
                      & AT_SYMLINK_NOFOLLOW)(task, call)

    def do_fchown(self, task, call):
        self._by_fd("chown")(task, call)

    def do_utime(self, task, call):
        self._by_path("utimens", None, 0)(task, call)

    do_utimes = do_utime

    def do_futimesat(self, task, call):
        self._by_path("utimens", 0, 1)(task, call)

    def do_utimensat(self, task, call):
        a = call.args
        nsec = [number(x) for x in re.findall(r"tv_nsec=(\w+)", a[2])]
        if nsec == [UTIME_OMIT, UTIME_OMIT]:
            return	# the kernel answers without a request
        if a[1] == "NULL" or string(a[1]) == b"":
            return self._by_fd("utimens")(task, call)
        self._by_path("utimens", 0, 1, lambda a: not number(a[3])
                      & AT_SYMLINK_NOFOLLOW)(task, call)

    def _xattr(self, task, call, op, inode):
        name = string(call.args[1]).decode("utf-8", "surrogateescape")
        size = number(call.args[3]) if op == "setxattr" else None
        self._attribute(task, call, op, inode, detail=name, len=size)

    def do_setxattr(self, task, call, follow=True):
        self._xattr(task, call, "setxattr",
                    self._inode(task, None, call.args[0], follow))

    def do_lsetxattr(self, task, call):
        self.do_setxattr(task, call, follow=False)

    def do_fsetxattr(self, task, call):
        of = self._of(task, call.args[0])
        self._xattr(task, call, "setxattr", of and of.inode)

    def do_removexattr(self, task, call, follow=True):
        self._xattr(task, call, "removexattr",
                    self._inode(task, None, call.args[0], follow))

    def do_lremovexattr(self, task, call):
        self.do_removexattr(task, call, follow=False)

    def do_fremovexattr(self, task, call):
        of = self._of(task, call.args[0])
        self._xattr(task, call, "removexattr", of and of.inode)

    def do_ioctl(self, task, call):
        if number(call.args[1]) in (FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR):
            self._by_fd("setflags")(task, call)


# Calls that change a file's content, and which argument is that file.
WRITES = {"write": 0, "pwrite64": 0, "writev": 0, "pwritev": 0, "pwritev2": 0}
CONTENT = {**WRITES, "sendfile": 0, "splice": 2, "copy_file_range": 2,
           "ftruncate": 0, "fallocate": 0, "read": 0, "readv": 0, "lseek": 0}

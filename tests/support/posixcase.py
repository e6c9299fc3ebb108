"""The mount beside a plain directory: every action is done to both, and both
must answer alike.

    class HardLinks(posixcase.Case):
        def test_a_second_name_is_the_same_file(self):
            def act(d):
                ...
                return posixcase.facts(d + "/b")
            self.alike(act)

    posixcase.main()

Each class has one mount, each test a directory of its own on three sides:
self.mnt (through the mount), self.below (the same directory below it) and
self.plain (elsewhere on the same file system). What a test returns from
`act` is compared, errors by name, so the tests contain no expectations that
depend on the file system below.
"""

import ctypes
import errno
import os
import pickle
import signal
import subprocess
import sys
import time
import traceback
import unittest

import st

libc = ctypes.CDLL(None, use_errno=True)

AT_FDCWD = -100
AT_SYMLINK_FOLLOW = 0x400
RENAME_NOREPLACE = 1
RENAME_EXCHANGE = 2
FALLOC_KEEP_SIZE = 0x01
FALLOC_PUNCH_HOLE = 0x02
FALLOC_COLLAPSE_RANGE = 0x08
FALLOC_ZERO_RANGE = 0x10
FALLOC_INSERT_RANGE = 0x20
UTIME_NOW = (1 << 30) - 1
UTIME_OMIT = (1 << 30) - 2

# Users and groups that own nothing on this machine.
ALICE, BOB = 61001, 61002
TEAM, CLUB = 61101, 61102


# -- calls the os module lacks ----------------------------------------------

def checked(call, *args):
    """What a call of the C library returned, or its errno raised."""
    value = call(*args)
    if value < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return value


def renameat2(old, new, flags):
    checked(libc.renameat2, AT_FDCWD, os.fsencode(old), AT_FDCWD,
            os.fsencode(new), ctypes.c_uint(flags))


def fallocate(fd, mode, off, length):
    checked(libc.fallocate, fd, mode, ctypes.c_int64(off),
            ctypes.c_int64(length))


def sync_file_range(fd, off, length, flags):
    checked(libc.sync_file_range, fd, ctypes.c_int64(off),
            ctypes.c_int64(length), ctypes.c_uint(flags))


def link_fd(fd, new):
    """Give a file without a name one, the way that needs no privilege."""
    checked(libc.linkat, AT_FDCWD, b"/proc/self/fd/%d" % fd, AT_FDCWD,
            os.fsencode(new), AT_SYMLINK_FOLLOW)


class _Timespec(ctypes.Structure):
    _fields_ = [("sec", ctypes.c_long), ("nsec", ctypes.c_long)]


def utimensat(path, atime, mtime, flags=0):
    """Times are (seconds, nanoseconds), UTIME_* allowed as nanoseconds."""
    times = (_Timespec * 2)(_Timespec(*atime), _Timespec(*mtime))
    checked(libc.utimensat, AT_FDCWD, os.fsencode(path), times, flags)


# -- outcomes ---------------------------------------------------------------

# Numbers with two names: the one the manual pages use.
NAMES = dict(errno.errorcode)
NAMES.update({errno.EOPNOTSUPP: "EOPNOTSUPP", errno.EDEADLK: "EDEADLK",
              errno.EAGAIN: "EAGAIN"})


def result(call, *args, **kw):
    """What the call returned, or the name of its error."""
    try:
        return call(*args, **kw)
    except OSError as e:
        return NAMES.get(e.errno, str(e.errno))


def facts(path, **kw):
    """The parts of a status that two copies of a file share."""
    s = os.stat(path, **kw) if isinstance(path, int) else \
        os.lstat(path, **kw)
    return {"mode": oct(s.st_mode), "nlink": s.st_nlink, "uid": s.st_uid,
            "gid": s.st_gid, "size": s.st_size, "rdev": s.st_rdev}


def difference(plain, mount, where=""):
    """A sentence about the first place where two results differ."""
    if type(plain) is type(mount) and len_of(plain) == len_of(mount):
        if isinstance(plain, dict) and plain.keys() == mount.keys():
            keys = plain.keys()
        elif isinstance(plain, (list, tuple)):
            keys = range(len(plain))
        else:
            keys = ()
        for key in keys:
            if plain[key] != mount[key]:
                return difference(plain[key], mount[key],
                                  "%s[%r]" % (where, key))
    return "the plain directory gave %.300r, the mount %.300r%s" % (
        plain, mount, where and " at " + where)


def len_of(value):
    return len(value) if hasattr(value, "__len__") else None


def put(path, data=b"", mode=0o644):
    """Make or replace a file and close it."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view):]
    finally:
        os.close(fd)


def get(path):
    with open(path, "rb") as f:
        return f.read()


class opened:
    """A descriptor for the length of a `with`."""

    def __init__(self, path, flags=os.O_RDONLY, mode=0o644, **kw):
        self.fd = os.open(path, flags, mode, **kw)

    def __enter__(self):
        return self.fd

    def __exit__(self, *exc):
        os.close(self.fd)


def tool(*argv, **kw):
    """A command's exit status and standard output."""
    r = subprocess.run(argv, stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kw)
    return r.returncode, r.stdout


# -- other processes --------------------------------------------------------

class Child:
    """fn(*args) in a process of its own; join() returns what it returned or
    raises what it raised. Forked without exec, so descriptors are shared."""

    def __init__(self, fn, *args, uid=None, gid=None, groups=()):
        self._read, write = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid:
            os.close(write)
            return
        answer = (False, "nothing")
        try:
            if uid is not None:
                os.setgroups(list(groups))
                os.setresgid(*[uid if gid is None else gid] * 3)
                os.setresuid(uid, uid, uid)
            answer = (True, fn(*args))
        except OSError as e:
            answer = (False, "%s: %s" % (NAMES.get(e.errno), e))
        except BaseException:  # noqa: the parent reports it
            answer = (False, traceback.format_exc())
        finally:
            with os.fdopen(write, "wb") as pipe:
                pickle.dump(answer, pipe)
            os._exit(0)

    def kill(self):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.pid = None
        os.close(self._read)

    def join(self):
        with os.fdopen(self._read, "rb") as pipe:
            data = pipe.read()
        if self.pid:
            os.waitpid(self.pid, 0)
            self.pid = None
        good, value = pickle.loads(data) if data else (False, "it was killed")
        if not good:
            raise AssertionError("in a child process: " + value)
        return value


def as_user(uid, fn, *args, gid=None, groups=()):
    """fn(*args) done by another user, and its result."""
    return Child(fn, *args, uid=uid, gid=gid, groups=groups).join()


def asleep(pid):
    """Wait until a process sleeps in the kernel, as one does that waits for
    a lock. Two looks in a row: one may catch it on the way."""
    def state():
        with open("/proc/%d/stat" % pid, "rb") as f:
            return f.read().rsplit(b")", 1)[1].split()[0]

    st.eventually(lambda: state() in b"SD" and (time.sleep(0.02) or
                                                state() in b"SD"),
                  "process %d goes to sleep" % pid)


# -- a test case ------------------------------------------------------------

class Case(unittest.TestCase):
    mount_args = ()
    in_place = False  # True: mounted over the repository itself
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.mount = st.Mount(mountpoint=None if cls.in_place else True,
                             args=cls.mount_args)
        try:
            cls.mount.__enter__()
        except st.Skip as e:
            raise unittest.SkipTest(e.reason)
        cls._plain = cls.mount.home.mkdir("plain")
        cls._below = cls.mount.below if cls.in_place else cls.mount.repo
        cls._umask = os.umask(0o022)

    @classmethod
    def tearDownClass(cls):
        os.umask(cls._umask)
        cls.mount.__exit__(None, None, None)

    def setUp(self):
        name = self.id().rsplit(".", 1)[1]
        self.mnt = self.mount.path + "/" + name
        self.below = self._below + "/" + name
        self.plain = self._plain + "/" + name
        os.mkdir(self.plain)
        os.mkdir(self.mnt)
        # Open to all: who may do what is decided further down.
        os.chmod(self.plain, 0o777)
        os.chmod(self.mnt, 0o777)
        self._acts = 0

    def alike(self, act, *args):
        """act(directory, *args) on the plain side and through the mount, in
        empty directories; equal results, returned."""
        self._acts += 1
        results = []
        for side in (self.plain, self.mnt):
            d = "%s/%d" % (side, self._acts)
            os.mkdir(d)
            os.chmod(d, 0o777)
            results.append(act(d, *args))
        self.same(*results)
        return results[1]

    def same(self, plain, mount):
        """Equal, or the first place where they are not. (unittest's own
        account of two long contents takes minutes to make.)"""
        if plain != mount:
            self.fail(difference(plain, mount))

    def eventually_within_a_second(self, change, seen):
        """Changes made outside the mount show within a second. A busy
        machine may be late once; three times is the mount's fault. `change`
        and `seen` get the number of the attempt."""
        took = []
        for attempt in range(3):
            change(attempt)
            start = time.monotonic()
            st.eventually(lambda: seen(attempt), "the change shows",
                          deadline=10)
            took.append(time.monotonic() - start)
            if took[-1] <= 1:
                return
        self.fail("seen only after %s s" % took)

    def need_root(self, why="another user's view"):
        if os.geteuid() != 0:
            self.skipTest(why + " needs root")

    def need(self, *tools):
        for name in tools:
            if not st.which(name):
                self.skipTest(name + " is not installed")


def main():
    """Run the calling script's tests; 77 if there was nothing but skips."""
    module = sys.modules["__main__"]
    names = sys.argv[1:]
    loader = unittest.defaultTestLoader
    loader.testNamePatterns = ["*%s*" % n for n in names] or None
    outcome = unittest.TextTestRunner(verbosity=2).run(
        loader.loadTestsFromModule(module))
    for test, reason in outcome.skipped:
        print("skip: %s: %s" % (test, reason))
    if not outcome.wasSuccessful():
        sys.exit(1)
    ran = outcome.testsRun - len(outcome.skipped)
    sys.exit(0 if ran > 0 else 77)

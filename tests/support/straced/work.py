"""
The part of the oracle's workload that a shell cannot do: `work.py NAME` runs
the function below in the current directory. Every way of writing that the
journal must know is in here once, as plainly as possible.

A store into a shared mapping is no system call. A function that makes one
prints `dirtied PATH OFFSET LENGTH`, and the test expects its write-back.
"""

import os
import sys


def put(path, data=b"x" * 100):
    with open(path, "wb") as f:
        f.write(data)


def buffered():
    with open("py-text", "w") as f:
        for i in range(2000):
            f.write(f"line {i}\n")
    with open("py-text", "r+") as f:
        f.seek(100)
        f.write("in place")
        f.seek(0, 2)
        f.write("at the end")
        f.truncate(5000)
    with open("py-text", "a") as f:
        f.write("appended")
        f.flush()
        f.write("again")


def positioned():
    fd = os.open("py-pos", os.O_RDWR | os.O_CREAT, 0o600)
    os.pwrite(fd, b"a" * 10, 1000)
    os.write(fd, b"b" * 5)
    os.pwritev(fd, [b"c", b"dd", b"eee"], 7)
    os.pwritev(fd, [b"f"], 3, os.RWF_DSYNC)
    os.writev(fd, [b"g" * 10, b"h" * 20])
    os.lseek(fd, -3, os.SEEK_END)
    os.write(fd, b"across the end")
    os.lseek(fd, 100000, os.SEEK_SET)
    os.write(fd, b"beyond a hole")
    os.read(fd, 1)
    os.ftruncate(fd, 50)
    os.write(fd, b"after the cut")
    os.write(fd, b"")
    os.close(fd)
    os.truncate("py-pos", 3)
    os.truncate("py-pos", 3)
    os.truncate("py-pos", 9000)


def appends():
    fd = os.open("py-app", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for n in (1, 10, 100, 5000):
        os.write(fd, b"x" * n)
    os.pwrite(fd, b"also at the end", 0)
    os.lseek(fd, 0, os.SEEK_SET)
    os.write(fd, b"end again")
    import fcntl
    fcntl.fcntl(fd, fcntl.F_SETFL, 0)
    os.lseek(fd, 5, os.SEEK_SET)
    os.write(fd, b"now in place")
    fcntl.fcntl(fd, fcntl.F_SETFL, os.O_APPEND)
    os.write(fd, b"and the end")
    os.close(fd)


def shared_offset():
    fd = os.open("py-fork", os.O_WRONLY | os.O_CREAT, 0o644)
    again = os.dup(fd)
    for i in range(4):
        os.write(fd, b"parent")
        if os.fork() == 0:
            os.write(again, b"child")
            os._exit(0)
        os.wait()
    os.close(fd)
    os.write(again, b"last")


def atomic_saves():
    import shutil
    import tempfile
    put("py-doc")
    for i in range(3):
        fd, tmp = tempfile.mkstemp(dir=".", prefix=".py-doc.")
        os.write(fd, b"version %d" % i)
        os.fsync(fd)
        os.close(fd)
        shutil.copymode("py-doc", tmp)
        os.replace(tmp, "py-doc")
    shutil.copy2("py-doc", "py-doc-copy")
    os.makedirs("py-tree/a/b")
    put("py-tree/a/b/f")
    shutil.copytree("py-tree", "py-tree2")
    shutil.move("py-tree2/a", "py-moved")
    shutil.rmtree("py-tree")
    with tempfile.TemporaryFile(dir=".") as f:
        f.write(b"never had a name" * 1000)
    with tempfile.NamedTemporaryFile(dir=".") as f:
        f.write(b"had one for a while")


def unnamed():
    try:
        fd = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o644)
    except OSError:
        return
    os.write(fd, b"first without a name")
    d = os.open(".", os.O_RDONLY)
    os.link(f"/proc/self/fd/{fd}", "py-named", src_dir_fd=d, dst_dir_fd=d)
    os.close(d)
    os.write(fd, b"then with one")
    os.close(fd)


def deleted():
    fd = os.open("py-gone", os.O_RDWR | os.O_CREAT)
    os.write(fd, b"here")
    os.link("py-gone", "py-gone-too")
    os.unlink("py-gone")
    os.write(fd, b"by another name")
    os.unlink("py-gone-too")
    os.write(fd, b"by none")
    os.ftruncate(fd, 4)
    os.fchmod(fd, 0o600)
    os.close(fd)


def renamed():
    os.makedirs("py-d/e", exist_ok=True)
    fd = os.open("py-d/e/f", os.O_WRONLY | os.O_CREAT)
    os.write(fd, b"1")
    os.rename("py-d", "py-e")
    os.write(fd, b"2")
    os.rename("py-e/e/f", "py-f")
    os.write(fd, b"3")
    put("py-target")
    os.rename("py-f", "py-target")
    os.write(fd, b"4")
    os.close(fd)
    os.rename("py-target", "py-target")
    os.link("py-target", "py-link")
    os.rename("py-target", "py-link")
    os.rename("py-e", "py-e2")


def exchanged():
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    put("py-x", b"x")
    put("py-y", b"yy")
    fd = os.open("py-x", os.O_WRONLY)
    for flags in (2, 1, 2):	# EXCHANGE, NOREPLACE (which fails), EXCHANGE
        libc.renameat2(-100, b"py-x", -100, b"py-y", flags)
        os.write(fd, b"z")
    os.unlink("py-y")
    libc.renameat2(-100, b"py-x", -100, b"py-y", 1)
    os.close(fd)


def directories():
    os.makedirs("py-at/sub")
    d = os.open("py-at", os.O_RDONLY | os.O_DIRECTORY)
    fd = os.open("sub/f", os.O_WRONLY | os.O_CREAT, dir_fd=d)
    os.write(fd, b"1")
    os.close(fd)
    os.mkdir("sub2", dir_fd=d)
    os.symlink("sub/f", "s", dir_fd=d)
    os.rename("sub/f", "g", src_dir_fd=d, dst_dir_fd=d)
    os.link("g", "sub2/h", src_dir_fd=d, dst_dir_fd=d)
    os.chdir("py-at/sub")
    os.rename("../g", "../../py-g")
    os.fchdir(d)
    os.mknod("n")
    os.mkfifo("p")
    put("../py-up")
    os.unlink("p", dir_fd=d)
    os.rmdir("sub2/../sub", dir_fd=d)
    os.close(d)
    os.chdir("..")
    os.symlink("py-at", "py-sl")
    put("py-sl/through-link")
    os.symlink("py-made-by-link", "py-dangling")
    put("py-dangling")


def attributes():
    put("py-attr")
    os.chmod("py-attr", 0o600)
    os.utime("py-attr", (1, 2))
    os.utime("py-attr")
    fd = os.open("py-attr", os.O_RDWR)
    os.fchmod(fd, 0o640)
    os.utime(fd, ns=(3, 4))
    os.chown(fd, os.getuid(), os.getgid())
    os.close(fd)
    os.symlink("py-attr", "py-attr-l")
    os.chmod("py-attr-l", 0o644)
    os.lchown("py-attr-l", os.getuid(), os.getgid())
    os.utime("py-attr-l", (5, 6), follow_symlinks=False)
    try:
        os.setxattr("py-attr", "user.colour", b"red")
        os.setxattr("py-attr-l", "user.colour", b"blue", os.XATTR_REPLACE)
        os.removexattr("py-attr", "user.colour")
    except OSError as e:
        print("no user attributes here:", e)
    os.mkdir("py-attr-d")
    os.chmod("py-attr-d", 0o711)
    os.utime("py-attr-d", (7, 8))


def in_kernel():
    put("py-src", bytes(range(256)) * 1000)
    a = os.open("py-src", os.O_RDONLY)
    b = os.open("py-dst", os.O_RDWR | os.O_CREAT)
    os.copy_file_range(a, b, 100000)
    os.copy_file_range(a, b, 1000, 5, 200000)
    os.lseek(a, 0, os.SEEK_SET)
    os.sendfile(b, a, None, 50000)
    os.sendfile(b, a, 7, 5000)
    r, w = os.pipe()
    os.write(w, b"s" * 5000)
    os.splice(r, b, 5000)
    os.write(w, b"s" * 100)
    os.splice(r, b, 100, None, 33)
    os.posix_fallocate(b, 0, 400000)
    os.close(b)


def sockets():
    import socket
    s = socket.socket(socket.AF_UNIX)
    s.bind("py-socket")
    s.close()
    os.unlink("py-socket")


def database():
    import sqlite3
    db = sqlite3.connect("py.db", isolation_level=None)
    db.execute("PRAGMA journal_mode=DELETE")
    db.execute("CREATE TABLE t(a)")
    db.executemany("INSERT INTO t VALUES(?)", [("x" * 3000,)] * 5)
    db.execute("PRAGMA journal_mode=WAL")
    db.executemany("INSERT INTO t VALUES(?)", [("y" * 3000,)] * 5)
    db.close()


def mapped():
    import mmap
    fd = os.open("py-map", os.O_RDWR | os.O_CREAT)
    os.ftruncate(fd, 5 * 4096 + 10)
    m = mmap.mmap(fd, 0)
    m[3] = 65
    m.flush()
    print("dirtied py-map 0 4096")
    m[3 * 4096:4 * 4096] = b"y" * 4096
    m[5 * 4096 + 9] = 66
    m.flush()
    print("dirtied py-map 12288 4096")
    print("dirtied py-map 20480 10")
    os.write(fd, b"and a plain write")
    m.close()
    os.close(fd)
    # By munmap alone, after the descriptor is gone.
    fd = os.open("py-map2", os.O_RDWR | os.O_CREAT)
    os.ftruncate(fd, 8192)
    m = mmap.mmap(fd, 8192)
    os.close(fd)
    m[4096] = 67
    m.close()
    print("dirtied py-map2 4096 4096")
    # Read-only and private mappings write nothing.
    fd = os.open("py-map", os.O_RDWR)
    m = mmap.mmap(fd, 4096, flags=mmap.MAP_PRIVATE)
    m[0] = 1
    m.close()
    m = mmap.mmap(fd, 4096, prot=mmap.PROT_READ)
    m.close()
    os.close(fd)


def threads():
    import threading
    os.mkdir("py-threads")
    log = os.open("py-threads/log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def one(i):
        for k in range(5):
            put(f"py-threads/{i}-{k}", b"t" * (i * 100 + k + 1))
            os.write(log, b"thread %d\n" % i)
            os.rename(f"py-threads/{i}-{k}", f"py-threads/{i}")
    all = [threading.Thread(target=one, args=(i,)) for i in range(8)]
    for t in all:
        t.start()
    for t in all:
        t.join()
    os.close(log)


def large():
    put("py-large", b"L" * (3 << 20))
    fd = os.open("py-large", os.O_WRONLY)
    os.pwrite(fd, b"M" * (300 << 10), 12345)
    os.pwrite(fd, b"M" * (64 << 10), 1)
    os.pwritev(fd, [b"N" * 100000, b"O" * 5, b"P" * 200000], 777)
    os.close(fd)


def failing():
    """Nothing of this may be in the journal as done."""
    put("py-there")
    os.makedirs("py-full/x", exist_ok=True)
    ro = os.open("py-there", os.O_RDONLY)
    for f, *args in (
            (os.open, "py-there", os.O_CREAT | os.O_EXCL | os.O_WRONLY),
            (os.open, "py-no/x", os.O_CREAT | os.O_WRONLY),
            (os.open, "py-full", os.O_WRONLY),
            (os.mkdir, "py-there"), (os.rmdir, "py-full"),
            (os.rmdir, "py-there"), (os.unlink, "py-full"),
            (os.unlink, "py-no"), (os.rename, "py-no", "py-no2"),
            (os.rename, "py-full", "py-full/x/y"),
            (os.rename, "py-there", "py-full"),
            (os.link, "py-no", "py-no2"), (os.link, "py-there", "py-full"),
            (os.link, "py-full", "py-full2"),
            (os.symlink, "a", "py-there"), (os.truncate, "py-no", 1),
            (os.truncate, "py-full", 1), (os.chmod, "py-no", 0o600),
            (os.chown, "py-no", 0, 0), (os.utime, "py-no"),
            (os.write, ro, b"x"), (os.ftruncate, ro, 1),
            (os.pwrite, ro, b"x", 0), (os.mkfifo, "py-there"),
            (os.removexattr, "py-there", "user.none"),
            (os.open, "py-there/x", os.O_CREAT | os.O_WRONLY),
            (os.mkdir, "n" * 256)):
        try:
            f(*args)
        except OSError:
            continue
        print(f"{f.__name__}{args}: did not fail")
    os.close(ro)


def odd_names():
    for name in (b"py-\xff\xfe", b"py-\n", b"py-\t\x01", b'py-"q\\', b"py- ",
                 b"py-<3>(deleted)", b"py-, = 1", b"p" * 255,
                 "py-\u00e9\u65e5".encode()):
        put(name, name)
        os.rename(name, name[:-1] + b"Z")
        os.chmod(name[:-1] + b"Z", 0o600)
    deep = b"/".join([b"d" * 100] * 12)
    os.makedirs(deep)
    put(deep + b"/f")


def killed():
    """A writer that dies in the middle of its work."""
    import signal
    import time
    pid = os.fork()
    if pid == 0:
        fd = os.open("py-killed", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        while True:
            os.write(fd, b"k" * 5000)
    while not os.path.exists("py-killed") or \
            os.stat("py-killed").st_size < 100000:
        time.sleep(0.001)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        globals()[name]()

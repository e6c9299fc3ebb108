#!/usr/bin/env python3
"""Requests that wait for the disk or for another file system hold up no other
request, not even from the same processor. Needs root."""

import contextlib
import fcntl
import os
import signal
import subprocess

import rings
import st

# More than the threads that answer requests.
WAITING = 12
DATA = b"x" * 100000
LONG = b"x" * (1 << 20)
FIFREEZE, FITHAW = 0xc0045877, 0xc0045878


# -- a disk that answers when the test wants it to -----------------------------

@contextlib.contextmanager
def disk(home):
    """(a directory on a disk of its own, the mount that the disk is a file
    of): while that mount's process stands still, the disk does not answer."""
    st.need("mkfs.ext4", "mount", "losetup")
    top = home.mkdir("disk")
    with st.Mount(home.mkdir("store"), home.mkdir("image"), home=home,
                  args=["--no-io-uring"]) as store:
        image = store.path + "/image"
        with open(image, "wb") as f:
            f.truncate(32 << 20)
        subprocess.run(["mkfs.ext4", "-q", image], check=True)
        if not st.can_run("mount", "-o", "loop", image, top):
            st.skip("a file cannot be mounted here")
        try:
            yield top, store
        finally:
            subprocess.run(["umount", top], check=True)


@contextlib.contextmanager
def frozen(top):
    """Nothing can be written to the disk's file system meanwhile."""
    fd = os.open(top, os.O_RDONLY)
    try:
        fcntl.ioctl(fd, FIFREEZE, 0)
        try:
            yield
        finally:
            fcntl.ioctl(fd, FITHAW, 0)
    finally:
        os.close(fd)


# -- clients --------------------------------------------------------------------

def child(work, *args):
    """On one processor, the same for all."""
    pid = os.fork()
    if pid:
        return pid
    try:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        work(*args)
        os._exit(0)
    finally:
        os._exit(1)


def write_and_sync(path):
    with open(path, "wb", buffering=0) as f:
        f.write(DATA)
        os.kill(os.getpid(), signal.SIGSTOP)
        os.fsync(f.fileno())


def write_twice(path):
    with open(path, "wb", buffering=0) as f:
        # After a first one the kernel asks for nothing else before a write.
        f.write(LONG)
        os.kill(os.getpid(), signal.SIGSTOP)
        f.write(LONG)


def look_around(top):
    """Reads what the disk need not be asked for, and what the mount must."""
    for n in range(100):
        assert not os.path.exists(f"{top}/missing{n}")
        assert len(os.listdir(top)) > WAITING
        with open(f"{top}/known", "rb") as f:
            assert f.read() == DATA


def waits(pid):
    """The process waits for the answer to its request."""
    with open(f"/proc/{pid}/stack", encoding="ascii") as f:
        return "request_wait" in f.read()


def ended(pid):
    found, status = os.waitpid(pid, os.WNOHANG)
    assert status == 0, status
    return found == pid


def others_go_on(m, store):
    with open(m.path + "/known", "wb") as f:
        f.write(DATA)
    writers = [child(write_and_sync, f"{m.path}/f{n}") for n in range(WAITING)]
    for pid in writers:
        os.waitpid(pid, os.WUNTRACED)
    os.sync()
    # Nothing but the new data is left to write.
    for n in range(WAITING):
        with open(f"{m.path}/f{n}", "ab") as f:
            f.write(DATA)
    with store.still():
        for pid in writers:
            os.kill(pid, signal.SIGCONT)
        st.eventually(lambda: all(map(waits, writers)), "all of them wait")
        reader = child(look_around, m.path)
        st.eventually(lambda: ended(reader), "another one reads meanwhile")
        assert all(map(waits, writers))
    for pid in writers:
        st.eventually(lambda pid=pid: ended(pid), "the disk answered")


def a_slow_disk_holds_up_who_waits_for_it_only():
    st.need_root("a disk of its own")
    with st.Home() as home, disk(home) as (top, store), \
            st.Mount(top, home.mkdir("at"), home=home,
                     args=["--no-io-uring"]) as m:
        others_go_on(m, store)


def nor_by_rings():
    st.need_root("a disk of its own")
    with st.Home() as home, disk(home) as (top, store), \
            rings.ringed(top, home.mkdir("at"), home=home) as m:
        others_go_on(m, store)


def nor_does_a_long_write_by_rings():
    st.need_root("a disk of its own")
    with st.Home() as home, disk(home) as (top, _), \
            rings.ringed(top, home.mkdir("at"), home=home) as m:
        for n in range(WAITING + 1):
            with open(f"{m.path}/{n}", "wb") as f:
                f.write(DATA)
        os.rename(m.path + "/0", m.path + "/known")
        writer = child(write_twice, m.path + "/long")
        os.waitpid(writer, os.WUNTRACED)
        with frozen(top):
            os.kill(writer, signal.SIGCONT)
            st.eventually(lambda: waits(writer), "it waits for the disk")
            reader = child(look_around, m.path)
            st.eventually(lambda: ended(reader), "another one reads meanwhile")
            assert waits(writer)
        st.eventually(lambda: ended(writer), "the disk answered")


# -- many at once ---------------------------------------------------------------

def write_much(top, number):
    """Requests that other threads answer, among those that they do not."""
    name = f"{top}/much{number}"
    for n in range(40):
        data = b"%d" % n * 1000
        with open(name, "wb+", buffering=0) as f:
            f.write(data)
            os.fsync(f.fileno())
            os.posix_fallocate(f.fileno(), 0, 2 * len(data))
            os.truncate(name, len(data))
            with open(name + ".copy", "wb+", buffering=0) as to:
                os.copy_file_range(f.fileno(), to.fileno(), len(data), 0)
                os.fdatasync(to.fileno())
                assert os.pread(to.fileno(), len(data), 0) == data
        assert os.stat(name).st_size == len(data)
        os.rename(name + ".copy", name)
    os.unlink(name)


def no_answer_gets_lost():
    with rings.ringed() as m:
        writers = [child(write_much, m.path, n) for n in range(WAITING)]
        for pid in writers:
            st.eventually(lambda pid=pid: ended(pid), "all were answered")
        assert os.listdir(m.path) == []


def an_end_waits_for_answers():
    """The file system process is asked to end while a request waits."""
    st.need_root("a disk of its own")
    with st.Home() as home, disk(home) as (top, store), \
            rings.ringed(top, home.mkdir("at"), home=home) as m:
        writer = child(write_and_sync, m.path + "/f")
        os.waitpid(writer, os.WUNTRACED)
        with store.still():
            os.kill(writer, signal.SIGCONT)
            st.eventually(lambda: waits(writer), "it waits for the disk")
            os.kill(m.pid, signal.SIGTERM)
        st.eventually(lambda: ended(writer), "it was answered")
        st.eventually(lambda: not st.mounted(m.path), "the mount is gone")


if __name__ == "__main__":
    st.main(a_slow_disk_holds_up_who_waits_for_it_only, nor_by_rings,
            nor_does_a_long_write_by_rings, no_answer_gets_lost, an_end_waits_for_answers)

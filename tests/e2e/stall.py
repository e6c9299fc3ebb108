#!/usr/bin/env python3
"""A change of one file that takes long delays nobody else: not the changes of
other files, and not who opens the file that is changed."""

import contextlib
import mmap
import os
import signal
import statistics
import struct
import time

import rings
import st

SIZE = 512 << 20
# More than the locks that inodes share.
NAMES = 700
COPIES = 11
PART = 0.5


# -- a change that does not end ----------------------------------------------

def child(work, *args):
    pid = os.fork()
    if pid == 0:
        try:
            work(*args)
            os._exit(0)
        finally:
            os._exit(1)
    return pid


def write_twice(path):
    with open(path, "r+b", buffering=0) as f:
        # After a first one the kernel asks for nothing else before a write.
        os.pwrite(f.fileno(), b"once", 0)
        os.kill(os.getpid(), signal.SIGSTOP)
        os.pwrite(f.fileno(), b"more", 0)


def make_names(top):
    for n in range(NAMES):
        os.mkdir(f"{top}/d{n}")
        os.rmdir(f"{top}/d{n}")


def tasks(pid, what):
    """That file of each thread of the process."""
    for task in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(OSError), open(
                f"/proc/{pid}/task/{task}/{what}", encoding="ascii") as f:
            yield f.read()


def stop(pid):
    os.kill(pid, signal.SIGSTOP)
    st.eventually(lambda: st.all_stopped(pid), "each thread has stopped")


def is_blocked_below(m):
    """A worker waits for the file system below."""
    return any("request_wait" in x for x in tasks(m.fs_pid, "stack"))


def ended(pid):
    found, status = os.waitpid(pid, os.WNOHANG)
    assert status == 0, status
    return found == pid


def names_are_made_beside_a_write(mount):
    """Below the mount lies another one, whose file system is stopped in the
    middle of a write."""
    st.need_root("reading what the kernel does in a thread")
    with st.Home() as home:
        repo, far = home.mkdir("repo"), home.mkdir("far")
        slow = home.mkdir("repo/slow")
        with open(far + "/a", "wb") as f:
            f.write(b"x" * 4096)
        with st.Mount(far, slow, home=home) as below, \
                mount(repo, home=home) as m:
            writer = child(write_twice, m.path + "/slow/a")
            os.waitpid(writer, os.WUNTRACED)
            stop(below.fs_pid)
            try:
                os.kill(writer, signal.SIGCONT)
                st.eventually(lambda: is_blocked_below(m), "the write began")
                maker = child(make_names, m.path)
                st.eventually(lambda: ended(maker),
                              "names are made while the write goes on")
                assert is_blocked_below(m) and not ended(writer)
            finally:
                os.kill(below.fs_pid, signal.SIGCONT)
            st.eventually(lambda: ended(writer), "the write ended")


def a_change_that_never_ends_holds_up_no_other_file():
    names_are_made_beside_a_write(
        lambda *args, **kw: st.Mount(*args, args=["--no-io-uring"], **kw))


def nor_by_rings():
    """Where one thread serves all requests of a processor."""
    here = os.sched_getaffinity(0)

    @contextlib.contextmanager
    def pinned(*args, **kw):
        with rings.ringed(*args, **kw) as m:
            os.sched_setaffinity(0, {min(here)})
            try:
                yield m
            finally:
                os.sched_setaffinity(0, here)
    names_are_made_beside_a_write(pinned)


# -- the file that is changed -------------------------------------------------

def copy_all(top):
    """One copy of the file; short copies go on."""
    with open(top + "/from", "rb") as a, open(top + "/to", "r+b") as b:
        done = 0
        while done < SIZE:
            done += os.copy_file_range(a.fileno(), b.fileno(), SIZE - done,
                                       done, done)


def copy_until_told(top, shared):
    """Notes how many copies there were, and the shortest."""
    copies, shortest = 0, 1e9
    while not shared[0]:
        began = time.monotonic()
        copy_all(top)
        shortest = min(shortest, time.monotonic() - began)
        copies += 1
        shared[8:24] = struct.pack("<Qd", copies, shortest)


def longest_opens(path, shared, copies):
    """The longest open during each of so many copies."""
    longest = {}
    while len(longest) < copies:
        now = struct.unpack_from("<Q", shared, 8)[0]
        began = time.monotonic()
        os.close(os.open(path, os.O_RDONLY))
        took = time.monotonic() - began
        longest[now] = max(longest.get(now, 0), took)
    return list(longest.values())


def an_open_does_not_wait_for_a_copy_into_the_file():
    """A busy machine delays some open during some of the copies; a lock that is
    held for a copy delays one during each of them."""
    with st.Mount() as m:
        with open(m.path + "/from", "wb") as f:
            for _ in range(SIZE >> 20):
                f.write(os.urandom(1 << 10) * 1024)
        with open(m.path + "/to", "wb") as f:
            f.truncate(SIZE)
        copy_all(m.path)
        shared = mmap.mmap(-1, 4096)
        pid = child(copy_until_told, m.path, shared)
        opens = longest_opens(m.path + "/to", shared, COPIES)
        shared[0] = 1
        assert os.waitpid(pid, 0)[1] == 0
        shortest = struct.unpack_from("<d", shared, 16)[0]
        print("longest opens in ms:", *(f"{x * 1e3:.1f}" for x in opens),
              f"shortest copy: {shortest * 1e3:.0f}")
        assert statistics.median(opens) < PART * shortest


if __name__ == "__main__":
    st.main(a_change_that_never_ends_holds_up_no_other_file, nor_by_rings,
            an_open_does_not_wait_for_a_copy_into_the_file)

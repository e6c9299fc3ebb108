#!/usr/bin/env python3
"""Bytes that several processes write into one page stay: the kernel never drops
a page of a file that is changed through the mount only."""

import ctypes
import mmap
import os
import struct

import st

SIZE = 8 * 4096
ROUNDS = 5000


def fill(path):
    with open(path, "wb") as f:
        f.write(b"\0" * SIZE)


def writer(path, at):
    """Write bytes of my own, beside those of others, and find them again."""
    for n in range(ROUNDS):
        mine = n.to_bytes(4, "little") * 100
        fd = os.open(path, os.O_WRONLY)
        os.pwrite(fd, mine, at)
        os.close(fd)
        os.stat(path)
        fd = os.open(path, os.O_RDONLY)
        found = os.pread(fd, len(mine), at)
        os.close(fd)
        assert found == mine, "round %d at %d: %r, not %r" % (
            n, at, found[:4], mine[:4])


def mapper(path, at):
    """The same through a mapping, a new one each time."""
    for n in range(ROUNDS):
        fd = os.open(path, os.O_RDWR)
        with mmap.mmap(fd, SIZE) as m:
            m[at:at + 4] = n.to_bytes(4, "little")
            found = m[at:at + 4]
        os.close(fd)
        assert found == n.to_bytes(4, "little"), "round %d" % n


class Unwaited:
    """Writes by io_submit(2), which Python does not offer."""

    CALLS = {"x86_64": (206, 209, 208), "aarch64": (0, 2, 4)}

    def __init__(self):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.setup, self.submit, self.events = self.CALLS[os.uname().machine]
        self.context = ctypes.c_ulong(0)
        self.call(self.setup, 1, ctypes.byref(self.context))

    def call(self, *args):
        r = self.libc.syscall(*args)
        assert r >= 0, os.strerror(ctypes.get_errno())
        return r

    def pwrite(self, fd, page, at):
        """Write `page`, a mapping; print the result at the end."""
        where = ctypes.addressof(ctypes.c_char.from_buffer(page))
        block = ctypes.create_string_buffer(struct.pack(
            "QIiHhIQQqQII", 0, 0, 0, 1, 0, fd, where, len(page), at, 0, 0, 0))
        blocks = (ctypes.c_void_p * 1)(ctypes.addressof(block))
        done = ctypes.create_string_buffer(32)
        self.call(self.submit, self.context, 1, blocks)
        self.call(self.events, self.context, 1, 1, done, None)
        return struct.unpack("QQqq", done.raw)[2]


def direct_writer(path, over):
    """Write asynchronously with direct I/O; then read through the pages."""
    way, page = Unwaited(), mmap.mmap(-1, SIZE)
    to = os.open(path, os.O_RDWR | os.O_DIRECT)
    back = os.open(path, os.O_RDONLY)
    try:
        for n in range(ROUNDS):
            mine = bytes([n % 251]) * SIZE
            page[:] = mine
            assert way.pwrite(to, page, 0) == SIZE
            found = os.pread(back, SIZE, 0)
            assert found == mine, "round %d: %r" % (n, set(found))
    finally:
        over[0] = 1


def reader(path, over):
    fd = os.open(path, os.O_RDONLY)
    while not over[0]:
        os.pread(fd, SIZE, 0)


def together(*jobs):
    children = []
    for job, *args in jobs:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                job(*args)
                code = 0
            except AssertionError as e:
                print(e, flush=True)
            finally:
                os._exit(code)
        children.append(child)
    return [os.waitpid(c, 0)[1] for c in children]


def bytes_beside_each_other_stay():
    with st.Mount() as m:
        path = m.path + "/f"
        fill(path)
        ends = together((writer, path, 512), (writer, path, 4096 + 512),
                        (writer, path, 3600), (mapper, path, 64),
                        (mapper, path, 4096 + 64))
        assert not any(ends), ends


def what_is_read_during_a_direct_write_does_not_stay():
    if os.uname().machine not in Unwaited.CALLS:
        st.skip("io_submit(2) has another number here")
    with st.Mount() as m:
        path = m.path + "/f"
        fill(path)
        over = mmap.mmap(-1, 1)
        ends = together((direct_writer, path, over), (reader, path, over),
                        (reader, path, over))
        assert not any(ends), ends


def our_own_writes_take_nothing_back():
    """Though inotify reports them, and the file is open."""
    release = tuple(map(int, os.uname().release.split(".")[:2]))
    if release < (6, 13):
        st.skip("times are too coarse before Linux 6.13")
    with st.Mount() as m:
        path = m.path + "/f"
        fill(path)
        before = m.status()["watch"]["invalidations"]
        with open(path):
            assert together((writer, path, 512)) == [0]
            with open(m.below + "/last", "w"):
                pass
            st.eventually(
                lambda: "last" in os.listdir(m.path), "events were looked at")
            after = m.status()["watch"]["invalidations"]
        assert after - before < 10, (before, after)


st.main(bytes_beside_each_other_stay,
        what_is_read_during_a_direct_write_does_not_stay,
        our_own_writes_take_nothing_back)

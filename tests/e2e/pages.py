#!/usr/bin/env python3
"""Bytes that several processes put into one page stay: the kernel is never
made to drop a page of a file that only we change."""

import mmap
import os

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


def our_own_writes_take_nothing_back():
    """Though they are reported to us, and somebody has the file open."""
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


st.main(bytes_beside_each_other_stay, our_own_writes_take_nothing_back)

#!/usr/bin/env python3
"""A long change of one file delays nobody else: while a large file is copied
into another, names are made and the target is opened as on a plain directory.

Times are compared with each other, never with a clock: on the mount the longest
call may take a small part of one whole copy, or what it takes on the plain
directory. A busy machine delays single calls too, but not the same in each
attempt; a lock that is held for a copy delays calls in all of them."""

import mmap
import os
import struct
import time

import st

SIZE = 512 << 20
# More than the locks that inodes share.
NAMES = 700
PART = 0.3
ATTEMPTS = 6


def copy_all(top):
    """One copy of the file; short copies go on."""
    with open(top + "/from", "rb") as a, open(top + "/to", "r+b") as b:
        done = 0
        while done < SIZE:
            done += os.copy_file_range(a.fileno(), b.fileno(), SIZE - done,
                                       done, done)


def copier(top, shared):
    """A process that copies until it is told to end; notes the shortest."""
    pid = os.fork()
    if pid:
        return pid
    copies, shortest = 0, 1e9
    while not shared[0]:
        began = time.monotonic()
        copy_all(top)
        shortest = min(shortest, time.monotonic() - began)
        copies += 1
        shared[8:24] = struct.pack("<Qd", copies, shortest)
    os._exit(0)


def longest(calls):
    worst = 0
    for call in calls:
        began = time.monotonic()
        call()
        worst = max(worst, time.monotonic() - began)
    return worst


def names(top):
    for n in range(NAMES):
        yield lambda n=n: os.mkdir(f"{top}/d{n}")
    for n in range(NAMES):
        yield lambda n=n: os.rmdir(f"{top}/d{n}")


def opens(top, going):
    while going():
        yield lambda: os.close(os.open(top + "/to", os.O_RDONLY))


def measure(top):
    """The longest mkdir, the longest open, and the shortest whole copy."""
    with open(top + "/from", "wb") as f:
        for _ in range(SIZE >> 20):
            f.write(os.urandom(1 << 10) * 1024)
    with open(top + "/to", "wb") as f:
        f.truncate(SIZE)
    copy_all(top)
    shared = mmap.mmap(-1, 4096)
    pid = copier(top, shared)

    def copies():
        return struct.unpack_from("<Q", shared, 8)[0]

    made = longest(names(top))
    until = copies() + 3
    opened = longest(opens(top, lambda: copies() < until))
    shared[0] = 1
    os.waitpid(pid, 0)
    shortest = struct.unpack_from("<d", shared, 16)[0]
    os.unlink(top + "/from")
    os.unlink(top + "/to")
    return made, opened, shortest


def is_prompt(seen, plain):
    return all(own < max(PART * seen[2], 3 * below)
               for own, below in zip(seen[:2], plain[:2]))


def nobody_waits_for_a_copy():
    home = st.Home()
    try:
        repo, plain_dir = home.mkdir("repo"), home.mkdir("plain")
        with st.Mount(repo, home=home) as m:
            for _ in range(ATTEMPTS):
                plain, seen = measure(plain_dir), measure(m.path)
                print("longest mkdir, longest open, shortest copy in ms: plain",
                      *(f"{x * 1e3:.1f}" for x in plain), "mount",
                      *(f"{x * 1e3:.1f}" for x in seen))
                if is_prompt(seen, plain):
                    return
            raise AssertionError("each attempt had a call that waited for a "
                                 "copy")
    finally:
        home.close()


if __name__ == "__main__":
    st.main(nobody_waits_for_a_copy)

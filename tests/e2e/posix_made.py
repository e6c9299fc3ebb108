#!/usr/bin/env python3
"""A new file opened with O_WRONLY uses direct I/O. Other processes that have
the file open see the bytes all the same, and the journal has each write."""

import mmap
import os
import random
import threading

import st

MAKE = os.O_CREAT | os.O_EXCL | os.O_WRONLY


def a_write_across_pages_is_one_line():
    with st.Mount() as m:
        fd = os.open(m.path + "/made", MAKE, 0o644)
        for off, size in (0, 100), (4000, 200), (3000, 50000):
            assert os.pwrite(fd, b"x" * size, off) == size
        os.close(fd)
        told = [(x["off"], x["len"]) for x in m.journal()
                if x["op"] == "write" and x["path"] == "made"]
        assert told == [(0, 100), (4000, 200), (3000, 50000)], told


def a_reader_follows_its_maker():
    """By read(2) and through a mapping, whose pages were filled before."""
    rng = random.Random(7)
    with st.Mount() as m:
        path = m.path + "/made"
        text = bytearray(20000)
        fd = os.open(path, MAKE, 0o644)
        os.write(fd, text)
        with open(path, "rb", buffering=0) as f, \
                mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ) as view:
            for _ in range(200):
                off = rng.randrange(len(text))
                some = rng.randbytes(rng.randrange(1, 5000))
                some = some[:len(text) - off]
                os.pwrite(fd, some, off)
                text[off:off + len(some)] = some
                assert view[:] == text
                assert os.pread(f.fileno(), len(text), 0) == text
            os.write(fd, b"tail")
            assert os.fstat(f.fileno()).st_size == len(text) + 4
        os.close(fd)


def stores_of_a_mapping_and_its_makers_writes_meet():
    with st.Mount() as m:
        path = m.path + "/made"
        fd = os.open(path, MAKE, 0o644)
        os.write(fd, bytes(8192))
        with open(path, "r+b", buffering=0) as f, \
                mmap.mmap(f.fileno(), 0) as view:
            view[0:5] = b"store"
            os.pwrite(fd, b"write", 100)
            assert view[0:5] == b"store" and view[100:105] == b"write"
            view.flush()
        os.close(fd)
        with open(m.below + "/made", "rb") as f:
            text = f.read()
        assert text[0:5] == b"store" and text[100:105] == b"write"


def a_reader_never_keeps_what_was_overwritten():
    """Read while it is written; after the last write all bytes are new."""
    with st.Mount() as m:
        path = m.path + "/made"
        fd = os.open(path, MAKE, 0o644)
        os.write(fd, bytes(65536))
        stop = threading.Event()

        def read():
            with open(path, "rb", buffering=0) as f:
                while not stop.is_set():
                    os.pread(f.fileno(), 65536, 0)

        threads = [threading.Thread(target=read) for _ in range(2)]
        for t in threads:
            t.start()
        with open(path, "rb", buffering=0) as f:
            for n in range(1, 200):
                text = bytes([n]) * 65536
                os.pwrite(fd, text, 0)
                assert os.pread(f.fileno(), 65536, 0) == text, n
        stop.set()
        for t in threads:
            t.join()
        os.close(fd)


def appends_go_to_the_end_as_it_is_below():
    with st.Mount() as m:
        fd = os.open(m.path + "/made", MAKE | os.O_APPEND, 0o644)
        os.write(fd, b"one ")
        with open(m.below + "/made", "ab") as f:
            f.write(b"below ")
        os.write(fd, b"two")
        os.close(fd)
        with open(m.path + "/made", "rb") as f:
            assert f.read() == b"one below two"


if __name__ == "__main__":
    st.main(a_write_across_pages_is_one_line,
            a_reader_follows_its_maker,
            stores_of_a_mapping_and_its_makers_writes_meet,
            a_reader_never_keeps_what_was_overwritten,
            appends_go_to_the_end_as_it_is_below)

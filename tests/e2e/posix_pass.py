#!/usr/bin/env python3
"""Large files, which use passthrough: writes still come to us, and every
process sees what it would see in a plain directory."""

import mmap
import os
import random
import threading

import st

SIZE = 1 << 20


def passed(m):
    """The server's count of passthrough opens."""
    return find(m.status(), "passed") or 0


def find(tree, name):
    if isinstance(tree, dict):
        if name in tree:
            return tree[name]
        tree = list(tree.values())
    if isinstance(tree, list):
        for part in tree:
            found = find(part, name)
            if found is not None:
                return found
    return None


def large(m, name="big"):
    """A large file in the directory below; its content."""
    text = random.Random(5).randbytes(SIZE)
    with open(m.below + "/" + name, "wb") as f:
        f.write(text)
    return text


def need_pass(m):
    large(m, "probe")
    with open(m.path + "/probe", "rb") as f:
        f.read(1)
    if not passed(m):
        st.skip("this kernel, libfuse or user cannot pass reads through")


def a_large_file_reads_as_it_is_below():
    with st.Mount() as m:
        need_pass(m)
        text = large(m)
        with open(m.path + "/big", "rb") as f:
            assert f.read() == text
            with mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ) as view:
                assert view[:] == text
        with open(m.below + "/big", "r+b") as f:
            f.seek(7)
            f.write(b"below")
        with open(m.path + "/big", "rb") as f:
            assert f.read(12)[7:] == b"below"


def what_a_writer_writes_meanwhile_is_logged_and_seen():
    with st.Mount() as m:
        need_pass(m)
        large(m)
        with open(m.path + "/big", "rb", buffering=0) as reader:
            assert len(reader.read(10)) == 10
            with open(m.path + "/big", "r+b", buffering=0) as writer:
                writer.seek(100)
                writer.write(b"written")
                writer.seek(95)
                assert writer.read(12)[5:] == b"written"
            with open(m.path + "/big", "ab", buffering=0) as writer:
                writer.write(b"tail")
            reader.seek(100)
            assert reader.read(7) == b"written"
            reader.seek(SIZE)
            assert reader.read() == b"tail"
            assert os.stat(m.path + "/big").st_size == SIZE + 4
        writes = [(line["off"], line["len"]) for line in m.journal()
                  if line["op"] == "write" and line["path"] == "big"]
        assert writes == [(100, 7), (SIZE, 4)], writes


def stores_through_a_mapping_are_told_at_its_release():
    with st.Mount() as m:
        need_pass(m)
        large(m)
        with open(m.path + "/big", "rb", buffering=0) as reader:
            reader.read(1)
            with open(m.path + "/big", "r+b") as writer:
                with mmap.mmap(writer.fileno(), 0) as view:
                    view[50:56] = b"stored"
                    view.flush()
            reader.seek(50)
            assert reader.read(6) == b"stored"
        with open(m.below + "/big", "rb") as f:
            f.seek(50)
            assert f.read(6) == b"stored"
        st.eventually(lambda: any(
            line["op"] == "mmap" and line.get("detail") == "unseen"
            for line in m.journal()), "the journal tells of it")


def stores_are_told_of_who_also_writes_and_of_nobody_else():
    with st.Mount() as m:
        need_pass(m)
        large(m, "stored")
        large(m, "written")
        for name in "stored", "written":
            with open(m.path + "/" + name, "rb", buffering=0) as reader, \
                    open(m.path + "/" + name, "r+b", buffering=0) as writer:
                reader.read(1)
                writer.write(b"written")
                if name == "stored":
                    with mmap.mmap(writer.fileno(), 0) as view:
                        view[50:56] = b"stored"
                writer.write(b"again")
                with open(m.path + "/" + name, "r+b") as idle:
                    writer.write(b"and again")
                    idle.fileno()
        st.eventually(lambda: any(
            line["op"] == "close" and line["path"] == "written"
            for line in m.journal()), "all is told")
        told = {line["path"] for line in m.journal() if line["op"] == "mmap"}
        assert told == {"stored"}, told


def truncated_renamed_and_removed_while_it_is_read():
    with st.Mount() as m:
        need_pass(m)
        text = large(m)
        with open(m.path + "/big", "rb", buffering=0) as reader:
            reader.read(1)
            os.rename(m.path + "/big", m.path + "/moved")
            with open(m.path + "/moved", "rb") as second:
                assert second.read() == text
            with open(m.path + "/moved", "wb") as writer:
                writer.write(b"new")
            reader.seek(0)
            assert reader.read() == b"new"
            os.unlink(m.path + "/moved")
            reader.seek(0)
            assert reader.read() == b"new"
        assert not os.path.exists(m.below + "/moved")


def no_open_is_refused_whatever_the_order():
    with st.Mount() as m:
        need_pass(m)
        large(m)
        wrong = []

        def work(seed):
            dice = random.Random(seed)
            held = []
            try:
                for _ in range(400):
                    flags = dice.choice([os.O_RDONLY] * 3 + [
                        os.O_RDWR, os.O_WRONLY, os.O_WRONLY | os.O_APPEND])
                    fd = os.open(m.path + "/big", flags)
                    held.append(fd)
                    if flags == os.O_RDONLY:
                        assert len(os.pread(fd, 100, 5)) == 100
                    elif not flags & os.O_APPEND:
                        os.pwrite(fd, b"x", dice.randrange(SIZE))
                    while len(held) > dice.randrange(4):
                        os.close(held.pop(dice.randrange(len(held))))
            except Exception as e:  # reported by the main thread
                wrong.append((seed, e))
            for fd in held:
                os.close(fd)

        threads = [threading.Thread(target=work, args=(s,))
                   for s in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert not wrong, wrong
        with open(m.path + "/big", "rb") as a, \
                open(m.below + "/big", "rb") as b:
            assert a.read() == b.read()


st.main(a_large_file_reads_as_it_is_below,
        what_a_writer_writes_meanwhile_is_logged_and_seen,
        stores_through_a_mapping_are_told_at_its_release,
        stores_are_told_of_who_also_writes_and_of_nobody_else,
        truncated_renamed_and_removed_while_it_is_read,
        no_open_is_refused_whatever_the_order)

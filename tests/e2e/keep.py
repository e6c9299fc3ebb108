#!/usr/bin/env python3
"""A version that the tape has not read is kept before it is destroyed, whatever
destroys it; one that the tape has read is not. The cases play the tape's part:
they write into the progress page how far it has read."""

import ctypes
import errno
import mmap
import os
import struct
import sys
import time

import st

ONE, TWO = b"first\n" * 40, b"second\n" * 30
KEPT_MAX = 1 << 20
FALLOC_PUNCH = 3  # FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE
_libc = ctypes.CDLL(None, use_errno=True)


class Tape:
    """The tape's side of the progress page, and what was kept for it."""

    def __init__(self, m, line=1):
        (self.state,) = m.home.state_dirs()
        self.m = m
        with open(self.state + "/progress", "r+b") as f:
            self.page = mmap.mmap(f.fileno(), 4096)
        self.read_to(line)

    def read_to(self, line):
        struct.pack_into("<Q", self.page, 8, line)

    def read_all(self):
        self.read_to(self.m.head())

    def looked_outside(self):
        struct.pack_into("<Q", self.page, 16, time.clock_gettime_ns(
            time.CLOCK_REALTIME))

    def kept(self, since):
        """The keep lines after line `since`, each with its "text"."""
        found = [x for x in self.m.journal(since) if x["op"] == "keep"]
        for x in found:
            if x["res"] >= 0:
                with open(f"{self.state}/kept/{x['path2']}", "rb") as f:
                    x["text"] = f.read()
                assert x["len"] == len(x["text"]), x
        return found

    def files(self):
        return os.listdir(self.state + "/kept")


def begin(work, *args):
    pid = os.fork()
    if pid == 0:
        try:
            work(*args)
            os._exit(0)
        except BaseException as e:  # pylint: disable=broad-except
            print("in a child:", repr(e), file=sys.stderr)
            os._exit(1)
    return pid


def as_process(work, *args):
    """Another process does it; returns its id."""
    pid = begin(work, *args)
    assert os.waitpid(pid, 0)[1] == 0
    return pid


def together(work, *each):
    """A process for each argument, all at once."""
    for pid in [begin(work, x) for x in each]:
        assert os.waitpid(pid, 0)[1] == 0


def save(path, text, flags=os.O_WRONLY | os.O_CREAT | os.O_TRUNC):
    fd = os.open(path, flags, 0o644)
    assert os.write(fd, text) == len(text)
    os.close(fd)


def closed(m, path, since):
    """Wait for the CLOSE line, which comes after close(2) returned."""
    def lines():
        return any(x["op"] == "close" and x["path"] == path
                   for x in m.journal(since))
    st.eventually(lines, "the file is released")


def made(m, name, text=ONE):
    """A file that another process wrote; returns the journal's head before."""
    before = m.head()
    as_process(save, f"{m.path}/{name}", text)
    closed(m, name, before)
    return before


# -- ways to destroy a version ----------------------------------------------

def truncating_open(path):
    save(path, TWO)


def append(path):
    save(path, TWO, os.O_WRONLY | os.O_APPEND)


def overwrite(path):
    save(path, TWO, os.O_RDWR)


def truncate(path):
    os.truncate(path, 3)


def ftruncate(path):
    fd = os.open(path, os.O_WRONLY)
    os.ftruncate(fd, 3)
    os.close(fd)


def punch(path):
    fd = os.open(path, os.O_WRONLY)
    assert _libc.fallocate(fd, FALLOC_PUNCH, ctypes.c_long(0),
                           ctypes.c_long(10)) == 0, os.strerror(
                               ctypes.get_errno())
    os.close(fd)


def copy_into(path):
    save(path + ".from", TWO)
    a, b = os.open(path + ".from", os.O_RDONLY), os.open(path, os.O_WRONLY)
    assert os.copy_file_range(a, b, len(TWO)) == len(TWO)
    os.close(a)
    os.close(b)


def store(path):
    fd = os.open(path, os.O_RDWR)
    with mmap.mmap(fd, len(ONE)) as page:
        page[0:3] = b"***"
        page.flush()
    os.close(fd)


def replace(path):
    save(path + ".new", TWO)
    os.rename(path + ".new", path)


def unlink(path):
    os.unlink(path)


WAYS = (truncating_open, append, overwrite, truncate, ftruncate, punch,
        copy_into, store, replace, unlink)


def destroyed(m, name, way):
    """`way` by another process; its id, and the journal's head before."""
    before = m.head()
    return as_process(way, f"{m.path}/{name}"), before


def last_write(m, name, since):
    return max(x["n"] for x in m.journal(since)
               if x["op"] == "write" and x["path"] == name)


def what_the_tape_has_not_read_is_kept():
    with st.Mount() as m:
        tape = Tape(m)
        for way in WAYS:
            name = way.__name__
            written = last_write(m, name, made(m, name))
            pid, before = destroyed(m, name, way)
            kept = tape.kept(before)
            assert len(kept) == 1, (name, kept)
            line = kept[0]
            assert line["text"] == ONE, (name, line)
            assert line["path"] == name and line["off"] == written, line
            assert line["author"]["pid"] == pid, (name, line, pid)
            assert "detail" not in line, line
            changes = [x for x in m.journal(before) if x["op"] != "keep" and
                       name in (x.get("path"), x.get("path2"))]
            assert changes[0]["n"] > line["n"], (name, line, changes)
        status = m.status()["versions"]
        assert status["kept"] == status["waiting"] == len(WAYS), status
        assert status["refused"] == 0, status
        tape.read_all()
        assert m.status()["versions"]["waiting"] == 0


def what_the_tape_has_read_is_not_kept():
    with st.Mount() as m:
        tape = Tape(m)
        for way in WAYS:
            name = way.__name__
            made(m, name)
            tape.read_all()
            _, before = destroyed(m, name, way)
            assert not tape.kept(before), way
        assert not tape.files()


def nothing_is_kept_if_no_tape_ever_followed():
    with st.Mount() as m:
        tape = Tape(m, 0)
        for way in WAYS:
            made(m, way.__name__)
            _, before = destroyed(m, way.__name__, way)
            assert not tape.kept(before), way
        assert not tape.files()


def one_process_goes_on_with_its_version_until_it_closes():
    with st.Mount() as m:
        tape = Tape(m)
        with open(m.path + "/a", "wb", buffering=0) as f:
            for n in range(5):
                f.write(b"%d\n" % n)
            f.truncate(4)
            os.posix_fallocate(f.fileno(), 0, 4)
        assert not tape.kept(0)
        # Another open of the same process is another version.
        before = m.head()
        save(m.path + "/a", ONE)
        save(m.path + "/a", TWO)
        assert [x["text"] for x in tape.kept(before)] == [b"0\n1\n", ONE]


def a_temporary_file_is_not_kept():
    with st.Mount() as m:
        tape = Tape(m)

        def work():
            save(m.path + "/tmp", ONE)
            os.unlink(m.path + "/tmp")
        as_process(work)
        assert not tape.kept(0)
        # But what it replaces is, and what the tape has read once.
        made(m, "a", ONE)

        def again():
            save(m.path + "/a", TWO)
            os.unlink(m.path + "/a")
        tape.read_all()
        before = m.head()
        as_process(again)
        assert [x["text"] for x in tape.kept(before)] == [TWO]


def what_took_another_files_place_is_not_temporary():
    def make_and_remove(path):
        save(path, TWO)
        os.unlink(path)

    def remove_and_make(path):
        os.unlink(path)
        make_and_remove(path)

    def replace_and_remove(path):
        replace(path)
        os.unlink(path)

    def move_and_make(path):
        os.rename(path, path + ".old")
        make_and_remove(path)

    with st.Mount() as m:
        tape = Tape(m)
        for work in (remove_and_make, replace_and_remove, move_and_make):
            made(m, work.__name__)
            tape.read_all()
            _, before = destroyed(m, work.__name__, work)
            assert [x["text"] for x in tape.kept(before)] == [TWO], work
        # A temporary name that is used again.
        before = m.head()
        as_process(make_and_remove, m.path + "/tmp")
        as_process(make_and_remove, m.path + "/tmp")
        assert not tape.kept(before)


def each_save_by_rename_is_a_version():
    with st.Mount() as m:
        tape = Tape(m)
        texts = [b"save %d\n" % n for n in range(6)]

        def saves():
            for text in texts:
                save(m.path + "/a.new", text)
                os.rename(m.path + "/a.new", m.path + "/a")
        as_process(saves)
        kept = [x["text"] for x in tape.kept(0)]
        assert kept == texts[:-1], kept


def symbolic_links_are_kept_by_their_target():
    with st.Mount() as m:
        tape = Tape(m)
        as_process(os.symlink, "here", m.path + "/a")

        def relink():
            os.symlink("there", m.path + "/b")
            os.rename(m.path + "/b", m.path + "/a")
        as_process(relink)
        as_process(os.unlink, m.path + "/a")
        kept = tape.kept(0)
        assert [(x["path"], x["text"]) for x in kept] == [
            ("a", b"here"), ("a", b"there")], kept


def names_of_one_file_are_one_version():
    with st.Mount() as m:
        tape = Tape(m)
        made(m, "a")
        os.link(m.path + "/a", m.path + "/b")
        as_process(os.unlink, m.path + "/a")
        as_process(append, m.path + "/b")
        kept = tape.kept(0)
        assert [(x["path"], x["text"]) for x in kept] == [
            ("a", ONE), ("b", ONE)], kept


def what_cannot_be_kept_says_why():
    with st.Mount() as m:
        tape = Tape(m)
        os.mkdir(m.path + "/.git")
        for name, text, want in (
                ("most", b"x" * KEPT_MAX, 0),
                ("more", b"x" * (KEPT_MAX + 1), -errno.EFBIG),
                ("nul", b"text\0" * 10, -errno.EMEDIUMTYPE),
                ("late", b"x" * 20000 + b"\0", -errno.EMEDIUMTYPE),
                ("empty", b"", 0)):
            made(m, name, text)
            _, before = destroyed(m, name, truncating_open)
            line, = tape.kept(before)
            assert line["res"] == want and line["len"] == len(text), line
            assert ("path2" in line) == (want == 0), line
        made(m, ".git/index")
        destroyed(m, ".git/index", truncating_open)
        assert not any(x["path"].startswith(".git") for x in tape.kept(0))
        assert m.status()["versions"]["merged"] == 3
        assert len(tape.files()) == 2


def copies_stop_at_the_limit_and_go_on_when_the_tape_has_read():
    text = b"x" * KEPT_MAX
    with st.Mount(expect_log="cannot be kept") as m:
        tape = Tape(m)
        path = m.path + "/a"
        save(path, text)
        for _ in range(256):
            save(path, text)
        assert len(tape.files()) == 256
        save(path, text)
        assert tape.kept(0)[-1]["res"] == -errno.ENOSPC
        assert m.status()["versions"]["refused"] == 1
        assert "cannot be kept" in m.log()
        tape.read_all()
        before = m.head()
        # The tape cannot have read this one: it came after.
        save(path, text)
        save(path, ONE)
        save(path, ONE)
        assert tape.kept(before)[-1]["res"] == 0


def kept_files_outlive_the_mount():
    home = st.Home()
    try:
        repo = home.mkdir("repo")
        with st.Mount(repo, home=home) as m:
            Tape(m)
            made(m, "a")
            destroyed(m, "a", truncating_open)
        with st.Mount(repo, home=home) as m:
            tape = Tape(m)
            assert m.status()["versions"]["waiting"] == 1
            made(m, "b")
            destroyed(m, "b", truncating_open)
            assert [x["text"] for x in tape.kept(0)] == [ONE, ONE]
            tape.read_all()
            assert m.status()["versions"]["waiting"] == 0
    finally:
        home.close()


# -- several writers at once ------------------------------------------------

CHANGES = ("write", "truncate", "create", "mmap", "copy", "fallocate")


def check_cuts(tape, name):
    """A process that changes a file after another has a keep line first."""
    last, cut, present = {}, set(), None
    for x in tape.m.journal():
        ino = x.get("ino")
        if x["op"] == "rename" and x["path2"] == name:
            present = ino
        if x.get("path") != name or ino != (present or ino) or \
                x.get("detail") == "deleted":
            continue
        who = x["author"]["pid"]
        if x["op"] == "keep":
            cut.add((ino, who))
        elif x["op"] in CHANGES and x["res"] >= 0:
            assert last.get(ino, who) == who or (ino, who) in cut, x
            last[ino] = who
            cut.discard((ino, who))


def writers_that_hold_the_file_open_are_told_apart():
    rounds, size = 300, 3000
    with st.Mount() as m:
        tape = Tape(m)
        path = m.path + "/a"
        save(path, b"." * size)

        def writer(letter):
            fd = os.open(path, os.O_WRONLY)
            for _ in range(rounds):
                os.pwrite(fd, letter * size, 0)
            os.close(fd)
        together(writer, b"a", b"b", b"c")
        check_cuts(tape, "a")
        kept = tape.kept(0)
        for x in kept:
            text = x.get("text", b"")
            assert x["res"] < 0 or (len(text) == size and
                                    text == text[:1] * size), x
        print(len(kept), "keep lines,",
              sum(x["res"] == 0 for x in kept), "with text,",
              sum(x["res"] == -errno.EBUSY for x in kept), "overlapping")


def writers_that_close_the_file_are_told_apart():
    rounds = 60
    with st.Mount() as m:
        tape = Tape(m)
        path = m.path + "/a"
        save(path, b"0 0\n")

        def writer(who):
            for n in range(rounds):
                if n % 3:
                    save(path, b"%d %d\n" % (who, n))
                else:
                    save(f"{path}.{who}", b"%d %d\n" % (who, n))
                    os.rename(f"{path}.{who}", path)
        together(writer, 1, 2, 3)
        check_cuts(tape, "a")
        texts = {x["text"] for x in tape.kept(0) if x["res"] == 0}
        with open(path, "rb") as f:
            texts.add(f.read())
        for x in tape.kept(0):
            assert x["res"] in (0, -errno.EBUSY, -errno.EDQUOT), x
        assert len(texts) > rounds, len(texts)


def a_log_of_many_processes_is_kept_a_bounded_number_of_times():
    with st.Mount() as m:
        tape = Tape(m)
        with open(m.path + "/log", "ab", buffering=0) as f:
            for _ in range(100):
                as_process(f.write, b"a line\n")
        kept = tape.kept(0)
        assert sum(x["res"] == 0 for x in kept) == 64, len(kept)
        assert kept[-1]["res"] == -errno.EDQUOT
        check_cuts(tape, "log")


# -- changes made outside the mount -----------------------------------------

def need_fine_times(directory):
    path, seen = directory + "/probe", set()
    for n in range(20):
        save(path, b"%d" % (n % 10))
        seen.add(os.stat(path).st_ctime_ns)
    os.unlink(path)
    if len(seen) < 20:
        st.skip("the file system's times do not tell changes apart")


def a_change_outside_is_kept_before_our_own():
    with st.Mount() as m:
        need_fine_times(m.below)
        tape = Tape(m)
        for name in ("edited", "noticed", "untouched", "looked", "status",
                     "gone"):
            made(m, name)
        save(m.below + "/new", TWO)
        tape.looked_outside()
        tape.read_all()
        for name in ("edited", "noticed", "looked", "status", "gone"):
            save(f"{m.below}/{name}", TWO)
        with open(m.path + "/noticed", "rb") as f:
            assert f.read() == TWO
        before = m.head()
        as_process(os.chmod, m.path + "/status", 0o600)
        for name in ("edited", "noticed", "untouched", "status"):
            destroyed(m, name, append)
        destroyed(m, "gone", unlink)
        kept = tape.kept(before)
        assert [x["path"] for x in kept] == [
            "edited", "noticed", "status", "gone"], kept
        for x in kept:
            assert x["text"] == TWO and x["detail"] == "outside", x
            assert x["off"] == 0, x
        # Our own change follows our own.
        tape.read_all()
        destroyed(m, "edited", append)
        # The tape has looked meanwhile.
        tape.looked_outside()
        before = m.head()
        destroyed(m, "looked", append)
        destroyed(m, "new", append)
        assert not tape.kept(before)


def our_own_change_is_not_outside_after_the_kernel_forgot_the_file():
    st.need_root("dropping the kernel's caches")
    with st.Mount() as m:
        need_fine_times(m.below)
        tape = Tape(m)
        tape.looked_outside()
        made(m, "a")
        tape.read_all()
        with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as f:
            f.write("2")
        destroyed(m, "a", append)
        assert not tape.kept(0)


def a_version_is_kept_after_the_kernel_forgot_the_file():
    st.need_root("dropping the kernel's caches")
    with st.Mount() as m:
        tape = Tape(m)
        for way in WAYS:
            written = last_write(m, way.__name__, made(m, way.__name__))
            with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as f:
                f.write("2")
            _, before = destroyed(m, way.__name__, way)
            kept = tape.kept(before)
            assert [x["text"] for x in kept] == [ONE], (way, kept)
            assert kept[0]["off"] >= written, kept


if __name__ == "__main__":
    st.main(what_the_tape_has_not_read_is_kept,
            what_the_tape_has_read_is_not_kept,
            nothing_is_kept_if_no_tape_ever_followed,
            one_process_goes_on_with_its_version_until_it_closes,
            a_temporary_file_is_not_kept,
            what_took_another_files_place_is_not_temporary,
            each_save_by_rename_is_a_version,
            symbolic_links_are_kept_by_their_target,
            names_of_one_file_are_one_version,
            what_cannot_be_kept_says_why,
            copies_stop_at_the_limit_and_go_on_when_the_tape_has_read,
            kept_files_outlive_the_mount,
            writers_that_hold_the_file_open_are_told_apart,
            writers_that_close_the_file_are_told_apart,
            a_log_of_many_processes_is_kept_a_bounded_number_of_times,
            a_change_outside_is_kept_before_our_own,
            our_own_change_is_not_outside_after_the_kernel_forgot_the_file,
            a_version_is_kept_after_the_kernel_forgot_the_file)

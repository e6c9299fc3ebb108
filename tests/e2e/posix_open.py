#!/usr/bin/env python3
"""Opening: its flags, files without names, and what an open file outlives."""

import concurrent.futures
import fcntl
import mmap
import os
import resource
import signal

import posixcase
from posixcase import Child, facts, get, opened, put, result

RECORD = 64


class Appending(posixcase.Case):
    def test_records_of_many_processes_all_arrive_whole(self):
        path = self.mnt + "/log"
        put(path)

        def append(who):
            with opened(path, os.O_WRONLY | os.O_APPEND) as fd:
                for i in range(200):
                    text = b"%d %d " % (who, i)
                    os.write(fd, text.ljust(RECORD - 1, b".") + b"\n")

        for child in [Child(append, who) for who in range(8)]:
            child.join()
        for side in (path, self.below + "/log"):
            lines = get(side).split(b"\n")[:-1]
            self.assertEqual({len(line) for line in lines}, {RECORD - 1})
            found = sorted(tuple(map(int, line.split()[:2]))
                           for line in lines)
            self.assertEqual(found, [(w, i) for w in range(8)
                                     for i in range(200)])

    def test_appends_beside_a_mapping_lose_nothing(self):
        path = self.mnt + "/log"
        put(path, b"-" * 4096)

        def append(who):
            with opened(path, os.O_WRONLY | os.O_APPEND) as fd:
                for i in range(100):
                    os.write(fd, b"%02d%02d" % (who, i))

        children = [Child(append, who) for who in range(4)]
        with opened(path, os.O_RDWR) as fd, \
                mmap.mmap(fd, 4096, mmap.MAP_SHARED) as m:
            for i in range(4096):
                m[i] = i % 251
                if i % 512 == 0:
                    m.flush()
            m.flush()
        for child in children:
            child.join()
        content = get(path)
        self.assertEqual(content, get(self.below + "/log"))
        self.assertEqual(content[:4096], bytes(i % 251 for i in range(4096)))
        tail = content[4096:]
        self.assertEqual(sorted(tail[i:i + 4]
                                for i in range(0, len(tail), 4)),
                         sorted(b"%02d%02d" % (w, i) for w in range(4)
                                for i in range(100)))

    def test_an_append_goes_to_the_end_wherever_one_seeks_or_aims(self):
        def act(d):
            put(d + "/f", b"0123456789")
            with opened(d + "/f", os.O_RDWR | os.O_APPEND) as fd:
                os.lseek(fd, 2, os.SEEK_SET)
                os.write(fd, b"A")
                at = os.lseek(fd, 0, os.SEEK_CUR)
                os.pwrite(fd, b"B", 0)
                os.truncate(d + "/f", 5)
                os.write(fd, b"C")
                return at, get(d + "/f"), os.lseek(fd, 0, os.SEEK_CUR)
        self.assertEqual(self.alike(act)[1], b"01234C")

    def test_append_follows_growth_from_below(self):
        put(self.mnt + "/f", b"one.")
        with opened(self.mnt + "/f", os.O_WRONLY | os.O_APPEND) as fd:
            with open(self.below + "/f", "ab") as f:
                f.write(b"two.")
            os.write(fd, b"three.")
        self.assertEqual(get(self.below + "/f"), b"one.two.three.")

    def test_append_can_be_switched_on_an_open_file(self):
        def act(d):
            put(d + "/f", b"....")
            with opened(d + "/f", os.O_RDWR) as fd:
                fcntl.fcntl(fd, fcntl.F_SETFL, os.O_APPEND)
                os.pwrite(fd, b"end", 0)
                fcntl.fcntl(fd, fcntl.F_SETFL, 0)
                os.pwrite(fd, b"start", 0)
                return get(d + "/f")
        self.assertEqual(self.alike(act), b"startnd")


class Flags(posixcase.Case):
    def test_truncating_opens_empty_the_file_for_all(self):
        def act(d):
            put(d + "/f", b"x" * 10000)
            with opened(d + "/f") as reader:
                os.close(os.open(d + "/f", os.O_WRONLY | os.O_TRUNC))
                return (os.read(reader, 10), os.fstat(reader).st_size,
                        facts(d + "/f"))
        self.assertEqual(self.alike(act)[:2], (b"", 0))

    def test_exclusive_creation_has_one_winner(self):
        def compete(go, path):
            os.read(go, 1)
            return result(os.open, path, os.O_CREAT | os.O_EXCL | os.O_RDWR)

        for round in range(10):
            read, write = os.pipe()
            children = [Child(compete, read, self.mnt + "/%d" % round)
                        for _ in range(6)]
            os.write(write, b"!" * 6)
            outcomes = [c.join() for c in children]
            os.close(read)
            os.close(write)
            self.assertEqual(outcomes.count("EEXIST"), 5, outcomes)

    def test_every_combination_of_flags_answers_as_below(self):
        def act(d):
            os.mkdir(d + "/dir")
            put(d + "/file", b"text")
            os.symlink("file", d + "/link")
            os.symlink("none", d + "/dangling")
            os.mkfifo(d + "/fifo")
            flags = {"creat": os.O_CREAT, "excl": os.O_CREAT | os.O_EXCL,
                     "trunc": os.O_TRUNC, "dir": os.O_DIRECTORY,
                     "nofollow": os.O_NOFOLLOW, "path": os.O_PATH,
                     "append": os.O_APPEND, "none": 0}
            out = {}
            for name in ("dir", "file", "link", "dangling", "fifo", "new"):
                for mode in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR, 3):
                    for word, flag in flags.items():
                        got = result(os.open, d + "/" + name,
                                     mode | flag | os.O_NONBLOCK, 0o640)
                        if isinstance(got, int):
                            os.close(got)
                            got = "opened"
                        out[name, mode, word] = got
                        for made in ("none", "new"):
                            result(os.unlink, d + "/" + made)
            return out, sorted(os.listdir(d)), facts(d + "/file")
        self.alike(act)

    def test_reads_and_writes_need_the_right_mode(self):
        def act(d):
            put(d + "/f", b"text")
            with opened(d + "/f") as r, opened(d + "/f", os.O_WRONLY) as w, \
                    opened(d + "/f", os.O_PATH) as p:
                return (result(os.write, r, b"x"), result(os.read, w, 1),
                        result(os.ftruncate, r, 0), result(os.read, p, 1),
                        result(os.fchmod, p, 0o600),
                        os.fstat(p).st_size, get(d + "/f"))
        self.alike(act)

    def test_a_file_created_without_write_permission_can_be_written(self):
        def act(d):
            fd = os.open(d + "/f", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0)
            os.write(fd, b"by its creator")
            os.close(fd)
            os.chmod(d + "/f", 0o600)
            return get(d + "/f")
        user = posixcase.ALICE if os.geteuid() == 0 else None
        self.alike(lambda d: posixcase.as_user(user, act, d))

    def test_direct_io_reads_what_was_written_either_way(self):
        path = self.mnt + "/f"
        buffered = os.urandom(8192)
        put(path, buffered)
        with mmap.mmap(-1, 8192) as page:
            fd = result(os.open, path, os.O_RDWR | os.O_DIRECT)
            if fd == "EINVAL":
                self.skipTest("the file system below has no O_DIRECT")
            with opened(path, os.O_RDWR) as other:
                self.assertEqual(os.preadv(fd, [page], 0), 8192)
                self.assertEqual(page[:], buffered)
                page[:] = os.urandom(8192)
                self.assertEqual(os.pwritev(fd, [page], 8192), 8192)
                self.assertEqual(os.pread(other, 8192, 8192), page[:])
                os.pwrite(other, b"between", 100)
                self.assertEqual(os.preadv(fd, [page], 0), 8192)
                self.assertEqual(page[100:107], b"between")
            os.close(fd)
        self.assertEqual(get(path), get(self.below + "/f"))

    def test_the_limit_on_file_sizes_is_kept(self):
        def grow(path):
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
            with opened(path, os.O_RDWR | os.O_CREAT) as fd:
                return (os.write(fd, b"x" * 2000),
                        result(os.pwrite, fd, b"y", 1000),
                        result(os.ftruncate, fd, 1001),
                        result(posixcase.fallocate, fd, 0, 0, 1001),
                        os.fstat(fd).st_size)
        self.assertEqual(
            self.alike(lambda d: Child(grow, d + "/f").join()),
            (1000, "EFBIG", "EFBIG", "EFBIG", 1000))

    def test_vectored_and_odd_reads_agree_with_the_file(self):
        def act(d):
            put(d + "/f", bytes(i % 251 for i in range(300000)))
            a, b = bytearray(5000), bytearray(7)
            with opened(d + "/f") as fd:
                n = os.preadv(fd, [a, b], 131000)
                return (n, bytes(a), bytes(b), os.pread(fd, 10, 299995),
                        os.pread(fd, 10, 300000), os.pread(fd, 9, 1 << 40),
                        result(os.pread, fd, 1, -1))
        self.alike(act)


class Kept(posixcase.Case):
    """A file whose pages the kernel has is opened below when it is read."""

    COUNT = 30

    def kept(self, path, text):
        """Created, and read often enough that the kernel has all pages."""
        put(path, text)
        for _ in range(2):
            self.assertEqual(get(path), text)

    def dropped(self, fd):
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        return fd

    def opened_below(self):
        """Descriptors of the server's that could read a file of this test."""
        found = 0
        top = os.path.realpath(self.below)
        proc = "/proc/%d" % self.mount.fs_pid
        for n in os.listdir(proc + "/fd"):
            try:
                name = os.readlink(proc + "/fd/" + n)
                with open(proc + "/fdinfo/" + n) as f:
                    flags = int(f.read().split("flags:")[1].split()[0], 8)
            except FileNotFoundError:
                continue
            found += name.startswith(top) and not flags & os.O_PATH
        return found

    def test_readers_of_kept_pages_cost_no_descriptor_below(self):
        self.need_root("only a server that may read anything waits")
        path = self.mnt + "/f"
        self.kept(path, b"text")
        fds = [os.open(path, os.O_RDONLY) for _ in range(self.COUNT)]
        self.assertEqual(self.opened_below(), 0)
        for fd in fds:
            self.assertEqual(os.pread(self.dropped(fd), 9, 0), b"text")
        self.assertLessEqual(self.opened_below(), self.COUNT)
        for fd in fds:
            os.close(fd)

    def test_pages_dropped_later_are_read_whatever_became_of_the_name(self):
        def act(d):
            out = []
            for change in (os.unlink, lambda f: os.rename(f, f + "2"),
                           lambda f: os.chmod(f, 0)):
                self.kept(d + "/f", b"text")
                with opened(d + "/f") as fd:
                    change(d + "/f")
                    out.append(os.pread(self.dropped(fd), 9, 0))
                result(os.unlink, d + "/f")
            return out
        user = posixcase.ALICE if os.geteuid() == 0 else None
        self.assertEqual(
            self.alike(lambda d: posixcase.as_user(user, act, d)),
            [b"text"] * 3)

    def test_everything_else_a_reader_may_do_works_before_a_read(self):
        def act(d):
            self.kept(d + "/f", b"text" * 2000)
            put(d + "/copy")
            with opened(d + "/f") as a, opened(d + "/f") as b, \
                    opened(d + "/f") as c, opened(d + "/f") as m, \
                    opened(d + "/copy", os.O_WRONLY) as to:
                os.fsync(a)
                data = os.lseek(b, 0, os.SEEK_DATA)
                hole = os.lseek(b, 0, os.SEEK_HOLE)
                n = os.copy_file_range(c, to, 100, 4)
                with mmap.mmap(self.dropped(m), 0,
                               prot=mmap.PROT_READ) as view:
                    return data, hole, n, get(d + "/copy"), view[4:8]
        self.assertEqual(self.alike(act)[3], b"text" * 25)

    def test_a_change_from_below_is_seen_by_the_next_open(self):
        path = self.mnt + "/f"
        self.kept(path, b"text")
        with opened(path) as old:
            put(self.below + "/f", b"other")
            self.assertEqual(get(path), b"other")
            self.assertEqual(os.pread(self.dropped(old), 9, 0), b"other")

    def test_many_threads_share_one_handle_that_was_not_open_below(self):
        path = self.mnt + "/f"
        text = os.urandom(1 << 17)
        self.kept(path, text)
        with opened(path) as fd, \
                concurrent.futures.ThreadPoolExecutor(8) as pool:
            self.dropped(fd)
            parts = pool.map(lambda n: os.pread(fd, 4096, n * 4096), range(32))
            self.assertEqual(b"".join(parts), text)


class Unlinked(posixcase.Case):
    def live(self, fd):
        """Everything an open file can do, done after its name went."""
        os.pwrite(fd, b"written later", 4)
        os.fchmod(fd, 0o600)
        os.utime(fd, ns=(5, 6))
        first = os.pread(fd, 100, 0), facts(fd), os.fstat(fd).st_mtime_ns
        os.ftruncate(fd, 6)
        posixcase.fallocate(fd, 0, 0, 5000)
        os.fsync(fd)
        return first, os.pread(fd, 8, 0), facts(fd)

    def test_an_unlinked_file_lives_until_it_is_closed(self):
        def act(d):
            put(d + "/f", b"then")
            with opened(d + "/f", os.O_RDWR) as fd:
                os.unlink(d + "/f")
                again = result(os.open, d + "/f", os.O_RDONLY)
                return self.live(fd), again, os.listdir(d)
        (first, _, last), again, names = self.alike(act)
        self.assertEqual(first[0], b"thenwritten later")
        self.assertEqual((last["nlink"], again, names), (0, "ENOENT", []))

    def test_a_file_renamed_over_lives_until_it_is_closed(self):
        def act(d):
            put(d + "/f", b"then")
            put(d + "/new", b"now")
            with opened(d + "/f", os.O_RDWR) as fd:
                os.rename(d + "/new", d + "/f")
                return self.live(fd), get(d + "/f")
        self.assertEqual(self.alike(act)[1], b"now")

    def test_an_unlinked_file_can_be_reopened_through_proc(self):
        def act(d):
            put(d + "/f", b"then")
            with opened(d + "/f", os.O_RDWR) as fd:
                os.unlink(d + "/f")
                with opened("/proc/self/fd/%d" % fd, os.O_RDWR) as again:
                    os.write(again, b"here")
                    return os.pread(fd, 9, 0), os.fstat(again).st_nlink
        self.assertEqual(self.alike(act), (b"here", 0))

    def test_a_file_made_again_is_another_file(self):
        def act(d):
            put(d + "/f", b"old")
            with opened(d + "/f", os.O_RDWR) as fd:
                os.unlink(d + "/f")
                put(d + "/f", b"newer")
                os.write(fd, b"OLD")
                differ = os.fstat(fd).st_ino != os.stat(d + "/f").st_ino
                return os.pread(fd, 9, 0), get(d + "/f"), differ
        self.assertEqual(self.alike(act), (b"OLD", b"newer", True))

    def test_a_mapping_outlives_name_and_descriptor(self):
        def act(d):
            put(d + "/f", b"m" * 4096)
            with opened(d + "/f", os.O_RDWR) as fd:
                m = mmap.mmap(fd, 4096)
            os.unlink(d + "/f")
            m[0:2] = b"ok"
            m.flush()
            text = m[0:4]
            m.close()
            return text
        self.assertEqual(self.alike(act), b"okmm")


class Nameless(posixcase.Case):
    def setUp(self):
        super().setUp()
        version = self.mount.status().get("libfuse", "0")
        numbers = tuple(int(n) for n in version.split(".")[:2])
        if numbers < (3, 17):
            self.skipTest("libfuse %s knows no O_TMPFILE" % version)
        if result(os.open, self.plain, os.O_TMPFILE | os.O_RDWR) in (
                "EOPNOTSUPP", "EISDIR"):
            self.skipTest("the file system below has no O_TMPFILE")

    def test_a_file_without_a_name_is_a_file_and_can_be_given_one(self):
        def act(d):
            with opened(d, os.O_TMPFILE | os.O_RDWR, 0o640) as fd:
                os.write(fd, b"nameless")
                before = facts(fd), os.listdir(d)
                posixcase.link_fd(fd, d + "/named")
                os.pwrite(fd, b"N", 0)
                return before, facts(fd), get(d + "/named"), \
                    result(posixcase.link_fd, fd, d + "/named")
        before, after, content, twice = self.alike(act)
        self.assertEqual((before[0]["nlink"], before[1]), (0, []))
        self.assertEqual((after["nlink"], content, twice),
                         (1, b"Nameless", "EEXIST"))

    def test_a_file_without_a_name_vanishes_at_close(self):
        def act(d):
            for _ in range(50):
                with opened(d, os.O_TMPFILE | os.O_RDWR) as fd:
                    os.write(fd, b"x" * 5000)
            return os.listdir(d)
        self.assertEqual(self.alike(act), [])

    def test_an_exclusive_one_can_never_be_named(self):
        def act(d):
            flags = os.O_TMPFILE | os.O_RDWR | os.O_EXCL
            with opened(d, flags) as fd:
                return result(posixcase.link_fd, fd, d + "/named")
        self.alike(act)

    def test_it_must_be_opened_for_writing_in_a_directory(self):
        def act(d):
            put(d + "/f")
            return (result(os.open, d, os.O_TMPFILE | os.O_RDONLY),
                    result(os.open, d + "/f", os.O_TMPFILE | os.O_RDWR),
                    result(os.open, d + "/none", os.O_TMPFILE | os.O_RDWR))
        self.alike(act)


if __name__ == "__main__":
    posixcase.main()

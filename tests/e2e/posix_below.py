#!/usr/bin/env python3
"""Changes made outside the mount show within a second, in spite of every cache.
The mount lies over its own directory, as in daily use, and each file is first
read through the mount, so that the caches hold something stale."""

import mmap
import os
import stat
import unittest

import posixcase
from posixcase import get, opened, put, result


def replace(path, data):
    """An editor's save: a new file over the old name."""
    put(path + ".tmp", data)
    os.rename(path + ".tmp", path)


class Below(posixcase.Case):
    in_place = True

    def shows(self, prepare, change, look, want):
        """prepare(d) below; look(d) warms the mount's caches; change(d)
        below; then look(d) through the mount must become `want`."""
        def begin(attempt):
            name = "/%d" % attempt
            os.mkdir(self.below + name)
            prepare(self.below + name)
            self.assertNotEqual(look(self.mnt + name), want)
            change(self.below + name)
        self.eventually_within_a_second(
            begin, lambda attempt: look(self.mnt + "/%d" % attempt) == want)

    def file(self, change, look, want):
        self.shows(lambda d: put(d + "/f", b"before"), change, look, want)

    def test_new_content_of_the_same_size(self):
        def change(d):
            with opened(d + "/f", os.O_WRONLY) as fd:
                os.pwrite(fd, b"AFTER!", 0)
        self.file(change, lambda d: get(d + "/f"), b"AFTER!")

    def test_longer_content(self):
        self.file(lambda d: put(d + "/f", b"b" * 100000),
                  lambda d: get(d + "/f"), b"b" * 100000)

    def test_shorter_content(self):
        self.file(lambda d: os.truncate(d + "/f", 2),
                  lambda d: (get(d + "/f"), os.stat(d + "/f").st_size),
                  (b"be", 2))

    def test_content_whose_time_was_put_back(self):
        def change(d):
            s = os.stat(d + "/f")
            put(d + "/f", b"AFTER!")
            os.utime(d + "/f", ns=(s.st_atime_ns, s.st_mtime_ns))
        self.file(change, lambda d: get(d + "/f"), b"AFTER!")

    def test_an_editors_save(self):
        self.file(lambda d: replace(d + "/f", b"saved"),
                  lambda d: get(d + "/f"), b"saved")

    def test_a_new_file_where_none_was_found(self):
        self.shows(lambda d: None, lambda d: put(d + "/n", b"here"),
                   lambda d: result(get, d + "/n"), b"here")

    def test_a_new_directory_with_files_in_it(self):
        def change(d):
            os.makedirs(d + "/n/m")
            put(d + "/n/m/f", b"deep")
        self.shows(lambda d: None, change,
                   lambda d: result(get, d + "/n/m/f"), b"deep")

    def test_a_file_removed(self):
        self.file(lambda d: os.unlink(d + "/f"),
                  lambda d: result(get, d + "/f"), "ENOENT")

    def test_a_file_renamed(self):
        self.file(lambda d: os.rename(d + "/f", d + "/g"),
                  lambda d: (result(get, d + "/f"), result(get, d + "/g")),
                  ("ENOENT", b"before"))

    def test_a_directory_renamed(self):
        def prepare(d):
            os.makedirs(d + "/a/b")
            put(d + "/a/b/f", b"text")
        self.shows(prepare, lambda d: os.rename(d + "/a", d + "/z"),
                   lambda d: (result(get, d + "/a/b/f"),
                              result(get, d + "/z/b/f")),
                   ("ENOENT", b"text"))

    def test_a_change_inside_a_directory_renamed_below(self):
        def prepare(d):
            os.mkdir(d + "/a")
            put(d + "/a/f", b"text")

        def change(d):
            os.rename(d + "/a", d + "/z")
            replace(d + "/z/f", b"newer")
        self.shows(prepare, change, lambda d: result(get, d + "/z/f"),
                   b"newer")

    def test_a_file_replaced_by_a_directory(self):
        def change(d):
            os.unlink(d + "/f")
            os.mkdir(d + "/f")
            put(d + "/f/in", b"side")
        self.file(change, lambda d: result(get, d + "/f/in"), b"side")

    def test_a_directory_replaced_by_a_file(self):
        def change(d):
            os.rmdir(d + "/x")
            put(d + "/x", b"file")
        self.shows(lambda d: os.mkdir(d + "/x"), change,
                   lambda d: result(get, d + "/x"), b"file")

    def test_a_file_replaced_by_a_symbolic_link(self):
        def change(d):
            os.unlink(d + "/f")
            os.symlink("elsewhere", d + "/f")
        self.file(change, lambda d: result(os.readlink, d + "/f"),
                  "elsewhere")

    def test_a_symbolic_link_pointed_elsewhere(self):
        def prepare(d):
            os.symlink("one", d + "/l")
            put(d + "/one", b"1")
            put(d + "/two", b"2")

        def change(d):
            os.unlink(d + "/l")
            os.symlink("two", d + "/l")
        self.shows(prepare, change,
                   lambda d: (os.readlink(d + "/l"), get(d + "/l")),
                   ("two", b"2"))

    def test_entries_of_a_directory(self):
        def prepare(d):
            for name in ("a", "b", "c"):
                put(d + "/" + name)

        def change(d):
            os.unlink(d + "/a")
            os.rename(d + "/b", d + "/z")
            os.mkdir(d + "/new")
        self.shows(prepare, change, lambda d: sorted(os.listdir(d)),
                   ["c", "new", "z"])

    def test_a_mode(self):
        self.file(lambda d: os.chmod(d + "/f", 0o751),
                  lambda d: stat.S_IMODE(os.stat(d + "/f").st_mode), 0o751)

    def test_a_time(self):
        self.file(lambda d: os.utime(d + "/f", ns=(1, 2)),
                  lambda d: os.stat(d + "/f").st_mtime_ns, 2)

    def test_an_attribute(self):
        self.file(lambda d: os.setxattr(d + "/f", "user.a", b"v"),
                  lambda d: result(os.getxattr, d + "/f", "user.a"), b"v")

    def test_a_right_taken_away(self):
        self.need_root()

        def look(d):
            return posixcase.as_user(posixcase.ALICE, result, get, d + "/f")
        self.file(lambda d: os.chmod(d + "/f", 0o600), look, "EACCES")

    def test_a_link_count(self):
        self.file(lambda d: os.link(d + "/f", d + "/g"),
                  lambda d: os.stat(d + "/f").st_nlink, 2)

    def test_content_written_through_another_name(self):
        def prepare(d):
            os.mkdir(d + "/x")
            put(d + "/x/a", b"before")
            os.link(d + "/x/a", d + "/b")

        def change(d):
            with opened(d + "/x/a", os.O_WRONLY) as fd:
                os.write(fd, b"AFTER!")
        self.shows(prepare, change, lambda d: get(d + "/b"), b"AFTER!")

    def test_content_while_a_process_keeps_the_file_open(self):
        held = {}

        def look(d):
            if d not in held:
                held[d] = os.open(d + "/f", os.O_RDONLY)
                self.addCleanup(os.close, held[d])
            return (os.pread(held[d], 99, 0), os.fstat(held[d]).st_size,
                    get(d + "/f"))
        self.file(lambda d: put(d + "/f", b"while open"), look,
                  (b"while open", 10, b"while open"))

    def test_open_content_written_by_a_name_outside(self):
        """Nothing reports such a change."""
        held = {}

        def outside(d):
            return os.path.dirname(self.below) + "/out" + os.path.basename(d)

        def prepare(d):
            put(d + "/f", b"before")
            os.link(d + "/f", outside(d))

        def change(d):
            with opened(outside(d), os.O_WRONLY | os.O_APPEND) as fd:
                os.write(fd, b" and after")

        def look(d):
            if d not in held:
                held[d] = os.open(d + "/f", os.O_RDONLY)
                self.addCleanup(os.close, held[d])
            return os.pread(held[d], 99, 0)
        self.shows(prepare, change, look, b"before and after")

    def test_a_reader_at_the_end_gets_what_is_added_below(self):
        """A reader never sees zeroes after the end of old pages."""
        put(self.below + "/log", b"")
        want = b"".join(b"line %d of the log\n" % n for n in range(300))
        with opened(self.mnt + "/log") as fd, \
                opened(self.below + "/log", os.O_WRONLY) as log:
            got = b""
            for n in range(300):
                os.write(log, b"line %d of the log\n" % n)
                os.stat(self.mnt + "/log")
                got += os.read(fd, 4096)
                self.assertTrue(want.startswith(got), got[-80:])
            posixcase.st.eventually(
                lambda: os.stat(self.mnt + "/log").st_size == len(want),
                "all is there")
            while len(got) < len(want):
                got += os.read(fd, 4096)
            self.assertEqual(got, want)

    def test_content_in_a_mapping_kept_by_a_process(self):
        kept = {}

        def look(d):
            if d not in kept:
                with opened(d + "/f", os.O_RDWR) as fd:
                    kept[d] = mmap.mmap(fd, 6)
            return kept[d][:]

        def change(d):
            with opened(d + "/f", os.O_WRONLY) as fd:
                os.write(fd, b"AFTER!")
        self.file(change, look, b"AFTER!")

    def test_an_open_file_replaced_below_keeps_its_old_content(self):
        put(self.below + "/f", b"old")
        with opened(self.mnt + "/f") as fd:
            replace(self.below + "/f", b"new one")
            posixcase.st.eventually(
                lambda: get(self.mnt + "/f") == b"new one", "it shows")
            self.assertEqual(os.pread(fd, 99, 0), b"old")
            self.assertEqual(os.fstat(fd).st_nlink, 0)

    def test_an_open_file_removed_below_lives_on(self):
        put(self.below + "/f", b"old")
        with opened(self.mnt + "/f", os.O_RDWR) as fd:
            os.unlink(self.below + "/f")
            posixcase.st.eventually(
                lambda: not os.path.exists(self.mnt + "/f"), "it shows")
            os.pwrite(fd, b"N", 0)
            self.assertEqual(os.pread(fd, 99, 0), b"Nld")

    def test_a_tree_checked_out_below(self):
        def prepare(d):
            for i in range(10):
                os.mkdir(d + "/%d" % i)
                for j in range(20):
                    put(d + "/%d/%d" % (i, j), b"before")

        def change(d):
            for i in range(10):
                for j in range(20):
                    replace(d + "/%d/%d" % (i, j), b"after %d" % j)

        def look(d):
            return [get(d + "/%d/%d" % (i, j)) for i in range(10)
                    for j in range(20)]
        self.shows(prepare, change, look,
                   [b"after %d" % j for _ in range(10) for j in range(20)])

    def test_a_directory_under_the_feet_of_a_process(self):
        os.mkdir(self.below + "/here")
        with opened(self.mnt + "/here", os.O_DIRECTORY) as fd:
            put(self.below + "/here/new")
            posixcase.st.eventually(lambda: os.listdir(fd) == ["new"],
                                    "the listing by descriptor")
            os.unlink(self.below + "/here/new")
            os.rmdir(self.below + "/here")
            posixcase.st.eventually(
                lambda: result(os.stat, self.mnt + "/here") == "ENOENT",
                "the directory goes")
            self.assertEqual(os.listdir(fd), [])

    def test_names_made_again_below_are_new_files(self):
        put(self.below + "/f", b"1")
        for round in range(20):
            os.unlink(self.below + "/f")
            put(self.below + "/f", b"%d" % round)
            posixcase.st.eventually(
                lambda: result(get, self.mnt + "/f") == b"%d" % round,
                "round %d" % round)
        self.assertEqual(os.stat(self.mnt + "/f").st_ino,
                         os.stat(self.below + "/f").st_ino)


class Own(unittest.TestCase):
    def test_removing_much_takes_the_listing_back_a_few_times_only(self):
        """inotify reports changes through the mount like all others."""
        with posixcase.st.Mount() as m:
            for n in range(600):
                put(m.path + "/%d" % n)
            os.listdir(m.path)
            before = m.status()["watch"]["invalidations"]
            for n in range(600):
                os.unlink(m.path + "/%d" % n)
            put(m.below + "/last")
            posixcase.st.eventually(lambda: os.listdir(m.path) == ["last"],
                                    "all events were looked at")
            after = m.status()["watch"]["invalidations"]
            self.assertLess(after - before, 200)


class BelowElsewhere(Below):
    """The same with the mount beside the directory."""
    in_place = False


if __name__ == "__main__":
    posixcase.main()

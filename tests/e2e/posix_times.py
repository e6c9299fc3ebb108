#!/usr/bin/env python3
"""stat(2): inode numbers, link counts, times to the nanosecond."""

import os
import time

import posixcase
from posixcase import UTIME_NOW, UTIME_OMIT, opened, put, result, utimensat

FIELDS = ("st_mode", "st_ino", "st_nlink", "st_uid", "st_gid", "st_size",
          "st_blocks", "st_blksize", "st_rdev", "st_mtime_ns", "st_ctime_ns")


class Status(posixcase.Case):
    def assert_as_below(self, name):
        a = os.lstat(self.mnt + name)
        b = os.lstat(self.below + name)
        for field in FIELDS:
            self.assertEqual(getattr(a, field), getattr(b, field),
                             "%s of %s" % (field, name))

    def test_every_field_is_that_of_the_file_below(self):
        os.mkdir(self.mnt + "/dir")
        put(self.mnt + "/file", b"x" * 12345)
        os.symlink("file", self.mnt + "/link")
        os.mkfifo(self.mnt + "/fifo")
        os.link(self.mnt + "/file", self.mnt + "/second")
        for name in ("", "/dir", "/file", "/link", "/fifo", "/second"):
            self.assert_as_below(name)

    def test_the_fields_follow_every_change_made_through_the_mount(self):
        name = "/file"
        put(self.mnt + name, b"x" * 100)
        with opened(self.mnt + name, os.O_RDWR) as fd:
            for deed in (lambda: os.write(fd, b"y" * 200),
                         lambda: os.pwrite(fd, b"z" * 5000, 100000),
                         lambda: os.ftruncate(fd, 50),
                         lambda: os.fchmod(fd, 0o611),
                         lambda: posixcase.fallocate(fd, 0, 0, 300000),
                         lambda: os.setxattr(fd, "user.a", b"b"),
                         lambda: os.utime(fd, ns=(7, 8)),
                         lambda: os.link(self.mnt + name, self.mnt + "/l"),
                         lambda: os.rename(self.mnt + "/l", self.mnt + "/m"),
                         lambda: os.unlink(self.mnt + "/m"),
                         lambda: os.fsync(fd)):
                deed()
                self.assert_as_below(name)
                self.assert_as_below("")
                self.assertEqual(os.fstat(fd).st_ctime_ns,
                                 os.stat(self.below + name).st_ctime_ns)

    def test_directories_move_their_times_as_below(self):
        for i, deed in enumerate((
                lambda d: put(d + "/a"), lambda d: os.mkdir(d + "/b"),
                lambda d: os.rename(d + "/a", d + "/c"),
                lambda d: os.symlink("x", d + "/l"),
                lambda d: os.unlink(d + "/c"), lambda d: os.rmdir(d + "/b"))):
            before = os.stat(self.mnt).st_mtime_ns
            time.sleep(0.02)  # coarse clocks tick every few milliseconds
            deed(self.mnt)
            self.assertGreater(os.stat(self.mnt).st_mtime_ns, before, i)
            self.assert_as_below("")

    def test_numbers_are_the_same_after_caches_are_dropped(self):
        put(self.mnt + "/f")
        before = os.stat(self.mnt + "/f").st_ino
        try:
            with open("/proc/sys/vm/drop_caches", "w") as f:
                f.write("2\n")
        except OSError as e:
            self.skipTest("drop_caches: %s" % e.strerror)
        self.assertEqual(os.stat(self.mnt + "/f").st_ino, before)


class Times(posixcase.Case):
    def test_times_are_kept_to_the_nanosecond(self):
        def act(d):
            put(d + "/f")
            os.mkdir(d + "/d")
            out = []
            for path in (d + "/f", d + "/d"):
                for sec, nsec in ((0, 1), (1, 999999999),
                                  (1 << 31, 123456789), (-5, 5),
                                  ((1 << 31) - 1, 0), (1 << 33, 3)):
                    out.append(result(utimensat, path, (sec, nsec),
                                      (sec + 1, nsec)))
                    s = os.stat(path)
                    out.append((s.st_atime_ns, s.st_mtime_ns))
            return out
        self.assertEqual(self.alike(act)[1], (1, 1000000001))

    def test_now_and_omit_do_what_they_say(self):
        path = self.mnt + "/f"
        put(path)
        utimensat(path, (10, 11), (20, 21))
        utimensat(path, (0, UTIME_OMIT), (30, 31))
        s = os.stat(path)
        self.assertEqual((s.st_atime_ns, s.st_mtime_ns),
                         (10 * 10**9 + 11, 30 * 10**9 + 31))
        utimensat(path, (40, 41), (0, UTIME_OMIT))
        self.assertEqual(os.stat(path).st_mtime_ns, 30 * 10**9 + 31)
        early = time.time_ns() - 50 * 10**6
        utimensat(path, (0, UTIME_OMIT), (0, UTIME_NOW))
        s = os.stat(path)
        self.assertEqual(s.st_atime_ns, 40 * 10**9 + 41)
        self.assertGreaterEqual(s.st_mtime_ns, early)
        self.assertLessEqual(s.st_mtime_ns, time.time_ns() + 50 * 10**6)
        ctime = s.st_ctime_ns
        utimensat(path, (0, UTIME_OMIT), (0, UTIME_OMIT))
        self.assertEqual(os.stat(path).st_ctime_ns, ctime)

    def test_impossible_times_fail_as_below(self):
        def act(d):
            put(d + "/f")
            return (result(utimensat, d + "/f", (0, 10**9), (0, 0)),
                    result(utimensat, d + "/f", (0, -1), (0, 0)),
                    result(utimensat, d + "/none", (0, 0), (0, 0)))
        self.alike(act)

    def test_an_explicit_time_survives_close_and_reopen(self):
        def act(d):
            with opened(d + "/f", os.O_RDWR | os.O_CREAT) as fd:
                os.write(fd, b"text")
                os.utime(fd, ns=(123, 456))
            os.chmod(d + "/f", 0o600)
            with opened(d + "/f") as fd:
                return os.stat(d + "/f").st_mtime_ns, os.read(fd, 9)
        self.assertEqual(self.alike(act)[0], 456)

    def test_what_changes_content_moves_the_time_and_what_does_not_does_not(
            self):
        deeds = (("write", True, lambda p, fd: os.write(fd, b"x")),
                 ("empty write", False, lambda p, fd: os.write(fd, b"")),
                 ("truncate", True, lambda p, fd: os.ftruncate(fd, 2)),
                 ("same size", True, lambda p, fd: os.ftruncate(fd, 2)),
                 ("by open", True, lambda p, fd: put(p)),
                 ("chmod", False, lambda p, fd: os.chmod(p, 0o600)),
                 ("link", False, lambda p, fd: os.link(p, p + ".l")),
                 ("rename", False, lambda p, fd: os.rename(p + ".l",
                                                           p + ".m")),
                 ("xattr", False, lambda p, fd: os.setxattr(p, "user.a",
                                                            b"")),
                 ("allocate", True, lambda p, fd: posixcase.fallocate(
                     fd, 0, 0, 9999)),
                 ("read", False, lambda p, fd: os.pread(fd, 9, 0)))

        def act(d):
            put(d + "/f", b"text")
            moved = []
            with opened(d + "/f", os.O_RDWR) as fd:
                for name, _, deed in deeds:
                    os.utime(d + "/f", ns=(1, 1))
                    deed(d + "/f", fd)
                    moved.append((name, os.stat(d + "/f").st_mtime_ns != 1))
            return moved
        self.alike(act)


if __name__ == "__main__":
    posixcase.main()

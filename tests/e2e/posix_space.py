#!/usr/bin/env python3
"""Space: holes, preallocation, copies inside the kernel, big files, sync."""

import errno
import os

import posixcase
from posixcase import (FALLOC_COLLAPSE_RANGE, FALLOC_INSERT_RANGE,
                       FALLOC_KEEP_SIZE, FALLOC_PUNCH_HOLE,
                       FALLOC_ZERO_RANGE, facts, fallocate, get, opened, put,
                       result)

GIB = 1 << 30
KIB = 1 << 10


def extents(fd):
    """[(start, end)] of data, as SEEK_DATA and SEEK_HOLE tell it."""
    found, at = [], 0
    while True:
        start = result(os.lseek, fd, at, os.SEEK_DATA)
        if isinstance(start, str):
            return found, start
        at = os.lseek(fd, start, os.SEEK_HOLE)
        found.append((start, at))


class Allocation(posixcase.Case):
    def calls(self, d, *requests):
        """Each request on a file of its own with 64 KiB of text in it."""
        out = []
        for i, (mode, off, length) in enumerate(requests):
            path = d + "/%d" % i
            put(path, b"t" * 64 * KIB)
            with opened(path, os.O_RDWR) as fd:
                code = result(fallocate, fd, mode, off, length)
                os.fsync(fd)
                out.append((mode, off, length, code, facts(fd), get(path),
                            os.fstat(fd).st_blocks))
        return out

    def test_plain_allocation_grows_the_file_and_keeps_its_text(self):
        self.alike(self.calls, (0, 0, 1000), (0, 60 * KIB, 10 * KIB),
                   (0, 100 * KIB, 1), (0, 0, 0), (0, -1, 10), (0, 10, -1))

    def test_keep_size_reserves_without_growing(self):
        k = FALLOC_KEEP_SIZE
        done = self.alike(self.calls, (k, 0, 128 * KIB),
                          (k, 200 * KIB, 100 * KIB), (k, 0, 5))
        self.assertEqual([f["size"] for _, _, _, _, f, _, _ in done],
                         [64 * KIB] * 3)

    def test_punching_leaves_zeros_and_gives_space_back(self):
        p = FALLOC_PUNCH_HOLE | FALLOC_KEEP_SIZE
        done = self.alike(self.calls, (p, 4 * KIB, 16 * KIB), (p, 100, 9000),
                          (p, 60 * KIB, 100 * KIB), (p, 0, 64 * KIB),
                          (p, 100 * KIB, 1), (FALLOC_PUNCH_HOLE, 0, 10))
        _, _, _, code, _, text, _ = done[0]
        if code == "EOPNOTSUPP":
            self.skipTest("the file system below punches no holes")
        self.assertEqual(text, b"t" * 4096 + b"\0" * 16384 +
                         b"t" * (44 * KIB))

    def test_zeroing_a_range_reads_as_zeros(self):
        z = FALLOC_ZERO_RANGE
        self.alike(self.calls, (z, 100, 9000), (z, 60 * KIB, 10 * KIB),
                   (z | FALLOC_KEEP_SIZE, 60 * KIB, 10 * KIB),
                   (z, 4 * KIB, 4 * KIB), (z | FALLOC_PUNCH_HOLE, 0, 10))

    def test_what_fuse_cannot_carry_is_refused_and_changes_nothing(self):
        # The kernel's FUSE client answers these by itself, EOPNOTSUPP,
        # whatever is below; programs then fall back, as on NFS.
        for mode in (FALLOC_COLLAPSE_RANGE, FALLOC_INSERT_RANGE):
            done = self.calls(self.mnt, (mode, 4 * KIB, 4 * KIB))
            _, _, _, code, status, text, _ = done[0]
            self.assertEqual(code, "EOPNOTSUPP")
            self.assertEqual(status["size"], 64 * KIB)
            self.assertEqual(text, b"t" * 64 * KIB)

    def test_descriptors_that_cannot_be_allocated_fail_as_below(self):
        def act(d):
            put(d + "/f")
            os.mkfifo(d + "/p")
            with opened(d + "/f") as r, opened(d, os.O_DIRECTORY) as dir, \
                    opened(d + "/p", os.O_RDWR) as pipe:
                return [result(fallocate, fd, 0, 0, 10)
                        for fd in (r, dir, pipe, 9999)]
        self.alike(act)

    def test_a_reader_with_a_warm_cache_sees_the_hole_at_once(self):
        path = self.mnt + "/f"
        put(path, b"t" * 64 * KIB)
        with opened(path) as reader, opened(path, os.O_RDWR) as fd:
            for mode in (FALLOC_PUNCH_HOLE | FALLOC_KEEP_SIZE,
                         FALLOC_ZERO_RANGE):
                os.pwrite(fd, b"t" * 8192, 0)
                self.assertEqual(os.pread(reader, 52, 99), b"t" * 52)
                if result(fallocate, fd, mode, 100, 50) != "EOPNOTSUPP":
                    self.assertEqual(os.pread(reader, 52, 99),
                                     b"t" + b"\0" * 50 + b"t")


class Sparse(posixcase.Case):
    def test_holes_are_found_where_they_are(self):
        def act(d):
            with opened(d + "/f", os.O_RDWR | os.O_CREAT) as fd:
                for at in (1, 5, 9):
                    os.pwrite(fd, b"d" * 4096, at << 20)
                os.ftruncate(fd, 16 << 20)
                os.fsync(fd)
                return (extents(fd), os.fstat(fd).st_blocks,
                        result(os.lseek, fd, 16 << 20, os.SEEK_DATA),
                        result(os.lseek, fd, 16 << 20, os.SEEK_HOLE),
                        result(os.lseek, fd, -1, os.SEEK_DATA),
                        os.lseek(fd, 5 << 20, os.SEEK_DATA),
                        os.lseek(fd, (5 << 20) + 1, os.SEEK_HOLE))
        self.alike(act)

    def test_seeking_for_data_moves_the_descriptor(self):
        def act(d):
            with opened(d + "/f", os.O_RDWR | os.O_CREAT) as fd:
                os.pwrite(fd, b"data", 1 << 20)
                os.fsync(fd)
                os.lseek(fd, 0, os.SEEK_DATA)
                return os.read(fd, 1 << 20)[-4:]
        self.assertEqual(self.alike(act), b"data")

    def test_a_file_of_holes_takes_no_room(self):
        put(self.mnt + "/f")
        os.truncate(self.mnt + "/f", 100 * GIB)
        status = os.stat(self.mnt + "/f")
        self.assertEqual(status.st_size, 100 * GIB)
        self.assertEqual(status.st_blocks,
                         os.stat(self.below + "/f").st_blocks)

    def test_copies_stay_sparse(self):
        def act(d):
            with opened(d + "/f", os.O_RDWR | os.O_CREAT) as fd:
                os.pwrite(fd, b"x" * 4096, 8 << 20)
                os.ftruncate(fd, 32 << 20)
                os.fsync(fd)
            posixcase.tool("cp", "--sparse=auto", d + "/f", d + "/g")
            with opened(d + "/g") as fd:
                os.fsync(fd)
                return extents(fd), os.fstat(fd).st_blocks
        self.alike(act)


class BigFiles(posixcase.Case):
    def test_offsets_beyond_four_gib_are_exact(self):
        def act(d):
            with opened(d + "/f", os.O_RDWR | os.O_CREAT) as fd:
                marks = [0, 2 * GIB - 1, 2 * GIB, 4 * GIB - 3, 4 * GIB,
                         5 * GIB + 7, 1 << 40]
                for at in marks:
                    os.pwrite(fd, b"<%015d>" % at, at)
                os.lseek(fd, -17, os.SEEK_END)
                last = os.read(fd, 17)
                return ([os.pread(fd, 17, at) for at in marks], last,
                        facts(fd), result(os.ftruncate, fd, 4 * GIB + 5),
                        os.pread(fd, 99, 4 * GIB), facts(fd))
        self.assertEqual(self.alike(act)[4], b"<0000")

    def test_offsets_at_the_end_of_the_world_fail_as_below(self):
        def act(d):
            with opened(d + "/f", os.O_RDWR | os.O_CREAT) as fd:
                top = (1 << 63) - 1
                return (result(os.pwrite, fd, b"xx", top - 1),
                        result(os.pwrite, fd, b"x", -1),
                        result(os.lseek, fd, -1, os.SEEK_SET),
                        result(os.pread, fd, 1, top - 1))
        self.alike(act)

    def test_a_file_too_big_for_the_directory_below_is_efbig(self):
        def act(d):
            with opened(d + "/f", os.O_RDWR | os.O_CREAT) as fd:
                return [result(os.ftruncate, fd, 1 << n)
                        for n in (43, 44, 45, 50, 62)]
        self.alike(act)


class Copying(posixcase.Case):
    def test_a_range_is_copied_between_files(self):
        def act(d):
            put(d + "/a", bytes(i % 251 for i in range(200000)))
            put(d + "/b", b"-" * 1000)
            with opened(d + "/a") as a, opened(d + "/b", os.O_RDWR) as b:
                done = [os.copy_file_range(a, b, 50000, 70000, 500),
                        os.copy_file_range(a, b, 100, 199950, 100000),
                        os.copy_file_range(a, b, 100, 200000, 0)]
                os.lseek(a, 10, os.SEEK_SET)
                done.append(os.copy_file_range(a, b, 20))
                return (done, os.lseek(a, 0, os.SEEK_CUR),
                        os.lseek(b, 0, os.SEEK_CUR), get(d + "/b"))
        self.assertEqual(self.alike(act)[0], [50000, 50, 0, 20])

    def test_a_range_is_copied_inside_one_file_unless_it_overlaps(self):
        def act(d):
            put(d + "/f", bytes(range(100)))
            with opened(d + "/f", os.O_RDWR) as a, \
                    opened(d + "/f", os.O_RDWR) as b:
                return (result(os.copy_file_range, a, b, 10, 0, 200),
                        result(os.copy_file_range, a, b, 50, 0, 20),
                        get(d + "/f"))
        self.assertEqual(self.alike(act)[:2], (10, "EINVAL"))

    def test_descriptors_that_cannot_be_copied_fail_as_below(self):
        def act(d):
            put(d + "/a", b"text")
            put(d + "/b")
            with opened(d + "/a") as a, opened(d + "/b", os.O_WRONLY) as b, \
                    opened(d + "/b", os.O_WRONLY | os.O_APPEND) as more, \
                    opened(d, os.O_DIRECTORY) as dir:
                return [result(os.copy_file_range, x, y, 4)
                        for x, y in ((a, a), (b, b), (a, more), (a, dir),
                                     (dir, b), (a, b))]
        self.alike(act)

    def test_the_copy_is_seen_by_a_reader_with_a_warm_cache(self):
        put(self.mnt + "/a", b"A" * 10000)
        put(self.mnt + "/b", b"B" * 10000)
        with opened(self.mnt + "/a") as a, \
                opened(self.mnt + "/b", os.O_RDWR) as b, \
                opened(self.mnt + "/b") as reader:
            self.assertEqual(os.pread(reader, 3, 5000), b"BBB")
            os.copy_file_range(a, b, 1000, 0, 4500)
            self.assertEqual(os.pread(reader, 1002, 4499),
                             b"B" + b"A" * 1000 + b"B")

    def test_copies_in_and_out_of_the_mount_work(self):
        put(self.plain + "/a", b"outside" * 1000)
        with opened(self.plain + "/a") as a, \
                opened(self.mnt + "/b", os.O_RDWR | os.O_CREAT) as b:
            done = result(os.copy_file_range, a, b, 7000)
        # Kernels between file systems may refuse; programs fall back.
        self.assertIn(done, (7000, "EXDEV"))
        for tool in (("cp", "--reflink=auto"), ("cp", "-a"),
                     ("install", "-m644")):
            code, _ = posixcase.tool(*tool, self.plain + "/a",
                                     self.mnt + "/c")
            self.assertEqual(code, 0)
            self.assertEqual(get(self.below + "/c"), b"outside" * 1000)
            os.unlink(self.mnt + "/c")


class Whole(posixcase.Case):
    def test_the_file_systems_figures_are_those_below(self):
        a, b = os.statvfs(self.mnt), os.statvfs(self.below)
        for field in ("f_bsize", "f_frsize", "f_blocks", "f_files",
                      "f_namemax"):
            self.assertEqual(getattr(a, field), getattr(b, field), field)
        # Other processes use the disk: near is as good as it gets.
        self.assertLess(abs(a.f_bavail - b.f_bavail), a.f_blocks // 50 + 99)
        self.assertLess(abs(a.f_ffree - b.f_ffree), a.f_files // 50 + 99)

    def test_statfs_works_on_files_and_open_descriptors(self):
        put(self.mnt + "/f")
        with opened(self.mnt + "/f") as fd:
            self.assertEqual(os.fstatvfs(fd).f_blocks,
                             os.statvfs(self.below).f_blocks)

    def test_every_way_to_sync_succeeds(self):
        def act(d):
            with opened(d + "/f", os.O_RDWR | os.O_CREAT) as fd, \
                    opened(d, os.O_DIRECTORY) as dir:
                os.write(fd, b"x" * 10000)
                return [result(call, *args) for call, args in (
                    (os.fsync, (fd,)), (os.fdatasync, (fd,)),
                    (os.fsync, (dir,)), (os.fdatasync, (dir,)),
                    (posixcase.sync_file_range, (fd, 0, 0, 7)),
                    (posixcase.checked, (posixcase.libc.syncfs, fd)),
                    (os.posix_fadvise, (fd, 0, 0, os.POSIX_FADV_DONTNEED)))]
        self.alike(act)

    def test_synchronous_writes_succeed(self):
        def act(d):
            for flag in (os.O_SYNC, os.O_DSYNC):
                with opened(d + "/f", os.O_RDWR | os.O_CREAT | flag) as fd:
                    os.write(fd, b"durable")
                    os.ftruncate(fd, 4)
            return get(d + "/f")
        self.alike(act)

    def test_a_full_disk_is_the_callers_enospc(self):
        self.need_root("a small file system of our own")
        self.need("mount", "umount")
        small = self.mount.home.mkdir("small")
        if posixcase.tool("mount", "-t", "tmpfs", "-o", "size=1m", "none",
                          small)[0] != 0:
            self.skipTest("tmpfs cannot be mounted here")
        os.mkdir(small + "/repo")
        try:
            with posixcase.st.Mount(repo=small + "/repo", mountpoint=True,
                                    home=None) as m:
                self._fill(m.path)
        finally:
            posixcase.tool("umount", "-l", small)

    def _fill(self, d):
        with opened(d + "/f", os.O_RDWR | os.O_CREAT) as fd:
            with self.assertRaises(OSError) as e:
                for _ in range(64):
                    os.write(fd, b"x" * 65536)
            self.assertEqual(e.exception.errno, errno.ENOSPC)
            size = os.fstat(fd).st_size
            self.assertGreater(size, 900 * KIB)
            self.assertEqual(len(get(d + "/f")), size)
            os.ftruncate(fd, 0)
            self.assertEqual(os.pwrite(fd, b"y" * 65536, 0), 65536)


if __name__ == "__main__":
    posixcase.main()

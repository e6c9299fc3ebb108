#!/usr/bin/env python3
"""Names: hard links, symbolic links, renames in all their forms."""

import os
import stat

import posixcase
from posixcase import facts, get, opened, put, result


class HardLinks(posixcase.Case):
    def test_a_second_name_is_the_same_file(self):
        def act(d):
            put(d + "/a", b"one")
            os.link(d + "/a", d + "/b")
            put(d + "/b", b"changed")
            same = os.path.samefile(d + "/a", d + "/b")
            return same, get(d + "/a"), facts(d + "/a"), facts(d + "/b")
        same, content, a, _ = self.alike(act)
        self.assertTrue(same)
        self.assertEqual(content, b"changed")
        self.assertEqual(a["nlink"], 2)

    def test_removing_one_name_leaves_the_other(self):
        def act(d):
            put(d + "/a", b"kept")
            os.link(d + "/a", d + "/b")
            os.unlink(d + "/a")
            return get(d + "/b"), facts(d + "/b"), result(os.stat, d + "/a")
        self.assertEqual(self.alike(act)[2], "ENOENT")

    def test_the_link_count_is_current_through_every_name(self):
        def act(d):
            put(d + "/0")
            seen = []
            with opened(d + "/0") as fd:
                for i in range(1, 20):
                    os.link(d + "/0", d + "/%d" % i)
                    seen.append(os.fstat(fd).st_nlink)
                    seen.append(os.stat(d + "/%d" % (i // 2)).st_nlink)
                for i in range(19):
                    os.unlink(d + "/%d" % i)
                    seen.append(os.fstat(fd).st_nlink)
                    seen.append(os.stat(d + "/19").st_nlink)
            return seen
        self.alike(act)

    def test_what_cannot_be_linked_fails_as_below(self):
        def act(d):
            put(d + "/a")
            put(d + "/b")
            os.mkdir(d + "/dir")
            os.symlink("nowhere", d + "/sl")
            os.link(d + "/sl", d + "/sl2", follow_symlinks=False)
            return (result(os.link, d + "/a", d + "/b"),
                    result(os.link, d + "/dir", d + "/c"),
                    result(os.link, d + "/none", d + "/c"),
                    result(os.link, d + "/a", d + "/a/c"),
                    result(os.link, d + "/a", d + "/none/c"),
                    result(os.link, d + "/a", "/proc/c"),
                    facts(d + "/sl"), os.readlink(d + "/sl2"))
        self.alike(act)

    def test_a_link_into_another_directory_survives_the_first(self):
        def act(d):
            os.mkdir(d + "/x")
            put(d + "/x/a", b"here")
            os.link(d + "/x/a", d + "/b")
            os.unlink(d + "/x/a")
            os.rmdir(d + "/x")
            return get(d + "/b"), facts(d + "/b")
        self.alike(act)


class SymbolicLinks(posixcase.Case):
    def test_the_target_is_kept_byte_for_byte(self):
        def act(d):
            out = []
            for i, target in enumerate((b"a", b"/abs/olute", b"\xff\xfe/\x01",
                                        b"../" * 1000 + b"x", b"t" * 4095)):
                name = os.fsencode(d) + b"/%d" % i
                os.symlink(target, name)
                out.append((os.readlink(name) == target, facts(name)))
            return out
        self.assertTrue(all(ok for ok, _ in self.alike(act)))

    def test_targets_too_long_or_empty_fail_as_below(self):
        def act(d):
            return (result(os.symlink, "t" * 4096, d + "/a"),
                    result(os.symlink, "", d + "/b"),
                    result(os.symlink, "x", d + "/none/c"))
        self.alike(act)

    def test_links_are_followed_in_the_middle_and_at_the_end(self):
        def act(d):
            os.mkdir(d + "/dir")
            put(d + "/dir/f", b"found")
            os.symlink("dir", d + "/l")
            os.symlink("l/f", d + "/m")
            put(d + "/m", b"through")
            return get(d + "/l/f"), get(d + "/m"), os.listdir(d + "/l")
        self.assertEqual(self.alike(act)[0], b"through")

    def test_a_loop_is_eloop_and_a_dangling_link_can_be_filled(self):
        def act(d):
            os.symlink("b", d + "/a")
            os.symlink("a", d + "/b")
            os.symlink("later", d + "/c")
            before = result(os.open, d + "/c", os.O_RDONLY)
            put(d + "/c", b"now")
            return (result(os.open, d + "/a", os.O_RDONLY), before,
                    get(d + "/later"),
                    result(os.open, d + "/c", os.O_RDONLY | os.O_NOFOLLOW))
        self.assertEqual(self.alike(act)[:2], ("ELOOP", "ENOENT"))

    def test_ownership_and_times_of_the_link_itself_can_be_set(self):
        self.need_root("chown")

        def act(d):
            put(d + "/f")
            os.symlink("f", d + "/l")
            os.lchown(d + "/l", posixcase.ALICE, posixcase.TEAM)
            os.utime(d + "/l", ns=(1, 2), follow_symlinks=False)
            return facts(d + "/l"), facts(d + "/f"), \
                os.lstat(d + "/l").st_mtime_ns
        self.assertEqual(self.alike(act)[2], 2)


class Renames(posixcase.Case):
    def test_a_file_replaces_a_file_and_an_open_one_stays_readable(self):
        def act(d):
            put(d + "/a", b"new")
            put(d + "/b", b"old")
            with opened(d + "/b") as fd:
                os.rename(d + "/a", d + "/b")
                return (os.read(fd, 9), os.fstat(fd).st_nlink, get(d + "/b"),
                        os.listdir(d), facts(d + "/b"))
        old, nlink, new, names, _ = self.alike(act)
        self.assertEqual((old, nlink, new, names), (b"old", 0, b"new", ["b"]))

    def test_noreplace_refuses_and_loses_nothing(self):
        def act(d):
            put(d + "/a", b"a")
            put(d + "/b", b"b")
            refused = result(posixcase.renameat2, d + "/a", d + "/b",
                             posixcase.RENAME_NOREPLACE)
            posixcase.renameat2(d + "/a", d + "/c", posixcase.RENAME_NOREPLACE)
            return refused, get(d + "/b"), get(d + "/c"), \
                sorted(os.listdir(d))
        self.assertEqual(self.alike(act)[0], "EEXIST")

    def test_exchange_swaps_any_two_things(self):
        def act(d):
            os.makedirs(d + "/dir/sub")
            put(d + "/dir/in", b"in")
            put(d + "/f", b"f")
            os.symlink("t", d + "/l")
            swap = posixcase.RENAME_EXCHANGE
            posixcase.renameat2(d + "/dir", d + "/f", swap)
            inside = get(d + "/f/in"), get(d + "/dir")
            posixcase.renameat2(d + "/f", d + "/l", swap)
            nested = os.readlink(d + "/f"), get(d + "/l/in")
            return (inside, nested, facts(d), facts(d + "/l"),
                    result(posixcase.renameat2, d + "/f", d + "/none", swap),
                    result(posixcase.renameat2, d + "/l", d + "/l/sub", swap),
                    result(posixcase.renameat2, d + "/f", d + "/l", swap | 1))
        self.assertEqual(self.alike(act)[0], (b"in", b"f"))

    def test_exchange_between_directories_keeps_both_trees(self):
        def act(d):
            for name in "xy":
                os.makedirs(d + "/%s/deep/er" % name)
                put(d + "/%s/deep/f" % name, name.encode())
            posixcase.renameat2(d + "/x/deep", d + "/y/deep",
                            posixcase.RENAME_EXCHANGE)
            with opened(d + "/x/deep", os.O_DIRECTORY) as fd:
                up = os.stat("..", dir_fd=fd).st_ino
            return (get(d + "/x/deep/f"), get(d + "/y/deep/f"),
                    up == os.stat(d + "/x").st_ino,
                    facts(d + "/x"), facts(d + "/y"))
        self.assertEqual(self.alike(act)[:3], (b"y", b"x", True))

    def test_a_full_directory_moves_with_everything_in_it(self):
        def act(d):
            os.makedirs(d + "/from/a/b/c")
            os.mkdir(d + "/to")
            put(d + "/from/a/b/f", b"carried")
            with opened(d + "/from/a/b", os.O_DIRECTORY) as fd:
                os.rename(d + "/from/a", d + "/to/z")
                put_at = os.open("g", os.O_CREAT | os.O_WRONLY, dir_fd=fd)
                os.write(put_at, b"later")
                os.close(put_at)
            with opened(d + "/to/z/b/c", os.O_DIRECTORY) as fd:
                up = os.stat("../../..", dir_fd=fd).st_ino
            return (get(d + "/to/z/b/f"), get(d + "/to/z/b/g"),
                    facts(d + "/from"), facts(d + "/to"),
                    result(os.stat, d + "/from/a"),
                    up == os.stat(d + "/to").st_ino)
        self.alike(act)

    def test_impossible_renames_fail_as_below(self):
        def act(d):
            os.makedirs(d + "/full/in")
            os.mkdir(d + "/empty")
            put(d + "/f")
            os.link(d + "/f", d + "/same")
            return [result(os.rename, d + a, d + b) for a, b in (
                ("/empty", "/full"), ("/full", "/full/in/x"),
                ("/full", "/full"), ("/f", "/empty"), ("/empty", "/f"),
                ("/none", "/x"), ("/f", "/none/x"), ("/f", "/f/x"),
                ("/f", "/same"), ("/full/.", "/y"), ("/full/in/..", "/y"),
                ("/full", "/empty"))] + sorted(os.listdir(d))
        outcomes = self.alike(act)
        self.assertEqual(outcomes[0], "ENOTEMPTY")
        self.assertEqual(outcomes[1], "EINVAL")
        self.assertIn("same", outcomes)

    def test_a_rename_out_of_the_mount_is_exdev(self):
        put(self.mnt + "/a")
        self.assertEqual(result(os.rename, self.mnt + "/a",
                                self.plain + "/a"), "EXDEV")

    def test_unknown_flags_are_refused(self):
        put(self.mnt + "/a")
        self.assertEqual(result(posixcase.renameat2, self.mnt + "/a",
                                self.mnt + "/b", 1 << 20), "EINVAL")


class Directories(posixcase.Case):
    def test_what_cannot_be_made_or_removed_fails_as_below(self):
        def act(d):
            put(d + "/f")
            os.makedirs(d + "/full/in")
            return (result(os.mkdir, d + "/f"), result(os.mkdir, d + "/full"),
                    result(os.mkdir, d + "/none/x"),
                    result(os.mkdir, d + "/f/x"),
                    result(os.rmdir, d + "/full"), result(os.rmdir, d + "/f"),
                    result(os.rmdir, d + "/none"),
                    result(os.rmdir, d + "/full/in/."),
                    result(os.rmdir, d + "/full/in/.."),
                    result(os.unlink, d + "/full"),
                    result(os.unlink, d + "/none"),
                    result(os.unlink, d + "/f/x"), facts(d))
        self.alike(act)

    def test_link_counts_of_directories_follow_their_children(self):
        def act(d):
            seen = []
            for i in range(5):
                os.mkdir(d + "/%d" % i)
                seen.append(os.stat(d).st_nlink)
            for i in range(5):
                os.rmdir(d + "/%d" % i)
                seen.append(os.stat(d).st_nlink)
            return seen
        self.alike(act)

    def test_a_removed_directory_still_open_is_empty_and_closed_to_new(self):
        def act(d):
            os.mkdir(d + "/gone")
            with opened(d + "/gone", os.O_DIRECTORY) as fd:
                os.rmdir(d + "/gone")
                return (os.listdir(fd), os.fstat(fd).st_nlink,
                        result(os.open, "x", os.O_CREAT | os.O_WRONLY,
                               dir_fd=fd),
                        result(os.mkdir, "x", dir_fd=fd),
                        result(os.stat, "..", dir_fd=fd) == "ENOENT")
        self.alike(act)

    def test_numbers_and_kinds_in_a_listing_are_those_of_stat(self):
        os.mkdir(self.mnt + "/dir")
        put(self.mnt + "/file")
        os.symlink("x", self.mnt + "/link")
        os.mkfifo(self.mnt + "/fifo")
        with os.scandir(self.mnt) as entries:
            for e in entries:
                s = os.lstat(e.path)
                self.assertEqual(e.inode(), s.st_ino)
                self.assertEqual(e.is_symlink(), stat.S_ISLNK(s.st_mode))
                self.assertEqual(e.is_dir(follow_symlinks=False),
                                 stat.S_ISDIR(s.st_mode))


if __name__ == "__main__":
    posixcase.main()

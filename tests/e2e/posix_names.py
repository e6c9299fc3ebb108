#!/usr/bin/env python3
"""Names and directories: bytes, lengths, depth, and very many of them."""

import ctypes
import os
import random

import posixcase
from posixcase import Child, facts, get, libc, opened, put, result

MANY = 100000
libc.fdopendir.restype = libc.readdir.restype = ctypes.c_void_p
libc.telldir.restype = ctypes.c_long
for _call in (libc.readdir, libc.closedir, libc.telldir, libc.rewinddir):
    _call.argtypes = [ctypes.c_void_p]
libc.seekdir.argtypes = [ctypes.c_void_p, ctypes.c_long]


class Stream:
    """opendir(3) and its friends. The name is at byte 19 of a dirent."""

    def __init__(self, path):
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        self.dir = libc.fdopendir(fd)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        libc.closedir(self.dir)

    def next(self):
        entry = libc.readdir(self.dir)
        return ctypes.string_at(entry + 19) if entry else None

    def tell(self):
        return libc.telldir(self.dir)

    def seek(self, at):
        libc.seekdir(self.dir, at)

    def rewind(self):
        libc.rewinddir(self.dir)

    def rest(self):
        names = []
        while True:
            name = self.next()
            if name is None:
                return [n for n in names if n not in (b".", b"..")]
            names.append(name)


class Crowds(posixcase.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # Made below: making them is not what is shown here.
        cls.crowd = cls._below + "/crowd"
        os.mkdir(cls.crowd)
        with opened(cls.crowd, os.O_DIRECTORY) as fd:
            for i in range(MANY):
                # Links cost less than files, but there is a limit to them.
                first = "name-%d" % (i - i % 30000)
                if i % 30000:
                    os.link(first, "name-%d" % i, src_dir_fd=fd,
                            dst_dir_fd=fd)
                else:
                    os.mknod(first, dir_fd=fd)
        cls.seen = cls.mount.path + "/crowd"

    def test_all_are_listed_once(self):
        names = os.listdir(self.seen)
        self.assertEqual(len(names), MANY)
        self.assertEqual(sorted(names), sorted(os.listdir(self.crowd)))

    def test_positions_are_stable_and_lead_back_to_their_entries(self):
        with Stream(self.seen) as s:
            marks, order = [], []
            while True:
                at = s.tell()
                name = s.next()
                if name is None:
                    break
                marks.append(at)
                order.append(name)
            for i in (0, 1, 2, 77777, 3, len(order) - 1, 50000, 49999):
                s.seek(marks[i])
                self.assertEqual(s.next(), order[i], "entry %d" % i)
                self.assertEqual(s.next(), (order + [None])[i + 1])
            s.rewind()
            self.assertEqual(s.rest(),
                             [n for n in order if n not in (b".", b"..")])

    def test_positions_of_one_descriptor_hold_for_another(self):
        with Stream(self.seen) as a, Stream(self.seen) as b:
            for _ in range(70000):
                a.next()
            at, name = a.tell(), a.next()
            b.seek(at)
            self.assertEqual(b.next(), name)

    def test_every_entry_found_can_be_looked_up(self):
        for name in os.listdir(self.seen)[::997]:
            self.assertEqual(os.stat(self.seen + "/" + name).st_ino,
                             os.stat(self.crowd + "/" + name).st_ino)


class Moving(posixcase.Case):
    """A directory that changes while it is read: what was there all the time
    is neither missed nor listed twice."""

    def check(self, change):
        stay = {b"stay-%d" % i for i in range(2000)}
        for name in stay:
            put(os.fsencode(self.mnt) + b"/" + name)
        for i in range(500):
            put(self.mnt + "/go-%d" % i)
        with Stream(self.mnt) as s:
            heard = []
            for i in range(10000):
                name = s.next()
                if name is None:
                    break
                heard.append(name)
                if i % 5 == 0:
                    change(i // 5)
            else:
                self.fail("the listing does not end")
        stayed = [n for n in heard if n in stay]
        self.assertEqual(len(stayed), len(set(stayed)), "told twice")
        self.assertEqual(set(stayed), stay, "missed")
        strangers = [n for n in set(heard) - stay
                     if not n.startswith((b"go-", b"new-", b"."))]
        self.assertEqual(strangers, [])

    def test_removing_while_reading(self):
        self.check(lambda i: result(os.unlink, self.mnt + "/go-%d" % i))

    def test_adding_while_reading(self):
        self.check(lambda i: put(self.mnt + "/new-%d" % i))

    def test_adding_and_removing_below_while_reading(self):
        def change(i):
            result(os.unlink, self.below + "/go-%d" % i)
            put(self.below + "/new-%d" % i)
        self.check(change)

    def test_renaming_by_another_process_while_reading(self):
        def rename():
            for i in range(500):
                os.rename(self.mnt + "/go-%d" % i, self.mnt + "/new-%d" % i)
        children = []

        def change(i):
            if i == 100:
                children.append(Child(rename))
        self.check(change)
        for child in children:
            child.join()

    def test_a_second_reading_sees_the_changes(self):
        put(self.mnt + "/a")
        with Stream(self.mnt) as s:
            self.assertEqual(s.rest(), [b"a"])
            put(self.mnt + "/b")
            os.unlink(self.mnt + "/a")
            s.rewind()
            self.assertEqual(s.rest(), [b"b"])

    def test_every_listing_tells_the_directory_of_now(self):
        seed = random.randrange(2**32)
        print("seed", seed)
        rng = random.Random(seed)
        there = set()
        for _ in range(300):
            name = "n%d" % rng.randrange(40)
            if name in there:
                os.unlink(self.mnt + "/" + name)
            else:
                put(self.mnt + "/" + name)
            there ^= {name}
            if rng.random() < 0.3:
                result(os.stat, self.mnt + "/n%d" % rng.randrange(40))
            with os.scandir(self.mnt) as entries:
                told = {e.name: e.stat().st_ino for e in entries}
            self.assertEqual(set(told), there)
            self.assertEqual(told, {n: os.stat(self.below + "/" + n).st_ino
                                    for n in there})

    def test_emptying_a_directory_while_reading_empties_it(self):
        for i in range(2000):
            put(self.mnt + "/%d" % i)
        with os.scandir(self.mnt) as entries:
            for e in entries:
                os.unlink(e.path)
        self.assertEqual(os.listdir(self.mnt), [])
        os.rmdir(self.mnt)


class Bytes(posixcase.Case):
    def test_any_byte_but_two_makes_a_name(self):
        def act(d):
            top = os.fsencode(d) + b"/"
            names = [bytes([b]) for b in range(1, 256) if b not in b"/."]
            names += [b"\xff\xfe\xfd", b"\xc3\x28", b"a\nb", b"...",
                      b"-rf", b"\xed\xa0\x80", "größe".encode("latin-1")]
            for name in names:
                put(top + name, name)
            return (sorted(os.listdir(top)) == sorted(names),
                    [get(top + name) == name for name in names],
                    [result(os.rename, top + name, top + name + b"\xff")
                     for name in names], sorted(os.listdir(top)))
        listed, read, _, _ = self.alike(act)
        self.assertTrue(listed and all(read))

    def test_names_of_255_bytes_are_the_longest(self):
        def act(d):
            out = []
            for n in (254, 255, 256, 4000):
                name = "n" * n
                out += [result(put, d + "/" + name),
                        result(os.mkdir, d + "/" + name[:-1] + "d"),
                        result(os.symlink, "x", d + "/" + name[:-1] + "l"),
                        result(os.stat, d + "/" + name[:-1] + "?"),
                        result(os.rename, d + "/" + name, d + "/short"),
                        result(os.rename, d + "/short",
                               d + "/" + name[:-1] + "r")]
            return out, sorted(os.listdir(d))
        outcomes, _ = self.alike(act)
        self.assertIn("ENAMETOOLONG", outcomes)

    def test_paths_up_to_path_max_work_and_longer_ones_do_not(self):
        def act(d):
            # Fill up to the limit of 4096 bytes, its NUL included.
            path = d
            while len(path) < 3800:
                path += "/" + "d" * 200
                os.mkdir(path)
            out = []
            for total in (4094, 4095, 4096, 5000):
                full = path + "/" + "f" * 100
                full += "/" + "g" * (total - len(full) - 1)
                result(os.mkdir, os.path.dirname(full))
                out.append((result(put, full, b"far"), result(get, full),
                            result(os.stat, full).__class__.__name__,
                            result(os.unlink, full)))
            return out
        outcome = self.alike(act)
        self.assertEqual(outcome[1][1], b"far")
        self.assertEqual(outcome[2][0], "ENAMETOOLONG")

    def test_trees_deeper_than_any_path_work_step_by_step(self):
        def act(d):
            fd = os.open(d, os.O_DIRECTORY)
            for level in range(60):
                name = "%03d" % level + "x" * 200
                os.mkdir(name, dir_fd=fd)
                below = os.open(name, os.O_DIRECTORY, dir_fd=fd)
                os.close(fd)
                fd = below
            made = os.open("f", os.O_CREAT | os.O_RDWR, dir_fd=fd)
            os.write(made, b"deep")
            os.rename("f", "g", src_dir_fd=fd, dst_dir_fd=fd)
            os.link("g", "h", src_dir_fd=fd, dst_dir_fd=fd)
            out = (os.pread(made, 9, 0), sorted(os.listdir(fd)), facts(made))
            os.close(made)
            os.close(fd)
            return out
        self.assertEqual(self.alike(act)[0], b"deep")
        code, _ = posixcase.tool("rm", "-rf", self.mnt + "/1")
        self.assertEqual((code, os.listdir(self.below)), (0, []))

    def test_the_parent_of_every_level_is_found(self):
        os.makedirs(self.mnt + "/a/b/c/d")
        with opened(self.mnt + "/a/b/c/d", os.O_DIRECTORY) as fd:
            self.assertEqual(os.stat("../../../..", dir_fd=fd).st_ino,
                             os.stat(self.mnt).st_ino)
            os.rename(self.mnt + "/a/b", self.mnt + "/moved")
            self.assertEqual(os.stat("../../..", dir_fd=fd).st_ino,
                             os.stat(self.mnt).st_ino)
            self.assertEqual(os.readlink("/proc/self/fd/%d" % fd),
                             self.mnt + "/moved/c/d")


if __name__ == "__main__":
    posixcase.main()

#!/usr/bin/env python3
"""Extended attributes and access control lists."""

import ctypes
import os
import stat

import posixcase
from posixcase import (ALICE, BOB, CLUB, TEAM, as_user, checked, facts, get,
                       libc, opened, put, result, tool)


def attributes(path, **kw):
    return {name: os.getxattr(path, name, **kw)
            for name in sorted(os.listxattr(path, **kw))}


class Attributes(posixcase.Case):
    def test_user_attributes_are_set_read_listed_and_removed(self):
        def act(d):
            put(d + "/f")
            os.setxattr(d + "/f", "user.a", b"one")
            os.setxattr(d + "/f", "user.b", b"")
            os.setxattr(d + "/f", "user.c", bytes(range(256)))
            full = attributes(d + "/f")
            os.removexattr(d + "/f", "user.b")
            return full, attributes(d + "/f")
        full, less = self.alike(act)
        self.assertEqual(full["user.c"], bytes(range(256)))
        self.assertNotIn("user.b", less)

    def test_attributes_reach_the_file_below(self):
        put(self.mnt + "/f")
        os.setxattr(self.mnt + "/f", "user.k", b"v")
        self.assertEqual(attributes(self.below + "/f"), {"user.k": b"v"})

    def test_create_and_replace_are_kept_apart(self):
        def act(d):
            put(d + "/f")
            return (result(os.setxattr, d + "/f", "user.a", b"1",
                           os.XATTR_REPLACE),
                    result(os.setxattr, d + "/f", "user.a", b"2",
                           os.XATTR_CREATE),
                    result(os.setxattr, d + "/f", "user.a", b"3",
                           os.XATTR_CREATE),
                    result(os.setxattr, d + "/f", "user.a", b"4",
                           os.XATTR_REPLACE), attributes(d + "/f"))
        self.assertEqual(self.alike(act), ("ENODATA", None, "EEXIST", None,
                                           {"user.a": b"4"}))

    def test_sizes_are_told_and_buffers_too_small_are_erange(self):
        def act(d):
            path = os.fsencode(d + "/f")
            put(path)
            os.setxattr(path, "user.long", b"x" * 100)
            buf = ctypes.create_string_buffer(200)
            return [(result(checked, libc.getxattr, path, b"user.long", buf,
                            size),
                     result(checked, libc.listxattr, path, buf,
                            min(size, 30)))
                    for size in (0, 1, 99, 100, 200)]
        self.assertEqual(self.alike(act),
                         [(100, 10), ("ERANGE", "ERANGE"), ("ERANGE", 10),
                          (100, 10), (100, 10)])

    def test_names_and_values_at_the_limits_behave_as_below(self):
        def act(d):
            put(d + "/f")
            sizes = (1000, 3000, 4000, 5000, 65535, 65536, 65537)
            return ([result(os.setxattr, d + "/f", "user.v", b"v" * n)
                     for n in sizes] +
                    [result(os.setxattr, d + "/f", "user." + "n" * n, b"")
                     for n in (200, 250, 251, 300)] +
                    [result(os.setxattr, d + "/f", name, b"")
                     for name in ("", "user.", "user", "nosuch.x")] +
                    [len(v) for v in attributes(d + "/f").values()])
        self.alike(act)

    def test_missing_attributes_are_enodata(self):
        def act(d):
            put(d + "/f")
            return (result(os.getxattr, d + "/f", "user.none"),
                    result(os.removexattr, d + "/f", "user.none"),
                    result(os.getxattr, d + "/none", "user.none"))
        self.assertEqual(self.alike(act), ("ENODATA", "ENODATA", "ENOENT"))

    def test_every_kind_of_file_answers_as_below(self):
        def act(d):
            os.mkdir(d + "/dir")
            os.symlink("dir", d + "/l")
            os.symlink("none", d + "/dangling")
            os.mkfifo(d + "/fifo")
            return [result(os.setxattr, d + "/" + name, "user.a", b"v", 0,
                           follow_symlinks=follow)
                    for name in ("dir", "l", "dangling", "fifo")
                    for follow in (True, False)] + [attributes(d + "/dir")]
        self.alike(act)

    def test_an_open_descriptor_reaches_attributes_after_unlink(self):
        def act(d):
            put(d + "/f")
            with opened(d + "/f", os.O_RDWR) as fd:
                os.setxattr(fd, "user.a", b"1")
                os.unlink(d + "/f")
                os.setxattr(fd, "user.b", b"2")
                os.removexattr(fd, "user.a")
                return attributes(fd)
        self.assertEqual(self.alike(act), {"user.b": b"2"})

    def test_trusted_attributes_are_roots_alone(self):
        self.need_root()

        def act(d):
            put(d + "/f")
            os.setxattr(d + "/f", "trusted.t", b"secret")
            os.chmod(d + "/f", 0o666)
            return (attributes(d + "/f"),
                    as_user(ALICE, result, os.listxattr, d + "/f"),
                    as_user(ALICE, result, os.getxattr, d + "/f",
                            "trusted.t"),
                    as_user(ALICE, result, os.setxattr, d + "/f",
                            "trusted.u", b""),
                    as_user(ALICE, result, os.setxattr, d + "/f",
                            "user.u", b""))
        self.alike(act)

    def test_attributes_follow_the_files_permissions(self):
        self.need_root()

        def act(d):
            put(d + "/f")
            os.setxattr(d + "/f", "user.a", b"v")
            out = []
            for mode in (0o600, 0o604, 0o602):
                os.chmod(d + "/f", mode)
                out.append(as_user(ALICE, result, os.getxattr, d + "/f",
                                   "user.a"))
                out.append(as_user(ALICE, result, os.setxattr, d + "/f",
                                   "user.a", b"w"))
            return out
        self.alike(act)


def acl(path):
    code, text = tool("getfacl", "-cnp", path)
    return code, sorted(text.split(b"\n"))


def setfacl(path, *args):
    code, _ = tool("setfacl", *args, path)
    return code


class AccessLists(posixcase.Case):
    def setUp(self):
        super().setUp()
        self.need("setfacl", "getfacl")
        put(self.plain + "/probe")
        if setfacl(self.plain + "/probe", "-m", "u:%d:r" % ALICE) != 0:
            self.skipTest("the file system below has no ACLs")

    def test_entries_are_kept_and_shown_in_the_mode(self):
        def act(d):
            put(d + "/f", mode=0o640)
            return (setfacl(d + "/f", "-m", "u:%d:rw,g:%d:r" % (ALICE, TEAM)),
                    acl(d + "/f"), facts(d + "/f"),
                    os.chmod(d + "/f", 0o604), acl(d + "/f"), facts(d + "/f"),
                    setfacl(d + "/f", "-b"), acl(d + "/f"), facts(d + "/f"))
        self.assertEqual(self.alike(act)[0], 0)

    def test_entries_reach_the_file_below_and_back(self):
        put(self.mnt + "/f")
        setfacl(self.mnt + "/f", "-m", "u:%d:rwx" % ALICE)
        self.assertEqual(acl(self.below + "/f"), acl(self.mnt + "/f"))
        self.assertIn(b"user:%d:rwx" % ALICE, acl(self.below + "/f")[1])

    def test_another_user_gets_what_the_list_says(self):
        self.need_root()

        def tries(path):
            return [result(self._open_and_close, path, flags)
                    for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR)]

        def act(d):
            out = []
            for entry in ("u:%d:r" % ALICE, "u:%d:-" % ALICE,
                          "u:%d:rw,m::r" % ALICE, "g:%d:w" % TEAM,
                          "g:%d:rw,o::-" % CLUB):
                put(d + "/f", mode=0o644)
                setfacl(d + "/f", "-b")
                out.append(setfacl(d + "/f", "-m", entry))
                for user in (ALICE, BOB):
                    out.append(as_user(user, tries, d + "/f", gid=TEAM))
                    out.append(as_user(user, tries, d + "/f", groups=[CLUB]))
            return out
        self.alike(act)

    @staticmethod
    def _open_and_close(path, flags):
        os.close(os.open(path, flags))

    def test_default_entries_are_inherited_whatever_the_umask(self):
        self.need_root()

        def make(d):
            for mask in (0o000, 0o022, 0o077):
                os.umask(mask)
                name = d + "/%o" % mask
                put(name + "-f", mode=0o666)
                put(name + "-x", mode=0o755)
                os.mkdir(name + "-d", 0o777)
                os.mkfifo(name + "-p", 0o666)
                os.symlink("x", name + "-l")

        def act(d):
            setfacl(d, "-d", "-m", "u::rwx,u:%d:rwx,g::rx,g:%d:rw,m::rwx,o::r"
                    % (ALICE, TEAM))
            as_user(BOB, make, d)
            os.chown(d, BOB, CLUB)
            return {name: (facts(d + "/" + name), acl(d + "/" + name))
                    for name in sorted(os.listdir(d))
                    if not stat.S_ISLNK(os.lstat(d + "/" + name).st_mode)}
        made = self.alike(act)
        self.assertIn(b"default:user:%d:rwx" % ALICE, made["77-d"][1][1])

    def test_without_default_entries_the_umask_applies(self):
        def act(d):
            out = []
            for mask in (0o000, 0o022, 0o077, 0o777):
                old = os.umask(mask)
                try:
                    put(d + "/%o" % mask, mode=0o777)
                    os.mkdir(d + "/%o-d" % mask, 0o7777)
                finally:
                    os.umask(old)
                out.append(facts(d + "/%o" % mask))
                out.append(facts(d + "/%o-d" % mask))
            return out
        self.alike(act)

    def test_a_default_list_on_a_file_and_a_broken_list_are_refused(self):
        def act(d):
            put(d + "/f")
            name = "system.posix_acl_access"
            return (setfacl(d + "/f", "-d", "-m", "u::rwx") != 0,
                    result(os.setxattr, d + "/f", name, b"\2\0\0\0junk"),
                    result(os.setxattr, d + "/f", name, b"\7\0\0\0"),
                    facts(d + "/f"), acl(d + "/f"))
        self.alike(act)

    def test_only_the_owner_may_change_the_list(self):
        self.need_root()

        def act(d):
            put(d + "/f")
            os.chown(d + "/f", ALICE, TEAM)
            return (as_user(BOB, setfacl, d + "/f", "-m", "u:%d:rw" % BOB),
                    as_user(ALICE, setfacl, d + "/f", "-m", "u:%d:r" % BOB),
                    acl(d + "/f"))
        self.assertEqual(self.alike(act)[:2], (1, 0))

    def test_set_group_id_goes_when_a_stranger_to_the_group_sets_a_list(self):
        self.need_root()

        def act(d):
            put(d + "/f")
            os.chown(d + "/f", ALICE, TEAM)
            os.chmod(d + "/f", 0o2755)
            code = as_user(ALICE, setfacl, d + "/f", "-m", "u:%d:r" % BOB)
            return code, facts(d + "/f")
        self.alike(act)

    def test_copies_keep_the_list(self):
        def act(d):
            put(d + "/f", b"text")
            setfacl(d + "/f", "-m", "u:%d:rw" % ALICE)
            return (tool("cp", "-a", d + "/f", d + "/g"), acl(d + "/g"),
                    get(d + "/g"))
        self.alike(act)


if __name__ == "__main__":
    posixcase.main()

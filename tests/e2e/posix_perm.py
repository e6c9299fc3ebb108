#!/usr/bin/env python3
"""Who may do what: modes, owners, groups, sticky and set-id bits, for several
users at once. The kernel checks most permissions, the file system the rest;
every answer here is compared with the one below."""

import os
import stat

import posixcase
from posixcase import (ALICE, BOB, CLUB, TEAM, as_user, facts, get, opened,
                       put, result)


def reach(path, flags):
    """Can this user open it?"""
    got = result(os.open, path, flags)
    if isinstance(got, int):
        os.close(got)
        return "opened"
    return got


class Creating(posixcase.Case):
    def test_mode_and_umask_make_the_new_mode(self):
        def act(d):
            out = []
            for mask in (0, 0o022, 0o027, 0o777):
                for mode in (0o777, 0o666, 0o7777, 0o400, 0):
                    name = d + "/%o-%o" % (mask, mode)
                    old = os.umask(mask)
                    try:
                        put(name, mode=mode)
                        os.mkdir(name + "d", mode)
                        os.mkfifo(name + "p", mode)
                        os.mknod(name + "n", mode)
                    finally:
                        os.umask(old)
                    out += [facts(name + kind) for kind in ("", *"dpn")]
            return out
        self.alike(act)

    def test_new_files_belong_to_their_maker(self):
        self.need_root()

        def make(d):
            put(d + "/f")
            os.mkdir(d + "/d")
            os.symlink("x", d + "/l")
            os.mkfifo(d + "/p")
            return [facts(d + "/" + n) for n in "fdlp"]

        def act(d):
            return as_user(ALICE, make, d, gid=TEAM, groups=[CLUB])
        made = self.alike(act)
        self.assertEqual({(m["uid"], m["gid"]) for m in made},
                         {(ALICE, TEAM)})

    def test_a_set_group_id_directory_hands_its_group_on(self):
        self.need_root()

        def make(d):
            put(d + "/f", mode=0o2775)
            os.mkdir(d + "/d")
            os.mkdir(d + "/d/e")
            os.symlink("x", d + "/l")
            os.mkfifo(d + "/p")
            os.link(d + "/f", d + "/h")
            return [facts(d + "/" + n) for n in ("f", "d", "d/e", "l", "p")]

        def act(d):
            os.mkdir(d + "/s")
            os.chown(d + "/s", BOB, TEAM)
            os.chmod(d + "/s", 0o2777)
            return as_user(ALICE, make, d + "/s", groups=[CLUB])
        made = self.alike(act)
        self.assertEqual({m["gid"] for m in made}, {TEAM})
        self.assertTrue(int(made[2]["mode"], 8) & stat.S_ISGID)

    def test_a_member_may_give_a_file_the_groups_set_id_bit(self):
        self.need_root()

        def act(d):
            out = []
            for groups in ([], [TEAM]):
                put(d + "/f")
                os.chown(d + "/f", ALICE, TEAM)
                as_user(ALICE, os.chmod, d + "/f", 0o2755, groups=groups)
                out.append(facts(d + "/f"))
            return out
        self.alike(act)

    def test_a_nameless_file_belongs_to_its_maker(self):
        self.need_root()

        def make(d):
            fd = result(os.open, d, os.O_TMPFILE | os.O_RDWR, 0o640)
            return fd if isinstance(fd, str) else facts(fd)

        def act(d):
            os.chown(d, BOB, CLUB)
            os.chmod(d, 0o2777)
            return as_user(ALICE, make, d, gid=TEAM)
        if as_user(ALICE, make, self.mnt) == "EOPNOTSUPP":
            self.skipTest("no O_TMPFILE here")
        self.alike(act)


class Reaching(posixcase.Case):
    USERS = ((ALICE, ALICE, ()), (BOB, TEAM, ()), (BOB, BOB, (TEAM,)),
             (BOB, BOB, (CLUB,)))

    def ask(self, question, *args):
        """The same call made by each user."""
        return [as_user(uid, question, *args, gid=gid, groups=groups)
                for uid, gid, groups in self.USERS]

    def test_each_bit_of_a_files_mode_counts_for_whom_it_is_meant(self):
        self.need_root()

        def tries(path):
            return ([reach(path, f) for f in (os.O_RDONLY, os.O_WRONLY,
                                              os.O_RDWR, os.O_WRONLY |
                                              os.O_TRUNC)] +
                    [os.access(path, f) for f in (os.R_OK, os.W_OK, os.X_OK)])

        def act(d):
            out = []
            put(d + "/f", b"text")
            os.chown(d + "/f", ALICE, TEAM)
            for mode in (0, 0o400, 0o200, 0o600, 0o040, 0o020, 0o004, 0o002,
                         0o711, 0o644, 0o466):
                os.chmod(d + "/f", mode)
                out.append((mode, self.ask(tries, d + "/f")))
            return out
        self.alike(act)

    def test_each_bit_of_a_directorys_mode_counts(self):
        self.need_root()

        def tries(d):
            return (result(lambda: sorted(os.listdir(d))),
                    reach(d + "/f", os.O_RDONLY),
                    result(lambda: os.stat(d + "/f").st_size),
                    result(lambda: os.stat(d + "/none")),
                    result(os.mkdir, d + "/new"),
                    result(os.rmdir, d + "/new"),
                    result(os.rename, d + "/f", d + "/f"))

        def act(d):
            out = []
            os.mkdir(d + "/dir")
            put(d + "/dir/f", b"text")
            os.chown(d + "/dir", ALICE, TEAM)
            for mode in (0, 0o100, 0o400, 0o500, 0o300, 0o700, 0o070, 0o010,
                         0o007, 0o005, 0o003, 0o755, 0o1777):
                os.chmod(d + "/dir", mode)
                out.append((mode, self.ask(tries, d + "/dir")))
            return out
        self.alike(act)

    def test_the_way_to_a_file_is_checked_step_by_step(self):
        self.need_root()

        def act(d):
            os.makedirs(d + "/a/b")
            put(d + "/a/b/f")
            os.chmod(d + "/a", 0o700)
            closed = as_user(ALICE, reach, d + "/a/b/f", os.O_RDONLY)
            os.chmod(d + "/a", 0o711)
            open_ = as_user(ALICE, reach, d + "/a/b/f", os.O_RDONLY)
            return closed, open_, as_user(ALICE, reach, d + "/a", 0)
        self.assertEqual(self.alike(act), ("EACCES", "opened", "EACCES"))

    def test_a_right_taken_away_is_gone_at_once(self):
        self.need_root()

        def tries(path, read, write):
            seen = [reach(path, os.O_RDONLY)]
            os.write(write, b"!")
            os.read(read, 1)
            return seen + [reach(path, os.O_RDONLY)]

        def act(d):
            put(d + "/f", mode=0o644)
            (go, went), (here, said) = os.pipe(), os.pipe()
            child = posixcase.Child(tries, d + "/f", go, said, uid=ALICE)
            os.read(here, 1)
            os.chmod(d + "/f", 0o600)
            os.write(went, b"!")
            for fd in (go, went, here, said):
                self.addCleanup(os.close, fd)
            return child.join()
        self.assertEqual(self.alike(act), ["opened", "EACCES"])

    def test_a_descriptor_passed_on_carries_its_rights(self):
        self.need_root()

        def act(d):
            put(d + "/f", b"secret", mode=0o600)
            with opened(d + "/f", os.O_RDWR) as fd:
                return as_user(ALICE, lambda: (
                    os.pread(fd, 9, 0), os.pwrite(fd, b"S", 0),
                    result(os.fchmod, fd, 0o666),
                    result(os.ftruncate, fd, 3), get_fd(fd)))

        def get_fd(fd):
            return os.pread(fd, 9, 0)
        self.assertEqual(self.alike(act), (b"secret", 1, "EPERM", None,
                                           b"Sec"))

    def test_root_is_not_held_up(self):
        self.need_root()

        def act(d):
            put(d + "/f", b"x", mode=0)
            os.mkdir(d + "/d", 0)
            os.chown(d + "/f", ALICE, ALICE)
            put(d + "/d/g")
            return get(d + "/f"), os.listdir(d + "/d"), \
                os.access(d + "/f", os.X_OK)
        self.alike(act)


class Changing(posixcase.Case):
    def test_chown_rules_are_those_below(self):
        self.need_root()

        def tries(path):
            out = []
            for uid, gid in ((ALICE, -1), (BOB, -1), (-1, ALICE), (-1, TEAM),
                             (-1, CLUB), (-1, -1), (ALICE, TEAM), (0, 0)):
                out.append((result(os.chown, path, uid, gid), facts(path)))
            return out

        def act(d):
            out = []
            for owner in (ALICE, BOB):
                put(d + "/f")
                os.chown(d + "/f", owner, owner)
                out.append(as_user(ALICE, tries, d + "/f", groups=[TEAM]))
            return out
        self.alike(act)

    def test_a_new_owner_takes_the_set_id_bits_away(self):
        self.need_root()

        def act(d):
            out = []
            for mode in (0o6755, 0o6644, 0o2745, 0o4711, 0o7777):
                for uid, gid in ((BOB, -1), (-1, CLUB), (-1, -1), (BOB, CLUB)):
                    for kind in ("f", "d"):
                        name = d + "/%o%d%d%s" % (mode, uid, gid, kind)
                        put(name) if kind == "f" else os.mkdir(name)
                        os.chown(name, ALICE, TEAM)
                        os.chmod(name, mode)
                        os.chown(name, uid, gid)
                        out.append((mode, uid, gid, facts(name)))
                    name = d + "/%o%d%du" % (mode, uid, gid)
                    put(name)
                    os.chown(name, ALICE, TEAM)
                    os.chmod(name, mode)
                    out.append(as_user(ALICE, result, os.chown, name, -1,
                                       CLUB, groups=[CLUB]))
                    out.append(facts(name))
            return out
        self.alike(act)

    def test_writing_by_another_takes_the_set_id_bits_away(self):
        self.need_root()

        def write(path):
            with opened(path, os.O_RDWR) as fd:
                os.write(fd, b"x")

        def truncate_open(path):
            os.close(os.open(path, os.O_WRONLY | os.O_TRUNC))

        def allocate(path):
            with opened(path, os.O_RDWR) as fd:
                posixcase.fallocate(fd, 0, 0, 4096)

        def copy(path):
            with opened(path, os.O_RDWR) as fd:
                os.copy_file_range(fd, fd, 2, 0, 2)

        deeds = (write, truncate_open, allocate, copy,
                 lambda path: os.truncate(path, 2))

        def act(d):
            out = []
            for uid in (ALICE, BOB, 0):
                for mode in (0o6777, 0o6767, 0o4776, 0o2777, 0o6666):
                    for i, deed in enumerate(deeds):
                        name = d + "/%d-%o-%d" % (uid, mode, i)
                        put(name, b"text")
                        os.chown(name, ALICE, TEAM)
                        os.chmod(name, mode)
                        as_user(uid, deed, name)
                        out.append((uid, oct(mode), i, facts(name)["mode"]))
            return out
        done = dict((k[:3], k[3]) for k in self.alike(act))
        self.assertEqual(done[BOB, oct(0o6777), 0], oct(0o100777))

    def test_a_sticky_directory_protects_its_files(self):
        self.need_root()

        def tries(d):
            return (result(os.unlink, d + "/alices"),
                    result(os.rename, d + "/alices", d + "/x"),
                    result(os.rename, d + "/bobs", d + "/alices"),
                    result(os.rmdir, d + "/alicesdir"),
                    result(posixcase.renameat2, d + "/bobs", d + "/alices",
                           posixcase.RENAME_EXCHANGE),
                    result(os.rename, d + "/bobs", d + "/y"),
                    result(os.unlink, d + "/y"))

        def act(d):
            os.mkdir(d + "/s")
            os.chmod(d + "/s", 0o1777)
            for who, uid in (("alices", ALICE), ("bobs", BOB)):
                put(d + "/s/" + who)
                os.mkdir(d + "/s/" + who + "dir")
                os.chown(d + "/s/" + who, uid, uid)
                os.chown(d + "/s/" + who + "dir", uid, uid)
            return as_user(BOB, tries, d + "/s"), sorted(os.listdir(d + "/s"))
        self.assertEqual(self.alike(act)[0],
                         ("EPERM",) * 5 + (None, None))

    def test_only_owners_change_modes_and_times(self):
        self.need_root()

        def tries(path):
            return (result(os.chmod, path, 0o666),
                    result(os.utime, path, ns=(1, 2)),
                    result(os.utime, path), facts(path))

        def act(d):
            out = []
            for mode in (0o644, 0o666):
                put(d + "/f", mode=mode)
                os.chown(d + "/f", ALICE, TEAM)
                os.chmod(d + "/f", mode)
                out += [as_user(BOB, tries, d + "/f"),
                        as_user(ALICE, tries, d + "/f")]
            return out
        self.assertEqual(self.alike(act)[0][:3], ("EPERM", "EPERM", "EACCES"))

    def test_every_mode_survives_a_round_trip(self):
        def act(d):
            put(d + "/f")
            os.mkdir(d + "/d")
            out = []
            for mode in (0, 0o7777, 0o1000, 0o4111, 0o2222, 0o644):
                os.chmod(d + "/f", mode)
                os.chmod(d + "/d", mode)
                out += [facts(d + "/f"), facts(d + "/d")]
            return out
        self.alike(act)

    def test_a_link_to_anothers_file_follows_the_kernels_rule(self):
        self.need_root()

        def act(d):
            put(d + "/f", mode=0o600)
            put(d + "/g", mode=0o666)
            os.chmod(d + "/g", 0o666)
            return as_user(ALICE, lambda: (
                result(os.link, d + "/f", d + "/f2"),
                result(os.link, d + "/g", d + "/g2")))
        self.alike(act)


if __name__ == "__main__":
    posixcase.main()

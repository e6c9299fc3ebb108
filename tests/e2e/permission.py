#!/usr/bin/env python3
"""Who may do what in the plain directory may do it in a mount: every kind of
user, on files of every kind of owner, in every kind of mount, against the
plain directory. An agent tries (permission_agent.py), and the owners and modes
that are left below are compared too."""

import contextlib
import json
import os
import shutil
import stat
import subprocess
import sys

import st

st.need_root("changing users")
st.need("setpriv")

ME, OTHER = 1, 4200  # fusermount3 serves users of /etc/passwd only
TEAM, STRANGERS = 4242, 4343
AGENT = os.path.join(os.path.dirname(os.path.abspath(st.__file__)),
                     "permission_agent.py")
DOCKER = ("chown", "dac_override", "fowner", "fsetid", "kill", "setgid",
          "setuid", "setpcap", "net_bind_service", "net_raw", "sys_chroot",
          "mknod", "audit_write", "setfcap")
FILE_MODES = (0o600, 0o640, 0o644, 0o660, 0o664, 0o666, 0o755, 0o775, 0o060,
              0o006, 0o444)
DIR_MODES = (0o700, 0o750, 0o755, 0o770, 0o775, 0o777, 0o1777, 0o2775, 0o2770,
             0o555)

ROOT = []
MEMBER = ["setpriv", "--reuid=%d" % ME, "--regid=%d" % ME,
          "--groups=%d" % TEAM, "--"]
USER = ["setpriv", "--reuid=%d" % ME, "--regid=%d" % ME, "--clear-groups",
        "--"]


def container(*caps):
    """Root as in a container with these capabilities."""
    kept = ",".join(["-all"] + ["+" + c for c in caps])
    return ["setpriv", "--bounding-set=" + kept, "--inh-caps=-all", "--"]


def make_file(path, uid, gid, mode, directory=False):
    if directory:
        os.mkdir(path)
        for name in ("inner", "other"):
            make_file(path + "/" + name, uid, gid, 0o664)
        os.mkdir(path + "/empty")
    else:
        with open(path, "w") as f:
            f.write("#!/bin/sh\nexit 5\n")
    os.chown(path, uid, gid)
    os.chmod(path, mode)


def make_tree(path, uid, gid, mode=0o775):
    """Files and directories of every owner, group and mode in `path`."""
    os.mkdir(path)
    for owner, u in (("me", ME), ("root", 0), ("other", OTHER)):
        for group, g in (("me", ME), ("team", TEAM), ("strangers", STRANGERS)):
            for modes, kind in ((FILE_MODES, "f"), (DIR_MODES, "d")):
                for m in modes:
                    make_file("%s/%s-%s-%s-%04o" % (path, kind, owner, group,
                                                    m), u, g, m, kind == "d")
    os.chown(path, uid, gid)
    os.chmod(path, mode)


def left(tree):
    """{path: (user, group, mode, size)} of all files."""
    found = {}
    for top, dirs, files in os.walk(tree):
        for name in dirs + files:
            s = os.lstat(top + "/" + name)
            found[os.path.relpath(top + "/" + name, tree)] = (
                s.st_uid, s.st_gid, oct(s.st_mode),
                0 if stat.S_ISDIR(s.st_mode) else s.st_size)
    return found


def python_for(who):
    """An interpreter that this user may run."""
    for path in (sys.executable, "/usr/bin/python3"):
        # Not directly: setpriv may have root's rights when it executes it.
        if st.can_run(*who, "sh", "-c", "exec \"$0\" -c ''", path):
            return path
    return st.skip("this user may run no Python here")


class Case:
    """A user, and a repository of somebody."""

    def __init__(self, home, who, owner=(ME, ME), mode=0o775):
        self.home, self.who = home, who
        home.prefix = who
        self.owner, self.mode = owner, mode
        self.agent = shutil.copy(AGENT, home.top)
        self.python = python_for(who)
        self.plain = self.tree("plain/repo")

    def tree(self, name):
        path = self.home.top + "/" + name
        with contextlib.suppress(FileExistsError):
            os.mkdir(os.path.dirname(path), 0o755)
            os.chmod(os.path.dirname(path), 0o755)
        make_tree(path, *self.owner, self.mode)
        return path

    def command(self, tree):
        return [self.python, self.agent, tree]

    def expected(self):
        r = subprocess.run([*self.who, *self.command(self.plain)],
                           env=self.home.env, capture_output=True, text=True,
                           cwd="/", timeout=st.DEADLINE, check=True)
        return json.loads(r.stdout), left(self.plain)

    def observed(self, name, *before, after=("--",)):
        """The agent's results and stderr, run by statetape BEFORE REPO AFTER
        AGENT; and whether it had a mount."""
        tree = self.tree(name + "/repo")
        r = self.home.run(*before, tree, *after, "sh", "-c",
                          "grep -c \"$1 .*fuse.statetape\" /proc/self/mountinfo"
                          "; shift; exec \"$@\"", "sh", tree,
                          *self.command(tree), cwd="/")
        assert r.returncode == 0, (r.returncode, r.stderr[-600:], r.stdout[-200:])
        count, text = r.stdout.split("\n", 1)
        return (json.loads(text), left(tree)), int(count) > 0, r.stderr

    def check(self, name, *before, mounted=True, after=("--",)):
        seen, was_mounted, said = self.observed(name, *before, after=after)
        assert was_mounted == mounted, (name, was_mounted, said)
        compare(name, self.expected_once(), seen)
        return said

    def expected_once(self):
        if not hasattr(self, "known"):
            self.known = self.expected()
        return self.known

    def private(self, **kw):
        return self.check("private", "mount", "--private", **kw)

    def visible(self, **kw):
        return self.check("visible", "mount", **kw)

    def run(self, **kw):
        said = self.check("run", "run", "--repo", **kw)
        return "".join(line + "\n" for line in said.splitlines()
                       if "no request came" not in line
                       and "(statetape log" not in line
                       and "not an agent we know" not in line)


def compare(name, wanted, got):
    """An owner without a mapping is an invalid one in a user namespace, so
    giving a file away is refused with another errno there."""
    different = []
    for path in sorted(set(wanted[0]) | set(got[0])):
        a, b = wanted[0].get(path, {}), got[0].get(path, {})
        different += ["%s %s: %s, not %s" % (path, k, b.get(k), a[k])
                      for k in a if a[k] != b.get(k)
                      and (k, a[k], b.get(k)) != ("chown away", "EPERM",
                                                  "EINVAL")]
    for path in sorted(set(wanted[1]) | set(got[1])):
        if wanted[1].get(path) != got[1].get(path):
            different.append("%s is left as %s, not %s" % (
                path, got[1].get(path), wanted[1].get(path)))
    assert not different, "%s: %d differences\n%s" % (
        name, len(different), "\n".join(different[:40]))


@contextlib.contextmanager
def case(who, *args, **kw):
    st.need_fuse()
    with st.Home(0) as home:
        os.chmod(home.top, 0o755)
        uid = ME if who in (USER, MEMBER) else 0
        for top, dirs, _ in os.walk(home.top):
            for name in dirs:
                os.chown(top + "/" + name, uid, uid)
        yield Case(home, who, *args, **kw)


def need_user_namespaces(who):
    st.need("unshare")
    if not st.can_run(*who, "unshare", "-Ur", "true"):
        st.skip("user namespaces cannot be made here")


def without_helper(home):
    """A PATH on which there is no fusermount3."""
    path = home.mkdir("bin")
    for tool in ("sh", "grep", "setpriv"):
        os.symlink(st.which(tool), path + "/" + tool)
    home.env["PATH"] = path
    home.prefix = [st.which(home.prefix[0])] + home.prefix[1:]


# -- root -------------------------------------------------------------------

def root_may_do_what_it_may():
    with case(ROOT, (OTHER, OTHER)) as c:
        c.private()
        c.visible()
        said = c.run()
        assert said == "", said


def root_in_a_container_may_do_what_it_may():
    """Docker's capabilities, on a checkout of somebody else."""
    who = container(*DOCKER)
    need_user_namespaces(who)
    with case(who, (OTHER, OTHER), 0o755) as c:
        said = c.private()
        assert said == "", said
        said = c.run()
        assert said == "", said


def root_that_may_mount_in_a_container_may_do_what_it_may():
    with case(container("sys_admin", *DOCKER), (OTHER, OTHER), 0o755) as c:
        said = c.private()
        assert said == "", said
        said = c.run()
        assert said == "", said


def root_that_overrides_no_modes_may_do_what_it_may():
    who = container("setuid", "setgid", "setfcap", "sys_chroot")
    need_user_namespaces(who)
    with case(who, (0, TEAM), 0o2775) as c:
        said = c.private()
        assert said == "", said
        said = c.run()
        assert said == "", said


def root_without_any_capability_works_in_the_plain_directory():
    with case(container(), (0, 0)) as c:
        said = c.run(mounted=False)
        assert "is not mounted: changes are found later" in said, said


# -- an ordinary user -------------------------------------------------------

def a_user_may_do_what_it_may():
    st.need("fusermount3")
    need_user_namespaces(USER)
    with case(USER) as c:
        said = c.private()
        assert said == "", said
        c.visible()
        said = c.run()
        assert said == "", said


def a_member_of_a_group_may_do_what_it_may():
    """Who may write only through a supplementary group, on a repository of
    another user."""
    st.need("fusermount3")
    need_user_namespaces(MEMBER)
    with case(MEMBER, (OTHER, TEAM), 0o2775) as c:
        said = c.private()
        assert said == "", said
        said = c.run()
        assert said == "", said
    with case(MEMBER, (ME, TEAM)) as c:
        c.visible()


def a_visible_mount_on_anothers_repository_says_whom_it_shuts_out():
    st.need("fusermount3")
    with case(MEMBER, (OTHER, TEAM), 0o775) as c:
        _, mounted, said = c.observed("visible", "mount")
        assert mounted and "belongs to another user" in said, said


def a_user_without_the_helper_is_not_kept_from_anything():
    need_user_namespaces(MEMBER)
    with case(MEMBER, (OTHER, TEAM), 0o2775) as c:
        c.expected_once()
        without_helper(c.home)
        said = c.run(mounted=False)
        assert "in a mount of this user's own" in said, said
        assert "could not be written" in said, said
        assert "is not mounted: changes are found later" in said, said


def what_a_forced_mount_takes_away_is_said():
    need_user_namespaces(MEMBER)
    with case(MEMBER, (OTHER, TEAM), 0o2775) as c:
        without_helper(c.home)
        for name, words, after in (
                ("a", ("mount", "--private"), ("--",)),
                ("b", ("run", "--mount=private", "--repo"), ("--",))):
            _, mounted, said = c.observed(name, *words, after=after)
            assert mounted and "could not be written" in said, said


def files_of_ones_own_are_mounted_without_the_helper():
    need_user_namespaces(USER)
    with st.Home(ME) as home:
        repo = home.mkdir("repo")
        without_helper(home)
        r = home.run("run", "--repo", repo, "--", "sh", "-c",
                     "grep -c fuse.statetape /proc/self/mountinfo; echo >a",
                     cwd=repo)
        assert r.returncode == 0 and r.stdout != "0\n", r


# -- what is said -----------------------------------------------------------

def a_set_user_id_program_is_named():
    st.need("fusermount3")
    need_user_namespaces(USER)
    with st.Home(ME) as home:
        home.prefix = USER
        repo = home.mkdir("repo")
        make_file(repo + "/tool", 0, 0, 0o4755)
        r = home.run("run", "--repo", repo, "--", "true", cwd=repo)
        assert "'%s/tool' is a set-user-id program and gains no rights" \
            % repo in r.stderr, r
        r = home.run("mount", "-p", repo, "--", "true", cwd=repo)
        assert "gains no rights" in r.stderr, r


def doctor_says_what_run_will_do_and_why():
    st.need("fusermount3")
    need_user_namespaces(MEMBER)
    with case(MEMBER, (OTHER, TEAM), 0o2775) as c:
        def said():
            r = c.home.run("doctor", c.plain)
            (line,) = [" ".join(part.split()) for part in
                       r.stdout.replace("\n   ", " ").splitlines()
                       if part.split()[1:2] == ["run"]]
            return line
        assert "mounts where the agent alone sees it" in said(), said()
        without_helper(c.home)
        assert "works without a mount" in said(), said()
        assert "could not be written" in said(), said()


st.open_fuse_device()
st.main(
    root_may_do_what_it_may,
    root_in_a_container_may_do_what_it_may,
    root_that_may_mount_in_a_container_may_do_what_it_may,
    root_that_overrides_no_modes_may_do_what_it_may,
    root_without_any_capability_works_in_the_plain_directory,
    a_user_may_do_what_it_may,
    a_member_of_a_group_may_do_what_it_may,
    a_visible_mount_on_anothers_repository_says_whom_it_shuts_out,
    a_user_without_the_helper_is_not_kept_from_anything,
    what_a_forced_mount_takes_away_is_said,
    files_of_ones_own_are_mounted_without_the_helper,
    a_set_user_id_program_is_named,
    doctor_says_what_run_will_do_and_why,
)

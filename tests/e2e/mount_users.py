#!/usr/bin/env python3
"""Root, an ordinary user through fusermount3, and a user namespace; and the
messages where none of these can work."""

import contextlib
import os
import re
import signal
import subprocess

import st

st.need_root("changing users")


def read(path):
    with open(path) as f:
        return f.read()


def by_user(*argv, **kw):
    return subprocess.run([*st.as_user(), *argv], capture_output=True,
                          text=True, timeout=st.DEADLINE, **kw)


@contextlib.contextmanager
def user_mount(**kw):
    """A mount of the user nobody, made by fusermount3. Root is another user
    there and has no access."""
    st.need("fusermount3")
    with st.Home(st.NOBODY) as home:
        home.repo = home.mkdir("repo")
        kw.setdefault("broken", False)
        with st.Mount(home.repo, home=home, **kw) as m:
            yield m


# -- root -------------------------------------------------------------------

def roots_mount_is_for_all_and_checks_permissions():
    with st.Mount() as m:
        with open(m.path + "/secret", "w") as f:
            f.write("x")
        os.chmod(m.path + "/secret", 0o600)
        with open(m.path + "/open", "w") as f:
            f.write("y")
        os.chmod(m.path + "/open", 0o644)
        os.mkdir(m.path + "/drop", 0o777)
        os.chmod(m.path + "/drop", 0o777)
        assert by_user("cat", m.path + "/open").stdout == "y"
        assert "Permission denied" in by_user("cat",
                                              m.path + "/secret").stderr
        assert by_user("touch", m.path + "/x").returncode != 0
        assert by_user("touch", m.path + "/drop/x").returncode == 0
        assert os.stat(m.below + "/drop/x").st_uid == st.NOBODY
        line = [l for l in m.journal() if l["op"] == "create"][-1]
        assert line["uid"] == st.NOBODY, line


# -- an ordinary user -------------------------------------------------------

def a_user_mounts_through_fusermount3():
    with user_mount() as m:
        assert st.mounted(m.path)
        source = [s for p, _, s in st.mounts() if p == m.path][-1]
        assert source.startswith("statetape#repo-"), source
        r = by_user("sh", "-c", "echo x > \"$0/a\" && cat \"$0/a\"", m.path)
        assert r.stdout == "x\n", r
        line = [l for l in m.journal() if l["op"] == "write"][0]
        assert (line["path"], line["uid"]) == ("a", st.NOBODY), line
        assert os.stat(m.below + "/a").st_uid == st.NOBODY
        try:
            os.listdir(m.path)
            raise AssertionError("another user was let in")
        except PermissionError:
            pass
        r = m.umount()
        assert r.returncode == 0, r
        assert not st.mounted(m.path)


def a_user_is_told_who_keeps_it_busy():
    with user_mount() as m:
        sleeper = subprocess.Popen(
            [*st.as_user(), "sh", "-c", "cd \"$0\" && exec sleep 1000",
             m.path])
        try:
            st.eventually(
                lambda: os.readlink("/proc/%d/cwd" % sleeper.pid) == m.path,
                "somebody is inside")
            r = m.umount()
            assert r.returncode == 1, r
            assert "sleep (%d, current directory)" % sleeper.pid \
                in r.stderr, r
            os.kill(m.pid, signal.SIGTERM)
            st.eventually(lambda: not st.mounted(m.path), "it is unmounted")
        finally:
            sleeper.kill()
            sleeper.wait()
        assert m.proc.wait(st.DEADLINE) == 0
        assert "in use by sleep" in m.log(), m.log()


def a_users_dead_mount_is_taken_away():
    with user_mount(broken=True) as m:
        by_user("touch", m.path + "/a")
        os.kill(m.fs_pid, signal.SIGKILL)
        m.proc.wait(st.DEADLINE)
        assert "killed by SIGKILL" in m.log(), m.log()
        assert not st.mounted(m.path)
        assert os.listdir(m.path) == ["a"]


def a_users_dead_mount_is_replaced():
    with user_mount(broken=True) as m:
        fs = m.fs_pid
        for pid in (m.pid, fs):
            os.kill(pid, signal.SIGKILL)
        m.proc.wait(st.DEADLINE)
        st.eventually(lambda: not st.alive(fs), "fs is gone")
        r = m.home.run("mount", m.repo)
        assert r.returncode == 0 and "process is gone" in r.stderr, r
        assert len([p for p, _, _ in st.mounts() if p == m.path]) == 1
        m.home.run("umount", m.repo, check=True)


def others_are_let_in_only_if_fuse_conf_says_so():
    st.need("fusermount3")
    with st.Home(st.NOBODY) as home:
        repo, conf = home.mkdir("repo"), home.top + "/fuse.conf"
        with open(conf, "w") as f:
            f.write("# nothing\n")
        if not os.path.exists("/etc/fuse.conf") or not st.can_run(
                "mount", "--bind", conf, "/etc/fuse.conf"):
            st.skip("/etc/fuse.conf cannot be replaced here")
        try:
            r = home.run("mount", "--allow-other", repo)
            assert r.returncode == 1, r
            assert "user_allow_other" in r.stderr, r
            assert "/etc/fuse.conf" in r.stderr, r
            assert r.stderr.count("\n") == 1, r
            with open(conf, "w") as f:
                f.write("user_allow_other\n")
            with st.Mount(repo, home=home, args=["--allow-other"]) as m:
                with open(m.path + "/a", "w") as f:
                    f.write("by root")
                assert read(m.below + "/a") == "by root"
        finally:
            subprocess.run(["umount", "/etc/fuse.conf"], check=True)


def a_directory_of_somebody_else_is_no_mountpoint_for_a_user():
    st.need("fusermount3")
    with st.Home(st.NOBODY) as home:
        repo, at = home.mkdir("repo"), home.mkdir("mnt")
        os.chown(at, 0, 0)
        os.chmod(at, 0o755)
        r = home.run("mount", repo, at)
        assert r.returncode == 1, r
        assert at in r.stderr and "fusermount3" in r.stderr, r
        assert not st.mounted(at)


# -- what is missing is named -----------------------------------------------

def without_fusermount3_its_package_is_named():
    with st.Home(st.NOBODY) as home:
        home.env["PATH"] = home.top
        home.prefix[0] = st.which("setpriv")
        r = home.run("mount", home.mkdir("repo"))
        assert r.returncode == 1, r
        assert "fusermount3 is not installed" in r.stderr, r


def a_device_that_may_not_be_opened_is_named_with_the_fix():
    with st.Home(st.NOBODY) as home:
        os.chmod("/dev/fuse", 0o600)
        try:
            r = home.run("mount", home.mkdir("repo"))
        finally:
            os.chmod("/dev/fuse", 0o666)
        assert r.returncode == 1, r
        assert "/dev/fuse" in r.stderr and "chmod 0666" in r.stderr, r


def a_missing_device_is_named_with_the_fix():
    st.need("unshare")
    with st.Home() as home:
        repo = home.mkdir("repo")
        r = subprocess.run(
            ["unshare", "-m", "sh", "-c",
             "mount -t tmpfs none /dev && mknod -m 666 /dev/null c 1 3 && "
             "exec \"$0\" mount \"$1\"", home.binary, repo],
            env=home.env, capture_output=True, text=True,
            timeout=st.DEADLINE)
        assert r.returncode == 1, r
        assert "/dev/fuse does not exist" in r.stderr, r
        assert "modprobe fuse" in r.stderr and "--device" in r.stderr, r


def root_without_the_capability_is_told_what_a_container_needs():
    """As in a container that was given the device and nothing else."""
    st.need("setpriv", "fusermount3")
    with st.Home() as home:
        repo = home.mkdir("repo")
        home.prefix = ["setpriv", "--bounding-set=-sys_admin",
                       "--inh-caps=-all", "--"]
        r = home.run("mount", repo)
        assert r.returncode == 1, r
        assert "--cap-add SYS_ADMIN" in r.stderr, r
        assert r.stderr.count("\n") == 1, r
        if not st.can_run(*home.prefix, "unshare", "-Urm", "true"):
            st.skip("user namespaces cannot be made here")
        r = home.run("mount", "-p", repo, "--", "sh", "-c",
                     "echo x > \"$0/a\"", repo)
        assert r.returncode == 0 and r.stderr == "", r
        assert read(repo + "/a") == "x\n"
        assert '"write"' in home.run("journal", "--json", repo).stdout


# -- a user namespace -------------------------------------------------------

def need_user_namespaces():
    st.need("unshare")
    if not st.can_run(*st.as_user(), "unshare", "-Urm", "true"):
        st.skip("ordinary users cannot make user namespaces here")


def in_namespace(home, script, *args):
    return subprocess.run(
        [*st.as_user(), "unshare", "-Urm", "sh", "-ec", script, home.binary,
         *args], env=home.env, capture_output=True, text=True,
        timeout=st.DEADLINE, cwd="/")


def a_user_namespace_needs_only_the_device():
    need_user_namespaces()
    with st.Home(st.NOBODY) as home:
        repo = home.mkdir("repo")
        home.env["PATH"] = "/usr/bin:/bin"
        r = in_namespace(home, "test $(id -u) = 0; \"$0\" mount \"$1\"; "
                         "echo x > \"$1/a\"; cat \"$1/a\"; mkdir \"$1/d\"; "
                         "mv \"$1/a\" \"$1/d/b\"; chmod 600 \"$1/d/b\"; "
                         "grep -c \"$1 .*fuse.statetape\" /proc/self/mounts; "
                         "\"$0\" umount \"$1\"", repo)
        assert r.returncode == 0, r
        lines = r.stdout.split("\n")
        assert lines[1:3] == ["x", "1"], r
        assert not st.mounted(repo)
        assert os.stat(repo + "/d/b").st_uid == st.NOBODY
        j = home.run("journal", "--json", repo, check=True).stdout
        for op in ("create", "write", "mkdir", "rename", "chmod"):
            assert '"%s"' % op in j, (op, j)


def what_is_roots_is_not_in_the_way_of_a_user_namespace():
    """The user is uid 0 there but not root: sockets are in the user's own
    directory, so that the mount is found from outside too."""
    need_user_namespaces()
    with st.Home(st.NOBODY) as home:
        repo = home.mkdir("repo")
        shared = home.mkdir("tmp")
        os.chmod(shared, 0o1777)
        os.mkdir(shared + "/statetape-0", 0o700)
        os.chown(shared + "/statetape-0", 0, 0)
        home.env["PATH"] = "/usr/bin:/bin"
        home.env["TMPDIR"] = shared
        del home.env["XDG_RUNTIME_DIR"]
        r = in_namespace(home, "\"$0\" mount \"$1\"; echo x > \"$1/a\"; "
                         "\"$0\" status \"$1\"; \"$0\" umount \"$1\"", repo)
        assert r.returncode == 0 and "is mounted" in r.stdout, r
        if not os.path.isdir("/run/user/%d" % st.NOBODY):
            assert "statetape-%d" % st.NOBODY in os.listdir(shared)


def a_private_mount_works_inside_a_user_namespace():
    need_user_namespaces()
    with st.Home(st.NOBODY) as home:
        repo = home.mkdir("repo")
        r = in_namespace(home, "\"$0\" mount -p \"$1\" -- sh -c "
                         "'echo x > \"$0/a\"; exit 3' \"$1\"", repo)
        assert r.returncode == 3 and r.stderr == "", r
        assert read(repo + "/a") == "x\n"


def a_mount_in_another_namespace_is_named_by_its_process():
    need_user_namespaces()
    with st.Home(st.NOBODY) as home:
        repo = home.mkdir("repo")
        home.env["PATH"] = "/usr/bin:/bin"
        r = in_namespace(home, "\"$0\" mount \"$1\"", repo)
        assert r.returncode == 0, r
        pid = int(re.search(r"\(pid (\d+)\)", r.stdout).group(1))
        try:
            r = home.run("umount", repo)
            assert r.returncode == 1, r
            assert "another namespace by process %d" % pid in r.stderr, r
        finally:
            os.kill(pid, signal.SIGTERM)
            st.eventually(lambda: not st.alive(pid), "the guard has ended")
        r = home.run("umount", repo)
        assert r.returncode == 1 and "is not mounted" in r.stderr, r


st.open_fuse_device()
st.main(
    roots_mount_is_for_all_and_checks_permissions,
    a_user_mounts_through_fusermount3,
    a_user_is_told_who_keeps_it_busy,
    a_users_dead_mount_is_taken_away,
    a_users_dead_mount_is_replaced,
    others_are_let_in_only_if_fuse_conf_says_so,
    a_directory_of_somebody_else_is_no_mountpoint_for_a_user,
    without_fusermount3_its_package_is_named,
    a_device_that_may_not_be_opened_is_named_with_the_fix,
    a_missing_device_is_named_with_the_fix,
    root_without_the_capability_is_told_what_a_container_needs,
    a_user_namespace_needs_only_the_device,
    what_is_roots_is_not_in_the_way_of_a_user_namespace,
    a_private_mount_works_inside_a_user_namespace,
    a_mount_in_another_namespace_is_named_by_its_process,
)

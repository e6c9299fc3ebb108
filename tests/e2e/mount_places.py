#!/usr/bin/env python3
"""Where a mount may go: odd names, other mounts, other file systems, and the
places where it is refused."""

import contextlib
import errno
import os
import signal
import subprocess

import st


def read(path):
    with open(path) as f:
        return f.read()


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def written(m):
    return [l["path"] for l in m.journal() if l["op"] == "write"]


def mount(*args):
    """mount(8) by root, or skip: this machine does not let us."""
    r = subprocess.run(["mount", *args], capture_output=True, text=True)
    if r.returncode != 0:
        st.skip("mount %s: %s" % (" ".join(args), r.stderr.strip()))


@contextlib.contextmanager
def scratch():
    """A Home in which we may mount as we like."""
    st.need_root("mounting other file systems")
    st.need_fuse()
    with st.Home() as home:
        yield home


def flags(path):
    with open("/proc/self/mountinfo") as f:
        return [l.split()[5] for l in f if l.split()[4] == path][-1].split(",")


# -- refused ----------------------------------------------------------------

def what_cannot_be_mounted_is_refused_with_one_sentence():
    st.need_fuse()
    with st.Home() as home:
        repo = home.mkdir("repo")
        sub = home.mkdir("repo/sub")
        write(home.top + "/file", "")
        top = home.top
        for args, word in (
                ([top + "/none"], "does not exist"),
                ([top + "/file"], "not a directory"),
                ([top + "/file/x"], "not a directory"),
                ([repo, top + "/none"], "does not exist"),
                ([repo, top + "/file"], "not a directory"),
                ([repo, sub], "inside the repository"),
                ([sub, repo], "would hide the repository"),
                ([top], "XDG_"),
                ([repo, home.mkdir("xdg")], "XDG_"),
        ):
            for how in ([], ["--foreground"]):
                r = home.run("mount", *how, *args)
                assert r.returncode == 1, r
                assert word in r.stderr, r
                assert r.stderr.count("\n") == 1 and r.stdout == "", r
        assert not [p for p, _, _ in st.mounts() if p.startswith(top)]
        assert os.listdir(sub) == []


def a_place_taken_by_another_mount_of_ours_is_refused():
    with st.Mount() as m:
        other = m.home.mkdir("other")
        r = m.home.run("mount", other, m.path)
        assert r.returncode == 1, r
        assert "is a statetape mount already" in r.stderr, r


# -- names ------------------------------------------------------------------

NAMES = ["with space", "quo'te\"s`$x", "new\nline", "back\\slash\\040", "ha#sh",
         "com,ma=1", "tab\tbell\a", "\udcff\udcfe not utf-8", "\u00fc\u4e2d",
         " ", "-dash", "%s%n", "a" * 255]


def any_name_can_be_mounted():
    for name in NAMES:
        with st.Home() as home:
            repo = home.mkdir(name)
            with st.Mount(repo, home=home) as m:
                write(m.path + "/a", "x")
                assert written(m) == ["a"], (name, written(m))
                assert read(m.below + "/a") == "x"
                assert st.mounted(repo), name
            assert not st.mounted(repo), name


def any_name_can_be_a_mountpoint():
    for name in NAMES:
        with st.Home() as home:
            repo = home.mkdir("repo")
            at = home.mkdir("mnt/" + name)
            home.run("mount", repo, at, check=True)
            assert st.mounted(at), name
            write(at + "/a", "x")
            assert read(repo + "/a") == "x"
            home.run("umount", at, check=True)
            assert not st.mounted(at), name
            home.run("mount", repo, at, check=True)
            home.run("umount", repo, check=True)
            assert not st.mounted(at), name


def links_and_relative_paths_lead_to_the_same_mount():
    with st.Home() as home:
        st.need_fuse()
        repo = home.mkdir("a/repo")
        os.symlink("a/repo", home.top + "/link")
        home.run("mount", "link/", check=True, cwd=home.top)
        assert st.mounted(repo)
        r = home.run("mount", "a/../a//repo/.", cwd=home.top)
        assert r.returncode == 1 and "already mounted" in r.stderr, r
        home.run("umount", "../link", check=True, cwd=home.top + "/a")
        assert not st.mounted(repo)
        home.run("mount", ".", check=True, cwd=repo)
        assert st.mounted(repo)
        home.run("umount", repo, check=True)


# -- mounts below, above and over ours --------------------------------------

def a_file_system_mounted_below_before_is_seen_through():
    with scratch() as home:
        repo, sub = home.mkdir("repo"), home.mkdir("repo/sub")
        mount("-t", "tmpfs", "none", sub)
        write(sub + "/old", "x")
        with st.Mount(repo, home=home) as m:
            assert read(m.path + "/sub/old") == "x"
            write(m.path + "/sub/new", "y")
            os.mkdir(m.path + "/sub/d")
            write(m.path + "/sub/d/deep", "z")
            assert written(m) == ["sub/new", "sub/d/deep"], written(m)
            try:
                os.rename(m.path + "/sub/new", m.path + "/new")
                raise AssertionError("renamed across file systems")
            except OSError as e:
                assert e.errno == errno.EXDEV, e
        assert sorted(os.listdir(sub)) == ["d", "new", "old"]
        subprocess.run(["umount", sub], check=True)
        assert os.listdir(sub) == []


def a_file_system_mounted_below_afterwards_keeps_it_busy():
    with scratch() as home:
        repo, sub = home.mkdir("repo"), home.mkdir("repo/sub")
        with st.Mount(repo, home=home) as m:
            mount("-t", "tmpfs", "none", sub)
            write(sub + "/x", "x")
            assert written(m) == []
            r = m.umount()
            assert r.returncode == 1, r
            assert "the mount at '%s'" % sub in r.stderr, r
            subprocess.run(["umount", sub], check=True)
            r = m.umount()
            assert r.returncode == 0, r


def no_thread_of_ours_stands_in_the_tree():
    """It would keep a file system that is mounted there busy."""
    with st.Mount(mountpoint=True) as m:
        os.makedirs(m.path + "/a/b/c")
        assert m.status()["watch"]["dirs"] == 4
        tasks = "/proc/%d/task" % m.fs_pid
        for tid in os.listdir(tasks):
            cwd = os.readlink("%s/%s/cwd" % (tasks, tid))
            assert not cwd.startswith(os.path.realpath(m.repo)), cwd


def a_directory_of_a_mount_can_be_mounted():
    with st.Home() as home:
        repo, sub = home.mkdir("repo"), home.mkdir("repo/sub")
        with st.Mount(repo, home=home) as outer:
            with st.Mount(sub, home=home) as inner:
                write(sub + "/x", "text")
                assert read(sub + "/x") == "text"
                assert written(inner) == ["x"], written(inner)
                # It came to the outer one from the inner one's process.
                line = [l for l in outer.journal() if l["op"] == "write"][0]
                assert line["path"] == "sub/x", line
                assert line["pid"] == inner.fs_pid, line
                r = outer.umount()
                assert r.returncode == 1, r
                assert "the mount at '%s'" % sub in r.stderr, r
            write(sub + "/y", "text")
            assert written(outer)[-1] == "sub/y", written(outer)


def another_repository_can_be_mounted_inside_a_mount():
    with st.Home() as home:
        repo, sub = home.mkdir("repo"), home.mkdir("repo/sub")
        other = home.mkdir("other")
        with st.Mount(repo, home=home) as outer:
            with st.Mount(other, mountpoint=sub, home=home) as inner:
                write(sub + "/x", "text")
                assert read(other + "/x") == "text"
                assert written(inner) == ["x"], written(inner)
                assert written(outer) == [], written(outer)


def a_mount_of_the_parent_hides_one_of_the_child_and_serves_it():
    with st.Home() as home:
        repo, sub = home.mkdir("repo"), home.mkdir("repo/sub")
        with st.Mount(sub, home=home) as inner:
            with st.Mount(repo, home=home) as outer:
                write(sub + "/x", "text")
                assert written(outer) == ["sub/x"], written(outer)
                assert written(inner) == ["x"], written(inner)
                r = inner.umount()
                assert r.returncode == 1, r
                assert "mounted over it" in r.stderr, r
            write(sub + "/y", "text")
            assert written(inner) == ["x", "y"], written(inner)
        assert sorted(os.listdir(sub)) == ["x", "y"]


def a_mount_over_ours_is_never_unmounted_for_it():
    with scratch() as home:
        with st.Mount(home=home, expect_log="mounted over it") as m:
            mount("-t", "tmpfs", "none", m.path)
            try:
                r = m.umount()
                assert r.returncode == 1, r
                assert "mounted over it" in r.stderr, r
                os.kill(m.pid, signal.SIGTERM)
                st.eventually(lambda: "mounted over it" in m.log(),
                              "the guard says why it cannot unmount")
                assert [t for p, t, _ in st.mounts() if p == m.path][-1] \
                    == "tmpfs"
            finally:
                subprocess.run(["umount", m.path], check=True)
            r = m.umount()
            assert r.returncode == 0, r


# -- what is below ----------------------------------------------------------

def a_read_only_repository_is_mounted_read_only():
    with scratch() as home:
        below, repo = home.mkdir("below"), home.mkdir("repo")
        write(below + "/a", "x")
        mount("--bind", below, repo)
        mount("-o", "remount,bind,ro", repo)
        with st.Mount(repo, home=home) as m:
            assert "ro" in flags(m.path), flags(m.path)
            assert read(m.path + "/a") == "x"
            for act in (lambda: write(m.path + "/a", "y"),
                        lambda: write(m.path + "/b", "y"),
                        lambda: os.mkdir(m.path + "/d"),
                        lambda: os.unlink(m.path + "/a"),
                        lambda: os.chmod(m.path + "/a", 0o600)):
                try:
                    act()
                    raise AssertionError("a read-only mount was changed")
                except OSError as e:
                    assert e.errno == errno.EROFS, e
            assert [l for l in m.journal() if l["op"] == "write"] == []
        assert read(below + "/a") == "x"


def flags_of_the_mount_below_are_kept():
    with scratch() as home:
        repo = home.mkdir("repo")
        for options in ("nosuid,nodev,noexec", "nosuid", "noexec"):
            mount("-t", "tmpfs", "-o", options, "none", repo)
            with st.Mount(repo, home=home) as m:
                for flag in ("nosuid", "nodev", "noexec"):
                    assert (flag in options.split(",")) == \
                        (flag in flags(m.path)), (options, flags(m.path))
            subprocess.run(["umount", repo], check=True)


def work_on(m):
    """Enough to see that files, names and the journal work there."""
    os.mkdir(m.path + "/d")
    write(m.path + "/d/a", "x")
    os.rename(m.path + "/d/a", m.path + "/d/b")
    os.link(m.path + "/d/b", m.path + "/c")
    write(m.path + "/c", "yy")
    os.truncate(m.path + "/c", 1)
    assert read(m.path + "/d/b") == "y"
    os.unlink(m.path + "/d/b")
    os.symlink("c", m.path + "/s")
    assert read(m.path + "/s") == "y"
    assert sorted(os.listdir(m.path)) == sorted(os.listdir(m.below))
    ops = [l["op"] for l in m.journal()]
    for op in ("mkdir", "create", "write", "rename", "link", "truncate",
               "unlink", "symlink"):
        assert op in ops, (op, ops)


def a_repository_on_tmpfs_works():
    with scratch() as home:
        repo = home.mkdir("repo")
        mount("-t", "tmpfs", "none", repo)
        with st.Mount(repo, home=home) as m:
            work_on(m)


def a_repository_on_overlayfs_works():
    with scratch() as home:
        top = home.mkdir("t")
        mount("-t", "tmpfs", "none", top)
        for d in ("lower", "upper", "work"):
            os.mkdir(top + "/" + d)
        repo = home.mkdir("repo")
        os.mkdir(top + "/lower/old")
        write(top + "/lower/old/file", "below")
        mount("-t", "overlay", "-o", "lowerdir=%s/lower,upperdir=%s/upper,"
              "workdir=%s/work" % (top, top, top), "overlay", repo)
        with st.Mount(repo, home=home) as m:
            work_on(m)
            # A write copies the file up: another inode below, one file here.
            with open(m.path + "/old/file", "r+") as f:
                f.write("BELOW")
                f.flush()
                assert read(m.path + "/old/file") == "BELOW"
                assert os.fstat(f.fileno()).st_size == 5
            assert written(m)[-1] == "old/file", written(m)
            os.unlink(m.path + "/old/file")
            assert os.listdir(m.path + "/old") == []
        assert read(top + "/lower/old/file") == "below"


def an_overlay_can_be_laid_upon_it():
    """As sandboxes do, so that what is done there stays there."""
    with scratch() as home:
        top = home.mkdir("t")
        mount("-t", "tmpfs", "none", top)
        os.mkdir(top + "/work")
        os.mkdir(top + "/upper")
        sandbox, plain = home.mkdir("sandbox"), home.mkdir("plain")
        upon = ["-t", "overlay", "overlay", sandbox, "-o", "upperdir=%s/upper,"
                "workdir=%s/work,lowerdir=" % (top, top)]
        mount(*upon[:-1], upon[-1] + plain)
        subprocess.run(["umount", sandbox], check=True)
        large = "x" * (1 << 20)
        with st.Mount(home=home) as m:
            write(m.path + "/file", "as it was")
            write(m.path + "/large", large)
            subprocess.run(["mount", *upon[:-1], upon[-1] + m.path],
                           check=True)
            assert read(sandbox + "/large") == large
            before = written(m)
            write(sandbox + "/file", "changed")
            write(sandbox + "/large", large + "y")
            assert read(m.path + "/file") == "as it was"
            assert read(m.path + "/large") == large
            assert written(m) == before
            subprocess.run(["umount", sandbox], check=True)


st.main(
    what_cannot_be_mounted_is_refused_with_one_sentence,
    a_place_taken_by_another_mount_of_ours_is_refused,
    any_name_can_be_mounted,
    any_name_can_be_a_mountpoint,
    links_and_relative_paths_lead_to_the_same_mount,
    a_file_system_mounted_below_before_is_seen_through,
    a_file_system_mounted_below_afterwards_keeps_it_busy,
    no_thread_of_ours_stands_in_the_tree,
    a_directory_of_a_mount_can_be_mounted,
    another_repository_can_be_mounted_inside_a_mount,
    a_mount_of_the_parent_hides_one_of_the_child_and_serves_it,
    a_mount_over_ours_is_never_unmounted_for_it,
    a_read_only_repository_is_mounted_read_only,
    flags_of_the_mount_below_are_kept,
    a_repository_on_tmpfs_works,
    a_repository_on_overlayfs_works,
    an_overlay_can_be_laid_upon_it,
)

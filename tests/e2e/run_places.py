#!/usr/bin/env python3
"""`statetape run` in all kinds of directories."""

import contextlib
import os
import subprocess
import tempfile

import st
from running import log, nothing_left, place, run, small_disk, write

FILES = 50000


def git(cwd, *words):
    subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", "-c",
                    "protocol.file.allow=always", *words], cwd=cwd, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   env=dict(os.environ, GIT_CONFIG_NOSYSTEM="1",
                            HOME="/nonexistent"))


def paths(home, repo):
    return [e["path"] for e in log(home, repo)]


def names_of_any_kind_work():
    st.need_fuse()
    for name in ("with space", "um\udcffbyte", "quote'\"$x", "-dash",
                 "tab\tnewline\nname", "x" * 200):
        with place(name=name) as (home, repo):
            r = run(home, repo, "sed -i s/1/2/ app.py")
            assert r.returncode == 0, r
            assert paths(home, repo) == ["app.py"]
            nothing_left(home, repo)


def a_link_leads_to_the_repository():
    st.need_fuse()
    with place() as (home, repo):
        link = home.top + "/link"
        os.symlink(repo, link)
        r = home.run("run", "--repo", link, "--", "sh", "-c",
                     "cd %s && sed -i s/1/2/ app.py" % link)
        assert r.returncode == 0, r
        r = home.run("run", "--repo", link, "--", "sh", "-c",
                     "sed -i s/2/3/ app.py; pwd", cwd=link)
        assert r.returncode == 0, r
        assert paths(home, repo) == ["app.py", "app.py"]
        nothing_left(home, repo)


def an_empty_directory_is_a_repository():
    st.need_fuse()
    with place() as (home, _):
        empty = home.mkdir("empty")
        r = run(home, empty, "ls -A; echo 'x = 1' > a.py")
        assert r.returncode == 0 and r.stdout == "", r
        assert paths(home, empty) == ["a.py"]
        nothing_left(home, empty)


def a_repository_without_python_is_one_too():
    st.need_fuse()
    with place() as (home, _):
        repo = home.mkdir("c")
        write(repo + "/main.c", "int main(void) { return 1; }\n")
        write(repo + "/blob", "\0\1\2" * 1000)
        r = run(home, repo, "sed -i s/1/0/ main.c; head -c 9 /dev/zero > blob")
        assert r.returncode == 0, r
        assert sorted(paths(home, repo)) == ["blob", "main.c"]
        nothing_left(home, repo)


def what_may_not_be_written_is_not_and_work_goes_on():
    """Read-only by its modes (for a user) or by its mount (for all)."""
    st.need_fuse()
    st.own_mounts()
    with place() as (home, repo):
        os.mkdir(home.top + "/ro")
        if not st.can_run("mount", "--bind", repo, home.top + "/ro") or \
                not st.can_run("mount", "-o", "remount,ro,bind",
                               home.top + "/ro"):
            st.skip("a directory cannot be mounted read-only here")
        r = run(home, home.top + "/ro", "cat app.py; echo >> app.py || exit 4")
        assert r.returncode in (2, 4), r
        assert "def f()" in r.stdout and "Read-only" in r.stderr, r
        nothing_left(home, home.top + "/ro")
    st.open_fuse_device()
    with place(st.NOBODY) as (home, repo):
        os.chown(repo, 0, 0)
        os.chown(repo + "/app.py", 0, 0)
        r = run(home, repo, "cat app.py; echo >> app.py || exit 4")
        assert r.returncode in (2, 4) and "denied" in r.stderr, r
        nothing_left(home, repo)


def submodules_and_worktrees_are_repositories():
    st.need_fuse()
    st.need("git")
    with place() as (home, repo):
        lib = home.mkdir("lib")
        for r in (repo, lib):
            git(r, "init", "-q")
            write(r + "/m.py", "def m():\n    return 1\n")
            git(r, "add", ".")
            git(r, "commit", "-qm", "all")
        git(repo, "submodule", "add", "-q", lib, "sub")
        git(repo, "commit", "-qm", "sub")
        git(repo, "worktree", "add", "-q", home.top + "/tree")
        # The nearest .git is the submodule's; it is a file.
        r = home.run("run", "--", "sh", "-c", "sed -i s/1/2/ m.py; git status",
                     cwd=repo + "/sub")
        assert r.returncode == 0 and "m.py" in r.stdout, r
        assert paths(home, repo + "/sub") == ["m.py"]
        r = home.run("run", "--", "sh", "-c", "sed -i s/1/3/ m.py; git add .; "
                     "git status -s", cwd=home.top + "/tree")
        assert r.returncode == 0 and r.stdout == "M  m.py\n", r
        assert "m.py" in paths(home, home.top + "/tree")
        # Started above the submodule, the run is on the whole repository.
        r = run(home, repo, "sed -i s/2/4/ sub/m.py; git checkout -q -b new")
        assert r.returncode == 0, r
        assert "sub/m.py" in paths(home, repo)
        nothing_left(home, repo)
        assert not st.mounted(home.top + "/tree")


def another_kind_of_disk_does_not_matter():
    st.need_fuse()
    st.own_mounts()
    with place() as (home, _), small_disk(8 << 20) as disk:
        write(disk + "/app.py", "def f():\n    return 1\n")
        r = run(home, disk, "sed -i s/1/2/ app.py")
        assert r.returncode == 0, r
        assert paths(home, disk) == ["app.py"]
        nothing_left(home, disk)


def homes_and_runtime_directories_may_be_missing():
    for env in ({"HOME": None, "XDG_STATE_HOME": None},
                {"XDG_RUNTIME_DIR": None},
                {"XDG_RUNTIME_DIR": "/proc/none"},
                {"XDG_RUNTIME_DIR": "relative"},
                {"XDG_CONFIG_HOME": "/proc/none", "HOME": None}):
        with place() as (home, repo):
            for name, value in env.items():
                if value is None:
                    del home.env[name]
                else:
                    home.env[name] = value
            if "XDG_STATE_HOME" not in home.env:
                home.env["HOME"] = home.mkdir("other home")
            r = run(home, repo, "true")
            assert r.returncode == 0, (env, r)
            nothing_left(home, repo)


def without_any_home_it_says_what_to_do():
    st.need_root()
    with place(st.NOBODY) as (home, repo):
        for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
            del home.env[name]
        r = run(home, repo, "true", "--no-mount")
        assert r.returncode in (0, 125), r
        assert r.returncode == 0 or "XDG_STATE_HOME" in r.stderr or \
            "HOME" in r.stderr or "cannot" in r.stderr, r
        nothing_left(home, repo)


def where_nothing_can_be_mounted_changes_are_noticed():
    """Without /dev/fuse and fusermount3 neither root nor a user can mount."""
    st.own_mounts()
    if not st.can_run("mount", "--bind", "/dev/null", "/dev/fuse"):
        st.skip("/dev/fuse cannot be hidden here")
    for uid in (None, st.NOBODY):
        with place(uid) as (home, repo):
            r = run(home, repo, "sed -i s/1/2/ app.py")
            assert r.returncode == 0, r
            assert "is not mounted: changes are found later" in \
                r.stderr, r
            entries = log(home, repo)
            assert [e["path"] for e in entries] == ["app.py"], entries
            assert entries[0]["author"]["origin"] == "outside", entries
            r = run(home, repo, "true", "--mount", "private")
            assert r.returncode == 125 and "could not be started" in r.stderr
            r = home.run("doctor", repo)
            assert r.returncode == 1, r
            assert "degraded  run " in r.stdout, r.stdout
            assert "missing   mounting " in r.stdout, r.stdout
            nothing_left(home, repo)


def where_a_mount_cannot_be_entered_work_goes_on_outside():
    """As in a container with CAP_SYS_ADMIN but without CAP_SYS_CHROOT."""
    st.need_fuse()
    st.need_root()
    st.need("setpriv")
    with place() as (home, repo):
        home.prefix = ["setpriv", "--bounding-set", "-sys_chroot",
                       "--inh-caps", "-sys_chroot"] + home.prefix
        r = run(home, repo, "sed -i s/1/2/ app.py")
        assert r.returncode == 0, r
        assert "cannot be entered" in r.stderr, r
        assert "is not mounted: changes are found" in r.stderr, r
        assert paths(home, repo) == ["app.py"]
        nothing_left(home, repo)
        r = run(home, repo, "touch ran", "--mount", "private")
        assert r.returncode == 125, r
        assert not os.path.exists(repo + "/ran")
        nothing_left(home, repo)


@contextlib.contextmanager
def another_root():
    """The root directory, bind-mounted as a place to chroot to."""
    st.own_mounts()
    st.need("chroot")
    root = tempfile.mkdtemp(prefix="st.root.")
    try:
        if not st.can_run("mount", "--rbind", "/", root):
            st.skip("the root directory cannot be mounted once more")
        yield root
    finally:
        st.can_run("umount", "-l", "-R", root)
        os.rmdir(root)


@contextlib.contextmanager
def without_user_namespaces():
    """A command prefix under which user namespaces cannot be made: chroot,
    even into a bind mount of the same root."""
    with another_root() as root:
        if st.can_run("chroot", root, *st.as_user(), "unshare", "-U", "true"):
            st.skip("user namespaces cannot be kept from being made here")
        yield ["chroot", root]


def a_user_without_user_namespaces_gets_a_visible_mount():
    st.need_fuse()
    st.need("fusermount3")
    st.open_fuse_device()
    with without_user_namespaces() as prefix, \
            place(st.NOBODY) as (home, repo):
        home.prefix = prefix + home.prefix
        r = run(home, repo, "grep fuse.statetape /proc/self/mountinfo;"
                "sed -i s/1/2/ app.py")
        assert r.returncode == 0, r
        assert repo + " " in r.stdout and "is not mounted" not in r.stderr, r
        entries = log(home, repo)
        assert [e["path"] for e in entries] == ["app.py"]
        assert entries[0]["author"]["comm"] == "sed", entries
        assert not [m for m in st.mounts() if m[0].endswith(repo)]
        nothing_left(home, repo)


def what_could_not_be_unmounted_is_not_mounted():
    """Without /etc/mtab fusermount3 mounts but cannot unmount, so the owner
    could not get the repository back."""
    st.need_fuse()
    st.need("fusermount3")
    st.open_fuse_device()
    with without_user_namespaces() as prefix, \
            place(st.NOBODY) as (home, repo):
        etc = prefix[-1] + "/etc"
        kept = {n: read_bytes("/etc/" + n) for n in ("passwd", "ld.so.cache")}
        if not st.can_run("mount", "-t", "tmpfs", "none", etc):
            st.skip("a tmpfs cannot be mounted here")
        for name, text in kept.items():
            with open(etc + "/" + name, "wb") as f:
                f.write(text)
        home.prefix = prefix + home.prefix
        r = run(home, repo, "sed -i s/1/2/ app.py")
        assert r.returncode == 0, r
        assert "for want of /etc/mtab" in r.stderr, r
        assert "is not mounted: changes are found" in r.stderr, r
        assert paths(home, repo) == ["app.py"]
        r = home.run("doctor")
        assert "cannot unmount without /etc/mtab" in \
            " ".join(r.stdout.split()), r.stdout
        nothing_left(home, repo)


def read_bytes(path):
    with open(path, "rb") as f:
        return f.read()


def a_run_in_a_chroot_stays_there():
    """A chroot whose root is a mount point, so a private mount is possible.
    The repository exists only in there."""
    st.need_fuse()
    with place() as (home, _):
        top = home.mkdir("only here")
        below = home.mkdir("below")
        with another_root() as root:
            if not st.can_run("mount", "--bind", below, root + top):
                st.skip("a directory cannot be mounted once more here")
            os.mkdir(below + "/repo")
            write(below + "/repo/app.py", "def f():\n    return 1\n")
            home.prefix = ["chroot", root] + home.prefix
            for _ in range(2):
                r = home.run("run", "--repo", top + "/repo", "--", "sh", "-c",
                             "pwd; grep fuse.statetape /proc/self/mountinfo; "
                             "sed -i s/1/2/ app.py", cwd="/")
                assert r.returncode == 0, r
                assert r.stdout.startswith(top + "/repo\n"), r
                assert "fuse.statetape" in r.stdout, r
                assert not os.listdir(top)
            assert paths(home, top + "/repo") == ["app.py"]
            nothing_left(home, top + "/repo")


def fifty_thousand_files_are_no_trouble():
    st.need_fuse()
    with place() as (home, repo):
        for d in range(FILES // 500):
            os.mkdir("%s/d%d" % (repo, d))
            for n in range(500):
                write("%s/d%d/f%d.%s" % (repo, d, n,
                                         "py" if n % 10 == 0 else "txt"),
                      "def f%d():\n    return %d\n" % (n, d))
        r = run(home, repo, "find . -type f | wc -l; sed -i 's/return 7/"
                "return 8/' d7/f0.py")
        assert r.returncode == 0, r
        assert r.stdout.split()[0] == str(FILES + 1), r.stdout
        assert paths(home, repo) == ["d7/f0.py"]
        nothing_left(home, repo)


st.main(names_of_any_kind_work,
        a_link_leads_to_the_repository,
        an_empty_directory_is_a_repository,
        a_repository_without_python_is_one_too,
        submodules_and_worktrees_are_repositories,
        homes_and_runtime_directories_may_be_missing,
        without_any_home_it_says_what_to_do,
        fifty_thousand_files_are_no_trouble,
        what_may_not_be_written_is_not_and_work_goes_on,
        another_kind_of_disk_does_not_matter,
        a_user_without_user_namespaces_gets_a_visible_mount,
        what_could_not_be_unmounted_is_not_mounted,
        a_run_in_a_chroot_stays_there,
        where_a_mount_cannot_be_entered_work_goes_on_outside,
        where_nothing_can_be_mounted_changes_are_noticed)

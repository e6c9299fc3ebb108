#!/usr/bin/env python3
"""A tree with more files than there are descriptors can still be used."""

import contextlib
import errno
import os
import resource
import subprocess

import st


def make_tree(top, dirs, files):
    for d in range(dirs):
        os.mkdir("%s/%d" % (top, d))
        for f in range(files):
            with open("%s/%d/%d" % (top, d, f), "w") as out:
                out.write("%d/%d" % (d, f))


def read_tree(top, dirs, files):
    for d in range(dirs):
        assert len(os.listdir("%s/%d" % (top, d))) == files
        for f in range(files):
            with open("%s/%d/%d" % (top, d, f)) as i:
                assert i.read() == "%d/%d" % (d, f)


@contextlib.contextmanager
def mounted_with(descriptors, dirs, files):
    few = ["prlimit", "--nofile=%d:%d" % (descriptors, descriptors)]
    if st.is_root():  # who would raise the limit again
        few += ["setpriv", "--bounding-set=-sys_resource"]
    st.need("prlimit", "setpriv")
    with st.Home() as home:
        repo = home.mkdir("repo")
        make_tree(repo, dirs, files)
        home.prefix = few
        with st.Mount(repo=repo, mountpoint=True, home=home) as m:
            yield m


def a_large_tree_is_walked_with_few_descriptors():
    with mounted_with(512, 20, 100) as m:
        for _ in range(2):
            read_tree(m.path, 20, 100)
        watch = m.status()["watch"]
        assert watch["evicted"] > 0, watch


def directories_are_given_up_too_but_not_those_in_use():
    if tuple(map(int, os.uname().release.split(".")[:2])) < (6, 18):
        st.skip("Linux before 6.18 cannot be asked to forget directories")
    with mounted_with(512, 1500, 1) as m:
        os.mkdir(m.path + "/here")
        shell = subprocess.Popen(["sh", "-c", "read x && pwd -P && ls"],
                                 cwd=m.path + "/here", text=True,
                                 stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT)
        for _ in range(2):
            read_tree(m.path, 1500, 1)
            with open(m.path + "/here/made", "w"):
                pass
            assert m.status()["inodes"] < 512
        out, _ = shell.communicate("go\n")
        assert out.split() == [os.path.realpath(m.path) + "/here", "made"], out


def what_could_not_be_made_is_not_there():
    """All descriptors are held by open files: no file is half created."""
    with mounted_with(256, 0, 0) as m:
        held, ways = [], {
            "file": lambda p: held.append(open(p, "x")),
            "directory": os.mkdir, "fifo": os.mkfifo,
            "symlink": lambda p: os.symlink("target", p)}
        try:
            made = fill(m.path, ways["file"])
            for name, make in ways.items():
                path = "%s/one %s" % (m.path, name)
                try:
                    make(path)
                    made.append(os.path.basename(path))
                except OSError as e:
                    assert e.errno in (errno.EMFILE, errno.ENFILE), e
            assert sorted(os.listdir(m.below)) == sorted(made)
        finally:
            for f in held:
                f.close()
        lines = [l["path"] for l in m.journal() if l.get("res", 0) >= 0 and
                 l["op"] in ("create", "mkdir", "mknod", "symlink")]
        assert sorted(lines) == sorted(made)


def fill(top, make):
    """Make files until no more can be; their names."""
    made = []
    for n in range(1000):
        try:
            make("%s/%d" % (top, n))
        except OSError as e:
            assert e.errno in (errno.EMFILE, errno.ENFILE), e
            return made
        made.append(str(n))
    raise AssertionError("there were descriptors for all")


def there_is_room_for_descriptors_from_the_start():
    """A table that grows later makes every thread wait, repeatedly."""
    with st.Mount() as m:
        with open("/proc/%d/status" % m.fs_pid) as f:
            facts = dict(line.split(":", 1) for line in f)
        most, _ = resource.prlimit(m.fs_pid, resource.RLIMIT_NOFILE)
        room = int(facts["FDSize"])
        assert room >= min(most, 1 << 16), (room, most)


st.main(there_is_room_for_descriptors_from_the_start,
        a_large_tree_is_walked_with_few_descriptors,
        directories_are_given_up_too_but_not_those_in_use,
        what_could_not_be_made_is_not_there)

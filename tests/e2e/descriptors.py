#!/usr/bin/env python3
"""A tree with more files than there are descriptors can still be used."""

import contextlib
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
        assert watch["shed"] > 0, watch


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


def there_is_room_for_descriptors_from_the_start():
    """Room made later keeps every thread waiting, time and again."""
    with st.Mount() as m:
        with open("/proc/%d/status" % m.fs_pid) as f:
            facts = dict(line.split(":", 1) for line in f)
        most, _ = resource.prlimit(m.fs_pid, resource.RLIMIT_NOFILE)
        room = int(facts["FDSize"])
        assert room >= min(most, 1 << 16), (room, most)


st.main(there_is_room_for_descriptors_from_the_start,
        a_large_tree_is_walked_with_few_descriptors,
        directories_are_given_up_too_but_not_those_in_use)

#!/usr/bin/env python3
"""A tree with more files than there are descriptors can still be used."""

import os

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


def a_large_tree_is_walked_with_few_descriptors():
    few = ["prlimit", "--nofile=512:512"]
    if st.is_root():  # who would raise the limit again
        few += ["setpriv", "--bounding-set=-sys_resource"]
    st.need("prlimit", "setpriv")
    with st.Home() as home:
        repo = home.mkdir("repo")
        make_tree(repo, 20, 100)
        home.prefix = few
        with st.Mount(repo=repo, mountpoint=True, home=home) as m:
            for _ in range(2):
                read_tree(m.path, 20, 100)
            watch = m.status()["watch"]
            assert watch["shed"] > 0, watch


st.main(a_large_tree_is_walked_with_few_descriptors)

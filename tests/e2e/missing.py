#!/usr/bin/env python3
"""Names that are missing: which of them the kernel remembers, and that none is
remembered longer than it is true."""

import contextlib
import os
import subprocess

import st

with open("/proc/sys/fs/inotify/max_queued_events", encoding="ascii") as f:
    EVENTS_MAX = int(f.read())


def is_there(path):
    """As another process sees it."""
    return subprocess.run(["test", "-e", path], check=False,
                          timeout=st.DEADLINE).returncode == 0


@contextlib.contextmanager
def repository():
    with st.Home() as home:
        repo = home.mkdir("repo")
        for name in (".git/refs", ".git/hooks", "src", "many"):
            os.makedirs(repo + "/" + name)
        with st.Mount(repo=repo, home=home) as m:
            yield m


UNFOLLOWED = [".git/MERGE_HEAD", ".git/refs/x", "src/__pycache__",
              "src/a.pyc", "src/.gitignore"]


def those_that_the_tape_does_not_follow_are_asked_for_once():
    with repository() as m:
        paths = [m.path + "/" + name for name in UNFOLLOWED]
        assert not any(map(is_there, paths))
        with m.still():
            assert not any(map(is_there, paths))


def of_all_others_each_look_is_noted():
    with repository() as m:
        for name in ("src/a.py", ".git/hooks/pre-commit"):
            for _ in range(2):
                p = subprocess.Popen(["test", "-e", m.path + "/" + name])
                p.wait(st.DEADLINE)
                answer = m.reads("--pid", str(p.pid))
                assert [q["missed"] for q in answer["processes"]] == [[name]]


def what_is_made_through_the_mount_is_there_at_once():
    with repository() as m:
        for name in UNFOLLOWED:
            path = m.path + "/" + name
            assert not is_there(path)
            with open(path, "w", encoding="ascii"):
                assert is_there(path)
            os.rename(path, path + "2")
            assert is_there(path + "2") and not is_there(path)


def what_is_made_outside_is_seen():
    with repository() as m:
        for name in UNFOLLOWED:
            assert not is_there(m.path + "/" + name)
            with open(m.below + "/" + name, "w", encoding="ascii"):
                pass
            st.eventually(lambda n=name: is_there(m.path + "/" + n),
                          name + " is seen")


def it_is_seen_though_events_were_lost():
    with repository() as m:
        assert os.listdir(m.path + "/many") == []
        for name in UNFOLLOWED:
            assert not is_there(m.path + "/" + name)
        with m.still():
            for n in range(EVENTS_MAX + 1):
                os.close(os.open("%s/many/%d" % (m.below, n), os.O_CREAT, 0o600))
            for name in UNFOLLOWED:
                with open(m.below + "/" + name, "w", encoding="ascii"):
                    pass
        for name in UNFOLLOWED:
            st.eventually(lambda n=name: is_there(m.path + "/" + n),
                          name + " is seen")
        assert m.status()["watch"]["overflows"] > 0


st.main(those_that_the_tape_does_not_follow_are_asked_for_once,
        of_all_others_each_look_is_noted,
        what_is_made_through_the_mount_is_there_at_once,
        what_is_made_outside_is_seen,
        it_is_seen_though_events_were_lost)

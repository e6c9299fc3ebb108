#!/usr/bin/env python3
"""`statetape reads` reports the files that processes opened and missed."""

import os
import subprocess

import st


def in_repo(m, script):
    """Runs `script` with sh in the mount; its process id."""
    p = subprocess.Popen(["sh", "-c", script], cwd=m.path,
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    p.wait()
    return p.pid


def of(answer, what):
    return {path for p in answer["processes"] for path in p[what]}


def fill(m):
    for name in ("a.py", "b.py"):
        with open(m.path + "/" + name, "w") as f:
            f.write("x = 1\n")


def an_open_for_reading_is_noted_with_its_process():
    with st.Mount() as m:
        fill(m)
        pid = in_repo(m, "exec cat a.py")
        answer = m.reads("--pid", str(pid))
        assert of(answer, "opened") == {"a.py"}, answer
        assert answer["processes"][-1]["comm"] == "cat", answer


def a_miss_is_noted_for_each_process_however_often_it_was_missed():
    with st.Mount() as m:
        fill(m)
        for _ in range(3):
            pid = in_repo(m, "exec test -e conftest.py")
            answer = m.reads("--pid", str(pid))
            assert of(answer, "missed") == {"conftest.py"}, answer


def a_whole_tree_of_processes_is_answered():
    with st.Mount() as m:
        fill(m)
        pid = in_repo(m, "cat a.py; (cat b.py; cat c.py); :")
        answer = m.reads("--pid", str(pid), "--tree")
        assert of(answer, "opened") == {"a.py", "b.py"}, answer
        assert "c.py" in of(answer, "missed"), answer


def writing_alone_is_no_reading():
    with st.Mount() as m:
        pid = in_repo(m, "echo x > new")
        assert "new" not in of(m.reads("--pid", str(pid)), "opened")


def a_path_is_that_of_the_time_it_was_read():
    with st.Mount() as m:
        fill(m)
        pid = in_repo(m, "exec cat a.py")
        os.rename(m.path + "/a.py", m.path + "/z.py")
        assert of(m.reads("--pid", str(pid)), "opened") == {"a.py"}


def thousands_of_files_are_remembered():
    with st.Mount() as m:
        os.mkdir(m.path + "/d")
        for n in range(3000):
            os.close(os.open(m.path + "/d/%d" % n, os.O_CREAT, 0o600))
        pid = in_repo(m, "exec cat d/*")
        assert len(of(m.reads("--pid", str(pid)), "opened")) == 3000


st.main(an_open_for_reading_is_noted_with_its_process,
        a_miss_is_noted_for_each_process_however_often_it_was_missed,
        a_whole_tree_of_processes_is_answered,
        writing_alone_is_no_reading,
        a_path_is_that_of_the_time_it_was_read,
        thousands_of_files_are_remembered)

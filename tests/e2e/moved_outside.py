#!/usr/bin/env python3
"""Directories moved outside the mount, while processes work in them."""

import contextlib
import os

import st


@contextlib.contextmanager
def working_in(m, name):
    """A process-wide working directory in the mount, by descriptor."""
    fd = os.open(m.path + "/" + name, os.O_PATH)
    try:
        yield fd
    finally:
        os.close(fd)


def write_at(fd, name, text):
    out = os.open(name, os.O_CREAT | os.O_WRONLY, 0o600, dir_fd=fd)
    os.write(out, text)
    os.close(out)


def newest(m, op):
    return [l for l in m.journal() if l["op"] == op][-1]


def lines_have_the_new_name():
    with st.Mount() as m:
        os.makedirs(m.path + "/a/in")
        os.mkdir(m.path + "/b")
        with working_in(m, "a/in") as fd:
            write_at(fd, "f", b"1")
            os.rename(m.below + "/a", m.below + "/b/moved")

            def is_known():
                write_at(fd, "f", b"2")
                return newest(m, "write")["path"] == "b/moved/in/f"
            st.eventually(is_known, "the directory's new name is known")
            write_at(fd, "new", b"3")
            assert newest(m, "create")["path"] == "b/moved/in/new"
        with open(m.below + "/b/moved/in/new") as f:
            assert f.read() == "3"


def what_was_moved_away_is_not_taken_for_what_is_there_now():
    with st.Mount() as m:
        away = m.home.mkdir("away")
        os.makedirs(m.path + "/a/in")
        with working_in(m, "a/in") as fd:
            write_at(fd, "f", b"1")
            file = os.open("f", os.O_WRONLY, dir_fd=fd)
            os.rename(m.below + "/a", away + "/a")

            def is_known():
                os.write(file, b"2")
                return newest(m, "write").get("detail") == "deleted"
            st.eventually(is_known, "the file is no longer the repository's")
            os.makedirs(m.path + "/a/in")
            with open(m.path + "/a/in/f", "w") as f:
                f.write("another")
            assert "detail" not in newest(m, "write")
            os.write(file, b"3")
            assert newest(m, "write")["detail"] == "deleted"
            os.close(file)
        with open(away + "/a/in/f") as f:
            assert f.read().endswith("23")


st.main(lines_have_the_new_name,
        what_was_moved_away_is_not_taken_for_what_is_there_now)

#!/usr/bin/env python3
"""Requests through io_uring. Needs root: the kernel's switch is on while this
runs (mounts made meanwhile by other tests use rings too, without harm)."""

import contextlib
import os
import signal
import subprocess
import sys

import st

SWITCH = "/sys/module/fuse/parameters/enable_uring"
FORBID = "/proc/sys/kernel/io_uring_disabled"
HERE = os.path.dirname(os.path.abspath(__file__))


def read(path):
    with open(path) as f:
        return f.read().strip()


@contextlib.contextmanager
def setting(path, value):
    before = read(path)

    def write(text):
        with open(path, "w") as f:
            f.write(text)
    write(value)
    try:
        yield
    finally:
        write(before)


@contextlib.contextmanager
def offered():
    """The kernel offers rings, and this machine lets them be made."""
    if not os.path.exists(SWITCH):
        st.skip("this kernel has no FUSE over io_uring")
    st.need_root("switching it on")
    if os.path.exists(FORBID) and read(FORBID) != "0":
        st.skip("io_uring is forbidden here")
    try:
        with setting(SWITCH, "Y"):
            yield
    except PermissionError:
        st.skip("the switch cannot be turned here")


@contextlib.contextmanager
def ringed(*args, **kw):
    with offered(), st.Mount(*args, **kw) as m:
        os.listdir(m.path)
        status = m.status()
        if not status["libfuse"].startswith("3.18"):
            st.skip("libfuse %s has no rings" % status["libfuse"])
        assert status["transport"] == "io_uring", status
        yield m


def by_device(m):
    os.listdir(m.path)
    assert m.status()["transport"] == "device", m.status()
    assert m.log() == "", m.log()


def requests_come_by_rings_and_are_logged():
    with ringed() as m:
        with open(m.path + "/f", "w") as f:
            f.write("text")
        assert open(m.below + "/f").read() == "text"
        ops = [line["op"] for line in m.journal()]
        assert "create" in ops and "write" in ops, ops
        out = m.home.run("status", m.repo, check=True).stdout
        assert "by io_uring" in out, out


def the_owner_of_the_system_decides():
    with offered(), setting(SWITCH, "N"), st.Mount() as m:
        by_device(m)


def a_mount_may_do_without():
    with offered(), st.Mount(args=["--no-io-uring"]) as m:
        by_device(m)


def where_some_processors_are_barred_the_device_serves():
    """A queue without a thread would block every request."""
    mine = os.sched_getaffinity(0)
    if len(mine) < 2:
        st.skip("there is one processor")
    os.sched_setaffinity(0, {min(mine)})
    try:
        with offered(), st.Mount() as m:
            by_device(m)
    finally:
        os.sched_setaffinity(0, mine)


def where_rings_are_forbidden_the_device_serves():
    with offered():
        if not os.path.exists(FORBID):
            st.skip("this kernel cannot forbid them")
        with setting(FORBID, "2"), st.Mount() as m:
            by_device(m)


def busy(path):
    """A child that keeps the mount busy until it breaks."""
    child = os.fork()
    if child:
        return child
    name = "%s/%d" % (path, os.getpid())
    try:
        while True:
            with open(name, "w") as f:
                f.write(name)
            os.unlink(name)
    finally:
        os._exit(0)


def it_ends_in_the_middle_of_work():
    """No thread is cancelled with a lock held or before its journal line."""
    for how in "lazy", "term", "kill":
        with ringed(broken=how == "kill",
                    expect_log="killed|ended" if how == "kill" else None
                    ) as m:
            children = [busy(m.path) for _ in range(4)]
            try:
                st.eventually(lambda: m.head() > 500, "work is under way")
                if how == "lazy":
                    m.umount("--lazy")
                else:
                    os.kill(m.pid if how == "term" else m.fs_pid,
                            signal.SIGTERM if how == "term"
                            else signal.SIGKILL)
                    st.eventually(lambda: not st.mounted(m.path),
                                  "the mount is gone after " + how)
            finally:
                for child in children:
                    os.kill(child, signal.SIGKILL)
                    os.waitpid(child, 0)


def everything_else_holds():
    """The tests of the mount, through rings."""
    with ringed():
        for name in ("posix_open", "posix_mmap", "posix_below", "posix_pass",
                     "posix_special", "pages", "reads", "descriptors",
                     "journal_trouble", "fsx"):
            r = subprocess.run([sys.executable, "%s/%s.py" % (HERE, name)],
                               stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True)
            assert r.returncode in (0, 77), "%s:\n%s" % (name, r.stdout)
            print("     %s" % name, flush=True)


if __name__ == "__main__":
    st.main(requests_come_by_rings_and_are_logged,
            the_owner_of_the_system_decides, a_mount_may_do_without,
            where_some_processors_are_barred_the_device_serves,
            where_rings_are_forbidden_the_device_serves,
            it_ends_in_the_middle_of_work, everything_else_holds)

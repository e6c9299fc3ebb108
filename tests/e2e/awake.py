#!/usr/bin/env python3
"""Processors stay awake while requests come one upon another, no longer."""

import contextlib
import os
import signal
import struct

import st

DEVICE = "/dev/cpu_dma_latency"


def limit():
    """Microseconds that waking a processor may take now."""
    fd = os.open(DEVICE, os.O_RDONLY)
    try:
        return struct.unpack("i", os.read(fd, 4))[0]
    finally:
        os.close(fd)


def before():
    st.need_root("the kernel's limit")
    if not os.path.exists(DEVICE):
        st.skip("this kernel has no limit")
    free = limit()
    if free <= 1000:
        st.skip("somebody else keeps processors awake")
    return free


@contextlib.contextmanager
def requests(m):
    """One upon another, as long as the block runs."""
    child = os.fork()
    if child == 0:
        while True:
            os.path.exists(m.path + "/missing")
    try:
        yield
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def processors_are_awake_while_requests_come():
    free = before()
    with st.Mount() as m:
        st.eventually(lambda: limit() == free, "they may sleep")
        with requests(m):
            st.eventually(lambda: limit() <= 10, "they are kept awake")
        st.eventually(lambda: limit() == free, "they may sleep again")
        awake = m.status()["awake"]
        assert awake["able"] and awake["times"] >= 1, awake


def what_was_asked_for_ends_with_the_process():
    free = before()
    with st.Mount(broken=True) as m:
        with requests(m):
            st.eventually(lambda: limit() <= 10, "they are kept awake")
            os.kill(m.fs_pid, signal.SIGKILL)
            st.eventually(lambda: limit() == free, "they may sleep again")


def who_does_not_want_it_is_not_given_it():
    free = before()
    with st.Mount(args=["--no-awake"]) as m:
        for _ in range(2000):
            os.path.exists(m.path + "/missing")
        assert limit() == free
        awake = m.status()["awake"]
        assert not awake["able"] and awake["times"] == 0, awake


st.main(
    processors_are_awake_while_requests_come,
    what_was_asked_for_ends_with_the_process,
    who_does_not_want_it_is_not_given_it,
)

#!/usr/bin/env python3
"""Workers run where a lone caller runs, and anywhere for several."""

import os

import st

TURNS = 100


def workers(m):
    """Where each of the server's threads may run."""
    found = []
    tasks = "/proc/%d/task" % m.fs_pid
    for tid in os.listdir(tasks):
        found.append(frozenset(os.sched_getaffinity(int(tid))))
    return found


def processors():
    mine = sorted(os.sched_getaffinity(0))
    if len(mine) < 2:
        st.skip("there is one processor")
    return mine


def ask(m, processor, times):
    """`n` requests from a process of its own, pinned to `processor`."""
    child = os.fork()
    if child == 0:
        os.sched_setaffinity(0, {processor})
        for _ in range(times):
            os.path.exists(m.path + "/missing")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def a_lone_caller_is_followed():
    """By the workers that serve it: one without a turn stays where it was."""
    mine = processors()
    with st.Mount(args=["--no-io-uring"]) as m:
        for processor in mine[0], mine[-1]:
            ask(m, processor, TURNS)
            assert frozenset({processor}) in workers(m), workers(m)


def several_callers_are_served_from_anywhere():
    mine = processors()
    with st.Mount(args=["--no-io-uring"]) as m:
        ask(m, mine[0], TURNS)
        before = workers(m)
        assert frozenset({mine[0]}) in before, before
        for turn in range(TURNS):
            ask(m, mine[turn % len(mine)], 1)
        after = workers(m)
        assert after.count(frozenset(mine)) > before.count(frozenset(mine)), (
            before,
            after,
        )


st.main(a_lone_caller_is_followed, several_callers_are_served_from_anywhere)

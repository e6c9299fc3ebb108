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
    """So many requests, from a process of its own held at `processor`."""
    child = os.fork()
    if child == 0:
        os.sched_setaffinity(0, {processor})
        for _ in range(times):
            os.path.exists(m.path + "/missing")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def a_lone_caller_is_followed():
    mine = processors()
    with st.Mount() as m:
        for processor in mine[0], mine[-1]:
            ask(m, processor, TURNS)
            held = [w for w in workers(m) if len(w) == 1]
            assert held and set(held) == {frozenset({processor})}, held


def several_callers_are_served_from_anywhere():
    mine = processors()
    with st.Mount() as m:
        ask(m, mine[0], TURNS)
        assert any(len(w) == 1 for w in workers(m)), workers(m)
        for turn in range(TURNS):
            ask(m, mine[turn % len(mine)], 1)
        assert all(w == frozenset(mine) for w in workers(m)), workers(m)


st.main(a_lone_caller_is_followed, several_callers_are_served_from_anywhere)

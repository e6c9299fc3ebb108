#!/usr/bin/env python3
"""What was told stays told: a tape that is dead, stopped or slow, a manager that
is killed, a body of many megabytes. What could not be checked is said once, and
decided with the next request."""

import os
import signal
import time

import st
from world import World, notes, prefix_kept

UNCHECKED = "could not be checked yet"


def put(path, text):
    with open(path, "w") as f:
        f.write(text)


def told(w, hurry=False):
    """A note about config.py, and the request that had it first. With `hurry`
    the manager has only its usual time from there on."""
    w.request()
    w.read("config.py")
    w.request()
    w.bash("sed -i 's/return x + 1/return x + 2/' config.py")
    r = w.request()
    assert "+    return x + 2" in "".join(notes(r)), notes(r)
    if hurry:
        del w.home.env["STATETAPE_DEADLINE_MS"]
        w.start_manager()
        assert w.request().body == r.body
    return r


def goes_on(w, before, extra=0):
    """One more call; returns the notes added since `before`."""
    w.bash("true")
    r = w.request()
    prefix_kept(before, r)
    had, has = notes(before), notes(r)
    assert has[:len(had)] == had, (had, has)
    return r, has[len(had):]


def a_dead_tape_takes_nothing_back():
    with World() as w:
        r = told(w)
        w.end(w.tape, signal.SIGKILL)
        r, new = goes_on(w, r)
        assert len(new) == 1 and UNCHECKED in new[0], new
        assert "config.py" in new[0] and new[0].count("\n") == 1, new
        # Once, also if the manager dies meanwhile.
        for how in (None, signal.SIGKILL):
            if how:
                w.end(w.manager, how)
                w.start_manager()
            r, new = goes_on(w, r)
            assert not new, new
        put(w.mount.path + "/config.py", "x = 3\n")
        w.tape = w.start("tape", w.repo)
        st.eventually(w.tape_ready, "the tape is ready")
        r, new = goes_on(w, r)
        assert len(new) == 1 and "config.py" in new[0], new
        assert UNCHECKED not in new[0], new


def a_stopped_tape_is_not_waited_for_again():
    """Only the first of several requests waits for it."""
    with World() as w:
        r = told(w, hurry=True)
        os.kill(w.tape.pid, signal.SIGSTOP)
        try:
            took, lines = [], []
            for _ in range(6):
                began = time.monotonic()
                r, new = goes_on(w, r)
                took.append(time.monotonic() - began)
                lines += new
        finally:
            os.kill(w.tape.pid, signal.SIGCONT)
        print("ms:", *("%.0f" % (1000 * t) for t in took))
        assert len(lines) == 1 and UNCHECKED in lines[0], lines
        assert min(took[1:]) < took[0] / 2, took
        put(w.mount.path + "/config.py", "x = 3\n")
        while True:
            r, new = goes_on(w, r)
            if new and "is outdated" in new[-1]:
                break
            assert not new or UNCHECKED in new[0], new


def a_huge_body_has_what_was_told():
    with World() as w:
        r = told(w, hurry=True)
        os.kill(w.tape.pid, signal.SIGSTOP)
        try:
            w.messages.append({"role": "assistant", "content": [
                {"type": "text", "text": "I think. " * 2000000}]})
            w.messages.append({"role": "user", "content": "Go on."})
            r, _ = goes_on(w, r)
            assert len(r.body) > 16 << 20
        finally:
            os.kill(w.tape.pid, signal.SIGCONT)


def what_changes_below_the_mount_is_in_the_next_request():
    """By somebody who does not use the mount, and told as theirs."""
    with World() as w:
        r = told(w)
        for k in range(20):
            put(w.mount.below + "/config.py", "x = %d\n" % k)
            r, new = goes_on(w, r)
            assert len(new) == 1 and "config.py" in new[0], (k, new)
            assert "your own" not in new[0], new
            assert UNCHECKED not in new[0], new
            w.read("config.py")
            r = w.request()


if __name__ == "__main__":
    st.need_fuse()
    st.main(a_dead_tape_takes_nothing_back,
            a_stopped_tape_is_not_waited_for_again,
            a_huge_body_has_what_was_told,
            what_changes_below_the_mount_is_in_the_next_request)

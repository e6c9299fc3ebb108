#!/usr/bin/env python3
"""A fault at each step of undo: it does all, or nothing, or what a later
command finishes."""

import contextlib
import os
import subprocess

import st
from undoing import tree, world, write

# System calls that change a name or a mode.
CALLS = ("fchmod", "chmod", "symlinkat", "unlinkat", "renameat", "renameat2")
RENAMES = ("renameat", "renameat2")


def with_fault(w, fault, *words):
    """`undo` or `redo` on which strace inflicts a fault."""
    return subprocess.run(
        ["strace", "-f", "-o", "/dev/null", "-e", "trace=" + ",".join(CALLS),
         "-e", "inject=" + fault, *w.home.argv(*words, "--yes")],
        # A traced process cannot look for its leaks.
        env=dict(w.home.env, ASAN_OPTIONS="detect_leaks=0"),
        cwd=w.path, capture_output=True, text=True)


WAYS = ("echo 2 > a; echo 2 > b; rm d/c; mv e f; echo n > n; chmod +x b s; "
        "rm link; rmdir d; ")


@contextlib.contextmanager
def changed(files, script):
    with world(files) as w:
        w.sh("ln -s a link")
        before = tree(w.path)
        n = w.all(script)
        yield w, n, before, tree(w.path)


def busy_world():
    """Scripts have changed files in every way."""
    return changed({"a": "1\n", "b": "1\n", "d/c": "1\n", "e": "1\n",
                    "s": "s\n", "x": "x\n", "y": "y\n"}, WAYS +
                   "python3 -c \"from os import *; "
                   "rename('x', 't'); rename('y', 'x'); rename('t', 'y')\"")


def rotated_world():
    """Files got each other's names, in a ring and in a row, each by a process
    of its own; one of them other text as well, and another's name is that of
    a file that was removed."""
    return changed({name: name + "\n" for name in "xyzpqrg"},
                   "mv x t; mv y x; mv z y; mv t z; sleep 0.3; echo 2 >> y; "
                   "mv r s; mv q r; mv p q; rm g; mv s g")


def each_fault(visit, calls=CALLS):
    """Calls visit(fault) for the first, the second ... of each call, until it
    returns False: the fault did not happen any more."""
    st.need("strace")
    steps = 0
    for call in calls:
        step = 1
        while visit("%s:%%s:when=%d" % (call, step)):
            step += 1
        steps += step - 1
    assert steps > 4, steps


def if_one_step_fails_none_is_done():
    def visit(fault):
        p = with_fault(w, fault % "error=EIO", "undo", n)
        if p.returncode == 0:
            assert tree(w.path) == before, (fault, tree(w.path))
            w.run("redo", "--yes")
            return False
        assert "nothing was done" in p.stderr, (fault, p)
        assert tree(w.path) == after, (fault, p, tree(w.path))
        return True

    with busy_world() as (w, n, before, after):
        each_fault(visit)


def killed(w, fault, *words):
    """False: it was not, and all is done."""
    if with_fault(w, fault % "signal=KILL", *words).returncode == 0:
        return False
    w.t.sync()
    return True


def killed_at_any_step_it_is_taken_back():
    def visit(fault):
        if not killed(w, fault, "undo", n):
            assert tree(w.path) == before, (fault, tree(w.path))
            w.run("redo", "--yes")
            return False
        r = w.run("redo", "--yes")
        assert "is taken back" in r.stderr, (fault, r)
        assert tree(w.path) == after, (fault, tree(w.path))
        # That is done with: there is no undo any more.
        r = w.home.run("redo", "--yes", cwd=w.path)
        assert "no 'statetape undo'" in r.stderr, (fault, r)
        return True

    for make in busy_world, rotated_world:
        for call in CALLS:
            with make() as (w, n, before, after):
                step = 1
                while visit("%s:%%s:when=%d" % (call, step)):
                    step += 1


def killed_at_any_step_it_is_finished():
    def visit(fault):
        with rotated_world() as (w, n, before, after):
            if not killed(w, fault, "undo", n):
                return False
            r = w.undo(n)
            assert "was interrupted earlier" in r.stderr, (fault, r)
            assert tree(w.path) == before, (fault, tree(w.path))
            # It is one piece, and can be taken back as such.
            w.run("redo", "--yes")
            assert tree(w.path) == after, (fault, tree(w.path))
            return True

    each_fault(visit, RENAMES)


def a_killed_redo_is_finished():
    def visit(fault):
        with rotated_world() as (w, n, before, after):
            w.sh("echo 1 > other")
            w.undo(w.sh("echo 2 > other"))
            w.undo(n)
            with_other = dict(after, other=tree(w.path)["other"])
            if not killed(w, fault, "redo"):
                assert tree(w.path) == with_other, (fault, tree(w.path))
                return False
            r = w.run("redo", "--yes")
            assert "was interrupted earlier" in r.stderr, (fault, r)
            # That redo, and not the one of the undo before it.
            assert tree(w.path) == with_other, (fault, tree(w.path))
            return True

    each_fault(visit, RENAMES)


def taking_back_may_be_killed_too():
    def visit(fault):
        assert killed(w, first, "undo", n), first
        again = killed(w, fault, "redo")
        if again:
            r = w.run("redo", "--yes")
            assert "is taken back" in r.stderr, (first, fault, r)
        assert tree(w.path) == after, (first, fault, tree(w.path))
        return again

    with rotated_world() as (w, n, before, after):
        # In the midst of the renames, and behind them.
        for first in "renameat2:%s:when=8", "renameat:%s:when=1":
            each_fault(visit, ("renameat2", "unlinkat"))
        w.undo(n)
        assert tree(w.path) == before, tree(w.path)


def names_that_were_taken_meanwhile_stay():
    """A killed exchange whose names others use by now."""
    with rotated_world() as (w, n, _, after):
        assert with_fault(w, "renameat2:signal=KILL:when=5", "undo",
                          n).returncode != 0
        for name in "xyz":
            if not os.path.exists(w.path + "/" + name):
                write(w.path, {name: "other\n"})
        w.t.sync()
        r = w.home.run("undo", "--yes", n, cwd=w.path)
        assert "was interrupted earlier" in r.stderr, r
        texts = [text for _, text in tree(w.path).values()]
        for text in [b"other\n"] + [text for _, text in after.values()]:
            assert text in texts, (text, r, tree(w.path))


st.main(if_one_step_fails_none_is_done, killed_at_any_step_it_is_taken_back,
        killed_at_any_step_it_is_finished, a_killed_redo_is_finished,
        taking_back_may_be_killed_too,
        names_that_were_taken_meanwhile_stay)

#!/usr/bin/env python3
"""A fault at each step of undo: it does all, or nothing, or what a later
command finishes."""

import contextlib
import subprocess

import st
from undoing import tree, world

# System calls that change a name or a mode.
CALLS = ("fchmod", "symlinkat", "unlinkat", "renameat", "renameat2")


def with_fault(w, fault, n):
    """`undo` on which strace inflicts a fault."""
    return subprocess.run(
        ["strace", "-f", "-o", "/dev/null", "-e", "trace=" + ",".join(CALLS),
         "-e", "inject=" + fault, *w.home.argv("undo", n, "--yes")],
        env=w.home.env, cwd=w.path, capture_output=True, text=True)


@contextlib.contextmanager
def busy_world():
    """Scripts have changed files in every way."""
    with world({"a": "1\n", "b": "1\n", "d/c": "1\n", "e": "1\n",
                "x": "x\n", "y": "y\n"}) as w:
        w.sh("ln -s a link")
        before = tree(w.path)
        n = w.all("echo 2 > a; echo 2 > b; rm d/c; mv e f; echo n > n; "
                  "chmod +x b; rm link; rmdir d; python3 -c \"from os import *; "
                  "rename('x', 't'); rename('y', 'x'); rename('t', 'y')\"")
        yield w, n, before, tree(w.path)


def each_fault(visit):
    """Calls visit(fault) for the first, the second ... of each call, until it
    returns False: the fault did not happen any more."""
    st.need("strace")
    for call in CALLS:
        step = 1
        while visit("%s:%%s:when=%d" % (call, step)):
            step += 1
        assert step > 1, call


def if_one_step_fails_none_is_done():
    def visit(fault):
        p = with_fault(w, fault % "error=EIO", n)
        if p.returncode == 0:
            assert tree(w.path) == before, (fault, tree(w.path))
            w.run("redo", "--yes")
            return False
        assert "nothing was done" in p.stderr, (fault, p)
        assert tree(w.path) == after, (fault, p, tree(w.path))
        return True

    with busy_world() as (w, n, before, after):
        each_fault(visit)


def killed_at_any_step_it_is_finished():
    def visit(fault):
        with busy_world() as (w, n, before, _):
            if with_fault(w, fault % "signal=KILL", n).returncode == 0:
                return False
            w.t.sync()
            r = w.undo(n)
            assert "was interrupted earlier" in r.stderr, (fault, r)
            assert tree(w.path) == before, (fault, tree(w.path))
            return True

    each_fault(visit)


def killed_at_any_step_it_is_taken_back():
    def visit(fault):
        with busy_world() as (w, n, before, after):
            if with_fault(w, fault % "signal=KILL", n).returncode == 0:
                return False
            w.t.sync()
            # Before the first change there is nothing to take back.
            r = w.home.run("redo", "--yes", cwd=w.path)
            assert r.returncode == 0 or "no 'statetape undo'" in r.stderr, r
            assert tree(w.path) == after, (fault, tree(w.path))
            w.undo(n)
            assert tree(w.path) == before, (fault, tree(w.path))
            return True

    each_fault(visit)


st.main(if_one_step_fails_none_is_done, killed_at_any_step_it_is_finished,
        killed_at_any_step_it_is_taken_back)

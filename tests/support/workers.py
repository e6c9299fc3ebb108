"""Processes that do what a test tells them, and processes that disturb it.

    w = workers.Worker(m.path, {"unlink": os.unlink})
    w.do("unlink", "a")
    w.end()
"""

import contextlib
import ctypes
import os
import pickle
import random
import signal
import subprocess
import sys
import time

PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent():
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Worker:
    """A process in the directory `top` that lives on and does what it is
    told: one of `calls`, by name."""

    def __init__(self, top, calls):
        down, self.down = os.pipe()
        self.up, up = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            die_with_parent()
            os.close(self.down)
            os.chdir(top)
            self.serve(os.fdopen(down, "rb"), up, calls)
        os.close(down)
        os.close(up)

    @staticmethod
    def serve(orders, up, calls):
        try:
            name, *arguments = pickle.load(orders)
            while name != "end":
                calls[name](*arguments)
                os.write(up, b".")
                name, *arguments = pickle.load(orders)
            os._exit(0)
        except BaseException as e:  # pylint: disable=broad-except
            print("in a worker:", repr(e), file=sys.stderr)
            os._exit(1)

    def tell(self, *order):
        data = pickle.dumps(order)
        assert os.write(self.down, data) == len(data)

    def wait(self):
        assert os.read(self.up, 1) == b".", "a worker died"

    def do(self, *order):
        self.tell(*order)
        self.wait()

    def end(self):
        self.tell("end")
        os.close(self.down)
        os.close(self.up)
        assert os.waitpid(self.pid, 0)[1] == 0


def once(top, calls, *order):
    """A process for one save; its id."""
    pid = os.fork()
    if pid == 0:
        try:
            os.chdir(top)
            calls[order[0]](*order[1:])
            os._exit(0)
        except BaseException as e:  # pylint: disable=broad-except
            print("in a process:", repr(e), file=sys.stderr)
            os._exit(1)
    assert os.waitpid(pid, 0)[1] == 0
    return pid


def tool(top, *argv):
    with subprocess.Popen(argv, cwd=top) as p:
        assert p.wait() == 0, argv
        return p.pid


def disturb(work, seed):
    pid = os.fork()
    if pid == 0:
        die_with_parent()
        try:
            work(random.Random(seed))
        finally:
            os._exit(1)
    return pid


def take_processor(cpu):
    """50 to 400 ms at a time."""
    def work(dice):
        os.sched_setaffinity(0, {cpu})
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        while True:
            end = time.monotonic() + dice.uniform(0.05, 0.4)
            while time.monotonic() < end:
                pass
            time.sleep(dice.uniform(0.1, 1.5))
    return work


def stop_and_go(pid):
    def work(dice):
        while True:
            time.sleep(dice.uniform(0, 0.6))
            os.kill(pid, signal.SIGSTOP)
            time.sleep(dice.uniform(0, 0.6))
            os.kill(pid, signal.SIGCONT)
    return work


def may_take_processors():
    pid = os.fork()
    if pid == 0:
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
            os._exit(0)
        except OSError:
            os._exit(1)
    return os.waitpid(pid, 0)[1] == 0


@contextlib.contextmanager
def trouble(pid, seed):
    """The process `pid` is stopped again and again, and processors are taken
    away."""
    works = [stop_and_go(pid)]
    if may_take_processors():
        works += [take_processor(c) for c in os.sched_getaffinity(0)]
    others = [disturb(w, seed + i) for i, w in enumerate(works)]
    try:
        yield
    finally:
        for other in others:
            os.kill(other, signal.SIGKILL)
            os.waitpid(other, 0)
        os.kill(pid, signal.SIGCONT)

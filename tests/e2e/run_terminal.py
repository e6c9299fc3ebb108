#!/usr/bin/env python3
"""`statetape run` on a terminal, under a shell with job control: the effect of
keys, and the state of the terminal afterwards."""

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import subprocess
import time

import st
from running import nothing_left, part, place, write


class Terminal:
    """bash on a terminal of its own, with `run` for `statetape run --`."""

    def __init__(self, home, repo):
        st.need("bash")
        self.seen = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(repo)
            env = dict(home.env, PS1="$ ", TERM="xterm")
            os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"], env)
        self.type("stty -echo; run() { %s run --repo %s -- \"$@\"; }; "
                  "echo wait''ing" % (home.argv()[-1], repo))
        self.expect("waiting")

    def processes(self):
        return subprocess.run(["ps", "-s", str(self.pid), "-o",
                               "pid,ppid,pgid,tpgid,stat,wchan:20,args"],
                              capture_output=True, text=True).stdout

    def type(self, text, end="\n"):
        os.write(self.fd, (text + end).encode())

    def expect(self, pattern):
        """Waits until `pattern` is printed; returns the text up to its end."""
        end = time.monotonic() + st.DEADLINE
        while not (m := re.search(pattern, self.seen)):
            ready, _, _ = select.select([self.fd], [], [],
                                        end - time.monotonic())
            if not ready:
                raise AssertionError("%r never came: %r\n%s" % (
                    pattern, self.seen, self.processes()))
            with contextlib.suppress(OSError):
                self.seen += os.read(self.fd, 4096).decode(errors="replace")
        text, self.seen = self.seen[:m.end()], self.seen[m.end():]
        return text

    def lent(self):
        """Has the shell given the terminal to a job and continued the job?"""
        states = [line.split()[4] for line in
                  self.processes().splitlines()[1:]]
        return os.tcgetpgrp(self.fd) not in (0, self.pid) and \
            not [s for s in states if s.startswith("T")]

    def code(self):
        self.type("echo co''de=$?")
        return int(re.search(r"code=(\d+)$", self.expect(r"code=\d+\b"))[1])

    def echoes(self):
        """Does the terminal echo while a command runs? At its prompt the shell
        sets other modes."""
        self.type("stty -a | grep -q ' -echo ' && echo ec''ho=0 || "
                  "echo ec''ho=1")
        return self.expect(r"echo=\d").endswith("1")

    def close(self):
        with contextlib.suppress(OSError):
            os.close(self.fd)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


@contextlib.contextmanager
def terminal():
    with place() as (home, repo):
        t = Terminal(home, repo)
        try:
            yield t, home, repo
        finally:
            t.close()
        nothing_left(home, repo)


def control_c_is_the_agents():
    with terminal() as (t, _, _):
        t.type("run sh -c 'echo u''p; exec sleep 1000'")
        t.expect("up")
        t.type("\x03", end="")
        t.expect("no request")
        assert t.code() == 128 + signal.SIGINT
        # An agent that handles the signal goes on, and so does the run.
        t.type("run sh -c 'trap \"echo ou''ch\" INT; echo u''p; read x; "
               "read x; exit 6'")
        t.expect("up")
        t.type("\x03", end="")
        t.expect("ouch")
        t.type("")
        t.type("")
        assert t.code() == 6


def a_script_is_interrupted_with_its_agent():
    """A shell goes on after a command that exits with 130, and ends after one
    that SIGINT killed."""
    with terminal() as (t, home, repo):
        write(repo + "/s.sh", "%s run -- sh -c 'echo u''p; exec sleep 1000'\n"
              "echo went on\n" % home.argv()[-1])
        t.type("bash s.sh")
        t.expect("up")
        t.type("\x03", end="")
        assert "went on" not in t.expect(r"\$ ")
        assert t.code() == 128 + signal.SIGINT


def control_z_stops_the_job_and_fg_brings_it_back():
    with terminal() as (t, _, repo):
        t.type("run sh -c 'echo u''p; read x; echo go''t $x; exit 3'")
        t.expect("up")
        for _ in range(5):
            t.type("\x1a", end="")
            t.expect("Stopped")
            t.type("jobs; fg")
            t.expect("Stopped.*run")
            st.eventually(t.lent, "the job has the terminal")
        t.type("this")
        t.expect("got this")
        assert t.code() == 3
        # An agent that stops only itself stops the job too.
        t.type("run sh -c 'echo u''p; kill -STOP $$; exit 4'")
        t.expect("up")
        t.expect("Stopped")
        t.type("fg")
        assert t.code() == 4
        # In the background, reading from the terminal stops it.
        t.type("run sh -c 'read x; echo go''t $x; exit 5' &")
        t.expect("Stopped|\\$ ")
        part(repo, "tape")
        st.eventually(lambda: not t.type("jobs") and
                      "Stopped" in t.expect(r"\[1\]\+?\s+\w+"), "it stops")
        t.type("fg")
        t.expect("run sh")
        t.type("that")
        t.expect("got that")
        assert t.code() == 5


def a_killed_agent_leaves_a_usable_terminal():
    with terminal() as (t, _, _):
        was = t.echoes()
        t.type("run sh -c 'stty raw %s; echo u''p; kill -KILL $$'"
               % ("-echo" if was else "echo"))
        t.expect("up")
        assert t.code() == 128 + signal.SIGKILL
        assert t.echoes() == was
        # A shell as the agent puts itself into the foreground.
        t.type("run bash --norc -i")
        t.expect(r"\$ ")
        t.type("echo in''ner; kill -KILL $$")
        t.expect("inner")
        assert t.code() == 128 + signal.SIGKILL


def an_agent_that_sets_the_terminal_is_believed():
    with terminal() as (t, _, _):
        was = t.echoes()
        t.type("run stty %s" % ("-echo" if was else "echo"))
        assert t.code() == 0
        assert t.echoes() != was


def a_terminal_that_goes_away_ends_all():
    with place() as (home, repo):
        t = Terminal(home, repo)
        t.type("run sh -c 'echo u''p; exec sleep 1000'")
        t.expect("up")
        t.close()
        nothing_left(home, repo)


def notes_wait_until_the_agent_has_ended():
    with terminal() as (t, _, repo):
        t.type("run sh -c 'echo u''p; read x; echo do''ne'")
        t.expect("up")
        os.kill(part(repo, "tape"), signal.SIGKILL)
        part(repo, "tape")
        t.type("")
        assert "SIGKILL" not in t.expect("done")
        t.expect("the tape was killed by SIGKILL and is started again")


def progress_is_shown_on_a_terminal():
    """Long enough to be visible: the test holds back the tape's start."""
    with terminal() as (t, home, _):
        t.type("run true")
        t.expect("no request")
        with open(home.state_dirs()[0] + "/tape.lock") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            t.type("run true")
            t.expect("reading the repository")
        t.expect("no request")


st.main(control_c_is_the_agents,
        a_script_is_interrupted_with_its_agent,
        control_z_stops_the_job_and_fg_brings_it_back,
        a_killed_agent_leaves_a_usable_terminal,
        an_agent_that_sets_the_terminal_is_believed,
        a_terminal_that_goes_away_ends_all,
        notes_wait_until_the_agent_has_ended,
        progress_is_shown_on_a_terminal)

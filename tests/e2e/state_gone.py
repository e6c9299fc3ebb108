#!/usr/bin/env python3
"""The state folder or the runtime folder is removed, or the state disk full,
while an agent works: it goes on, status, log and the end of the run say so,
and nothing counts as kept that is not."""

import contextlib
import json
import os
import shutil
import subprocess

import st
from running import log, nothing_left, place, small_disk, start

AGENT = 'while read -r line; do eval "$line"; echo done; done'


class Agent:
    """A shell under `statetape run` that does what it is told."""

    def __init__(self, home, repo):
        self.home, self.repo = home, repo
        self.run = start(home, repo, AGENT, stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         text=True)

    def do(self, command):
        self.run.stdin.write(command + "\n")
        self.run.stdin.flush()
        assert self.run.stdout.readline() == "done\n", command

    def end(self):
        """What the run says, after its agent ended."""
        out, err = self.run.communicate(timeout=st.DEADLINE)
        assert self.run.returncode == 0, (out, err)
        return err

    def status(self):
        r = self.home.run("status", "--json", self.repo)
        return r.returncode, json.loads(r.stdout)

    def entries(self):
        r = self.home.run("log", "--json", self.repo)
        # An empty list while nothing is recorded yet.
        return [] if r.stdout == "[]\n" else [
            json.loads(line) for line in r.stdout.splitlines()]

    def has(self, path):
        return any(e.get("path") == path for e in self.entries())


@contextlib.contextmanager
def working():
    st.need_fuse()
    with place() as (home, repo):
        agent = Agent(home, repo)
        try:
            agent.do("echo x=1 > a.py")
            st.eventually(lambda: agent.has("a.py"), "the write is an entry")
            yield agent
        finally:
            agent.run.kill()
            agent.run.communicate()


def remove(top):
    """All at once: a process that is begun anew finds nothing of it."""
    os.rename(top, top + ".removed")
    shutil.rmtree(top + ".removed")


def a_removed_state_folder_is_begun_anew():
    with working() as agent:
        remove(agent.home.env["XDG_STATE_HOME"] + "/statetape")
        agent.do("echo y=2 >> a.py")
        st.eventually(lambda: any(e["kind"] == "gap" for e in agent.entries()),
                      "the loss is an entry")
        agent.do("echo z=3 > b.py")
        st.eventually(lambda: agent.has("b.py"), "a new tape has entries")
        entry = [e for e in agent.entries() if e.get("path") == "b.py"][0]
        assert entry["author"]["origin"] == "mount", entry
        code, status = agent.status()
        assert code == 1 and status["journal"]["lost"] > 0, status
        said = agent.end()
        assert said.count("was removed while it was in use") == 1, said
        assert agent.has("b.py") and not agent.has("a.py")
        agent.home.run("verify", agent.repo, check=True)
        nothing_left(agent.home, agent.repo)


def a_removed_runtime_folder_is_said_and_the_tape_goes_on():
    with working() as agent:
        remove(agent.home.env["XDG_RUNTIME_DIR"] + "/statetape")
        agent.do("echo z=3 > b.py")
        r = agent.home.run("status", agent.repo)
        assert r.returncode == 1, r
        assert "was removed while it was in use" in r.stdout, r
        assert "is not mounted" not in r.stdout, r
        r = agent.home.run("log", agent.repo)
        assert r.returncode == 0 and "cannot be asked" in r.stderr, r
        assert r.stderr.count("\n") == 1, r
        said = agent.end()
        assert said.count("was removed while it was in use") == 1, said
        st.eventually(lambda: agent.has("b.py"), "the entry is kept")
        nothing_left(agent.home, agent.repo)


def fill(disk):
    """Writes until there is no room left for one byte."""
    fd = os.open(disk + "/fill", os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        for size in (1 << 16, 1 << 12, 1):
            with contextlib.suppress(OSError):
                while True:
                    os.write(fd, b"x" * size)
    finally:
        os.close(fd)


def a_full_disk_is_said_and_the_tape_goes_on_when_there_is_room():
    st.need_fuse()
    st.own_mounts()
    with small_disk(4 << 20) as disk, place() as (home, repo):
        home.env["XDG_STATE_HOME"] = disk
        agent = Agent(home, repo)
        try:
            agent.do("echo x=1 > a.py")
            st.eventually(lambda: agent.has("a.py"), "the write is an entry")
            fill(disk)
            agent.do("for i in 1 2 3 4 5 6 7 8 9; do echo y$i=$i >> a.py; "
                     "done")
            r = home.run("status", repo)
            assert r.returncode == 1 and "is full" in r.stdout, r
            code, status = agent.status()
            assert code == 1 and "is full" in status["trouble"], status

            def log_says_so():
                fill(disk)
                r = home.run("log", repo)
                return r.returncode == 0 and "is full" in r.stderr

            st.eventually(log_says_so, "log says so, without a tape to ask")
            os.unlink(disk + "/fill")
            agent.do("echo z=3 > b.py")
            st.eventually(lambda: agent.has("b.py"), "the tape goes on")
            assert "trouble" not in agent.status()[1]
            fill(disk)
            agent.do("echo z=4 >> b.py")
            said = agent.end()
            # An ending tape may make room, and then nothing is missing.
            twice = len([e for e in log(home, repo)
                         if e["path"] == "b.py"]) == 2
            assert said.count("is full") == 1 or twice, said
            os.unlink(disk + "/fill")
            r = home.run("run", "--repo", repo, "--", "true", cwd=repo)
            assert r.returncode == 0 and "is full" not in r.stderr, r
            assert len([e for e in log(home, repo)
                        if e["path"] == "b.py"]) == 2
            nothing_left(home, repo)
        finally:
            agent.run.kill()
            agent.run.communicate()


st.main(
    a_removed_state_folder_is_begun_anew,
    a_removed_runtime_folder_is_said_and_the_tape_goes_on,
    a_full_disk_is_said_and_the_tape_goes_on_when_there_is_room,
)

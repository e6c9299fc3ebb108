"""Shared by the tests of `statetape run`: a repository, an agent in it, and a
check that the run left nothing behind.

    with running.place() as (home, repo):
        r = running.run(home, repo, "sed -i s/1/2/ app.py")
        running.nothing_left(home, repo)

Agents are shells, or agent.py, which talks HTTP to fakemodel.py."""

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile

import proxy
import st

APP = "def f():\n    return 1\n"
AGENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "agent.py")
PARTS = ("tape", "manager", "fs", "session", "guard")


@contextlib.contextmanager
def place(uid=None, name="repo"):
    """A Home and a repository in it. TMPDIR is an empty directory there, so
    that nothing_left() finds leftover files."""
    with st.Home(uid) as home:
        for key in [k for k in home.env if k not in proxy.clean_environment()
                    and not k.startswith("XDG_")]:
            del home.env[key]
        home.env["TMPDIR"] = home.mkdir("tmp")
        repo = home.mkdir(name)
        write(repo + "/app.py", APP)
        if uid is not None:
            os.chown(repo + "/app.py", uid, uid)
        yield home, repo


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def read(path):
    with open(path) as f:
        return f.read()


def run(home, repo, script, *options, **kw):
    """Runs the shell script as an agent and waits for its end."""
    return home.run("run", "--repo", repo, *options, "--", "sh", "-c", script,
                    cwd=repo, **kw)


def start(home, repo, script, *options, **kw):
    kw.setdefault("stderr", subprocess.DEVNULL)
    return home.start("run", "--repo", repo, *options, "--", "sh", "-c",
                      script, cwd=repo, **kw)


def start_agent(home, repo, model, *options, prompts=(), **kw):
    """Starts agent.py with `model`, a fakemodel.Model, as its upstream."""
    home.env["STATETAPE_ANTHROPIC_UPSTREAM"] = model.url
    home.env["AGENT_PROMPTS"] = json.dumps(prompts) if prompts else ""
    return home.start("run", "--repo", repo, *options, "--", sys.executable,
                      AGENT, cwd=repo, stdout=subprocess.PIPE,
                      stderr=subprocess.PIPE, text=True, **kw)


def log(home, repo):
    """The tape's entries, without those of sed's temporary files: if sed is
    slow to rename one, the tape records it as a file of its own."""
    r = home.run("log", "--json", repo, check=True)
    if r.stdout == "[]\n":
        return []
    entries = [json.loads(line) for line in r.stdout.splitlines()]
    return [e for e in entries
            if not re.fullmatch(r"(.*/)?sed\w{6}", e["path"])]


def words(pid):
    try:
        with open("/proc/%s/cmdline" % pid, "rb") as f:
            return f.read().split(b"\0")
    except OSError:
        return []


def processes(repo):
    """[(pid, command line)] of the living processes that name the
    repository."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        said = words(pid)
        if os.fsencode(repo) in said and int(pid) != os.getpid() and \
                st.alive(int(pid)):
            found.append((int(pid), said))
    return found


def parts(repo):
    """{name: pid} of the processes of a run on `repo`."""
    found = {}
    for pid, said in processes(repo):
        with contextlib.suppress(OSError), open("/proc/%d/comm" % pid) as f:
            if f.read().strip() == "statetape-fs":
                found["fs"] = pid
            elif said[1] == b"session" and b"--inside" not in said:
                found["guard"] = pid
            elif said[1] in (b"tape", b"manager", b"session", b"run"):
                found[said[1].decode()] = pid
    return found


def part(repo, name):
    return st.eventually(lambda: parts(repo).get(name), name + " runs")


def sockets(home):
    """The files in the runtime directory, without lock files, which stay."""
    found = []
    for top, _, names in os.walk(home.env.get("XDG_RUNTIME_DIR", "/none")):
        found += [os.path.join(top, n) for n in names
                  if not n.endswith((".lock", ".start"))]
    return found


def show_left(home, repo):
    """Prints the remaining processes and the logs."""
    for pid, said in processes(repo):
        with contextlib.suppress(OSError):
            print("left:", pid, said, read("/proc/%d/comm" % pid).strip(),
                  read("/proc/%d/wchan" % pid),
                  [line for line in read("/proc/%d/mountinfo" % pid)
                   .splitlines() if repo in line])
    for top in home.state_dirs():
        for name in ("session.log", "log", "last-end"):
            with contextlib.suppress(OSError):
                print("%s: %s" % (name, read(top + "/" + name)))


def nothing_left(home, repo, killed=False):
    """Asserts that no mount, process, socket or temporary file is left. With
    `killed`, sockets may be: a killed process cannot remove its own."""
    try:
        st.eventually(lambda: not processes(repo), "all processes end")
    except AssertionError:
        show_left(home, repo)
        raise
    assert not st.mounted(repo)
    assert killed or not sockets(home), sockets(home)
    # Without a runtime directory, sockets and locks are in TMPDIR.
    left = [n for n in os.listdir(home.env["TMPDIR"])
            if not n.startswith("statetape-%d" % (home.uid or 0))]
    assert not left, left


@contextlib.contextmanager
def small_disk(size):
    """A directory on a tmpfs of `size` bytes; needs st.own_mounts()."""
    top = tempfile.mkdtemp(prefix="st.disk.")
    try:
        if not st.can_run("mount", "-t", "tmpfs", "-o", "size=%d" % size,
                          "none", top):
            st.skip("a tmpfs cannot be mounted here")
        yield top
    finally:
        st.detach_below(top)
        os.rmdir(top)

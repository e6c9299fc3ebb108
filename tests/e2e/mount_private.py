#!/usr/bin/env python3
"""A mount for one command: only the command sees it. Run with "user"
as first argument it does all this as an ordinary user,
in a user namespace."""

import contextlib
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys

import st

AS_USER = sys.argv[1:2] == ["user"]
if AS_USER:
    del sys.argv[1]
    st.need("unshare")
    st.open_fuse_device()
    if not st.can_run(*st.as_user(), "unshare", "-Urm", "true"):
        st.skip("ordinary users cannot make user namespaces here")
UID = st.NOBODY if AS_USER else os.geteuid()


def read(path):
    with open(path) as f:
        return f.read()


@contextlib.contextmanager
def home():
    st.need_fuse()
    if not AS_USER:
        st.need_root("a private mount without a user namespace")
    with st.Home(UID if AS_USER else None) as h:
        h.repo = h.mkdir("repo")
        yield h


def private(h, *command, **kw):
    return h.run("mount", "--private", h.repo, "--", *command, **kw)


def journal(h):
    r = h.run("journal", "--json", h.repo, check=True)
    return [st.json.loads(line) for line in r.stdout.splitlines()]


def written(h):
    return [l["path"] for l in journal(h) if l["op"] == "write"]


@contextlib.contextmanager
def running(h, *command, options=("--private",), **kw):
    """The command under a mount, both ended with the block."""
    kw.setdefault("stdin", subprocess.PIPE)
    p = h.start("mount", *options, h.repo, "--", *command,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kw)
    try:
        yield p
    finally:
        for child in st.children(p.pid):
            os.kill(child, signal.SIGKILL)
        p.kill()
        p.wait()
        for pipe in (p.stdin, p.stdout, p.stderr):
            if pipe:
                pipe.close()


def child(p, comm):
    """The guard's child of that name."""
    for pid in st.children(p.pid):
        if read("/proc/%d/comm" % pid).strip() == comm:
            return pid
    raise AssertionError("no %s below %d" % (comm, p.pid))


def state(pid):
    with open("/proc/%d/stat" % pid) as f:
        return f.read().rsplit(")", 1)[1].split()[0]


# -- what the command sees --------------------------------------------------

def it_is_seen_by_the_command_and_by_nobody_else():
    with home() as h, running(h, "sh", "-c",
                              "echo x > '%s/a'; echo done; read x; "
                              "cat /proc/self/mountinfo" % h.repo) as p:
        assert p.stdout.readline() == b"done\n"
        assert not any(q == h.repo for q, _, _ in st.mounts())
        assert read(h.repo + "/a") == "x\n"
        out, err = p.communicate(b"\n", st.DEADLINE)
        assert b"fuse.statetape" in out, out
        assert (p.returncode, err) == (0, b""), (p.returncode, err)
        line = [l for l in journal(h) if l["op"] == "write"][0]
        assert line["path"] == "a" and line["uid"] == UID, line
        assert line["author"]["comm"] == "sh", line
        chain = [a["pid"] for a in line["author"]["ancestors"]]
        assert chain == [p.pid], (chain, p.pid)


def relative_paths_lead_through_the_mount():
    with home() as h:
        sub = h.mkdir("repo/sub")
        r = private(h, "sh", "-c", "echo x > a; echo y > ../b; pwd", cwd=sub)
        assert r.returncode == 0 and r.stdout == sub + "\n", r
        assert written(h) == ["sub/a", "b"], written(h)


def a_mountpoint_elsewhere_is_private_too():
    with home() as h:
        at = h.mkdir("mnt")
        r = h.run("mount", "--private", h.repo, at, "--", "sh", "-c",
                  "echo x > '%s/a'" % at, check=True)
        assert r.stdout == r.stderr == "", r
        assert os.listdir(at) == [] and os.listdir(h.repo) == ["a"]
        assert written(h) == ["a"]


def the_command_is_who_it_was():
    with home() as h:
        r = private(h, "sh", "-c", "id -u; id -g; echo x > '%s/a'; "
                    "grep CapEff /proc/self/status" % h.repo)
        uid, gid, caps = r.stdout.split("\n")[:3]
        assert (uid, gid) == (str(UID), str(UID)), r
        if AS_USER:
            assert int(caps.split()[1], 16) == 0, r
        assert os.stat(h.repo + "/a").st_uid == UID


def input_output_and_descriptors_are_the_commands():
    with home() as h:
        r, w = os.pipe()
        with running(h, "sh", "-c", "cat; echo err >&2; echo fd >&%d" % w,
                     pass_fds=[w]) as p:
            os.close(w)
            out, err = p.communicate(b"text", st.DEADLINE)
            assert (out, err, p.returncode) == (b"text", b"err\n", 0)
            assert os.read(r, 100) == b"fd\n"
            assert os.read(r, 100) == b"", "somebody else kept it open"
        os.close(r)


def without_a_command_the_users_shell_is_run():
    with home() as h:
        shell = h.top + "/my shell"
        with open(shell, "w") as f:
            f.write("#!/bin/sh\necho \"this is $0\" > '%s/a'\n" % h.repo)
        os.chmod(shell, 0o755)
        h.env["SHELL"] = shell
        r = h.run("mount", "--private", h.repo)
        assert r.returncode == 0, r
        assert read(h.repo + "/a") == "this is %s\n" % shell
        assert written(h) == ["a"]


# -- how it ends ------------------------------------------------------------

def the_exit_code_is_the_commands():
    with home() as h:
        for script, code in (("exit 0", 0), ("exit 7", 7), ("exit 255", 255),
                             ("kill -KILL $$", 137), ("kill -TERM $$", 143)):
            r = private(h, "sh", "-c", script)
            assert r.returncode == code, (script, r)
            assert r.stderr == "", r


def a_command_that_cannot_be_run_is_named():
    with home() as h:
        r = private(h, h.top + "/no-such-command")
        assert r.returncode == 127 and "no-such-command" in r.stderr, r
        r = private(h, h.top)
        assert r.returncode == 126 and h.top in r.stderr, r
        r = h.run("mount", "--private", h.top + "/none", "--", "true")
        assert r.returncode == 125 and "does not exist" in r.stderr, r


def nothing_is_left_of_it():
    with home() as h:
        for _ in range(5):
            r = private(h, "sh", "-c", "echo x > '%s/a'" % h.repo)
            assert r.returncode == 0, r
        (d,) = h.state_dirs()
        assert read(d + "/last-end").startswith("unmounted at "), d
        assert read(d + "/log") == ""


def what_the_command_left_running_is_still_served():
    with home() as h:
        fifo = h.top + "/fifo"
        os.mkfifo(fifo)
        os.chmod(fifo, 0o666)
        # A pipe kept open by the file system process would stop this here.
        r = private(h, "sh", "-c",
                    "exec 3> '%s/a'; (read x < '%s'; echo late >&3) "
                    "> /dev/null 2>&1 & exit 6" % (h.repo, fifo))
        assert r.returncode == 6, r
        assert "in use by sh" in r.stderr, r
        assert "served until" in r.stderr, r
        r = h.run("mount", h.repo)
        with open(fifo, "w") as f:
            f.write("\n")
        assert r.returncode == 1 and "which still serves" in r.stderr, r
        st.eventually(lambda: read(h.repo + "/a") == "late\n", "it is written")
        st.eventually(lambda: private(h, "true").returncode == 0,
                      "the file system process has ended")
        assert "a" in written(h)


def a_killed_guard_takes_the_mount_with_the_last_user():
    with home() as h, running(h, "sh", "-c", "echo ready; read x; "
                              "echo y > '%s/a'" % h.repo) as p:
        assert p.stdout.readline() == b"ready\n"
        fs, command = child(p, "statetape-fs"), child(p, "sh")
        try:
            if "libtsan" in read("/proc/%d/maps" % fs):
                st.skip("ThreadSanitizer's own thread keeps the namespace")
            p.kill()
            p.wait()
            p.stdin.write(b"\n")
            p.stdin.flush()
            st.eventually(lambda: not st.alive(command), "the command ends")
            assert written(h) == ["a"]
            st.eventually(lambda: not st.alive(fs), "the fs process ends")
        finally:
            for pid in (command, fs):
                if st.alive(pid):
                    os.kill(pid, signal.SIGKILL)


def a_killed_file_system_leaves_the_command_the_plain_directory():
    with home() as h, running(
            h, "sh", "-c", "echo x > '%s/a'; echo ready; read x; "
            "cat '%s/a'; echo y > '%s/b'; exit 4" % ((h.repo,) * 3)) as p:
        assert p.stdout.readline() == b"ready\n"
        os.kill(child(p, "statetape-fs"), signal.SIGKILL)
        said = p.stderr.readline().decode()
        assert "killed by SIGKILL" in said and "not journaled" in said, said
        out, err = p.communicate(b"\n", st.DEADLINE)
        assert (out, err, p.returncode) == (b"x\n", b"", 4), (out, err)
        assert written(h) == ["a"]
        assert read(h.repo + "/b") == "y\n"


# -- signals and the terminal -----------------------------------------------

def a_signal_to_us_is_passed_on():
    for number in (signal.SIGTERM, signal.SIGHUP):
        with home() as h, running(
                h, "sh", "-c", "trap 'exit 5' %d; echo ready; "
                "while :; do sleep 0.05; done" % number) as p:
            assert p.stdout.readline() == b"ready\n"
            p.send_signal(number)
            assert p.wait(st.DEADLINE) == 5, number


class Terminal:
    """statetape as a terminal's foreground job."""

    def __init__(self, h, *args):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvpe(h.argv()[0], h.argv(*args), h.env)
        self.seen = b""

    def expect(self, pattern):
        """Read on until the pattern has come since the last one."""
        while True:
            found = re.search(pattern, self.seen)
            if found:
                self.seen = self.seen[found.end():]
                return found
            ready, _, _ = select.select([self.fd], [], [], st.DEADLINE)
            assert ready, "never seen: %r in %r" % (pattern, self.seen)
            self.seen += os.read(self.fd, 4096)

    def type(self, keys):
        os.write(self.fd, keys)

    def code(self):
        """Its exit code; what is still to be read is let through."""
        def over():
            ready, _, _ = select.select([self.fd], [], [], 0)
            with contextlib.suppress(OSError):
                if ready:
                    self.seen += os.read(self.fd, 4096)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            return (os.waitstatus_to_exitcode(status),) if pid else None
        code, = st.eventually(over, "the job ends")
        self.pid = 0
        return code

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        os.close(self.fd)
        if self.pid:
            for pid in st.children(self.pid) + [self.pid]:
                os.kill(pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)


def ctrl_c_goes_to_the_command():
    with home() as h, Terminal(
            h, "mount", "--private", h.repo, "--", "sh", "-c",
            "trap 'echo caught; echo x > \"%s/a\"; exit 3' INT; echo ready; "
            "while :; do sleep 0.05; done" % h.repo) as t:
        t.expect(rb"ready\r\n")
        t.type(b"\x03")
        t.expect(rb"caught\r\n")
        assert t.code() == 3
        assert written(h) == ["a"], written(h)


def the_terminal_is_the_commands():
    with home() as h, Terminal(
            h, "mount", "--private", h.repo, "--", "sh", "-c",
            "test -t 0 && test -t 1 && test -t 2 && echo tty; "
            "read x; echo got $x") as t:
        t.expect(rb"tty\r\n")
        t.type(b"word\n")
        t.expect(rb"got word\r\n")
        assert t.code() == 0


def an_interactive_shell_can_be_run():
    st.need("bash")
    with home() as h:
        h.env.update(SHELL=shutil.which("bash"), PS1="$ ", TERM="dumb")
        with Terminal(h, "mount", "--private", h.repo) as t:
            t.expect(rb"[$#] ")
            # exec: stopped inside dash's vfork the job would not stop whole
            t.type(b"cd '%s'; sh -c 'echo j\"o\"b; exec sleep 1000'\n"
                   % h.repo.encode())
            t.expect(rb"job\r\n")  # not the echo of what was typed
            t.type(b"\x1a")  # stops the job, not the shell and not us
            t.expect(rb"Stopped")
            t.type(b"kill -KILL %1; disown %1; echo x > a; echo status $?\n")
            t.expect(rb"status 0\r\n")
            t.type(b"exit 9\n")
            assert t.code() == 9
        assert written(h) == ["a"], written(h)


def a_command_that_stops_stops_us_and_goes_on_with_us():
    with home() as h, running(h, "sh", "-c",
                              "kill -STOP $$; echo awake") as p:
        st.eventually(lambda: state(p.pid) == "T", "the guard has stopped")
        p.send_signal(signal.SIGCONT)
        assert p.stdout.readline() == b"awake\n"
        assert p.wait(st.DEADLINE) == 0


# -- the same without a namespace -------------------------------------------

def a_command_without_private_shares_its_mount():
    if AS_USER:
        st.need("fusermount3")
    with home() as h, running(h, "sh", "-c", "echo ready; read x; "
                              "echo x > '%s/a'; exit 8" % h.repo,
                              options=()) as p:
        assert p.stdout.readline() == b"ready\n"
        assert st.mounted(h.repo)
        out, err = p.communicate(b"\n", st.DEADLINE)
        assert (out, err, p.returncode) == (b"", b"", 8), (out, err)
        assert not st.mounted(h.repo)
        assert written(h) == ["a"]


st.main(
    it_is_seen_by_the_command_and_by_nobody_else,
    relative_paths_lead_through_the_mount,
    a_mountpoint_elsewhere_is_private_too,
    the_command_is_who_it_was,
    input_output_and_descriptors_are_the_commands,
    without_a_command_the_users_shell_is_run,
    the_exit_code_is_the_commands,
    a_command_that_cannot_be_run_is_named,
    nothing_is_left_of_it,
    what_the_command_left_running_is_still_served,
    a_killed_guard_takes_the_mount_with_the_last_user,
    a_killed_file_system_leaves_the_command_the_plain_directory,
    a_signal_to_us_is_passed_on,
    ctrl_c_goes_to_the_command,
    the_terminal_is_the_commands,
    an_interactive_shell_can_be_run,
    a_command_that_stops_stops_us_and_goes_on_with_us,
    a_command_without_private_shares_its_mount,
)

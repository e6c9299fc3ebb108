#!/usr/bin/env python3
"""`statetape mount` in the background: it returns when files are served, keeps
no descriptor of its caller, and leaves a process behind."""

import os
import re
import signal
import subprocess

import st


def read(path):
    with open(path) as f:
        return f.read()


class Mounted:
    """A mount in the background; everything of it is gone afterwards."""

    def __init__(self, *args, **kw):
        self.args, self.kw = args, kw

    def __enter__(self):
        st.need_fuse()
        self.home = st.Home()
        self.repo = self.home.mkdir("repo")
        try:
            self.r = self.home.run("mount", *self.args, self.repo, **self.kw)
            found = re.search(r"\(pid (\d+)\)", self.r.stdout)
            assert found, self.r
        except BaseException:
            self.home.close()
            raise
        self.pid = int(found.group(1))
        self.fs_pid = st.children(self.pid)[0]
        return self

    def __exit__(self, *exc):
        self.home.run("umount", "--lazy", self.repo)
        for pid in (self.pid, self.fs_pid):
            if st.alive(pid):
                os.kill(pid, signal.SIGKILL)
        self.home.close()

    def ended(self):
        st.eventually(lambda: not st.alive(self.pid), "the guard has ended")
        st.eventually(lambda: not st.alive(self.fs_pid), "fs has ended")


def it_returns_when_files_are_served():
    with Mounted() as m:
        assert m.r.returncode == 0 and m.r.stderr == "", m.r
        assert m.r.stdout == "mounted %s at %s (pid %d)\n" % (
            m.repo, m.repo, m.pid), m.r
        assert st.mounted(m.repo)
        with open(m.repo + "/a", "w") as f:
            f.write("x")
        r = m.home.run("journal", "--json", m.repo, check=True)
        assert '"write"' in r.stdout, r
        assert m.home.run("umount", m.repo).stdout == \
            "unmounted %s\n" % m.repo
        m.ended()


def it_keeps_nothing_of_its_caller():
    """It holds no pipe, terminal or directory of its caller."""
    st.need_fuse()
    with st.Home() as home:
        repo, here = home.mkdir("repo"), home.mkdir("here")
        r, w = os.pipe()
        p = home.start("mount", repo, cwd=here, pass_fds=[w],
                       stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE)
        os.close(w)
        # All of these would wait for the mount's end if it kept them.
        out, err = p.communicate(timeout=st.DEADLINE)
        assert os.read(r, 1) == b""
        os.close(r)
        assert p.returncode == 0 and err == b"", err
        guard = int(re.search(rb"\(pid (\d+)\)", out).group(1))
        for pid in [guard] + st.children(guard):
            assert os.readlink("/proc/%d/cwd" % pid) == "/", pid
            with open("/proc/%d/stat" % pid) as f:
                fields = f.read().rsplit(")", 1)[1].split()
            assert int(fields[3]) != os.getsid(0), "same session"
            assert fields[4] == "0", "it has a terminal"
        home.run("umount", repo, check=True)


def what_it_says_later_is_in_the_log():
    with Mounted() as m:
        (state,) = m.home.state_dirs()
        os.kill(m.fs_pid, signal.SIGKILL)
        m.ended()
        assert not st.mounted(m.repo)
        assert "killed by SIGKILL" in read(state + "/log"), read(state + "/log")
        assert read(state + "/last-end") in read(state + "/log")
        # The next mount has nothing to report.
        m.home.run("mount", m.repo, check=True)
        assert not os.path.exists(state + "/last-end")


def a_hint_is_given_to_a_shell_inside():
    with st.Home() as home:
        st.need_fuse()
        repo, sub = home.mkdir("repo"), home.mkdir("repo/sub")
        for cwd, hint in ((repo, True), (sub, True), (home.top, False)):
            r = home.run("mount", repo, cwd=cwd, check=True)
            assert ('cd "$PWD"' in r.stdout) == hint, r
            home.run("umount", repo, check=True)
        r = home.run("mount", repo, home.mkdir("mnt"), cwd=repo, check=True)
        assert 'cd "$PWD"' not in r.stdout, r
        home.run("umount", repo, check=True)


def the_hint_is_true():
    with st.Home() as home:
        st.need_fuse()
        repo = home.mkdir("repo")
        script = ('"$0" mount . >/dev/null && echo x > a && cd "$PWD" && '
                  'echo y > b; c=$?; cd /; "$0" umount "$1" && exit $c')
        subprocess.run(["sh", "-c", script, home.binary, repo], cwd=repo,
                       env=home.env, check=True, timeout=st.DEADLINE,
                       stdout=subprocess.DEVNULL)
        r = home.run("journal", "--json", repo, check=True)
        assert '"path":"b"' in r.stdout.replace(" ", ""), r
        assert '"path":"a"' not in r.stdout.replace(" ", ""), r


def a_file_system_that_cannot_start_says_why_to_the_caller():
    st.need_fuse()
    with st.Home() as home:
        repo = home.mkdir("repo")
        home.run("mount", repo, check=True)
        home.run("umount", repo, check=True)
        (state,) = home.state_dirs()
        # A journal that cannot be a directory.
        subprocess.run(["rm", "-rf", state + "/journal"], check=True)
        with open(state + "/journal", "w"):
            pass
        for how in ([], ["--foreground"]):
            r = home.run("mount", *how, repo)
            assert r.returncode == 1 and r.stdout == "", r
            assert "journal" in r.stderr, r
            assert "before it served" in r.stderr, r
            assert not st.mounted(repo)
        r = home.run("mount", "--no-journal", repo)
        assert r.returncode == 0, r
        home.run("umount", repo, check=True)


def an_ignored_hangup_stays_ignored():
    """nohup statetape mount --foreground: the terminal may go."""
    st.need("nohup")
    with st.Home() as home:
        st.need_fuse()
        repo = home.mkdir("repo")
        p = subprocess.Popen(
            ["nohup", *home.argv("mount", "--foreground", repo)],
            env=home.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL)
        try:
            assert p.stdout.readline().startswith(b"mounted ")
            p.send_signal(signal.SIGHUP)
            p.send_signal(signal.SIGHUP)
            with open(repo + "/a", "w") as f:
                f.write("x")
            assert st.mounted(repo) and p.poll() is None
            p.send_signal(signal.SIGTERM)
            assert p.wait(st.DEADLINE) == 0
        finally:
            p.kill()
            p.wait()
            p.stdout.close()


st.main(
    it_returns_when_files_are_served,
    it_keeps_nothing_of_its_caller,
    what_it_says_later_is_in_the_log,
    a_hint_is_given_to_a_shell_inside,
    the_hint_is_true,
    a_file_system_that_cannot_start_says_why_to_the_caller,
    an_ignored_hangup_stays_ignored,
)

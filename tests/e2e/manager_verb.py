#!/usr/bin/env python3
"""`statetape manager` from the command line, without a tape: requests pass
unchanged."""

import base64
import json
import os
import signal
import socket
import stat
import subprocess

import fakemodel
import proxy
import st


class Manager:
    """`statetape manager` for a repository of its own, listening."""

    def __init__(self, *args, env=None):
        self.args, self.extra = args, env or {}

    def __enter__(self):
        self.home = st.Home()
        for name in [n for n in self.home.env if n not in
                     proxy.clean_environment()]:
            if not name.startswith("XDG_"):
                del self.home.env[name]
        self.home.env["STATETAPE_DEADLINE_MS"] = "2000"
        self.home.env.update(self.extra)
        self.repo = self.home.mkdir("repo")
        self.log_path = self.home.top + "/log"
        self.proc = self.start()
        line = self.proc.stdout.readline().decode()
        if not line.startswith("listening on http://127.0.0.1:"):
            self.proc.wait()
            raise AssertionError("manager did not start: " + self.log())
        self.port, self.secret = proxy.address(line)
        return self

    def start(self, *args, **kw):
        with open(self.log_path, "ab") as log:
            return self.home.start("manager", *self.args, *args, self.repo,
                                   stdout=subprocess.PIPE, stderr=log, **kw)

    def log(self):
        with open(self.log_path) as f:
            return f.read()

    def client(self):
        return proxy.Client(self.port, self.secret)

    def where(self):
        top = self.home.env["XDG_RUNTIME_DIR"] + "/statetape"
        return "%s/%s/manager.json" % (top, os.listdir(top)[0])

    def status(self):
        r = self.home.run("status", "--json", self.repo)
        return json.loads(r.stdout)["managers"][0]["edge"]

    def end(self):
        if self.proc.poll() is None:
            self.proc.send_signal(signal.SIGTERM)
        self.proc.wait(st.DEADLINE)
        assert self.proc.returncode == 0, self.log()

    def __exit__(self, *exc):
        try:
            self.end()
        finally:
            self.proc.stdout.close()
            if exc[0]:
                print("-- log of the manager:\n" + self.log())
            self.home.close()


def turn(text="hello"):
    return json.dumps({"model": "m", "stream": True, "messages": [
        {"role": "user", "content": text}]}).encode()


def it_serves_says_where_and_ends():
    with fakemodel.Model() as m, Manager("--upstream", m.url) as s:
        where = s.where()
        with open(where) as f:
            assert json.load(f) == {"port": s.port, "pid": s.proc.pid}
        assert stat.S_IMODE(os.stat(where).st_mode) == 0o600
        with s.client() as c:
            for target in ("/v1/messages", "/v1/chat/completions"):
                r = c.ask("POST", target, turn())
                assert r.status == 200 and r.body == m.requests[-1].sent
                assert m.requests[-1].body == turn()
            assert c.ask("POST", "/v1/messages", b"{ no json").status == 400
            assert m.requests[-1].body == b"{ no json"
        st.eventually(lambda: s.status()["requests"] == 3, "three requests")
        words = s.home.run("status", s.repo).stdout
        assert "manager" in words and "3 requests" in words, words
        s.end()
        assert not os.path.exists(where)


def each_api_has_its_upstream():
    with fakemodel.Model() as a, fakemodel.Model() as o, \
            fakemodel.Model() as g, Manager(
                "--openai-upstream", o.url + "/v1", "--chatgpt-upstream",
                g.url + "/back", env={"ANTHROPIC_BASE_URL": a.url}) as s, \
            s.client() as c:
        c.ask("POST", "/v1/messages?beta=true", turn())
        c.ask("POST", "/v1/responses", {"input": "x"})
        c.ask("POST", "/v1/responses", {"input": "x"},
              [("chatgpt-account-id", "1")])
        c.ask("GET", "/v1/models", headers=[("anthropic-version", "1")])
        assert [r.target for r in a.requests] == ["/v1/messages?beta=true",
                                                  "/v1/models"]
        assert [r.target for r in o.requests] == ["/v1/responses"]
        assert [r.target for r in g.requests] == ["/back/responses"]


def managers(s):
    return json.loads(s.home.run("status", "--json", s.repo).stdout)[
        "managers"]


def a_repository_may_have_several():
    with fakemodel.Model() as m, Manager("--upstream", m.url) as s:
        other = s.start()
        port, secret = proxy.address(other.stdout.readline().decode())
        assert [a["edge"]["port"] for a in managers(s)] == [s.port, port]
        with proxy.Client(port, secret) as c:
            assert c.ask("POST", "/v1/messages", turn()).status == 200
        other.terminate()
        assert other.wait(st.DEADLINE) == 0
        other.stdout.close()
        assert os.path.exists(s.where()) and len(managers(s)) == 1
        # A killed one is no hindrance.
        s.proc.kill()
        s.proc.wait()
        s.proc.stdout.close()
        s.proc = s.start()
        assert s.proc.stdout.readline().startswith(b"listening")
        assert len(managers(s)) == 1


def a_socket_may_be_handed_down():
    """It stays open when the manager ends, so connections wait for the next
    one."""
    with fakemodel.Model() as m, Manager("--upstream", m.url) as s, \
            socket.create_server(("127.0.0.1", 0)) as listening:
        s.home.env["STATETAPE_SECRET"] = proxy.SECRET
        fd, port = listening.fileno(), listening.getsockname()[1]
        for end in (signal.SIGTERM, signal.SIGKILL, signal.SIGTERM):
            with proxy.Client(port, proxy.SECRET) as c:  # before there is one
                proc = s.start("--listen-fd", str(fd), pass_fds=[fd])
                assert c.ask("POST", "/v1/messages", turn()).status == 200
            proc.send_signal(end)
            proc.wait(st.DEADLINE)
            proc.stdout.close()


def nonsense_is_refused():
    with st.Home() as home:
        repo = home.mkdir("repo")
        for args, code, words in (
                (["--mode", "loud"], 2, "pinned, eager or off"),
                (["--port", "70000"], 2, "no port above"),
                (["--upstream", "ftp://x"], 1, "begin with http"),
                (["--listen-fd", "77"], 1, "not a socket"),
                (["--upstream", "https://a:b@x"], 2, "command line"),
                (["--policy", "no-such"], 1, "no policy")):
            r = home.run("manager", *args, repo)
            assert r.returncode == code and words in r.stderr, (args, r)


def keys_are_nowhere_afterwards():
    with fakemodel.Model() as m, Manager("--upstream", m.url) as s:
        with s.client() as c:
            c.ask("POST", "/v1/messages?key=" + proxy.KEY, turn(), [
                ("x-api-key", proxy.KEY),
                ("Authorization", "Bearer " + proxy.KEY)])
        s.home.run("status", s.repo)
        s.end()
        found = subprocess.run(["grep", "-rla", proxy.KEY, s.home.top],
                               capture_output=True)
        assert found.returncode == 1, found.stdout


def a_password_reaches_upstream_and_nobody_else():
    with fakemodel.Model() as m, Manager(env={
            "ANTHROPIC_BASE_URL": m.url.replace("//", "//me:%s@" % proxy.KEY)
            }) as s, s.client() as c:
        assert c.ask("POST", "/v1/messages", turn()).status == 200
        said = m.requests[-1].header("authorization").split()[1]
        assert base64.b64decode(said).decode() == "me:" + proxy.KEY
        c.secret = "0" * 40
        assert c.ask("POST", "/v1/messages", turn()).status == 403
        assert len(m.requests) == 1
        with open("/proc/%d/cmdline" % s.proc.pid) as f:
            assert proxy.KEY not in f.read()
        st.eventually(lambda: s.status()["strangers"] == 1, "it is counted")
        assert "1 refused" in s.home.run("status", s.repo).stdout
        s.end()
        for secret in (proxy.KEY, s.secret):
            found = subprocess.run(["grep", "-rla", secret, s.home.top],
                                   capture_output=True)
            assert found.returncode == 1, found.stdout


def a_secret_may_be_chosen():
    with fakemodel.Model() as m, Manager("--upstream", m.url) as s:
        s.home.env["STATETAPE_SECRET"] = proxy.SECRET
        other = s.start()
        line = other.stdout.readline().decode()
        assert proxy.SECRET not in line
        port = int(line.rsplit(":", 1)[1])
        with proxy.Client(port, proxy.SECRET) as c:
            assert c.ask("POST", "/v1/messages", turn()).status == 200
        other.terminate()
        assert other.communicate(timeout=st.DEADLINE) == (b"", None)
        s.home.env["STATETAPE_SECRET"] = "short"
        r = s.home.run("manager", "--upstream", m.url, s.repo)
        assert r.returncode == 1 and "32 to 128" in r.stderr, r


st.main(it_serves_says_where_and_ends,
        each_api_has_its_upstream,
        a_repository_may_have_several,
        a_socket_may_be_handed_down,
        nonsense_is_refused,
        keys_are_nowhere_afterwards,
        a_password_reaches_upstream_and_nobody_else,
        a_secret_may_be_chosen)

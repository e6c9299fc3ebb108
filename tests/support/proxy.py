"""The manager's proxy under test, and a client that sees every byte.

    with fakemodel.Model(script) as m, proxy.Proxy(m.url) as e:
        with e.client() as c:
            reply = c.ask("POST", "/v1/messages", body)

Proxy runs tests/support/proxy_server.c: manager/http with a brain that obeys
marks in the body. Its stderr is e.log(); an unexpected line there, or an exit
other than the orderly one, fails the case.
"""

import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile

import st

SECRET = "0123456789abcdef" * 2
PROGRAM = (os.environ.get("TEST_BIN") or "") + "/e2e/proxy_server"
SUSPICIOUS = re.compile(r"Sanitizer|runtime error:|assert", re.I)
KEY = "sk-secret-0123456789"


def clean_environment():
    """Without HTTP_PROXY and the like: cases reach their servers directly."""
    return {k: v for k, v in os.environ.items()
            if not k.lower().endswith("_proxy") and
            not k.startswith(("ANTHROPIC_", "OPENAI_", "SSL_CERT_"))}


def address(line):
    """Port and secret, from what the manager prints about itself."""
    found = re.search(r"http://127\.0\.0\.1:(\d+)/(\w+)$", line.strip())
    assert found, line
    return int(found[1]), found[2]


def ask(path, question, **members):
    """One question over tape/wire/wire.h's socket; the answer as a dictionary."""
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(st.DEADLINE)
        s.connect(path)
        s.sendall(b"\0SP\0" + struct.pack(">HH", 0x30, 0))
        _exactly(s, 8)
        text = json.dumps(dict(members, v=1, ask=question)).encode()
        s.sendall(b"\1" + struct.pack(">QI", len(text) + 4, 0x80000001) + text)
        kind, n = struct.unpack(">BQ", _exactly(s, 9))
        assert kind == 1
        return json.loads(_exactly(s, n)[4:])


def _exactly(s, n):
    out = b""
    while len(out) < n:
        got = s.recv(n - len(out))
        if not got:
            raise AssertionError("closed after %d of %d bytes" % (len(out), n))
        out += got
    return out


class Reply:
    """status, headers [(name, value)], body; whole is False if the connection
    broke off."""

    def __init__(self, status, headers):
        self.status, self.headers = status, headers
        self.body, self.whole = b"", True

    def header(self, name):
        return next((v for n, v in self.headers
                     if n.lower() == name.lower()), None)

    def json(self):
        return json.loads(self.body)


class Client:
    """One connection. Adds no headers but Host, and Content-Length if there
    is a body; puts the secret in front of targets."""

    def __init__(self, port, secret, timeout=None):
        self.s = socket.create_connection(("127.0.0.1", port),
                                          timeout or st.DEADLINE)
        self.s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.port, self.secret = port, secret
        self.buf = b""

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def close(self):
        self.s.close()

    def send(self, method, target, body=None, headers=()):
        lines = ["%s /%s%s HTTP/1.1" % (method, self.secret, target),
                 "Host: 127.0.0.1:%d" % self.port]
        lines += ["%s: %s" % h for h in headers]
        if isinstance(body, (dict, list)):
            body = json.dumps(body).encode()
        if body is not None and not any(
                n.lower() in ("content-length", "transfer-encoding")
                for n, _ in headers):
            lines.append("Content-Length: %d" % len(body))
        self.s.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" +
                       (body or b""))

    def more(self):
        got = self.s.recv(65536)
        if not got:
            raise EOFError
        self.buf += got

    def line(self):
        while b"\r\n" not in self.buf:
            self.more()
        line, self.buf = self.buf.split(b"\r\n", 1)
        return line.decode("latin-1")

    def exactly(self, n):
        while len(self.buf) < n:
            self.more()
        out, self.buf = self.buf[:n], self.buf[n:]
        return out

    def head(self):
        status = self.line().split(" ", 2)[1]
        headers = []
        while True:
            line = self.line()
            if not line:
                break
            name, value = line.split(":", 1)
            headers.append((name, value.strip()))
        if status == "100":
            return self.head()
        return Reply(int(status), headers)

    def pieces(self, reply):
        """The body as it arrives."""
        if (reply.header("transfer-encoding") or "").lower() == "chunked":
            while True:
                n = int(self.line(), 16)
                if n:
                    yield self.exactly(n)
                self.line()
                if not n:
                    return
        length = reply.header("content-length")
        if length is not None:
            left = int(length)
            while left:
                if not self.buf:
                    self.more()
                got, self.buf = self.buf[:left], self.buf[left:]
                left -= len(got)
                yield got
            return
        while True:
            try:
                if not self.buf:
                    self.more()
            except EOFError:
                return
            got, self.buf = self.buf, b""
            yield got

    def reply(self, method="POST"):
        r = self.head()
        if method == "HEAD" or r.status in (204, 304):
            return r
        try:
            for p in self.pieces(r):
                r.body += p
        except (EOFError, ConnectionError):
            r.whole = False
        return r

    def ask(self, method, target, body=None, headers=()):
        self.send(method, target, body, headers)
        return self.reply(method)


class Proxy:
    def __init__(self, base, env=None, expect_log=None):
        self.top = tempfile.mkdtemp(prefix="st.proxy.")
        self.base, self.expect_log = base, expect_log
        self.env = dict(clean_environment(), PROXY_DEADLINE_MS="2000",
                        PROXY_SECRET=SECRET)
        # Freed memory counts until the sanitizer's quarantine lets go of it.
        self.env["ASAN_OPTIONS"] = (os.environ.get("ASAN_OPTIONS", "") +
                                    ":quarantine_size_mb=1").lstrip(":")
        self.env.update(env or {})
        self.proc = None

    def __enter__(self):
        self.turns_path = self.top + "/turns"
        self.socket = self.top + "/s"
        with open(self.top + "/log", "wb") as log:
            # pylint: disable=consider-using-with
            self.proc = subprocess.Popen(
                [PROGRAM, self.base, self.turns_path, self.socket],
                env=self.env, stdout=subprocess.PIPE, stderr=log)
        line = self.proc.stdout.readline()
        if not line:
            self.proc.wait()
            raise AssertionError("the proxy did not start: " + self.log())
        self.port, self.secret = address(line.decode())
        return self

    def __exit__(self, kind, exc, tb):
        try:
            self.end()
            if kind is None:
                assert self.proc.returncode == 0, \
                    "the proxy ended with %d:\n%s" % (
                        self.proc.returncode, self.log())
                for line in self.log().splitlines():
                    expected = self.expect_log and re.search(
                        self.expect_log, line)
                    assert expected, "unexpected: " + line
            else:
                print("-- log of the proxy:\n" + self.log())
        finally:
            self.proc.stdout.close()
            shutil.rmtree(self.top, ignore_errors=True)

    def end(self):
        if self.proc.poll() is None:
            self.proc.send_signal(signal.SIGTERM)
        try:
            self.proc.wait(st.DEADLINE)
        except subprocess.TimeoutExpired:
            self.proc.kill()
            self.proc.wait()
            raise

    def client(self, **kw):
        return Client(self.port, self.secret, **kw)

    def log(self):
        with open(self.top + "/log", errors="backslashreplace") as f:
            return f.read()

    def turns(self):
        with open(self.turns_path) as f:
            return [json.loads(line) for line in f]

    def turn(self, n=-1):
        """Waits for the n-th turn to end; with the reply the brain was shown."""
        t = st.eventually(
            lambda: (lambda all_: all_[n] if len(all_) > (n if n >= 0 else
                                                         -n - 1) else None)(
                self.turns()), "turn %d ended" % n)
        with open("%s.%d" % (self.turns_path, t["reply"]), "rb") as f:
            t["shown"] = f.read()
        return t

    def status(self):
        return ask(self.socket, "STATUS")

    def counters(self):
        """Its counters, once no request is under way."""
        return st.eventually(lambda: (lambda s: s if s["active"] == 0 else
                                      None)(self.status()["edge"]),
                             "no request is under way")

    def rss(self):
        with open("/proc/%d/status" % self.proc.pid) as f:
            return int(re.search(r"VmRSS:\s+(\d+)", f.read())[1]) << 10


class Neighbour:
    """A process of its own, of another user if that is asked for, which runs
    `work` and says what came of it; then it stays until it is told to go."""

    def __init__(self, work, *args, uid=None):
        said, says = os.pipe()
        go, goes = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.close(goes)
                if uid is not None:
                    os.setgroups([])
                    os.setresgid(uid, uid, uid)
                    os.setresuid(uid, uid, uid)
                kept = work(*args)
                os.write(says, str(kept).encode() or b"-")
                os.read(go, 1)
            finally:
                os._exit(0)
        os.close(says)
        os.close(go)
        self.goes = goes
        with open(said) as f:
            self.said = os.read(f.fileno(), 4096).decode()

    def end(self):
        os.close(self.goes)
        os.waitpid(self.pid, 0)
        return self.said

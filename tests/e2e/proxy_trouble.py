#!/usr/bin/env python3
"""What the proxy does when things go wrong, or are refused."""

import glob
import http.server
import json
import os
import signal
import socket
import ssl
import subprocess
import threading
import time

import fakemodel
import proxy
import st

IS = b"@REWRITTEN-BY-THE-BRAIN@"
WAS = b"@rewrite@"


def messages(text="x", **members):
    return json.dumps(dict({"model": "m", "messages": [
        {"role": "user", "content": text}]}, **members)).encode()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


# -- rewriting ----------------------------------------------------------------

def a_rewritten_body_is_sent_in_its_coding():
    with fakemodel.Model() as m, proxy.Proxy(m.url) as e, e.client() as c:
        plain = messages("so @rewrite@ it is")
        for coding in (None, "gzip", "zstd", "deflate"):
            r = c.ask("POST", "/v1/messages", fakemodel.pack(coding, plain),
                      [("Content-Encoding", coding)] if coding else [])
            assert r.status == 200
            got = m.requests[-1]
            assert got.header("content-encoding") == coding
            assert got.text == plain.replace(WAS, IS), coding
            assert int(got.header("content-length")) == len(got.body)
        assert e.counters()["rewritten"] == 4


def a_refused_rewriting_is_resent_as_received_unseen_by_the_client():
    for status in (400, 413, 422):
        def script(r, status=status):
            return {"status": status} if IS in r.text else {"text": "fine"}

        with fakemodel.Model(script) as m, proxy.Proxy(m.url) as e, \
                e.client() as c:
            sent = fakemodel.zstd_pack(messages("@rewrite@", stream=True))
            r = c.ask("POST", "/v1/messages", sent,
                      [("Content-Encoding", "zstd")])
            assert r.status == 200 and b"fine" in r.body and r.whole
            assert len(m.requests) == 2 and m.requests[1].body == sent
            t = e.turn()
            assert t["refused"] == status and t["status"] == 200, t
            assert e.counters()["refused"] == 1


def a_body_refused_twice_is_reported_to_the_client():
    with fakemodel.Model(lambda r: {"status": 400, "body": b"no"}) as m, \
            proxy.Proxy(m.url) as e, e.client() as c:
        r = c.ask("POST", "/v1/messages", messages("@rewrite@"))
        assert r.status == 400 and r.body == b"no" and len(m.requests) == 2
        r = c.ask("POST", "/v1/messages", messages("as it came"))
        assert r.status == 400 and len(m.requests) == 3


def other_errors_pass_at_once_with_their_headers():
    with fakemodel.Model(lambda r: {
            "status": int(r.header("x-want")), "body": b'{"e":1}',
            "headers": [("Retry-After", "7"), ("x-should-retry", "true")]
            }) as m, proxy.Proxy(m.url) as e, e.client() as c:
        for n, status in enumerate((401, 403, 404, 429, 500, 503, 529)):
            r = c.ask("POST", "/v1/messages", messages("@rewrite@"),
                      [("x-want", str(status))])
            assert r.status == status and r.body == b'{"e":1}'
            assert r.header("retry-after") == "7"
            assert len(m.requests) == n + 1
            assert e.turn(n)["status"] == status


def a_brain_that_takes_long_is_waited_for():
    """What was sent before must be in every request, also in a slow one."""
    with fakemodel.Model() as m, proxy.Proxy(
            m.url, env={"PROXY_DEADLINE_MS": "50"}) as e, e.client() as c:
        sent = messages("@slow@ @rewrite@")
        assert c.ask("POST", "/v1/messages", sent).status == 200
        assert b"@rewrite@" not in m.requests[0].body
        assert not e.turn()["unsent"] and e.counters()["rewritten"] == 1


# -- refused here -------------------------------------------------------------

def websockets_are_refused_with_426():
    with fakemodel.Model() as m, proxy.Proxy(m.url) as e, e.client() as c:
        r = c.ask("GET", "/v1/responses", headers=[
            ("Upgrade", "websocket"), ("Connection", "Upgrade"),
            ("Sec-WebSocket-Key", "x"), ("Sec-WebSocket-Version", "13")])
        assert r.status == 426 and "error" in r.json()
        assert not m.requests
        # ... and the connection goes on.
        assert c.ask("POST", "/v1/responses", {"input": "x"}).status == 200


def raw_status(e, text):
    """The status of the first answer to these bytes, with the secret put in
    front of their path; 0: none."""
    text = text.replace(b" /", b" /%s/" % proxy.SECRET.encode(), 1)
    with e.client() as c:
        c.s.sendall(text)
        try:
            return c.head().status
        except (EOFError, ConnectionError):
            return 0


def odd_framing_is_refused():
    body = b"5\r\nhello\r\n0\r\n\r\n"
    heads = (
        b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        b"Content-Length: 5\r\nContent-Length: 6\r\n",
        b"Content-Length: 5\r\nContent-Length: 5\r\n",
        b"Content-Length: +5\r\n", b"Content-Length: 0x5\r\n",
        b"Content-Length: -1\r\n", b"Content-Length: 5, 5\r\n",
        b"Content-Length: 99999999999999999999999\r\n",
        b"Transfer-Encoding: gzip\r\n", b"Transfer-Encoding: xchunked\r\n",
        b"Transfer-Encoding: gzip, chunked\r\n",
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
    )
    lines = (b"GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
             b"CONNECT a:1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
             b"OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n",
             b"GET /a#b HTTP/1.1\r\nHost: localhost\r\n\r\n",
             b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
             b"GET / HTTP/1.1\r\n\r\n",
             b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n")
    with fakemodel.Model() as m, proxy.Proxy(m.url) as e:
        for head in heads:
            got = raw_status(e, b"POST /v1/messages HTTP/1.1\r\nHost: "
                             b"127.0.0.1\r\n" + head + b"\r\n" + body)
            assert got in (0, 400, 413), (head, got)
        for line in lines:
            got = raw_status(e, line)
            assert got in (0, 400, 403), (line, got)
        assert raw_status(e, b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"
                          ) == 421
        big = b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * (300 << 10)
        assert raw_status(e, big + b"\r\n\r\n") in (0, 400, 413, 431, 414)
        many = b"".join(b"X%d: a\r\n" % n for n in range(600))
        assert raw_status(e, b"GET / HTTP/1.1\r\nHost: localhost\r\n" + many +
                          b"\r\n") == 431
        assert not m.requests, [(r.target, r.headers) for r in m.requests]
        # Large headers that clients do send pass.
        with e.client() as c:
            wide = [("x-m", "a" * (60 << 10)), ("x-n", "b" * (60 << 10))]
            assert c.ask("GET", "/", headers=wide).status == 200
            assert m.requests[0].headers[1:] == wide


# -- upstream -----------------------------------------------------------------

def an_unreachable_upstream_is_a_502_in_the_apis_words():
    with proxy.Proxy("http://127.0.0.1:%d" % free_port(),
                     expect_log="^statetape: The model's API at ") as e, \
            e.client() as c:
        r = c.ask("POST", "/v1/messages", messages(),
                  [("x-api-key", proxy.KEY)])
        assert r.status == 502 and r.json()["type"] == "error"
        assert r.json()["error"]["type"] == "api_error"
        r = c.ask("POST", "/v1/responses", {"input": "x"})
        assert r.status == 502 and r.json()["error"]["type"] == "server_error"
        # The same for a body in pieces.
        c.send("POST", "/v1/files", b"5\r\nhello\r\n0\r\n\r\n",
               [("Transfer-Encoding", "chunked")])
        assert c.reply().status == 502
        assert e.counters()["unreachable"] == 3
        assert len(e.log().splitlines()) == 3


def a_reply_that_breaks_off_breaks_off():
    step = {"text": "words " * 100, "cut": 5, "times": 2}
    with fakemodel.Model(lambda r: step) as m, proxy.Proxy(m.url) as e:
        with e.client() as c:
            r = c.ask("POST", "/v1/messages", messages(stream=True))
            assert r.status == 200 and not r.whole
            assert r.body == m.requests[0].sent
            assert not e.turn()["whole"]

        def short(_, s):
            s.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort")

        step.clear()
        step["raw"] = short
        with e.client() as c:
            r = c.ask("POST", "/v1/messages", messages())
            assert not r.whole and r.body == b"short"
            assert not e.turn(1)["whole"]
        assert e.counters()["broken"] == 2


def nonsense_from_upstream_is_a_502():
    for said in (b"", b"garbage\r\n\r\n", b"HTTP/1.1 200 OK\r\nX: " +
                 b"a" * (400 << 10)):
        with fakemodel.Model(lambda r, said=said: {
                "raw": lambda _, s: s.sendall(said)}) as m, \
                proxy.Proxy(m.url, expect_log="gave no answer") as e, \
                e.client() as c:
            assert c.ask("POST", "/v1/messages", messages()).status == 502


def early_replies_and_interim_ones_pass():
    def interim(_, s):
        s.sendall(b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
                  b"HTTP/1.1 200 OK\r\nX-Real: 1\r\nContent-Length: 2\r\n"
                  b"\r\nok")

    with fakemodel.Model(lambda r: {"raw": interim}) as m, \
            proxy.Proxy(m.url) as e, e.client() as c:
        r = c.ask("POST", "/v1/messages", messages())
        assert r.status == 200 and r.body == b"ok"
        assert r.header("x-real") == "1" and r.header("link") is None

    def early(h):
        h.wfile.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n"
                      b"Connection: close\r\n\r\nno")
        h.wfile.flush()
        while h.connection.recv(65536):
            pass
        raise ConnectionResetError

    with fakemodel.Model() as m, proxy.Proxy(m.url) as e, e.client() as c:
        m.before = early
        r = c.ask("POST", "/v1/messages", b"x" * (65 << 20))
        assert r.status == 413 and r.body == b"no"


# -- time ---------------------------------------------------------------------

def each_event_arrives_before_the_next_is_sent():
    """The model sends an event only after the client has the one before:
    anything held back anywhere would stop both for ever."""
    got = threading.Semaphore(0)

    def gate(n):
        if n and not got.acquire(timeout=st.DEADLINE):
            raise ConnectionResetError

    for coding in (None, "gzip", "zstd"):
        step = {"text": "words " * 200, "gate": gate, "coding": coding}
        with fakemodel.Model(lambda r, s=step: s) as m, \
                proxy.Proxy(m.url) as e, e.client() as c:
            c.send("POST", "/v1/messages", messages(stream=True))
            r = c.head()
            for p in c.pieces(r):
                r.body += p
                # All that was sent so far, perhaps in several pieces.
                assert m.requests[0].sent.startswith(r.body)
                if r.body == m.requests[0].sent:
                    got.release()
            assert r.body == m.requests[0].sent
            assert e.turn()["whole"]
        while got.acquire(blocking=False):
            pass


def a_client_that_leaves_ends_the_request_upstream():
    left = threading.Event()

    def wait(n):
        if n == 3:
            assert left.wait(st.DEADLINE)

    def endless(_, s):
        s.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                  b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
        # Nothing more is sent: only the peer can end this.
        ended.append(s.recv(1) == b"")

    ended = []
    with fakemodel.Model(lambda r: {"raw": endless}) as m, \
            proxy.Proxy(m.url) as e:
        with e.client() as c:
            c.send("POST", "/v1/messages", messages(stream=True))
            assert next(c.pieces(c.head())) == b"hello"
        st.eventually(lambda: ended == [True], "upstream saw the end")
        assert e.counters()["cancelled"] == 1 and not e.turn()["whole"]
        # Before the reply has begun, and with bytes of a next request waiting.
        for ahead in (b"", b"GET / HTTP/1.1\r\n"):
            waiting = threading.Event()
            ended.clear()
            m.script = lambda r: {"raw": lambda _, s: (
                waiting.set(), ended.append(s.recv(1) == b""))}
            with e.client() as c:
                c.send("POST", "/v1/messages", messages())
                c.s.sendall(ahead)
                assert waiting.wait(st.DEADLINE)
            st.eventually(lambda: ended == [True], "upstream saw the end")


def the_end_waits_for_replies_under_way():
    go = threading.Event()

    def gate(n):
        if n == 2:
            go.wait(st.DEADLINE)

    with fakemodel.Model(lambda r: {"text": "to the end " * 50,
                                    "gate": gate}) as m, \
            proxy.Proxy(m.url) as e, e.client() as c:
        c.send("POST", "/v1/messages", messages(stream=True))
        r = c.head()
        e.proc.send_signal(signal.SIGTERM)
        st.eventually(lambda: not can_connect(e.port), "no new connections")
        go.set()
        for p in c.pieces(r):
            r.body += p
        assert r.body.endswith(b'{"type":"message_stop"}\n\n')
        e.proc.wait(st.DEADLINE)


def the_end_does_not_wait_for_ever():
    with fakemodel.Model(lambda r: {"text": "x", "gate": lambda n:
                                    n < 2 or time.sleep(3600)}) as m, \
            proxy.Proxy(m.url, env={"PROXY_GRACE_MS": "300"}) as e, \
            e.client() as c, e.client() as idle:
        idle.ask("GET", "/")
        c.send("POST", "/v1/messages", messages(stream=True))
        c.head()
        e.proc.send_signal(signal.SIGTERM)
        e.proc.wait(st.DEADLINE)
        assert e.proc.returncode == 0


def can_connect(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


# -- the way there ------------------------------------------------------------

def certificate(top):
    st.need("openssl")
    cert, key = top + "/cert.pem", top + "/key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes",
                    "-keyout", key, "-out", cert, "-days", "2", "-subj",
                    "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"
                    ], check=True, capture_output=True)
    return cert, key


def tls_is_verified():
    with st.Home() as home, fakemodel.Model() as m:
        cert, key = certificate(home.top)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cert, key)
        m.server.socket = context.wrap_socket(m.server.socket,
                                              server_side=True)
        url = "https://localhost:%d" % m.port
        other = "https://127.0.0.1:%d" % m.port
        trusted = {"SSL_CERT_FILE": cert}
        for base, env, status in ((url, {}, 502), (url, trusted, 200),
                                  (other, trusted, 502)):
            with proxy.Proxy(base, env=env,
                             expect_log="gave no answer") as e, \
                    e.client() as c:
                r = c.ask("POST", "/v1/messages", messages())
                assert r.status == status, (base, r.status, e.log())


class Outgoing(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.server.seen.append(self.path)
        self.send_response(200)
        self.send_header("Content-Length", "3")
        self.end_headers()
        self.wfile.write(b"via")

    def log_message(self, *args):
        pass


def proxies_of_the_environment_are_used():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Outgoing)
    server.seen = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    via = "http://127.0.0.1:%d" % server.server_address[1]
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        server.seen.clear()
        with proxy.Proxy("http://model.invalid", env={name: via}) as e, \
                e.client() as c:
            r = c.ask("POST", "/v1/messages?b=1", messages())
            assert r.status == 200 and r.body == b"via"
            assert server.seen == ["http://model.invalid/v1/messages?b=1"]
    with fakemodel.Model() as m, proxy.Proxy(m.url, env={
            "HTTP_PROXY": via, "NO_PROXY": "127.0.0.1"}) as e, \
            e.client() as c:
        assert c.ask("POST", "/v1/messages", messages()).status == 200
        assert len(m.requests) == 1
    server.shutdown()
    server.server_close()


def keys_are_nowhere_afterwards():
    with fakemodel.Model(lambda r: {"cut": 2, "text": "x"}) as m, \
            proxy.Proxy(m.url, expect_log="gave no answer") as e:
        heads = [("x-api-key", proxy.KEY),
                 ("Authorization", "Bearer " + proxy.KEY)]
        target = "/v1/messages?key=" + proxy.KEY
        with e.client() as c:
            c.ask("POST", target, messages("@rewrite@", stream=True), heads)
        with e.client() as c:
            c.ask("POST", "/v1/messages", b"{", heads)
        m.script = lambda r: {"raw": lambda _, s: None}
        with e.client() as c:
            assert c.ask("POST", target, messages(), heads).status == 502
        answer = json.dumps(e.status())
        e.end()
        kept = e.log() + answer
        for path in glob.glob(e.top + "/*"):
            if os.path.isfile(path):
                with open(path, errors="replace") as f:
                    kept += f.read()
        assert proxy.KEY not in kept


st.main(a_rewritten_body_is_sent_in_its_coding,
        a_refused_rewriting_is_resent_as_received_unseen_by_the_client,
        a_body_refused_twice_is_reported_to_the_client,
        other_errors_pass_at_once_with_their_headers,
        a_brain_that_takes_long_is_waited_for,
        websockets_are_refused_with_426,
        odd_framing_is_refused,
        an_unreachable_upstream_is_a_502_in_the_apis_words,
        a_reply_that_breaks_off_breaks_off,
        nonsense_from_upstream_is_a_502,
        early_replies_and_interim_ones_pass,
        each_event_arrives_before_the_next_is_sent,
        a_client_that_leaves_ends_the_request_upstream,
        the_end_waits_for_replies_under_way,
        the_end_does_not_wait_for_ever,
        tls_is_verified,
        proxies_of_the_environment_are_used,
        keys_are_nowhere_afterwards)

#!/usr/bin/env python3
"""Many conversations at once, clients that do not read, and rubbish.

$STATETAPE_PROXY_SECONDS (3): how long the conversations go on.
$STATETAPE_PROXY_CLIENTS (200): how many there are.
$STATETAPE_PROXY_SEED: of the rubbish that is sent.
"""

import hashlib
import json
import os
import random
import socket
import threading
import time

import fakemodel
import proxy
import st

SECONDS = float(os.environ.get("STATETAPE_PROXY_SECONDS", "3"))
CLIENTS = int(os.environ.get("STATETAPE_PROXY_CLIENTS", "200"))
SEED = int(os.environ.get("STATETAPE_PROXY_SEED") or
           random.SystemRandom().randrange(1 << 32))
MIB = 1 << 20


def numbered(who, turn):
    """The model's words in this turn; a word out of place shows."""
    return " ".join("%d.%d.%d" % (who, turn, n) for n in range(60))


def script(r):
    who, turn = map(int, r.json["messages"][0]["content"].split()[:2])
    return {"text": numbered(who, turn), "delay": 0.002}


def text_of(body):
    out = ""
    for line in body.decode().splitlines():
        if line.startswith("data: "):
            out += json.loads(line[6:]).get("delta", {}).get("text", "")
    return out


def converse(port, who, until, failures, done):
    try:
        with proxy.Client(port, proxy.SECRET) as c:
            turn = 0
            while time.monotonic() < until or turn == 0:
                r = c.ask("POST", "/v1/messages", {
                    "model": "m", "stream": True, "messages": [{
                        "role": "user", "content": "%d %d %s" % (
                            who, turn, "x" * 2000)}]})
                assert r.status == 200 and r.whole, r.status
                assert text_of(r.body) == numbered(who, turn)
                turn += 1
            done.append(turn)
    except Exception as e:  # of any kind: the case reports it
        failures.append("%d: %r" % (who, e))


def many_conversations_stream_without_a_lost_byte():
    failures, done = [], []
    with fakemodel.Model(script, validate=False, keep=False) as m, \
            proxy.Proxy(m.url) as e:
        until = time.monotonic() + SECONDS
        threads = [threading.Thread(target=converse, args=(
            e.port, n, until, failures, done)) for n in range(CLIENTS)]
        for t in threads:
            t.start()
        held = []
        while any(t.is_alive() for t in threads):
            held.append(e.rss())
            time.sleep(0.05)
        assert not failures, failures[:3]
        assert len(done) == CLIENTS
        end = e.counters()
        assert end["requests"] == sum(done) and end["bytes_held"] == 0
        assert end["broken"] == end["unreachable"] == end["cancelled"] == 0
        half = len(held) // 2
        early, late = max(held[:half]), max(held[half:])
        print("%d conversations, %d turns, at most %d MiB, then %d" % (
            CLIENTS, sum(done), early // MIB, late // MIB))
        assert late <= early * 1.25 + 8 * MIB


def a_client_that_does_not_read_stops_upstream():
    """Upstream is ahead by what sockets buffer, and little of ours."""
    size, sent = 256 * MIB, []

    def flood(_, s):
        s.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
        block = b"0123456789abcdef" * 4096
        for _ in range(size // len(block)):
            s.sendall(block)
            sent.append(len(block))

    with fakemodel.Model(lambda r: {"raw": flood}) as m, \
            proxy.Proxy(m.url) as e:
        with e.client() as c:
            before = e.rss()
            c.send("GET", "/v1/flood")
            still = st.eventually(lambda: stands_still(sent), "it stopped")
            assert still < size // 2, still
            assert e.rss() - before < 16 * MIB, (e.rss(), before)
            r = c.head()
            total, digest = 0, hashlib.sha256()
            for p in c.pieces(r):
                total += len(p)
                digest.update(p)
            assert total == size
            want = hashlib.sha256()
            for _ in range(size // MIB):
                want.update(b"0123456789abcdef" * (MIB // 16))
            assert digest.digest() == want.digest()
        assert e.rss() - before < 16 * MIB, (e.rss(), before)


def stands_still(sent):
    """How much was sent, if no more has been for a while; else 0."""
    before = len(sent)
    time.sleep(0.3)
    return sum(sent) if len(sent) == before and before else 0


# -- rubbish ------------------------------------------------------------------

WORDS = [b"GET", b"POST", b"HEAD", b" ", b"/", b"/v1/messages", b"?a=b",
         b"HTTP/1.1", b"HTTP/1.0", b"HTTP/9.9", b"\r\n", b"\n", b"\r", b":",
         b"Host: localhost\r\n", b"Content-Length: 5\r\n", b"hello",
         b"Content-Length: 18446744073709551616\r\n", b"\0", b"\t",
         b"Transfer-Encoding: chunked\r\n", b"5\r\nhello\r\n", b"0\r\n\r\n",
         b"ffffffffffffffff\r\n", b"-1\r\n", b"Connection: close\r\n",
         b"Connection: host, x-api-key\r\n", b"Upgrade: websocket\r\n",
         b"Expect: 100-continue\r\n", b"Content-Encoding: gzip\r\n",
         b"Content-Encoding: zstd\r\n", b" folded\r\n", b"X: \xff\xfe\r\n",
         b"\x1f\x8b\x08\0\0", b"\x28\xb5\x2f\xfd", b"{\"messages\":[",
         b"Cookie: a=\"b; c\r\n", b"%00%zz", b"A" * 5000, b"\r\n\r\n"]
GOOD = [b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5"
        b"\r\n\r\nhello",
        b"POST /v1/responses HTTP/1.1\r\nHost: localhost\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Encoding: "
        b"gzip\r\nContent-Length: 9\r\n\r\n\x1f\x8b\x08\0\0\0\0\0\0"]


# Behind the door is where most of it should land.
IN = b"/" + proxy.SECRET.encode()
GOOD = [g.replace(b" /", b" " + IN + b"/", 1) for g in GOOD]
WORDS += [IN, IN]


def rubbish(rng):
    kind = rng.random()
    if kind < 0.3:
        return b"".join(rng.choice(WORDS) for _ in range(rng.randrange(20)))
    text = bytearray(rng.choice(GOOD) * rng.randrange(1, 3))
    for _ in range(rng.randrange(1, 6)):
        at = rng.randrange(len(text) + 1)
        if kind < 0.6 and text:
            text[at % len(text)] = rng.randrange(256)
        elif kind < 0.8:
            text[at:at] = rng.choice(WORDS)
        else:
            del text[at:at + rng.randrange(1, 20)]
    return bytes(text)


def throw(port, rng):
    """Send rubbish in two pieces, perhaps read a little, perhaps leave."""
    data = rubbish(rng)
    with socket.create_connection(("127.0.0.1", port), 5) as s:
        try:
            cut = rng.randrange(len(data) + 1)
            s.sendall(data[:cut])
            s.sendall(data[cut:])
            how = rng.random()
            if how < 0.2:
                s.shutdown(socket.SHUT_WR)
            if how < 0.7:
                s.settimeout(0.02)
                while s.recv(4096):
                    pass
        except OSError:  # refused, reset or silent: each is an answer
            pass


def rubbish_does_not_disturb():
    print("seed", SEED)
    rng = random.Random(SEED)
    until = time.monotonic() + SECONDS

    def odd_reply(r):
        if rng.random() < 0.8:
            return {"status": 200, "body": b"ok"}
        junk = rng.randbytes(rng.randrange(200))
        head = rng.choice([b"", b"HTTP/1.1 200 OK\r\n\r\n",
                           b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
                           b"Transfer-Encoding: chunked\r\n\r\n",
                           b"HTTP/1.1 %d X\r\nA:b\r\n" % rng.randrange(1000)])
        return {"raw": lambda _, s: s.sendall(head + junk)}

    with fakemodel.Model(odd_reply, keep=False) as m, \
            proxy.Proxy(m.url, expect_log="gave no answer") as e:
        n = 0
        while time.monotonic() < until or n < 200:
            throw(e.port, rng)
            n += 1
        m.script = lambda r: {"status": 200, "body": b"fine"}
        with e.client() as c:
            assert c.ask("POST", "/v1/messages", b"{}").body == b"fine"
        print(n, "thrown,", e.counters())
        assert e.counters()["bytes_held"] == 0


st.main(many_conversations_stream_without_a_lost_byte,
        a_client_that_does_not_read_stops_upstream,
        rubbish_does_not_disturb)

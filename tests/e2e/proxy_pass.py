#!/usr/bin/env python3
"""What goes through the proxy comes out as it went in."""

import hashlib
import json
import random

import fakemodel
import proxy
import st

SEED = 20240601


def messages(text, **members):
    return dict({"model": "m", "max_tokens": 9, "messages": [
        {"role": "user", "content": text}]}, **members)


BODIES = {
    "/v1/messages?beta=true": messages("hello @pass@"),
    "/v1/responses": {"model": "m", "input": "hello @pass@"},
    "/v1/chat/completions": messages("hello @pass@"),
}


def a_turn_passes_byte_for_byte_both_ways():
    # Spaces, escapes, numbers that no re-serialising would keep.
    odd = b'{ "model":"m", "x": 9007199254740991, "y":1.50e3,\n "messages" ' \
        b':[{"role":"user","content":"caf\\u00e9 \\ud800 \xc3\xa9"}]}'
    with fakemodel.Model([{"text": "a longer answer " * 40}]) as m, \
            proxy.Proxy(m.url) as e, e.client() as c:
        for n, (target, body) in enumerate(BODIES.items()):
            for stream in (False, True):
                sent = json.dumps(dict(body, stream=stream)).encode()
                r = c.ask("POST", target, sent)
                assert m.requests[-1].body == sent
                assert m.requests[-1].target == target
                assert r.status == 200 and r.whole
                assert r.body == m.requests[-1].sent, target
                t = e.turn(2 * n + stream)
                assert t["shown"] == r.body and t["whole"], t
        r = c.ask("POST", "/v1/messages", odd)
        assert m.requests[-1].body == odd and r.status == 200
        assert e.counters()["passed"]["unchanged"] == 7, e.counters()


def headers_keep_order_case_and_value():
    given = [("X-Zeta", "1"), ("accept", "text/event-stream"),
             ("x-api-key", proxy.KEY), ("Content-Type", "application/json"),
             ("X-Empty", ""), ("anthropic-version", "2023-06-01"),
             ("USER-Agent", "a/1 (b; c)"), ("X-Zeta", "2"),
             ("Accept-Encoding", "gzip, br, zstd"), ("Cookie", "a=b; c=d"),
             ("X-Hop", "gone"), ("Connection", "keep-alive, X-Hop"),
             ("TE", "trailers"), ("Keep-Alive", "timeout=5")]
    back = [("Request-Id", "r1"), ("x-ratelimit-remaining", "7"),
            ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2; Path=/"),
            ("retry-after", "12"), ("Date", "Mon, 01 Jan 2024 00:00:00 GMT"),
            ("Keep-Alive", "timeout=9")]
    with fakemodel.Model(lambda r: {"headers": back}) as m, \
            proxy.Proxy(m.url) as e, e.client() as c:
        r = c.ask("POST", "/v1/messages", messages("x"), given)
        got = [(n, v) for n, v in m.requests[0].headers
               if n not in ("Host", "Content-Length")]
        assert got == given[:10], got
        assert m.requests[0].header("host") == "127.0.0.1:%d" % m.port
        names = [n for n, _ in r.headers]
        assert [h for h in r.headers if h in back] == back[:-1], r.headers
        assert set(names) - {n for n, _ in back} == {
            "Content-Type", "Content-Length"}, names


def nothing_is_added_to_a_bare_request():
    with fakemodel.Model() as m, proxy.Proxy(m.url) as e, e.client() as c:
        assert c.ask("GET", "/v1/models").status == 200
        assert [n for n, _ in m.requests[0].headers] == ["Host"]
        assert c.ask("POST", "/v1/other", b"").status == 200
        assert sorted(n for n, _ in m.requests[1].headers) == [
            "Content-Length", "Host"]


def all_methods_and_targets_pass():
    with fakemodel.Model() as m, proxy.Proxy(m.url) as e, e.client() as c:
        for method, target in (
                ("GET", "/v1/models?limit=1000&x=%2Fa%20b&&y=a+b"),
                ("HEAD", "/api/hello"), ("DELETE", "/v1/files/../a//b"),
                ("PATCH", "/v1/messages"), ("GET", "/"),
                ("GET", "/a{b}|c'd\"e")):
            assert c.ask(method, target).status == 200, (method, target)
            assert m.requests[-1].method == method
            assert m.requests[-1].target == target, m.requests[-1].target
        r = c.ask("PUT", "/v1/x", b"abc")
        assert r.status == 200 and m.requests[-1].body == b"abc"
        assert c.ask("HEAD", "/v1/x").header("content-length") == "11"
        assert e.counters()["passed"]["other"] == 8


def a_connection_is_kept_on_both_sides():
    seen = set()
    with fakemodel.Model() as m, proxy.Proxy(m.url) as e, e.client() as c:
        m.before = lambda h: seen.add(h.client_address)
        for _ in range(5):
            assert c.ask("POST", "/v1/messages", messages("x")).whole
        for _ in range(5):  # a new client uses the old connection upstream
            with e.client() as other:
                assert other.ask("POST", "/v1/messages", messages("x")).whole
    assert len(seen) == 1, seen


def a_kept_connection_that_was_closed_is_made_anew():
    def close(r):
        return {"headers": [("Connection", "close")]} if len(
            m.requests) % 2 else {}

    with fakemodel.Model(close) as m, proxy.Proxy(m.url) as e, e.client() as c:
        for _ in range(6):
            r = c.ask("POST", "/v1/messages", messages("x"))
            assert r.status == 200 and r.whole


def requests_sent_ahead_are_answered_in_order():
    with fakemodel.Model(lambda r: {"text": r.json["messages"][0]["content"]}
                         ) as m, proxy.Proxy(m.url) as e, e.client() as c:
        for n in range(5):
            c.send("POST", "/v1/messages", messages("number %d" % n))
        for n in range(5):
            assert b"number %d" % n in c.reply().body


def chunked_bodies_pass():
    body = json.dumps(messages("x" * 5000)).encode()
    chunked = b"".join(b"%x;ext=1\r\n%s\r\n" % (len(p), p) for p in (
        body[i:i + 700] for i in range(0, len(body), 700))) + b"0\r\n\r\n"
    with fakemodel.Model() as m, proxy.Proxy(m.url) as e, e.client() as c:
        for target in ("/v1/messages", "/v1/files"):
            r = c.ask("POST", target, chunked,
                      [("Transfer-Encoding", "chunked")])
            assert r.status == 200 and m.requests[-1].body == body, target
        r = c.ask("POST", "/v1/messages", body, [("Expect", "100-continue")])
        assert r.status == 200 and m.requests[-1].body == body
        assert m.requests[-1].header("expect") is None


def bodies_of_every_size_pass():
    """Around the 64 MiB that are held, and beyond."""
    rng = random.Random(SEED)
    limit = 64 << 20
    sizes = [0, 1, 255, 1 << 16, (1 << 20) + 1, limit, limit + 1]
    got = []

    def hashed(r):
        got.append((len(r.body), hashlib.sha256(r.body).digest()))
        r.body = r.text = b""
        return {"status": 200, "body": b"ok", "times": 9}

    with fakemodel.Model(hashed) as m, proxy.Proxy(m.url) as e, \
            e.client() as c:
        block = rng.randbytes(1 << 20)
        for size in sizes:
            body = (block * (size // len(block) + 1))[:size]
            r = c.ask("POST", "/v1/messages", body)
            assert r.status == 200, (size, r.status)
            assert got[-1] == (size, hashlib.sha256(body).digest()), size
        chunks = b"".join(b"%x\r\n%s\r\n" % (len(block), block)
                          for _ in range(66)) + b"0\r\n\r\n"
        c.send("POST", "/v1/messages", chunks,
               [("Transfer-Encoding", "chunked")])
        assert c.reply().status == 200
        assert got[-1] == (66 << 20, hashlib.sha256(block * 66).digest())
        assert e.counters()["passed"]["too_long"] == 2, e.counters()
        assert e.counters()["bytes_held"] == 0


def a_reply_larger_than_any_buffer_passes():
    body = random.Random(SEED).randbytes(20 << 20)
    with fakemodel.Model(lambda r: {"status": 200, "body": body}) as m, \
            proxy.Proxy(m.url) as e, e.client() as c:
        r = c.ask("GET", "/v1/big")
        assert r.body == body and r.whole
        assert e.counters()["bytes_out"] >= len(body)


def coded_bodies_pass_as_they_came_and_are_read():
    with fakemodel.Model() as m, proxy.Proxy(m.url) as e, e.client() as c:
        plain = json.dumps(messages("x" * 3000)).encode()
        for n, coding in enumerate(("gzip", "zstd", "deflate")):
            sent = fakemodel.pack(coding, plain)
            r = c.ask("POST", "/v1/messages", sent,
                      [("Content-Encoding", coding)])
            assert r.status == 200 and m.requests[-1].body == sent
            assert m.requests[-1].header("content-encoding") == coding
            assert e.turn(n)["len"] == len(plain)
        for coding, sent in (("gzip", b"not gzip"), ("zstd", sent),
                             ("gzip, zstd", sent), ("compress", sent)):
            c.ask("POST", "/v1/messages", sent, [("Content-Encoding", coding)])
            assert m.requests[-1].body == sent
        assert e.counters()["passed"]["coding"] == 4, e.counters()


def a_bomb_is_passed_on_unread():
    bomb = fakemodel.zstd_pack(b"\0" * (65 << 20))
    with fakemodel.Model(lambda r: {"status": 200, "body": b"ok"}) as m, \
            proxy.Proxy(m.url) as e, e.client() as c:
        r = c.ask("POST", "/v1/messages", bomb, [("Content-Encoding", "zstd")])
        assert r.status == 200 and m.requests[0].body == bomb
        assert e.counters()["passed"]["too_long"] == 1


def coded_replies_pass_as_they_came_and_are_shown_decoded():
    said = {}
    with fakemodel.Model(lambda r: {"coding": said["coding"],
                                    "text": "some words " * 300}) as m, \
            proxy.Proxy(m.url) as e, e.client() as c:
        n = 0
        for coding in ("gzip", "zstd", "deflate"):
            for stream in (False, True):
                said["coding"] = coding
                r = c.ask("POST", "/v1/messages", messages("x", stream=stream))
                assert r.body == m.requests[-1].sent and r.whole
                assert r.header("content-encoding") == coding
                t = e.turn(n)
                assert b"some words" in t["shown"] and t["whole"], coding
                assert t["shown"].rstrip().endswith(b"}"), coding
                n += 1


st.main(a_turn_passes_byte_for_byte_both_ways,
        headers_keep_order_case_and_value,
        nothing_is_added_to_a_bare_request,
        all_methods_and_targets_pass,
        a_connection_is_kept_on_both_sides,
        a_kept_connection_that_was_closed_is_made_anew,
        requests_sent_ahead_are_answered_in_order,
        chunked_bodies_pass,
        bodies_of_every_size_pass,
        a_reply_larger_than_any_buffer_passes,
        coded_bodies_pass_as_they_came_and_are_read,
        a_bomb_is_passed_on_unread,
        coded_replies_pass_as_they_came_and_are_shown_decoded)

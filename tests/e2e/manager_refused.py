#!/usr/bin/env python3
"""Upstream refuses a rewritten body: what was changed in it is left alone,
then the conversation; and nothing is, if upstream refuses the original too."""

import st
from world import MARK, World


def put(w, name, text):
    with open(w.mount.path + "/" + name, "w") as f:
        f.write(text)


def body_has(r, word):
    return word.encode() in r.body


def ask(w):
    """The requests that reached the model."""
    before = len(w.model.requests)
    w.request()
    return w.model.requests[before:]


def refusing(words):
    """A model that refuses bodies with notes on these files."""
    return lambda r: {"status": 400, "body": b"no"} if any(
        body_has(r, MARK + " " + word) for word in words) else {}


def what_is_refused_first_is_that_record():
    with World() as w:
        for name in ("a.txt", "b.txt", "c.txt"):
            put(w, name, "one\n")
        w.read("a.txt")
        w.read("b.txt")
        ask(w)
        w.model.script = refusing(["a.txt"])
        put(w, "a.txt", "two\n")
        first, second = ask(w)
        assert body_has(first, MARK) and second.body == w.sent
        # The next request has nothing on it, and so it passes, ...
        only, = ask(w)
        assert only.body == w.sent
        # ... and what else went stale is told.
        put(w, "b.txt", "two\n")
        put(w, "a.txt", "three\n")
        only, = ask(w)
        assert body_has(only, MARK + " b.txt"), only.body
        assert not body_has(only, MARK + " a.txt"), only.body
        w.start_manager()
        again, = ask(w)
        assert again.body == only.body


def what_is_refused_then_is_the_conversation():
    with World() as w:
        for name in ("a.txt", "b.txt", "c.txt"):
            put(w, name, "one\n")
            w.read(name)
        ask(w)
        w.model.script = refusing(["a.txt", "b.txt", "c.txt"])
        for name in ("a.txt", "b.txt"):
            put(w, name, "two\n")
            assert len(ask(w)) == 2
        put(w, "c.txt", "two\n")
        only, = ask(w)
        assert only.body == w.sent
        w.read("c.txt")
        put(w, "c.txt", "three\n")
        only, = ask(w)
        assert only.body == w.sent


def what_fails_either_way_switches_nothing_off():
    for status in (400, 413, 429, 500):
        with World() as w:
            put(w, "a.txt", "one\n")
            w.read("a.txt")
            ask(w)
            put(w, "a.txt", "two\n")
            w.model.script = lambda r, s=status: {
                "status": 400 if body_has(r, MARK) else s, "body": b"no"}
            with w.client() as c:
                got = c.ask("POST", "/v1/messages?beta=true", w.sent,
                            [("X-Claude-Code-Session-Id", "example"),
                             ("x-api-key", w.key)])
            assert got.status == status, got.status
            refused, original = w.model.requests[-2:]
            assert body_has(refused, MARK) and original.body == w.sent
            w.model.script = lambda r: {}
            only, = ask(w)
            assert body_has(only, MARK + " a.txt"), only.body


st.main(what_is_refused_first_is_that_record,
        what_is_refused_then_is_the_conversation,
        what_fails_either_way_switches_nothing_off)

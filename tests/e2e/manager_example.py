#!/usr/bin/env python3
"""A session with every part real but the model: a mounted repository, its tape,
the manager, and an agent that reads load_config and _read_json, edits, and goes
on. Everything the model gets is true, or has a note that it is not."""

import json
import os
import signal
import subprocess

import proxy
import st
from world import CONFIG, MARK, NEW, World, notes, prefix_kept, result_texts


def what_the_model_edited_itself_needs_no_note():
    with World() as w:
        assert w.request().body == w.sent
        w.read("config.py")
        first = w.request()
        assert first.body == w.sent, "nothing is stale yet"
        w.edit("config.py", "    data = _read_json(path)\n",
               "    data = yaml_io.load(path, strict=True)\n")
        r = w.request()
        assert r.body == w.sent, "the call says what changed"
        w.change("config.py", "    return x + 1\n", "    return x + 2\n")
        r = w.request()
        told = "\n".join(notes(r))
        assert "config.py" in told and "return x + 2" in told, told
        assert "+    data = yaml_io" not in told, told
        prefix_kept(first, r)
        # The same once more: the same bytes; and nothing new is said.
        w.result("Bash", {"command": "true"},
                 "(Bash completed with no output)")
        again = w.request()
        assert notes(again) == notes(r)
        prefix_kept(r, again)


def what_another_process_changes_is_told_too():
    with World() as w:
        w.request()
        w.read("config.py", 4, 8)
        first = w.request()
        assert first.body == w.sent
        subprocess.run(["sed", "-i", "s/return data.get/return data.pop/",
                        w.mount.path + "/config.py"], check=True)
        w.bash("true")
        r = w.request()
        told = "\n".join(notes(r))
        assert "config.py" in told and "data.pop" in told, told
        assert "sed" in told, told
        prefix_kept(first, r)


def eager_has_the_new_body_in_place():
    with World("--mode", "eager") as w:
        w.request()
        w.read("config.py")
        w.request()
        w.edit("config.py", "    data = _read_json(path)\n",
               "    data = yaml_io.load(path, strict=True)\n")
        r = w.request()
        text = result_texts(r)[0]
        assert "    data = yaml_io.load(path, strict=True)" in text, text
        assert "data = _read_json(path)" not in text, text
        assert MARK in text


def a_restart_changes_no_byte():
    with World() as w:
        w.request()
        w.read("config.py")
        w.request()
        w.change("config.py", "    return x + 1\n", "    return x + 2\n")
        before = w.request()
        w.start_manager()
        assert w.request().body == before.body
        w.result("Bash", {"command": "true"},
                 "(Bash completed with no output)")
        after = w.request()
        assert notes(after) == notes(before)
        prefix_kept(before, after)


def without_a_tape_requests_pass():
    with World() as w:
        w.request()
        w.read("config.py")
        w.request()
        w.change("config.py", "    return x + 1\n", "    return x + 2\n")
        before = w.request()
        assert notes(before)
        w.end(w.tape, signal.SIGKILL)
        w.change("config.py", "    return x + 2\n", "    return x + 3\n")
        after = w.request()
        # What was told is told again, and that nothing new is known.
        assert notes(after)[:-1] == notes(before), notes(after)
        assert "could not be checked yet" in notes(after)[-1]
        prefix_kept(before, after)
        w.result("Bash", {"command": "true"},
                 "(Bash completed with no output)")
        assert notes(w.request()) == notes(after)
        with w.client() as c:
            c.ask("POST", "/v1/messages", b"{no JSON")
            c.ask("POST", "/v1/messages", b"no gzip",
                  headers=[("Content-Encoding", "gzip")])
        for verb in ("status", "report"):
            said = w.home.run(verb, w.repo).stdout
            for why in ("the tape is away", "a body that was not understood",
                        "a body that could not be decoded"):
                assert why in said, (verb, why, said)


def a_cache_that_keeps_less_than_it_should_ends_it():
    usage = {"cache_creation_input_tokens": 5000,
             "cache_read_input_tokens": 0}
    with World(script=lambda r: {"text": "Yes.", "usage": usage}) as w:
        def learned(replies):
            """A reply is learned from when the client has it already."""
            r = json.loads(w.home.run("report", "--json", w.repo).stdout)
            return r["usage"]["cache_write"] == 5000 * replies

        w.read("config.py")
        w.request()
        for n in range(1, 5):
            st.eventually(lambda: learned(n), "reply %d is learned from" % n)
            w.change("config.py", "x + %d\n" % n, "x + %d\n" % (n + 1))
            told = notes(w.request())
        assert "x + 3" in "".join(told), told
        assert "x + 5" not in "".join(told), told
        with open(w.home.top + "/manager.log") as f:
            log = f.read()
        assert log.count("it should hold") == 1, log
        for verb in ("status", "report"):
            assert "cache read less than predicted" in w.home.run(
                verb, w.repo).stdout
        held = json.loads(w.home.run("context", "--json", w.repo).stdout)
        assert held["conversations"][0]["stopped"], held


def the_manager_follows_the_tapes_publication():
    with World() as w:
        edits = last = 0

        def subscription():
            out = w.home.run("status", "--json", w.repo).stdout
            return json.loads(out)["managers"][0]["tape"]

        def hears_an_edit():
            """Whether the manager received an entry newer than `last`.

            Edits until it did: a message sent before the publisher has noted
            a subscriber does not reach it.
            """
            nonlocal edits
            edits += 1
            w.edit("config.py", "x + %d\n" % edits, "x + %d\n" % (edits + 1))
            return subscription()["n"] > last

        st.eventually(hears_an_edit, "an entry is received")
        words = w.home.run("status", w.repo).stdout
        assert "subscribed, at entry" in words, words
        w.end(w.tape, signal.SIGKILL)
        st.eventually(lambda: not subscription()["connected"],
                      "the manager notices that the tape is gone")
        last = subscription()["n"]
        w.tape = w.start("tape", w.repo)
        st.eventually(w.tape_ready, "the tape is ready again")
        st.eventually(hears_an_edit, "an entry of the new tape is received")


def the_report_tells_of_it():
    with World() as w:
        w.request()
        w.read("config.py")
        w.request()
        w.change("config.py", "    return x + 1\n", "    return x + 2\n")
        w.request()
        r = json.loads(w.home.run("report", "--json", w.repo,
                                  check=True).stdout)
        assert r["requests"] == 3 and r["told"] >= 1, r
        assert r["tokens"]["stale"] > 0, r
        words = w.home.run("report", w.repo, check=True).stdout
        assert "3 requests" in words, words
        held = json.loads(w.home.run("context", "--json", w.repo,
                                     check=True).stdout)
        records = held["conversations"][0]["records"]
        assert any(x["state"] == "stale" and x["path"] == "config.py"
                   for x in records), records
        assert "config.py" in w.home.run("context", w.repo,
                                         check=True).stdout
        # The same from what was kept.
        w.end(w.manager)
        kept = json.loads(w.home.run("report", "--json", w.repo,
                                     check=True).stdout)
        assert kept["requests"] == 3, kept


st.main(what_the_model_edited_itself_needs_no_note,
        what_another_process_changes_is_told_too,
        eager_has_the_new_body_in_place,
        a_restart_changes_no_byte,
        without_a_tape_requests_pass,
        a_cache_that_keeps_less_than_it_should_ends_it,
        the_manager_follows_the_tapes_publication,
        the_report_tells_of_it)

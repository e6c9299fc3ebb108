#!/usr/bin/env python3
"""What `statetape explain` shows of a request, and what STATETAPE_DEBUG traces
of it: the decisions, their reasons, and never a key."""

import json
import subprocess

import proxy
import st
from world import MARK, World, notes

OLD, NEW = "    return x + 1\n", "    return x + 2\n"


class Traced(World):
    """All rooms are traced."""

    def start(self, verb, *args):
        self.home.env["STATETAPE_DEBUG"] = "all"
        return super().start(verb, *args)

    def log(self, name):
        with open("%s/%s.log" % (self.home.top, name)) as f:
            return [line for line in f.read().split("\n")
                    if line.startswith("debug ")]


def session(w):
    """Three requests; the third says that config.py is outdated."""
    w.request()
    w.read("config.py")
    w.request()
    w.change("config.py", OLD, NEW)
    return w.request()


def explain(w, *args):
    return json.loads(w.home.run("explain", "--json", *args, w.repo,
                                 check=True).stdout)


def a_note_is_explained_with_its_reason_and_its_text():
    with World() as w:
        sent = session(w)
        for _ in ("from the manager", "from its archive"):
            a = explain(w, "--request", "2")
            r = a["request"]
            assert r["outcome"] == "rewritten" and r["request"] == 2, r
            assert "withheld" not in r, r
            assert r["notified"] == 1 and r["notes_sent"] == 1, r
            assert r["tokens"]["sent"] > r["tokens"]["received"], r
            assert r["cost"]["with"] > 0 and r["cost"]["without"] > 0, r
            d, = r["decisions"]
            assert d["what"] == "config.py" and d["action"] == "REFRESH", d
            assert d["place"] == "note" and d["call"] == "toolu_001", d
            assert d["entry"] == 1 and "unrelated was edited" in d["why"], d
            assert "\n" + d["text"] in "\n" + "\n".join(notes(sent)) + "\n", d
            assert d["after"] == len(d["text"]) and not d["cut"], d
            assert d["before"] > 0, d
            words = w.home.run("explain", "--request", "2", w.repo,
                               check=True).stdout
            for part in ("request 2,", "note: config.py (toolu_001)",
                         "REFRESH", "[entry 1]", "| " + MARK,
                         "tokens received", "estimated"):
                assert part in words, (part, words)
            w.end(w.manager)


def a_replacement_is_explained_with_its_bytes():
    with World("--mode", "eager") as w:
        session(w)
        r = explain(w, "--request", "2")["request"]
        assert r["replaced"] == 1 and r["replacements_sent"] == 1, r
        d, = r["decisions"]
        assert d["place"] == "in place" and d["form"] == "whole", d
        assert "return x + 2" in d["text"], d
        assert d["after"] > d["before"] > 0, d
        # The next request sends it again, and decides nothing.
        w.bash("true")
        w.request()
        r = explain(w, "--request", "3")["request"]
        assert r["replacements_sent"] == 1 and not r["decisions"], r
        assert "nothing new was decided" in w.home.run(
            "explain", "--request", "3", w.repo, check=True).stdout


def without_a_number_there_is_a_line_for_each_request():
    with World() as w:
        session(w)
        a = explain(w)
        assert [r["request"] for r in a["requests"]] == [0, 1, 2], a
        assert [r["outcome"] for r in a["requests"]] == [
            "unchanged", "unchanged", "rewritten"], a
        lines = w.home.run("explain", w.repo, check=True).stdout.split("\n")
        assert len(lines) == 6 and lines[4].endswith("rewritten"), lines
        key = a["conversation"]
        assert explain(w, "--conversation", key[:8]) == a


def what_is_not_there_is_said_in_one_sentence():
    with World() as w:
        def refused(*args):
            r = w.home.run("explain", *args, w.repo)
            assert r.returncode == 1 and not r.stdout, r
            assert r.stderr.count("\n") == 1, r.stderr
            return r.stderr

        assert "no request has gone through" in refused()
        session(w)
        for _ in ("from the manager", "from its archive"):
            assert "has no request 9" in refused("--request", "9")
            assert "begins with 'zz'" in refused("--conversation", "zz")
            w.end(w.manager)
        r = w.home.run("explain", "--request", "x", w.repo)
        assert r.returncode == 2, r
    with st.Home() as home:
        r = home.run("explain", home.mkdir("other"))
        assert r.returncode == 0 and r.stdout.count("\n") == 1, r
        assert "Nothing recorded here yet" in r.stdout, r


def what_upstream_refuses_is_explained_so():
    def script(request):
        if MARK in request.body.decode():
            return {"status": 400, "body": b'{"error":"no"}'}
        return {"text": "Yes."}

    with World(script=script) as w:
        session(w)
        r = explain(w, "--request", "2")["request"]
        assert r["withheld"] == "refused upstream", r
        words = w.home.run("explain", "--request", "2", w.repo).stdout
        assert "the request received was sent" in words, words


def keys_are_not_in_it():
    with Traced() as w:
        w.key = proxy.KEY
        session(w)
        for args in (["--json"], ["--request", "2"]):
            said = w.home.run("explain", *args, w.repo, check=True)
            assert proxy.KEY not in said.stdout + said.stderr
        found = subprocess.run(["grep", "-rla", proxy.KEY, w.home.top],
                               capture_output=True)
        assert found.returncode == 1, found.stdout


def each_decision_is_traced_in_one_line():
    with Traced() as w:
        session(w)
        with w.client() as c:
            c.ask("POST", "/v1/messages", b"{no JSON")
        manager, tape = w.log("manager"), w.log("tape")
        assert any(line.startswith(
            "debug manager: request 2: note for config.py (REFRESH) at entry 1: "
            "unrelated was edited")
            for line in manager), manager
        assert any("request 2 of conversation" in line and "rewritten" in line
                   for line in manager), manager
        assert any("a body that was not understood" in line
                   for line in manager), manager
        assert any(line.startswith("debug tape: entry 1: edit config.py by ")
                   and line.endswith("changed: config.unrelated")
                   for line in tape), tape
        assert any(line.startswith("debug tape: SYNC: entry 1,")
                   for line in tape), tape
        assert any(line.startswith("debug graph: entry 1: config.py: X 1, ")
                   for line in tape), tape
        assert any(line.startswith("debug graph: built: 2 files")
                   for line in tape), tape
        # What changes nothing is traced, too.
        with open(w.mount.path + "/config.py", "r+") as f:
            text = f.read()
            f.seek(0)
            f.write(text)
        w.bash("true")
        w.request()
        assert any("config.py: unchanged" in line
                   for line in w.log("tape")), w.log("tape")


def the_mount_is_traced():
    with st.Home() as home:
        home.env["STATETAPE_DEBUG"] = "fs"
        with st.Mount(home=home) as m:
            repo = m.repo
            log = m.log()
        assert "debug fs: mount at '%s': by " % repo in log, log
        assert "debug fs: serve '%s'" % repo in log, log
        assert "debug tape" not in log, log


def an_unknown_room_is_named():
    with st.Home() as home:
        home.env["STATETAPE_DEBUG"] = "tape,kitchen"
        r = home.run("help")
        assert r.returncode == 0 and "'kitchen'" in r.stderr, r
        assert "fs, tape, manager, graph, or all" in r.stderr, r
        home.env["STATETAPE_DEBUG"] = "tape,manager"
        assert not home.run("help").stderr


st.main(a_note_is_explained_with_its_reason_and_its_text,
        a_replacement_is_explained_with_its_bytes,
        without_a_number_there_is_a_line_for_each_request,
        what_is_not_there_is_said_in_one_sentence,
        what_upstream_refuses_is_explained_so,
        keys_are_not_in_it,
        each_decision_is_traced_in_one_line,
        the_mount_is_traced,
        an_unknown_room_is_named)

#!/usr/bin/env python3
"""Two agents on one repository, each in its own `statetape run`, with a
manager each and one tape for both: when one writes a file that the other has
read, the other's model gets a note."""

import json
import os

import fakemodel
import st
from running import log, nothing_left, place, read, start_agent, write

MARK = "[statetape]"
CALC = "def add(a, b):\n    return a - b\n"
SHOP = "def price(n):\n    return 3 * n\n"


def call(name, **arguments):
    return {"calls": [(name, arguments)]}


def script(first, second, mine, other, old, new):
    """The script of one agent: reads both files, signals that, waits until the
    other has read them, edits `mine`, signals that, waits for the other's
    edit, and makes one more request."""
    return [
        call("Read", file_path=mine),
        call("Read", file_path=other),
        call("Write", file_path=first + ".read", content="1\n"),
        call("Wait", file_path=second + ".read"),
        call("Edit", file_path=mine, old_string=old, new_string=new),
        call("Write", file_path=first + ".edited", content="1\n"),
        call("Wait", file_path=second + ".edited"),
        call("Bash", command="true"),
        {"text": "Done."},
    ]


def last_words(model):
    return json.dumps(model.requests[-1].json["messages"])


def what_one_writes_the_other_hears():
    st.need_fuse()
    with place() as (home, repo), fakemodel.Model() as a, \
            fakemodel.Model() as b:
        home.env["STATETAPE_DEADLINE_MS"] = "5000"
        write(repo + "/calc.py", CALC)
        write(repo + "/shop.py", SHOP)
        signs = home.mkdir("signs")
        a.script = script(signs + "/a", signs + "/b", "calc.py", "shop.py",
                          "a - b", "a + b")
        b.script = script(signs + "/b", signs + "/a", "shop.py", "calc.py",
                          "3 * n", "4 * n")
        one = start_agent(home, repo, a)
        two = start_agent(home, repo, b)
        for p in (one, two):
            out, err = p.communicate(timeout=st.DEADLINE)
            assert p.returncode == 0, out + err
        assert read(repo + "/calc.py") == CALC.replace("a - b", "a + b")
        assert read(repo + "/shop.py") == SHOP.replace("3 * n", "4 * n")
        # Each model received the other's new line in a note.
        assert "4 * n" in last_words(a) and MARK in last_words(a), \
            last_words(a)
        assert "a + b" in last_words(b) and MARK in last_words(b), \
            last_words(b)
        # Each edit is attributed to its own agent.
        authors = {e["path"]: e["author"]["pid"] for e in log(home, repo)
                   if e["path"].endswith(".py")}
        assert set(authors) == {"calc.py", "shop.py"}
        assert len(set(authors.values())) == 2, authors
        nothing_left(home, repo)


def an_unchanged_repository_leaves_requests_as_they_are():
    """Requests are forwarded byte for byte, also with two agents at once."""
    st.need_fuse()
    with place() as (home, repo), fakemodel.Model() as model:
        write(repo + "/calc.py", CALC)
        model.script = [call("Read", file_path="calc.py"),
                        call("Bash", command="cat calc.py"),
                        {"text": "Done."}]
        agents = [start_agent(home, repo, model) for _ in range(2)]
        for p in agents:
            out, err = p.communicate(timeout=st.DEADLINE)
            assert p.returncode == 0, out + err
        assert len(model.requests) == 6
        assert not [r for r in model.requests if MARK.encode() in r.text]
        assert os.listdir(repo) and not log(home, repo)
        nothing_left(home, repo)


def modes_and_policies_do_what_they_say():
    """The request is unchanged, or has a note about what the edit made
    stale."""
    for options, told in ((["--policy", "control"], False),
                          (["--policy", "control", "--mode", "eager"], False),
                          (["--mode", "off"], False),
                          (["--mode", "eager"], True),
                          (["--no-mount"], True),
                          ([], True)):
        with place() as (home, repo), fakemodel.Model() as model:
            home.env["STATETAPE_DEADLINE_MS"] = "5000"
            write(repo + "/calc.py", CALC)
            model.script = [call("Read", file_path="calc.py"),
                            call("Edit", file_path="calc.py",
                                 old_string="a - b", new_string="a + b"),
                            call("Bash", command="true"),
                            {"text": "Done."}]
            p = start_agent(home, repo, model, *options)
            out, err = p.communicate(timeout=st.DEADLINE)
            assert p.returncode == 0, out + err
            marked = [MARK.encode() in r.text for r in model.requests]
            assert marked == [False, False, told, told], (options, marked)
            nothing_left(home, repo)


st.main(what_one_writes_the_other_hears,
        modes_and_policies_do_what_they_say,
        an_unchanged_repository_leaves_requests_as_they_are)

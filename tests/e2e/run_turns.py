#!/usr/bin/env python3
"""Entries know which turn and tool call of which conversation made them: runs
with a scripted model, parallel calls, two agents at once, and a person."""

import json
import os
import re
import subprocess

import fakemodel
import st
from running import log, nothing_left, place, start_agent, write

CALC = "def add(a, b):\n    return a - b\n"


def calls(*pairs):
    return {"calls": [(name, arguments) for name, arguments in pairs]}


def bash(command):
    return "Bash", {"command": command}


def edit(path, old, new):
    return "Edit", {"file_path": path, "old_string": old, "new_string": new}


def wait(path):
    return "Wait", {"file_path": path}


def end(p):
    out, err = p.communicate(timeout=st.DEADLINE)
    assert p.returncode == 0, out + err


def turns(home, repo):
    """{path: the turns of its entries, without what differs from run to run;
    one for several in a row: a file may settle between creation and write}"""
    found = {}
    for e in reversed(log(home, repo)):
        t = e.get("turn", {})
        seen = found.setdefault(e.get("path2") or e["path"], [])
        turn = (t.get("ordinal"), t.get("tool"), t.get("prompt"))
        if seen[-1:] != [turn]:
            seen.append(turn)
    return found


def entries_know_their_turn_and_call():
    st.need_fuse()
    with place() as (home, repo), fakemodel.Model() as model:
        write(repo + "/calc.py", CALC)
        write(repo + "/notes", "one\n")
        sign = home.mkdir("signs") + "/go"
        steps = [
            calls(bash("sed -i s/1/2/ app.py; echo 1 > made"),
                  edit("calc.py", "a - b", "a + b"),
                  bash("cat app.py")),
            calls(wait(sign)),
            {"text": "Done."},
            calls(bash("echo two >> notes"), bash("echo three > other")),
            {"text": "Done again."}]
        model.script = lambda r: steps[
            sum(m["role"] == "assistant" for m in r.json["messages"])]
        p = start_agent(home, repo, model, "--mount", "visible",
                        prompts=["Fix the  sum,\nplease. " + "So " * 99,
                                 "Now the notes."])
        st.eventually(lambda: len(model.requests) > 1, "the second request")
        # A person, while the agent's call is under way, in the same mount.
        subprocess.run(["sh", "-c", "echo mine > mine; echo 9 >> app.py"],
                       cwd=repo, check=True)
        write(sign, "")
        end(p)
        found = turns(home, repo)
        first = (1, "Fix the sum, please. " + "So " * 24 + "So...")
        assert found["calc.py"] == [(1, "Edit", first[1])], found
        assert found["made"] == [(1, "Bash", first[1])], found
        assert found["app.py"] == [(1, "Bash", first[1]),
                                   (None, None, None)], found
        assert found["mine"] == [(None, None, None)], found
        assert found["notes"] == [(2, "Bash", "Now the notes.")], found
        all = [e for e in log(home, repo) if "turn" in e]
        assert len({e["turn"]["conversation"] for e in all}) == 1, all
        assert {e["turn"]["model"] for e in all} == {"demo"}, all
        by_path = {e.get("path2") or e["path"]: e["turn"] for e in all}
        assert by_path["notes"]["call"] != by_path["other"]["call"], by_path
        assert by_path["notes"]["command"] == "echo two >> notes", by_path
        shown = home.run("log", "--turns", cwd=repo, check=True).stdout
        conversation = all[0]["turn"]["conversation"][:8]
        want = ["conversation %s  demo" % conversation,
                "  turn 2  *  Now the notes.",
                "    Bash  echo two >> notes", "        edit   notes +1 -0",
                "    Bash  echo three > other",
                "        create other +1 -0",
                "  turn 1  *  " + first[1],
                "    Bash  sed -i s/1/2/ app.py; echo 1 > made",
                "    Edit", "        edit   calc.py +1 -1"]
        lines = [re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+", "*", x)
                 for x in shown.splitlines()]
        for line in want:
            assert line in lines, (line, shown)
        assert "mine" not in shown, shown
        (newest,) = [x for x in home.run(
            "log", "--turns", "-n", "1", cwd=repo).stdout.splitlines()
            if "turn " in x]
        assert "turn 2" in newest, newest
        # A tool call is a command: one paragraph, although two processes
        # wrote.
        text = home.run("log", cwd=repo).stdout
        assert re.search(r"^(\d+ )?entries .*\d, 2 files \+2 -1$", text,
                         re.M), text
        assert "Turn:   1 of %s, Bash: Fix the" % conversation in text, text
        nothing_left(home, repo)


def two_agents_are_told_apart():
    st.need_fuse()
    with place() as (home, repo), fakemodel.Model() as a, \
            fakemodel.Model() as b:
        signs = home.mkdir("signs")
        for model, mine, other in ((a, "a", "b"), (b, "b", "a")):
            # Both are between reply and request at the same time.
            model.script = [
                calls(("Write", {"file_path": mine + ".txt",
                                 "content": "1\n"}),
                      bash("touch %s/%s; until [ -e %s/%s ]; do :; done; "
                           "echo %s > %s.out" % (signs, mine, signs, other,
                                                 mine, mine))),
                {"text": "Done."}]
        # They are asked the same, and give their conversations no id.
        agents = [start_agent(home, repo, m, prompts=["Task"])
                  for m in (a, b)]
        for p in agents:
            end(p)
        found = turns(home, repo)
        for name in "ab":
            for path, tool in ((".txt", "Write"), (".out", "Bash")):
                assert found[name + path] == [(1, tool, "Task")], found
        talks = {e.get("path2") or e["path"]: e["turn"]["conversation"]
                 for e in log(home, repo)}
        assert talks["a.txt"] == talks["a.out"], talks
        assert talks["b.txt"] == talks["b.out"] != talks["a.out"], talks
        nothing_left(home, repo)


def prompts_can_be_kept_to_oneself():
    st.need_fuse()
    with place() as (home, repo), fakemodel.Model() as model:
        config = home.mkdir("config/statetape")
        home.env["XDG_CONFIG_HOME"] = os.path.dirname(config)
        write(config + "/config.toml", "[run]\nprompts = false\n")
        model.script = [calls(bash("echo x > made")), {"text": "Done."}]
        end(start_agent(home, repo, model, prompts=["A secret."]))
        assert turns(home, repo)["made"] == [(1, "Bash", None)]
        (state,) = home.state_dirs()
        with open(state + "/tape.db", "rb") as f:
            assert b"A secret" not in f.read()
        nothing_left(home, repo)


if __name__ == "__main__":
    st.main(entries_know_their_turn_and_call,
            two_agents_are_told_apart,
            prompts_can_be_kept_to_oneself)

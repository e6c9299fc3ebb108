#!/usr/bin/env python3
"""What a new user meets: nothing recorded yet, the end of the first run, output
that fits the terminal, a replay of the last session, init, watch --exec."""

import json
import os
import subprocess
import time

import st
from running import place, read, run, start, write

NOTHING = "othing recorded here yet: statetape run -- AGENT"
# Each verb that reads what was recorded, and whether it lists it.
LISTS = [["log"], ["log", "--turns"], ["log", "--oneline"], ["journal"],
         ["reads"], ["report"], ["context"], ["explain"], ["export"]]
NAMES = [["show", "1"], ["blame", "app.py"], ["blame", "-l", "app.py"],
         ["diff", "0", "1"], ["cat", "1:app.py"], ["undo", "1"], ["redo"],
         ["restore", "1:app.py"], ["notes"], ["verify"], ["watch"]]
JSON = {"log", "journal", "reads", "report", "context", "explain", "show",
        "blame", "verify", "watch"}


def nothing_yet_is_said_in_one_sentence():
    with place() as (home, repo):
        for verb in LISTS:
            r = home.run(*verb, cwd=repo)
            assert (r.returncode, r.stdout, r.stderr) == (
                0, "N" + NOTHING + "\n", ""), (verb, r)
        for verb in NAMES:
            r = home.run(*verb, cwd=repo)
            assert (r.returncode, r.stdout, r.stderr) == (
                1, "", "statetape: n" + NOTHING + "\n"), (verb, r)
        r = home.run("status", cwd=repo)
        assert r.stdout == "Nothing is mounted.\nN" + NOTHING + "\n", r
        assert home.state_dirs() == []


def nothing_yet_is_an_empty_list_in_json():
    with place() as (home, repo):
        for verb in LISTS + NAMES + [["status"]]:
            if verb[0] not in JSON | {"status"}:
                continue
            r = home.run(*verb, "--json", cwd=repo)
            assert json.loads(r.stdout) == [], (verb, r)


def a_repository_that_is_named_counts():
    with place() as (home, repo):
        r = home.run("log", repo)
        assert r.stdout == "N" + NOTHING + "\n", r
        r = home.run("log", repo + "/none")
        assert r.returncode == 1 and "cannot be found" in r.stderr, r
        assert r.stderr.count("\n") == 1, r


def a_run_ends_in_what_its_user_cares_about():
    st.need_fuse()
    with place() as (home, repo):
        r = run(home, repo, "sed -i s/1/2/ app.py; echo x >new; echo y >>new")
        assert "2 changes in 2 files by 2 commands (statetape log)\n" in \
            r.stderr or "3 changes in 2 files by 2 commands" in r.stderr, r
        why = [line for line in r.stderr.splitlines()
               if "no request came through the manager" in line]
        assert len(why) == 1 and "ANTHROPIC_BASE_URL" in why[0], r
        r = run(home, repo, "true")
        assert "no changes by the agent" in r.stderr, r
        for verb in ("context", "report"):
            assert home.run(verb, cwd=repo).returncode == 0, verb


LONG = "a_package_with_a_long_name/and_a_folder_below_it/that_is_not_short"


def wide(repo):
    """A file and functions with names wider than a terminal."""
    os.makedirs(repo + "/" + LONG)
    name = "a_function_with_a_very_long_name_that_says_all_that_it_does"
    write("%s/%s/module.py" % (repo, LONG),
          "def %s():\n    return 1\n\n\ndef caller():\n    return %s()\n" %
          (name, name))
    return name


def all_fits_80_columns():
    st.need_fuse()
    with place() as (home, repo):
        name = wide(repo)
        home.env["COLUMNS"] = "80"
        path = LONG + "/module.py"
        run(home, repo, "sed -i s/1/2/ '%s'; : %s" % (path, "x" * 200))
        whole = "%s.module.%s" % (LONG.replace("/", "."), name)
        verbs = [["graph", "symbols"], ["graph", "edges"],
                 ["graph", "at", path + ":1"], ["graph", "callers", whole],
                 ["graph", "callees", whole], ["graph", "impact", whole],
                 ["blame", path], ["blame", "-l", path], ["context"],
                 ["log", "--oneline"], ["status", repo], ["status"]]
        for verb in verbs:
            r = home.run(*verb, cwd=repo)
            assert r.returncode == 0 and r.stdout + r.stderr, (verb, r)
            for line in r.stdout.splitlines():
                assert len(line) <= 80, (verb, len(line), line)
        assert "..." in home.run("graph", "symbols", cwd=repo).stdout
        # Another program gets names whole.
        del home.env["COLUMNS"]
        assert whole in home.run("graph", "symbols", cwd=repo).stdout


def a_mounted_status_fits_too():
    st.need_fuse()
    with place(name="a_repository_" + "with_a_long_name_" * 5) as (home, repo):
        home.env["COLUMNS"] = "80"
        with st.Mount(repo, home=home):
            for line in home.run("status", repo).stdout.splitlines():
                assert len(line) <= 80, line


def every_help_text_fits_and_aligns():
    with place() as (home, repo):
        listed = home.run("help").stdout
        verbs = [line.split()[0] for line in listed.splitlines()
                 if line.startswith("  ") and not line.startswith("   ")]
        assert len(verbs) > 25, verbs
        for verb in verbs:
            text = home.run("help", verb).stdout
            inside = False
            for line in text.splitlines():
                assert len(line) <= 80, (verb, line)
                inside = (inside or line == "Options:") and \
                    line != "Examples:"
                if inside and line[:1] == " " and line[:3].strip() == "" and \
                        "--" not in line[:8]:
                    assert line[:24].strip() == "", (verb, line)


ROWS = [{"type": "user", "cwd": "%s", "message": {
            "role": "user", "content": "Rename x, please."}},
        {"type": "assistant", "message": {
            "id": "m1", "role": "assistant", "content": [
                {"type": "tool_use", "id": "t1", "name": "Read",
                 "input": {"file_path": "%s/app.py"}}]}},
        {"type": "user", "message": {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1",
             "content": "1\tdef f():\n2\t    return 1\n"}]}}]


def session(path, repo, then):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    write(path, "".join(
        json.dumps(row).replace("%s", repo) + "\n" for row in ROWS))
    os.utime(path, (then, then))


def the_last_session_is_found():
    with place() as (home, repo):
        home.env["HOME"] = home.mkdir("home")
        r = home.run("replay", "--last", cwd=repo)
        assert r.returncode == 1 and "no session of Claude Code" in r.stderr, r
        folder = "".join(c if c.isalnum() else "-" for c in repo)
        claude = home.env["HOME"] + "/.claude/projects/" + folder
        session(claude + "/old.jsonl", repo, 1000)
        session(claude + "/new.jsonl", repo, 3000)
        codex = home.env["HOME"] + "/.codex/sessions/2026/01/02/"
        session(codex + "rollout-elsewhere.jsonl", "/elsewhere", 9000)
        r = home.run("replay", "--last", cwd=repo, check=True)
        assert r.stdout.startswith(claude + "/new.jsonl\n"), r
        assert "received" in r.stdout, r
        meta = json.dumps({"type": "session_meta", "payload": {"cwd": repo}})
        session(codex + "rollout-here.jsonl", repo, 5000)
        write(codex + "rollout-here.jsonl", meta + "\n" + "".join(
            json.dumps({"type": "response_item", "payload": p}) + "\n"
            for p in ({"type": "message", "role": "user", "content": [
                {"type": "input_text", "text": "Hello."}]},
                {"type": "message", "role": "assistant", "content": [
                    {"type": "output_text", "text": "Hello."}]})))
        r = home.run("replay", "--last", cwd=repo, check=True)
        assert r.stdout.startswith(codex + "rollout-here.jsonl\n"), r
        # The session names its repository.
        home.run("replay", claude + "/new.jsonl", check=True)
        r = home.run("replay", cwd=repo)
        assert r.returncode == 2 and "--last" in r.stderr, r


def init_writes_a_file_that_changes_nothing_and_takes_it_back():
    st.need_fuse()
    with place() as (home, repo):
        file = repo + "/.statetape.toml"
        r = home.run("init", cwd=repo, check=True)
        assert "alias claude='statetape run -- claude'" in r.stdout, r
        with open(file) as f:
            text = f.read()
        assert all(line[:1] in "#[" for line in text.splitlines() if line)
        assert ".statetape.toml" not in run(home, repo, "true").stderr
        # What it explains is what a run takes.
        write(file, text.replace("#mode =", "mode ="))
        assert ".statetape.toml" not in run(home, repo, "true").stderr
        r = home.run("init", "--undo", cwd=repo)
        assert r.returncode == 1 and "was edited" in r.stderr, r
        assert "is there already" in home.run("init", cwd=repo).stdout
        write(file, text)
        home.run("init", "--undo", cwd=repo, check=True)
        assert not os.path.exists(file)
        assert home.run("init", "--undo", cwd=repo).returncode == 1


def watch_runs_a_command_per_change():
    st.need_fuse()
    with place() as (home, repo):
        odd = "a'; touch broken; $(touch broken) \"`touch broken`"
        home.env["ODD"] = odd
        seen = home.mkdir("seen")
        agent = start(home, repo, "echo 1 >first; "
                      "while ! test -e go; do sleep 0.05; done; "
                      'echo 2 >"$ODD"; echo 3 >fails; '
                      "while ! test -e stop; do sleep 0.05; done")
        st.eventually(lambda: os.path.exists(repo + "/first"), "agent runs")
        command = 'printf "%s\\n" "$1" >>seen/paths; cat >>seen/entries; ' \
            'echo "$STATETAPE_ENTRY $STATETAPE_KIND" >>seen/numbers; ' \
            'test "$1" != fails'
        p = home.start("watch", "-n", "1", "--exec", command, repo,
                       cwd=home.top, stderr=subprocess.PIPE, text=True)
        try:
            st.eventually(lambda: os.path.exists(seen + "/numbers"), "first")
            write(repo + "/go", "")
            st.eventually(lambda: "fails" in read(seen + "/paths"), "all")
            write(repo + "/stop", "")
            assert agent.wait(st.DEADLINE) == 0
        finally:
            p.terminate()
        err = p.communicate()[1]
        assert "the command failed with exit code 1" in err, err
        paths = read(seen + "/paths").splitlines()
        assert paths[0] == "first" and odd in paths, paths
        for made in (repo, home.top, seen):
            assert "broken" not in os.listdir(made), os.listdir(made)


def watch_runs_nothing_for_what_its_command_changed():
    st.need_fuse()
    with place() as (home, repo), st.Mount(repo, home=home) as m:
        tape = home.start("tape", repo, stdout=subprocess.PIPE, text=True)
        tape.stdout.readline()
        home.env["SEEN"] = home.top + "/seen"
        p = home.start("watch", "--exec", 'echo x >>"$STATETAPE_REPO/ours"; '
                       'echo "$1" >>"$SEEN"', repo, cwd=home.top)
        try:
            for n in range(1000):
                # Until it listens, entries are not for it.
                write("%s/theirs%d" % (m.path, n), "x")
                time.sleep(0.1)
                if os.path.exists(home.top + "/seen"):
                    break
            write(m.path + "/last", "x")
            st.eventually(lambda: "last" in read(home.top + "/seen"), "last")
            assert "ours" not in read(home.top + "/seen").split()
            assert os.path.exists(m.path + "/ours")
        finally:
            p.terminate()
            p.wait()
            tape.terminate()
            tape.wait()


st.main(nothing_yet_is_said_in_one_sentence,
        nothing_yet_is_an_empty_list_in_json,
        a_repository_that_is_named_counts,
        a_run_ends_in_what_its_user_cares_about,
        all_fits_80_columns,
        a_mounted_status_fits_too,
        every_help_text_fits_and_aligns,
        the_last_session_is_found,
        init_writes_a_file_that_changes_nothing_and_takes_it_back,
        watch_runs_a_command_per_change,
        watch_runs_nothing_for_what_its_command_changed)

#!/usr/bin/env python3
"""`statetape replay` over recorded sessions: the logs of Claude Code and Codex,
and captured requests."""

import json
import os

import st

TEXT = "def f(x):\n    return x + 1\n\n\ndef g(x):\n    return f(x)\n"


def numbered(text):
    return "\n".join("%d\t%s" % (n + 1, line)
                     for n, line in enumerate(text.split("\n")))


def steps():
    """Each of (name, arguments, result) is a call of the agent."""
    return [
        ("Read", {"file_path": "/repo/a.py"}, numbered(TEXT)),
        ("Bash", {"command": "python3 -m unittest"}, "Ran 3 tests\n\nOK"),
        ("Edit", {"file_path": "/repo/a.py", "old_string": "x",
                  "new_string": "y", "replace_all": True},
         "The file /repo/a.py has been updated successfully."),
        ("Bash", {"command": "true"}, "(Bash completed with no output)"),
        ("Bash", {"command": "date"}, "Thu"),
    ]


def write_rows(path, rows):
    with open(path, "w") as f:
        f.write("no JSON at all\n\n{\"type\":7}\n")
        for n, row in enumerate(rows):
            row["timestamp"] = "2026-01-01T10:%02d:00.000Z" % n
            f.write(json.dumps(row) + "\n")


def claude_rows():
    user = lambda content: {"type": "user", "message": {
        "role": "user", "content": content}}
    yield user("Rename x, please.")
    for n, (name, arguments, result) in enumerate(steps()):
        for block in ({"type": "text", "text": "Well."},
                      {"type": "tool_use", "id": "t%d" % n, "name": name,
                       "input": arguments}):
            yield {"type": "assistant", "message": {
                "id": "msg_%d" % n, "role": "assistant", "content": [block]}}
        yield user([{"type": "tool_result", "tool_use_id": "t%d" % n,
                     "content": result}])
    yield {"type": "system", "subtype": "compact_boundary"}
    yield user("All was summed up.")


def codex_rows(compacted=False):
    item = lambda **members: {"type": "response_item", "payload": members}
    said = item(type="message", role="user", content=[
        {"type": "input_text", "text": "Rename x, please."}])
    yield {"type": "session_meta", "payload": {"id": "s"}}
    yield said
    for n, (name, arguments, result) in enumerate(steps()):
        if name == "Read":
            name, arguments, result = "exec_command", {
                "cmd": "cat /repo/a.py"}, TEXT
        elif name == "Bash":
            name, arguments = "exec_command", {"cmd": arguments["command"]}
        yield item(type="reasoning", encrypted_content="x")
        yield item(type="function_call", call_id="c%d" % n, name=name,
                   arguments=json.dumps(arguments))
        yield item(type="function_call_output", call_id="c%d" % n,
                   output=result)
    if compacted:
        yield {"type": "compacted", "payload": {
            "message": "", "replacement_history": [said["payload"]]}}
        yield said


def captured(top):
    messages = [{"role": "user", "content": "Rename x, please."}]
    os.mkdir(top)
    for n, (name, arguments, result) in enumerate(steps()):
        messages += [
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "t%d" % n, "name": name,
                 "input": arguments}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "t%d" % n,
                 "content": result}]}]
        with open("%s/%03d.json" % (top, n + 1), "w") as f:
            json.dump({"model": "m", "max_tokens": 9, "messages": messages,
                       "cache_control": {"type": "ephemeral"},
                       "tools": [{"name": "Read"}]}, f,
                      separators=(",", ":"))


def replay(h, path, *args):
    return h.run("replay", "--repo", "/repo", *args, path, check=True).stdout


def expect(h, path, requests):
    words = replay(h, path)
    # The edit says itself what it changed, and that the run is older.
    assert "a.py, shown above" not in words, words
    assert "`python3 -m unittest` ran before later changes" in words, words
    r = json.loads(replay(h, path, "--json"))
    assert r["requests"] == requests and r["told"] == 1, r
    eager = json.loads(replay(h, path, "--json", "--mode", "eager"))
    assert eager["placed"] == 2 and eager["told"] == 0, eager
    off = json.loads(replay(h, path, "--json", "--mode", "off"))
    assert off["rewritten"] == 0 and off["tokens"]["stale"] > 0, off


def what_claude_code_wrote_down():
    with st.Home() as h:
        write_rows(h.top + "/s.jsonl", claude_rows())
        expect(h, h.top + "/s.jsonl", len(steps()) + 1)


def what_codex_wrote_down():
    with st.Home() as h:
        write_rows(h.top + "/s.jsonl", codex_rows())
        expect(h, h.top + "/s.jsonl", len(steps()) + 1)
        write_rows(h.top + "/c.jsonl", codex_rows(compacted=True))
        last = replay(h, h.top + "/c.jsonl").split("requests of")[0]
        sizes = [int(line.split()[2]) for line in last.splitlines()
                 if " received " in line]
        assert sizes[0] < sizes[-1] < sizes[1], last


def requests_that_were_captured():
    with st.Home() as h:
        captured(h.top + "/requests")
        expect(h, h.top + "/requests", len(steps()))


def what_is_no_transcript_is_refused():
    with st.Home() as h:
        with open(h.top + "/x", "w") as f:
            f.write("nothing of the kind\n")
        r = h.run("replay", "--repo", "/repo", h.top + "/x")
        assert r.returncode == 1 and "is not a session" in r.stderr, r


st.main(what_claude_code_wrote_down, what_codex_wrote_down,
        requests_that_were_captured, what_is_no_transcript_is_refused)

#!/usr/bin/env python3
"""Codex CLI itself under `statetape run`, with a scripted model."""

import agents
import agents_checks as checks
import st

NO_SUB = [step for step in agents.SCRIPT if step[0][0] != "task"]


def fell_back(s):
    """It asks for a websocket, on which earlier results cannot be rewritten; the
    manager refuses, and it falls back to HTTP."""
    upgrades = [r for r in s.rec.requests
                if (r.header("upgrade") or "").lower() == "websocket"]
    assert upgrades and all(r.status == 426 for r in upgrades)
    assert not [r for r in s.model.requests if r.header("upgrade")]


def a_session_in_code_mode_is_told_what_changed():
    s, turns = checks.whole_script(agents.Codex())
    checks.was_told(s, turns)
    fell_back(s)
    assert any(sent.header(s.agent.sub_mark) for sent, _ in turns)


def a_session_with_function_calls_is_told_what_changed():
    s, turns = checks.whole_script(agents.CodexFunctions(), script=NO_SUB)
    checks.was_told(s, turns)
    fell_back(s)


def eager_shows_what_is():
    s, _ = checks.whole_script(agents.Codex(), "--mode", "eager")
    assert checks.nothing_stale(s) > 0
    s, _ = checks.whole_script(agents.CodexFunctions(), "--mode", "eager",
                               script=NO_SUB)
    assert checks.nothing_stale(s) > 0


def off_changes_no_byte():
    _, turns = checks.whole_script(agents.Codex(), "--mode", "off")
    assert all(checks.unchanged(*t) for t in turns)


def without_drift_no_byte_is_changed():
    script = [[("read", "app.py")], [("read", "helper.py")],
              [("run", "python3 -m unittest -v test_app 2>&1")],
              [("grep", "def ")],
              [("write", "new.py", "x = 1\n")],
              [("read", "app.py")]]
    for make in (agents.Codex, agents.CodexFunctions):
        with agents.Session(make(), script) as s:
            s.run()
            checks.finished(s)
            for t in checks.all_arrived(s):
                assert checks.unchanged(*t), checks.all_notes(t[1])


def a_chatgpt_login_sends_zstd_and_is_told_what_changed():
    s, turns = checks.whole_script(agents.CodexFunctions(login=True),
                                   script=NO_SUB)
    checks.was_told(s, turns)
    assert all(sent.header("content-encoding") == "zstd" and
               sent.header("chatgpt-account-id") for sent, _ in turns)


agents.loopback_only()
st.main(a_session_in_code_mode_is_told_what_changed,
        a_session_with_function_calls_is_told_what_changed,
        eager_shows_what_is,
        off_changes_no_byte,
        without_drift_no_byte_is_changed,
        a_chatgpt_login_sends_zstd_and_is_told_what_changed)

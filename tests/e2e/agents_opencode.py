#!/usr/bin/env python3
"""opencode itself under `statetape run`, with a scripted model, by Anthropic's
and by OpenAI's protocol."""

import agents
import agents_checks as checks
import st

OPENAI = "openai/gpt-5.5"


def had_a_sub_agent(s, turns):
    return any(sent.header(s.agent.sub_mark) for sent, _ in turns)


def a_session_is_told_what_changed():
    s, turns = checks.whole_script(agents.Opencode())
    checks.was_told(s, turns)
    assert had_a_sub_agent(s, turns)


def a_session_with_openai_is_told_what_changed():
    s, turns = checks.whole_script(agents.Opencode(OPENAI))
    checks.was_told(s, turns)
    assert had_a_sub_agent(s, turns)
    assert all(sent.dialect == "responses" for sent, _ in turns)


def eager_shows_what_is():
    s, _ = checks.whole_script(agents.Opencode(), "--mode", "eager")
    assert checks.nothing_stale(s) > 0


def off_changes_no_byte():
    _, turns = checks.whole_script(agents.Opencode(), "--mode", "off")
    assert all(checks.unchanged(*t) for t in turns)


def without_drift_no_byte_is_changed():
    script = [[("read", "app.py"), ("read", "helper.py")],
              [("run", "python3 -m unittest -v test_app 2>&1")],
              [("grep", "def ")],
              [("write", "new.py", "x = 1\n")],
              [("read", "app.py")]]
    for model in (agents.ANTHROPIC, OPENAI):
        with agents.Session(agents.Opencode(model), script) as s:
            s.run()
            checks.finished(s)
            for t in checks.all_arrived(s):
                assert checks.unchanged(*t), checks.all_notes(t[1])


agents.loopback_only()
st.main(a_session_is_told_what_changed,
        a_session_with_openai_is_told_what_changed,
        eager_shows_what_is,
        off_changes_no_byte,
        without_drift_no_byte_is_changed)

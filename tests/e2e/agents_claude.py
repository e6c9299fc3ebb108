#!/usr/bin/env python3
"""Claude Code itself under `statetape run`, with a scripted model."""

import os
import time

import agents
import agents_checks as checks
import st
import terminal


def a_session_is_told_what_changed():
    s, turns = checks.whole_script(agents.Claude())
    checks.was_told(s, turns)
    assert any(sent.header(s.agent.sub_mark) for sent, _ in turns)


def eager_shows_what_is():
    s, _ = checks.whole_script(agents.Claude(), "--mode", "eager")
    assert checks.nothing_stale(s) > 0


def off_changes_no_byte():
    _, turns = checks.whole_script(agents.Claude(), "--mode", "off")
    assert all(checks.unchanged(*t) for t in turns)


def without_drift_no_byte_is_changed():
    script = [[("read", "app.py"), ("read", "helper.py")],
              [("run", "python3 -m unittest -v test_app 2>&1")],
              [("grep", "def ")],
              [("write", "new.py", "x = 1\n")],
              [("read", "app.py")],
              [("run", "touch app.py; git status --short")]]
    with agents.Session(agents.Claude(), script) as s:
        s.run()
        checks.finished(s)
        for t in checks.all_arrived(s):
            assert checks.unchanged(*t), checks.all_notes(t[1])


def a_change_by_somebody_else_is_told():
    """Claude Code does not report these changes itself: one from outside the
    mount, as by an editor in another terminal, one by another agent inside."""
    def editor(s):
        with open(s.repo + "/helper.py", "w") as f:
            f.write(agents.HELPER.replace("a + b", "b + a"))
        s.wait_for_entry("helper.py", "outside")

    def agent(s):
        s.home.run("run", "--repo", s.repo, "--", "sed", "-i",
                   "s/Sum the/Add the/", "app.py", cwd=s.repo, check=True)

    script = [[("read", "app.py"), ("read", "helper.py")],
              [("outside", editor), ("run", "true")],
              [("outside", agent), ("run", "true")],
              [("run", "true")]]
    with agents.Session(agents.Claude(), script) as s:
        s.run()
        checks.finished(s)
        turns = checks.all_arrived(s)
        assert checks.nothing_stale(s) == 5
        checks.prefix_kept(s)
        last = "".join(checks.all_notes(turns[-1][1]))
        assert last.count("helper.py") == last.count("app.py") == 1, last
        assert "+    return b + a" in last, last
        assert '+    """Add the items."""' in last and "by sed" in last, last


def a_sub_agents_edit_is_told_to_the_one_that_sent_it():
    script = [[("read", "helper.py")],
              [("task", "[[sub]] Mend helper.py.")],
              [("run", "true")]]
    sub = [[("read", "helper.py")],
           [("edit", "helper.py", "    return a + b\n",
             "    return b + a\n")]]
    with agents.Session(agents.Claude(), script, sub) as s:
        s.run()
        checks.finished(s)
        turns = checks.all_arrived(s)
        assert checks.nothing_stale(s) == 3
        assert "+    return b + a" in "".join(checks.all_notes(turns[-1][1]))


def names_are_those_of_where_it_stands():
    """Started below the root, by way of a symbolic link, and going on from
    there: three files have the same name."""
    def text(n):
        return "\n\n".join("def f%d(q):\n    return q * %d\n" % (i, i)
                           for i in (n, n + 1))

    files = dict(agents.FILES, **{"pkg/helper.py": text(2),
                                  "pkg/in/helper.py": text(4)})
    script = [[("run", "cat helper.py")],
              [("run", "cat ../helper.py")],
              [("run", "cd in")],
              [("run", "cat helper.py")],
              [("run", "sed -i 's/a + b/b + a/' ../../helper.py")],
              [("run", "sed -i 's/q . 2/2 * q/' ../helper.py")],
              [("run", "sed -i 's/q . 4/4 * q/' helper.py")]]
    with agents.Session(agents.Claude(), script, files=files) as s:
        os.symlink(s.repo, s.home.top + "/link")
        s.cwd = s.home.env["PWD"] = s.home.top + "/link/pkg"
        s.run()
        checks.finished(s)
        notes = checks.all_notes(checks.all_arrived(s)[-1][1])
        assert len(notes) == 3, notes
        for note, name, line in zip(
                notes, ("helper.py", "pkg/helper.py", "pkg/in/helper.py"),
                ("b + a", "2 * q", "4 * q")):
            assert note.startswith("[statetape] %s, shown" % name), note
            assert "+    return " + line in note, note


def files_it_attaches_by_itself_are_followed():
    """Files that the user names with an @, and those that a compaction attaches
    again: user text, which is never rewritten."""
    def last_notes(s):
        s.run(prompt=s.prompt, more=s.more)
        checks.finished(s)
        turns = checks.all_arrived(s)
        return "".join(checks.all_notes(turns[-1][1])).count(
            "+    return b + a")

    change = [[("run", "sed -i 's/a + b/b + a/' helper.py")],
              [("run", "true")]]
    with agents.Session(agents.Claude(), change) as s:
        s.prompt, s.more = "Look at @helper.py and go on.", False
        assert last_notes(s) == 1
    script = [[("read", "helper.py")]]
    with agents.Session(agents.Claude(), script) as s:
        s.run()
        checks.finished(s)
        s.run(prompt="/compact", more=True)
        assert s.code == 0
        script[:] = change
        s.prompt, s.more = "Go on.", True
        assert last_notes(s) == 1


def a_talk_goes_on_in_another_run():
    """Changes between two runs get a note, and earlier notes are sent again,
    byte for byte."""
    script = [[("read", "app.py")],
              [("edit", "app.py", agents.OLD, agents.NEW)],
              [("read", "helper.py")]]
    with agents.Session(agents.Claude(), script) as s:
        s.run()
        checks.finished(s)
        with open(s.repo + "/helper.py", "w") as f:
            f.write(agents.HELPER.replace("a + b", "b + a"))
        script.append([("run", "true")])
        assert "1 change in 1 file by 1 command" in s.err, s.err
        s.run(prompt="Go on.", more=True)
        checks.finished(s)
        checks.all_arrived(s)
        assert checks.nothing_stale(s) > 0
        checks.prefix_kept(s)


def a_proxy_does_not_come_between():
    """Nothing listens there; NO_PROXY excepts the model, as without us."""
    with agents.Session(agents.Claude(), [[("read", "app.py")]]) as s:
        dead = "http://127.0.0.1:9"
        s.home.env.update(
            HTTP_PROXY=dead, HTTPS_PROXY=dead, NO_PROXY="localhost",
            STATETAPE_ANTHROPIC_UPSTREAM=s.model.url.replace(
                "127.0.0.1", "localhost"))
        s.run()
        checks.finished(s)
        checks.all_arrived(s)


def its_terminal_is_its_own():
    """It is drawn on, resized, interrupted and restored, as without us."""
    script = [step for step in agents.SCRIPT if step[0][0] != "task"]
    with agents.Session(agents.Claude(), script) as s:
        argv = s.home.argv("run", "--", s.program,
                           "--dangerously-skip-permissions")
        with terminal.Terminal(argv, s.home.env, s.repo) as t:
            before = t.mode()
            t.sees("bypass permissions on")
            t.types(agents.PROMPT)
            t.sees(agents.PROMPT)
            t.types("\r")
            # What is drawn over a like text is not drawn whole.
            st.eventually(lambda: s.over, "the model says its last words")
            at = len(t.text)
            t.resize(30, 90)
            t.sees("\u2500" * 90, since=at)
            assert "\u2500" * 91 not in t.plain(at)

            def asks_back():
                """The first interrupt may only stop what the agent is doing."""
                t.types("\x03")
                time.sleep(0.5)
                return t.shows("again to exit", since=at)

            st.eventually(asks_back, "it asks for another Ctrl-C")
            t.types("\x03")
            assert t.end() == 0
            assert t.mode() == before
            t.sees("(statetape log)", since=at)
        checks.nothing_left(s)
        assert checks.nothing_stale(s) > 0


agents.loopback_only()
st.main(a_session_is_told_what_changed,
        eager_shows_what_is,
        off_changes_no_byte,
        without_drift_no_byte_is_changed,
        a_change_by_somebody_else_is_told,
        a_sub_agents_edit_is_told_to_the_one_that_sent_it,
        names_are_those_of_where_it_stands,
        files_it_attaches_by_itself_are_followed,
        a_talk_goes_on_in_another_run,
        a_proxy_does_not_come_between,
        its_terminal_is_its_own)

#!/usr/bin/env python3
"""Every version that a process finished is an entry with its own author and
its own content, also if it is overwritten before the tape has read it."""

import contextlib
import os
import re
import signal
import subprocess
import sys

import st
import taped


@contextlib.contextmanager
def world(files=None):
    with st.Home() as home:
        repo = home.mkdir("repo")
        for name, text in (files or {}).items():
            with open(repo + "/" + name, "w") as f:
                f.write(text)
        with st.Mount(repo, home=home) as m, taped.Tape(home, repo) as t:
            t.settle_in()
            yield m, t


@contextlib.contextmanager
def stopped(t):
    """The tape reads nothing meanwhile."""
    os.kill(t.proc.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(t.proc.pid, signal.SIGCONT)


def run(m, script, *args):
    subprocess.run(["sh", "-c", script, "sh", *args], cwd=m.path, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def brief(entries):
    return [(e["kind"], e["path"], e["author"].get("comm",
                                                   e["author"]["origin"]))
            for e in entries]


def contents(m, entries):
    """What `statetape cat` says of each entry."""
    return [m.home.run("cat", "%d:%s" % (e["n"], e.get("path2", e["path"])),
                       cwd=m.path, check=True).stdout for e in entries]


def expect(m, entries, want, texts):
    assert brief(entries) == want, (brief(entries), contents(m, entries))
    assert contents(m, entries) == texts, contents(m, entries)
    assert not any(e.get("merged") for e in entries), entries


SAVES = "for n in 1 2 3; do echo $n > a; done"


def three_saves_at_once_are_three_entries():
    with world({"a": "0\n"}) as (m, t):
        run(m, SAVES)
        expect(m, t.sync(), [("edit", "a", "sh")] * 3, ["1\n", "2\n", "3\n"])


def versions_are_kept_while_the_tape_is_stopped():
    with world({"a": "0\n"}) as (m, t):
        with stopped(t):
            run(m, SAVES)
            run(m, "sed -i s/3/4/ a")
            run(m, "echo 5 > a")
        expect(m, t.sync(),
               [("edit", "a", "sh")] * 3 + [("edit", "a", "sed"),
                                            ("edit", "a", "sh")],
               ["1\n", "2\n", "3\n", "4\n", "5\n"])


def versions_are_kept_while_there_is_no_tape():
    with world({"a": "0\n"}) as (m, t):
        t.kill()
        run(m, SAVES + "; sed -i s/3/4/ a")
        t.start()
        expect(m, t.sync(),
               [("edit", "a", "sh")] * 3 + [("edit", "a", "sed")],
               ["1\n", "2\n", "3\n", "4\n"])


def copies_that_no_line_names_are_removed():
    """Those that a killed process left; not those that a line names, nor what
    is no copy."""
    with world({"a": "0\n"}) as (m, t):
        kept = m.home.state_dirs()[0] + "/kept/"

        def leave(*names):
            for name in names:
                with open(kept + name, "w") as f:
                    f.write("0\n")
        t.kill()
        run(m, SAVES)
        leave("1a2b-1", "1a2b-65536", "notes", "1a2b-")
        assert len(os.listdir(kept)) > 4, "versions are kept"
        t.start()
        expect(m, t.sync(), [("edit", "a", "sh")] * 3, ["1\n", "2\n", "3\n"])
        st.eventually(lambda: sorted(os.listdir(kept)) == ["1a2b-", "notes"],
                      "leftovers are removed")
        # The next mount may find those of one that was killed.
        m.umount()
        m.proc.wait(st.DEADLINE)
        leave("1a2b-2")
        with st.Mount(m.repo, home=m.home) as again:
            run(again, SAVES)
            st.eventually(lambda: "1a2b-2" not in os.listdir(kept),
                          "leftovers are removed")
            expect(m, t.sync()[-3:], [("edit", "a", "sh")] * 3,
                   ["1\n", "2\n", "3\n"])


def what_another_appends_at_once_is_its_own():
    script = "cp \"$1\" b; dd if=\"$2\" of=b conv=notrunc oflag=append"
    with world() as (m, t):
        one, two = m.home.top + "/one", m.home.top + "/two"
        for name, text in (one, "1\n"), (two, "2\n"):
            with open(name, "w") as f:
                f.write(text)
        with stopped(t):
            run(m, script, one, two)
        expect(m, t.sync(), [("create", "b", "cp"), ("edit", "b", "dd")],
               ["1\n", "1\n2\n"])


def every_form_of_the_log_names_all_authors_of_a_merged_entry():
    with world({"a": "0\n"}) as (m, t):
        with stopped(t):
            run(m, "dd if=/dev/zero of=big bs=2000000 count=1")
            run(m, "cp a big")
        e = t.sync()[-1]
        assert e["merged"] and len(e["authors"]) > 1, e
        for form in (), ("--oneline",), ("--stat",), ("--files",):
            text = m.home.run("log", *form, cwd=m.path, check=True).stdout
            for name in "dd", "cp":
                assert re.search(r"\b%s\b" % name, text), (form, text)


def a_file_made_by_one_and_removed_by_another_is_two_entries():
    with world() as (m, t):
        with stopped(t):
            run(m, "echo 1 > b; rm b")
        got = t.sync()
        assert brief(got) == [("create", "b", "sh"), ("delete", "b", "rm")]
        assert contents(m, got[:1]) == ["1\n"]


def a_version_with_the_text_before_is_none():
    """Though its mode is not known: it was kept, and its names are gone."""
    with world({"a": "x\n"}) as (m, t):
        with stopped(t):
            run(m, "echo 1 > b")
            run(m, "echo x > b")
            run(m, "mv b a")
            run(m, "echo y > a")
            run(m, "mv a z")
        got = t.sync()
        assert not [e for e in got if e["kind"] == "edit" and
                    e["before"] == e["after"]], brief(got)


def a_file_made_and_removed_by_one_is_none():
    with world() as (m, t):
        with stopped(t):
            p = subprocess.run([sys.executable, "-c", "import os\n"
                                "open('b', 'w').write('1')\nos.unlink('b')"],
                               cwd=m.path, check=True)
        assert p.returncode == 0 and t.sync() == []


def an_edit_outside_comes_before_our_own():
    with world({"a": "0\n"}) as (m, t):
        run(m, "echo 1 > a")
        t.sync()
        with stopped(t):
            with open(m.below + "/a", "w") as f:
                f.write("outside\n")
            run(m, "echo ours > a")
        expect(m, t.sync(), [("edit", "a", "outside"), ("edit", "a", "sh")],
               ["outside\n", "ours\n"])


def git(m, *args):
    subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", *args],
                   cwd=m.path, check=True, stdout=subprocess.DEVNULL)


def by_git_and_sed(t):
    return [e for e in t.sync() if not e["path"].startswith(".git/")]


def a_checkout_and_an_edit_are_two_entries():
    """The edit before the checkout, and after it."""
    st.need("git")
    with world({"a": "0\n"}) as (m, t):
        git(m, "init", "-q")
        git(m, "add", "a")
        git(m, "commit", "-qm", "0")
        t.sync()
        for n in range(15):
            run(m, "sed -i s/0/%d/ a && git checkout -q a && "
                "sed -i s/0/%d/ a && git checkout -q a" % (n + 1, n + 101))
            got = by_git_and_sed(t)
            expect(m, got, [("edit", "a", "sed"), ("edit", "a", "git")] * 2,
                   ["%d\n" % (n + 1), "0\n", "%d\n" % (n + 101), "0\n"])


def a_stash_comes_and_goes():
    st.need("git")
    with world({"a": "0\n"}) as (m, t):
        git(m, "init", "-q")
        git(m, "add", "a")
        git(m, "commit", "-qm", "0")
        t.sync()
        with stopped(t):
            run(m, "sed -i s/0/1/ a")
            git(m, "stash", "-q")
            git(m, "stash", "pop", "-q")
        expect(m, by_git_and_sed(t), [("edit", "a", "sed"), ("edit", "a", "git"),
                                      ("edit", "a", "git")],
               ["1\n", "0\n", "1\n"])


st.main(three_saves_at_once_are_three_entries,
        versions_are_kept_while_the_tape_is_stopped,
        versions_are_kept_while_there_is_no_tape,
        copies_that_no_line_names_are_removed,
        what_another_appends_at_once_is_its_own,
        every_form_of_the_log_names_all_authors_of_a_merged_entry,
        a_file_made_by_one_and_removed_by_another_is_two_entries,
        a_version_with_the_text_before_is_none,
        a_file_made_and_removed_by_one_is_none,
        an_edit_outside_comes_before_our_own,
        a_checkout_and_an_edit_are_two_entries, a_stash_comes_and_goes)

#!/usr/bin/env python3
"""What undo takes back, and what it keeps. undo_faults.py and undo_random.py
have the rest."""

import json
import os
import re
import subprocess
import time

import st
import taped
from undoing import TEN, World, text, tree, world, write


# -- What is taken back.

def nothing_changes_without_yes():
    with world() as w:
        n = w.sh("sed -i 's/line 2/two/' a")
        before = tree(w.path)
        r = w.run("undo", str(n))
        assert "-two\n+line 2\n" in r.stdout, r.stdout
        assert "1 file would change. To do it:\n    statetape undo --yes %d\n" \
            % n in r.stdout, r.stdout
        assert tree(w.path) == before and w.t.sync() == []


def what_others_did_since_stays():
    with world() as w:
        n = w.sh("sed -i 's/line 2/two/' a")
        w.sh("sed -i 's/line 9/nine/' a; echo b > b")
        r = w.undo(n)
        assert "changed a\n" in r.stdout and "redo" in r.stdout, r
        assert text(w, "a") == TEN.replace("line 9", "nine")
        e, = w.newest()
        assert e["kind"] == "edit" and e["author"]["comm"] == "statetape", e
        assert e["author"]["cmdline"].endswith("undo --yes %d" % n), e
        assert os.listdir(w.path) in (["a", "b"], ["b", "a"])


def every_kind_of_change_comes_back():
    with world({"a": TEN, "d/x": "x\n", "gone": "gone\n", "run": "#!/bin/sh\n"}) \
            as w:
        w.sh("ln -s a link; chmod 640 gone")
        before = tree(w.path)
        n = w.sh("rm gone; mv d/x y; rmdir d; chmod +x run; mkdir n; "
                 "echo new > n/new; ln -sf run link; sed -i 's/1$/one/' a")
        after = tree(w.path)
        shown = w.run("undo", "--command", str(n)).stdout
        for part in ("rename from y\nrename to d/x\n",
                     "deleted file mode 100644\n--- a/n/new\n+++ /dev/null\n",
                     "new file mode 100640\n--- /dev/null\n+++ b/gone\n",
                     "old mode 100755\nnew mode 100644\n",
                     "-run\n\\ No newline at end of file\n+a\n"):
            assert part in shown, shown
        w.undo("--command", n)
        assert tree(w.path) == before
        assert not os.path.exists(w.path + "/n")
        w.run("redo", "--yes")
        assert tree(w.path) == after


def redo_takes_back_one_undo_after_the_other():
    with world() as w:
        one = w.sh("sed -i 's/line 2/two/' a")
        two = w.sh("sed -i 's/line 9/nine/' a")
        both = text(w, "a")
        w.undo(one)
        w.undo(two)
        assert text(w, "a") == TEN
        shown = w.run("redo").stdout
        assert "+nine" in shown and "two" not in shown, shown
        w.run("redo", "--yes")
        assert text(w, "a") == TEN.replace("line 9", "nine")
        w.run("redo", "--yes")
        assert text(w, "a") == both
        r = w.run("redo", "--yes", code=1)
        assert "no 'statetape undo'" in r.stderr, r
        w.undo(one)
        undo = w.newest()[-1]
        w.undo(two)
        w.run("redo", "--yes", str(undo["n"]))
        assert text(w, "a") == TEN.replace("line 2", "two")
        w.run("redo", "--yes")
        assert text(w, "a") == both
        assert "was not made by" in w.run("redo", str(two), code=2).stderr


def an_undo_is_undone_as_any_entry():
    with world() as w:
        n = w.sh("sed -i 's/line 2/two/' a; rm -f b; echo c > c")
        after = tree(w.path)
        w.undo("--command", n)
        undone = w.newest()[-1]["n"]
        w.undo("--command", undone)
        assert tree(w.path) == after


def a_range_is_undone_as_one():
    with world() as w:
        first = w.sh("sed -i 's/line 2/two/' a")
        w.sh("sed -i 's/two/zwei/' a")
        last = w.sh("echo 11 >> a")
        w.sh("sed -i 's/line 7/seven/' a")
        w.undo("%d..%d" % (first, last))
        assert text(w, "a") == TEN.replace("line 7", "seven")
        w.undo("%d..now" % first)
        assert text(w, "a") == TEN


def a_file_is_followed_to_its_new_name():
    with world({"d/a": TEN}) as w:
        n = w.sh("sed -i 's/line 2/two/' d/a")
        w.sh("mv d e; mv e/a e/b")
        w.undo(n)
        assert text(w, "e/b") == TEN
        n = w.sh("mv e/b c")
        w.sh("sed -i 's/line 7/seven/' c; chmod 600 c")
        w.undo(n)
        assert tree(w.path) == {"e/b": ("0o100600", TEN.replace(
            "line 7", "seven").encode())}


def names_are_exchanged():
    with world({"a": "a\n", "b": "b\n"}) as w:
        before = tree(w.path)
        n = w.all("mv a t; mv b a; mv t b")
        after = tree(w.path)
        w.undo(n)
        assert tree(w.path) == before
        w.run("redo", "--yes")
        assert tree(w.path) == after


def what_is_gone_already_is_no_conflict():
    with world({"a": TEN, "b": "b\n"}) as w:
        n = w.sh("sed -i 's/line 2/two/' a; echo c > c; rm b")
        w.sh("rm a c; echo b > b")
        before = tree(w.path)
        r = w.undo("--command", n)
        assert "nothing to do" in r.stdout, r
        assert tree(w.path) == before


# -- Which entries.

def entries_are_chosen_by_author_and_time():
    with world() as w:
        w.sh("sed -i 's/line 2/two/' a")
        w.sh("echo 11 >> a; true")
        w.undo("--author", "sed", "--since", "1 hour ago")
        assert text(w, "a") == TEN + "11\n"
        w.undo("--since", "1 hour ago")
        assert text(w, "a") == TEN
        w.undo("--author", "nobody", code=1)


def paths_are_taken_from_here():
    with world({"src/a": "1\n", "src/b": "1\n", "c": "1\n"}) as w:
        n = w.sh("echo 2 > src/a; echo 2 > src/b; echo 2 > c")
        here = w.path + "/src"
        r = w.run("undo", "--command", str(n), "a", "../c", cwd=here)
        assert "--- a/a\n" in r.stdout and "--- a/../c\n" in r.stdout, r.stdout
        assert "--yes a ../c" in r.stdout and "src" not in r.stdout, r.stdout
        r = w.undo("--command", n, "a", cwd=here)
        assert r.stdout.startswith("changed a\n"), r
        assert [text(w, p) for p in ("src/a", "src/b", "c")] == \
            ["1\n", "2\n", "2\n"]
        w.undo("--command", n, ".", cwd=here)
        assert text(w, "src/b") == "1\n"
        r = w.undo("--command", n, "none", cwd=here, code=1)
        assert "none of the entries is about 'none'" in r.stderr, r
        r = w.undo("--command", n, "../..", cwd=here, code=2)
        assert "is outside the repository" in r.stderr, r


def wrong_words_are_refused():
    with world() as w:
        n = w.sh("echo 2 > a")
        for words, why in (
                ((), "undo wants an entry N, a range N..M"),
                (("x",), "'x' is neither an entry's number nor a range"),
                (("0",), "neither an entry"), (("2..1",), "neither an entry"),
                (("1..",), "neither an entry"),
                (("--command", "1", "--turn", "1"), "both choose entries"),
                (("--since", "today", "--command", "1"),
                 "both choose entries"),
                (("--author", "x", "1..2"), "for a file of that name say ./1"),
                (("--since", "then"), "--since wants a date"),
                (("1", "--ours", "--theirs"), "give one")):
            r = w.run("undo", *words, code=2)
            assert why in r.stderr and r.stderr.count("\n") == 1, r
        assert "there is no entry 99" in w.run("undo", "99", code=1).stderr
        assert "wants the number" in w.run("redo", "x", code=2).stderr
        assert "no 'statetape undo'" in w.run("redo", code=1).stderr
        assert "no entry was chosen" in \
            w.run("undo", "--turn", "7", code=1).stderr
        write(w.m.below, {"out": "side\n"})
        e, = st.eventually(w.t.sync, "an entry")
        r = w.run("undo", "--command", str(e["n"]), code=1)
        assert "is not known; name entries by their numbers" in r.stderr, r
        w.undo(e["n"])
        assert os.listdir(w.path) == ["a"] and n


# -- Conflicts.

def a_conflict_is_named_and_decided():
    with world({"a": TEN, "b": "b\n"}) as w:
        n = w.sh("sed -i 's/line 2/two/; s/line 9/nine/' a; echo B > b")
        last = w.sh("sed -i 's/two/zwei/' a; true")
        r = w.undo("--command", n, code=1)
        assert "'a' is left as it is: line 2 changed since (entry %d by sed" \
            % last in r.stderr, r
        assert text(w, "b") == "b\n"
        assert text(w, "a") == TEN.replace("line 2", "zwei").replace(
            "line 9", "nine")
        r = w.run("undo", "--command", str(n), "--ours")
        assert "nine" in r.stdout and "zwei" not in r.stdout, r
        w.undo("--command", n, "--ours")
        assert text(w, "a") == TEN.replace("line 2", "zwei")
        w.run("redo", "--yes")
        w.undo("--command", n, "--theirs")
        assert text(w, "a") == TEN


def files_made_removed_and_moved_conflict_too():
    with world({"a": "a\n", "b": "b\n", "c": "c\n"}) as w:
        n = w.all("echo new > new; rm a; mv b d; mv c e")
        w.sh("echo more >> new; echo other > a; mv d f; echo c2 > c")
        before = tree(w.path)
        r = w.undo(n, code=1)
        for name, why in (("new", "changed since"), ("a", "made anew since"),
                          ("f", "renamed to 'f' since"),
                          ("e", "something else has the name 'c' now")):
            assert "'%s' is left as it is: %s" % (name, why) in r.stderr, r
        assert tree(w.path) == before
        w.undo(n, "--ours", code=1)
        assert tree(w.path) == before
        r = w.undo(n, "--theirs", code=1)
        assert sorted(tree(w.path)) == ["a", "b", "c", "e"]
        assert (text(w, "a"), text(w, "b")) == ("a\n", "b\n")


def what_is_not_kept_is_named():
    with world() as w:
        n = w.all("head -c 100 /dev/zero > zeros; echo x > x; "
                 "head -c 2000000 /dev/zero | tr '\\0' 'x' > large")
        w.sh("printf 'a\\0b' > a")
        r = w.undo("%d..now" % 1, code=1)
        assert "'zeros' is left as it is: the tape has not kept" in r.stderr, r
        assert "'large' is left as it is: the tape has not kept" in r.stderr, r
        assert "'a' is left as it is: the tape has not kept" in r.stderr, r
        assert text(w, "a") == "a\0b" and "x" not in os.listdir(w.path)
        w.undo("1..now", "--theirs")
        assert text(w, "a") == TEN
        assert os.listdir(w.path) == ["a"]


def what_git_keeps_is_left():
    with world({".git/config": "one\n", "a": "a\n"}) as w:
        n = w.sh("echo two > .git/config; echo b > a")
        r = w.undo("--command", n, code=1)
        assert "'.git/config' is left as it is: it is git's own" in r.stderr, r
        assert text(w, ".git/config") == "two\n" and text(w, "a") == "a\n"


def nothing_is_written_through_a_link():
    with world({"d/a": "a\n"}) as w:
        n = w.sh("echo b > d/a")
        other = w.home.mkdir("other")
        write(other, {"a": "b\n"})
        w.sh("mv d e; ln -s \"$1\" d", other)
        w.undo(n)
        assert text(w, "e/a") == "a\n" and text(w, "d/a") == "b\n"
        n = w.sh("rm e/a")
        w.sh("rmdir e; ln -s \"$1\" e; rm \"$1\"/a", other)
        r = w.undo(n, code=1)
        assert "is left as it is: something else has the name" in r.stderr, r
        assert os.listdir(other) == []


# -- Places.

def a_run_with_a_private_mount_is_undone_from_outside():
    with st.Home() as home:
        repo = home.mkdir("repo")
        write(repo, {"a": TEN})
        script = ("sed -i 's/line 2/two/' a; : > done; "
                  "while [ ! -e go ]; do sleep 0.05; done; cat a > seen")
        p = home.start("run", "--mount", "private", "--", "sh", "-c", script,
                       cwd=repo, stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            st.eventually(lambda: os.path.exists(repo + "/done") or
                          p.poll() is not None, "the agent works")
            if p.poll() is not None or st.mounted(repo):
                st.skip("no private mounts here")
            r = home.run("undo", "--author", "sed", "--yes", cwd=repo)
            assert r.returncode == 0 and "Nothing is mounted" not in r.stderr, r
            with open(repo + "/a") as f:
                assert f.read() == TEN
            log = home.run("log", "--json", "-n", "1", "--path", "a", cwd=repo)
            assert '"comm":"statetape"' in log.stdout, log
            home.run("restore", "1:a", cwd=repo, check=True)
            home.run("redo", "--yes", cwd=repo)
            write(repo, {"go": ""})
            out = p.communicate(timeout=st.DEADLINE)[0]
            assert p.returncode == 0, out
            with open(repo + "/seen") as f:
                assert f.read() == TEN.replace("line 2", "two"), out
        finally:
            if p.poll() is None:
                p.kill()
                p.wait()


def both_in(home, repo):
    """The entries, newest first, once they say of `a` and `b`. Without a mount
    sed's temporary file may be seen as well."""
    log = [json.loads(line)
           for line in home.run("log", "--json", repo).stdout.splitlines()
           if line != "[]"]
    return log if {"a", "b"} <= {e["path"] for e in log} else None


def a_run_without_a_mount_is_undone():
    with st.Home() as home:
        repo = home.mkdir("repo")
        write(repo, {"a": TEN, "b": "b\n"})
        go = home.top + "/go"
        script = ("sed -i 's/line 2/two/' a; rm b; "
                  "while [ ! -e '%s' ]; do sleep 0.05; done" % go)
        p = home.start("run", "--no-mount", "--", "sh", "-c", script,
                       cwd=repo, stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            log = st.eventually(lambda: both_in(home, repo), "both entries")
            r = home.run("undo", "1..%d" % log[0]["n"], "--yes", "--repo",
                         repo)
            assert r.returncode == 0 and "Nothing is mounted" in r.stderr, r
            assert tree(repo) == {"a": ("0o100644", TEN.encode()),
                                  "b": ("0o100644", b"b\n")}
            back = re.search(r"take it back:\n    (.*)\n", r.stdout)
            assert back, r
            home.run(*back[1].split()[1:], cwd=repo, check=True)
            assert list(tree(repo)) == ["a"]
        finally:
            write(home.top, {"go": ""})
            out = p.communicate(timeout=st.DEADLINE)[0]
        assert p.returncode == 0, out


def without_a_mount_it_says_so():
    with st.Home() as home:
        repo = home.mkdir("repo")
        write(repo, {"a": TEN})
        with st.Mount(repo, home=home) as m, taped.Tape(home, repo) as t:
            t.settle_in()
            n = World(m, t).sh("sed -i 's/line 2/two/' a")
        r = home.run("undo", str(n), "--yes", cwd=repo)
        assert r.returncode == 0, r
        assert "Nothing is mounted" in r.stderr and "changed a" in r.stdout, r
        with open(repo + "/a") as f:
            assert f.read() == TEN
        with taped.Tape(home, repo) as t:
            e = t.ask("LOG", limit=1)["entries"][0]
            assert e["path"] == "a" and e["author"]["origin"] != "mount", e
            # And with a tape alone, as under `run --no-mount`.
            r = home.run("undo", str(e["n"]), "--yes", cwd=repo)
            assert r.returncode == 0, r
            back = re.search(r"take it back:\n    (.*)\n", r.stdout)
            with open(repo + "/a") as f:
                assert f.read() == TEN.replace("line 2", "two")
            assert back, r
            home.run(*back[1].split()[1:], cwd=repo, check=True)
            with open(repo + "/a") as f:
                assert f.read() == TEN


class Agent:
    """A shell that works on turns, as the manager tells the tape of one."""

    def __init__(self, w, conversation):
        self.w, self.conversation, self.turns = w, conversation, 0
        self.p = subprocess.Popen(["sh"], stdin=subprocess.PIPE, text=True,
                                  stdout=subprocess.PIPE, cwd=w.path)

    def turn(self, script):
        with open("/proc/%d/stat" % self.p.pid) as f:
            start = int(f.read().rsplit(")", 1)[1].split()[19])
        self.turns += 1
        self.w.t.ask("TURN", conversation=self.conversation, client="agent",
                     model="m", turn="t%d" % self.turns, pid=self.p.pid,
                     start=start, at_ns=time.time_ns(),
                     calls_ns=time.time_ns(), results=[],
                     calls=[{"id": "c%d" % self.turns, "tool": "Bash",
                             "command": script}])
        self.p.stdin.write(script + "; echo\n")
        self.p.stdin.flush()
        self.p.stdout.readline()
        self.w.t.sync()

    def close(self):
        self.p.stdin.close()
        self.p.stdout.close()
        self.p.wait()


def a_turn_of_one_agent_leaves_what_the_other_did():
    with world({"a": TEN, "b": TEN}) as w:
        one, two = Agent(w, "first-talk"), Agent(w, "second-talk")
        try:
            one.turn("sed -i 's/line 2/two/' a b; : > one")
            two.turn("sed -i 's/line 9/nine/' a b; : > two")
            one.turn("sed -i 's/line 5/five/' a; mv b c; rm one")
            two.turn("sed -i 's/line 7/seven/' a")
            after = tree(w.path)
            r = w.run("undo", "--turn", "1", code=2)
            assert "first-talk" in r.stderr and "second-talk" in r.stderr, r
            w.undo("--turn", 1, "--conversation", "first")
            assert text(w, "a") == TEN.replace("line 9", "nine").replace(
                "line 5", "five").replace("line 7", "seven")
            assert text(w, "c") == TEN.replace("line 9", "nine")
            assert sorted(tree(w.path)) == ["a", "c", "two"]
            w.run("redo", "--yes")
            assert tree(w.path) == after
            w.undo("--conversation", "second")
            assert text(w, "a") == TEN.replace("line 2", "two").replace(
                "line 5", "five")
            assert text(w, "c") == TEN.replace("line 2", "two")
            assert sorted(tree(w.path)) == ["a", "c"]
            w.undo("--turn", 3, code=1)
        finally:
            one.close()
            two.close()


st.main(nothing_changes_without_yes, what_others_did_since_stays,
        every_kind_of_change_comes_back,
        redo_takes_back_one_undo_after_the_other,
        an_undo_is_undone_as_any_entry, a_range_is_undone_as_one,
        a_file_is_followed_to_its_new_name, names_are_exchanged,
        what_is_gone_already_is_no_conflict,
        entries_are_chosen_by_author_and_time, paths_are_taken_from_here,
        wrong_words_are_refused, a_conflict_is_named_and_decided,
        files_made_removed_and_moved_conflict_too, what_is_not_kept_is_named,
        what_git_keeps_is_left, nothing_is_written_through_a_link,
        a_run_with_a_private_mount_is_undone_from_outside,
        a_run_without_a_mount_is_undone, without_a_mount_it_says_so,
        a_turn_of_one_agent_leaves_what_the_other_did)

#!/usr/bin/env python3
"""Blame by line, on a real mount with a tape that runs."""

import json
import os
import subprocess

import st
import taped


class World:
    def __init__(self, m, t):
        self.m, self.t = m, t

    def run(self, *args):
        return self.m.home.run(*args, cwd=self.m.path)

    def sh(self, script):
        subprocess.run(["sh", "-c", script], cwd=self.m.path, check=True)
        return max(e["n"] for e in self.t.sync())

    def lines(self, path):
        """(entry, or 0 if older than the tape) of each line."""
        r = self.run("blame", "-l", "--json", path)
        assert r.returncode == 0 and r.stderr == "", r
        all = []
        for run in map(json.loads, r.stdout.splitlines()):
            assert run["start_line"] == len(all) + 1, run
            all += [run.get("entry", 0)] * (run["end_line"] - run["start_line"] + 1)
        return all


def with_world(test, files, git=False):
    with st.Home() as home:
        repo = home.mkdir("repo")
        for name, text in files.items():
            with open(repo + "/" + name, "w") as f:
                f.write(text)
        if git:
            subprocess.run(
                "git init -q && git config user.name n && git config "
                "user.email e && git add -A && git commit -qm first",
                shell=True, cwd=repo, check=True)
        with st.Mount(repo, home=home) as m, taped.Tape(home, repo) as t:
            t.settle_in()
            test(World(m, t))


def each_line_has_the_entry_that_wrote_it():
    def test(w):
        assert w.lines("a") == [0] * 5
        one = w.sh("sed -i s/two/TWO/ a")
        two = w.sh("sed -i '1i zero' a")
        three = w.sh("sed -i /three/d a")
        four = w.sh("echo six >> a")
        assert w.lines("a") == [two, 0, one, 0, 0, four], w.lines("a")
        assert three not in w.lines("a")
        text = w.run("blame", "--lines", "a").stdout.splitlines()
        assert len(text) == 6, text
        assert all(len(line) <= 80 for line in text), text
        assert "before the tape" in text[1], text
        assert "sed -i s/two/TWO/ a" in text[2], text
        assert text[2].split()[0] == str(one), text
        assert text[2].endswith("    3  TWO"), text

    with_world(test, {"a": "one\ntwo\nthree\nfour\nfive\n"})


def lines_are_followed_over_renames_and_atomic_saves():
    def test(w):
        one = w.sh("sed -i s/two/TWO/ a")
        w.sh("mkdir d && mv a d/b")
        two = w.sh("awk '{ print } END { print \"three\" }' d/b > t && mv t d/b")
        assert w.lines("d/b") == [0, one, two], w.lines("d/b")
        # Another file of the old name has nothing to do with it.
        other = w.sh("echo new > a")
        assert w.lines("a") == [other]
        w.sh("rm a")
        again = w.sh("printf 'new\\nmore\\n' > a")
        assert w.lines("a") == [again] * 2, (w.lines("a"), again)

    with_world(test, {"a": "one\ntwo\n"})


def a_version_whose_lines_are_not_known_takes_all_lines():
    def test(w):
        w.sh("sed -i s/one/ONE/ a")
        big = w.sh("head -c 3000000 /dev/zero > a")
        back = w.sh("printf 'one\\n2\\n' > a")
        assert back > big and w.lines("a") == [back] * 2, w.lines("a")

    with_world(test, {"a": "one\ntwo\n"})


def what_was_brought_back_keeps_its_entries():
    def test(w):
        one = w.sh("sed -i s/two/TWO/ a")
        w.sh("git stash -q")
        assert w.lines("a") == [0, 0], w.lines("a")
        w.sh("git stash pop -q")
        two = w.sh("echo three >> a")
        assert w.lines("a") == [0, one, two], (w.lines("a"), one, two)
        w.sh("mkdir d && mv a d/b")
        w.sh("git stash -qu")
        w.sh("git stash pop -q")
        w.sh("sed -i 1d d/b")
        assert w.lines("d/b") == [one, two], (w.lines("d/b"), one, two)

    st.need("git")
    with_world(test, {"a": "one\ntwo\n"}, git=True)


def nobody_passes_for_another_by_its_command_line():
    """The kernel's name comes first, the claim beside it."""
    def test(w):
        subprocess.run(["bash", "-c", "exec -a git sed -i s/one/1/ a"],
                       cwd=w.m.path, check=True)
        n = w.t.sync()[-1]["n"]
        shown = w.run("show", str(n)).stdout
        assert "Author: sed (git -i s/one/1/ a) [" in shown, shown
        assert "Runs:   " + os.path.realpath("/bin/sed") in shown, shown
        assert "sed (git -i" in w.run("blame", "-l", "a").stdout
        subprocess.run(["perl", "-e", "$0 = 'git commit'; open F, '>', 'a';"
                        "print F 'x'"], cwd=w.m.path, check=True)
        log = w.run("log", "-n", "1").stdout
        assert "Author: perl" in log and "git commit" not in log.split(
            "perl")[0], log

    with_world(test, {"a": "one\n"})


def wrong_arguments_get_one_sentence():
    def test(w):
        for args in (["-l", "none"], ["-l", "../a"], ["-l", "d"]):
            r = w.run("blame", *args)
            assert r.returncode == 1 and r.stdout == "", r
            assert r.stderr.count("\n") == 1, r
        assert w.run("blame", "-l").returncode == 2

    with_world(test, {"a": "one\n"})


def without_a_tape_a_file_that_changed_is_said_to_have():
    with st.Home() as home:
        repo = home.mkdir("repo")
        with open(repo + "/a", "w") as f:
            f.write("one\ntwo\n")
        with taped.Tape(home, repo) as t:
            t.settle_in()
            with open(repo + "/a", "a") as f:
                f.write("three\n")
            n = st.eventually(lambda: [e["n"] for e in t.sync()],
                              "the change is on the tape")[-1]
        r = home.run("blame", "-l", "a", repo, cwd=repo, check=True)
        assert r.stderr == "" and len(r.stdout.splitlines()) == 3, r
        assert "a process outside" in r.stdout, r
        with open(repo + "/a", "a") as f:
            f.write("four\n")
        r = home.run("blame", "-l", "a", repo, cwd=repo, check=True)
        assert "no tape is running" in r.stderr, r
        assert "entry %d" % n in r.stderr, r
        assert len(r.stdout.splitlines()) == 3, r
        os.unlink(repo + "/a")


if __name__ == "__main__":
    st.main(
        each_line_has_the_entry_that_wrote_it,
        lines_are_followed_over_renames_and_atomic_saves,
        a_version_whose_lines_are_not_known_takes_all_lines,
        what_was_brought_back_keeps_its_entries,
        nobody_passes_for_another_by_its_command_line,
        wrong_arguments_get_one_sentence,
        without_a_tape_a_file_that_changed_is_said_to_have)

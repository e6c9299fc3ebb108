#!/usr/bin/env python3
"""What `statetape log` shows: commands, not system calls; in several forms, on
a real mount with a tape that runs."""

import re
import subprocess

import st
import taped

FILES = 38


class World:
    def __init__(self, m, t):
        self.m, self.t = m, t

    def sh(self, script):
        """The newest entry after a command of its own process."""
        subprocess.run(["sh", "-c", script], cwd=self.m.path, check=True)
        return max([e["n"] for e in self.t.sync()], default=0)

    def log(self, *args, cwd="", columns=80, code=0):
        self.m.home.env["COLUMNS"] = str(columns)
        r = self.m.home.run("log", *args, cwd=self.m.path + "/" + cwd)
        assert r.returncode == code, r
        return r.stdout if code == 0 else r.stderr

    def paragraphs(self, *args, **kw):
        return self.log(*args, **kw).rstrip("\n").split("\n\n")


def with_world(test):
    st.need("git")
    with st.Home() as home:
        repo = home.mkdir("repo")
        for n in range(FILES):
            with open("%s/file%02d.py" % (repo, n), "w") as f:
                f.write("def f%d():\n    return 1\n" % n)
        subprocess.run(
            "git init -q && git config user.name n && git config user.email e"
            " && mkdir sub && touch sub/x && git add -A && git commit -qm one"
            " && git checkout -qb two && sed -i s/return/yield/ *.py &&"
            " git commit -qam two && git checkout -q -",
            shell=True, cwd=repo, check=True)
        with (st.Mount(repo, home.mkdir("mounted"), home=home) as m,
              taped.Tape(home, repo) as t):
            t.settle_in()
            test(World(m, t))


def a_checkout_is_one_paragraph():
    def test(w):
        w.sh("git checkout -q two")
        (text,) = w.paragraphs()
        lines = text.splitlines()
        # More of them if a file settled while git was writing it.
        entries = len(w.log("--json").splitlines())
        assert lines[0].startswith("entries 1 to %d, 38 files +" % entries), text
        assert "git checkout -q two" in lines[1], text
        assert lines[1].startswith("Author: "), text
        assert lines[2].startswith("Date:   "), text
        assert [x for x in lines if x.startswith("    edit   file07.py +")]
        assert len([x for x in lines if x.startswith("    edit ")]) == 38, text
        assert re.search(r"changed .*file0\d\.f\d, .* and \d+ more$", text,
                         re.M), text
        # -p has all diffs, and --files is entry by entry.
        assert w.log("-p").count("\n--- a/file") == entries
        assert len(w.paragraphs("--files")) == entries

    with_world(test)


def commands_are_told_apart():
    def test(w):
        w.sh("echo one > a; echo two > b; mv file00.py sub/moved.py")
        w.sh("echo three >> a")
        one, both = w.paragraphs()
        assert one.startswith("entry 4 edit a +1 -0\n"), one
        assert both.startswith("entries 1 to 3, 3 files +2 -0\n"), both
        assert "    rename file00.py -> sub/moved.py +0 -0" in both, both
        assert "    create b +1 -0" in both, both
        # -n counts commands.
        assert w.paragraphs("-n", "1") == [one]
        assert len(w.log("--json", "-n", "1").splitlines()) == 1
        # A filter chooses entries, and shows their commands.
        (text,) = w.paragraphs("--path", "b")
        assert re.match(r"entry \d create b", text), text

    with_world(test)


def a_file_that_a_command_changes_twice_is_one_line():
    def test(w):
        w.sh("sed -i s/1/2/ file01.py && sed -i s/2/3/ file01.py && "
             "echo '# end' >> file01.py")
        (text,) = w.paragraphs()
        if text.startswith("entries"):
            assert ", 1 file +" in text.splitlines()[0], text
            assert text.count("    edit   file01.py +") == 1, text
        else:
            assert text.startswith("entry 1 edit file01.py +"), text

    with_world(test)


def paths_are_from_the_current_directory():
    def test(w):
        w.sh("echo y > sub/x; echo z > top")
        (text,) = w.paragraphs(cwd="sub")
        assert "    edit   x +1 -0" in text and "create ../top" in text, text
        (one,) = w.paragraphs("--path", "x", cwd="sub")
        assert one.startswith("entry 1 edit x +1 -0"), one
        (one,) = w.paragraphs("--path", "../top", cwd="sub")
        assert "create ../top" in one, one
        assert "outside of" in w.log("--path", "../../x", cwd="sub", code=1)
        assert "sub/x" in w.log("--stat"), "from the root"

    with_world(test)


def one_line_and_bars_fit_the_terminal():
    def test(w):
        w.sh("git checkout -q two")
        w.sh("seq 400 > " + "a_long_name_" * 12)
        w.sh("seq 30 > short; sed -i 1,9d short; echo a-very-long-command-line"
             "-of-many-words and another and another > sub/other")
        for columns in (80, 120):
            lines = w.log("--oneline", columns=columns).splitlines()
            assert len(lines) == 3, lines
            assert max(map(len, lines)) <= columns, lines
            assert re.match(r" +\d+ \d{4}-\d\d-\d\d \d\d:\d\d ", lines[0])
            assert re.search(r"38 files \+\d+ -\d+$", lines[2]), lines
            assert "git checkout" in lines[2], lines
            stat = w.log("--stat", columns=columns).splitlines()
            bars = [x for x in stat if " | " in x]
            assert len(bars) == 38 + 1 + 2, stat
            assert max(map(len, bars)) <= columns, bars
            assert [x for x in stat if re.match(r" file01\.py +\| +\d \+", x)]
            assert [x for x in stat if x.startswith(
                " 38 files changed, ")], stat
            # The longest bar takes what the name leaves.
            (long,) = [x for x in bars if "a_long_name" in x]
            assert " | 400 +++" in long and len(long) > columns - 3, long

    with_world(test)


def forms_exclude_each_other():
    def test(w):
        w.sh("echo x > a")
        assert "exclude" in w.log("--stat", "--oneline", code=2)
        assert "-p goes with" in w.log("--stat", "-p", code=2)
        assert "no entry belongs to a turn" in w.log("--turns")

    with_world(test)


def it_is_the_same_without_a_tape():
    def test(w):
        w.sh("git checkout -q two; echo x > sub/y")
        running = [w.log(*a) for a in ((), ("--stat",), ("--oneline",))]
        w.t.stop()
        assert running == [w.log(*a) for a in ((), ("--stat",),
                                               ("--oneline",))]

    with_world(test)


if __name__ == "__main__":
    st.main(a_checkout_is_one_paragraph,
            commands_are_told_apart,
            a_file_that_a_command_changes_twice_is_one_line,
            paths_are_from_the_current_directory,
            one_line_and_bars_fit_the_terminal,
            forms_exclude_each_other,
            it_is_the_same_without_a_tape)

#!/usr/bin/env python3
"""The verbs that read the tape, without a running tape: from the store
alone."""

import csv
import io
import json
import os
import pty
import subprocess
import unittest

import st

A1 = "import os\n\nLIMIT = 3\n\ndef load(path):\n    return path\n"
A2 = A1.replace("return path", "return 1")
A3 = A2 + "\ndef fresh():\n    return load(LIMIT)\n"
SCRIPT = [
    ("base", "src/a.py", A1),
    ("base", "notes.txt", "one\ntwo\n"),
    ("write", "src/a.py", A2),            # 1
    ("write", "notes.txt", "one\n2\n"),   # 2
    ("write", "src/a.py", A3),            # 3
    ("rename", "notes.txt", "docs.txt"),  # 4
    ("remove", "docs.txt", ""),           # 5
    ("write", "bad\033[31m.txt", "\033[2Jx\n"),  # 6
]


class Verbs(unittest.TestCase):
    def setUp(self):
        self.home = st.Home()
        self.addCleanup(self.home.close)
        self.repo = self.home.mkdir("repo")
        self.fill(SCRIPT)

    def fill(self, script):
        lines = "".join(
            "\t".join(w.replace("\n", "\\n").replace("\033", "\\e")
                      for w in words) + "\n" for words in script)
        subprocess.run(
            [os.environ["TEST_BIN"] + "/unit/tools/tape_fill", self.repo],
            input=lines, text=True, check=True, env=self.home.env)

    def ok(self, *args, cwd=None):
        r = self.home.run(*args, check=True, cwd=cwd or self.repo)
        self.assertEqual(r.stderr, "")
        return r.stdout

    def bad(self, code, why, *args):
        r = self.home.run(*args, cwd=self.repo)
        self.assertEqual(r.returncode, code, r.stdout + r.stderr)
        self.assertIn(why, r.stderr)
        self.assertEqual(r.stderr.count("\n"), 1, r.stderr)

    def numbers(self, *args):
        return [json.loads(line)["n"]
                for line in self.ok("log", "--json", *args).splitlines()]

    # -- log

    def test_the_log_is_newest_first(self):
        self.assertEqual(self.numbers(), [6, 5, 4, 3, 2, 1])
        self.assertEqual(self.numbers("-n", "2"), [6, 5])

    def test_the_log_is_filtered(self):
        self.assertEqual(self.numbers("--path", "*.py"), [3, 1])
        self.assertEqual(self.numbers("--path", "src"), [3, 1])
        self.assertEqual(self.numbers("--symbol", "load"), [3, 1])
        self.assertEqual(self.numbers("--symbol", "a.fresh"), [3])
        self.assertEqual(len(self.numbers("--pid", "700")), 6)
        self.assertEqual(self.numbers("--pid", "4711"), [])
        self.assertEqual(len(self.numbers("--author", "sed *")), 6)
        self.assertEqual(self.numbers("--author", "vi*"), [])
        self.assertEqual(self.numbers("--since", "2026-01-02T03:04:09Z"),
                         [6, 5])
        self.assertEqual(self.numbers("--until", "2026-01-02T03:04:06Z"), [1])
        self.assertEqual(self.numbers("--since", "1 minute ago"), [])

    def test_the_log_says_who_and_what(self):
        text = self.ok("log", "--files", "--path", "src/a.py")
        self.assertIn("entry 3 edit src/a.py +3 -0\n", text)
        self.assertIn("Author: sed -i s/1/2/ x [812] < sh [700] < init [1]\n",
                      text)
        self.assertIn("    new a.fresh\n", text)
        self.assertIn("    changed a.load\n", text)
        self.assertIn("    calls changed a.load\n", text)
        self.assertNotIn("\033", text)

    def test_the_log_has_diffs(self):
        text = self.ok("log", "-p", "--files", "--path", "src/a.py", "-n", "1")
        self.assertIn("--- a/src/a.py\n+++ b/src/a.py\n@@ -4,3 +4,6 @@\n",
                      text)
        self.assertIn("+def fresh():\n", text)

    def test_wrong_words_get_one_sentence(self):
        self.bad(2, "--since wants a date such as", "log", "--since", "soon")
        self.bad(2, "--until wants a date", "log", "--until", "2026-02-30")
        self.bad(2, "show wants the number of an entry", "show", "x")
        self.bad(1, "there is no entry 99; the newest is 6", "show", "99")
        self.bad(2, "diff wants the numbers of two entries", "diff", "a", "1")
        self.bad(2, "cat wants N:PATH", "cat", "src/a.py")
        self.bad(2, "--format wants jsonl or csv", "export", "--format", "x")
        self.bad(1, "there was no file 'none' as of entry 1", "cat", "1:none")
        self.bad(1, "not a path of a file in the repository", "cat", "1:../x")
        self.bad(1, "neither a file nor", "blame", "nothing")

    # -- show, blame

    def test_an_entry_is_shown_in_full(self):
        text = self.ok("show", "1")
        self.assertIn("entry 1 edit src/a.py +1 -1\n", text)
        self.assertIn("\n        < sh -c 'make fix' [700]\n", text)
        self.assertIn("    changed a.load (function)\n", text)
        self.assertIn("-    return path\n+    return 1\n", text)
        self.assertRegex(text, r"Chain:  [0-9a-f]{64}\n")
        self.assertEqual(json.loads(self.ok("show", "1", "--json"))["n"], 1)

    def test_a_rename_and_a_removal_are_shown(self):
        self.assertIn("entry 4 rename notes.txt -> docs.txt",
                      self.ok("show", "4"))
        self.assertIn("--- a/docs.txt\n+++ /dev/null\n@@ -1,2 +0,0 @@\n",
                      self.ok("show", "5"))

    def test_blame_names_entries_and_commands(self):
        for what, cwd in (("src/a.py", None), ("a.py", self.repo + "/src")):
            lines = self.ok("blame", what, cwd=cwd).splitlines()
            self.assertEqual([line.split()[0] for line in lines],
                             ["a", "a.LIMIT", "a.load", "a.fresh"])
            self.assertIn("as before the tape began", lines[1])
            self.assertIn("entry 1", lines[2])
            self.assertIn("sed -i s/1/2/ x [812]", lines[2])
            self.assertIn("entry 3", lines[3])
        self.assertIn("entry 3", self.ok("blame", "a.fresh"))
        self.assertIn("entry 3", self.ok("blame", "fresh"))

    # -- diff, cat, restore

    def patched(self, n, m):
        """The diff between two entries, applied by patch(1)."""
        with st.Home() as home:
            top = home.mkdir("t")
            os.mkdir(top + "/src")
            for path in ("src/a.py", "notes.txt", "docs.txt"):
                r = self.home.run("cat", "%d:%s" % (n, path), cwd=self.repo)
                if r.returncode == 0:
                    with open(top + "/" + path, "w") as f:
                        f.write(r.stdout)
            diff = self.ok("diff", str(n), str(m), "src")
            if diff:
                subprocess.run(["patch", "-p1", "-s"], input=diff, text=True,
                               cwd=top, check=True)
            with open(top + "/src/a.py") as f:
                return f.read()

    def test_a_diff_leads_from_one_to_the_other(self):
        if not st.can_run("patch", "--version"):
            self.skipTest("there is no patch(1)")
        for n, m, text in ((0, 1, A2), (0, 3, A3), (3, 0, A1), (1, 3, A3),
                           (3, 1, A2), (1, 2, A2)):
            self.assertEqual(self.patched(n, m), text, (n, m))

    def test_a_diff_is_of_some_or_of_all(self):
        self.assertEqual(self.ok("diff", "1", "1"), "")
        self.assertIn("+++ b/src/a.py", self.ok("diff", "0", "now"))
        self.assertEqual(self.ok("diff", "3", "4"),
                         "diff --git a/notes.txt b/docs.txt\n"
                         "similarity index 100%\n"
                         "rename from notes.txt\nrename to docs.txt\n")
        self.assertNotIn("notes", self.ok("diff", "0", "3", "src/a.py"))
        self.assertEqual(self.ok("diff", "0", "1"),
                         self.ok("diff", "0", "1", "--repo", self.repo))

    def test_a_file_is_printed_as_it_was(self):
        self.assertEqual(self.ok("cat", "0:src/a.py"), A1)
        self.assertEqual(self.ok("cat", "1:src/a.py"), A2)
        self.assertEqual(self.ok("cat", "6:src/a.py"), A3)
        self.assertEqual(self.ok("cat", "3:notes.txt"), "one\n2\n")

    def test_restoring_without_a_mount_says_so(self):
        os.chmod(self.repo + "/src/a.py", 0o751)
        r = self.home.run("restore", "0:src/a.py", self.repo)
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn("Nothing is mounted", r.stderr)
        with open(self.repo + "/src/a.py") as f:
            self.assertEqual(f.read(), A1)
        self.assertEqual(os.stat(self.repo + "/src/a.py").st_mode & 0o777,
                         0o751)
        self.assertIn("already has that content",
                      self.ok("restore", "0:src/a.py"))
        self.home.run("restore", "4:docs.txt", self.repo, check=True)
        self.assertEqual(sorted(os.listdir(self.repo)),
                         ["bad\033[31m.txt", "docs.txt", "src"])
        os.unlink(self.repo + "/docs.txt")
        os.symlink("src/a.py", self.repo + "/docs.txt")
        self.bad(1, "exists and is not a regular file", "restore",
                 "4:docs.txt")

    def test_restoring_does_not_follow_links_out(self):
        os.rename(self.repo + "/src", self.home.top + "/elsewhere")
        os.symlink(self.home.top + "/elsewhere", self.repo + "/src")
        self.bad(1, "cannot be written", "restore", "0:src/a.py")

    # -- verify, export, and the rest

    def database(self):
        return [d + "/tape.db" for d in self.home.state_dirs()][0]

    def test_an_untouched_tape_is_well(self):
        self.assertIn("all as they were written", self.ok("verify"))
        self.assertEqual(json.loads(self.ok("verify", "--json"))["findings"],
                         [])

    def test_export_has_all(self):
        lines = [json.loads(x) for x in self.ok("export").splitlines()]
        self.assertEqual([e["n"] for e in lines], [1, 2, 3, 4, 5, 6])
        self.assertEqual(lines[0]["at_ns"], 1767323045678901234)
        rows = list(csv.DictReader(
            io.StringIO(self.ok("export", "--format", "csv"))))
        self.assertEqual([r["n"] for r in rows], list("123456"))
        self.assertEqual(rows[0]["X"], "a.load")
        self.assertEqual(rows[0]["cmdline"], "sed -i s/1/2/ x")
        self.assertEqual(rows[3]["path2"], "docs.txt")

    def on_terminal(self, *args, **env):
        """What a terminal would get."""
        master, slave = pty.openpty()
        env = dict(self.home.env, TERM="xterm", **env)
        p = subprocess.Popen(self.home.argv(*args), cwd=self.repo, env=env,
                             stdin=slave, stdout=slave, stderr=slave)
        os.close(slave)
        got = b""
        while True:
            try:
                piece = os.read(master, 65536)
            except OSError:
                break
            if not piece:
                break
            got += piece
        os.close(master)
        self.assertEqual(p.wait(), 0, got)
        return got

    def test_a_terminal_obeys_nothing_from_the_tape(self):
        for pager in ("cat", "cat -u"):
            got = self.on_terminal("show", "6", PAGER=pager)
            self.assertIn(b"bad\\x1b[31m.txt", got)
            self.assertIn(b"+\\x1b[2Jx", got)
            self.assertNotIn(b"\033[2J", got)
            self.assertIn(b"\033[33mentry 6", got)
        self.assertNotIn(b"\033", self.on_terminal("log", PAGER="cat",
                                                   NO_COLOR="1"))

    def test_what_needs_the_tape_waits_for_it(self):
        p = self.home.start("watch", cwd=self.repo, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertIn("the tape is not running; waiting for it",
                      p.stderr.readline())
        p.terminate()
        p.communicate()
        self.assertEqual(p.returncode, 0)

    def test_a_repository_without_a_tape_is_told_so(self):
        other = self.home.mkdir("other")
        self.assertIn("Nothing recorded here", self.ok("log", other))
        self.bad(1, "nothing recorded here yet", "verify", other)


if __name__ == "__main__":
    unittest.main()

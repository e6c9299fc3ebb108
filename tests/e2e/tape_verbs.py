#!/usr/bin/env python3
"""The verbs that read the tape, on a real mount with a tape that runs."""

import contextlib
import json
import os
import random
import re
import sqlite3
import subprocess
import sys
import tempfile
import time

import st
import taped

ONE = "LIMIT = 3\n\n\ndef f():\n    return 1\n\n\ndef g():\n    return f()\n"


class Tape:
    """`statetape tape` of a repository, ready inside `with`."""

    def __init__(self, home, repo):
        self.home, self.repo = home, repo

    def __enter__(self):
        self.proc = self.home.start("tape", self.repo, text=True,
                                    stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT)
        line = self.proc.stdout.readline()
        assert line, "the tape ended at once"
        st.eventually(
            lambda: json.loads(self.home.run(
                "status", "--json", self.repo).stdout)
            .get("tape", {}).get("ready"), "the tape is ready")
        return self

    def __exit__(self, *exc):
        self.proc.terminate()
        out = self.proc.communicate(timeout=st.DEADLINE)[0]
        if exc[0]:
            print("-- the tape said:\n" + out, file=sys.stderr)


class World:
    def __init__(self, m):
        self.m = m

    def ok(self, *args):
        r = self.m.home.run(*args, check=True, cwd=self.m.path)
        assert r.stderr == "", r.stderr
        return r.stdout

    def bad(self, *args):
        r = self.m.home.run(*args, cwd=self.m.path)
        assert r.returncode == 1, r
        assert r.stderr.count("\n") == 1, r.stderr
        return r.stderr

    def sh(self, script):
        subprocess.run(["sh", "-c", script], cwd=self.m.path, check=True)

    def log(self, *args):
        return [json.loads(line)
                for line in self.ok("log", "--json", *args).splitlines()]


@contextlib.contextmanager
def world():
    with st.Home() as home:
        repo = home.mkdir("repo")
        os.mkdir(repo + "/src")
        with open(repo + "/src/a.py", "w") as f:
            f.write(ONE)
        with st.Mount(repo, home=home) as m, Tape(home, repo):
            yield World(m)


def the_log_has_what_was_done_before_it_was_asked_for():
    with world() as w:
        for k in range(2, 5):
            w.sh("sed -i 's/return [0-9]/return %d/' src/a.py" % k)
            newest = w.log("-n", "1")[0]
            assert newest["path"] == "src/a.py", newest
            assert newest["author"]["comm"] == "sed", newest
            assert [x["name"] for x in newest["X"]] == ["a.f"], newest
        assert len(w.log("--symbol", "a.f")) == 3
        assert len(w.log("--author", "sed*")) == 3
        assert len(w.log("--since", "10 minutes ago")) == 3
        assert w.log("--until", "10 minutes ago") == []
        text = w.ok("log", "-p", "-n", "1")
        assert "-    return 3\n+    return 4\n" in text, text
        assert re.search(r"^Author: sed -i .* \[\d+\] < \w+ \[\d+\]", text,
                         re.M), text
        assert "    changed a.f\n" in text, text


def blame_and_show_name_the_command():
    with world() as w:
        w.sh("sed -i 's/return 1/return 2/' src/a.py")
        n = w.log("-n", "1")[0]["n"]
        lines = w.ok("blame", "src/a.py").splitlines()
        assert [x.split()[0] for x in lines] == \
            ["a", "a.LIMIT", "a.f", "a.g"], lines
        assert "entry %d" % n in lines[2] and "sed -i" in lines[2], lines
        assert "before the tape" in lines[3], lines
        assert "entry %d" % n in w.ok("blame", "a.f")
        assert "sed -i" in w.ok("show", str(n))


def what_came_with_a_file_is_blamed_on_who_made_it():
    """A module and its variables, too, and a variable that came later."""
    with world() as w:
        w.sh("echo 'LIMIT = 1' > src/b.py")
        first = w.log("-n", "1")[0]["n"]
        w.sh("echo 'MORE = 2' >> src/b.py")
        w.log("-n", "1")
        lines = w.ok("blame", "src/b.py").splitlines()
        assert [(x.split()[0], x.split()[3]) for x in lines] == \
            [("b", str(first)), ("b.LIMIT", str(first)),
             ("b.MORE", str(first + 1))], lines
        assert [e["n"] for e in w.log("--symbol", "b.LIMIT")] == [first]


def any_version_comes_back_and_that_is_on_the_tape():
    with world() as w:
        path = w.m.path + "/src/a.py"
        os.chmod(path, 0o754)
        w.sh("sed -i 's/return 1/return 2/' src/a.py")
        n = w.log("-n", "1", "--path", "src/a.py")[0]["n"]
        two = ONE.replace("return 1", "return 2")
        assert w.ok("cat", "%d:src/a.py" % n) == two
        assert w.ok("cat", "0:src/a.py") == ONE
        assert "+    return 2\n" in w.ok("diff", "0", str(n), "src/a.py")
        w.ok("restore", "0:src/a.py")
        with open(path) as f:
            assert f.read() == ONE
        assert os.stat(path).st_mode & 0o777 == 0o754
        newest = w.log("-n", "1")[0]
        assert newest["path"] == "src/a.py" and newest["n"] > n, newest
        assert newest["author"]["comm"] == "statetape", newest
        assert os.listdir(w.m.path + "/src") == ["a.py"]
        w.sh("rm src/a.py && rmdir src")
        w.ok("restore", "%d:src/a.py" % n)
        with open(path) as f:
            assert f.read() == two
        assert "there was no file" in w.bad("cat", "0:none.py")


def a_private_mount_is_restored_through():
    with st.Home() as home:
        repo = home.mkdir("repo")
        write(repo, {"a": "1\n"})
        with taped.Tape(home, repo) as t:
            t.settle_in()
            p = home.start("mount", "-p", repo, "--", "sh", "-c",
                           "echo 2 > a; touch done; "
                           "while [ ! -e go ]; do sleep 0.05; done", cwd=repo)
            st.eventually(lambda: os.path.exists(repo + "/done") or p.poll(),
                          "the command runs")
            if p.poll():
                st.skip("no private mounts here")
            r = home.run("restore", "0:a", repo, check=True)
            assert r.stderr == "", r
            e = [e for e in t.sync() if e["path"] == "a"][-1]
            assert e["author"]["comm"] == "statetape", e
            with open(repo + "/a") as f:
                assert f.read() == "1\n"
            write(repo, {"go": ""})
            assert p.wait(st.DEADLINE) == 0


def watching_tells_every_entry_once():
    with world() as w:
        # From the first entry on: when they are connected is not known.
        p = w.m.home.start("watch", "--json", "-n", "1000", cwd=w.m.path,
                           text=True, stdout=subprocess.PIPE)
        q = w.m.home.start("watch", "-n", "1000", cwd=w.m.path, text=True,
                           stdout=subprocess.PIPE)
        w.sh("echo 0 > first")
        first = json.loads(p.stdout.readline())
        assert "first" in q.stdout.readline()
        for k in range(20):
            w.sh("echo %d > n%d" % (k, k))
        seen = [first["n"]] + [json.loads(p.stdout.readline())["n"]
                               for _ in range(20)]
        assert seen == list(range(seen[0], seen[0] + 21)), seen
        for x in (p, q):
            x.terminate()
            x.communicate(timeout=st.DEADLINE)
            assert x.returncode == 0, x.returncode


PYNNG = r"""
import taped
class Sub0:
    def __init__(self, dial, topics):
        self.conn = taped.Conn(dial[len("ipc://"):], taped.SUB, taped.PUB)
    def recv(self):
        return self.conn.receive()
class Req0:
    def __init__(self, dial):
        self.conn = taped.Conn(dial[len("ipc://"):], taped.REQ, taped.REP)
    def send(self, data):
        self.conn.send(b"\x80\0\0\1" + data)
    def recv(self):
        return self.conn.receive()[4:]
"""


def example(w, title):
    """A program of the manual, as a reader finds it there."""
    page = w.ok("generate", "man-tape")
    lines = page.split(title, 1)[1].split(".EX\n", 1)[1]
    return lines.split(".EE\n")[0].replace("\\-", "-").replace(
        "\\(aq", "'").replace("\\e", "\\")


def the_manual_is_enough_to_subscribe_without_a_library():
    with world() as w:
        script = w.m.home.top + "/listen.py"
        write(w.m.home.top, {"listen.py": example(w, "in Python alone")})
        tape = w.m.status()["tape"]
        p = subprocess.Popen([sys.executable, "-u", script, tape["sockets"]],
                             stdout=subprocess.PIPE, text=True)
        try:
            st.eventually(lambda: w.m.status()["tape"]["subscribers"] == 1,
                          "a subscriber")
            for k in range(3):
                w.sh("echo %d > n%d" % (k, k))
                w.log("-n", "1")
            assert [p.stdout.readline() for _ in range(3)] == \
                ["%d create n%d\n" % (k + 1, k) for k in range(3)]
        finally:
            p.kill()
            p.communicate()


def the_example_of_the_manual_has_every_entry_once():
    """Run as it is printed, with our own nng in place of pynng's."""
    with world() as w:
        script = example(w, "Python with pynng")
        top = w.m.home.mkdir("example")
        write(top, {"pynng.py": PYNNG, "follow.py": script})
        w.sh("echo 0 > before")
        w.log("-n", "1")
        env = dict(os.environ, PYTHONPATH=os.environ.get("PYTHONPATH", "") +
                   ":" + top, PYTHONUNBUFFERED="1")
        p = subprocess.Popen([sys.executable, top + "/follow.py",
                              w.m.status()["tape"]["sockets"]], env=env,
                             stdout=subprocess.PIPE, text=True)
        try:
            shown = [p.stdout.readline()]
            for k in range(20):
                w.sh("echo %d > n%d" % (k, k))
            shown += [p.stdout.readline() for _ in range(20)]
        finally:
            p.kill()
            p.communicate()
        assert [x.split()[0] for x in shown] == \
            [str(n) for n in range(1, 22)], shown
        assert shown[0].split()[1:] == ["create", "before"], shown


def a_diff_can_be_applied():
    st.need("git")
    with world() as w:
        w.sh("mkdir old; printf 'one\\ntwo' > old/x; echo gone > gone")
        n = w.log("-n", "1")[0]["n"]
        before = files(w.m.path)
        w.sh("sed -i 's/return 1/return 2/' src/a.py; mv old new; rm gone; "
             "echo three >> new/x; mv src/a.py src/b.py; echo y > y")
        now = w.log("-n", "1")[0]["n"]
        patch = w.ok("diff", str(n), "now")
        assert patch == w.ok("diff", str(n), str(now))
        back = w.ok("diff", "now", str(n))
        with tempfile.TemporaryDirectory() as d:
            write(d, before)
            git_apply(d, patch)
            assert files(d) == files(w.m.path)
            git_apply(d, back)
            assert files(d) == before
        assert "there is no entry 99; the newest is %d" % now in \
            w.bad("diff", "0", "99")
        assert "there is no entry 99" in w.bad("cat", "99:y")


def files(top):
    found = {}
    for d, _, names in os.walk(top):
        for name in names:
            with open(os.path.join(d, name)) as f:
                found[os.path.relpath(os.path.join(d, name), top)] = f.read()
    return found


def write(top, contents):
    for path, text in contents.items():
        os.makedirs(os.path.dirname(top + "/" + path), exist_ok=True)
        with open(top + "/" + path, "w") as f:
            f.write(text)


def git_apply(top, patch):
    subprocess.run(["git", "apply", "-"], cwd=top, input=patch, text=True,
                   check=True)


def authors_outside_can_be_asked_for():
    with world() as w:
        w.sh("echo x > x")
        with open(w.m.below + "/y", "w") as f:
            f.write("y\n")
        st.eventually(lambda: w.log("--author", "outside"), "an entry")
        e, = w.log("--author", "outside")
        assert e["path"] == "y" and "pid" not in e["author"], e
        assert "a process outside the mount" in w.ok("show", str(e["n"]))
        assert w.log("--author", "recovered") == []
        assert [e["path"] for e in w.log("--author", "sh")] == ["x"]


def tampering_is_found_and_named():
    with world() as w:
        for script in ("echo 1 > x", "sed -i 's/return 1/return 2/' src/a.py",
                       "echo 2 > x"):
            w.sh(script)
            w.log("-n", "1")
        assert len(w.log()) == 3
        subprocess.run(["kill", str(w.m.status()["tape"]["pid"])], check=True)
        st.eventually(lambda: "tape" not in w.m.status(), "the tape has ended")
        db = w.m.home.state_dirs()[0] + "/tape.db"
        w.ok("verify")
        for sql, finding in (
                ("UPDATE entry SET at = at + 1 WHERE n = 2", "Entry 2 was "),
                ("UPDATE entry SET path = 99 WHERE n = 3", "Entry 3 was "),
                ("DELETE FROM entry WHERE n = 2", "Entry 2 is missing."),
                ("DELETE FROM entry WHERE n > 1",
                 "Entries 2 to 3 are missing."),
                ("UPDATE author SET cmdline = 'x' WHERE id ="
                 " (SELECT author FROM entry WHERE n = 2)", "Entry 2 was "),
                ("UPDATE content SET text = zeroblob(9) WHERE hash ="
                 " (SELECT after FROM entry WHERE n = 1)",
                 'The content of \'x\' as of entry 1 was altered'),
                ("DELETE FROM content WHERE hash ="
                 " (SELECT after FROM entry WHERE n = 1)",
                 'The content of \'x\' as of entry 1 is missing.'),
                ("UPDATE symbol SET name = 'h' WHERE name = 'f'",
                 "Entry 2 was "),
                ("DELETE FROM touch", "Entry 2 is not found by its symbol"),
                ("UPDATE self SET n = 2", "record about itself was altered")):
            save = w.m.home.top + "/save"
            with sqlite3.connect(db) as c:
                with sqlite3.connect(save) as to:
                    c.backup(to)
                c.execute(sql)
            c.close()
            r = w.m.home.run("verify", w.m.repo)
            assert r.returncode == 1 and finding in r.stdout + r.stderr, \
                (sql, r.stdout, r.stderr)
            with sqlite3.connect(save) as c, sqlite3.connect(db) as to:
                c.backup(to)
            c.close()
            to.close()
        w.ok("verify")


def what_is_old_goes_and_what_is_held_stays():
    with st.Mount() as m:
        def save(k):
            text = "def f():\n    return '%s'\n" % random_text(4000, k)
            with open(m.path + "/a.py", "w") as f:
                f.write(text)
        with taped.Tape(m.home, m.repo) as t:
            at = []  # the entry of each save; a slow one may have two
            for k in range(120):
                save(k)
                at.append(t.ask("SYNC")["n"])
            t.ask("HOLD", holder="c", n=at[99], ttl_ms=600000)
            size = t.ask("STATUS")["content_bytes"]
        assert m.home.run("tape", "--keep", "x/1M", m.repo).returncode == 2
        # The hold is from before; nothing is dropped that it needs.
        with taped.Tape(m.home, m.repo, "--keep", "9/50K") as t:
            st.eventually(lambda: t.ask("STATUS")["keep"]["times"] == 1,
                          "something was given up")
            s = t.ask("STATUS")
            assert s["content_bytes"] < size / 3, (s, size)
            assert s["n"] == at[-1], (s, at)
            for k in (99, 109, 119):
                assert random_text(4000, k) in \
                    t.ask("SOURCE", path="a.py", n=at[k])["text"]
            assert t.ask("SYMBOLS", path="a.py", n=at[99])["language"]
            first = t.ask("SINCE", n=0)["first"]
            assert 1 < first <= at[99], first
            try:
                t.ask("SOURCE", path="a.py", n=1)
                assert False, "it is still there"
            except AssertionError as e:
                assert "not kept any more" in str(e), e
        m.home.run("verify", m.repo, check=True)


def random_text(size, seed):
    r = random.Random(seed)
    return "".join(r.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(size))


def a_tape_that_runs_is_verified_and_exported():
    with world() as w:
        w.sh("echo x > x; echo y > y")
        n = len(w.log())
        assert n >= 2
        assert "all as they were written" in w.ok("verify")
        assert len(w.ok("export").splitlines()) == n
        assert len(w.ok("export", "--format", "csv").splitlines()) == n + 1
        tape = w.m.status()["tape"]
        assert tape["ready"] and tape["entries"] == n, tape
        assert re.search(r"  tape +at entry %d, %d entries kept" % (n, n),
                         w.ok("status", w.m.repo))


def what_was_kept_is_read_when_no_tape_runs():
    with world() as w:
        w.sh("sed -i 's/return 1/return 2/' src/a.py")
        running = w.ok("log", "-p")
        blamed = w.ok("blame", "src/a.py")
        subprocess.run(["kill", str(w.m.status()["tape"]["pid"])], check=True)
        st.eventually(lambda: "tape" not in w.m.status(), "the tape has ended")
        assert w.ok("log", "-p") == running
        assert w.ok("blame", "src/a.py") == blamed
        assert w.ok("cat", "0:src/a.py") == ONE


def a_run_is_judged_by_what_it_really_read():
    with st.Mount() as m, taped.Tape(m.home, m.repo) as t:
        for name in ("a.py", "b.py"):
            with open(m.path + "/" + name, "w") as f:
                f.write(ONE)
        birth = t.ask("SYNC")["n"]
        start = time.time_ns()
        p = subprocess.Popen(["sh", "-c", "cat a.py; cat missing.py; :"],
                             cwd=m.path, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
        p.wait()
        # Numbers of JSON lose some of a time's last digits.
        end = time.time_ns() + 1000
        assert t.ask("READSET", pid=p.pid, to_ns=start - 1000)["processes"] \
            == []
        reads = t.ask("READSET", pid=p.pid, from_ns=start - 1000, to_ns=end,
                      without=["git"])["processes"]
        run = {"id": "r", "kind": "run", "birth": birth}
        for what in ("opened", "missed", "listed"):
            run[what] = sorted({x for p in reads for x in p[what]})
        assert "a.py" in run["opened"] and "missing.py" in run["missed"], run
        assert t.ask("READSET", pid=p.pid, without=["cat", "sh"]
                     )["processes"] == []

        def verdict():
            t.ask("SYNC")
            found = t.ask("NOMINATE", records=[run])["nominations"]
            return [(n["action"], n["reason"]) for n in found]

        assert verdict() == []
        subprocess.run(["sed", "-i", "s/1/2/", "b.py"], cwd=m.path, check=True)
        assert [a for a, _ in verdict()] == ["KEEP"], verdict()
        subprocess.run(["touch", "missing.py"], cwd=m.path, check=True)
        (action, why), = verdict()
        assert action == "RERUN" and "missing.py" in why, why


st.main(a_run_is_judged_by_what_it_really_read,
        the_log_has_what_was_done_before_it_was_asked_for,
        blame_and_show_name_the_command,
        what_came_with_a_file_is_blamed_on_who_made_it,
        any_version_comes_back_and_that_is_on_the_tape,
        a_private_mount_is_restored_through,
        watching_tells_every_entry_once,
        the_manual_is_enough_to_subscribe_without_a_library,
        the_example_of_the_manual_has_every_entry_once, a_diff_can_be_applied,
        authors_outside_can_be_asked_for, tampering_is_found_and_named,
        what_is_old_goes_and_what_is_held_stays,
        a_tape_that_runs_is_verified_and_exported,
        what_was_kept_is_read_when_no_tape_runs)

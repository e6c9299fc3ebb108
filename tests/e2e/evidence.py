#!/usr/bin/env python3
"""What the tape proves: checkpoints at anchors, tapes that were cut, rewritten,
damaged, or written by a newer program, and what a repository's configuration
may not do. Most tapes here are without a mount."""

import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess

import running
import st
import taped

APP = "def f():\n    return 1\n"


def twins():
    """Two texts with the same XXH3-128: see proof_test.c."""
    first = bytearray(b"x" * 512)
    first[0:4] = bytes.fromhex("b8fe6c39")
    first[64:68] = bytes.fromhex("7c01812c")
    second = bytearray(first)
    second[4] += 1
    second[68] -= 1
    return bytes(first), bytes(second)


class World:
    """A repository with a tape that has no mount, and the user's settings."""

    def __init__(self, home, *settings):
        self.home = home
        self.repo = home.mkdir("repo")
        self.anchors = home.top + "/anchors"
        self.every = None
        running.write(self.repo + "/app.py", APP)
        self.configure(*settings)

    def configure(self, *settings):
        if settings:
            running.write(self.home.mkdir("xdg/c/statetape") + "/config.toml",
                          "[tape]\n%s\n" % "\n".join(settings))

    def anchored(self, every=1):
        self.configure("anchor = 'file:%s'" % self.anchors,
                       "anchor_every = %d" % every)
        self.every = every
        return self

    def tape(self, *args, **kw):
        return taped.Tape(self.home, self.repo, "--no-mount", *args, **kw)

    def edit(self, t, text, name="app.py"):
        running.write(self.repo + "/" + name, text)
        st.eventually(lambda: any(
            e["path"] == name for e in t.sync()), "the entry")
        # Of two checkpoints that wait together only the newer is delivered.
        if self.every and t.seen % self.every == 0:
            st.eventually(lambda: os.path.exists(self.anchors) and
                          t.seen in self.heads(), "the checkpoint")

    def edits(self, *texts, **kw):
        with self.tape(**kw) as t:
            t.settle_in()
            for text in texts:
                self.edit(t, text)
            return t.ask("STATUS")

    def store(self):
        return self.home.state_dirs()[0] + "/tape.db"

    def asides(self):
        top = self.home.state_dirs()[0]
        return sorted(top + "/" + n for n in os.listdir(top)
                      if re.match(r"tape\.db\.(damaged|newer)-", n)
                      and not n.endswith(("-wal", "-shm")))

    def verify(self, *args, code=0):
        r = self.home.run("verify", *args, self.repo)
        assert r.returncode == code, r
        return r.stdout + r.stderr

    def heads(self):
        with open(self.anchors) as f:
            return [int(n) for n in re.findall(r" n=(\d+) ", f.read())]

    def log(self, *args):
        return self.home.run("log", *args, self.repo, cwd=self.repo)


# -- Anchors.

def a_checkpoint_is_anchored_every_so_many_entries_and_at_the_end():
    with st.Home() as home:
        w = World(home).anchored(2)
        w.edits("1\n", "2\n", "3\n")
        assert w.heads() == [2, 3], w.heads()
        assert os.stat(w.anchors).st_mode & 0o777 == 0o600
        # The next tape says where it begins, and nothing new is said at its
        # end.
        w.edits()
        assert w.heads() == [2, 3, 3], w.heads()
        out = w.verify("--against", w.anchors)
        assert "3 checkpoints agree, the newest of entry 3" in out, out
        assert "all as they were written" in out, out


def an_end_that_was_cut_off_is_found():
    with st.Home() as home:
        w = World(home).anchored()
        w.edits("1\n", "2\n")
        shutil.copy(w.store(), home.top + "/saved")
        w.edits("3\n", "4\n")
        shutil.copy(home.top + "/saved", w.store())
        assert "all as they were written" in w.verify()
        out = w.verify("--against", w.anchors, code=1)
        assert "Entries 3 to 4 are missing: the tape ends with entry 2" in \
            out, out
        assert "there are 2 checkpoints, the first of entry 3 (" in out, out
        got = json.loads(home.run("verify", "--json", "--against", w.anchors,
                                  w.repo).stdout)
        assert [(f["kind"], f["n"], f["checkpoints"])
                for f in got["findings"]] == [("anchor", 3, 2)], got


def an_end_that_was_rewritten_is_found():
    with st.Home() as home:
        w = World(home).anchored()
        w.edits("1\n", "2\n")
        shutil.copy(w.store(), home.top + "/saved")
        w.edits("3\n", "4\n")
        shutil.copy(home.top + "/saved", w.store())
        anchors = running.read(w.anchors)
        running.write(w.repo + "/app.py", "2\n")
        w.edits("other\n", "4\n", "5\n")
        assert "all as they were written" in w.verify()
        running.write(w.anchors, anchors)
        out = w.verify("--against", w.anchors, code=1)
        assert "Entries were rewritten between 3 and 3: entry 3 is not the " \
            "one of its checkpoint" in out, out
        assert "In all, 2 checkpoints differ." in out, out


def a_tape_that_was_replaced_is_found():
    with st.Home() as home:
        w = World(home).anchored()
        w.edits("1\n", "2\n")
        shutil.rmtree(home.state_dirs()[0])
        w.edits("3\n")
        out = w.verify("--against", w.anchors, code=1)
        assert "A tape of this repository is missing" in out, out
        assert "the last of entry 2 (" in out, out
        assert "1 checkpoint agrees" in out, out


def checkpoints_are_found_in_any_log():
    with st.Home() as home:
        w = World(home).anchored()
        w.edits("1\n", "2\n")
        lines = running.read(w.anchors).splitlines()
        text = "\0junk\n" + "".join(
            "Jan  2 03:04:05 host statetape[7]: %s\n" % x for x in lines)
        other = lines[0].replace("repo=repo-", "repo=other-")
        broken = lines[0].replace("chain=", "chain=x")
        r = subprocess.run(home.argv("verify", "--against", "-", w.repo),
                           input=text + other + "\n" + broken + "\n",
                           env=home.env, text=True, capture_output=True)
        assert r.returncode == 0 and "2 checkpoints agree" in r.stdout, r
        running.write(w.anchors, other + "\n")
        out = w.verify("--against", w.anchors, code=1)
        assert "has no checkpoint of" in out and "of other repositories" in \
            out, out
        assert "cannot be read" in w.verify("--against", "/nowhere", code=1)


def a_command_gets_the_checkpoint_and_cannot_hold_up_the_tape():
    with st.Home() as home:
        w = World(home)
        out, marker = home.top + "/by command", home.top + "/$(touch x)"
        w.configure(
            "anchor = [\"command:tee -a '%s'\"," % out,
            "  'command:sleep 600',",
            "  \"command:tee '%s'\"," % marker,
            "  'command:/nowhere/program secret',",
            "  'file:/nowhere/file']",
            "anchor_every = 1")
        with w.tape(expect_log="failed") as t:
            t.settle_in()
            for i in range(3):
                w.edit(t, "%d\n" % i)
            st.eventually(lambda: os.path.exists(out) and
                          "n=3 " in running.read(out), "the command ran")
            by = {a["anchor"]: a for a in t.ask("STATUS")["anchors"]}
            assert by["command:/nowhere/program"]["failed"] >= 1, by
            assert by["file:/nowhere/file"]["failed"] >= 1, by
            assert "No such file" in by["file:/nowhere/file"]["why"], by
            # Said once each, and without a command's arguments.
            assert t.log().count("file:/nowhere/file") == 1, t.log()
            assert "secret" not in t.log(), t.log()
            status = home.run("status", w.repo).stdout
            assert re.search("anchor +file:/nowhere/file: at entry 0",
                             status), status
            sleeping = [p for p in st.children(t.proc.pid)]
            assert sleeping, "the sleep runs"
        for pid in sleeping:
            os.kill(pid, signal.SIGKILL)
        assert os.path.exists(marker), os.listdir(home.top)
        # Nothing was replaced, and no shell ran.
        assert not os.path.exists("/x")


def the_system_s_log_gets_the_checkpoint():
    with st.Home() as home:
        path = home.top + "/log"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
            s.bind(path)
            s.settimeout(st.DEADLINE)
            w = World(home, "anchor = 'syslog:%s'" % path, "anchor_every = 1")
            with w.tape() as t:
                t.settle_in()
                w.edit(t, "1\n")
                got = s.recv(4096).decode()
        assert re.match(r"<85>\w{3} [ \d]\d [\d:]{8} statetape\[\d+\]: "
                        r"statetape-checkpoint 1 repo=repo-\w+ tape=\w{16} "
                        r"n=1 chain=\w{64} at=[\dT:-]+Z$", got), got


def an_anchor_inside_the_repository_is_refused():
    with st.Home() as home:
        w = World(home)
        w.configure("anchor = 'file:%s/anchors'" % w.repo)
        r = home.run("tape", "--no-mount", w.repo)
        assert r.returncode == 1, r
        assert "lies inside the repository" in r.stderr, r


def a_killed_tape_s_last_entries_are_anchored_by_the_next():
    with st.Home() as home:
        w = World(home).anchored(100)
        t = w.tape()
        t.start()
        t.settle_in()
        w.edit(t, "1\n")
        t.kill()
        assert not os.path.exists(w.anchors)
        w.edits()
        assert w.heads() == [1], w.heads()


# -- Contents.

def a_twin_by_xxh3_is_an_entry_of_its_own():
    first, second = twins()
    with st.Home() as home:
        w = World(home)
        with open(w.repo + "/app.py", "wb") as f:
            f.write(first)
        with w.tape() as t:
            t.settle_in()
            with open(w.repo + "/app.py", "wb") as f:
                f.write(second)
            entries = st.eventually(t.sync, "an entry")
            assert entries[0]["before"] == entries[0]["after"], entries
            assert entries[0]["sha256"] != entries[0]["sha256_before"], entries
            os.utime(w.repo + "/app.py")
            assert t.sync() == []
        r = home.run("cat", "1:app.py", w.repo)
        assert r.returncode == 1 and "not the content whose SHA-256" in \
            r.stderr, r
        assert home.run("cat", "0:app.py", w.repo).stdout.startswith("\udcb8")
        w.verify()


def verify_says_the_first_of_a_kind_and_a_count():
    with st.Home() as home:
        w = World(home)
        w.edits(*["def f():\n    return %d\n" % i for i in range(20, 30)])
        with sqlite3.connect(w.store()) as db:
            db.execute("UPDATE entry SET at = at + 1")
            db.execute("DELETE FROM touch")
        out = w.verify(code=1)
        assert "Entry 1 was altered. It is the first of 10 of this kind" in \
            out, out
        assert len(out.splitlines()) <= 5, out
        assert len(w.verify("--all", code=1).splitlines()) > 20


# -- Damage.

def damage(path, how):
    if how == "newer":
        with sqlite3.connect(path) as db:
            db.execute("PRAGMA user_version = 99")
        return
    with open(path, "r+b") as f:
        if how == "text":
            f.truncate(0)
            f.write(b"This is no database.\n" * 1000)
        elif how == "cut":
            f.truncate(os.path.getsize(path) // 2 // 4096 * 4096)
        elif how == "self":
            text = f.read()
            # The page of table `self`: its row holds the newest chain hash.
            f.seek(text.index(bytes.fromhex(how_chain(path))))
            f.write(b"\xff" * 8)


def how_chain(path):
    db = sqlite3.connect("file:%s?immutable=1" % path, uri=True)
    try:
        return db.execute("SELECT hex(chain) FROM self").fetchone()[0]
    finally:
        db.close()


def what_cannot_be_opened_is_set_aside_and_the_tape_goes_on():
    for how in ("text", "cut", "newer", "self"):
        with st.Home() as home:
            w = World(home)
            w.edits("1\n", "2\n")
            damage(w.store(), how)
            for verb in ("log", "blame", "verify"):
                args = ["app.py"] if verb == "blame" else []
                r = home.run(verb, *args, w.repo)
                if how == "self" and verb != "verify" and not r.returncode:
                    continue
                assert r.returncode == 1, (how, verb, r)
                assert w.store() in r.stderr and "--store FILE" in r.stderr, \
                    (how, verb, r)
                assert "Bad message" not in r.stderr, (how, verb, r)
            r = home.run("status", w.repo)
            assert r.returncode == 1 and "--store FILE" in r.stdout, (how, r)
            with w.tape(expect_log="It is set aside as") as t:
                assert t.log().count("It is set aside as") == 1, t.log()
                aside, = w.asides()
                assert (".newer-" in aside) == (how == "newer"), aside
                assert aside in t.ask("STATUS")["aside"], aside
                t.settle_in()
                w.edit(t, "3\n")
                # The new one took the files as they were.
                assert t.ask("STATUS")["n"] == 1, t.ask("STATUS")
            assert aside in w.log().stderr, how
            assert aside in home.run("status", w.repo).stdout, how
            w.verify()
            r = home.run("log", "--json", "--store", aside)
            if how in ("newer", "self"):
                assert len(r.stdout.splitlines()) == 2, (how, r)
                r = home.run("cat", "--store", aside, "1:app.py")
                assert r.stdout == "1\n", (how, r)
            elif how == "text":
                assert r.returncode == 1 and "nothing can be read" in \
                    r.stderr, r


def damage_met_while_writing_begins_a_new_tape_at_once():
    with st.Home() as home:
        w = World(home)
        with w.tape(expect_log="It is set aside as") as t:
            t.settle_in()
            w.edit(t, "1\n")
            watch = home.start("watch", "--json", "-n", "1", w.repo, text=True,
                               stdout=subprocess.PIPE)
            assert json.loads(watch.stdout.readline())["n"] == 1
            # Another connection to the same database breaks an invariant.
            with sqlite3.connect(w.store(), timeout=10) as db:
                db.execute("DROP TABLE touch")
            running.write(w.repo + "/app.py", "def g():\n    return 2\n")
            st.eventually(w.asides, "it is set aside")
            t.forget()

            def works():
                try:
                    return t.ask("STATUS").get("ready")
                except (OSError, AssertionError):
                    t.forget()
                    return False
            st.eventually(works, "the new tape answers")
            t.seen = 0
            t.settle_in()
            w.edit(t, "def h():\n    return 3\n")
            assert "It is set aside as" in t.log(), t.log()
            # It follows the new tape, whose numbers begin anew.
            assert json.loads(watch.stdout.readline())["n"] == 1
            watch.terminate()
            watch.communicate()
        w.verify()


def make_newer_in_log(path):
    """As damage(path, "newer"), with the log left beside the database."""
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 99")
    for end in ("", "-wal"):
        shutil.copy(path + end, path + end + ".kept")
    db.close()
    for end in ("", "-wal"):
        os.rename(path + end + ".kept", path + end)


def killed_while_setting_aside_it_loses_nothing():
    st.need("strace")
    calls = [("link,linkat", n) for n in (1, 2)] + \
        [("unlink,unlinkat", n) for n in (1, 2, 3)]
    for call, n in calls:
        with st.Home() as home:
            w = World(home)
            t = w.tape()
            t.start()
            t.settle_in()
            w.edit(t, "1\n")
            t.kill()  # so that there is a log beside the database
            assert os.path.getsize(w.store() + "-wal") > 0
            make_newer_in_log(w.store())
            r = subprocess.run(
                ["strace", "-f", "-o", "/dev/null", "-e",
                 "inject=%s:signal=KILL:when=%d" % (call, n),
                 *home.argv("tape", "--no-mount", w.repo)],
                env=home.env, stdin=subprocess.DEVNULL, capture_output=True,
                timeout=st.DEADLINE)
            assert r.returncode != 0, r
            with w.tape(expect_log="It is set aside as") as t:
                t.settle_in()
                w.edit(t, "2\n")
            asides = w.asides()
            assert len(asides) == 1, (call, n, asides)
            r = home.run("log", "--json", "--store", asides[0])
            assert len(r.stdout.splitlines()) == 1, (call, n, r)
            w.verify()


def a_run_goes_on_observed_and_says_so():
    with running.place() as (home, repo):
        running.run(home, repo, "echo x > a.py", "--no-mount")
        store = home.state_dirs()[0] + "/tape.db"
        damage(store, "text")
        r = running.run(home, repo, "echo y > a.py", "--no-mount")
        assert r.returncode == 0, r
        assert r.stderr.count("It is set aside as") == 1, r.stderr
        assert [e["path"] for e in running.log(home, repo)] == ["a.py"]
        running.nothing_left(home, repo)


# -- Whose configuration counts.

def a_repository_may_not_set_anchors_retention_or_addresses():
    with running.place() as (home, repo):
        running.write(repo + "/.statetape.toml",
                      "[tape]\nkeep = '1'\nanchor = 'command:touch %s/owned'\n"
                      "[upstream]\nopenai = 'http://evil.example'\n"
                      "[run]\nmode = 'off'\nmount = 'none'\n" % home.top)
        r = running.run(home, repo, "echo x > a.py")
        assert r.returncode == 0, r
        for line, key in ((2, "tape.keep"), (3, "tape.anchor"),
                          (5, "upstream.openai")):
            assert r.stderr.count(
                "%s/.statetape.toml:%d: a repository may not set '%s', so "
                "this is ignored" % (repo, line, key)) == 1, r.stderr
        assert "'%s/.statetape.toml' makes this run do less: mode = off, " \
            "mount = none" % repo in r.stderr, r.stderr
        assert not os.path.exists(home.top + "/owned")
        r = running.run(home, repo, "true", "--mode", "pinned", "--no-mount")
        assert "do less: mount = none" in r.stderr, r.stderr
        running.nothing_left(home, repo)


def what_a_run_keeps_and_anchors_is_the_user_s_to_say():
    with running.place() as (home, repo):
        anchors = home.top + "/anchors"
        config = home.mkdir("xdg/c/statetape") + "/config.toml"
        status = "%s status --json '%s'" % (home.binary, repo)
        running.write(config, "[tape]\nkeep = '30/2G'\nanchor = 'file:%s'\n"
                      % anchors)

        def kept(*options):
            r = running.run(home, repo, "date > a.py; " + status, "--no-mount",
                            *options)
            return json.loads(r.stdout)["tape"]["keep"], r
        keep, r = kept()
        assert (keep["days"], keep["bytes"]) == (30, 2 << 30), r
        keep, r = kept("--keep", "7")
        assert (keep["days"], keep["bytes"]) == (7, 0), r
        r = running.run(home, repo, "true", "--keep", "ever")
        assert r.returncode == 2 and "--keep: 'ever' is not" in r.stderr, r
        # Once at the end of each run.
        found = re.findall(r" n=(\d+) ", running.read(anchors))
        assert len(found) >= 2, found
        head = running.log(home, repo)[0]["n"]
        assert int(found[-1]) == head, (found, head)
        running.nothing_left(home, repo)


# -- Forgetting, and tapes without a mount.

def forgetting_shows_first_and_refuses_while_something_runs():
    with st.Home() as home:
        w = World(home)
        with w.tape() as t:
            t.settle_in()
            r = home.run("forget", "--yes", w.repo)
            assert r.returncode == 1 and "still runs" in r.stderr, r
            assert t.ask("STATUS")["ready"]
        r = home.run("forget", w.repo)
        assert r.returncode == 0 and "--yes removes them" in r.stdout, r
        assert home.state_dirs()
        r = home.run("forget", "--yes", w.repo)
        assert r.returncode == 0 and "removed" in r.stdout, r
        assert home.state_dirs() == []
        assert os.listdir(home.env["XDG_RUNTIME_DIR"] + "/statetape") == []
        r = home.run("forget", w.repo)
        assert r.returncode == 1 and "there is no state of" in r.stderr, r
        assert running.read(w.repo + "/app.py") == APP
        # The next tape begins from nothing.
        assert w.edits("1\n")["n"] == 1


def a_repository_that_is_gone_is_forgotten_by_path_or_id():
    for name in ("path", "id", "deep"):
        with st.Home() as home:
            w = World(home)
            if name == "deep":
                w.repo = home.mkdir("a/b/repo")
                running.write(w.repo + "/app.py", APP)
            w.edits("1\n")
            state_id = os.path.basename(home.state_dirs()[0])
            shutil.rmtree(home.top + "/a" if name == "deep" else w.repo)
            r = home.run("forget", "--yes",
                         state_id if name == "id" else w.repo)
            assert r.returncode == 0, (name, r)
            assert home.state_dirs() == [], name


def a_mounted_repository_is_not_forgotten():
    st.need_fuse()
    with st.Mount() as m:
        r = m.home.run("forget", "--yes", m.repo)
        assert r.returncode == 1 and "still runs" in r.stderr, r
        assert m.home.state_dirs()


def every_verb_finds_a_tape_begun_without_a_mount():
    verbs = (["log"], ["blame", "app.py"], ["blame", "-l", "app.py"],
             ["show", "1"], ["diff", "0", "1"], ["cat", "1:app.py"],
             ["verify"], ["export"], ["status"], ["graph", "symbols"],
             ["graph", "stats"])
    # These ask a mount or a manager, and say that there is none.
    others = (["context"], ["explain", "--request", "1"], ["reads"],
              ["journal"], ["report"])
    with st.Home() as home:
        w = World(home)
        below = w.repo + "/sub/dir"
        os.makedirs(below)

        def all_find():
            for verb in verbs:
                for cwd in (w.repo, below):
                    args = list(verb)
                    if cwd == below:
                        args = [a if a != "app.py" else "../../app.py"
                                for a in args]
                    r = home.run(*args, cwd=cwd)
                    assert "name the repository" not in r.stderr, (verb, r)
                    assert "no tape" not in r.stderr, (verb, r)
                    assert r.returncode == 0, (verb, r)
            for verb in others:
                r = home.run(*verb, cwd=below)
                assert "name the repository" not in r.stderr, (verb, r)
        with w.tape() as t:
            t.settle_in()
            w.edit(t, "def f():\n    return 2\n")
            all_find()
            p = home.start("watch", "-n", "1", cwd=below, text=True,
                           stdout=subprocess.PIPE)
            assert "app.py" in p.stdout.readline()
            p.terminate()
            p.communicate()
        all_find()


if __name__ == "__main__":
    st.main(
        a_checkpoint_is_anchored_every_so_many_entries_and_at_the_end,
        an_end_that_was_cut_off_is_found,
        an_end_that_was_rewritten_is_found,
        a_tape_that_was_replaced_is_found,
        checkpoints_are_found_in_any_log,
        a_command_gets_the_checkpoint_and_cannot_hold_up_the_tape,
        the_system_s_log_gets_the_checkpoint,
        an_anchor_inside_the_repository_is_refused,
        a_killed_tape_s_last_entries_are_anchored_by_the_next,
        a_twin_by_xxh3_is_an_entry_of_its_own,
        verify_says_the_first_of_a_kind_and_a_count,
        what_cannot_be_opened_is_set_aside_and_the_tape_goes_on,
        damage_met_while_writing_begins_a_new_tape_at_once,
        killed_while_setting_aside_it_loses_nothing,
        a_run_goes_on_observed_and_says_so,
        a_repository_may_not_set_anchors_retention_or_addresses,
        what_a_run_keeps_and_anchors_is_the_user_s_to_say,
        forgetting_shows_first_and_refuses_while_something_runs,
        a_repository_that_is_gone_is_forgotten_by_path_or_id,
        a_mounted_repository_is_not_forgotten,
        every_verb_finds_a_tape_begun_without_a_mount)

#!/usr/bin/env python3
"""Much at once: writers against the barrier, a long journal, many who listen.
$STATETAPE_STORM_LINES says how long the journal is (60000)."""

import os
import random
import subprocess
import sys
import threading
import time

import st
import taped

LINES = int(os.environ.get("STATETAPE_STORM_LINES", "60000"))
SECONDS = float(os.environ.get("STATETAPE_STRESS_SECONDS", "3"))


def put(path, text):
    with open(path, "w") as f:
        f.write(text)


def what_returned_before_is_on_the_tape():
    """Each writer asks right after its own write, while the others write."""
    with st.Mount() as m, taped.Tape(m.home, m.repo) as t:
        end = time.monotonic() + SECONDS
        failures, rounds = [], [0] * 4

        def work(i):
            a = taped.Asker(t.socket("tape.sock"))
            path = "w%d.py" % i
            r = random.Random(i)
            while time.monotonic() < end and not failures:
                text = "x = %d\n" % rounds[i]
                full = m.path + "/" + path
                if r.random() < 0.5:
                    put(full, text)
                else:
                    put(full + ".tmp", text)
                    os.rename(full + ".tmp", full)
                n = a.ask("SYNC")["n"]
                got = a.ask("SOURCE", path=path, n=n)["text"]
                if got != text:
                    failures.append((path, text, got))
                rounds[i] += 1
            a.close()

        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for th in threads:
            th.start()
        for th in threads:
            th.join()
        assert not failures, failures
        assert all(rounds), rounds
        print("%d barriers" % sum(rounds))
        entries = t.since(0)
        assert {e["author"]["origin"] for e in entries} == {"mount"}


def a_long_journal_is_taken_in():
    helper = os.environ.get("TEST_BIN", "") + "/e2e/journal_storm"
    if not os.path.exists(helper):
        st.skip("no journal_storm")
    with st.Home() as home:
        repo = home.mkdir("repo")
        with taped.Tape(home, repo) as t:
            begin = time.monotonic()
            p = subprocess.Popen([helper, home.state_dirs()[0], repo,
                                  str(LINES), "500"])
            answered = 0
            while p.poll() is None:
                assert t.ask("SYNC")["ready"]
                answered += 1
            assert p.returncode == 0
            t.ask("SYNC")
            took = time.monotonic() - begin
            assert t.ask("STATUS")["journal"] >= LINES
            for i in random.Random(1).sample(range(500), 50):
                path = "f%d.py" % i
                with open(repo + "/" + path) as f:
                    text = f.read()
                got = t.ask("SOURCE", path=path, n=t.ask("STATUS")["n"])
                assert got["text"] == text, (path, got, text)
            with open("/proc/%d/status" % t.proc.pid) as f:
                peak = [line for line in f if line.startswith("VmHWM")][0]
            print("%d lines, %.0f a second beside their writing, %d SYNC "
                  "answered, %s" % (LINES, LINES / took, answered,
                                    " ".join(peak.split())))
            if not any(s in str(STATE) for s in ("asan", "tsan")):
                assert int(peak.split()[1]) < 300000, peak
        home.run("verify", repo, check=True)


STATE = st.STATETAPE


def everyone_who_catches_up_has_the_same():
    """20 subscribers: some slow, some killed; gaps are asked for."""
    with st.Mount() as m, taped.Tape(m.home, m.repo) as t:
        total = 300
        seen = {}

        def follow(i):
            sub = t.subscribe()
            ready.release()
            asker = taped.Asker(t.socket("tape.sock"))
            got = []
            while len(got) < total:
                e = sub.next()
                if i % 5 == 4 and len(got) > 20:
                    break  # leaves without a word
                if i % 5 == 3:
                    time.sleep(0.002)
                while e["n"] > len(got) + 1:
                    got += asker.ask("SINCE", n=len(got), limit=100)["entries"]
                if e["n"] == len(got) + 1:
                    got.append(e)
            seen[i] = got
            sub.close()
            asker.close()

        ready = threading.Semaphore(0)
        threads = [threading.Thread(target=follow, args=(i,))
                   for i in range(20)]
        for th in threads:
            th.start()
        for _ in threads:
            ready.acquire()
        for k in range(total):
            put(m.path + "/a%d.txt" % (k % 3), "%d\n" % k)
            t.ask("SYNC")
        for th in threads:
            th.join(st.DEADLINE)
        truth = t.since(0)
        # On a busy machine a save may settle in two steps.
        assert len(truth) >= total, len(truth)
        whole = [got for i, got in seen.items() if i % 5 != 4]
        assert len(whole) == 16, len(whole)
        assert all(len(got) >= total and got == truth[:len(got)]
                   for got in whole)


def make_tree(top):
    """Modules that call each other, one that is none, and notes."""
    files = {"notes.txt": "x\n", "p0/broken.py": "def f(:\n"}
    for p in range(8):
        files["p%d/__init__.py" % p] = ""
        for k in range(8):
            files["p%d/m%d.py" % (p, k)] = (
                "from ..p%d.m%d import f as g\n\n\ndef f(x):\n"
                "    return g(x)\n" % ((p + 1) % 8, k))
    for name, text in files.items():
        os.makedirs(os.path.dirname(top + "/" + name), exist_ok=True)
        put(top + "/" + name, text)
    return files


def near(t, top):
    """Who calls whom in the tree, whatever its name is."""
    found = {}
    for p in range(8):
        for k in range(8):
            name = "p%d.m%d.f" % (p, k)
            answer = t.ask("NEIGHBOURS", symbol=top + "." + name)
            found[name] = sorted(
                (q["name"].removeprefix(top), q["path"].removeprefix(top),
                 q["start_line"], q["step"])
                for q in answer["places"] if q["depth"])
    return found


class Prober:
    """Writes, asks for the barrier, and looks for what it wrote."""

    def __init__(self, m, t):
        self.m, self.t, self.lies, self.asked = m, t, [], 0
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.work)

    def work(self):
        a = taped.Asker(self.t.socket("tape.sock"))
        while not self.stop.wait(0.01):
            text = "%d\n" % self.asked
            put(self.m.path + "/probe", text)
            n = a.ask("SYNC")["n"]
            got = a.ask("SOURCE", path="probe", n=n)["text"]
            if got != text:
                self.lies.append((text, got))
            self.asked += 1
        a.close()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()


def a_tree_comes_moves_and_goes():
    """Each file once each time, by whom it was, with the same graph."""
    with st.Mount() as m, taped.Tape(m.home, m.repo) as t:
        files = make_tree(m.home.mkdir("tree"))
        every = []

        def step(kind, *argv):
            subprocess.run(argv, cwd=m.path, check=True)
            got = t.sync()
            every.extend(got)
            return sorted(e.get("path2") or e["path"] for e in got
                          if e["kind"] == kind and e["path"] != "probe")

        with Prober(m, t) as p:
            assert step("create", "cp", "-r", m.home.top + "/tree", "old") == \
                sorted("old/" + f for f in files)
            before = near(t, "old")
            assert all(len(places) == 2 for places in before.values()), before
            assert step("rename", "mv", "old", "new") == \
                sorted("new/" + f for f in files)
            assert near(t, "new") == before
            put(m.path + "/new/p0/m0.py", "def f(x):\n    return x\n")
            # The prober's barrier may fall between emptying and writing.
            assert set(step("edit", "true")) == {"new/p0/m0.py"}
            assert len(near(t, "new")["p0.m0.f"]) == 1
            assert step("delete", "rm", "-r", "new") == \
                sorted("new/" + f for f in files)
        every += t.sync()
        assert not p.lies, p.lies
        assert p.asked
        assert {e["author"]["origin"] for e in every} == {"mount"}
        assert set(taped.replay(every)[0]) == {"probe"}


st.main(what_returned_before_is_on_the_tape, a_long_journal_is_taken_in,
        everyone_who_catches_up_has_the_same, a_tree_comes_moves_and_goes)

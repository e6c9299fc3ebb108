#!/usr/bin/env python3
"""The barrier: what had returned before SYNC was asked is on the tape when it is
answered, through the mount or outside it, whatever else is under way. Times are
compared with others of the same run, never with a clock."""

import json
import os
import signal
import statistics
import subprocess
import sys
import threading
import time

import st
import taped

ROUNDS = int(os.environ.get("STATETAPE_BARRIER_ROUNDS", "200"))
STOPS = int(os.environ.get("STATETAPE_BARRIER_STOPS", "15"))


def put(path, text):
    with open(path, "w") as f:
        f.write(text)


class Writers:
    """Processes that save files through the mount until the end."""

    CODE = """
import os, sys
top, name, k = sys.argv[1], sys.argv[2], 0
while True:
    k += 1
    path = "%s/%s_%d" % (top, name, k % 50)
    with open(path + ".tmp", "w") as f:
        f.write("%d\\n" % k)
    os.rename(path + ".tmp", path)
"""

    def __init__(self, top, count):
        self.procs = [subprocess.Popen([sys.executable, "-c", self.CODE, top,
                                        "w%d" % i]) for i in range(count)]

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        for p in self.procs:
            p.kill()
            p.wait()


def timed(f):
    began = time.monotonic()
    f()
    return time.monotonic() - began


def an_outside_change_is_on_the_tape(top, below, t):
    """Made, replaced and removed below the mount while others write above."""
    born = set()
    for k in range(ROUNDS):
        name = "out%d.txt" % (k % 7)
        path = below + "/" + name
        if k % 3 == 0 and name in born:
            os.unlink(path)
            born.discard(name)
            want = None
        elif k % 3 == 1:
            put(path + ".new", "%d\n" % k)
            os.rename(path + ".new", path)
            born.add(name)
            want = "%d\n" % k
        else:
            put(path, "%d\n" % k)
            born.add(name)
            want = "%d\n" % k
        answer = t.ask("SYNC")
        assert answer["pending"] == 0, (k, answer)
        got = t.ask("VERSIONS", path=name, limit=1)["versions"]
        if want is None:
            assert got[0]["hash"] is None, (k, got)
            continue
        text = t.ask("CONTENT", hash=got[0]["hash"])["text"]
        assert text == want, (k, name, text, want)


def what_changes_outside_is_on_the_tape_under_load():
    with st.Mount() as m, taped.Tape(m.home, m.repo) as t:
        with Writers(m.path, 2):
            an_outside_change_is_on_the_tape(m.path, m.below, t)
        t.ask("SYNC")
        outside = [e for e in t.since(0)
                   if e["author"]["origin"] == "outside"]
        strange = [e for e in outside if not (e.get("path2") or
                                              e["path"]).startswith("out")]
        assert outside and not strange, strange[:3]


def what_changes_is_on_the_tape_without_a_mount():
    with st.Home() as home:
        repo = home.mkdir("repo")
        with taped.Tape(home, repo) as t:
            an_outside_change_is_on_the_tape(repo, repo, t)


def new_directories_are_covered():
    with st.Mount() as m, taped.Tape(m.home, m.repo) as t:
        for k in range(20):
            os.makedirs(m.below + "/d%d/e/f" % k)
            put(m.below + "/d%d/e/f/x.txt" % k, "x\n")
            put(m.below + "/d%d/y.txt" % k, "y\n")
            assert t.ask("SYNC")["pending"] == 0
            paths = {e["path"] for e in t.news()}
            assert paths == {"d%d/e/f/x.txt" % k, "d%d/y.txt" % k}, paths


def a_stopped_file_system_delays_no_answer():
    """Operations are in flight when it is stopped. What cannot be decided is
    pending, and is on the tape later."""
    with st.Mount() as m, taped.Tape(m.home, m.repo) as t, \
            Writers(m.path, 2):
        calm, stopped, undecided = [], [], 0
        for k in range(STOPS):
            put(m.below + "/a.txt", "%d\n" % k)
            calm.append(timed(lambda: t.ask("SYNC")))
            os.kill(m.fs_pid, signal.SIGSTOP)
            try:
                put(m.below + "/b.txt", "%d\n" % k)
                for _ in range(3):
                    began = time.monotonic()
                    answer = t.ask("SYNC")
                    stopped.append(time.monotonic() - began)
                    named = t.ask("SYNC", paths=["a.txt", "b.txt"])
                    undecided += "b.txt" in named["open"]
                    assert named["open"] in ([], ["b.txt"]), named
                    assert answer["pending"] or not named["open"], answer
            finally:
                os.kill(m.fs_pid, signal.SIGCONT)
            named = t.ask("SYNC", paths=["b.txt"])
            assert named["open"] == [], named
            got = t.ask("VERSIONS", path="b.txt", limit=1)["versions"]
            text = t.ask("CONTENT", hash=got[0]["hash"])["text"]
            assert text == "%d\n" % k, (text, k)
        a, b = statistics.median(calm), statistics.median(stopped)
        print("SYNC: %.2f ms, with a stopped file system %.2f ms; undecided "
              "%d of %d times" % (a * 1e3, b * 1e3, undecided, 3 * STOPS))
        assert b < 10 * a, (a, b)


def a_killed_file_system_leaves_nothing_in_flight():
    with st.Home() as home:
        repo = home.mkdir("repo")
        with taped.Tape(home, repo) as t, \
                st.Mount(repo, home=home, broken=True,
                         expect_log="killed by SIGKILL") as m, \
                Writers(m.path, 1):
            st.eventually(lambda: t.ask("SYNC")["n"] > 0, "entries")
            os.kill(m.fs_pid, signal.SIGKILL)
            put(m.below + "/b.txt", "b\n")
            answer = t.ask("SYNC", paths=["b.txt"])
            assert answer["open"] == [], answer


def paths_are_settled_before_others():
    """Two thousand new files wait for their quiet time; two are asked for, and
    a third that was moved."""
    with st.Mount() as m, taped.Tape(m.home, m.repo) as t:
        os.mkdir(m.path + "/d")
        put(m.path + "/d/moved.txt", "here\n")
        t.ask("SYNC")
        least, k = 0, 0
        while least == 0:
            k += 1
            top = m.path + "/new%d" % k
            os.mkdir(top)
            for i in range(2000):
                put(top + "/f%d.txt" % i, "x\n")
            put(m.path + "/d/a.txt", "%d\n" % k)
            os.rename(m.path + "/d", m.path + "/e")
            answer = t.ask("SYNC", paths=["e/a.txt", "e/moved.txt",
                                          "no/such", "../up"])
            assert answer["open"] == [], answer
            for path, text in (("e/a.txt", "%d\n" % k),
                               ("e/moved.txt", "here\n")):
                got = t.ask("SOURCE", path=path, n=answer["n"])["text"]
                assert got == text, (path, got)
            # A busy machine may have let them settle meanwhile.
            least = answer["pending"]
            os.rename(m.path + "/e", m.path + "/d")
        assert t.ask("SYNC")["pending"] == 0
        files = [e for e in t.since(0) if e["kind"] == "rename"]
        assert files and all(e["author"]["origin"] == "mount" for e in files)


def what_was_not_read_in_time_is_not_called_settled():
    """The tape wakes up to a long journal and a question that is over at
    once: the file is on it, or the answer says that it may not be."""
    with st.Mount() as m, taped.Tape(m.home, m.repo) as t:
        unread = 0
        t.ask("SYNC")
        for k in range(2):
            os.kill(t.proc.pid, signal.SIGSTOP)
            try:
                with open(m.path + "/long.txt", "wb", buffering=0) as f:
                    for _ in range(10000):
                        f.write(b"x")
                put(m.path + "/a.txt", "%d\n" % k)
                t.asker.conn.send(b"\x80\0\0\1" + json.dumps({
                    "v": 1, "ask": "SYNC", "paths": ["a.txt"],
                    "within_ms": 0}).encode())
            finally:
                os.kill(t.proc.pid, signal.SIGCONT)
            answer = json.loads(t.asker.conn.receive()[4:])
            unread += answer["unread"]
            if answer["unread"] or answer["open"]:
                continue
            got = t.ask("SOURCE", path="a.txt", n=answer["n"])["text"]
            assert got == "%d\n" % k, (answer, got)
        print("not read in time: %d of 2" % unread)
        assert not t.ask("SYNC", paths=["a.txt"])["unread"]


def what_is_pending_may_falsify_a_record():
    """A new file waits for its quiet time: nothing is said that it may make
    false. When it is on the tape, its own entry speaks."""
    with st.Mount() as m, taped.Tape(m.home, m.repo) as t:
        put(m.path + "/a.py", "def f():\n    return 1\n")
        put(m.path + "/b.txt", "b\n")
        n = t.ask("SYNC")["n"]
        records = [
            {"id": 1, "kind": "read", "birth": n, "path": "a.py"},
            {"id": 2, "kind": "run", "birth": n},
            {"id": 3, "kind": "run", "birth": n, "opened": ["a.py"],
             "missed": ["new.txt"], "listed": []},
            {"id": 4, "kind": "run", "birth": n, "opened": [], "missed": [],
             "listed": ["."]},
            {"id": 5, "kind": "run", "birth": n, "opened": ["b.txt"],
             "missed": [], "listed": ["d"]}]

        def nominated():
            got = t.ask("NOMINATE", records=records)
            return got["n"], {x["id"]: (x["action"], x["entry"])
                              for x in got["nominations"]
                              if x["action"] != "KEEP"}
        assert nominated() == (n, {})

        def seen_pending():
            put(m.path + "/new.txt", "x\n")
            t.ask("SYNC", paths=["a.py"])
            head, found = nominated()
            if head == n:
                assert found == {2: ("RERUN", n + 1), 3: ("RERUN", n + 1),
                                 4: ("RERUN", n + 1)}, found
                return True
            os.unlink(m.path + "/new.txt")
            records[:] = [dict(r, birth=t.ask("SYNC")["n"]) for r in records]
            return None
        while True:
            n = records[0]["birth"]
            if seen_pending():
                break
        t.ask("SYNC")
        assert set(nominated()[1]) == {2, 3, 4}


def change_times(t, path, small, change):
    """Median times of SYNC after a change of either file."""
    times = {path: [], small: []}
    for k in range(9):
        for name in (path, small):
            change(name, k)
            times[name].append(timed(lambda: t.ask("SYNC")))
            got = t.news()
            assert [e["path"] for e in got] == [os.path.basename(name)], got
            assert got[0].get("stamped", False) == (name == path), got
    return [statistics.median(times[name]) for name in (path, small)]


def a_files_size_stops_nothing():
    """A sparse file of 20 GiB, and a real one of 512 MiB."""
    with st.Mount() as m, taped.Tape(m.home, m.repo) as t:
        small = m.path + "/small.bin"

        def poke(name, k):
            with open(name, "r+b") as f:
                f.seek(k)
                f.write(b"%d" % (k % 10))
        for name, size in (("sparse", 20 << 30), ("real", 512 << 20)):
            path = m.path + "/" + name
            put(small, name * 20)
            with open(path, "wb") as f:
                if name == "real":
                    for _ in range(size >> 20):
                        f.write(b"r" * (1 << 20))
                f.truncate(size)
            t.ask("SYNC")
            # A write that takes its time may settle more than once.
            e = [e for e in t.news() if e["path"] == name][-1]
            assert e["bytes"] == size and e["stamped"], e
            large, plain = change_times(t, path, small, poke)
            print("SYNC after a change: %s %.2f ms, small %.2f ms" % (
                name, large * 1e3, plain * 1e3))
            assert large < 10 * plain, (name, large, plain)
            shown = m.home.run("show", str(e["n"]), m.repo, check=True).stdout
            assert "too large to be read" in str(shown), shown
            os.rename(path, path + "2")
            t.ask("SYNC")
            e, = t.news()
            assert e["kind"] == "rename" and e["before"] == e["after"], e
            os.unlink(path + "2")


LARGE = "".join("def f%d(a, b=1):\n    if a:\n        return g(b)\n    return h"
                "(a, b)\n\n\n" % k for k in range(10000))


def answered_before(t, end):
    """Questions about another file that are answered before `end` ends."""
    other = taped.Asker(t.socket("tape.sock"))
    count = 0
    while end.is_alive():
        assert not other.ask("SYNC", paths=["small.py"]).get("open")
        other.ask("NOMINATE", records=[{"id": 1, "kind": "read", "birth": 0,
                                        "path": "small.py", "start": 1,
                                        "end": 1}])
        count += 1
    other.close()
    return count


def a_large_file_is_parsed_beside_the_questions():
    """Made, changed within and without the mount, and removed: who asks about
    it waits, and nobody else."""
    def asks():
        t.ask("SYNC", paths=["large.py"])

    with st.Mount() as m, taped.Tape(m.home, m.repo) as t:
        put(m.path + "/small.py", "x = 1\n")
        t.sync()
        for top, salt in (m.path, "1"), (m.path, "2"), (m.below, "3"):
            put(top + "/large.py", LARGE.replace("g(b)", salt))
            assert t.ask("SYNC", paths=["large.py"], within_ms=0)["open"]
            waiting = threading.Thread(target=asks)
            waiting.start()
            count = answered_before(t, waiting)
            e, = t.news()
            assert e["path"] == "large.py", e
            if salt == "1":
                assert len(e["new"]) > 10000, len(e["new"])
            else:
                assert len(e["X"]) >= 10000, len(e["X"])
            # With one slice for all it was a handful.
            assert count > 20, count
        # One definition of it is parsed at once.
        put(m.path + "/large.py", LARGE.replace("g(b)", "3").replace(
            "return 3", "return 4", 1))
        e, = t.sync()
        assert [x["name"] for x in e["X"]] == ["large.f0"], e["X"]
        os.unlink(m.path + "/large.py")
        e, = t.sync()
        assert e["kind"] == "delete", e


def questions_are_answered_while_others_wait():
    """A client asks SYNC and never reads; another one's is put off."""
    with st.Mount() as m, taped.Tape(m.home, m.repo) as t:
        put(m.path + "/a.txt", "1\n")
        silent = [taped.Asker(t.socket("tape.sock")) for _ in range(10)]
        for a in silent:
            a.conn.send(b"\x80\0\0\1" + b'{"v":1,"ask":"SYNC"}')
        os.kill(m.fs_pid, signal.SIGSTOP)
        try:
            reads = taped.Asker(t.socket("tape.sock"))
            reads.conn.send(b"\x80\0\0\1" + b'{"v":1,"ask":"READSET"}')
            for _ in range(50):
                t.ask("STATUS")
                t.ask("SYNC")
        finally:
            os.kill(m.fs_pid, signal.SIGCONT)
        assert b'"processes"' in reads.conn.receive()
        for a in silent:
            assert b'"ok":true' in a.conn.receive()
            a.close()
        reads.close()


if __name__ == "__main__":
    st.need_fuse()
    st.main(what_changes_outside_is_on_the_tape_under_load,
            what_changes_is_on_the_tape_without_a_mount,
            new_directories_are_covered,
            a_stopped_file_system_delays_no_answer,
            a_killed_file_system_leaves_nothing_in_flight,
            paths_are_settled_before_others,
            what_was_not_read_in_time_is_not_called_settled,
            what_is_pending_may_falsify_a_record,
            a_files_size_stops_nothing,
            a_large_file_is_parsed_beside_the_questions,
            questions_are_answered_while_others_wait)

#!/usr/bin/env python3
"""Whatever is killed, and when: what was written is on the tape once, and by
whom. $STATETAPE_KILLS says how often the tape is killed (15)."""

import os
import random
import signal
import subprocess
import sys
import time

import st
import taped

KILLS = int(os.environ.get("STATETAPE_KILLS", "15"))
SEED = int(os.environ.get("SEED", time.time_ns() % 1000000))

# A writer: many small saves of its own files in every way, until stopped.
WRITER = r"""
import os, random, sys, time
top, name, seed, stop = sys.argv[1:5]
r = random.Random(seed)
n = 0
def text():
    global n
    n += 1
    return "def f_%s():\n    return %d\n\n\nX = %d\n" % (name, n, n % 7)
def save(path, text):
    with open(path, "w") as f:
        f.write(text)
while not os.path.exists(stop):
    path = "%s/%s_%d.py" % (top, name, r.randrange(4))
    way = r.randrange(6)
    if way == 0:
        save(path, text())
    elif way == 1:
        save(path + ".tmp", text())
        os.rename(path + ".tmp", path)
    elif way == 2 and os.path.exists(path):
        os.rename(path, path + "~")
        save(path, text())
        os.unlink(path + "~")
    elif way == 3 and os.path.exists(path):
        os.unlink(path)
    elif way == 4 and os.path.exists(path):
        os.rename(path, "%s/%s_%d.py" % (top, name, r.randrange(4)))
    else:
        with open(path, "a") as f:
            f.write("# more\n")
    time.sleep(r.random() * 0.01)
"""


def writers(m, count, stop):
    return [subprocess.Popen([sys.executable, "-c", WRITER, m.path, "w%d" % i,
                              str(SEED + i), stop]) for i in range(count)]


def check(m, t, pids=None):
    t.ask("SYNC")
    entries = t.since(0)
    assert [e["n"] for e in entries] == list(range(1, len(entries) + 1))
    state, author = taped.replay(entries)
    unknown = [e for e in entries if e["author"]["origin"] != "mount"]
    assert not unknown, unknown[:3]
    files = taped.files_of(m.below)
    assert set(state) == set(files), (sorted(state), sorted(files))
    for path, data in files.items():
        text = t.ask("SOURCE", path=path, n=entries[-1]["n"])["text"]
        assert text.encode() == data, path
        if pids:
            who = pids[path.split("_")[0]]
            assert author[path] == who, (path, author[path], who)
    m.home.run("verify", m.repo, check=True)
    return entries


def the_tape_is_killed_while_writers_run():
    print("SEED=%d" % SEED)
    r = random.Random(SEED)
    with st.Mount() as m:
        with taped.Tape(m.home, m.repo, broken=True) as t:
            stop = m.home.top + "/stop"
            procs = writers(m, 3, stop)
            try:
                for _ in range(KILLS):
                    time.sleep(r.random() * 0.3)
                    t.kill()
                    if r.random() < 0.3:
                        time.sleep(r.random() * 0.2)
                    t.start()
            finally:
                open(stop, "w").close()
                for p in procs:
                    p.wait(st.DEADLINE)
            pids = {"w%d" % i: p.pid for i, p in enumerate(procs)}
            entries = check(m, t, pids)
            print("%d entries over %d kills" % (len(entries), KILLS))
            t.stop()
            m.home.run("verify", m.repo, check=True)


# A new file is replaced by an older one, whose name gets a new one.
REPLACE = r"""
import os, sys
def save(path, text, mode="w"):
    with open(path, mode) as f:
        f.write(text)
save("c", "2\n")
os.rename("a", "c")
save("a", "3\n")
print(flush=True)
sys.stdin.readline()
save("a", "4\n", "a")
"""


def a_name_that_was_made_anew_before_the_restart_is_told_from_the_move():
    """Its new file is on the tape, and the file that moved away is not."""
    with st.Mount() as m, taped.Tape(m.home, m.repo, broken=True) as t:
        for name in "ab":
            with open(m.path + "/" + name, "w") as f:
                f.write("1\n")
        t.sync()
        p = subprocess.Popen([sys.executable, "-c", REPLACE], cwd=m.path,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        p.stdout.readline()
        t.ask("SYNC", paths=["a"])
        t.kill()
        p.communicate(b"\n")
        t.start()
        check(m, t)


def a_file_system_that_is_slow_to_tell_is_waited_for():
    """Stopped at any moment, it has changed files whose lines are to come:
    these changes are not attributed to others."""
    r = random.Random(SEED)
    with st.Mount() as m, taped.Tape(m.home, m.repo) as t:
        stop = m.home.top + "/stop"
        procs = writers(m, 2, stop)
        try:
            for _ in range(max(4, KILLS // 3)):
                time.sleep(r.random() * 0.1)
                os.kill(m.fs_pid, signal.SIGSTOP)
                time.sleep(0.3 + r.random() * 0.3)
                os.kill(m.fs_pid, signal.SIGCONT)
        finally:
            os.kill(m.fs_pid, signal.SIGCONT)
            open(stop, "w").close()
            for p in procs:
                p.wait(st.DEADLINE)
        check(m, t)


def the_tape_is_killed_while_it_starts():
    r = random.Random(SEED)
    with st.Home() as home:
        repo = home.mkdir("repo")
        for i in range(300):
            with open(repo + "/f%d.py" % i, "w") as f:
                f.write("def f():\n    return %d\n" % i)
        for _ in range(5):
            p = home.start("tape", repo, stdout=subprocess.DEVNULL)
            time.sleep(r.random() * 0.25)
            p.kill()
            p.wait()
        with taped.Tape(home, repo) as t:
            assert t.sync() == [], "the first files are no entries"
            st.eventually(lambda: t.ask("STATUS")["bases"] == 0, "bases kept")
            assert "return 7" in t.ask("SOURCE", path="f7.py", n=0)["text"]
        home.run("verify", repo, check=True)


def the_file_system_is_killed():
    with st.Mount(broken=True) as m, taped.Tape(m.home, m.repo) as t:
        with open(m.path + "/a.py", "w") as f:
            f.write("x = 1\n")
        os.kill(m.fs_pid, 9)
        m.proc.wait(st.DEADLINE)
        e, = t.sync()
        assert e["author"]["origin"] == "mount", e
        # Nobody watches now; it is noticed all the same.
        with open(m.repo + "/a.py", "w") as f:
            f.write("x = 2\n")
        st.eventually(lambda: t.ask("STATUS")["n"] == 2, "an entry")
        with st.Mount(m.repo, home=m.home) as again:
            with open(again.path + "/a.py", "w") as f:
                f.write("x = 3\n")
            e = t.sync()[-1]
            assert e["author"]["origin"] == "mount", e


def a_full_disk_ends_the_tape_and_loses_nothing():
    with st.Home() as home:
        state = home.env["XDG_STATE_HOME"]
        repo = home.mkdir("repo")
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1500k", "none",
                           state], stderr=subprocess.DEVNULL).returncode:
            st.skip("no tmpfs can be mounted")
        try:
            with st.Mount(repo, home=home) as m, \
                    taped.Tape(home, repo, broken=True,
                               expect_log="No space left on device") as t:
                for k in range(1000):
                    with open(m.path + "/a%d" % (k % 30), "w") as f:
                        f.write(os.urandom(3000).hex())
                    try:
                        t.ask("SYNC")
                    except AssertionError as e:
                        assert "No space left" in str(e), e
                        break
                assert t.proc.wait(st.DEADLINE) == 1
                t.forget()
                # Its author finds his files as ever.
                with open(m.path + "/b.py", "w") as f:
                    f.write("x = 1\n")
                subprocess.run(["mount", "-o", "remount,size=50m", state],
                               check=True)
                t.proc.stdout.close()
                t.start()
                check(m, t)
        finally:
            subprocess.run(["umount", state], check=True)


def what_happened_while_nobody_watched_is_recovered():
    with st.Mount() as m:
        def put(name, text, top=m.path):
            with open(top + "/" + name, "w") as f:
                f.write(text)
        put("a.py", "def f():\n    return 1\n")
        put("b.py", "from a import f\n\n\ndef g():\n    return f()\n")
        put("c.py", "def h():\n    pass\n")
        with taped.Tape(m.home, m.repo) as t:
            t.sync()
            st.eventually(lambda: t.ask("STATUS")["bases"] == 0, "bases kept")
        put("a.py", "def f():\n    return 2\n")
        put("c.py", "def h():\n    return 3\n", m.below)
        os.unlink(m.below + "/b.py")
        with taped.Tape(m.home, m.repo) as t:
            got = {e["path"]: e for e in t.sync()}
            assert set(got) == {"a.py", "b.py", "c.py"}, got
            assert got["a.py"]["author"]["origin"] == "mount"
            assert got["c.py"]["author"]["origin"] == "recovered"
            assert got["b.py"]["kind"] == "delete"
            # Each with its own symbols, as if the tape had been there.
            assert [x["name"] for x in got["a.py"]["X"]] == ["a.f"]
            assert [x["name"] for x in got["c.py"]["X"]] == ["c.h"]
            assert "b.g" in [x["name"] for x in got["b.py"]["X"]]
        with taped.Tape(m.home, m.repo) as t:
            t.seen = len(got)
            assert t.sync() == []


def lost_lines_are_a_gap_and_files_are_looked_at():
    with st.Mount() as m:
        with taped.Tape(m.home, m.repo) as t:
            t.sync()
        with open(m.path + "/a.py", "w") as f:
            f.write("x = 1\n")
        m.umount()
        m.proc.wait(st.DEADLINE)
        # The journal is removed, as by a person short of space, and the next
        # one begins elsewhere.
        journal = m.home.state_dirs()[0] + "/journal"
        for name in os.listdir(journal):
            with open(journal + "/" + name, "r+b") as f:
                data = f.read()
                f.seek(0)
                f.write(b"\n" * (len(data) - 1))
        m.broken = True
        with st.Mount(m.repo, home=m.home) as again, \
                taped.Tape(m.home, m.repo, expect_log="journal lost") as t:
            with open(again.path + "/b.py", "w") as f:
                f.write("x = 1\n")
            got = {(e["kind"], e.get("path")) for e in t.sync()}
            assert ("create", "a.py") in got and ("create", "b.py") in got, got


st.main(the_tape_is_killed_while_writers_run,
        a_name_that_was_made_anew_before_the_restart_is_told_from_the_move,
        a_file_system_that_is_slow_to_tell_is_waited_for,
        the_tape_is_killed_while_it_starts, the_file_system_is_killed,
        a_full_disk_ends_the_tape_and_loses_nothing,
        what_happened_while_nobody_watched_is_recovered,
        lost_lines_are_a_gap_and_files_are_looked_at)

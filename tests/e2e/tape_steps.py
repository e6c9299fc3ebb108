#!/usr/bin/env python3
"""A fixed sequence of saves, with processes killed on the way: the entries are
those of an undisturbed run. $STATETAPE_KILLS says how often the tape
is killed at random (10), $STATETAPE_STEPS at how many of the system calls of
one save a process is killed (6)."""

import contextlib
import os
import random
import select
import signal
import subprocess
import threading
import time

import st
import taped

KILLS = int(os.environ.get("STATETAPE_KILLS", "10"))
STEPS = int(os.environ.get("STATETAPE_STEPS", "6"))
SEED = int(os.environ.get("SEED", time.time_ns() % 1000000))
# About as many as one thread makes on the way of two saves.
CALLS = 60


def put(path, text, mode="w"):
    with open(path, mode) as f:
        f.write(text)


def module(k):
    return ("LIMIT = %d\n\n\ndef f():\n    return %d\n\n\n"
            "def g():\n    return f() + LIMIT\n" % (k % 3, k))


def saves(top, k):
    """One round of saves, each a function that is done when it returns."""
    a, b, c = ("%s/r%d_%s.py" % (top, k, x) for x in "abc")
    d = "%s/d%d" % (top, k)

    def atomic(path, text):
        put(path + ".tmp", text)
        os.rename(path + ".tmp", path)

    def backup(path, text):
        os.rename(path, path + "~")
        put(path, text)
        os.unlink(path + "~")

    yield lambda: put(a, module(k))
    yield lambda: put(b, "from r%d_a import f\n\n\ndef h():\n    return f()\n"
                      % k)
    yield lambda: put(a, module(k + 1))
    yield lambda: atomic(a, module(k + 2))
    yield lambda: subprocess.run(["sed", "-i", "s/return f/return 1 + f/", b],
                                 check=True)
    yield lambda: backup(b, "def h():\n    return %d\n" % k)
    yield lambda: os.rename(b, c)
    yield lambda: put(c, "# more\n", "a")
    yield lambda: (os.makedirs(d), put(d + "/x.txt", "one\ntwo\n"))
    yield lambda: os.rename(d, d + "_moved")
    yield lambda: os.truncate(d + "_moved/x.txt", 4)
    yield lambda: put(a, module(k + 2))  # the same: no entry
    yield lambda: os.unlink(c)
    yield lambda: put(a, "def f(:\n")


def barrier(t):
    """SYNC, of whichever tape is there next."""
    def answered():
        try:
            return t.ask("SYNC")["ready"]
        except (OSError, AssertionError):
            t.forget()
            return False
    st.eventually(answered, "the barrier")


def stop(t, number):
    """A tape that stands still sees a save only when it is done, however
    slow the machine is."""
    try:
        t.proc.send_signal(number)
    except (OSError, AttributeError):
        pass


def play(m, t, rounds, saving):
    for k in rounds:
        for save in saves(m.path, k):
            with saving:
                stop(t, signal.SIGSTOP)
                save()
                stop(t, signal.SIGCONT)
            barrier(t)


def undisturbed(rounds):
    with st.Mount() as m, taped.Tape(m.home, m.repo) as t:
        t.settle_in()
        play(m, t, range(rounds), threading.Lock())
        return [taped.outline(e) for e in t.since(0)]


def same(entries, wanted):
    got = [taped.outline(e) for e in entries]
    for one, other in zip(got, wanted):
        assert one == other, "\n%s\n%s" % (one, other)
    assert len(got) == len(wanted), (got[len(wanted):], wanted[len(got):])


def the_tape_is_killed_at_random():
    print("SEED=%d" % SEED)
    r = random.Random(SEED)
    with st.Mount() as m:
        with taped.Tape(m.home, m.repo, broken=True) as t:
            t.settle_in()
            done, leave, rounds = threading.Event(), threading.Event(), 0
            saving = threading.Lock()

            def kill():
                for _ in range(KILLS):
                    time.sleep(r.random() * 0.15)
                    t.proc.kill()
                    t.proc.wait(st.DEADLINE)
                    t.proc.stdout.close()
                    if r.random() < 0.2:
                        time.sleep(r.random() * 0.2)
                    with saving:
                        t.start()
                done.set()
                # What a thread started ends with it.
                leave.wait(st.DEADLINE)
            killer = threading.Thread(target=kill)
            killer.start()
            try:
                while not done.is_set():
                    play(m, t, [rounds], saving)
                    rounds += 1
                barrier(t)
                entries = t.since(0)
                m.home.run("verify", m.repo, check=True)
            finally:
                leave.set()
                killer.join()
    print("%d entries over %d kills" % (len(entries), KILLS))
    same(entries, undisturbed(rounds))


@contextlib.contextmanager
def traced(pid, *args):
    """Process `pid` under strace, which writes to the pipe that is given."""
    p = subprocess.Popen(["strace", "-f", "-qq", *args, "-p", str(pid)],
                         stderr=subprocess.PIPE)

    def attached():
        if gone(pid):
            return True
        if p.poll() is not None:
            st.skip("strace cannot attach: %s" % p.stderr.read())
        with open("/proc/%d/status" % pid) as f:
            return any(line.startswith("TracerPid:") and line.split()[1] != "0"
                       for line in f)
    try:
        st.eventually(attached, "a tracer")
        yield p.stderr
    finally:
        # Asked to end it would wait for those it has killed.
        p.kill()
        p.wait(st.DEADLINE)
        p.stderr.close()


def killed_at(pid, call, work):
    """Do the work while process `pid` is killed at that system call of its,
    if it comes so far."""
    with traced(pid, "-o", "/dev/null",
                "-e", "inject=all:signal=KILL:when=%d" % call):
        return work()


def gone(pid):
    try:
        with open("/proc/%d/stat" % pid) as f:
            return f.read().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def calls():
    """Which calls to die at: as many as asked for, and others each time."""
    return sorted(random.Random(SEED).sample(range(1, CALLS),
                                             min(STEPS, CALLS - 1)))


def the_tape_is_killed_at_a_system_call():
    st.need("strace")
    with st.Home() as home:
        repo = home.mkdir("repo")
        put(repo + "/a.py", module(0))
        put(repo + "/b.py", module(0))
        with st.Mount(repo, home=home) as m, \
                taped.Tape(home, repo, broken=True) as t:
            t.settle_in()
            died = 0
            for k, call in enumerate(calls(), 1):
                def work():
                    put(m.path + "/a.py", module(10 * k))
                    put(m.path + "/tmp", module(10 * k + 1))
                    os.rename(m.path + "/tmp", m.path + "/b.py")
                    try:
                        t.ask("SYNC")
                        return True
                    except OSError:
                        return False
                t.forget()
                if not killed_at(t.proc.pid, call, work) or gone(t.proc.pid):
                    died += 1
                    t.kill()
                    t.start()
                # The new file may have settled before it was renamed.
                got = [e for e in t.sync() if e["path"] != "tmp"]
                assert sorted((e["kind"], e["path"]) for e in got) == \
                    [("edit", "a.py"), ("edit", "b.py")], (call, got)
                for e in got:
                    assert e["author"]["pid"] == os.getpid(), (call, e)
            check(m, t)
            print("died %d of %d times" % (died, len(calls())))


def check(m, t):
    entries = t.since(0)
    assert [e["n"] for e in entries] == list(range(1, len(entries) + 1))
    state, _ = taped.replay(entries)
    for path, data in taped.files_of(m.below).items():
        n = entries[-1]["n"]
        assert t.ask("SOURCE", path=path, n=n)["text"].encode() == data, path
        assert path in state, path
    m.home.run("verify", m.repo, check=True)


def the_file_system_is_killed_at_a_system_call():
    """Whatever it did is on the tape once, by whom if it got so far."""
    st.need("strace")
    with st.Home() as home:
        repo = home.mkdir("repo")
        put(repo + "/a.py", module(0))
        put(repo + "/b.py", module(0))
        with taped.Tape(home, repo) as t:
            t.settle_in()
            for k, call in enumerate(calls(), 1):
                with st.Mount(repo, home=home, broken=True) as m:
                    def work():
                        try:
                            put(m.path + "/a.py", module(10 * k))
                            put(m.path + "/tmp", module(10 * k + 1))
                            os.rename(m.path + "/tmp", m.path + "/b.py")
                        except OSError:
                            pass
                    killed_at(m.fs_pid, call, work)
                    t.ask("SYNC")
                st.eventually(lambda: is_told(t, repo), "all is on the tape")
            home.run("verify", repo, check=True)
            by = [e["author"]["origin"] for e in t.since(0)]
            print({x: by.count(x) for x in set(by)})


def a_write_while_somebody_else_s_is_looked_at_keeps_its_author():
    """The tape is about to read what was changed outside when the file is
    written through the mount, too: that is not attributed to outside."""
    st.need("strace")
    with st.Mount() as m, taped.Tape(m.home, m.repo) as t:
        put(m.path + "/a.py", "x = 0\n")
        t.settle_in()
        t.sync()
        with traced(t.proc.pid, "-e", "trace=openat2",
                    "-e", "inject=openat2:delay_enter=100000") as calls_made:
            put(m.below + "/a.py", "x = 1\n")
            seen = b""
            while b'"a.py", {flags=O_RDONLY|O_NONBLOCK' not in seen:
                assert select.select([calls_made], [], [], st.DEADLINE)[0]
                seen += os.read(calls_made.fileno(), 65536)
            put(m.path + "/a.py", "x = 22\n")
        t.sync()
        st.eventually(lambda: t.ask("STATUS")["pending"] == 0, "all settled")
        last = t.since(0)[-1]
        assert (last["bytes"], last["author"]["origin"]) == (7, "mount"), last


def is_told(t, repo):
    state, _ = taped.replay(t.since(0))
    n = t.ask("STATUS")["n"]
    files = taped.files_of(repo)
    return set(state) <= set(files) and all(
        t.ask("SOURCE", path=path, n=n)["text"].encode() == data
        for path, data in files.items() if path in state)


st.main(the_tape_is_killed_at_random, the_tape_is_killed_at_a_system_call,
        the_file_system_is_killed_at_a_system_call,
        a_write_while_somebody_else_s_is_looked_at_keeps_its_author)

#!/usr/bin/env python3
"""`statetape run` when something breaks: the agent finishes its script, the
repository ends as the script says, and nothing is left behind.

STATETAPE_RUN_KILLS says how many runs have a part killed at random (5);
STATETAPE_SEED which ones (any, printed)."""

import contextlib
import os
import random
import signal
import subprocess
import time

import fakemodel
import st
from running import (PARTS, log, nothing_left, part, parts, place, read, run,
                     small_disk, start, start_agent, write)

CALC = "def add(a, b):\n    return a - b\n\n\ndef twice(x):\n    return 2 * x\n"
TEST = "import calc\nassert calc.add(1, 2) == 3\nprint('1 passed')\n"
DEADLINE = 120


def call(name, **arguments):
    return {"calls": [(name, arguments)]}


def script(repo):
    """The script of an agent. It uses absolute paths, which still work after
    the file system process was killed."""
    calc, test = repo + "/calc.py", repo + "/test_calc.py"
    return [
        call("Read", file_path=calc),
        call("Read", file_path=test),
        call("Edit", file_path=calc, old_string="a - b", new_string="a + b"),
        call("Bash", command="cd %s && python3 -B test_calc.py" % repo),
        call("Bash", command="grep -n def %s/*.py" % repo),
        call("Read", file_path=calc),
        call("Write", file_path=repo + "/new.py", content="n = 1\n"),
        call("Bash", command="sed -i 's/2 [*] x/x + x/' " + calc),
        call("Read", file_path=calc),
        {"text": "All done."},
    ]


def session_log(home):
    return read(home.state_dirs()[0] + "/session.log")


def prepare(repo):
    write(repo + "/calc.py", CALC)
    write(repo + "/test_calc.py", TEST)


def check(repo):
    """Asserts that the repository is as the script leaves it, without other
    files."""
    assert read(repo + "/calc.py") == CALC.replace("a - b", "a + b").replace(
        "2 * x", "x + x")
    assert read(repo + "/new.py") == "n = 1\n"
    assert sorted(os.listdir(repo)) == ["app.py", "calc.py", "new.py",
                                        "test_calc.py"], os.listdir(repo)


def check_calls(repo):
    """The same after the file system was killed, when the call that is under
    way fails: each call was carried out, or failed."""
    once = CALC.replace("a - b", "a + b")
    twice = CALC.replace("2 * x", "x + x")
    both = once.replace("2 * x", "x + x")
    assert read(repo + "/calc.py") in (CALC, once, twice, both, "")
    assert {"app.py", "calc.py", "test_calc.py"} <= set(os.listdir(repo))


def finish(p, what):
    """Waits for the agent's end; prints its output if it failed."""
    try:
        out, err = p.communicate(timeout=DEADLINE)
    except subprocess.TimeoutExpired:
        p.kill()
        out, err = p.communicate()
        raise AssertionError("%s: it hangs\n%s%s" % (what, out, err)) from None
    assert p.returncode == 0, "%s: code %d\n%s%s" % (what, p.returncode, out,
                                                     err)
    return err


def a_part_that_dies_is_started_again():
    st.need_fuse()
    with place() as (home, repo):
        p = start(home, repo, "while ! test -e stop; do sleep 0.05; done; "
                  "echo 'y = 1' > late.py; exit 5", stderr=subprocess.PIPE,
                  text=True)
        for name in ("tape", "manager"):
            pid = part(repo, name)
            os.kill(pid, signal.SIGKILL)
            st.eventually(lambda n=name, o=pid:
                          parts(repo).get(n) not in (None, o),
                          name + " runs again")
        write(repo + "/stop", "")
        _, err = p.communicate(timeout=st.DEADLINE)
        assert p.returncode == 5, err
        assert "the tape was killed by SIGKILL" in err, err
        assert "the manager was killed by SIGKILL" in err, err
        assert "late.py" in [e["path"] for e in log(home, repo)]
        nothing_left(home, repo)


def outlive_file_system(home, repo, before_kill=lambda: None):
    """The mount ends before the agent does; the run reports it."""
    p = start(home, repo, "while ! test -e %s/stop; do sleep 0.05; done; "
              "echo 'y = 1' > %s/late.py; exit 5" % (repo, repo),
              stderr=subprocess.PIPE, text=True)
    fs = part(repo, "fs")
    part(repo, "tape")
    before_kill()
    os.kill(fs, signal.SIGKILL)
    write(repo + "/stop", "")
    _, err = p.communicate(timeout=st.DEADLINE)
    assert p.returncode == 5, err
    assert "not mounted any more" in err, err
    assert "late.py" in [e["path"] for e in log(home, repo)]


def the_agent_outlives_the_file_system():
    st.need_fuse()
    with place() as (home, repo):
        outlive_file_system(home, repo)
        nothing_left(home, repo)


def a_session_that_is_slow_still_tells_what_became_of_the_mount():
    st.need_fuse()
    st.need("strace")
    with place() as (home, repo), contextlib.ExitStack() as stack:
        def slow_down():
            slow = stack.enter_context(subprocess.Popen(
                ["strace", "-o", "/dev/null", "-p",
                 str(part(repo, "session")),
                 "-e", "inject=poll:delay_exit=400000"],
                stderr=subprocess.PIPE))
            slow.stderr.readline()  # it is attached
        outlive_file_system(home, repo, slow_down)
        stack.close()  # it ends with the session
        nothing_left(home, repo)


def a_session_that_is_killed_is_replaced_by_a_weaker_one():
    st.need_fuse()
    with place() as (home, repo):
        p = start(home, repo, "touch up; while ! test -e %s/stop; do sleep "
                  "0.05; done; echo 'y = 1' > %s/late.py; exit 5"
                  % (repo, repo), stderr=subprocess.PIPE, text=True)
        st.eventually(lambda: os.path.exists(repo + "/up"), "agent runs")
        tape = part(repo, "tape")
        os.kill(part(repo, "session"), signal.SIGKILL)
        st.eventually(lambda: parts(repo).get("tape") not in (None, tape),
                      "another runs")
        write(repo + "/stop", "")
        _, err = p.communicate(timeout=st.DEADLINE)
        assert p.returncode == 5, err
        assert "was killed and is replaced" in err, (err, session_log(home))
        assert "late.py" in [e["path"] for e in log(home, repo)]
        nothing_left(home, repo)


def killing_the_run_itself_leaves_nothing():
    st.need_fuse()
    with place() as (home, repo):
        p = start(home, repo, "touch up; while :; do sleep 0.05; done")
        st.eventually(lambda: os.path.exists(repo + "/up"), "agent runs")
        p.kill()
        p.wait(st.DEADLINE)
        nothing_left(home, repo)


def killing_the_run_while_it_starts_leaves_nothing():
    st.need_fuse()
    rng = random.Random(1)
    for _ in range(10):
        with place() as (home, repo):
            p = start(home, repo, "exec sleep 1000")
            time.sleep(rng.uniform(0, 0.15))
            p.kill()
            p.wait(st.DEADLINE)
            nothing_left(home, repo)


def killing_guard_and_session_leaves_nothing():
    """Also with a visible mount, which would otherwise stay."""
    st.need_fuse()
    for how, names in (("private", ("guard",)), ("visible", ("guard",)),
                       ("private", ("guard", "session")),
                       ("visible", ("guard", "session"))):
        with place() as (home, repo):
            p = start(home, repo, "touch up; while ! test -e %s/stop; do "
                      "sleep 0.05; done" % repo, "--mount", how)
            st.eventually(lambda r=repo: os.path.exists(r + "/up"),
                          "agent runs")
            for name in names:
                os.kill(part(repo, name), signal.SIGKILL)
            write(repo + "/stop", "")
            assert p.wait(st.DEADLINE) == 0
            nothing_left(home, repo)


def a_guard_that_dies_after_its_session_leaves_nothing():
    """The guard is held back, so that the run sees the session's end first."""
    st.need_fuse()
    with place() as (home, repo):
        p = start(home, repo, "touch up; while ! test -e %s/stop; do sleep "
                  "0.05; done" % repo, "--mount", "visible")
        st.eventually(lambda: os.path.exists(repo + "/up"), "agent runs")
        guard, session = part(repo, "guard"), part(repo, "session")
        os.kill(guard, signal.SIGSTOP)
        os.kill(session, signal.SIGKILL)
        st.eventually(lambda: not st.alive(session), "session ends")
        time.sleep(0.2)
        os.kill(guard, signal.SIGKILL)
        write(repo + "/stop", "")
        assert p.wait(st.DEADLINE) == 0
        nothing_left(home, repo)


def a_request_waits_for_the_next_manager():
    """The socket outlives the manager: no connection is refused, and a client
    whose request was cut off sends it again."""
    st.need_fuse()
    with place() as (home, repo), \
            fakemodel.Model() as model:
        prepare(repo)
        kills = []

        def play(r):
            at = r.step()
            if at < 4 and at not in kills:
                kills.append(at)
                os.kill(part(repo, "manager"), signal.SIGKILL)
            return script(repo)[at]

        model.script = play
        err = finish(start_agent(home, repo, model), "killed at each step")
        assert "refused" not in err, err
        assert len(kills) == 4
        check(repo)
        nothing_left(home, repo)


def a_manager_that_cannot_stay_is_replaced_by_one_that_forwards():
    """Its archive is a directory, so the manager dies as soon as it starts."""
    st.need_fuse()
    with place() as (home, repo), fakemodel.Model() as model:
        prepare(repo)
        assert run(home, repo, "true").returncode == 0
        with contextlib.suppress(FileNotFoundError):
            os.remove(home.state_dirs()[0] + "/manager.db")
        os.mkdir(home.state_dirs()[0] + "/manager.db")
        model.script = script(repo)
        err = finish(start_agent(home, repo, model), "no memory")
        assert "the manager ended with code 1" in err, err
        assert "requests are forwarded unchanged" in err, err
        check(repo)
        nothing_left(home, repo)


def a_full_disk_stops_nobody():
    """The disk with the state is full, at the start or later."""
    st.need_fuse()
    st.own_mounts()
    with small_disk(1 << 20) as disk, place() as (home, repo), \
            fakemodel.Model() as model:
        prepare(repo)
        home.env["XDG_STATE_HOME"] = disk
        model.script = script(repo)
        p = start_agent(home, repo, model)
        part(repo, "tape")
        fill(disk)
        finish(p, "filled in the middle")
        check(repo)
        nothing_left(home, repo)
        prepare(repo)
        os.remove(repo + "/new.py")
        p = start_agent(home, repo, model)
        finish(p, "full from the start")
        check(repo)
        nothing_left(home, repo)


def fill(disk):
    with contextlib.suppress(OSError), open(disk + "/fill", "wb",
                                            buffering=0) as f:
        while True:
            f.write(b"x" * 4096)


def a_part_killed_at_random_never_stops_the_agent():
    st.need_fuse()
    runs = int(os.environ.get("STATETAPE_RUN_KILLS", "5"))
    seed = int(os.environ.get("STATETAPE_SEED", "0")) or \
        random.SystemRandom().randrange(1, 1 << 32)
    print("seed", seed, "runs", runs)
    for i in range(runs):
        kill_one(random.Random("%d %d" % (seed, i)), i)


def kill_one(rng, i):
    """Kills the parts in turn, at random times."""
    with place() as (home, repo), fakemodel.Model() as model:
        prepare(repo)
        steps = script(repo)
        for s in steps:
            s["delay"] = 0.002
        model.script = steps
        p = start_agent(home, repo, model)
        name = PARTS[i % len(PARTS)]
        kills = rng.choice((1, 1, 2, 3))
        for _ in range(kills):
            time.sleep(rng.uniform(0, 0.5))
            pid = parts(repo).get(name)
            if pid:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        finish(p, "run %d: %s killed" % (i, name))
        if name in ("tape", "manager"):
            check(repo)
        else:
            check_calls(repo)
        nothing_left(home, repo)


st.main(a_part_that_dies_is_started_again,
        the_agent_outlives_the_file_system,
        a_session_that_is_slow_still_tells_what_became_of_the_mount,
        a_session_that_is_killed_is_replaced_by_a_weaker_one,
        killing_the_run_itself_leaves_nothing,
        killing_the_run_while_it_starts_leaves_nothing,
        killing_guard_and_session_leaves_nothing,
        a_guard_that_dies_after_its_session_leaves_nothing,
        a_request_waits_for_the_next_manager,
        a_manager_that_cannot_stay_is_replaced_by_one_that_forwards,
        a_part_killed_at_random_never_stops_the_agent,
        a_full_disk_stops_nobody)

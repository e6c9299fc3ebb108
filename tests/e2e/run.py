#!/usr/bin/env python3
"""`statetape run`: an agent in its session, which leaves nothing behind.

The agents here are shells; agents_*.py test real ones."""

import json
import os
import re
import signal
import socket
import subprocess

import st
from running import (log, nothing_left, part, parts, place, read, run, start,
                     write)


def an_agent_keeps_its_exit_code_output_and_directory():
    with place() as (home, repo):
        r = run(home, repo, "pwd; echo out; echo err >&2; env | grep "
                "^STATETAPE_CWD; exit 7")
        assert r.returncode == 7, r
        assert r.stdout == repo + "\nout\n", r.stdout
        assert "err\n" in r.stderr
        nothing_left(home, repo)


def an_agent_sees_the_mount_and_nobody_else_does():
    st.need_fuse()
    with place() as (home, repo):
        r = run(home, repo, "grep fuse.statetape /proc/self/mountinfo; "
                "echo 'x = 1' > new.py; cat new.py; echo $ANTHROPIC_BASE_URL")
        assert "fuse.statetape" in r.stdout, r
        assert "x = 1" in r.stdout
        assert "http://127.0.0.1:" in r.stdout
        assert read(repo + "/new.py") == "x = 1\n"
        nothing_left(home, repo)


def what_the_agent_wrote_is_on_the_tape():
    st.need_fuse()
    with place() as (home, repo):
        run(home, repo, "sed -i s/1/2/ app.py; echo 'def g(): pass' > b.py")
        entries = log(home, repo)
        by = {e["path"]: e for e in entries}
        assert by["app.py"]["kind"] == "edit", by
        assert by["app.py"]["author"]["comm"] == "sed", by
        # Ancestors of the run itself are not recorded.
        above = by["app.py"]["author"]["ancestors"]
        assert above[-1]["comm"] == "statetape-run", above
        assert [x["name"] for x in by["app.py"]["X"]] == ["app.f"], by
        assert by["b.py"]["kind"] == "create", by
        assert len(entries) == 2, entries
        nothing_left(home, repo)


def a_daemon_of_the_agent_belongs_to_the_session():
    """It forks twice, and writes when its parents are gone."""
    st.need_fuse()
    with place() as (home, repo):
        run(home, repo, "(setsid sh -c 'while kill -0 '$$' && [ ! -e go ]; do "
            "sleep 0.02; done; sed -i s/1/2/ app.py; touch done' &); touch go; "
            "while [ ! -e done ]; do sleep 0.02; done")
        author = [e for e in log(home, repo)
                  if e["path"] == "app.py"][-1]["author"]
        assert author["comm"] == "sed", author
        assert author["ancestors"][-1]["comm"] == "statetape-run", author
        nothing_left(home, repo)


def a_command_that_is_not_there_is_named():
    with place() as (home, repo):
        for command, code in (("no-such-agent", 127), (repo + "/app.py", 126),
                              (repo, 126), ("", 127)):
            r = home.run("run", "--repo", repo, "--", command)
            assert r.returncode == code, r
            assert "cannot run '%s'" % command in r.stderr, r
        nothing_left(home, repo)


def wrong_words_are_refused_before_anything_starts():
    with place() as (home, repo):
        for words, said in (
                (["--mode", "fast", "--", "true"], "'fast' is not a mode; "
                 "allowed: pinned, eager, off"),
                (["--mount", "up", "--", "true"], "'up' is not a mount; "),
                (["--fast", "--", "true"], "no option --fast"),
                ([], "must follow --"), (["--"], "command is missing")):
            r = home.run("run", "--repo", repo, *words)
            assert r.returncode == 2, r
            assert said in r.stderr, r
        r = home.run("run", "--repo", repo + "/app.py", "--", "true")
        assert r.returncode == 125 and "not a directory" in r.stderr, r
        r = home.run("run", "--repo", "/proc", "--", "true")
        assert r.returncode == 125, r
        assert "a file system of the kernel's" in r.stderr, r
        r = home.run("mount", "/sys")
        assert r.returncode == 1 and "no files there" in r.stderr, r
        r = home.run("run", "--repo", repo + "/none", "--", "true")
        assert r.returncode == 125 and "No such file" in r.stderr, r
        nothing_left(home, repo)


def a_configuration_is_read_and_its_mistakes_are_named():
    with place() as (home, repo):
        write(repo + "/.statetape.toml", "[upstream]\nopenai = 'http://x'\n")
        r = run(home, repo, "true")
        assert r.returncode == 0 and "may not set" in r.stderr, r
        write(repo + "/.statetape.toml", "[run]\nmount = 'none'\n")
        r = run(home, repo, "grep %s /proc/self/mountinfo; true" % repo)
        assert r.returncode == 0, r
        assert r.stdout == "", r
        assert "is not mounted" in r.stderr, r
        nothing_left(home, repo)


def without_a_mount_changes_are_noticed_all_the_same():
    with place() as (home, repo):
        r = run(home, repo, "sed -i s/1/2/ app.py", "--no-mount")
        assert r.returncode == 0, r
        entries = log(home, repo)
        assert [e["path"] for e in entries] == ["app.py"], entries
        assert entries[0]["author"]["origin"] == "outside", entries
        nothing_left(home, repo)


def an_ordinary_user_can_run():
    st.need_fuse()
    st.open_fuse_device()
    with place(st.NOBODY) as (home, repo):
        r = run(home, repo, "id -u; sed -i s/1/2/ app.py")
        assert r.returncode == 0, r
        assert str(st.NOBODY) in r.stdout, r
        nothing_left(home, repo)


def two_agents_share_a_session():
    st.need_fuse()
    with place() as (home, repo):
        first = start(home, repo,
                      "touch one; while ! test -e two; do sleep 0.05; "
                      "done; while test -e two; do sleep 0.05; done")
        st.eventually(lambda: os.path.exists(repo + "/one"), "first runs")
        second = run(home, repo, "ls; touch two; grep -c fuse.statetape "
                     "/proc/self/mountinfo; sleep 0.3; rm two")
        assert second.returncode == 0, second
        assert "one" in second.stdout, second
        assert first.wait(st.DEADLINE) == 0
        nothing_left(home, repo)


def a_dozen_agents_have_a_manager_each():
    with place() as (home, repo):
        all_ = [start(home, repo, "touch up%d; while ! test -e stop; do sleep "
                      "0.2; done" % n, stderr=subprocess.PIPE, text=True)
                for n in range(12)]
        for n in range(12):
            st.eventually(lambda f="%s/up%d" % (repo, n): os.path.exists(f),
                          "all run")
        st.eventually(lambda: len(re.findall(
            r"manager +port", home.run("status", repo).stdout)) == 12,
            "all have one")
        write(repo + "/stop", "")
        for p in all_:
            _, err = p.communicate(timeout=st.DEADLINE)
            assert p.returncode == 0 and "the manager" not in err.replace(
                "at the manager", "").replace("through the manager", ""), err
        nothing_left(home, repo)


def an_agent_that_ends_at_once_has_its_report():
    """A run that joins an existing session has nothing else to wait for."""
    with place() as (home, repo):
        first = start(home, repo, "touch up; while ! test -e stop; do sleep "
                      "0.05; done")
        st.eventually(lambda: os.path.exists(repo + "/up"), "first runs")
        for _ in range(5):
            r = run(home, repo, "true")
            assert "no request came" in r.stderr, r
        write(repo + "/stop", "")
        assert first.wait(st.DEADLINE) == 0
        nothing_left(home, repo)


def runs_that_start_and_end_at_once_never_fail():
    """Runs on one repository: each starts a session, joins one, or waits for
    the end of one that is shutting down."""
    st.need_fuse()
    with place() as (home, repo):
        for _ in range(3):
            all_ = [start(home, repo, "echo >> f%d; exit %d" % (n, n),
                          stderr=subprocess.PIPE) for n in range(6)]
            for n, p in enumerate(all_):
                _, err = p.communicate(timeout=st.DEADLINE)
                assert p.returncode == n, (n, p.returncode, err)
        assert all(read(repo + "/f%d" % n) == "\n\n\n" for n in range(6))
        nothing_left(home, repo)


def runs_on_several_repositories_do_not_know_each_other():
    st.need_fuse()
    with place() as (home, repo):
        other = home.mkdir("other")
        a = start(home, repo, "while ! test -e stop; do sleep 0.05; done; "
                  "echo 'a = 1' > a.py")
        b = start(home, other, "while ! test -e stop; do sleep 0.05; done; "
                  "echo 'b = 1' > b.py")
        for r in (repo, other):
            for name in ("fs", "tape", "manager", "session", "guard"):
                part(r, name)
        assert not set(parts(repo).values()) & set(parts(other).values())
        for r in (repo, other):
            write(r + "/stop", "")
        assert a.wait(st.DEADLINE) == 0 and b.wait(st.DEADLINE) == 0
        assert "a.py" in [e["path"] for e in log(home, repo)]
        assert "b.py" in [e["path"] for e in log(home, other)]
        nothing_left(home, repo)
        nothing_left(home, other)


def status_from_another_terminal_tells_of_all_parts():
    st.need_fuse()
    with place() as (home, repo):
        p = start(home, repo, "touch up; while ! test -e stop; do sleep 0.05; "
                  "done")
        st.eventually(lambda: os.path.exists(repo + "/up"), "agent runs")
        r = home.run("status", repo, check=True)
        for said in ("is mounted", "tape", "port ", "journal"):
            assert said in r.stdout, r.stdout
        assert home.run("status", check=True).stdout.startswith(repo)
        write(repo + "/stop", "")
        assert p.wait(st.DEADLINE) == 0
        r = home.run("status", repo)
        assert r.returncode == 0 and "is not mounted" in r.stdout, r
        nothing_left(home, repo)


def a_signal_reaches_the_agent_and_all_is_taken_down():
    st.need_fuse()
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT,
                   signal.SIGUSR1):
        with place() as (home, repo):
            p = start(home, repo, "trap 'exit 9' %s; touch up; "
                      "while :; do sleep 0.05; done" % number.name[3:])
            st.eventually(lambda r=repo: os.path.exists(r + "/up"),
                          "agent runs")
            p.send_signal(number)
            assert p.wait(st.DEADLINE) == 9, number
            nothing_left(home, repo)


def a_run_ends_by_the_signal_that_ended_the_agent():
    with place() as (home, repo):
        for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGINT):
            r = run(home, repo, "kill -%d $$" % number)
            assert r.returncode == -number, r
        nothing_left(home, repo)


def a_signal_before_the_agent_starts_ends_the_run():
    """A signal arrives while the run waits for a tape that does not start."""
    with place() as (home, repo):
        p = start(home, repo, "touch ran", "--no-mount",
                  stderr=subprocess.PIPE)
        tape = part(repo, "tape")
        os.kill(tape, signal.SIGSTOP)
        p.send_signal(signal.SIGINT)
        os.kill(tape, signal.SIGCONT)
        _, err = p.communicate(timeout=st.DEADLINE)
        assert p.returncode in (-signal.SIGINT, 0), err
        assert p.returncode == 0 or not os.path.exists(repo + "/ran")
        nothing_left(home, repo)


# Prints the manager's command line from inside the agent.
MANAGER = "tr '\\0' ' ' < /proc/$(pgrep -P $PPID -f " \
    "'^statetape manager')/cmdline"
# Prints what the run has handed over to the manager.
HANDED = "for f in /proc/$PPID/fd/*; do case $(readlink $f) in " \
    "/memfd:statetape*) cat $f;; esac; done"


def requests_go_on_to_where_the_agent_sent_them_before():
    """A key for one service is never sent to another."""
    with place() as (home, repo):
        home.env["PATH"] += ":" + home.mkdir("bin")
        home.env.update(OPENAI_BASE_URL="http://other/v1",
                        GROK_BASE_URL="http://me:pass@mine/v1")
        for name, want in (("grok", "http://me:pass@mine/v1"),
                           ("codex", "https://api.openai.com"),
                           ("aider", "http://other/v1")):
            path = home.top + "/bin/" + name
            write(path, "#!/bin/sh\n%s; %s; echo; echo $GROK_BASE_URL $@\n"
                  % (MANAGER, HANDED))
            os.chmod(path, 0o755)
            r = home.run("run", "--repo", repo, "--no-mount", "--", name)
            words, handed = r.stdout.splitlines()[0].split("{")
            assert json.loads("{" + handed)["openai"] == want, r
            assert "statetape manager" in words and "//" not in words, r
            assert name == "aider" or \
                "http://127.0.0.1:" in r.stdout.splitlines()[-1], r
        home.env["STATETAPE_OPENAI_UPSTREAM"] = "http://said"
        r = home.run("run", "--repo", repo, "--no-mount", "--", "grok")
        assert '"openai":"http://said"' in r.stdout, r
        # An address that cannot be used is reported before anything starts; a
        # variable that this agent does not read is ignored.
        del home.env["STATETAPE_OPENAI_UPSTREAM"]
        home.env.update(OPENAI_BASE_URL="other", GROK_BASE_URL="mine")
        r = home.run("run", "--repo", repo, "--no-mount", "--", "codex")
        assert r.returncode == 0, r
        r = home.run("run", "--repo", repo, "--no-mount", "--", "grok")
        assert r.returncode == 125 and "'mine' is not an address" in r.stderr, r
        nothing_left(home, repo)


def a_port_can_be_asked_for():
    with place() as (home, repo), socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        words = ["--no-mount", "--port", str(port)]
        taken.listen()
        r = run(home, repo, "touch ran", *words)
        assert r.returncode == 125, r
        assert "127.0.0.1:%d: Address already in use" % port in r.stderr, r
        assert not os.path.exists(repo + "/ran")
        taken.close()
        for _ in range(2):
            r = run(home, repo, "echo $OPENAI_BASE_URL", *words)
            assert re.fullmatch(r"http://127\.0\.0\.1:%d/[0-9a-f]{40}/v1\n"
                                % port, r.stdout), r
        r = run(home, repo, "true", "--port", "65536")
        assert r.returncode == 2 and "at most 65535" in r.stderr, r
        nothing_left(home, repo)


def environment_stands_above_files_and_flags_above_all():
    with place() as (home, repo):
        write(home.mkdir("xdg/c/statetape") + "/config.toml",
              "# mine\n[run]\nmode = \"eager\"\nmount = 'none'\n")
        def words(*options, **env):
            home.env.update(env)
            return run(home, repo, MANAGER, *options, "--no-mount").stdout

        assert "--mode=eager" in words(), words()
        write(repo + "/.statetape.toml", "[run]\nmode = 'off'\n")
        assert "--mode=off" in words()
        assert "--mode=pinned" in words(STATETAPE_MODE="pinned")
        assert "--mode=eager" in words("--mode", "eager")
        r = run(home, repo, "true", "--no-mount")
        assert r.returncode == 0
        home.env["STATETAPE_MODE"] = "fast"
        r = run(home, repo, "true")
        assert r.returncode == 125 and "STATETAPE_MODE: 'fast'" in r.stderr
        del home.env["STATETAPE_MODE"]
        write(repo + "/.statetape.toml", "[run]\n\nmood = 'off'\n")
        r = run(home, repo, "true")
        assert r.returncode == 125, r
        assert repo + "/.statetape.toml:3: there is no key 'mood'" in r.stderr
        nothing_left(home, repo)


def an_agent_is_started_in_the_repository_it_is_given():
    with place() as (home, repo):
        sub = home.mkdir("repo/sub/deep")
        os.mkdir(repo + "/.git")
        for cwd, options, where in (
                (home.top, ["--repo", repo], repo),
                (home.top, ["--repo", "repo"], repo),
                (sub, ["--repo", repo], sub),
                (sub, ["--repo", "../.."], sub),
                (sub, [], sub)):
            r = home.run("run", *options, "--", "sh", "-c",
                         "pwd; grep -c fuse.statetape /proc/self/mountinfo",
                         cwd=cwd)
            assert r.returncode == 0 and r.stdout.split()[0] == where, r
        nothing_left(home, repo)


def what_an_agent_leaves_running_hinders_nobody():
    st.need_fuse()
    with place() as (home, repo):
        r = run(home, repo, "sleep 1000 <&- >&- 2>&- & echo $!")
        assert r.returncode == 0, r
        pid = int(r.stdout)
        try:
            assert not st.mounted(repo)
            assert set(parts(repo)) <= {"fs"}, parts(repo)
            r = run(home, repo, "sed -i s/1/2/ app.py")
            assert r.returncode == 0, r
            assert log(home, repo)[-1]["path"] == "app.py"
        finally:
            os.kill(pid, signal.SIGKILL)
        nothing_left(home, repo)


st.main(an_agent_keeps_its_exit_code_output_and_directory,
        an_agent_sees_the_mount_and_nobody_else_does,
        what_the_agent_wrote_is_on_the_tape,
        a_daemon_of_the_agent_belongs_to_the_session,
        a_command_that_is_not_there_is_named,
        wrong_words_are_refused_before_anything_starts,
        a_configuration_is_read_and_its_mistakes_are_named,
        environment_stands_above_files_and_flags_above_all,
        requests_go_on_to_where_the_agent_sent_them_before,
        a_port_can_be_asked_for,
        an_agent_is_started_in_the_repository_it_is_given,
        without_a_mount_changes_are_noticed_all_the_same,
        two_agents_share_a_session,
        a_dozen_agents_have_a_manager_each,
        an_agent_that_ends_at_once_has_its_report,
        runs_that_start_and_end_at_once_never_fail,
        runs_on_several_repositories_do_not_know_each_other,
        status_from_another_terminal_tells_of_all_parts,
        a_signal_reaches_the_agent_and_all_is_taken_down,
        a_run_ends_by_the_signal_that_ended_the_agent,
        a_signal_before_the_agent_starts_ends_the_run,
        what_an_agent_leaves_running_hinders_nobody,
        an_ordinary_user_can_run)

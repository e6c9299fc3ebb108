#!/usr/bin/env python3
"""`statetape demo` shows what it promises, fits a terminal, and leaves nothing
behind."""

import contextlib
import os
import pty
import re
import select
import signal
import time

import st
from running import place


def demo(home, *args, **kw):
    return home.run("demo", *args, **kw)


def nothing_left(home):
    """Asserts that no temporary file and no process is left."""
    tmp = home.env["TMPDIR"]
    st.eventually(lambda: not os.listdir(tmp), "all files go")
    st.eventually(lambda: not [p for p in os.listdir("/proc")
                               if p.isdigit() and tmp in environment(p)],
                  "all processes end")


def environment(pid):
    try:
        with open("/proc/%s/environ" % pid, "rb") as f:
            return os.fsdecode(f.read())
    except OSError:
        return ""


def it_shows_what_it_promises():
    st.need_fuse()
    with place() as (home, _):
        r = demo(home)
        assert r.returncode == 0, r
        for said in (
                # the tape has an entry, with its author
                "1: edit app/config.py by agent; changed: "
                "app.config.load_config",
                ": edit app/server.py by sed; changed: app.server.start",
                # a note, and the stale text that the model would have got
                '| 12     print("Listening on", address(config))',
                '| | +    print("listening on", address(config))',
                # a stale test run
                "the request still holds what ./check.sh said",
                "`./check.sh` ran before later changes",
                # in place
                '| 8         return "usage: serve FILE"',
                '| 8         return "usage: serve CONFIG.json"',
                "app/cli.py is shown as it is now",
                "1 passed"):
            assert said in r.stdout, (said, r.stdout)
        assert "was changed by sed" in r.stdout
        # The model's own edit is not told.
        assert "own edits" not in r.stdout and "by agent)" not in r.stdout
        assert re.search(r"^[1-9] stale results? kept from the model; "
                         r"cost \d\.\d\d of without", r.stderr, re.M), r.stderr
        assert "could not" not in r.stderr
        nothing_left(home)


def it_fits_a_terminal_and_is_plain_where_there_is_none():
    st.need_fuse()
    with place() as (home, _):
        r = demo(home)
        assert "\x1b" not in r.stdout + r.stderr
        for line in (r.stdout + r.stderr).splitlines():
            assert len(line) < 80, line


def what_the_user_has_set_is_not_for_it():
    st.need_fuse()
    for name, value in (("http_proxy", "http://127.0.0.1:9"),
                        ("ALL_PROXY", "http://127.0.0.1:9"),
                        ("STATETAPE_MODE", "off"),
                        ("STATETAPE_OPENAI_UPSTREAM", "wrong")):
        with place() as (home, _):
            home.env[name] = value
            r = demo(home)
            assert r.returncode == 0 and "1 passed" in r.stdout, r
            assert re.search(r"[1-9] stale results? kept from", r.stderr), r.stderr
            nothing_left(home)


def kept_files_are_where_it_says():
    st.need_fuse()
    with place() as (home, _):
        r = demo(home, "--keep")
        kept = re.search(r"Kept in '(.*)'", r.stdout)[1]
        assert os.path.exists(kept + "/repo/app/config.py")
        assert len(os.listdir(kept + "/requests")) == 12
        assert not st.mounted(kept + "/repo")


def without_room_it_says_so():
    with place() as (home, _):
        home.env["TMPDIR"] = "/proc/none"
        r = demo(home)
        assert r.returncode == 1 and "temporary directory" in r.stderr, r


def watch(home, until):
    """Starts it on a terminal; (pid, descriptor) once `until` is printed."""
    pid, fd = pty.fork()
    if pid == 0:
        argv = home.argv("demo")
        os.execvpe(argv[0], argv, dict(home.env, TERM="xterm"))
    seen, end = b"", time.monotonic() + st.DEADLINE
    while until not in seen:
        ready, _, _ = select.select([fd], [], [], end - time.monotonic())
        assert ready, seen
        seen += os.read(fd, 4096)
    return pid, fd, seen


def drain(fd):
    """Reads until no process has the terminal open."""
    with contextlib.suppress(OSError):
        while os.read(fd, 4096):
            pass


def on_a_terminal_it_has_colours_and_can_be_interrupted():
    st.need_fuse()
    with place() as (home, _):
        for how, when in (("key", b"app/config.py"), ("kill", b"The task"),
                          ("hangup", b"I will look")):
            pid, fd, seen = watch(home, when)
            assert how == "kill" or b"\x1b[" in seen
            if how == "key":
                os.write(fd, b"\x03")
                drain(fd)
            elif how == "kill":
                os.kill(pid, signal.SIGTERM)
            os.close(fd)
            _, status = os.waitpid(pid, 0)
            assert status != 0, how
            nothing_left(home)


st.main(it_shows_what_it_promises,
        it_fits_a_terminal_and_is_plain_where_there_is_none,
        what_the_user_has_set_is_not_for_it,
        kept_files_are_where_it_says,
        without_room_it_says_so,
        on_a_terminal_it_has_colours_and_can_be_interrupted)

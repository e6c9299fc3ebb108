#!/usr/bin/env python3
"""What a mount survives, and what is left when it does not."""

import contextlib
import errno
import os
import shutil
import signal
import subprocess

import st

DEAD = (errno.ENOTCONN, errno.ECONNABORTED, errno.ECONNREFUSED)


def read(path):
    with open(path) as f:
        return f.read()


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def last_end(home):
    (state,) = home.state_dirs()
    return read(state + "/last-end").strip()


def ends(m, code):
    """Wait until the guard has ended, with this code."""
    m.proc.wait(st.DEADLINE)
    assert m.proc.returncode == code, (m.proc.returncode, m.log())


def ops(m, since=0):
    return [l["op"] for l in m.journal(since)]


# -- the file system process dies -------------------------------------------

def a_killed_file_system_gives_the_plain_directory_back():
    with st.Mount(broken=True) as m:
        write(m.path + "/a", "before")
        held = os.open(m.path + "/a", os.O_WRONLY)
        os.kill(m.fs_pid, signal.SIGKILL)
        ends(m, 1)
        assert not st.mounted(m.path)
        assert read(m.path + "/a") == "before"
        write(m.path + "/a", "after")
        assert read(m.below + "/a") == "after"
        try:
            os.write(held, b"x")
            raise AssertionError("a handle of a dead mount was written to")
        except OSError as e:
            assert e.errno in DEAD, e
        finally:
            os.close(held)
        (said,) = m.log().splitlines()
        for word in ("killed by SIGKILL", "the plain directory again",
                     "not journaled", m.path):
            assert word in said, said
        assert said.endswith(last_end(m.home)), (said, last_end(m.home))
        # And the next one has an easy start.
        m.home.run("mount", m.repo, check=True)
        assert st.mounted(m.path)
        assert read(m.path + "/a") == "after"
        m.home.run("umount", m.repo, check=True)
        assert last_end(m.home).startswith("unmounted at ")


def another_signal_is_named_as_well():
    with st.Mount(mountpoint=True, broken=True) as m:
        os.kill(m.fs_pid, signal.SIGALRM)
        ends(m, 1)
        assert "killed by SIGALRM" in m.log(), m.log()
        assert "'%s' is unmounted" % m.path in m.log(), m.log()
        assert os.listdir(m.path) == []


def one_killed_in_its_first_answer_leaves_no_dead_mount():
    st.need("strace")
    st.need_fuse()
    with st.Home() as home:
        repo, path = home.mkdir("repo"), home.mkdir("mnt")
        home.prefix = ["strace", "-f", "-o", "/dev/null", "-e", "trace=writev",
                       "-e", "inject=writev:signal=SIGKILL:when=1"]
        r = home.run("mount", "--foreground", repo, path)
        assert "killed by SIGKILL" in r.stderr, r
        assert r.returncode == 1 and not st.mounted(path), r
        assert os.listdir(path) == []


def a_file_system_told_to_stop_leaves_no_dead_mount():
    with st.Mount() as m:
        os.kill(m.fs_pid, signal.SIGTERM)
        ends(m, 0)
        assert not st.mounted(m.path)
        assert last_end(m.home).startswith("unmounted at ")


def a_dead_mount_is_taken_away_by_umount():
    with st.Mount(broken=True) as m:
        write(m.path + "/a", "x")
        kill_both(m)
        r = m.umount()
        assert r.returncode == 0, r
        assert not st.mounted(m.path)
        assert read(m.path + "/a") == "x"


def a_dead_mount_is_taken_away_by_umount_while_in_use():
    with st.Mount(broken=True) as m:
        held = os.open(m.path, os.O_RDONLY)
        try:
            kill_both(m)
            r = m.umount()
            assert r.returncode == 0, r
            assert not st.mounted(m.path)
        finally:
            os.close(held)


def a_dead_mount_is_replaced_by_mount_which_says_so():
    for slash in ("", "/"):
        with st.Mount(broken=True) as m:
            write(m.path + "/a", "x")
            kill_both(m)
            r = m.home.run("mount", m.repo + slash, check=True)
            assert "process is gone" in r.stderr, r
            assert [p for p, _, _ in st.mounts()].count(m.path) == 1
            assert read(m.path + "/a") == "x"
            m.home.run("umount", m.repo + slash, check=True)


def kill_both(m):
    fs = m.fs_pid
    os.kill(m.pid, signal.SIGKILL)
    m.proc.wait(st.DEADLINE)
    os.kill(fs, signal.SIGKILL)
    st.eventually(lambda: not st.alive(fs), "the fs process is gone")
    try:
        os.statvfs(m.path)
        raise AssertionError("a mount without a process answers")
    except OSError as e:
        assert e.errno in DEAD, e


def what_a_dead_process_left_is_no_obstacle():
    with st.Mount(broken=True) as m:
        write(m.path + "/a", "x")
        head = m.head()
        kill_both(m)
        st.detach_below(m.path)
        (state,) = m.home.state_dirs()
        run = m.home.env["XDG_RUNTIME_DIR"]
        left = [n for _, _, names in os.walk(run) for n in names]
        assert left, "no socket was left behind; this case shows nothing"
        for pid in (str(os.getpid()), "999999999", "nonsense", ""):
            write(state + "/lock", pid + "\n")
            m.home.run("mount", m.repo, check=True)
            assert m.status()["journal"]["head"] > head
            write(m.path + "/b", "x")
            assert "write" in ops(m, head)
            m.home.run("umount", m.repo, check=True)


# -- the guard dies ---------------------------------------------------------

def a_killed_guard_leaves_the_file_system_serving():
    with st.Mount(broken=True) as m:
        fs = m.fs_pid
        os.kill(m.pid, signal.SIGKILL)
        m.proc.wait(st.DEADLINE)
        head = m.head()
        write(m.path + "/a", "x")
        assert "write" in ops(m, head)
        r = m.home.run("mount", m.repo)
        assert r.returncode == 1 and "process %d" % fs in r.stderr, r
        r = m.umount()
        assert r.returncode == 0, r
        st.eventually(lambda: not st.alive(fs), "the fs process is gone")
        assert read(m.path + "/a") == "x"


def a_guard_told_to_end_unmounts():
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        with st.Mount() as m:
            os.kill(m.pid, number)
            ends(m, 0)
            assert not st.mounted(m.path)
            assert m.log() == ""
            assert last_end(m.home).startswith("unmounted at ")


def a_guard_told_to_end_while_in_use_waits_for_the_last_file():
    with st.Mount() as m:
        with open(m.path + "/a", "w") as held:
            os.kill(m.pid, signal.SIGTERM)
            st.eventually(lambda: not st.mounted(m.path), "it is unmounted")
            st.eventually(lambda: "in use by" in m.log(), "it says so")
            assert str(os.getpid()) in m.log(), m.log()
            held.write("late")
            held.flush()
            assert read(m.path + "/a") == "late"
            assert m.proc.poll() is None
        ends(m, 0)


def releases_that_race_with_the_end_do_not_make_it_a_failure():
    """A worker that takes a request while the kernel shuts down: ECONNABORTED."""
    for _ in range(15):
        with st.Mount() as m:
            held = [open("%s/%d" % (m.path, i), "w") for i in range(120)]
            os.kill(m.pid, signal.SIGTERM)
            st.eventually(lambda: "in use by" in m.log(), "it says so")
            for f in held:
                f.close()
            ends(m, 0)


def a_second_signal_ends_the_waiting_but_not_the_serving():
    with st.Mount() as m:
        fs = m.fs_pid
        with open(m.path + "/a", "w") as held:
            os.kill(m.pid, signal.SIGTERM)
            st.eventually(lambda: not st.mounted(m.path), "it is unmounted")
            os.kill(m.pid, signal.SIGTERM)
            ends(m, 0)
            held.write("late")
            held.flush()
            assert read(m.path + "/a") == "late"
            assert st.alive(fs)
        st.eventually(lambda: not st.alive(fs), "the fs process is gone")


# -- more than one ----------------------------------------------------------

def a_second_mount_is_refused_and_names_the_first():
    with st.Mount() as m:
        other = m.home.mkdir("other")
        for args in ([m.repo], [m.repo, other], ["--foreground", m.repo],
                     ["--private", m.repo, "--", "true"]):
            r = m.home.run("mount", *args)
            assert r.returncode != 0, r
            assert "already mounted by process %d" % m.pid in r.stderr, r
            assert r.stdout == "", r
        write(m.path + "/a", "x")
        assert "write" in ops(m)


def of_many_at_once_one_wins():
    with st.Home() as home:
        st.need_fuse()
        repo = home.mkdir("repo")
        tries = [home.start("mount", repo, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE) for _ in range(8)]
        codes = []
        for t in tries:
            out, err = t.communicate(timeout=st.DEADLINE)
            codes.append(t.returncode)
            assert t.returncode == 0 or b"already mounted" in err, (out, err)
        assert sorted(codes) == [0] + [1] * 7, codes
        home.run("umount", repo, check=True)


def mounted_again_and_again(unmount):
    with st.Home() as home:
        st.need_fuse()
        repo = home.mkdir("repo")
        for i in range(15):
            home.run("mount", repo, check=True)
            write("%s/%d" % (repo, i), "x")
            unmount(home, repo)
        assert len(os.listdir(repo)) == 15


def mount_and_umount_follow_each_other_at_once():
    mounted_again_and_again(
        lambda home, repo: home.run("umount", repo, check=True))


def who_left_by_another_door_is_waited_for():
    """umount(8) returns before the file system process has ended."""
    by = ["umount"] if st.is_root() else ["fusermount3", "-u"]
    mounted_again_and_again(
        lambda home, repo: subprocess.run([*by, repo], check=True))


def one_that_serves_on_after_its_mount_is_named():
    with st.Mount() as m:
        with open(m.path + "/a", "w"):
            m.umount("--lazy")
            r = m.home.run("mount", m.repo)
            assert r.returncode == 1, r
            assert "by process %d, which still serves" % m.pid in r.stderr, r
        ends(m, 0)


# -- files in use at unmount ------------------------------------------------

def an_open_file_keeps_it_busy_until_lazy():
    with st.Mount() as m:
        held = open(m.path + "/a", "w")
        r = m.umount()
        assert r.returncode == 1, r
        assert "(%d, open file)" % os.getpid() in r.stderr, r
        assert "--lazy" in r.stderr, r
        assert st.mounted(m.path)
        r = m.umount("--lazy")
        assert r.returncode == 0, r
        assert not st.mounted(m.path)
        held.write("late")
        held.flush()
        assert read(m.path + "/a") == "late"
        r = m.umount()
        assert r.returncode == 1 and "unmounted already" in r.stderr, r
        held.close()
        ends(m, 0)


def workers(pid):
    """Threads that take requests."""
    found = []
    for task in os.listdir("/proc/%d/task" % pid):
        with contextlib.suppress(OSError):
            if "fuse_worker" in read("/proc/%d/task/%s/comm" % (pid, task)):
                found.append(int(task))
    return found


def an_end_after_an_unmount_is_one_whatever_the_errno():
    """The kernel fails those who take requests before it ends the rest."""
    st.need("strace")
    with st.Mount(args=["--no-io-uring"]) as m:
        fs = m.fs_pid
        with open(m.path + "/a", "w"):
            m.umount("--lazy")
            tracer = subprocess.Popen(
                ["strace", "-f", "-o", "/dev/null", "-P", "/dev/fuse", "-e",
                 "trace=read", "-e", "inject=read:error=ECONNABORTED", "-p",
                 str(fs)], stderr=subprocess.DEVNULL)
            st.eventually(lambda: not workers(fs) or tracer.poll() is not None,
                          "all have failed")
            if tracer.poll() is not None:
                st.skip("strace may not trace here")
            # The leak sanitizer cannot look at a traced process.
            tracer.terminate()
            tracer.wait(st.DEADLINE)
        ends(m, 0)
        assert "statetape:" not in m.log(), m.log()


def a_current_directory_and_a_mapping_are_found():
    with st.Mount() as m:
        mine = shutil.copy(st.which("sleep"), m.path + "/doze")
        crowd = [subprocess.Popen(["sleep", "1000"], cwd=m.path),
                 subprocess.Popen([mine, "1000"])]
        try:
            r = m.umount()
            assert r.returncode == 1, r
            assert "sleep (%d, current directory)" % crowd[0].pid \
                in r.stderr, r
            assert "doze (%d, mapped file)" % crowd[1].pid in r.stderr, r
        finally:
            for p in crowd:
                p.kill()
                p.wait()
        r = m.umount()
        assert r.returncode == 0, r


def no_more_than_five_are_named():
    with st.Mount() as m:
        crowd = [subprocess.Popen(["sleep", "1000"], cwd=m.path)
                 for _ in range(7)]
        try:
            r = m.umount()
            assert r.returncode == 1, r
            assert r.stderr.count("sleep (") == 5, r
            assert "and others" in r.stderr, r
        finally:
            for p in crowd:
                p.kill()
                p.wait()


def a_file_system_that_hangs_can_be_unmounted():
    with st.Mount() as m:
        fs = m.fs_pid
        os.kill(fs, signal.SIGSTOP)
        try:
            umount = m.home.start("umount", m.repo)
            st.eventually(
                lambda: not any(p == m.path for p, _, _ in st.mounts()),
                "it is unmounted")
        finally:
            os.kill(fs, signal.SIGCONT)
        assert umount.wait(st.DEADLINE) == 0
        ends(m, 0)


def umount_of_what_is_not_mounted_fails_with_a_sentence():
    with st.Home() as home:
        repo = home.mkdir("repo")
        r = home.run("umount", repo)
        assert r.returncode == 1 and "not mounted" in r.stderr, r
        r = home.run("umount", repo + "/none")
        assert r.returncode == 1 and r.stderr.count("\n") == 1, r


st.main(
    a_killed_file_system_gives_the_plain_directory_back,
    another_signal_is_named_as_well,
    one_killed_in_its_first_answer_leaves_no_dead_mount,
    a_file_system_told_to_stop_leaves_no_dead_mount,
    a_dead_mount_is_taken_away_by_umount,
    a_dead_mount_is_taken_away_by_umount_while_in_use,
    a_dead_mount_is_replaced_by_mount_which_says_so,
    what_a_dead_process_left_is_no_obstacle,
    a_killed_guard_leaves_the_file_system_serving,
    a_guard_told_to_end_unmounts,
    a_guard_told_to_end_while_in_use_waits_for_the_last_file,
    releases_that_race_with_the_end_do_not_make_it_a_failure,
    a_second_signal_ends_the_waiting_but_not_the_serving,
    a_second_mount_is_refused_and_names_the_first,
    of_many_at_once_one_wins,
    mount_and_umount_follow_each_other_at_once,
    who_left_by_another_door_is_waited_for,
    one_that_serves_on_after_its_mount_is_named,
    an_open_file_keeps_it_busy_until_lazy,
    an_end_after_an_unmount_is_one_whatever_the_errno,
    a_current_directory_and_a_mapping_are_found,
    no_more_than_five_are_named,
    a_file_system_that_hangs_can_be_unmounted,
    umount_of_what_is_not_mounted_fails_with_a_sentence,
)

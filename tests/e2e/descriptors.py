#!/usr/bin/env python3
"""A tree with more files than there are descriptors is used like any other."""

import contextlib
import errno
import mmap
import os
import resource
import signal
import subprocess
import time

import posixcase
import st

DIRS, FILES = 20, 100  # the tree has 2,000 files
CROWD = DIRS * FILES


def make_tree(top):
    for d in range(DIRS):
        os.mkdir("%s/%d" % (top, d))
        for f in range(FILES):
            with open("%s/%d/%d" % (top, d, f), "w") as out:
                out.write("%d/%d" % (d, f))


def read_tree(top):
    for d in range(DIRS):
        assert len(os.listdir("%s/%d" % (top, d))) == FILES
        for f in range(FILES):
            with open("%s/%d/%d" % (top, d, f)) as i:
                assert i.read() == "%d/%d" % (d, f)


@contextlib.contextmanager
def mounted_with(descriptors, uid=None, tree=True):
    few = ["prlimit", "--nofile=%d:%d" % (descriptors, descriptors)]
    if uid is None and st.is_root():  # who would raise the limit again
        few += ["setpriv", "--bounding-set=-sys_resource"]
    st.need("prlimit", "setpriv")
    with st.Home(uid) as home:
        repo = home.mkdir("repo")
        if tree:
            make_tree(repo)
        if uid is not None:
            subprocess.run(["chown", "-R", "%d:%d" % (uid, uid), repo],
                           check=True)
        home.prefix = few + home.prefix
        with st.Mount(repo=repo, mountpoint=True, home=home, uid=uid) as m:
            yield m


def crowd(m):
    """Use so many other files that no descriptor of an idle one stays."""
    for d in range(10, 20):
        for f in range(FILES):
            with open("%s/%d/%d" % (m.path, d, f)):
                pass


def descriptors(m):
    """While all are in use, a question may have to wait for one."""
    for _ in range(50):
        with contextlib.suppress(AssertionError):
            return m.status()["descriptors"]
        time.sleep(0.1)
    return m.status()["descriptors"]


def assert_few(m):
    now = descriptors(m)
    assert now["held"] < now["limit"] and now["closed"] > CROWD / 4, now
    assert now["refused"] == 0, now
    assert len(os.listdir("/proc/%d/fd" % m.fs_pid)) < now["limit"]


# Any tree works

def the_kernel_may_know_more_files_than_there_are_descriptors():
    with mounted_with(256) as m:
        for _ in range(2):
            read_tree(m.path)
        assert m.status()["inodes"] > CROWD
        assert_few(m)


def git(*args, at):
    return subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", *args], cwd=at,
        check=True, stdout=subprocess.PIPE, text=True,
        timeout=st.DEADLINE).stdout


def git_and_find_end_and_every_write_arrives():
    st.need("git", "find")
    with mounted_with(256) as m:
        git("init", "-q", at=m.path)
        git("add", "-A", at=m.path)
        git("commit", "-qm", "all", at=m.path)
        for d in range(DIRS):
            for f in range(0, FILES, 10):
                with open("%s/%d/%d" % (m.path, d, f), "a") as out:
                    out.write("+")
        changed = git("status", "--porcelain", at=m.path).splitlines()
        assert len(changed) == CROWD / 10, changed
        found = subprocess.run(["find", m.path, "-size", "-1000c", "-type",
                                "f", "-path", "*/[0-9]*/*", "-not", "-path",
                                "*/.git/*"], check=True, text=True,
                               stdout=subprocess.PIPE, timeout=st.DEADLINE)
        assert len(found.stdout.splitlines()) == CROWD
        for d in range(DIRS):
            with open("%s/%d/10" % (m.below, d)) as f:
                assert f.read() == "%d/10+" % d
        git("checkout", "-q", ".", at=m.path)
        assert git("status", "--porcelain", at=m.path) == ""
        assert_few(m)
        lines = [l for l in m.journal() if l["op"] == "write"]
        assert len(lines) > CROWD / 10


def a_killed_client_ends_at_once():
    read = "while cat */* >/dev/null && find . -size +9 >/dev/null; do :; done"
    with mounted_with(256) as m, contextlib.ExitStack() as ends:
        clients = []
        for _ in range(4):
            c = subprocess.Popen(["sh", "-c", read], cwd=m.path,
                                 start_new_session=True)
            ends.callback(c.wait, st.DEADLINE)
            ends.callback(os.killpg, c.pid, signal.SIGKILL)
            clients.append(c)
        st.eventually(lambda: descriptors(m)["closed"] > CROWD,
                      "the clients make descriptors short")
        ends.close()
        for c in clients:
            st.eventually(lambda: not in_session(c.pid),
                          "all processes of the client are gone")
        read_tree(m.path)


def in_session(sid):
    """Processes of the session, with their state."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            with open("/proc/%s/stat" % pid) as f:
                stat = f.read().rpartition(")")[2].split()
            if int(stat[3]) == sid and stat[0] != "Z":
                found.append((pid, stat[0]))
    return found


# What is in use stays reachable

def put(path, text):
    with open(path, "w") as f:
        f.write(text)


def an_unlinked_file_stays_reachable(m):
    paths = ["%s/unlinked%d" % (m.path, n) for n in range(30)]
    for p in paths:
        put(p, p)
    files = [open(p, "r+") for p in paths]
    maps = [mmap.mmap(f.fileno(), 0) for f in files[:5]]
    bare = [os.open(p, os.O_PATH) for p in paths[:10]]
    crowd(m)
    for p in paths[:20]:
        os.unlink(p)
    for p in paths[20:]:  # renamed over
        put(m.path + "/new", "new")
        os.rename(m.path + "/new", p)
    crowd(m)
    for n, f in enumerate(files):
        assert f.read() == paths[n]
        f.write("+")
        f.flush()
        assert os.fstat(f.fileno()).st_size == len(paths[n]) + 1
        assert os.fstat(f.fileno()).st_nlink == 0
        os.fchmod(f.fileno(), 0o640)
        with open("/proc/self/fd/%d" % f.fileno()) as again:
            assert again.read() == paths[n] + "+"
    for n, b in enumerate(bare):
        assert os.fstat(b).st_nlink == 0
        assert os.stat("/proc/self/fd/%d" % b).st_mode & 0o777 == 0o640
    for n, mapped in enumerate(maps):
        assert mapped[:] == os.fsencode(paths[n])
        mapped.close()
    for f in files:
        f.close()
    crowd(m)
    for n, b in enumerate(bare):  # no open file is left
        with open("/proc/self/fd/%d" % b) as again:
            assert again.read() == paths[n] + "+"
        os.close(b)


def a_file_without_a_name_can_be_given_one(m):
    try:
        fd = os.open(m.path, os.O_TMPFILE | os.O_RDWR)
    except OSError as e:
        if e.errno != errno.EOPNOTSUPP:
            raise
        print("no file without a name: this libfuse knows no O_TMPFILE")
        return
    os.write(fd, b"x")
    crowd(m)
    posixcase.link_fd(fd, m.path + "/named")
    crowd(m)
    assert os.fstat(fd).st_nlink == 1
    os.close(fd)
    with open(m.path + "/named") as f:
        assert f.read() == "x"


def a_working_directory_may_be_removed(m):
    def act(top):
        os.mkdir(top + "/gone")
        with running(top + "/gone", "read x; ls -a; stat -c %h .; "
                     "cat nothing; >new; cd ..; test -d here && echo up") as p:
            os.rmdir(top + "/gone")
            os.mkdir(top + "/here")
            crowd(m)
            return p.communicate("go\n")[0]
    got, plain = act(m.path), act(m.home.mkdir("plain"))
    assert got == plain and got.endswith("up\n"), (got, plain)


def a_script_is_run_and_a_moved_parent_followed(m):
    os.makedirs(m.path + "/a/b/c")
    put(m.path + "/a/b/c/script", "#!/bin/sh\necho run\n")
    os.chmod(m.path + "/a/b/c/script", 0o755)
    with running(m.path + "/a/b/c", "read x; ./script; env pwd -P; echo y >made; "
                             "ls; cat ../../b/c/made") as p:
        crowd(m)
        os.rename(m.path + "/a", m.path + "/z")
        os.rename(m.path + "/z/b", m.path + "/z/y")
        os.mkdir(m.path + "/z/b")
        os.rename(m.path + "/z/y/c", m.path + "/z/b/c")
        crowd(m)
        out, _ = p.communicate("go\n")
    assert out.split() == ["run", os.path.realpath(m.path) + "/z/b/c",
                           "made", "script", "y"], out


def all_of_several_names_lead_to_the_file(m):
    put(m.path + "/one", "1")
    os.link(m.path + "/one", m.path + "/0/two")
    f = open(m.path + "/0/two", "r+")
    crowd(m)
    os.unlink(m.path + "/0/two")
    crowd(m)
    assert os.stat(m.path + "/one").st_nlink == 1
    f.write("2")
    f.close()
    crowd(m)
    with open(m.path + "/one") as f:
        assert f.read() == "2"


def open_directories_are_read_on(m):
    seen, lists = set(), [os.scandir("%s/%d" % (m.path, d)) for d in range(9)]
    for _ in range(3):
        seen.update(next(l).path for l in lists)
    crowd(m)
    for l in lists:
        seen.update(e.path for e in l)
    assert len(seen) == 9 * FILES


CASES_IN_USE = [an_unlinked_file_stays_reachable,
                a_file_without_a_name_can_be_given_one,
                a_working_directory_may_be_removed,
                a_script_is_run_and_a_moved_parent_followed,
                all_of_several_names_lead_to_the_file,
                open_directories_are_read_on]


@contextlib.contextmanager
def running(cwd, script, prefix=()):
    """A shell; it waits for a line where the script reads one."""
    p = subprocess.Popen([*prefix, "sh", "-c", "echo; " + script], cwd=cwd,
                         text=True, stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        assert p.stdout.readline() == "\n"  # it is there
        yield p
    finally:
        p.kill()
        p.wait()


def what_is_in_use_stays_reachable():
    with mounted_with(256) as m:
        for case in CASES_IN_USE:
            case(m)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(m.path + "/0/two")
        assert_few(m)


def as_it_does_for_an_ordinary_user():
    """Who may not open files by handle: names lead back."""
    st.need_root()
    st.open_fuse_device()
    bytes_in_all = sum(len("%d/%d" % (d, f)) for d in range(DIRS)
                       for f in range(FILES))
    with mounted_with(256, uid=st.NOBODY) as m:
        script = "cd %s/0; for n in 1 2; do cat ../*/* | wc -c; done;" \
                 "read x; until cat 5 2>/dev/null; do sleep .1; done" % m.path
        with running("/", script, st.as_user()) as p:
            out = [p.stdout.readline(), p.stdout.readline()]
            assert out == ["%d\n" % bytes_in_all] * 2, out
            assert_few(m)
            os.rename(m.below + "/0", m.below + "/1/moved")
            assert p.communicate("go\n")[0] == "0/5"


# Changes outside the mount

def files_moved_and_replaced_outside_are_seen():
    with mounted_with(256) as m:
        with running(m.path + "/0", "read x; cat 5; echo; cat 6; echo; read x;"
                             "while [ $(cat 6) = 0/6 ]; do sleep .1; done;"
                             "cat 6 %s/moved/5" % m.path) as p:
            crowd(m)
            os.rename(m.below + "/0", m.below + "/moved")
            assert step(p) + step(p, None) == "0/5\n0/6\n"
            os.rename(m.below + "/1/7", m.below + "/moved/6")
            out, _ = p.communicate("go\n")
        assert out == "1/70/5", out


def step(p, line="go\n"):
    """Let the shell go on; what it prints."""
    if line:
        p.stdin.write(line)
        p.stdin.flush()
    return p.stdout.readline()


def a_file_made_again_outside_is_the_new_one():
    """It often gets the number of the one that was removed."""
    with mounted_with(256) as m:
        for n in range(FILES):
            path = m.path + "/3/%d" % n
            assert os.stat(path).st_size == len("3/%d" % n)
        crowd(m)
        for n in range(FILES):
            os.unlink(m.below + "/3/%d" % n)
        for n in range(FILES):
            put(m.below + "/3/%d" % n, "new %d" % n)
        for n in range(FILES):
            with open(m.path + "/3/%d" % n) as f:
                assert f.read() == "new %d" % n


# All descriptors are in use

def what_could_not_be_made_is_not_there():
    """All descriptors are held by open files: no file is half created."""
    with mounted_with(256, tree=False) as m:
        held, ways = [], {
            "file": lambda p: held.append(open(p, "x")),
            "directory": os.mkdir, "fifo": os.mkfifo,
            "symlink": lambda p: os.symlink("target", p)}
        try:
            made = fill(m.path, ways["file"])
            assert len(made) > 256 / 2, len(made)
            for name, make in ways.items():
                path = "%s/one %s" % (m.path, name)
                try:
                    make(path)
                    made.append(os.path.basename(path))
                except OSError as e:
                    assert name == "file" and e.errno == errno.EMFILE, e
            assert sorted(os.listdir(m.below)) == sorted(made)
            assert descriptors(m)["refused"] == 2
        finally:
            for f in held:
                f.close()
        assert m.log().count("Too many open files") == 1, m.log()
        put(m.path + "/one file", "there is room again")
        lines = [l["path"] for l in m.journal() if l.get("res", 0) >= 0 and
                 l["op"] in ("create", "mkdir", "mknod", "symlink")]
        assert sorted(lines) == sorted(made + ["one file"])


def fill(top, make):
    """Make files until no more can be; their names."""
    made = []
    for n in range(1000):
        try:
            make("%s/%d" % (top, n))
        except OSError as e:
            assert e.errno in (errno.EMFILE, errno.ENFILE), e
            return made
        made.append(str(n))
    raise AssertionError("there were descriptors for all")


def open_files_do_not_keep_others_from_the_tree():
    with mounted_with(256) as m:
        files = [open("%s/0/%d" % (m.path, n)) for n in range(FILES)]
        for n in range(FILES):
            assert files[n].read() == "0/%d" % n
        crowd(m)
        for f in files:
            f.close()
        assert descriptors(m)["refused"] == 0


def there_is_room_for_descriptors_from_the_start():
    """A table that grows later makes every thread wait, repeatedly."""
    with st.Mount() as m:
        with open("/proc/%d/status" % m.fs_pid) as f:
            facts = dict(line.split(":", 1) for line in f)
        most, _ = resource.prlimit(m.fs_pid, resource.RLIMIT_NOFILE)
        room = int(facts["FDSize"])
        assert room >= min(most, 1 << 16), (room, most)


st.main(there_is_room_for_descriptors_from_the_start,
        the_kernel_may_know_more_files_than_there_are_descriptors,
        git_and_find_end_and_every_write_arrives,
        a_killed_client_ends_at_once,
        what_is_in_use_stays_reachable,
        as_it_does_for_an_ordinary_user,
        files_moved_and_replaced_outside_are_seen,
        a_file_made_again_outside_is_the_new_one,
        what_could_not_be_made_is_not_there,
        open_files_do_not_keep_others_from_the_tree)

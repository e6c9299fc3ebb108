#!/usr/bin/env python3
"""However a file is saved: one entry about it, with the author of the text."""

import contextlib
import ctypes
import os
import shutil
import subprocess
import tempfile
import time

import st
import taped

ONE = "def f():\n    return 1\n\n\ndef g():\n    return f()\n"
TWO = ONE.replace("return 1", "return 2")


@contextlib.contextmanager
def world(files=None):
    """A mount with these files, and its tape."""
    home = st.Home()
    try:
        repo = home.mkdir("repo")
        for name, text in (files or {"a.py": ONE}).items():
            os.makedirs(os.path.dirname(repo + "/" + name), exist_ok=True)
            with open(repo + "/" + name, "w") as f:
                f.write(text)
        with st.Mount(repo, home=home) as m, taped.Tape(home, repo) as t:
            t.settle_in()
            yield m, t
    finally:
        home.close()


def brief(entries):
    return [(e["kind"], e["path"]) + ((e["path2"],) if "path2" in e else ())
            for e in entries]


def put(path, text, mode="w"):
    with open(path, mode) as f:
        f.write(text)


def settled(m, t, *argv, **kw):
    """Entries after a command, waited for without the barrier, so that they
    settle by themselves; then the barrier adds nothing."""
    subprocess.run(argv, cwd=m.path, check=True, stdout=subprocess.DEVNULL,
                   **kw)
    st.eventually(lambda: t.ask("STATUS")["n"] > t.seen, "an entry")
    st.eventually(lambda: t.ask("STATUS")["pending"] == 0, "all settled")
    entries = t.news()
    assert t.sync() == []
    return entries


def expect_edit(entries, comm=None, path="a.py"):
    assert brief(entries) == [("edit", path)], entries
    e = entries[0]
    assert e["author"]["origin"] == "mount", e
    assert comm is None or e["author"]["comm"] == comm, e["author"]
    return e


def in_place():
    with world() as (m, t):
        put(m.path + "/a.py", TWO)
        e = expect_edit(t.sync())
        assert [x["name"] for x in e["X"]] == ["a.f"], e
        assert e["lines"] == [[2, 1, 2, 1]] and (e["plus"], e["minus"]) == (1, 1)
        assert e["author"]["pid"] == os.getpid(), e
        fd = os.open(m.path + "/a.py", os.O_RDWR)
        os.pwrite(fd, ONE.encode(), 0)
        os.ftruncate(fd, len(ONE))
        os.close(fd)
        e = expect_edit(t.sync())
        assert e["after"] != e["before"]


def by_sed():
    with world() as (m, t):
        expect_edit(settled(m, t, "sed", "-i", "s/return 1/return 2/", "a.py"),
                    "sed")


def by_temporary_and_rename():
    with world() as (m, t):
        tmp = m.path + "/.a.py.tmp.123"
        with open(tmp, "w") as f:
            f.write(TWO)
            f.flush()
            os.fsync(f.fileno())
        os.rename(tmp, m.path + "/a.py")
        expect_edit(t.sync())


def by_temporary_with_the_barrier_in_between():
    with world() as (m, t):
        put(m.path + "/tmp", TWO)
        assert brief(t.sync()) == [("create", "tmp")]
        os.rename(m.path + "/tmp", m.path + "/a.py")
        assert sorted(brief(t.sync())) == [("delete", "tmp"), ("edit", "a.py")]


def by_mv_from_outside_the_repository():
    with world() as (m, t):
        put(m.home.top + "/new.py", TWO)
        expect_edit(settled(m, t, "mv", m.home.top + "/new.py", "a.py"), "mv")


def by_cp():
    with world() as (m, t):
        put(m.home.top + "/new.py", TWO)
        expect_edit(settled(m, t, "cp", m.home.top + "/new.py", "a.py"), "cp")


def by_backup_that_stays():
    with world() as (m, t):
        os.rename(m.path + "/a.py", m.path + "/a.py~")
        put(m.path + "/a.py", TWO)
        got = t.sync()
        assert sorted(brief(got)) == [("create", "a.py~"), ("edit", "a.py")], got


def by_backup_that_goes():
    with world() as (m, t):
        os.rename(m.path + "/a.py", m.path + "/a.py~")
        put(m.path + "/a.py", TWO)
        os.unlink(m.path + "/a.py~")
        expect_edit(t.sync())


def by_backup_that_goes_and_a_move():
    """All at once: the name that remains is where the file went."""
    with world() as (m, t):
        os.rename(m.path + "/a.py", m.path + "/a.py~")
        put(m.path + "/a.py", TWO)
        os.unlink(m.path + "/a.py~")
        os.rename(m.path + "/a.py", m.path + "/b.py")
        # The edit may have settled before the file moved on, and may have
        # been looked at when it had: then one went, and another came.
        got = brief(t.sync())
        assert got in ([("rename", "a.py", "b.py")],
                       [("edit", "a.py"), ("rename", "a.py", "b.py")],
                       [("delete", "a.py"), ("create", "b.py")]), got


def by_shell_with_children():
    with world() as (m, t):
        e = expect_edit(settled(m, t, "sh", "-c",
                                "(echo 'x = 1'; echo 'y = 2') > a.py"))
        assert e["author"]["comm"] == "sh", e


def by_patch():
    st.need("patch", "diff")
    with world() as (m, t):
        with tempfile.TemporaryDirectory() as d:
            put(d + "/a.py", ONE)
            put(d + "/b.py", TWO)
            diff = subprocess.run(["diff", "-u", "a.py", "b.py"], cwd=d,
                                  capture_output=True).stdout
        expect_edit(settled(m, t, "patch", "a.py", input=diff), "patch")


def by_git_checkout():
    st.need("git")
    with world({"a.py": ONE, "b.py": ONE, "same.py": ONE}) as (m, t):
        def git(*args):
            subprocess.run(["git", "-c", "user.name=n", "-c",
                            "user.email=e@x", *args], cwd=m.path, check=True,
                           stdout=subprocess.DEVNULL)
        git("init", "-q", "-b", "main")
        git("add", ".")
        git("commit", "-qm", "one")
        git("checkout", "-q", "-b", "two")
        put(m.path + "/a.py", TWO)
        os.unlink(m.path + "/b.py")
        put(m.path + "/c.py", TWO)
        git("add", ".")
        git("commit", "-qm", "two")
        t.sync()
        git("checkout", "-q", "main")
        got = t.sync()
        assert sorted(brief(got)) == [("create", "b.py"), ("delete", "c.py"),
                                     ("edit", "a.py")], brief(got)
        assert {e["author"]["comm"] for e in got} == {"git"}
        git("config", "core.pager", "cat")
        assert brief(t.sync()) == [("edit", ".git/config")]


def by_editors():
    with world() as (m, t):
        def vim(*commands):
            return settled(m, t, "vim", "-u", "NONE", "-es",
                           *[x for c in commands for x in ("-c", c)],
                           "-c", "wq", "a.py", stdin=subprocess.DEVNULL)
        if shutil.which("vim"):
            expect_edit(vim("%s/return 1/return 2/"), "vim")
            expect_edit(vim("set backupcopy=no writebackup",
                            "%s/return 2/return 3/"), "vim")
        if shutil.which("ed"):
            expect_edit(settled(m, t, "ed", "-s", "a.py",
                                input=b"2s/return/yield/\nw\nq\n"), "ed")
        expect_edit(settled(m, t, "perl", "-pi", "-e", "s/yield/print/ if 2..2;"
                            "$_ .= qq(# by perl\n) if eof", "a.py"), "perl")


def by_any_of_its_names():
    """What is written by one hard link is there by all of them, at once."""
    with world() as (m, t):
        os.link(m.path + "/a.py", m.path + "/b.py")
        assert brief(t.sync()) == [("create", "b.py")]
        for name in ("a.py", "b.py"):
            put(m.path + "/" + name, TWO + "# by %s\n" % name)
            got = t.sync()
            assert sorted(brief(got)) == [("edit", "a.py"), ("edit", "b.py")]
            assert {e["author"]["origin"] for e in got} == {"mount"}, got
        # A save that gives one of them a file of its own.
        put(m.path + "/tmp", ONE)
        os.rename(m.path + "/tmp", m.path + "/b.py")
        assert brief(t.sync()) == [("edit", "b.py")]
        os.symlink("a.py", m.path + "/link")
        assert brief(t.sync()) == [("create", "link")]
        put(m.path + "/link", ONE)
        expect_edit(t.sync())
        subprocess.run(["ln", "-sfn", "b.py", "link"], cwd=m.path, check=True)
        expect_edit(t.sync(), "ln", "link")


def by_exchange():
    with world({"a.py": ONE, "b.py": TWO, "d/x": "x\n", "e/x": "y\n"}) \
            as (m, t):
        libc = ctypes.CDLL(None)
        for a, b in (("a.py", "b.py"), ("d", "e")):
            assert libc.renameat2(-100, (m.path + "/" + a).encode(), -100,
                                  (m.path + "/" + b).encode(), 2) == 0
        assert sorted(brief(t.sync())) == [
            ("edit", "a.py"), ("edit", "b.py"), ("edit", "d/x"),
            ("edit", "e/x")]
        # The long way round, and back home.
        os.rename(m.path + "/a.py", m.path + "/t")
        os.rename(m.path + "/b.py", m.path + "/a.py")
        os.rename(m.path + "/t", m.path + "/b.py")
        assert sorted(brief(t.sync())) == [("edit", "a.py"), ("edit", "b.py")]
        os.rename(m.path + "/a.py", m.path + "/t")
        os.rename(m.path + "/t", m.path + "/a.py")
        os.unlink(m.path + "/b.py")
        put(m.path + "/b.py", TWO)
        assert t.sync() == []


def by_mmap():
    import mmap
    with world() as (m, t):
        fd = os.open(m.path + "/a.py", os.O_RDWR)
        with mmap.mmap(fd, 0) as mem:
            mem[0:len(TWO)] = TWO.encode()
            mem.flush()
        os.close(fd)
        expect_edit(t.sync())


def same_content_is_no_entry():
    with world() as (m, t):
        put(m.path + "/a.py", ONE)
        assert t.sync() == []
        subprocess.run(["touch", "a.py"], cwd=m.path, check=True)
        os.chmod(m.path, 0o700)
        assert t.sync() == []


def another_mode_is_an_edit_without_lines():
    with world() as (m, t):
        os.chmod(m.path + "/a.py", 0o750)
        e = expect_edit(t.sync())
        assert e["author"]["pid"] == os.getpid(), e
        assert e["before"] == e["after"] and e["lines"] == e["X"] == [], e
        assert (e["before_mode"], e["after_mode"]) == \
            ("100644", "100750"), e
        os.chmod(m.path + "/a.py", 0o750)
        assert t.sync() == []
        subprocess.run(["sh", "-c", "ln -s a.py b; rm a.py"], cwd=m.path,
                       check=True)
        made, gone = t.sync()
        assert made["after_mode"] == "120777" and "before_mode" not in made
        assert gone["before_mode"] == "100750" and "after_mode" not in gone
        m.home.run("verify", m.repo, check=True)


def another_mode_outside_is_found():
    with world() as (m, t):
        os.chmod(m.below + "/a.py", 0o750)
        e, = st.eventually(t.sync, "an entry")
        assert e["author"] == {"origin": "outside"}, e
        assert e["after_mode"] == "100750", e


def a_mode_is_known_after_a_restart():
    with st.Mount() as m:
        put(m.path + "/a.py", ONE)
        with taped.Tape(m.home, m.repo) as t:
            t.settle_in()
        with taped.Tape(m.home, m.repo) as t:
            t.settle_in()
            os.chmod(m.path + "/a.py", 0o750)
            e, = t.sync()
            assert (e["before_mode"], e["after_mode"]) == \
                ("100644", "100750"), e


def what_comes_and_goes_is_no_entry():
    with world() as (m, t):
        put(m.path + "/tmp", "x")
        os.unlink(m.path + "/tmp")
        put(m.path + "/__pycache__", "x")
        os.mkdir(m.path + "/d")
        os.rmdir(m.path + "/d")
        assert t.sync() == []


def made_moved_and_removed():
    with world() as (m, t):
        put(m.path + "/b.py", TWO)
        e, = t.sync()
        assert brief([e]) == [("create", "b.py")] and e["before"] is None
        assert [x["name"] for x in e["new"]] == ["b", "b.f", "b.g"], e
        os.rename(m.path + "/b.py", m.path + "/c.py")
        e, = t.sync()
        assert brief([e]) == [("rename", "b.py", "c.py")]
        assert {x["name"] for x in e["X"]} >= {"b.f", "b.g"}, e
        assert all(x.get("removed") for x in e["X"]), e
        os.unlink(m.path + "/c.py")
        e, = t.sync()
        assert brief([e]) == [("delete", "c.py")] and e["after"] is None
        os.symlink("a.py", m.path + "/link")
        assert brief(t.sync()) == [("create", "link")]


def a_directory_moves_with_its_files():
    with world({"d/a.py": ONE, "d/e/b.txt": "x\n", "c.py":
                "from d.a import f\n\n\ndef h():\n    return f()\n"}) as (m, t):
        os.rename(m.path + "/d", m.path + "/n")
        put(m.path + "/n/a.py", TWO)
        got = t.sync()
        assert sorted(brief(got)) == [("rename", "d/a.py", "n/a.py"),
                                     ("rename", "d/e/b.txt", "n/e/b.txt")], got
        put(m.path + "/n/e/b.txt", "y\n")
        expect_edit(t.sync(), path="n/e/b.txt")
        shutil.rmtree(m.path + "/n")
        got = t.sync()
        assert sorted(brief(got)) == [("delete", "n/a.py"),
                                     ("delete", "n/e/b.txt")], got


def a_directory_moves_after_a_save_that_took_its_time():
    """The temporary file was an entry before it became the file."""
    with world({"d/a.py": ONE}) as (m, t):
        put(m.path + "/d/tmp", TWO)
        assert brief(t.sync()) == [("create", "d/tmp")]
        os.rename(m.path + "/d/tmp", m.path + "/d/a.py")
        os.rename(m.path + "/d", m.path + "/n")
        got = t.sync()
        assert sorted(brief(got)) == [("delete", "d/a.py"),
                                     ("rename", "d/tmp", "n/a.py")], got
        assert {e["author"]["origin"] for e in got} == {"mount"}, got


def a_directory_moves_while_much_is_under_way():
    """At SYNC all of it is on the tape, attributed to the writer."""
    files = {"d/p%d/m%d.py" % (k % 7, k): ONE for k in range(150)}
    with world(files) as (m, t):
        subprocess.run("find d -name '*.py' | xargs sed -i s/1/2/; mv d n; "
                       "mkdir -p .git/x; echo y = 1 > .git/x/new.py; "
                       "mv .git/x n/x; rm n/p0/m7.py", shell=True, cwd=m.path,
                       check=True)
        got = t.sync()
        assert {e["author"]["origin"] for e in got} == {"mount"}, got
        state, _ = taped.replay(got)
        assert set(state) == set(taped.files_of(m.below)), \
            set(state) ^ set(taped.files_of(m.below))
        time.sleep(0.5)
        late = t.sync()
        assert late == [], late


def a_marker_of_ours_is_flagged():
    with world({"a.txt": "x\n"}) as (m, t):
        put(m.path + "/a.txt", "x\n[statetape] was here\n")
        e, = t.sync()
        assert e.get("marker") is True, e
        put(m.path + "/a.txt", "y\n[statetape] was here\n")
        e, = t.sync()
        assert not e.get("marker"), e
        put(m.path + "/a.txt", "y\n[statetape] was here\nx [statetape] too\n")
        e, = t.sync()
        assert e.get("marker") is True, e
        os.rename(m.path + "/a.txt", m.path + "/b.txt")
        e, = t.sync()
        assert not e.get("marker"), e
        put(m.path + "/c.bin", b"\0[statetape]", "wb")
        e, = t.sync()
        assert e.get("marker") is True, e
        assert t.ask("STATUS")["markers"] == 3


def a_syntax_error_is_told():
    with world() as (m, t):
        put(m.path + "/a.py", ONE + "def h(:\n")
        e, = t.sync()
        assert e["syntax"] == "error", e
        put(m.path + "/a.py", ONE)
        e, = t.sync()
        assert e["syntax"] == "ok", e


def large_and_binary_files_have_hashes():
    with world() as (m, t):
        put(m.path + "/big", b"x" * (20 << 20), "wb")
        put(m.path + "/bin", b"\0\1\2", "wb")
        got = t.sync()
        assert sorted(brief(got)) == [("create", "big"), ("create", "bin")]
        assert {e["bytes"] for e in got} == {20 << 20, 3}


def what_is_git_s_own_is_not_read():
    """To read so much would take hours."""
    with world() as (m, t):
        os.makedirs(m.path + "/.git/objects/pack")
        with open(m.path + "/.git/objects/pack/a.pack", "w") as f:
            try:
                f.truncate(8 << 40)
            except OSError:
                st.skip("no sparse files of that size here")
        assert t.sync() == []


def changes_outside_are_noticed():
    with world() as (m, t):
        put(m.below + "/a.py", TWO)
        st.eventually(lambda: t.ask("STATUS")["n"] == 1, "an entry")
        e, = t.news()
        assert brief([e]) == [("edit", "a.py")]
        assert e["author"]["origin"] == "outside", e
        os.mkdir(m.below + "/new")
        put(m.below + "/new/x.py", ONE)
        st.eventually(lambda: t.ask("STATUS")["n"] == 2, "an entry")
        put(m.below + "/new/x.py", TWO)
        st.eventually(lambda: t.ask("STATUS")["n"] == 3, "an entry")
        os.rename(m.below + "/new/x.py", m.below + "/new/y.py")
        st.eventually(lambda: t.ask("STATUS")["n"] == 4, "an entry")
        got = t.news()
        assert brief(got) == [("create", "new/x.py"), ("edit", "new/x.py"),
                             ("rename", "new/x.py", "new/y.py")], got


def without_a_mount():
    with st.Home() as home:
        repo = home.mkdir("repo")
        put(repo + "/a.py", ONE)
        with taped.Tape(home, repo, "--no-mount") as t:
            t.settle_in()
            put(repo + "/a.py", TWO)
            e, = t.sync()
            assert brief([e]) == [("edit", "a.py")]
            assert [x["name"] for x in e["X"]] == ["a.f"], e
            put(repo + "/tmp", ONE)
            os.rename(repo + "/tmp", repo + "/a.py")
            assert brief(t.sync()) == [("edit", "a.py")]
            os.mkdir(repo + "/d")
            put(repo + "/d/b.py", ONE)
            assert brief(t.sync()) == [("create", "d/b.py")]


def a_mount_that_comes_later_and_goes():
    with st.Home() as home:
        repo = home.mkdir("repo")
        put(repo + "/a.py", ONE)
        with taped.Tape(home, repo) as t:
            t.settle_in()
            with st.Mount(repo, home=home) as m:
                st.eventually(lambda: t.ask("SYNC")["journal"] > 0, "a line")
                put(m.path + "/a.py", TWO)
                expect_edit(t.sync())
                # Settles by itself, too: the bell wakes the tape.
                put(m.path + "/a.py", ONE)
                st.eventually(lambda: t.ask("STATUS")["n"] == 2, "an entry")
                expect_edit(t.news())
            put(repo + "/a.py", TWO)
            st.eventually(lambda: t.ask("STATUS")["n"] == 3, "an entry")
            assert t.news()[0]["author"]["origin"] == "outside"
            with st.Mount(repo, home=home) as m:
                put(m.path + "/a.py", ONE)
                expect_edit(t.sync())


def a_second_tape_is_refused():
    with world() as (m, t):
        r = m.home.run("tape", m.repo)
        assert r.returncode == 1
        assert "process %d" % t.proc.pid in r.stderr, r.stderr


st.main(in_place, by_sed, by_temporary_and_rename,
        by_temporary_with_the_barrier_in_between,
        by_mv_from_outside_the_repository, by_cp, by_backup_that_stays,
        by_backup_that_goes, by_backup_that_goes_and_a_move, by_shell_with_children, by_patch,
        by_git_checkout, by_editors, by_any_of_its_names, by_exchange, by_mmap,
        same_content_is_no_entry, another_mode_is_an_edit_without_lines,
        another_mode_outside_is_found, a_mode_is_known_after_a_restart,
        what_comes_and_goes_is_no_entry, made_moved_and_removed,
        a_directory_moves_with_its_files,
        a_directory_moves_after_a_save_that_took_its_time,
        a_directory_moves_while_much_is_under_way, a_marker_of_ours_is_flagged,
        a_syntax_error_is_told, large_and_binary_files_have_hashes,
        what_is_git_s_own_is_not_read, changes_outside_are_noticed, without_a_mount,
        a_mount_that_comes_later_and_goes, a_second_tape_is_refused)

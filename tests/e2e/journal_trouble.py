#!/usr/bin/env python3
"""A journal that cannot be written never fails the writer."""

import json
import os
import shutil
import subprocess

import st


def small_state(home, size):
    """A state directory on a file system of its own with little room."""
    st.need_root("a small tmpfs")
    top = home.env["XDG_STATE_HOME"]
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=%d" % size, "small",
                    top], check=True)
    os.chmod(top, 0o700)
    return top


def write_lines(path, count):
    with open(path, "ab", buffering=0) as f:
        for n in range(count):
            assert f.write(b"%08d\n" % n) == 9


def status(m):
    """As Mount.status(), where exit 1 says that lines were lost."""
    return json.loads(m.home.run("status", "--json", m.repo).stdout)


def a_full_disk_costs_lines_and_no_write():
    with st.Home() as home:
        small_state(home, 1 << 20)
        with st.Mount(home=home, expect_log="journal") as m:
            write_lines(m.path + "/f", 20000)
            assert os.path.getsize(m.path + "/f") == 20000 * 9
            journal = status(m)["journal"]
            assert journal["lost"] > 0, journal
            assert journal["error"], journal
            shown = home.run("status", m.repo)
            assert shown.returncode == 1, shown
            assert "LOST" in shown.stdout.upper(), shown.stdout


def lines_are_kept_again_when_there_is_room_and_the_gap_is_named():
    with st.Home() as home:
        top = small_state(home, 1 << 20)
        filler = top + "/filler"
        with st.Mount(home=home, expect_log="journal") as m:
            fd = os.open(filler, os.O_CREAT | os.O_WRONLY, 0o600)
            try:
                while True:
                    os.write(fd, b"x" * 4096)
            except OSError:
                os.close(fd)
            write_lines(m.path + "/f", 8000)
            assert status(m)["journal"]["lost"] > 0
            os.unlink(filler)

            def kept_again():
                write_lines(m.path + "/f", 1)
                return "error" not in status(m)["journal"]

            st.eventually(kept_again, "lines are kept again")
            head = status(m)["journal"]["head"]
            write_lines(m.path + "/after", 3)
            lines = m.journal()
            after = [l for l in lines if l.get("path") == "after" and
                     l["op"] == "write" and l["n"] > head]
            assert len(after) == 3, after
            gone = [l["gone"] for l in lines if "gone" in l]
            assert gone, "no gap is named"
            numbers = [l["n"] for l in lines if "n" in l]
            assert numbers == sorted(set(numbers))


def a_removed_directory_is_made_anew():
    with st.Mount(expect_log="journal") as m:
        write_lines(m.path + "/f", 10)
        state = m.home.state_dirs()[0]
        shutil.rmtree(state + "/journal")

        def kept_again():
            write_lines(m.path + "/f", 1)
            return os.path.isdir(state + "/journal")

        st.eventually(kept_again, "the directory is there again")
        since = status(m)["journal"]["head"]
        write_lines(m.path + "/g", 2)
        writes = [l for l in m.journal(since) if l["op"] == "write"]
        assert len(writes) == 2, writes
        assert status(m)["journal"]["lost"] > 0


def a_segment_cut_under_the_writer_kills_nobody():
    with st.Mount(expect_log="journal") as m:
        write_lines(m.path + "/f", 100)
        state = m.home.state_dirs()[0]
        for name in os.listdir(state + "/journal"):
            os.truncate(state + "/journal/" + name, 0)
        write_lines(m.path + "/f", 100)
        assert os.path.getsize(m.path + "/f") == 200 * 9
        assert st.alive(m.fs_pid)


def a_torn_tail_is_cut_and_numbers_go_on():
    with st.Home() as home:
        with st.Mount(home=home) as m:
            write_lines(m.path + "/f", 10)
            before = m.journal()
        segment = max(os.listdir(home.state_dirs()[0] + "/journal"))
        path = home.state_dirs()[0] + "/journal/" + segment
        os.truncate(path, os.path.getsize(path) - 7)
        with st.Mount(home=home) as m:
            write_lines(m.path + "/f", 1)
            after = m.journal()
        kept = [l for l in after if l["n"] in {b["n"] for b in before}]
        assert kept[:-1] == before[:len(kept) - 1]
        assert after[-1]["n"] > before[-2]["n"]


st.main(a_full_disk_costs_lines_and_no_write,
        lines_are_kept_again_when_there_is_room_and_the_gap_is_named,
        a_removed_directory_is_made_anew,
        a_segment_cut_under_the_writer_kills_nobody,
        a_torn_tail_is_cut_and_numbers_go_on)

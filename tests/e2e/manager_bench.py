#!/usr/bin/env python3
"""`statetape bench` on small traces of our own making: the figures against sums
made by hand, the predictions against what the session did, wrong input."""

import json
import os
import shutil
import subprocess
import tempfile

import st

RANKS = os.environ.get("TRACEBENCH_RANKS") or os.path.join(
    os.path.dirname(os.path.abspath(__file__)),
    "../../.deps/cl100k.ranks.gz")

CONFIG = """\
import json


def load_config(path):
    with open(path) as f:
        return json.load(f)


def port_of(config):
    return config["port"]
"""

SERVER = """\
from app.config import load_config, port_of


def start(path):
    return port_of(load_config(path))
"""

NEW = ['def load_config(path):', '    with open(path) as f:',
       '        config = json.load(f)', '    check(config)',
       '    return config']


def lines(text, first, last):
    return "".join(text.splitlines(True)[first - 1:last])


def record(number, kind, text, turn, tokens, **more):
    return dict(t="rec", id=f"r{number}", kind=kind, text=text, turn=turn,
                tokens=tokens, **more)


def session():
    """Reads two files, runs a test, edits load_config; two points."""
    return [
        record(0, "say", "Let me look at load_config.", 0, 10),
        record(1, "read", CONFIG, 0, 100, file="app/config.py", span=[1, 10]),
        record(2, "read", SERVER, 1, 60, file="app/server.py", span=[1, 5]),
        record(3, "run", "$ python -m pytest -q\n3 passed\n", 2, 20,
               cmd="python -m pytest -q"),
        record(4, "run", "$ sed -n '9,10p' app/config.py\n"
               + lines(CONFIG, 9, 10), 3, 30,
               cmd="sed -n '9,10p' app/config.py"),
        {"t": "dp", "dp": 0},
        record(5, "edit", "", 4, 40, file="app/config.py", span=[4, 8],
               edit=dict(op="replace", start=4, old_n=3, new=NEW)),
        record(6, "search", "load_config\napp/config.py:4:def load_config\n",
               5, 15, query="load_config"),
        {"t": "dp", "dp": 1},
        record(7, "edit", "", 6, 5, file="README", edit=dict(op="external")),
    ]


def label(dp, **more):
    empty = dict(gold=[], missing={}, missing_line={}, needed=[],
                 needed_span=[], stale=[], consumed=[], distractor=[],
                 behaviour=[], next_files=["app/config.py"], edits_before=dp)
    return dict(empty, dp=dp, **more)


LABELS = [
    label(0, needed=["r1"], needed_span=["r1", "r4"],
          missing={"app/server.py": [[4, 5]]}, behaviour=[["r1", "e"]]),
    label(1, needed=["r5", "r2"], needed_span=["r5", "r2", "r1"],
          stale=["r1", "r3"], behaviour=[["r5", "r"]]),
]


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def make(top, name):
    at = os.path.join(top, name)
    write(f"{at}/repo/app/__init__.py", "")
    write(f"{at}/repo/app/config.py", CONFIG)
    write(f"{at}/repo/app/server.py", SERVER)
    write(f"{at}/meta.json", json.dumps(dict(
        id=name, repo="own/own", task="Check the configuration.")))
    write(f"{at}/trace.jsonl",
          "".join(json.dumps(r) + "\n" for r in session()))
    write(f"{at}/labels.json", json.dumps(dict(id=name, dps=LABELS)))
    return at


def bench(*words, ranks=True, **more):
    env = dict(os.environ)
    env.pop("TRACEBENCH_RANKS", None)
    if ranks:
        env["TRACEBENCH_RANKS"] = RANKS
    return subprocess.run([st.STATETAPE, "bench", *words], env=env, text=True,
                          capture_output=True, check=False, **more)


def figures(*words):
    done = bench(*words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def need_ranks():
    if not os.path.exists(RANKS):
        st.skip("no ranks of cl100k: tools/setup fetches them, or "
                "TRACEBENCH_RANKS names the file")


def reference_points_are_as_summed_by_hand():
    need_ranks()
    with tempfile.TemporaryDirectory(prefix="st.") as top:
        make(top, "one")
        make(top, "two")
        f = figures(top, "--reference")
    everything = f["all"]["EVICT-ALL"]
    # Held: 220 at the first point and 275 at the second, needed 100 and 100.
    assert everything["points"] == 4
    assert everything["lost"] == 100
    assert everything["CE"] == (120 + 175) / 200
    assert everything["cleared"] == 100
    recent = f["all"]["recency k=5"]
    # At the second point r0 and r1 leave.
    assert recent["lost"] == 0 and recent["CE"] == "inf"
    assert recent["cleared"] == 100 * 110 / (120 + 175)
    # Only reads, edits and views of files in repo/.
    code = f["code"]["EVICT-ALL"]
    assert code["lost"] == 100
    assert code["CE"] == (90 + 130) / 200, code
    assert f["behaviour"]["EVICT-ALL"]["lost"] == (100 + 40) / 2
    assert f["all"]["oracle"]["found"] == 100
    assert f["all"]["oracle"]["cleared"] == 100
    # The whole config.py is not what is missing.
    assert f["all"]["whole next-edit file"]["found"] == 0
    assert f["all"]["whole files in context"]["found"] == 100


def a_place_counts_with_span():
    need_ranks()
    with tempfile.TemporaryDirectory(prefix="st.") as top:
        f = figures(make(top, "one"), "--reference", "--span")
    assert f["all"]["EVICT-ALL"]["lost"] == (130 + 200) / 2


def what_is_chosen_is_what_the_tape_saw():
    need_ranks()
    with tempfile.TemporaryDirectory(prefix="st.") as top:
        make(top, "one")
        path = os.path.join(top, "predictions")
        done = bench(top, "--policy", "statetape,control", "--predictions",
                     path, "--jobs", "1")
        assert done.returncode == 0, done.stderr
        with open(path, encoding="utf-8") as f:
            rows = [json.loads(row) for row in f]
        again = bench(top, "--policy", "statetape,control")
        assert again.stdout == done.stdout
    assert [(r["id"], r["dp"]) for r in rows] == [
        ("one", 0), ("one", 0), ("one", 1), ("one", 1)]
    mine, control = rows[2], rows[3]
    for r in (rows[0], rows[1], control):
        assert not any(r[k] for k in ("evict", "drop", "rerun", "refresh",
                                      "retrieve")), r
    # The body of load_config changed under the read and the test, not under
    # the view of port_of, which only moved.
    assert [r["id"] for r in mine["refresh"]] == ["r1"], mine
    assert mine["refresh"][0]["spans"] == [["app/config.py", 1, 12]], mine
    assert mine["rerun"] == ["r3"], mine
    assert not mine["drop"] and not mine["evict"], mine


def far_module(n):
    return "".join(f"def far_{n}_{i}(x):\n    return x + {i}\n\n\n"
                   for i in range(40))


def long_session():
    """Twelve modules are looked at, then load_config is edited twice."""
    rows, number = [], iter(range(1000))

    def add(kind, text, turn, tokens, **more):
        rows.append(record(next(number), kind, text, turn, tokens, **more))

    for n in range(12):
        text = far_module(n)
        add("read", text, n, 900, file=f"app/far{n}.py", span=[1, 160])
        add("search", f"far_{n}\napp/far{n}.py:1:def far_{n}_0(x):\n", n, 20,
            query=f"far_{n}")
    add("read", CONFIG, 12, 100, file="app/config.py", span=[1, 10])
    add("edit", "", 13, 40, file="app/config.py", span=[4, 8],
        edit=dict(op="replace", start=4, old_n=3, new=NEW))
    add("read", SERVER, 14, 60, file="app/server.py", span=[1, 5])
    rows.append({"t": "dp", "dp": 0})
    add("edit", "", 15, 5, file="README", edit=dict(op="external"))
    return rows


def rules_evict_what_is_far_and_keep_what_is_near():
    need_ranks()
    with tempfile.TemporaryDirectory(prefix="st.") as top:
        one = make(top, "one")
        for n in range(12):
            write(f"{one}/repo/app/far{n}.py", far_module(n))
        write(f"{one}/trace.jsonl",
              "".join(json.dumps(r) + "\n" for r in long_session()))
        path = os.path.join(top, "predictions")
        done = bench(one, "--policy", "rules", "--predictions", path)
        assert done.returncode == 0, done.stderr
        with open(path, encoding="utf-8") as f:
            made = json.load(f)
    # r24 is the read of config.py, r25 the edit, r26 its caller.
    gone = set(made["evict"]) | set(made["drop"])
    assert not gone & {"r24", "r25", "r26"}, made
    assert len(gone & {f"r{2 * n}" for n in range(12)}) >= 6, made


def a_tape_leaves_nothing_behind():
    need_ranks()
    with tempfile.TemporaryDirectory(prefix="st.") as top:
        one = make(top, "one")
        tmp = os.path.join(top, "tmp")
        os.mkdir(tmp)
        before = os.stat(f"{one}/repo/app/config.py").st_mtime_ns
        env = dict(os.environ, TRACEBENCH_RANKS=RANKS, TMPDIR=tmp)
        subprocess.run([st.STATETAPE, "bench", one], env=env, check=True,
                       stdout=subprocess.DEVNULL)
        assert os.listdir(tmp) == []
        assert os.stat(f"{one}/repo/app/config.py").st_mtime_ns == before


def wrong_input_is_named():
    need_ranks()
    with tempfile.TemporaryDirectory(prefix="st.") as top:
        one = make(top, "one")
        for words, what in [
                ((), "wants a DIR"),
                ((f"{top}/none",), "cannot be opened"),
                ((one, "--policy", "best"), "there is no policy 'best'"),
                ((one, "--jobs", "0"), "at least 1"),
                ((one, "--predictions", f"{top}/no/file"),
                 "cannot be written")]:
            done = bench(*words)
            assert done.returncode != 0, words
            assert what in done.stderr, (words, done.stderr)
            assert done.stderr.count("\n") == 1, done.stderr
        write(f"{top}/empty/x", "")
        assert "has no traces" in bench(f"{top}/empty").stderr
        for name, text, what in [
                ("trace.jsonl", '{"t":"rec"}\n', "line 1 is not a record"),
                ("trace.jsonl", "no json\n", "line 1 is not a record"),
                ("meta.json", "[]", "cannot be read as a trace"),
                ("labels.json", "{}", "labels.json' is not understood")]:
            bad = make(top, "bad")
            write(f"{bad}/{name}", text)
            done = bench(bad)
            assert done.returncode == 1 and what in done.stderr, done.stderr
            shutil.rmtree(bad)
        rows = session()
        rows[6]["file"] = "../outside.py"
        bad = make(top, "bad")
        write(f"{bad}/trace.jsonl", "".join(json.dumps(r) + "\n" for r in rows))
        assert bench(bad).returncode == 1
        assert not os.path.exists(f"{top}/outside.py")


def ranks_that_are_missing_or_wrong_are_named():
    with tempfile.TemporaryDirectory(prefix="st.") as top:
        one = make(top, "one")
        done = bench(one, ranks=False)
        assert done.returncode == 1 and "TRACEBENCH_RANKS" in done.stderr
        write(f"{one}/cl100k.ranks.gz", "no ranks")
        done = bench(one, ranks=False)
        assert done.returncode == 1 and "another file" in done.stderr, done


if __name__ == "__main__":
    st.main(reference_points_are_as_summed_by_hand,
            a_place_counts_with_span,
            what_is_chosen_is_what_the_tape_saw,
            rules_evict_what_is_far_and_keep_what_is_near,
            a_tape_leaves_nothing_behind,
            wrong_input_is_named,
            ranks_that_are_missing_or_wrong_are_named)

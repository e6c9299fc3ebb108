#!/usr/bin/env python3
"""The code graph on small packages before and after a change.

    graph_corpus.py [-k WORDS] [-v] [FILE...]

Cases are in tests/data/graph; its README describes their format. Each case
checks three things: the edges of the tree after the change; what `diff` prints
for the two trees; and `follow`, through which the change is made, undone and
made again: each time its answer and its graph must equal those of a build from
nothing.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import st

DATA = Path(__file__).resolve().parent.parent / "data" / "graph"
KINDS = ("implicit", "uses")
SETS = ("X", "dX", "added", "ext.X", "ext.R")


class BadCase(Exception):
    """The case itself is wrong, not the program under test."""


# -- reading cases ----------------------------------------------------------

class Case:
    def __init__(self, file, line, title):
        self.title, self.place = title, "%s:%d" % (file.name, line)
        self.before, self.after, self.deleted = {}, {}, []
        self.edges, self.maybe = set(), set()
        self.kinds = {}  # of edges: the whole set of that kind
        self.expect = {name: set() for name in SETS}

    def add(self, words, lines):
        """One section: its words after `--`, and its lines."""
        kind, *names = words
        if kind == "before":
            self.before[names[0]] = text_of(lines)
        elif kind == "after":
            self.after[names[0]] = text_of(lines)
        elif kind == "edit":
            self.after[names[0]] = edited(self.before[names[0]], lines)
        elif kind == "delete":
            self.deleted.append(names[0])
        elif kind == "edges":
            for line in filter(None, lines):
                pair = tuple(line.lstrip("? ").split(" -> "))
                (self.maybe if line[0] == "?" else self.edges).add(pair)
        elif kind in KINDS:
            self.kinds[kind] = {tuple(line.split(" -> "))
                                for line in filter(None, lines)}
        elif kind == "expect":
            for line in filter(None, lines):
                name, _, rest = line.partition(":")
                if name not in SETS:
                    raise BadCase("no such set: " + name)
                self.expect[name] = "*" if rest.strip() == "*" else \
                    set(rest.split())
        else:
            raise BadCase("no such section: " + kind)

    def changed(self):
        return sorted(set(self.after) | set(self.deleted))

    def files_after(self):
        files = {**self.before, **self.after}
        return {p: t for p, t in files.items() if p not in self.deleted}


def text_of(lines):
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    return "".join(line + "\n" for line in lines)


def edited(text, lines):
    """`text` with the places replaced that the lines of an edit show."""
    while lines and not lines[-1]:
        lines = lines[:-1]
    text = "\n" + text
    for place in "\n".join(lines).split("\n@@\n"):
        rows = [row or " " for row in place.split("\n")]
        old = "".join(r[1:] + "\n" for r in rows if r[0] in " -")
        new = "".join(r[1:] + "\n" for r in rows if r[0] in " +")
        if text.count("\n" + old) != 1:
            raise BadCase("not found once:\n" + old)
        text = text.replace("\n" + old, "\n" + new)
    return text[1:]


def cases_of(file):
    found, section, lines = [], None, []

    def finish():
        if section:
            try:
                found[-1].add(section, lines)
            except (BadCase, IndexError, KeyError, ValueError) as e:
                raise BadCase("%s: %s: %s" % (found[-1].place,
                                              " ".join(section), e))

    for number, line in enumerate(file.read_text().split("\n"), 1):
        if line.startswith("== "):
            finish()
            found.append(Case(file, number, line[3:]))
            section, lines = None, []
        elif line.startswith("-- "):
            finish()
            section, lines = line[3:].split(), []
        else:
            lines.append(line)
    finish()
    return found


# -- asking -----------------------------------------------------------------

def lay(top, files):
    for path, text in files.items():
        place = Path(top, path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)


def graph(home, *args):
    return home.run("graph", *args, check=True).stdout


def rows(text):
    """Lines of JSON, sorted."""
    return sorted(filter(None, text.split("\n")))


def sets_of(answer):
    """The five sets of one answer of `diff` or `follow`."""
    return {"X": answer["X"], "dX": answer["dX"], "added": answer["added"],
            "ext.X": answer["extended"]["X"],
            "ext.R": answer["extended"]["R"]}


class Follower:
    """`graph follow` on a directory."""

    def __init__(self, home, top):
        self.top = top
        self.process = home.start("graph", "follow", str(top),
                                  stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True)
        self.dump("symbols")  # wait until it is built, before anything changes

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def change(self, files, paths):
        """Writes `paths` as they are in `files`, reports them, returns the
        answer."""
        for path in paths:
            place = Path(self.top, path)
            if path in files:
                lay(self.top, {path: files[path]})
            elif place.exists():
                place.unlink()
        self.ask("\t".join(paths))
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError("follow ended: exit %r"
                                 % self.process.wait(st.DEADLINE))
        return json.loads(line)

    def dump(self, what):
        self.ask("!" + what)
        lines = []
        while (line := self.process.stdout.readline()).strip():
            lines.append(line.rstrip("\n"))
        return sorted(lines)

    def close(self):
        self.process.stdin.close()
        status = self.process.wait(st.DEADLINE)
        self.process.stdout.close()
        return status


# -- judging ----------------------------------------------------------------

def differ(what, got, wanted):
    """Sentences on how two sets differ."""
    got, wanted = set(got), set(wanted)
    return ["%s: missing %s" % (what, show(w)) for w in sorted(wanted - got)] \
        + ["%s: too much %s" % (what, show(g)) for g in sorted(got - wanted)]


def show(one):
    return " -> ".join(one) if isinstance(one, tuple) else one


def judge_edges(case, text):
    edges = [json.loads(row) for row in rows(text)]

    def of(*kinds):
        return {(e["caller"], e["callee"]) for e in edges
                if e["kind"] in kinds}
    faults = differ("edges", of("call", "implicit") -
                    (case.maybe - case.edges), case.edges)
    for kind, wanted in case.kinds.items():
        faults += differ(kind, of(kind), wanted)
    return faults


def judge_sets(case, what, answer):
    got, faults = sets_of(answer), []
    for name in SETS:
        if list(got[name]) != sorted(got[name]):
            faults.append("%s: %s is not sorted" % (what, name))
        if case.expect[name] != "*":
            faults += differ("%s: %s" % (what, name), got[name],
                             case.expect[name])
    return faults


def judge_follow(case, home, tops, diffs):
    """Checks the change made, undone and made again, reported file by file."""
    work = Path(home.top, "work")
    shutil.copytree(tops[0], work)
    follower, faults, fresh = Follower(home, work), [], {}
    states = (case.before, case.files_after())
    for step, now in enumerate((1, 0, 1)):
        answer = follower.change(states[now], case.changed())
        what = "follow, step %d" % (step + 1)
        for name, got in sets_of(answer).items():
            faults += differ("%s: %s" % (what, name), got,
                             sets_of(diffs[now])[name])
        if not isinstance(answer.get("us"), (int, float)):
            faults.append(what + ": says no microseconds")
        for kind in ("edges", "symbols"):
            if (now, kind) not in fresh:
                fresh[now, kind] = rows(graph(home, kind, "--json",
                                              str(tops[now])))
            faults += differ("%s: %s" % (what, kind), follower.dump(kind),
                             fresh[now, kind])
    status = follower.close()
    return faults + (["follow: exit %d" % status] if status else [])


def judge(case):
    """What is wrong with one case, as sentences."""
    with st.Home() as home:
        tops = [Path(home.mkdir("before")), Path(home.mkdir("after"))]
        lay(tops[0], case.before)
        lay(tops[1], case.files_after())
        faults = judge_edges(case, graph(home, "edges", "--json", "--kinds",
                                         "call,implicit,uses", str(tops[1])))
        # diffs[n]: the change that leads to state n.
        diffs = [json.loads(graph(home, "diff", "--json", str(a), str(b)))
                 for a, b in (tops[::-1], tops)]
        faults += judge_sets(case, "diff", diffs[1])
        faults += judge_follow(case, home, tops, diffs)
    return faults


def judge_or_fail(case):
    try:
        return judge(case)
    except (AssertionError, OSError, ValueError, KeyError,
            subprocess.SubprocessError) as e:
        return ["%s: %s" % (type(e).__name__, e)]


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("files", nargs="*", type=Path)
    p.add_argument("-k", metavar="WORDS", default="",
                   help="only cases whose title or file has these words")
    p.add_argument("-v", action="store_true", help="name every case")
    o = p.parse_args()
    files = o.files or sorted(DATA.glob("*.case"))
    cases = [c for f in files for c in cases_of(f)
             if o.k in c.title or o.k in c.place]
    if not cases:
        sys.exit("no such case")
    if not st.STATETAPE:
        st.skip("STATETAPE does not name the binary and it is not installed")
    failed = 0
    pool = ThreadPoolExecutor(os.cpu_count())
    for case, faults in zip(cases, pool.map(judge_or_fail, cases)):
        failed += bool(faults)
        if faults or o.v:
            print("%s %s: %s" % ("FAIL" if faults else "ok  ", case.place,
                                 case.title))
        for fault in faults:
            print("       " + fault.replace("\n", "\n       "))
    print("%d cases, %d failed" % (len(cases), failed))
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Two agents and a person change one repository at random, and commands of
theirs are undone. Each time the tree must become the one in which these
commands alone did not happen, or the files that cannot are named and stay as
they are; and undoing the undo gives the tree before it.

    undo_random.py [SEED [COMMANDS]]

The tree that is expected comes from a model that does the other commands
again. In the model a file is known by a number, not by its name, so that
changes of one whose renaming is left out apply to the right file. A command
that cannot be done again (it changes a line that another one wrote) makes the
result of its file uncertain: what undo does with that is not compared."""

import json
import random
import re
import subprocess
import sys
import time

import st
from undoing import tree, world

ACTORS = ("agent-one", "agent-two", "person")
DIRS = ("", "src/", "src/deep/", "doc/")
WINDOW = 10  # commands of which one is undone

# The program that does a command: [operation, argument...] each.
SCRIPT = r"""
import json, os, sys

def save(path, text):
    if os.path.dirname(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)

def replace(path, text):
    save(path + ".tmp", text)
    os.chmod(path + ".tmp", os.stat(path).st_mode & 0o7777)
    os.rename(path + ".tmp", path)

def move(path, to):
    if os.path.dirname(to):
        os.makedirs(os.path.dirname(to), exist_ok=True)
    os.rename(path, to)

def relink(path, to):
    os.unlink(path)
    os.symlink(to, path)

def link(path, to):
    if os.path.dirname(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
    os.symlink(to, path)

for name, *arguments in json.loads(sys.argv[2]):
    {"save": save, "replace": replace, "unlink": os.unlink, "move": move,
     "chmod": os.chmod, "link": link, "relink": relink}[name](*arguments)
"""


class File:
    def __init__(self, path, lines=(), target=None):
        self.path, self.lines, self.target = path, list(lines), target
        self.mode = 0o120777 if target else 0o100644

    def text(self):
        return self.target or "".join(line + "\n" for line in self.lines)


class Model:
    """Files by number, and those whose state is not certain."""

    def __init__(self):
        self.files, self.uncertain, self.owner = {}, set(), {}

    def tree(self):
        return {f.path: (oct(f.mode), f.text().encode())
                for f in self.files.values()}

    def taken(self, path):
        return [k for k, f in self.files.items() if f.path == path]

    def doubt(self, *numbers):
        self.uncertain.update(numbers)

    def claim(self, k, path):
        """A name that different files had is one file for undo."""
        other = self.owner.setdefault(path, k)
        if other != k:
            self.doubt(k, other)

    # -- Operations. Each returns the call for SCRIPT.

    def create(self, k, path, lines, target):
        self.doubt(*[k] * len(self.taken(path)), *self.taken(path))
        self.claim(k, path)
        self.files[k] = File(path, lines, target)
        return ["link", path, target] if target else \
            ["save", path, self.files[k].text()]

    def edit(self, k, how, edits):
        f = self.files[k]
        for kind, anchor, new in edits:
            if anchor not in f.lines:
                self.doubt(k)
                continue
            at = f.lines.index(anchor)
            f.lines[at:at + (kind != "insert")] = \
                [] if kind == "remove" else [new]
        return [how, f.path, f.text()]

    def rewrite(self, k, lines):
        self.files[k].lines = list(lines)
        return ["save", self.files[k].path, self.files[k].text()]

    def remove(self, k):
        return ["unlink", self.files.pop(k).path]

    def rename(self, k, path):
        f = self.files[k]
        self.doubt(*[k] * len(self.taken(path)), *self.taken(path))
        old, f.path = f.path, path
        self.claim(k, path)
        return ["move", old, path]

    def chmod(self, k, bit):
        f = self.files[k]
        f.mode ^= bit
        return ["chmod", f.path, f.mode & 0o777]

    def relink(self, k, target):
        f = self.files[k]
        f.target = target
        return ["relink", f.path, target]

    def do(self, command):
        calls = []
        for name, k, *rest in command["ops"]:
            if name != "create" and k not in self.files:
                self.doubt(k)
                continue
            calls.append(getattr(self, name)(k, *rest))
        return calls


def replay(commands, without):
    m = Model()
    for c in commands:
        if c["id"] not in without:
            m.do(c)
    return m


class Maker:
    """Makes commands that fit the present state."""

    def __init__(self, dice):
        self.dice, self.count, self.number, self.bits = dice, 0, 0, {}

    def fresh(self):
        self.count += 1
        return "line %d" % self.count

    def path(self, m):
        while True:
            self.number += 1
            path = "%sf%d" % (self.dice.choice(DIRS), self.number)
            if path not in m.owner:
                return path

    def edits(self, f):
        made, lines = [], list(f.lines)
        for _ in range(self.dice.randint(1, 2)):
            if not lines:
                break
            anchor = self.dice.choice(lines)
            kind = self.dice.choice(("change", "change", "insert", "remove"))
            made.append((kind, anchor, self.fresh()))
            lines.remove(anchor)
        return made

    def create(self, m):
        k, path = self.number + 1, self.path(m)
        if self.dice.random() < 0.2:
            return ("create", k, path, (), self.fresh())
        lines = [self.fresh() for _ in range(self.dice.randint(0, 30))]
        return ("create", k, path, lines, None)

    def one(self, m):
        files = sorted(m.files)
        if not files or self.dice.random() < 0.15:
            return self.create(m)
        k = self.dice.choice(files)
        f = m.files[k]
        what = self.dice.random()
        if what < 0.08:
            return ("remove", k)
        if what < 0.2:
            return ("rename", k, self.path(m))
        if f.target:
            return ("relink", k, self.fresh())
        # Each bit once: who decides about a bit that two changed is open.
        bits = self.bits.setdefault(k, [0o100, 0o40, 0o20, 0o10, 4, 2, 1])
        if what < 0.3 and bits:
            return ("chmod", k, bits.pop(self.dice.randrange(len(bits))))
        if what < 0.33:
            return ("rewrite", k, [self.fresh() for _ in range(9)])
        return ("edit", k, self.dice.choice(("save", "replace")),
                self.edits(f))

    def command(self, m, number):
        """A command of one to three operations on different files."""
        ops, seen = [], set()
        for _ in range(self.dice.randint(1, 3)):
            op = self.one(m)
            if op[1] not in seen and (op[0] == "create" or op[1] in m.files):
                seen.add(op[1])
                ops.append(op)
        return {"id": number, "actor": self.dice.choice(ACTORS), "ops": ops}


class Round:
    def __init__(self, w, dice):
        self.w, self.dice, self.maker = w, dice, Maker(dice)
        self.commands, self.model = [], Model()
        self.undone, self.exact, self.named = 0, 0, 0
        self.script = w.home.top + "/ops.py"
        with open(self.script, "w") as f:
            f.write(SCRIPT)

    def act(self):
        c = self.maker.command(self.model, len(self.commands))
        c["tree"] = tree(self.w.path)
        calls = self.model.do(c)
        p = subprocess.Popen([sys.executable, self.script, c["actor"],
                              json.dumps(calls)], cwd=self.w.path)
        assert p.wait() == 0, calls
        c["entries"] = [e["n"] for e in self.w.t.sync()
                        if e["author"].get("pid") == p.pid]
        self.commands.append(c)
        is_now = tree(self.w.path)
        assert is_now == self.model.tree(), (c, differences(
            is_now, self.model.tree()))

    def choose(self):
        """Which command is undone, and the words that say so: it alone, or
        all that happened from then on, undos too."""
        last = [c for c in self.commands[-WINDOW:] if c["entries"]]
        if not last:
            return None
        c = self.dice.choice(last)
        if self.dice.random() < 0.8:
            return c, ["--command", str(self.dice.choice(c["entries"]))]
        return c, ["%d..now" % min(c["entries"])]

    def undo(self):
        chosen = self.choose()
        if not chosen:
            return
        command, words = chosen
        before, now = tree(self.w.path), Model()
        for c in self.commands:
            now.do(c)
        r = self.w.home.run("undo", "--yes", *words, cwd=self.w.path)
        assert r.returncode in (0, 1), r
        named = set(re.findall(r"'(.*)' is left as it is", r.stderr))
        assert bool(named) == (r.returncode == 1), r
        if len(words) == 1:
            assert not named and tree(self.w.path) == command["tree"], (
                command, r, differences(tree(self.w.path), command["tree"]))
            self.undo_the_undo()
            assert tree(self.w.path) == before, (words, r)
            return
        expected = replay(self.commands, {command["id"]})
        self.compare(r, command, before, now, expected, named)
        self.undone += 1
        self.exact += not named
        self.named += len(named)
        if "nothing to do" in r.stdout or not r.stdout:
            return
        # The change of a file that is gone would come back with it.
        whole = not named and not expected.uncertain and \
            all(op[1] in now.files for op in command["ops"])
        if whole and self.dice.random() < 0.3:
            self.commands.remove(command)
            for i, c in enumerate(self.commands):
                c["id"] = i
            self.model = replay(self.commands, set())
            return
        self.undo_the_undo()
        assert tree(self.w.path) == before, (words, r, differences(
            tree(self.w.path), before))

    def undo_the_undo(self):
        if self.dice.random() < 0.5:
            self.w.run("redo", "--yes")
            return
        n = self.w.t.sync()[-1]["n"]
        self.w.run("undo", "--yes", "--command", str(n))

    def compare(self, r, command, before, now, expected, named):
        is_now = tree(self.w.path)
        free = {f.path for k, f in (*now.files.items(),
                                    *expected.files.items())
                if k in expected.uncertain | now.uncertain}
        for k, f in now.files.items():
            if f.path in named:
                assert is_now.get(f.path) == before.get(f.path), (f.path, r)
                free.add(f.path)
                if k in expected.files:
                    free.add(expected.files[k].path)
        # A file that is gone and is named: by the name that it had last.
        for k, f in expected.files.items():
            if k not in now.files and f.path in named:
                free.add(f.path)
        for path in named:
            free.add(path)
            k = now.owner.get(path)
            if k in expected.files:
                free.add(expected.files[k].path)
        wanted = {p: v for p, v in expected.tree().items() if p not in free}
        found = {p: v for p, v in is_now.items() if p not in free}
        assert found == wanted, (command, r, differences(found, wanted))


def differences(found, wanted):
    return {p: (found.get(p), wanted.get(p))
            for p in found.keys() | wanted.keys()
            if found.get(p) != wanted.get(p)}


def undoing_leaves_what_others_did():
    dice = random.Random(seed)
    with world({}, args=()) as w:
        r = Round(w, dice)
        for _ in range(6):
            r.act()
        for _ in range(count):
            for _ in range(dice.randint(1, 3)):
                r.act()
            r.undo()
        print("%d undone, %d of them whole, %d files named" % (
            r.undone, r.exact, r.named))
        assert r.exact * 4 > r.undone, "too many conflicts"
        w.run("verify")


numbers = [int(a, 0) for a in sys.argv[1:]]
seed = numbers[0] if numbers else int(time.time())
count = numbers[1] if len(numbers) > 1 else 40
print("seed %d; to repeat: %s %d %d" % (seed, sys.argv[0], seed, count))
del sys.argv[1:]
st.main(undoing_leaves_what_others_did)

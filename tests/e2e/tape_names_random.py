#!/usr/bin/env python3
"""Processes make, move, exchange and remove directories and files at random,
and save files between that, while the tape settles, or is stopped.

    tape_names_random.py [SEED [OPERATIONS [links]]]

Operations do not overlap, so that a model of the tree knows what must be there
and who wrote it. After each sequence and SYNC, what the tape's entries say
exists must be what exists: the same paths with the same contents, none of them
by anything outside the mount, and the author of each content the one who wrote
it. Few names, each for files and directories alike, make names come back. With
"links" some files have several names, of which not all are followed yet."""

import contextlib
import ctypes
import ctypes.util
import os
import random
import signal
import stat
import sys
import time

import st
import taped
import workers

NAMES = ("a", "b", "c", "d")
DEPTH = 4
WORLD = 2000  # operations between two mounts
SYNC_MS = 3000  # it never takes as long
RENAME_EXCHANGE = 2
_libc = ctypes.CDLL(None, use_errno=True)


# -- What a process can be told to do. Paths are relative to the mount.

def put(fd, text):
    assert os.write(fd, text) == len(text)


def write(path, text):
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    put(fd, text)
    os.close(fd)


def save(path, text):
    write(path + "~", text)
    os.rename(path + "~", path)


def append(path, text):
    fd = os.open(path, os.O_WRONLY | os.O_APPEND)
    put(fd, text)
    os.close(fd)


held = {}


def begin(path, text):
    held[0] = os.open(path, os.O_WRONLY | os.O_APPEND)
    put(held[0], text)


def finish(text):
    put(held[0], text)
    os.close(held.pop(0))


def exchange(one, other):
    r = _libc.renameat2(-100, os.fsencode(one), -100, os.fsencode(other),
                        RENAME_EXCHANGE)
    assert r == 0, os.strerror(ctypes.get_errno())


CALLS = {f.__name__: f for f in (write, save, append, begin, finish, exchange)}
CALLS.update({f.__name__: f for f in (
    os.mkdir, os.rmdir, os.rename, os.unlink, os.link, os.symlink,
    os.truncate)})


# -- The model.

class File:
    def __init__(self, text, author, link=False):
        self.text, self.link = text, link
        self.authors = {author}


class Tree:
    """Paths to files; None: a directory."""

    def __init__(self):
        self.at = {}

    def below(self, path):
        return [p for p in self.at if p.startswith(path + "/")]

    def move(self, old, new, pid):
        moved = {new + p[len(old):]: self.at.pop(p)
                 for p in [old] + self.below(old)}
        self.at.update(moved)
        self.placed(moved.values(), pid)

    @staticmethod
    def placed(files, pid):
        """Who moved a file over another one, or changed its place with it, is
        the author of what is there now."""
        for f in files:
            if f:
                f.authors.add(pid)

    def exchange(self, one, other, pid):
        both = {p: self.at.pop(p) for p in
                [one, other] + self.below(one) + self.below(other)}
        for p, f in both.items():
            a, b = (one, other) if p == one or p.startswith(one + "/") \
                else (other, one)
            self.at[b + p[len(a):]] = f
        self.placed(both.values(), pid)


class Random:
    def __init__(self, m, t, dice):
        self.t, self.dice, self.tree = t, dice, Tree()
        self.serial, self.done, self.log = 0, 0, []
        self.people = [workers.Worker(m.path, CALLS) for _ in range(3)]
        self.open = None  # (who, file)

    def end(self):
        for w in self.people:
            w.end()

    def text(self):
        self.serial += 1
        return b"#%08d\n" % self.serial

    def do(self, who, *order):
        self.log.append((self.people.index(who), *order))
        self.done += 1
        who.do(*order)

    # Choices; None: there is nothing of the kind.

    def one(self, things):
        things = sorted(things)
        return self.dice.choice(things) if things else None

    def directory(self):
        return self.one([p for p, f in self.tree.at.items() if f is None])

    def file(self, link=True):
        return self.one([p for p, f in self.tree.at.items()
                         if f and (link or not f.link)])

    def free(self):
        """A name that is not there, in a directory that is."""
        d = self.one([""] + [p + "/" for p, f in self.tree.at.items()
                             if f is None and p.count("/") < DEPTH - 1])
        return self.one({d + n for n in NAMES} - set(self.tree.at))

    # Operations.

    def mkdir(self, who):
        path = self.free()
        if path:
            self.do(who, "mkdir", path)
            self.tree.at[path] = None

    def create(self, who):
        path, text = self.free(), self.text()
        if path:
            self.do(who, self.dice.choice(("write", "save")), path, text)
            self.tree.at[path] = File(text, who.pid)

    def symlink(self, who):
        path, text = self.free(), self.text()
        if path:
            self.do(who, "symlink", text.decode(), path)
            self.tree.at[path] = File(text, who.pid, True)

    def wrote(self, f, text, who):
        f.text = text
        # Of two that had it open, either may be named.
        if self.open and self.open[1] is f:
            f.authors.add(who.pid)
        else:
            f.authors = {who.pid}

    def write(self, who):
        path, text = self.file(False), self.text()
        if path:
            self.do(who, "write", path, text)
            self.wrote(self.tree.at[path], text, who)

    def append(self, who):
        path, text = self.file(False), self.text()
        if path:
            f = self.tree.at[path]
            self.do(who, "append", path, text)
            self.wrote(f, f.text + text, who)

    def truncate(self, who):
        path = self.file(False)
        if path:
            f = self.tree.at[path]
            size = self.dice.randrange(len(f.text) + 1)
            self.do(who, "truncate", path, size)
            if size != len(f.text):
                self.wrote(f, f.text[:size], who)

    def save(self, who):
        path, text = self.file(), self.text()
        if path:
            self.do(who, "save", path, text)
            self.tree.at[path] = File(text, who.pid)

    def begin(self, who):
        path, text = self.file(False), self.text()
        if path and not self.open:
            f = self.tree.at[path]
            self.do(who, "begin", path, text)
            self.open = (who, f)
            self.wrote(f, f.text + text, who)

    def finish(self):
        if self.open:
            (who, f), text = self.open, self.text()
            self.do(who, "finish", text)
            self.wrote(f, f.text + text, who)
            self.open = None

    def unlink(self, who):
        path = self.file()
        if path:
            self.do(who, "unlink", path)
            del self.tree.at[path]

    def rmdir(self, who):
        path = self.directory()
        if path and not self.tree.below(path):
            self.do(who, "rmdir", path)
            del self.tree.at[path]

    def rmtree(self, who):
        path = self.directory()
        for p in sorted(self.tree.below(path), reverse=True) if path else ():
            self.do(who, "unlink" if self.tree.at.pop(p) else "rmdir", p)
        if path:
            self.do(who, "rmdir", path)
            del self.tree.at[path]

    def link(self, who):
        old, new = self.file(), self.free()
        if old and new:
            self.do(who, "link", old, new)
            self.tree.at[new] = self.tree.at[old]
            self.tree.placed([self.tree.at[old]], who.pid)

    def rename_to(self, who, old, new):
        there = self.tree.at.get(new, False)
        self.do(who, "rename", old, new)
        if there and self.tree.at[old] is there:
            return  # of two names of one file: it does nothing
        self.tree.at.pop(new, None)
        self.tree.move(old, new, who.pid)

    def rename_file(self, who):
        old = self.file()
        new = self.free() if self.dice.random() < 0.6 else self.file()
        if old and new and old != new:
            self.rename_to(who, old, new)

    def rename_directory(self, who):
        old = self.directory()
        new = self.free()
        if self.dice.random() < 0.3:
            new = self.directory()
            if new and self.tree.below(new):
                return
        if old and new and not (new + "/").startswith(old + "/"):
            self.rename_to(who, old, new)

    def exchange(self, who):
        one, other = self.one(self.tree.at), self.one(self.tree.at)
        if one and one != other and not one.startswith(other + "/") and \
                not other.startswith(one + "/"):
            self.do(who, "exchange", one, other)
            self.tree.exchange(one, other, who.pid)

    KINDS = ((mkdir, 10), (create, 12), (symlink, 1), (write, 6), (append, 4),
             (truncate, 2), (save, 10), (begin, 2), (unlink, 4), (rmdir, 2),
             (rmtree, 2), (link, 2), (rename_file, 8), (rename_directory, 20),
             (exchange, 4))

    def act(self):
        who = self.dice.choice([w for w in self.people
                                if not self.open or w is not self.open[0]])
        kinds, weights = zip(*(k for k in self.KINDS
                               if links or k[0] is not Random.link))
        self.dice.choices(kinds, weights)[0](self, who)

    def pause(self):
        """The tape stands still, goes on, or settles what is there."""
        what = self.dice.random()
        if what < 0.02:
            self.log.append(("stop",))
            os.kill(self.t.proc.pid, signal.SIGSTOP)
        elif what < 0.06:
            self.log.append(("go on",))
            os.kill(self.t.proc.pid, signal.SIGCONT)
        elif what < 0.11:
            time.sleep(self.dice.choice((0.001, 0.01)))
        elif what < 0.125:
            self.log.append(("sleep",))
            time.sleep(self.dice.uniform(0, 0.3))

    def sequence(self):
        self.log = []
        end = self.done + self.dice.choice((3, 6, 12, 25, 50))
        while self.done < end:
            self.act()
            self.pause()
            if self.open and self.dice.random() < 0.2:
                self.finish()
        if self.dice.random() < 0.8:
            self.finish()
        os.kill(self.t.proc.pid, signal.SIGCONT)


# -- The tape.

class Hash(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


def xxh3():
    """XXH3-128 as the tape writes it, of bytes."""
    name = ctypes.util.find_library("xxhash")
    if not name:
        st.skip("libxxhash.so is not installed")
    call = ctypes.CDLL(name).XXH3_128bits
    call.restype, call.argtypes = Hash, (ctypes.c_char_p, ctypes.c_size_t)

    def of(text):
        h = call(text, len(text))
        return "%016x%016x" % (h.high, h.low)
    return of


def files_of(top):
    found = {}
    for d, dirs, names in os.walk(top):
        for name in names + dirs:
            path = os.path.join(d, name)
            mode = os.lstat(path).st_mode
            if stat.S_ISLNK(mode):
                found[os.path.relpath(path, top)] = \
                    os.fsencode(os.readlink(path))
            elif stat.S_ISREG(mode):
                with open(path, "rb") as f:
                    found[os.path.relpath(path, top)] = f.read()
    return found


class World:
    """A mount and its tape; what the entries say: {path: (hash, authors)}."""

    def __init__(self, m, t, dice, hash_of):
        self.m, self.t, self.hash_of = m, t, hash_of
        self.random, self.state = Random(m, t, dice), {}
        self.merged = 0

    def take(self, e, wrong):
        new = e.get("path2") or e["path"]
        was = self.state.pop(e["path"], None)
        if e["author"]["origin"] != "mount":
            wrong.append(("not through the mount", e["n"]))
        if e["kind"] == "gap" or (e["before"] and not was) or \
                (was and was[0] != e["before"]):
            wrong.append(("does not follow", e["n"]))
        self.merged += "merged" in e
        if e["after"] is None:
            return
        authors = {a.get("pid") for a in e.get("authors", [e["author"]])}
        if was and e["before"] == e["after"]:
            authors = was[1]
        self.state[new] = (e["after"], authors)

    def compare(self, entries):
        wrong, tree = [], self.random.tree
        for e in entries:
            self.take(e, wrong)
        real = files_of(self.m.below)
        assert real == {p: f.text for p, f in tree.at.items() if f}, \
            "the model is wrong"
        for path in sorted(set(self.state) - set(real)):
            wrong.append(("ghost", path))
        for path in sorted(set(real) - set(self.state)):
            wrong.append(("missing", path))
        for path in sorted(set(real) & set(self.state)):
            digest, authors = self.state[path]
            f = tree.at[path]
            if digest != self.hash_of(real[path]):
                wrong.append(("content", path))
            elif not authors & f.authors:
                wrong.append(("author", path, authors, f.authors))
        return wrong

    def sequence(self):
        before, head, self.first = dict(self.state), self.m.head(), self.t.seen
        self.random.sequence()
        left = self.t.ask("SYNC", within_ms=SYNC_MS)["pending"]
        wrong = self.compare(self.t.news())
        if left:
            wrong.append(("SYNC does not end", left))
        if wrong:
            self.explain(wrong, before, head)
        return wrong

    def explain(self, wrong, before, head):
        print("before:", sorted(before))
        for order in self.random.log:
            print("  did", *order)
        for x in self.m.journal(head):
            print("  line", x.get("n"), x["op"], x.get("path"),
                  x.get("path2") or "", x.get("detail") or "",
                  x["author"].get("pid") if x.get("author") else "")
        for e in self.t.since(self.first):
            print("  entry", e["n"], e["kind"], e["path"],
                  e.get("path2") or "", e["author"].get("pid"),
                  e["author"]["origin"], "merged" * ("merged" in e),
                  e["journal"] if "journal" in e else "")
        for w in wrong:
            print("WRONG", *w)


@contextlib.contextmanager
def world(dice, hash_of):
    with st.Home() as home:
        repo = home.mkdir("repo")
        with st.Mount(repo, home=home) as m, taped.Tape(home, repo) as t:
            w = World(m, t, dice, hash_of)
            try:
                yield w
            finally:
                os.kill(t.proc.pid, signal.SIGCONT)
                w.random.end()


def the_tape_has_the_tree():
    hash_of, done, wrong, sequences, merged = xxh3(), 0, [], 0, 0
    failures = 0
    number = 0
    while done < count:
        dice = random.Random(seed * 1000 + number)
        number += 1
        with world(dice, hash_of) as w:
            while done + w.random.done < count and w.random.done < WORLD:
                found = w.sequence()
                sequences += 1
                if found:
                    failures += 1
                    print("-- sequence %d of world %d" % (sequences, number))
                    wrong += found
                    break
            done += w.random.done
            merged += w.merged
    print("%d operations in %d sequences: %d wrong (%s), %d merged entries" % (
        done, sequences, failures,
        {k: sum(w[0] == k for w in wrong) for k in {w[0] for w in wrong}},
        merged))
    assert not wrong


links = sys.argv[3:] == ["links"]
numbers = [int(a, 0) for a in sys.argv[1:3]]
seed = numbers[0] if numbers else int(time.time())
count = numbers[1] if len(numbers) > 1 else 1500
print("seed %d; to repeat: %s %d %d" % (seed, sys.argv[0], seed, count))
del sys.argv[1:]
st.main(the_tape_has_the_tree)

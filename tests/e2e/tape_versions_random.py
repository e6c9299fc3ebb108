#!/usr/bin/env python3
"""Two to six processes save shared files at random, by every way of saving,
while processors are taken away and the tape is stopped again and again. Every
version is an entry with its own author and its own content.

    tape_versions_random.py [SEED [VERSIONS]]

Saves follow each other without a pause and without overlap, so that the order
of versions is known: for each path, who made it and what it contains. A save
may show the tape what it has done by halves (an emptied file, one that is gone
for a moment) if it is interrupted for long: that is an entry more, of the same
author. A merged entry may stand for versions only if the file system said that
it could not keep one of them.

Every tenth round all save one file at the same time. Then the last content
must be on the tape, and every process must be named."""

import os
import random
import subprocess
import sys
import time

import st
import taped
import workers

SHARED = ("a", "b.py", "dir/c", "dir/d")
LINKS = ("link",)
ROUND = 60  # versions between two comparisons
BIG = 60 << 10


# -- Ways of saving.

def put(fd, text, at=None):
    done = os.write(fd, text) if at is None else os.pwrite(fd, text, at)
    assert done == len(text)


def put_halves(fd, text):
    half = len(text) // 2
    put(fd, text[:half])
    put(fd, text[half:])


def in_place(path, text):
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    put_halves(fd, text)
    os.close(fd)


def replace(path, text):
    in_place("%s.%d.tmp" % (path, os.getpid()), text)
    os.rename("%s.%d.tmp" % (path, os.getpid()), path)


def append(path, text):
    fd = os.open(path, os.O_WRONLY | os.O_APPEND)
    put_halves(fd, text)
    os.close(fd)


def overwrite(path, text, at):
    fd = os.open(path, os.O_RDWR)
    put(fd, text, at)
    os.close(fd)


def recreate(path, text):
    os.unlink(path)
    in_place(path, text)


def relink(path, target):
    os.symlink(target, "%s.%d.tmp" % (path, os.getpid()))
    os.rename("%s.%d.tmp" % (path, os.getpid()), path)


def link_anew(path, target):
    os.unlink(path)
    os.symlink(target, path)


held = {}


def begin(path, text):
    """Append, and leave the file open."""
    held[path] = os.open(path, os.O_WRONLY | os.O_APPEND)
    put(held[path], text)


def finish(path, text):
    put(held[path], text)
    os.close(held.pop(path))


CALLS = {f.__name__: f for f in (
    in_place, replace, append, overwrite, recreate, relink, link_anew, begin,
    finish)}
CALLS.update(truncate=os.truncate, unlink=os.unlink)


# -- What must be on the tape.

class Version:
    """`content` None: no file. `halves`: what it may show before."""

    def __init__(self, author, content, halves=(), way=""):
        self.author, self.content, self.way = author, content, way
        self.halves = set(halves)
        self.mover = None  # of a file that `author` wrote
        self.may_lack = False

    def __repr__(self):
        return "%s by %d: %r" % (self.way, self.author, short(self.content))


def short(content):
    return content if not content or len(content) < 60 else \
        content[:30] + b"..." + content[-20:]


class Random:
    """What is done, and what should come of it."""

    def __init__(self, m, dice):
        self.m, self.dice = m, dice
        self.top, self.below = m.path, m.home.mkdir("elsewhere")
        self.now = {p: b"0\n" for p in SHARED}
        self.now.update({p: b"0" for p in LINKS})
        self.want, self.serial, self.workers = {}, 0, []
        self.young = {}  # versions of files that are new in this round

    def begin_round(self):
        self.want, self.young = {p: [] for p in self.now}, {}
        self.workers = [workers.Worker(self.top, CALLS)
                        for _ in range(self.dice.randint(2, 6))]

    def end_round(self):
        for w in self.workers:
            w.end()

    def count(self):
        return sum(len(v) for v in self.want.values())

    def text(self):
        self.serial += 1
        size = self.dice.choice((0, 0, 0, 100, 5000, BIG))
        lines = self.dice.randint(0, size) // 10
        # The first half of two differs already.
        return (b"#%08d" % self.serial)[::-1] + b"\n" + \
            b"".join(b"%09d\n" % self.dice.getrandbits(29)
                     for _ in range(lines))

    def made(self, path, author, content, halves=(), way=""):
        v = Version(author, content, halves, way)
        if None in (content, *v.halves):
            self.removed(path, v)
        if self.now[path] is None or None in v.halves:
            self.young[path] = []
        if path in self.young:
            self.young[path].append(v)
        if v.content is None:
            self.young.pop(path, None)
        self.want[path].append(v)
        self.now[path] = content
        return v

    def removed(self, path, v):
        """What one process makes and removes may leave no entry."""
        young = self.young.get(path, [])
        if all(x.author == v.author and not x.mover for x in young):
            for x in young:
                x.may_lack = True

    def by_someone(self, *order):
        """A process that is there, or a new one."""
        if self.dice.random() < 0.3:
            return workers.once(self.top, CALLS, *order)
        w = self.dice.choice(self.workers)
        w.tell(*order)
        w.wait()
        return w.pid

    def act(self):
        path = self.dice.choice(tuple(self.now))
        old = self.now[path]
        if path in LINKS:
            self.save_link(path, old)
        elif old is None:
            self.create(path)
        else:
            self.dice.choice((
                self.in_place, self.in_place, self.replace, self.replace,
                self.append, self.overwrite, self.truncate, self.sed,
                self.cp, self.mv_here, self.mv_over, self.recreate,
                self.remove, self.interleave))(path, old)

    def save_link(self, path, _):
        target = b"%d" % self.serial
        self.serial += 1
        way = self.dice.choice(("relink", "link_anew"))
        pid = self.by_someone(way, path, target)
        self.made(path, pid, target, [None], way)

    def halves(self, text):
        return [b"", text[:len(text) // 2]]

    def create(self, path):
        text = self.text()
        way = self.dice.choice(("in_place", "replace"))
        pid = self.by_someone(way, path, text)
        v = self.made(path, pid, text, self.halves(text), "create " + way)
        for gone in self.want[path][-2:-1]:
            gone.may_lack = gone.author == v.author

    def in_place(self, path, _):
        text = self.text()
        pid = self.by_someone("in_place", path, text)
        self.made(path, pid, text, self.halves(text), "in_place")

    def replace(self, path, _):
        text = self.text()
        pid = self.by_someone("replace", path, text)
        self.made(path, pid, text, (), "replace")

    def append(self, path, old):
        text = self.text()
        if len(old) + len(text) > BIG:
            return
        pid = self.by_someone("append", path, text)
        self.made(path, pid, old + text, [old + text[:len(text) // 2]],
                  "append")

    def overwrite(self, path, old):
        text = self.text()[:9]
        at = self.dice.randint(0, len(old))
        pid = self.by_someone("overwrite", path, text, at)
        self.made(path, pid, old[:at] + text + old[at + len(text):], (),
                  "overwrite")

    def truncate(self, path, old):
        if not old:
            return
        size = self.dice.randrange(len(old))
        pid = self.by_someone("truncate", path, size)
        self.made(path, pid, old[:size], (), "truncate")

    def sed(self, path, old):
        self.serial += 1
        if not old:
            return
        line = b"#%08d" % self.serial
        pid = workers.tool(self.top, "sed", "-i", "1s/.*/" + line.decode() + "/",
                   path)
        first, newline, rest = old.partition(b"\n")
        assert first != line
        self.made(path, pid, line + newline + rest, (), "sed")

    def elsewhere(self, text):
        self.serial += 1
        name = "%s/%d" % (self.below, self.serial)
        with open(name, "wb") as f:
            f.write(text)
        return name

    def cp(self, path, _):
        text = self.text()
        pid = workers.tool(self.top, "cp", self.elsewhere(text), path)
        self.made(path, pid, text, [b""], "cp")

    def mv_here(self, path, _):
        """From another file system: a copy."""
        text = self.text()
        pid = workers.tool(self.top, "mv", "-f", self.elsewhere(text), path)
        self.made(path, pid, text, [None, b""], "mv")

    def mv_over(self, path, _):
        """What one wrote, another one moves."""
        text = self.text()
        name = path + ".new"
        writer = self.by_someone("in_place", name, text)
        mover = workers.tool(self.top, "mv", "-f", name, path)
        self.made(path, writer, text, (), "mv_over").mover = mover

    def recreate(self, path, _):
        text = self.text()
        pid = self.by_someone("recreate", path, text)
        self.made(path, pid, text, [None] + self.halves(text), "recreate")

    def remove(self, path, _):
        pid = self.by_someone("unlink", path)
        self.made(path, pid, None, (), "unlink")

    def interleave(self, path, old):
        """One appends while another has the file open."""
        one, other = self.dice.sample(self.workers, 2)
        for w, call in (one, "begin"), (other, "append"), (one, "finish"):
            text = b"#%08d\n" % self.serial
            self.serial += 1
            w.tell(call, path, text)
            w.wait()
            half = old + text[:len(text) // 2]
            old += text
            self.made(path, w.pid, old, [half], call)

    def overlap(self):
        """All save one file at the same time: (path, who)."""
        path = self.dice.choice(SHARED)
        if self.now[path] is None:
            self.create(path)
        texts = [self.text() for _ in self.workers]
        for w, text in zip(self.workers, texts):
            way = self.dice.choice(("in_place", "replace", "append"))
            w.tell(way, path, text)
        for w in self.workers:
            w.wait()
        with open(self.top + "/" + path, "rb") as f:
            self.now[path] = f.read()
        return path, {w.pid for w in self.workers}


# -- What is on the tape.

class Entry:
    def __init__(self, m, e):
        self.n, self.kind, self.merged = e["n"], e["kind"], "merged" in e
        self.path = e.get("path2") or e["path"]
        self.author = e["author"].get("pid")
        self.authors = {a.get("pid") for a in e.get("authors", [])} | \
            {self.author}
        self.is_gone = e["after"] is None
        self.m = m

    def content(self):
        if self.is_gone:
            return None
        r = subprocess.run(
            self.m.home.argv("cat", "%d:%s" % (self.n, self.path)),
            env=self.m.home.env, cwd=self.m.path, capture_output=True,
            check=False)
        return r.stdout if r.returncode == 0 else r.stderr

    def __repr__(self):
        return "%d %s by %r%s: %r" % (
            self.n, self.kind, sorted(str(a) for a in self.authors),
            " merged" * self.merged, short(self.content()))


class Verdict:
    def __init__(self):
        self.right = self.merged = self.halves = self.failures = 0
        self.wrong = []

    def compare(self, path, before, want, entries, refused):
        """Each version by its entry, in order."""
        at, last = 0, before
        for e in entries:
            content = e.content()
            found = [i for i in range(at, len(want))
                     if want[i].content == content and
                     e.author in (want[i].author, want[i].mover)]
            if found and e.merged and refused:
                self.merged += found[0] + 1 - at
                at = found[0] + 1
            elif found and self.are_same(last, want[at:found[0]]) and \
                    not e.merged:
                self.right += found[0] + 1 - at
                at = found[0] + 1
            elif at < len(want) and content in want[at].halves and \
                    e.author == want[at].author and not e.merged:
                self.halves += 1
            else:
                self.wrong.append((path, "expected", want[at:at + 1], "is", e))
                if found:
                    at = found[0] + 1
            last = content
        if not self.are_same(last, want[at:]):
            self.wrong.append((path, "missing", want[at:]))
        else:
            self.right += len(want) - at

    @staticmethod
    def are_same(last, versions):
        """Without a change there is no entry."""
        return all(v.content == last for v in versions if not v.may_lack)


def refusals(m, since):
    """Paths of which a version could not be kept: {path: errors}."""
    found = {}
    for x in m.journal(since):
        if x["op"] == "keep" and x["res"] < 0:
            found.setdefault(x["path"], []).append(x["res"])
    return found


def changers(lines, path):
    """Those that changed the content of a path. Who had the file open when
    another one replaced it wrote for nobody, and who emptied an empty file (its
    KEEP line says so) has changed nothing."""
    found, kept = set(), {}
    for x in lines:
        if path not in (x["path"], x.get("path2")):
            continue
        pid = x.get("author", {}).get("pid")
        if x["op"] == "keep":
            kept[pid] = x.get("len")
        elif x["op"] in ("write", "truncate", "rename") and \
                x.get("detail") != "deleted":
            was = kept.pop(pid, None)
            if not (x["op"] == "truncate" and was == 0 == x.get("len")):
                found.add(pid)
    return found


class Run:
    def __init__(self, m, t, dice):
        self.m, self.t, self.random = m, t, Random(m, dice)
        self.verdict = Verdict()

    def round(self, overlap):
        r, v = self.random, self.verdict
        before, head, wrong = dict(r.now), self.m.head(), len(v.wrong)
        r.begin_round()
        shared = None
        with workers.trouble(self.t.proc.pid, r.dice.getrandbits(30)):
            if overlap:
                shared = r.overlap()
            else:
                while r.count() < ROUND:
                    r.act()
        r.end_round()
        entries = [Entry(self.m, e) for e in self.t.sync()]
        refused = refusals(self.m, head)
        v.failures += sum(len(x) for x in refused.values())
        if shared:
            self.check_overlap(*shared, entries, head)
        for path, want in r.want.items():
            if not shared:
                v.compare(path, before[path], want,
                          [e for e in entries if e.path == path],
                          refused.get(path))
        if len(v.wrong) > wrong:
            self.explain(v.wrong[wrong:], before, entries, head, refused)

    def check_overlap(self, path, pids, entries, head):
        pids &= changers(self.m.journal(head), path)
        mine = [e for e in entries if e.path == path]
        named = {a for e in mine for a in e.authors}
        last = mine[-1].content() if mine else None
        if pids - named or last != self.random.now[path]:
            self.verdict.wrong.append(
                (path, "overlap of", pids, "last",
                 short(self.random.now[path]), "is", mine))

    def explain(self, wrong, before, entries, head, refused):
        for w in wrong:
            print("WRONG", w)
        lines = self.m.journal(head)
        for path in {w[0] for w in wrong}:
            print("--", path, "was", short(before[path]), "refused",
                  refused.get(path))
            for v in self.random.want[path]:
                print("  expected", v, v.mover or "")
            for e in entries:
                if e.path == path:
                    print("  entry", e)
            for x in lines:
                if any(str(x.get(k, "")).startswith(path)
                       for k in ("path", "path2")):
                    print("  line", {k: x[k] if k != "author" else
                                     x[k].get("pid") for k in x
                                     if k not in ("id", "ancestors")})


def every_version_is_an_entry():
    st.need("sed", "cp", "mv")
    if not workers.may_take_processors():
        print("no processor is taken away: real-time priority is refused")
    with st.Home() as home:
        repo = home.mkdir("repo")
        home.mkdir("repo/dir")
        for p in SHARED:
            with open(repo + "/" + p, "w") as f:
                f.write("0\n")
        for p in LINKS:
            os.symlink("0", repo + "/" + p)
        with st.Mount(repo, home=home) as m, taped.Tape(home, repo) as t:
            t.settle_in()
            run, n, done = Run(m, t, random.Random(seed)), 0, 0
            while done < count:
                n += 1
                run.round(overlap=n % 10 == 0)
                done += run.random.count()
            v = run.verdict
            print("%d versions: %d right, %d merged, %d wrong; "
                  "%d by halves, %d not kept" % (
                      done, v.right, v.merged, len(v.wrong), v.halves,
                      v.failures))
            assert not v.wrong


numbers = [int(a, 0) for a in sys.argv[1:]]
seed = numbers[0] if numbers else int(time.time())
count = numbers[1] if len(numbers) > 1 else 300
print("seed %d; to repeat: %s %d %d" % (seed, sys.argv[0], seed, count))
del sys.argv[1:]
st.main(every_version_is_an_entry)

#!/usr/bin/env python3
"""`statetape graph` started again and again on a repository that changes in
between: each start with the cache finds what a start without it finds, however
few files it reads."""

import json
import os
import random
import shutil
import time

import st

SEED = int(os.environ.get("GRAPH_SEED") or random.randrange(1 << 32))
STEPS = int(os.environ.get("GRAPH_STEPS") or 14)
YOUNG = 2.1  # seconds before a file's stamp is trusted


class Repo:
    """Modules that call each other, in nested directories, and many that never
    change."""

    def __init__(self, quiet):
        self.rng = random.Random(SEED)
        self.home = st.Home()
        self.path = self.home.mkdir("repo")
        self.files = []
        for k in range(12):
            self.add(f"{'abc'[k % 3]}/{'xy'[k % 2]}/m{k}.py")
        for k in range(quiet):
            self.put(f"quiet/q{k % 7}/n{k}.py", "def f():\n    pass\n")
        os.makedirs(os.path.join(self.path, "empty/inside"))

    def full(self, path):
        return os.path.join(self.path, path)

    def put(self, path, text):
        os.makedirs(os.path.dirname(self.full(path)), exist_ok=True)
        with open(self.full(path), "w") as f:
            f.write(text)

    def text(self):
        out = []
        for path in self.rng.sample(self.files, min(3, len(self.files))):
            module = path[:-3].replace("/", ".")
            out.append(f"import {module}\n")
            out.append(f"def use_{self.rng.randrange(4)}():\n"
                       f"    return {module}.f_{self.rng.randrange(4)}()\n")
        for k in range(self.rng.randrange(1, 4)):
            out.append(f"def f_{k}():\n    return {self.rng.random()}\n")
        return "".join(out)

    def add(self, path):
        self.put(path, self.text())
        if path not in self.files:
            self.files.append(path)

    def ask(self, what, *options):
        r = self.home.run("graph", what, "--json", *options, self.path,
                          check=True)
        return r.stdout

    def stats(self, *options):
        return json.loads(self.ask("stats", *options))

    def check(self, what, *options):
        """Asserts that the answers with and without the cache are equal."""
        for question in "symbols", "edges":
            kinds = [] if question == "symbols" else [
                "--kinds", "call,inherits,overrides,reads,imports"]
            with_it = self.ask(question, *options, *kinds)
            assert with_it == self.ask(question, "--no-cache", *kinds), (
                SEED, what, options)

    def settle(self):
        """Waits until all files are old enough to be trusted by their
        stamps."""
        self.stats()
        time.sleep(YOUNG)
        self.stats()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.home.close()


# What may happen

def edit(repo):
    repo.add(repo.rng.choice(repo.files))


def edit_in_place(repo):
    """Rewrites a file in place with the same number of bytes."""
    path = repo.full(repo.rng.choice(repo.files))
    with open(path, "r+") as f:
        text = f.read().replace("def f_0", "def g_0", 1)
        f.seek(0)
        f.write(text)


def come(repo):
    place = repo.rng.choice(["a", "b/x", "new", "empty/inside", "empty"])
    repo.add(f"{place}/z{repo.rng.randrange(9)}.py")


def go(repo):
    if len(repo.files) > 3:
        path = repo.rng.choice(repo.files)
        repo.files.remove(path)
        os.unlink(repo.full(path))


def move(repo):
    path = repo.rng.choice(repo.files)
    to = f"c/moved{repo.rng.randrange(9)}.py"
    os.makedirs(repo.full("c"), exist_ok=True)
    os.rename(repo.full(path), repo.full(to))
    repo.files.remove(path)
    if to not in repo.files:
        repo.files.append(to)


def go_all(repo):
    """Removes a directory, or moves it."""
    top = repo.rng.choice(["a/x", "b/y", "c", "new"])
    if not os.path.isdir(repo.full(top)):
        return
    inside = [p for p in repo.files if p.startswith(top + "/")]
    if len(repo.files) - len(inside) < 3:
        return
    to = f"d{repo.rng.randrange(3)}"
    if repo.rng.randrange(2) or os.path.exists(repo.full(to)):
        shutil.rmtree(repo.full(top))
    else:
        os.rename(repo.full(top), repo.full(to))
        repo.files += [to + p[len(top):] for p in inside]
    repo.files = [p for p in repo.files if p not in inside]


def mark(repo):
    """Marks a directory as a virtual environment, or removes the mark."""
    path = repo.full(repo.rng.choice(["b", "quiet/q3"]) + "/pyvenv.cfg")
    if not os.path.isdir(os.path.dirname(path)):
        return
    if os.path.exists(path):
        os.unlink(path)
    else:
        open(path, "w").close()


def touch(repo):
    os.utime(repo.full(repo.rng.choice(repo.files)))


def link(repo):
    """Replaces a directory by a symbolic link, which is not followed."""
    if not os.path.islink(repo.full("quiet/q5")):
        shutil.rmtree(repo.full("quiet/q5"))
        os.symlink("q4", repo.full("quiet/q5"))


def nothing(repo):
    pass


def each_start_finds_what_one_from_nothing_finds():
    doings = [edit, edit_in_place, come, go, move, go_all, mark, touch, link,
              nothing]
    with Repo(quiet=30) as repo:
        repo.settle()
        for step in range(STEPS):
            for _ in range(repo.rng.randrange(1, 3)):
                doing = repo.rng.choice(doings)
                doing(repo)
            options = ["--rehash"] if repo.rng.randrange(3) == 0 else []
            repo.check(f"step {step}: {doing.__name__}", *options)


def few_changes_are_read_again_and_many_are_kept():
    with Repo(quiet=400) as repo:
        repo.settle()
        assert repo.stats()["parsed"] == 0
        edit(repo)
        # Too small a change to rewrite the cache: the next start parses it
        # again.
        assert [repo.stats()["parsed"] for _ in range(2)] == [1, 1]
        repo.check("one changed")
        for k in range(20):
            repo.put(f"quiet/q1/n{k}.py", "def g():\n    pass\n")
        assert repo.stats()["parsed"] == 21
        assert repo.stats()["parsed"] == 0
        repo.check("many changed", "--rehash")


def what_could_not_be_read_is_looked_at_again():
    with Repo(quiet=400) as repo:
        with open(repo.full("a/big.py"), "w") as f:
            f.truncate((16 << 20) + 1)
        repo.settle()
        assert repo.stats()["too_large"] == 1
        # The directory's time stamp does not change.
        os.truncate(repo.full("a/big.py"), 0)
        assert repo.stats()["too_large"] == 0
        repo.check("smaller")


if __name__ == "__main__":
    print(f"seed {SEED}")
    st.main(each_start_finds_what_one_from_nothing_finds,
            few_changes_are_read_again_and_many_are_kept,
            what_could_not_be_read_is_looked_at_again)

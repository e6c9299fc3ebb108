"""A mounted repository with a tape, for the cases of undo."""

import contextlib
import os
import stat
import subprocess

import st
import taped

TEN = "".join("line %d\n" % k for k in range(1, 11))


class World:
    """A mount of files with a tape."""

    def __init__(self, m, t):
        self.m, self.t, self.home, self.path = m, t, m.home, m.path

    def sh(self, script, *args):
        """A script; the number of the newest entry that it made itself, or
        of the newest that a program it started made."""
        self.t.sync()
        p = subprocess.Popen(["sh", "-c", script, "sh", *args], cwd=self.path)
        assert p.wait() == 0, script
        self.made = [(e["author"].get("pid") == p.pid, e["n"])
                     for e in self.t.sync()]
        return max(self.made)[1] if self.made else 0

    def all(self, script):
        """The same; all of its entries, as a range."""
        self.sh(script)
        numbers = [n for _, n in self.made]
        return "%d..%d" % (min(numbers), max(numbers))

    def run(self, *args, code=0, cwd=None):
        r = self.home.run(*args, cwd=cwd or self.path)
        assert r.returncode == code, (args, r)
        return r

    def undo(self, *args, **kw):
        return self.run("undo", "--yes", *map(str, args), **kw)

    def newest(self):
        return self.t.sync() or self.t.ask("LOG", limit=1)["entries"]


@contextlib.contextmanager
def world(files=None, args=()):
    with st.Home() as home:
        repo = home.mkdir("repo")
        write(repo, {"a": TEN} if files is None else files)
        with st.Mount(repo, home=home, args=args) as m, \
                taped.Tape(home, repo) as t:
            t.settle_in()
            yield World(m, t)


def write(top, files):
    for name, text in files.items():
        os.makedirs(os.path.dirname(top + "/" + name), exist_ok=True)
        with open(top + "/" + name, "w") as f:
            f.write(text)


def tree(top):
    """{path: (mode, content)} of files and links."""
    found = {}
    for d, dirs, names in os.walk(top):
        for name in names + [n for n in dirs if os.path.islink(d + "/" + n)]:
            path = os.path.join(d, name)
            mode = os.lstat(path).st_mode
            if stat.S_ISLNK(mode):
                text = os.readlink(path).encode()
            else:
                with open(path, "rb") as f:
                    text = f.read()
            found[os.path.relpath(path, top)] = (oct(mode), text)
    return found


def text(w, name):
    with open(w.path + "/" + name) as f:
        return f.read()

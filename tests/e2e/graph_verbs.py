#!/usr/bin/env python3
"""The verbs of `statetape graph`: their answers and error messages, and that a
graph updated by `follow` equals one built anew."""

import json
import os
import pty
import random
import select
import shutil
import subprocess

import st

FILES = {
    "shop/__init__.py": "",
    "shop/prices.py": """\
LIMIT = 10


def tax(n):
    return n * 2


def price(n):
    if n > LIMIT:
        return tax(n)
    return n
""",
    "shop/cart.py": """\
from shop.prices import price


class Cart:
    def __init__(self):
        self.items = []

    def total(self):
        return sum(price(i) for i in self.items)


class BigCart(Cart):
    def total(self):
        return super().total() + price(1)


def main():
    cart = BigCart()
    return cart.total()
""",
    "run.py": """\
from shop.cart import main

main()
""",
}


class Repo:
    """A repository with the files above, and a home to ask from."""

    def __init__(self, files=None):
        self.home = st.Home()
        self.path = self.home.mkdir("repo")
        for path, text in (FILES if files is None else files).items():
            self.write(path, text)

    def write(self, path, text):
        full = os.path.join(self.path, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        mode = "wb" if isinstance(text, bytes) else "w"
        with open(full, mode) as f:
            f.write(text)

    def read(self, path):
        with open(os.path.join(self.path, path)) as f:
            return f.read()

    def graph(self, *args, **kw):
        kw.setdefault("cwd", self.path)
        return self.home.run("graph", *args, **kw)

    def lines(self, *args):
        r = self.graph(*args, "--json", check=True)
        return [json.loads(line) for line in r.stdout.splitlines()]

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.home.close()


class Follow:
    """`graph follow`, asked line by line."""

    def __init__(self, repo):
        self.proc = repo.home.start(
            "graph", "follow", "--no-cache", repo.path, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)

    def ask(self, line):
        self.proc.stdin.write(line + "\n")
        self.proc.stdin.flush()
        return json.loads(self.proc.stdout.readline())

    def changed(self, *paths):
        answer = self.ask("\t".join(paths))
        assert isinstance(answer.pop("us"), int), answer
        return answer

    def dump(self, what):
        self.proc.stdin.write("!%s\n" % what)
        self.proc.stdin.flush()
        found = []
        while True:
            line = self.proc.stdout.readline()
            assert line, self.proc.stderr.read()
            if line == "\n":
                return found
            found.append(json.loads(line))

    def close(self):
        self.proc.stdin.close()
        assert self.proc.wait(st.DEADLINE) == 0
        self.proc.stdout.close()
        self.proc.stderr.close()

    def __enter__(self):
        return self

    def __exit__(self, kind, *exc):
        if kind:
            self.proc.kill()
        else:
            self.close()


NOTHING = {"X": [], "dX": [], "added": [], "extended": {"X": [], "R": []}}


def refused(repo, code, words, *args, **kw):
    r = repo.graph(*args, **kw)
    assert r.returncode == code, (args, r.returncode, r.stdout, r.stderr)
    assert words in r.stderr, (args, r.stderr)
    assert r.stdout == "", (args, r.stdout)
    return r


# -- what the graph holds ----------------------------------------------------

def symbols_are_listed_by_name():
    with Repo() as repo:
        found = repo.lines("symbols")
        names = [s["name"] for s in found]
        assert names == sorted(names)
        assert names == [
            "shop.cart.BigCart", "shop.cart.BigCart.total", "shop.cart.Cart",
            "shop.cart.Cart.__init__", "shop.cart.Cart.total",
            "shop.cart.main", "shop.prices.price", "shop.prices.tax"], names
        total = found[names.index("shop.cart.Cart.total")]
        assert len(total.pop("hash")) == 32
        assert total == {
            "name": "shop.cart.Cart.total", "kind": "method",
            "file": "shop/cart.py", "start_line": 8, "end_line": 9}, total
        kinds = {s["name"]: s["kind"] for s in found}
        assert kinds["shop.cart.Cart"] == "class"
        assert kinds["shop.prices.tax"] == "function"


def modules_and_variables_come_when_asked_for():
    with Repo() as repo:
        kinds = {s["name"]: s["kind"]
                 for s in repo.lines("symbols", "--extended")}
        assert kinds["shop.prices.LIMIT"] == "variable", kinds
        assert kinds["shop.cart"] == "module", kinds
        assert kinds["run"] == "module", kinds


def edges_are_listed_by_caller_callee_and_line():
    with Repo() as repo:
        found = repo.lines("edges")
        rows = [(e["caller"], e["callee"], e["line"]) for e in found]
        assert rows == sorted(set(rows)), rows
        assert all(set(e) == {"caller", "callee", "line", "kind"}
                   for e in found)
        assert {e["kind"] for e in found} == {"call"}, found
        for row in [("run", "shop.cart.main", 3),
                    ("shop.cart.BigCart.total", "shop.cart.Cart.total", 14),
                    ("shop.cart.BigCart.total", "shop.prices.price", 14),
                    ("shop.cart.main", "shop.cart.BigCart", 18),
                    ("shop.cart.main", "shop.cart.BigCart.total", 19),
                    ("shop.prices.price", "shop.prices.tax", 10)]:
            assert row in rows, (row, rows)


def edges_of_other_kinds_say_their_kind():
    with Repo() as repo:
        found = repo.lines("edges", "--kinds", "inherits,overrides,reads")
        rows = {(e["kind"], e["caller"], e["callee"]) for e in found}
        assert rows == {
            ("inherits", "shop.cart.BigCart", "shop.cart.Cart"),
            ("overrides", "shop.cart.BigCart.total", "shop.cart.Cart.total"),
            ("reads", "shop.prices.price", "shop.prices.LIMIT")}, rows
        assert {e["kind"] for e in repo.lines("edges", "-k", "call")} == {
            "call"}


def imports_are_told_with_their_lines_however_many():
    many = "".join(f"import m{i}\n" for i in range(100))
    files = {f"m{i}.py": "" for i in range(100)}
    files["user.py"] = "import os\n" + many + (
        "def late():\n    from pkg import (one,\n        two)\n")
    files["pkg/__init__.py"] = "two = 2\n"
    files["pkg/one.py"] = ""
    with Repo(files) as repo:
        found = {(e["callee"], e["line"])
                 for e in repo.lines("edges", "--kinds", "imports")
                 if e["caller"] == "user"}
        assert found == {(f"m{i}", i + 2) for i in range(100)} | {
            ("pkg", 103), ("pkg.one", 103)}, found


def a_module_ends_with_its_last_line():
    ends = {"a.py": 1, "b.py": 1, "c.py": 2, "d.py": 2}
    with Repo({"a.py": "", "b.py": "x = 1\n", "c.py": "x = 1\n\n",
               "d.py": "x = 1\ny = 2"}) as repo:
        for s in repo.lines("symbols", "--extended"):
            if s["kind"] == "module":
                assert s["end_line"] == ends[s["file"]], s


def a_line_leads_to_its_symbol():
    with Repo() as repo:
        def at(place, *rest, **kw):
            r = repo.graph("at", "--json", place, *rest, check=True, **kw)
            return json.loads(r.stdout)["name"]
        assert at("shop/cart.py:9") == "shop.cart.Cart.total"
        assert at("shop/cart.py:4") == "shop.cart.Cart"
        assert at("shop/prices.py:1") == "shop.prices.LIMIT"
        assert at("shop/cart.py:1") == "shop.cart"
        # A path from the current directory, and one from the repository's
        # root.
        assert at("cart.py:9", "..",
                  cwd=repo.path + "/shop") == "shop.cart.Cart.total"
        assert at("shop/cart.py:9", repo.path,
                  cwd="/") == "shop.cart.Cart.total"
        assert at(repo.path + "/shop/cart.py:9", repo.path,
                  cwd="/") == "shop.cart.Cart.total"
        refused(repo, 1, "is not a file of the graph", "at", "nope.py:1")
        refused(repo, 1, "'run.py' has 3 lines", "at", "run.py:4")
        repo.write("twice.py", "def f(): pass\n\n\ndef f(): pass\n# end\n\n")
        assert at("twice.py:4") == "twice.f"
        assert at("twice.py:6") == "twice"
        refused(repo, 1, "'twice.py' has 6 lines", "at", "twice.py:7")


def statistics_are_counted():
    with Repo() as repo:
        n, = repo.lines("stats")
        assert n["files"] == 4 and n["parsed"] == 4, n
        assert n["symbols"]["method"] == 3, n
        assert n["edges"]["inherits"] == 1, n
        assert n["resident"] > 0 and n["seconds"] > 0, n
        assert "files" in repo.graph("stats", check=True).stdout


# -- neighbourhoods ----------------------------------------------------------

def callers_are_shown_with_their_lines():
    with Repo() as repo:
        found = repo.lines("callers", "price")
        assert [f["name"] for f in found] == [
            "shop.cart.BigCart.total", "shop.cart.Cart.total"], found
        assert found[0]["path"] == [{
            "name": "shop.cart.BigCart.total", "relation": "caller",
            "kind": "call",
            "file": "shop/cart.py", "lines": [14]}], found
        text = repo.graph("callers", "price", check=True).stdout
        assert "shop.cart.Cart.total  shop/cart.py:9\n" in text, text
        assert "\033" not in text


def depth_leads_further_and_tells_the_way():
    with Repo() as repo:
        found = {f["name"]: f for f in repo.lines(
            "callers", "--depth", "9", "shop.prices.tax")}
        assert found["run"]["depth"] == 4, found
        assert [s["name"] for s in found["run"]["path"]] == [
            "shop.prices.price", "shop.cart.BigCart.total", "shop.cart.main",
            "run"], found
        callees = [f["name"] for f in repo.lines("callees", "-d2", "main")]
        assert "shop.prices.price" in callees, callees


def impact_names_all_who_depend_on_it():
    with Repo() as repo:
        found = {f["name"]: f["path"][-1]["relation"]
                 for f in repo.lines("impact", "Cart.__init__")}
        assert found == {"shop.cart.main": "caller", "run": "caller"}, found
        found = {f["name"]: f["path"][-1]["relation"]
                 for f in repo.lines("impact", "-d", "1",
                                     "shop.cart.Cart.total")}
        assert found == {"shop.cart.BigCart.total": "caller"}, found
        found = {f["name"]: f["path"][-1]["relation"]
                 for f in repo.lines("impact", "LIMIT")}
        assert found["shop.prices.price"] == "reader", found
        found = {f["name"]: f["path"][-1]["relation"]
                 for f in repo.lines("impact", "-d1", "shop.cart.Cart")}
        assert found["shop.cart.BigCart"] == "subclass", found
        assert "caller" in repo.graph("impact", "tax", check=True).stdout


FIELDS = {"f.py": """\
class Field:
    def prepare(self):
        pass

    @property
    def name(self):
        return ""


class Char(Field):
    def prepare(self):
        super().prepare()


def save(field: Field):
    field.prepare()
    return field.name


def kinds():
    return [Char]
"""}


def callers_through_a_base_name_the_method():
    with Repo(FIELDS) as repo:
        found = repo.lines("callers", "Char.prepare")
        assert [(f["name"], f["path"][0]["via"]) for f in found] == [
            ("f.save", "f.Field.prepare")], found
        assert found[0]["path"][0]["lines"] == [16], found
        text = repo.graph("callers", "Char.prepare", check=True).stdout
        assert "f.save  f.py:16  via f.Field.prepare\n" in text, text
        found = repo.lines("callees", "f.save")
        assert [(f["name"], f["path"][0].get("via"), f["path"][0]["kind"])
                for f in found] == [
            ("f.Char.prepare", "f.Field.prepare", "call"),
            ("f.Field.name", None, "implicit"),
            ("f.Field.prepare", None, "call")], found
        text = repo.graph("callees", "Char.prepare", check=True).stdout
        assert "via" not in text, text


def implicit_calls_and_uses_are_told_as_such():
    with Repo(FIELDS) as repo:
        text = repo.graph("callers", "Field.name", check=True).stdout
        assert "f.save  f.py:17  implicit\n" in text, text
        text = repo.graph("edges", check=True).stdout
        assert "f.save -> f.Field.name  f.py:17  implicit\n" in text, text
        found = {f["name"]: f["path"][-1]["relation"]
                 for f in repo.lines("impact", "Char")}
        assert found == {"f.kinds": "user"}, found
        rows = [(e["caller"], e["callee"])
                for e in repo.lines("edges", "--kinds", "uses")]
        assert rows == [("f.kinds", "f.Char"), ("f.save", "f.Field")], rows


def a_drawing_holds_the_neighbourhood():
    with Repo() as repo:
        text = repo.graph("callees", "--dot", "-d2", "main",
                          check=True).stdout
        assert text.startswith("strict digraph"), text
        assert text.count("{") == text.count("}") == 1
        assert '"shop.cart.main" -> "shop.cart.BigCart.total"' in text, text
        assert '"shop.cart.BigCart.total" -> "shop.prices.price"' in text


def the_end_of_a_name_will_do_if_it_is_the_only_one():
    with Repo() as repo:
        assert repo.graph("callers", "Cart.__init__").returncode == 0
        r = refused(repo, 1, "is ambiguous", "callers", "total")
        assert "shop.cart.BigCart.total" in r.stderr
        assert "shop.cart.Cart.total" in r.stderr
        # Only whole dotted parts of a name match.
        refused(repo, 1, "there is no symbol 'otal'", "callers", "otal")


# -- change ------------------------------------------------------------------

def two_trees_are_compared():
    with Repo() as repo:
        after = repo.home.top + "/after"
        shutil.copytree(repo.path, after)
        with open(after + "/shop/prices.py", "w") as f:
            f.write(FILES["shop/prices.py"].replace("LIMIT = 10",
                                                    "LIMIT = 11")
                    .replace("n * 2", "n * 3") + "\n\ndef new():\n    pass\n")
        os.unlink(after + "/run.py")
        r = repo.graph("diff", "--json", repo.path, after, check=True)
        assert r.stdout.count("\n") == 1
        assert json.loads(r.stdout) == {
            "X": ["shop.prices.tax"], "dX": [],
            "added": ["shop.prices.new"],
            "extended": {"X": ["run", "shop.prices.LIMIT"],
                         "R": ["shop.prices.price"]}}, r.stdout
        assert "shop.prices.tax" in repo.graph("diff", repo.path, after,
                                               check=True).stdout
        r = repo.graph("diff", "--json", after, after, check=True)
        assert json.loads(r.stdout) == NOTHING
        assert "No symbol differs" in repo.graph(
            "diff", after, after, check=True).stdout
        # `diff` writes no cache.
        assert repo.home.state_dirs() == []


def follow_tells_what_each_change_did():
    with Repo() as repo, Follow(repo) as f:
        assert f.changed("shop/prices.py") == NOTHING
        repo.write("shop/prices.py", FILES["shop/prices.py"].replace(
            "n * 2", "n * 3"))
        assert f.changed("shop/prices.py") == dict(
            NOTHING, X=["shop.prices.tax"])
        # The import gives a name another meaning; no symbol's text changes.
        repo.write("shop/cart.py", FILES["shop/cart.py"].replace(
            "import price", "import tax as price"))
        answer = f.changed("./shop/cart.py")
        assert answer["X"] == [], answer
        assert answer["dX"] == [
            "shop.cart.BigCart.total", "shop.cart.Cart.total",
            "shop.prices.price", "shop.prices.tax"], answer
        assert answer["extended"]["X"] == ["shop.cart"], answer
        # Removed and restored; two paths in one line.
        os.unlink(repo.path + "/shop/cart.py")
        answer = f.changed("shop/cart.py", "run.py")
        assert "shop.cart.Cart" in answer["X"], answer
        repo.write("shop/cart.py", FILES["shop/cart.py"])
        answer = f.changed("shop/cart.py")
        assert "shop.cart.Cart" in answer["added"], answer
        shutil.rmtree(repo.path + "/shop")
        answer = f.changed("shop")
        assert "shop.prices.tax" in answer["X"], answer
        assert f.dump("symbols") == []


def follow_takes_directories_as_people_write_them():
    with Repo() as repo, Follow(repo) as f:
        assert f.changed() == NOTHING
        for name in "shop", "shop/", "./shop//", ".", "./", "./.":
            repo.write("shop/more.py", "def one():\n    pass\n")
            assert f.changed(name)["added"], name
            os.unlink(f"{repo.path}/shop/more.py")
            assert f.changed(name)["X"], name
        assert "error" in f.ask("/")
        assert "error" in f.ask("./..")


def follow_answers_what_it_does_not_understand():
    with Repo() as repo, Follow(repo) as f:
        assert "error" in f.ask("!nonsense")
        assert "error" in f.ask("../outside.py")
        assert "error" in f.ask("/etc/passwd")
        assert "NUL" in f.ask("run.py\0x")["error"]
        assert len(f.ask("x//" * 9000)["error"]) < 1000
        assert f.changed("x/" * 9000) == NOTHING
        assert f.changed("x/" * 9000 + "x.py") == NOTHING
        assert f.changed() == NOTHING
        assert f.changed("no/such/file.py") == NOTHING
        assert [s["name"] for s in f.dump("symbols")] == [
            s["name"] for s in repo.lines("symbols")]


def a_followed_graph_is_the_one_that_would_be_built():
    """Random edits from a seed, some with syntax errors; after each, the
    followed graph is compared with a new build."""
    seed = int(os.environ.get("ST_SEED", random.randrange(1 << 30)))
    print("seed", seed)
    rng = random.Random(seed)
    with Repo() as repo, Follow(repo) as f:
        for _ in range(30):
            path = rng.choice(sorted(FILES))
            full = os.path.join(repo.path, path)
            what = rng.randrange(4)
            if what == 0 and os.path.exists(full):
                os.unlink(full)
            elif what == 1:
                repo.write(path, FILES[path])
            else:
                lines = (repo.read(path) if os.path.exists(full)
                         else FILES[path]).splitlines(True)
                if lines:
                    i = rng.randrange(len(lines))
                    lines[i:i + 1] = rng.choice(
                        [[], [lines[i]] * 2, ["def tax(n: int):\n"],
                         ["    pass\n"], ["x = (\n"], ["# remark\n"]])
                repo.write(path, "".join(lines))
            f.changed(path)
            for what in "symbols", "edges":
                built = repo.lines(what, "--no-cache")
                assert f.dump(what) == built, (seed, path, what)


# -- what is kept ------------------------------------------------------------

def the_second_time_nothing_is_parsed():
    with Repo() as repo:
        first = repo.graph("symbols", "--json", check=True).stdout
        for option in (), ("--rehash",):
            n, = repo.lines("stats", *option)
            assert n["parsed"] == 0 and n["cached"] == 4, n
        assert repo.graph("symbols", "--json").stdout == first
        repo.write("run.py", "def other():\n    pass\n")
        n, = repo.lines("stats")
        assert n["parsed"] == 1 and n["cached"] == 3, n
        state, = repo.home.state_dirs()
        assert os.stat(state + "/graph.cache").st_mode & 0o777 == 0o600
        # Nothing is written into the repository.
        assert sorted(os.listdir(repo.path)) == ["run.py", "shop"]


def without_the_cache_nothing_is_kept():
    with Repo() as repo:
        for _ in range(2):
            n, = repo.lines("stats", "--no-cache")
            assert n["parsed"] == 4, n
        assert repo.home.state_dirs() == []


def a_repository_asked_about_was_not_mounted():
    with Repo() as repo:
        repo.graph("stats", check=True)
        r = repo.home.run("journal", cwd=repo.path)
        assert r.stdout == "Nothing recorded here yet: statetape run -- " \
            "AGENT\n", r


def a_place_for_state_inside_the_repository_is_not_used():
    with Repo() as repo:
        repo.home.env["XDG_STATE_HOME"] = repo.path + "/state"
        r = repo.graph("stats", check=True)
        assert "parsed files are not cached" in r.stderr, r.stderr
        assert not os.path.exists(repo.path + "/state")


# -- bad input ---------------------------------------------------------------

def wrong_command_lines_are_refused():
    with Repo() as repo:
        refused(repo, 2, "needs a second word")
        refused(repo, 2, "did you mean 'graph symbols'", "symbls")
        refused(repo, 2, "there is no verb 'graph frobnicate'", "frobnicate")
        refused(repo, 2, "wants a SYMBOL", "callers")
        refused(repo, 2, "wants an AFTER", "diff", ".")
        refused(repo, 2, "one argument too many", "symbols", ".", ".")
        refused(repo, 2, "is not a kind of edge", "edges", "--kinds", "calls")
        refused(repo, 2, "is not a kind of edge", "edges", "--kinds", "call,")
        refused(repo, 2, "whole number", "callers", "--depth", "two", "main")
        refused(repo, 2, "at most", "callers", "--depth", "5000", "main")
        refused(repo, 2, "cannot be combined", "callers", "--dot", "--json", "main")
        refused(repo, 2, "is not FILE:LINE", "at", "run.py")
        refused(repo, 2, "is not FILE:LINE", "at", "run.py:0")
        refused(repo, 2, "is not FILE:LINE", "at", "run.py:1x")
        refused(repo, 2, "is an option of", "symbols", "--depth", "1")
        refused(repo, 1, "cannot be found", "symbols", "nowhere")
        refused(repo, 1, "is not a directory", "symbols", "run.py")
        refused(repo, 1, "is not a directory", "diff", ".", "run.py")
        refused(repo, 1, "there is no symbol", "impact", "nobody")
        for words in ["--help"], ["symbols", "--help"]:
            assert "Usage: statetape graph" in repo.graph(
                *words, check=True).stdout
        r = repo.home.run("help", "graph", "follow", check=True)
        assert "Usage: statetape graph follow" in r.stdout


def what_is_no_program_is_counted_and_the_rest_is_done():
    files = dict(FILES)
    files["bytes.py"] = b"def latin():\n    return '\xe9\xff'\n"
    files["zeros.py"] = b"\0" * 100
    files["broken.py"] = "def whole():\n    pass\n\n\nclass (:\n"
    with Repo(files) as repo:
        with open(repo.path + "/huge.py", "w") as f:
            f.truncate((16 << 20) + 1)
        r = repo.graph("symbols", "--json", check=True)
        names = [json.loads(line)["name"] for line in r.stdout.splitlines()]
        for name in "bytes.latin", "broken.whole", "shop.cart.main":
            assert name in names, names
        assert r.stderr.count("\n") == 1, r.stderr
        assert "1 file over 16 MiB was left out" in r.stderr, r.stderr
        assert "(broken.py, zeros.py)" in r.stderr, r.stderr


def files_with_errors_or_beyond_limits_are_named():
    """The first three by name, and how many; and what limits cut."""
    files = {"e%d.py" % n: "def f(:\n" for n in (5, 3, 1, 4, 2)}
    files["deep.py"] = "x = " + "-" * 1100 + "1\n"
    files["vast.py"] = "0\n" * (1 << 20)
    with Repo(files) as repo:
        r = repo.graph("stats", check=True)
        for words in ("5 files have syntax errors (e1.py, e2.py, e3.py, ...)",
                      "1 file of a million tokens or more was not parsed "
                      "(vast.py)",
                      "1 file was read only to a depth of 1,000 (deep.py)"):
            assert words in r.stderr, r.stderr


def unreadable_files_are_counted():
    if st.is_root():
        prefix = st.as_user()
    else:
        prefix = []
    with Repo() as repo:
        os.chmod(repo.path + "/run.py", 0)
        env = dict(repo.home.env, XDG_STATE_HOME=repo.home.top + "/none")
        binary = shutil.copy(st.STATETAPE, repo.home.top + "/statetape")
        r = subprocess.run(prefix + [binary, "graph", "symbols", "--json",
                                     "--no-cache", repo.path],
                           env=env, capture_output=True, text=True)
        assert r.returncode == 0, r.stderr
        assert "1 file could not be read" in r.stderr, r.stderr
        assert "shop.cart.main" in r.stdout


def a_directory_without_python_is_said_to_be_one():
    with Repo({"notes.txt": "hello\n"}) as repo:
        r = repo.graph("symbols")
        assert r.returncode == 0 and r.stdout == "", r
        assert "has no Python files" in r.stderr, r.stderr


def names_that_a_terminal_would_obey_are_shown_safely():
    with Repo({"a\033[31mb.py": "def f():\n    pass\n"}) as repo:
        assert "\033" not in repo.graph("symbols", check=True).stdout
        found, = repo.lines("symbols")
        assert found["file"] == "a\033[31mb.py", found


def a_terminal_gets_colours_and_a_pipe_does_not():
    with Repo() as repo:
        pid, fd = pty.fork()
        if pid == 0:
            os.environ.update(repo.home.env, TERM="xterm")
            os.environ.pop("NO_COLOR", None)
            argv = repo.home.argv("graph", "symbols", repo.path)
            os.execv(argv[0], argv)
        text = b""
        while select.select([fd], [], [], st.DEADLINE)[0]:
            try:
                more = os.read(fd, 4096)
            except OSError:
                break
            if not more:
                break
            text += more
        os.close(fd)
        assert os.waitpid(pid, 0)[1] == 0
        assert b"\033[36mmethod" in text, text
        # It took less than half a second: no progress bar.
        assert b"[#" not in text, text


st.main(symbols_are_listed_by_name,
        modules_and_variables_come_when_asked_for,
        edges_are_listed_by_caller_callee_and_line,
        edges_of_other_kinds_say_their_kind,
        imports_are_told_with_their_lines_however_many,
        a_module_ends_with_its_last_line,
        a_line_leads_to_its_symbol,
        statistics_are_counted,
        callers_are_shown_with_their_lines,
        depth_leads_further_and_tells_the_way,
        impact_names_all_who_depend_on_it,
        callers_through_a_base_name_the_method,
        implicit_calls_and_uses_are_told_as_such,
        a_drawing_holds_the_neighbourhood,
        the_end_of_a_name_will_do_if_it_is_the_only_one,
        two_trees_are_compared,
        follow_tells_what_each_change_did,
        follow_takes_directories_as_people_write_them,
        follow_answers_what_it_does_not_understand,
        a_followed_graph_is_the_one_that_would_be_built,
        the_second_time_nothing_is_parsed,
        without_the_cache_nothing_is_kept,
        a_repository_asked_about_was_not_mounted,
        a_place_for_state_inside_the_repository_is_not_used,
        wrong_command_lines_are_refused,
        what_is_no_program_is_counted_and_the_rest_is_done,
        files_with_errors_or_beyond_limits_are_named,
        unreadable_files_are_counted,
        a_directory_without_python_is_said_to_be_one,
        names_that_a_terminal_would_obey_are_shown_safely,
        a_terminal_gets_colours_and_a_pipe_does_not)

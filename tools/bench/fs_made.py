"""
What tools/bench/fs makes to measure on: always the same, without the network.
`run` runs a command.
"""

import random

WORDS = """value result node index request path state count name field query
model handler cursor buffer""".split()


def invented_module(rng, i):
    out = [f'"""Module {i}."""\n\nimport os\n\n']
    for f in range(max(1, int(rng.lognormvariate(2.2, 1.0)))):
        arg = rng.choice(WORDS)
        out.append(f"\ndef {rng.choice(WORDS)}_{f}({arg}, other=None):\n"
                   f"    # {' '.join(rng.choices(WORDS, k=12))}\n")
        out += [f"    {rng.choice(WORDS)} = {arg} and {rng.random()}\n"
                for _ in range(rng.randrange(3, 12))]
        out.append(f"    return {arg}\n")
    return "".join(out)


def repository(run, top, files):
    """A repository of about `files` files and two far-apart commits."""
    rng = random.Random(1)

    def place(i):
        return top / "pkg" / f"part_{i % 60:02}" / f"module_{i:04}.py"

    def put(i):
        path = place(i)
        if not path.parent.exists():
            path.parent.mkdir(parents=True)
            (path.parent / "__init__.py").touch()
        path.write_text(invented_module(rng, i))

    def commit(message):
        run(*git, "add", "-A")
        run(*git, "commit", "-qm", message)

    (top / "pkg").mkdir(parents=True)
    (top / "pkg/__init__.py").touch()
    (top / ".gitignore").write_text("__pycache__/\n")
    git = ["git", "-C", top]
    run(*git, "init", "-q", "-b", "main")
    for i in range(files):
        put(i)
    commit("before")
    for i in range(files):
        dice = rng.random()
        if dice < 0.08:
            place(i).unlink()
        elif dice < 0.45:
            put(i)
    for i in range(files, files + files // 12):
        put(i)
    commit("after")
    run(*git, "gc", "-q")


UNIT = """import unittest

from . import support


class Case{n}(unittest.TestCase):
    def test_sum(self):
        self.assertEqual(support.add({n}, 1), {n} + 1)

    def test_text(self):
        self.assertIn("{n}", support.text({n}))
"""
SUPPORT = """def add(a, b):
    return a + b


def text(n):
    return f"<{n}>"
"""


def units(top, count):
    """Small modules with unit tests, in packages, for `unittest discover`."""
    for n in range(count):
        package = top / f"units_{n // 30:02}"
        if n % 30 == 0:
            package.mkdir(parents=True)
            (package / "__init__.py").touch()
            (package / "support.py").write_text(SUPPORT)
        (package / f"test_{n:03}.py").write_text(UNIT.format(n=n))


HEADERS = 40
MAKEFILE = """CFLAGS = -O1 -Iinclude -Isrc -MMD
objects = $(patsubst %.c,%.o,$(wildcard src/*.c))

program: $(objects)
\t$(CC) -o $@ $^

clean:
\trm -f program $(objects) $(objects:.o=.d)

-include $(objects:.o=.d)
"""


def c_source(rng, n):
    out = ["#include <stdio.h>", "#include <stdlib.h>", "#include <string.h>"]
    out += [f'#include "part{h}.h"' for h in rng.sample(range(HEADERS), 8)]
    for f in range(12):
        out += [f"int f{n}_{f}(int a, const char *s)", "{",
                "\tint n = a + (int)strlen(s);", "",
                f"\tfor (int i = 0; i < {rng.randrange(3, 99)}; i++)",
                "\t\tn += printf(\"%d %s\\n\", i, s) * abs(n - i);",
                "\treturn n;", "}"]
    if n == 0:
        out += ["int main(void)", "{", '\treturn f0_0(0, "") > 1;', "}"]
    return "\n".join(out) + "\n"


def c_project(top, sources):
    """Sources, headers and a Makefile."""
    rng = random.Random(2)
    (top / "src").mkdir(parents=True)
    (top / "include").mkdir()
    (top / "Makefile").write_text(MAKEFILE)
    for n in range(HEADERS):
        (top / "include" / f"part{n}.h").write_text(
            f"#pragma once\n#include <stddef.h>\nstruct part{n} {{\n"
            + "".join(f"\tint member_{k};\n" for k in range(30)) + "};\n")
    for n in range(sources):
        (top / "src" / f"source{n}.c").write_text(c_source(rng, n))

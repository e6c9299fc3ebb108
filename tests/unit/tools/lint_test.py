#!/usr/bin/env python3
"""The checks in tools/lint complain about what they are for. Each test copies
the scripts into a small tree of its own, because they examine the checkout
that they lie in."""

import json
import os
import shutil
import stat
import subprocess
import tempfile
import unittest

LINT = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                    "../../../tools/lint")

# Stands for clang-tidy: notes the file it is given, which is its last
# argument, and finds fault with a file that has the word BAD in it.
TIDY = """#!/bin/sh
[ "$1" != --version ] || exit 0
for last; do :; done
echo "$last" >>"$EXAMINED"
! grep BAD "$last"
"""


class Tree(unittest.TestCase):
    def setUp(self):
        self.top = os.path.realpath(tempfile.mkdtemp(prefix="st.lint."))
        self.addCleanup(shutil.rmtree, self.top)
        os.makedirs(self.top + "/tools/lint")
        for name in ("files", "includes", "maps", "names", "shell", "tidy"):
            shutil.copy(os.path.join(LINT, name), self.top + "/tools/lint")

    def write(self, path, text):
        path = os.path.join(self.top, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(text)
        return path

    def lint(self, name, *args, env=None):
        r = subprocess.run([self.top + "/tools/lint/" + name, *args],
                           env=env, text=True, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE)
        self.assertEqual(r.stderr, "")
        return r.returncode, r.stdout

    def assert_clean(self, name, *args, **kw):
        self.assertEqual(self.lint(name, *args, **kw), (0, ""))

    def assert_complains(self, name, *complaints):
        code, text = self.lint(name)
        self.assertEqual(code, 1)
        self.assertEqual(sorted(text.splitlines()), sorted(complaints))


class Shell(Tree):
    def test_a_script_that_cannot_be_executed(self):
        self.write("tests/case.py", "#!/usr/bin/env python3\n")
        self.write("tests/text", "text\n#!/bin/sh\n")
        self.assert_complains("shell", "tests/case.py: begins with #! and "
                              "cannot be executed")


class Includes(Tree):
    def setUp(self):
        super().setUp()
        self.write("graph/base/buf.h", "")
        self.write("tape/journal/journal.h", "")
        self.write("tape/journal/journal.c",
                   '#include "tape/journal/journal.h"\n\n#include <stdio.h>\n'
                   '\n#include "graph/base/buf.h"\n')

    def test_a_room_may_include_those_below_it(self):
        self.assert_clean("includes")

    def test_a_room_may_not_include_those_above_it(self):
        self.write("graph/base/buf.c", '#include "graph/base/buf.h"\n\n'
                   '#include "tape/journal/journal.h"\n')
        self.assert_complains(
            "includes", 'graph/base/buf.c:3: graph/base/ may not include '
            '"tape/journal/journal.h"')

    def test_the_order_inside_a_file_is_kept(self):
        self.write("graph/base/buf.c", "#include <stdio.h>\n"
                   '#include "graph/base/buf.h"\n#include <string.h>\n')
        self.assert_complains(
            "includes", 'graph/base/buf.c:1: "graph/base/buf.h" comes first',
            "graph/base/buf.c:3: <string.h> comes before our own headers")

    def test_a_header_is_named_from_the_root(self):
        self.write("graph/base/buf.c", '#include "graph/base/buf.h"\n'
                   '#include "array.h"\n')
        self.assert_complains(
            "includes", 'graph/base/buf.c:2: "array.h" is not a path from '
            'the root')


class Names(Tree):
    def setUp(self):
        super().setUp()
        self.write("graph/diff.h", "struct diff {\n\tint n;\n};\n"
                   "int diff_init(struct diff *d);\n")

    def test_one_name_for_one_thing_is_fine(self):
        self.write("tape/ranges.c", "struct ranges {\n\tint n;\n};\n"
                   "static int work(void)\n{\n\treturn 0;\n}\n")
        self.assert_clean("names")

    def test_a_tag_is_defined_once(self):
        self.write("tape/ranges.c", "\nstruct diff {\n\tint m;\n};\n")
        self.assert_complains(
            "names", "tape/ranges.c:2: `diff` is also defined in "
            "graph/diff.h:1")

    def test_tests_may_use_a_tag_again(self):
        self.write("tests/unit/graph/diff_test.c", "struct diff {\n};\n")
        self.assert_clean("names")

    def test_a_public_function_has_a_prefix(self):
        self.write("graph/walk.h", "struct walk;\n\nint walk(void);\n"
                   "void eval(struct walk *w);\n")
        self.assert_complains("names",
                              "graph/walk.h:4: `eval` has no prefix")


class Maps(Tree):
    def setUp(self):
        super().setUp()
        for room in ("fs", "graph", "tape", "manager", "tests", "tools"):
            self.write(room + "/a.c", "static int one(void)\n{\n}\n"
                       "void two(\n\tint n)\n{\n}\n"
                       "struct s *three(void)\n{\n}\n")
            self.write(room + "/README.md", "1. `%s/a.c: one`\n"
                       "2. `%s/a.c: two`\n3. `%s/a.c: three`\n" %
                       (room, room, room))

    def add(self, path, text):
        with open(os.path.join(self.top, path), "a") as f:
            f.write(text)

    def test_true_maps_are_fine(self):
        self.assert_clean("maps")

    def test_every_room_has_a_map(self):
        os.unlink(self.top + "/tape/README.md")
        self.assert_complains("maps", "tape/README.md: missing")

    def test_a_map_names_what_exists(self):
        self.add("fs/README.md", "`fs/a.c: four`, `fs/b.c: one`, `fs/ops/`\n")
        self.assert_complains(
            "maps", "fs/README.md: fs/a.c has no four()",
            "fs/README.md: there is no fs/b.c",
            "fs/README.md: there is no fs/ops/")

    def test_a_step_may_be_broken_over_two_lines(self):
        self.add("fs/README.md", "`fs/a.c:\n   four`\n")
        self.assert_complains("maps", "fs/README.md: fs/a.c has no four()")

    def test_a_call_is_not_a_definition(self):
        self.add("fs/a.c", "int f(void)\n{\n\tfour();\n}\n")
        self.add("fs/README.md", "`fs/a.c: four`\n")
        self.assert_complains("maps", "fs/README.md: fs/a.c has no four()")

    def test_no_comment_refers_to_an_absent_document(self):
        # Put together, because this file is checked too.
        self.add("fs/a.c", "/* See spec" ", section 3. */\n")
        self.assert_complains(
            "maps", "fs/a.c:11: refers to a document that the repository "
            "does not have: /* See spec" ", section 3. */")


class Tidy(Tree):
    def setUp(self):
        super().setUp()
        self.seen = self.top + "/examined"
        for name, text in (("clang-tidy", TIDY), ("dpkg-query", "#!/bin/sh\n")):
            os.chmod(self.write("bin/" + name, text), stat.S_IRWXU)
        self.env = dict(os.environ, EXAMINED=self.seen,
                        PATH=self.top + "/bin:" + os.environ["PATH"])
        self.write(".clang-tidy", "Checks: '*'\n")
        self.write("tests/.clang-tidy", "Checks: '*'\n")
        self.write("fs/a.c", '#include "fs/a.h"\n')
        self.write("fs/a.h", '#include "fs/b.h"\n')
        self.write("fs/b.h", "")
        self.write("fs/c.c", "")
        self.compile("-O2")

    def compile(self, option):
        self.write("build/dev/compile_commands.json", json.dumps([
            {"directory": self.top, "file": self.top + "/" + path,
             "command": "cc %s -c %s/%s" % (option, self.top, path)}
            for path in ("fs/a.c", "fs/c.c")]))

    def examined(self, *files, code=0):
        """The files that a run examined; the run ends with `code`."""
        with open(self.seen, "w"):
            pass
        self.assertEqual(self.lint("tidy", "build/dev", *files,
                                   env=self.env)[0], code)
        with open(self.seen) as f:
            return sorted(f.read().split())

    def test_a_clean_file_is_not_examined_again(self):
        self.assertEqual(self.examined(), ["fs/a.c", "fs/c.c"])
        self.assertEqual(self.examined(), [])

    def test_a_changed_file_is_examined_again(self):
        self.examined()
        self.write("fs/c.c", "int x;\n")
        self.assertEqual(self.examined(), ["fs/c.c"])

    def test_a_changed_header_is_seen_through_another(self):
        self.examined()
        self.write("fs/b.h", "int x;\n")
        self.assertEqual(self.examined(), ["fs/a.c"])

    def test_other_rules_or_options_are_a_new_examination(self):
        self.examined()
        self.write(".clang-tidy", "Checks: '-*'\n")
        self.assertEqual(self.examined(), ["fs/a.c", "fs/c.c"])
        self.compile("-O0")
        self.assertEqual(self.examined(), ["fs/a.c", "fs/c.c"])

    def test_a_finding_is_reported_until_it_is_mended(self):
        self.write("fs/c.c", "BAD\n")
        self.assertEqual(self.examined(code=1), ["fs/a.c", "fs/c.c"])
        self.assertEqual(self.examined(code=1), ["fs/c.c"])
        self.write("fs/c.c", "")
        self.assertEqual(self.examined(), ["fs/c.c"])

    def test_only_the_files_named_are_examined(self):
        self.assertEqual(self.examined("fs/c.c"), ["fs/c.c"])
        self.assertEqual(self.examined(), ["fs/a.c"])


if __name__ == "__main__":
    unittest.main()

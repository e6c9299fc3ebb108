#!/usr/bin/env python3
"""Nothing stale is sent unflagged, over real mounts, processes and sockets:
whatever way the agent came to see a file, and whoever changed it, the next
request says so, or has the text as it is."""

import os
import subprocess

import st
import world
from world import CONFIG, MARK, World, result_texts

LONG = "def b():\n    return 2\n" + "# a line of b.py, long enough\n" * 12


class Agent(World):
    """With two small modules; what it runs compiles them."""

    def __enter__(self):
        super().__enter__()
        self.put("a.py", "def a():\n    return 1\n")
        self.put("b.py", LONG)
        self.request()
        return self

    def put(self, name, text):
        path = self.mount.path + "/" + name
        os.makedirs(os.path.dirname(path), exist_ok=True)
        subprocess.run(["sh", "-c", "cat > \"$0\"", path],
                       input=text.encode(), check=True)

    def sed(self, name, was="x + 1", now="x + 3"):
        subprocess.run(["sed", "-i", "s/%s/%s/" % (was, now), name],
                       cwd=self.mount.path, check=True)

    def bash(self, command):
        env = dict(os.environ)
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        r = subprocess.run(["bash", "-c", command], cwd=self.mount.path,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           env=env)
        text = r.stdout.decode().rstrip("\n")
        if r.returncode:
            text = "Exit code %d\n%s" % (r.returncode, text)
        self.result("Bash", {"command": command},
                    text or "(Bash completed with no output)")
        if r.returncode:
            self.messages[-1]["content"][0]["is_error"] = True

    def told(self):
        """What the next request says of what went stale."""
        r = self.request()
        return "\n".join(world.notes(r) + [t for t in result_texts(r)
                                           if MARK in t])


def expect(w, name):
    said = w.told()
    assert name in said, (name, said)


def shells_that_show_a_file_are_known_by_what_they_opened():
    with Agent() as w:
        for command in ("cat a.py b.py", "cat *.py", "tail -n +1 a.py b.py",
                        "while read l; do echo $l; done < a.py", "wc -c a.py",
                        "echo \"$(cat a.py)\"", "md5sum a.py", "tac a.py",
                        "base64 a.py",
                        "cat a.py missing.py", "cat a.py; false",
                        "python3 -c 'print(len(open(\"a.py\").read()))'",
                        "f=a.py; head -n 2 $f", "head -c 20 a.py"):
            w.put("a.py", "def a():\n    return 1\n")
            del w.messages[1:]
            w.request()
            w.bash(command)
            assert not w.told(), command
            w.put("a.py", "def a():\n    return 1000\n")
            assert w.told(), command


def a_run_rests_on_sources_that_were_compiled_before():
    with Agent() as w:
        w.put("t.py", "import a\nprint(a.a())\n")
        w.bash("python3 t.py; python3 t.py")
        w.request()
        assert os.path.isdir(w.mount.path + "/__pycache__")
        del w.messages[1:]
        w.bash("python3 t.py")
        assert not w.told()
        w.put("b.py", LONG + "# more\n")
        assert not w.told()
        w.put("a.py", "def a():\n    return 7\n")
        expect(w, "ran before later changes")


def a_run_that_looked_for_tests_is_outdated_by_a_new_one():
    with Agent() as w:
        w.put("tests/test_a.py", "import unittest\n\n\nclass T("
              "unittest.TestCase):\n    def test_a(self):\n        pass\n")
        w.bash("python3 -m unittest -v tests.test_a 2>&1")
        w.request()
        w.put("new.py", "x = 1\n")
        assert not w.told()
        w.bash("python3 -m unittest discover -s tests")
        assert not w.told()
        w.put("tests/test_b.py", "import unittest\n")
        expect(w, "ran before later changes")


def a_run_that_missed_a_module_is_outdated_when_it_comes():
    with Agent() as w:
        w.put("t.py", "import a\nimport pkg.more\n")
        w.put("pkg/__init__.py", "")
        w.bash("python3 t.py")
        assert "No module named" in w.messages[-1]["content"][0]["content"]
        assert not w.told()
        w.put("other.py", "x = 1\n")
        assert not w.told()
        w.put("pkg/more.py", "x = 1\n")
        expect(w, "ran before later changes")


def a_run_that_goes_by_the_age_of_files_rests_on_all():
    with Agent() as w:
        w.put("Makefile", "out: b.py\n\ttouch out\n")
        w.bash("make -s; make")
        w.request()
        w.put("b.py", LONG + "# more\n")
        expect(w, "ran before later changes")


def links_lead_to_the_file():
    with Agent() as w:
        os.symlink("config.py", w.mount.path + "/link.py")
        os.symlink(".", w.mount.path + "/here")
        w.read("link.py")
        w.read("here/config.py")
        assert not w.told()
        w.sed("config.py")
        r = w.request()
        said = "".join(world.notes(r))
        assert "x + 3" in said, said


def what_was_read_before_anybody_watched_is_compared():
    with World() as w:
        w.read("config.py")
        result = w.messages[-1]["content"][0]
        result["content"] = result["content"].replace("x + 1", "x + 0")
        w.read("config.py", 9, 3)
        said = "".join(world.notes(w.request()))
        assert said.count("config.py") == 1, said
        assert "read it again" in said, said
        w.messages += [{"role": "assistant", "content": "Well."},
                       {"role": "user", "content": "Go on."}]
        assert "".join(world.notes(w.request())) == said


def a_file_that_the_client_attached_needs_no_result_behind_it():
    shown = "\n".join("%d\t%s" % (n + 1, line)
                      for n, line in enumerate(CONFIG.split("\n")))
    with World() as w:
        w.messages = [{"role": "user", "content": [
            {"type": "text", "text": text} for text in (
                "<system-reminder>\nCalled the Read tool with the following "
                "input: {\"file_path\":\"%s/config.py\"}\n"
                "</system-reminder>" % w.mount.path,
                "<system-reminder>\nResult of calling the Read tool:\n%s\n"
                "</system-reminder>" % shown, "Look at it.")]}]
        first = w.request()
        assert first.body == w.sent
        w.messages += [{"role": "assistant", "content": "Well."},
                       {"role": "user", "content": "Go on."}]
        subprocess.run(["sed", "-i", "s/x + 1/x + 3/",
                        w.mount.path + "/config.py"], check=True)
        said = "".join(world.notes(w.request()))
        assert "+    return x + 3" in said, said


def tools_nobody_knows_show_files_too():
    with Agent() as w:
        text = subprocess.run(["cat", "config.py"], cwd=w.mount.path,
                              stdout=subprocess.PIPE).stdout.decode()
        w.result("mcp__code__show_symbol", {"symbol": "unrelated"}, text)
        assert not w.told()
        w.result("mcp__code__outline", {"relative_path": "b.py"}, LONG)
        w.result("TodoWrite", {"todos": []}, "Todos have been modified.")
        assert not w.told()
        w.sed("config.py")
        expect(w, "config.py, shown above, is outdated")
        w.put("b.py", "def b():\n    return 4\n")
        expect(w, "b.py, shown above, is outdated")
        assert "TodoWrite" not in w.told()


def a_file_that_is_made_again_is_not_called_gone():
    with Agent() as w:
        w.read("config.py")
        w.request()
        os.unlink(w.mount.path + "/config.py")
        expect(w, "config.py, shown above, no longer exists")
        w.put("config.py", "def other():\n    pass\n")
        said = w.told()
        assert said.rfind("is outdated") > said.find("no longer exists"), said


def a_tape_begun_anew_is_no_reason_to_trust():
    with Agent() as w:
        for n in range(5):
            w.put("b.py", LONG + "# %d\n" % n)
        w.read("config.py")
        assert not w.told()
        w.end(w.tape)
        top = w.home.env["XDG_STATE_HOME"] + "/statetape"
        for name in os.listdir(top):
            for kept in os.listdir(top + "/" + name):
                if kept.startswith("tape.db"):
                    os.unlink("%s/%s/%s" % (top, name, kept))
        w.sed("config.py")
        w.tape = w.start("tape", w.repo)
        st.eventually(w.tape_ready, "the tape is ready")
        expect(w, "config.py")


st.main(shells_that_show_a_file_are_known_by_what_they_opened,
        a_run_rests_on_sources_that_were_compiled_before,
        a_run_that_looked_for_tests_is_outdated_by_a_new_one,
        a_run_that_missed_a_module_is_outdated_when_it_comes,
        a_run_that_goes_by_the_age_of_files_rests_on_all,
        links_lead_to_the_file,
        what_was_read_before_anybody_watched_is_compared,
        a_file_that_the_client_attached_needs_no_result_behind_it,
        tools_nobody_knows_show_files_too,
        a_file_that_is_made_again_is_not_called_gone,
        a_tape_begun_anew_is_no_reason_to_trust)

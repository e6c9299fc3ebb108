"""A session in which only the model is scripted: a mounted repository, its
tape, the manager, and the messages of an agent.

    with world.World() as w:
        w.read("config.py")
        w.request()
        w.edit("config.py", "x + 1", "x + 2")
        assert world.notes(w.request())
"""

import contextlib
import json
import os
import signal
import subprocess

import fakemodel
import proxy
import st

MARK = "[statetape]"
CONFIG = '''import json


def _read_json(path):
    with open(path) as f:
        return json.load(f)


def load_config(path):
    data = _read_json(path)
    return data.get("config", {})


def unrelated(x):
    return x + 1
'''
NEW = CONFIG.replace("    data = _read_json(path)\n",
                     "    data = yaml_io.load(path, strict=True)\n")


class World:
    """The processes of a session, and the conversation so far."""

    def __init__(self, *args, script=None):
        self.args, self.script = args, script
        self.key = "k"

    def __enter__(self):
        self.stack = contextlib.ExitStack()
        self.home = st.Home()
        self.stack.callback(self.home.close)
        for name in [n for n in self.home.env if n not in
                     proxy.clean_environment()]:
            if not name.startswith("XDG_"):
                del self.home.env[name]
        self.home.env["STATETAPE_DEADLINE_MS"] = "5000"
        self.repo = self.home.mkdir("repo")
        for name, text in (("config.py", CONFIG), ("yaml_io.py",
                           "def load(path, strict):\n    return {}\n")):
            with open(self.repo + "/" + name, "w") as f:
                f.write(text)
        self.model = self.stack.enter_context(
            fakemodel.Model(self.script) if self.script
            else fakemodel.Model())
        self.mount = self.stack.enter_context(
            st.Mount(self.repo, home=self.home))
        self.tape = self.start("tape", self.repo)
        st.eventually(self.tape_ready, "the tape is ready")
        self.manager = None
        self.start_manager()
        self.messages = [{"role": "user", "content": "Use YAML, please."}]
        self.calls = 0
        return self

    def __exit__(self, *exc):
        if exc[0]:
            for name in ("tape", "manager"):
                with open("%s/%s.log" % (self.home.top, name)) as f:
                    print("-- log of the %s:\n%s" % (name, f.read()))
        for p in (self.manager, self.tape):
            self.end(p)
        self.stack.close()

    def start(self, verb, *args):
        with open("%s/%s.log" % (self.home.top, verb), "ab") as log:
            return self.home.start(verb, *args, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=log)

    def end(self, p, how=signal.SIGTERM):
        if p and p.poll() is None:
            p.send_signal(how)
            p.wait(st.DEADLINE)
        if p and p.stdout:
            p.stdout.close()

    def tape_ready(self):
        top = self.home.env["XDG_RUNTIME_DIR"] + "/statetape"
        with contextlib.suppress(OSError, EOFError, AssertionError, IndexError,
                                 ValueError, KeyError):
            path = "%s/%s/tape.sock" % (top, os.listdir(top)[0])
            return proxy.ask(path, "SYNC")["ready"]
        return False

    def start_manager(self):
        self.end(self.manager)
        self.manager = self.start("manager", "--upstream", self.model.url,
                                  *self.args, self.repo)
        line = self.manager.stdout.readline().decode()
        if "listening on" not in line:
            with open(self.home.top + "/manager.log") as f:
                log = f.read()
            if "built without" in log:
                st.skip("built without its manager")
            raise AssertionError(log)
        self.port, self.secret = proxy.address(line)

    def client(self):
        return proxy.Client(self.port, self.secret)

    # -- what the agent does

    def result(self, tool, arguments, text):
        self.calls += 1
        name = "toolu_%03d" % self.calls
        self.messages += [
            {"role": "assistant", "content": [
                {"type": "text", "text": "I go on."},
                {"type": "tool_use", "id": name, "name": tool,
                 "input": arguments}]},
            {"role": "user", "content": [
                {"tool_use_id": name, "type": "tool_result",
                 "content": text}]}]

    def read(self, name, offset=None, limit=None):
        path = self.mount.path + "/" + name
        with open(path) as f:
            lines = f.read().split("\n")
        first = offset or 1
        last = first - 1 + limit if limit else len(lines)
        arguments = {"file_path": path}
        if limit:
            arguments.update(offset=first, limit=limit)
        self.result("Read", arguments, "\n".join(
            "%d\t%s" % (n, lines[n - 1]) for n in range(first, last + 1)))

    def edit(self, name, old, new):
        path = self.mount.path + "/" + name
        with open(path) as f:
            text = f.read()
        assert old in text
        with open(path + ".tmp", "w") as f:
            f.write(text.replace(old, new))
        os.rename(path + ".tmp", path)
        self.result("Edit", {"file_path": path, "old_string": old,
                             "new_string": new},
                    "The file %s has been updated successfully. (file state "
                    "is current in your context \u2014 no need to Read it "
                    "back)" % path)

    def change(self, name, old, new):
        """The same by a command, so that the model does not see it."""
        path = self.mount.path + "/" + name
        subprocess.run(["python3", "-c", "import sys\n"
                        "path, old, new = sys.argv[1:]\n"
                        "text = open(path).read()\n"
                        "assert old in text\n"
                        "open(path, 'w').write(text.replace(old, new))",
                        path, old, new], check=True)
        self.result("Bash", {"command": "./change " + name},
                    "(Bash completed with no output)")

    def bash(self, command):
        r = subprocess.run(["bash", "-c", command], cwd=self.mount.path,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.result("Bash", {"command": command},
                    r.stdout.decode().rstrip("\n") or
                    "(Bash completed with no output)")

    def request(self):
        """Sends the whole conversation; returns the request as the model
        received it."""
        messages = json.loads(json.dumps(self.messages))
        last = messages[-1]["content"]
        if isinstance(last, list):
            last[-1]["cache_control"] = {"type": "ephemeral"}
        body = {"model": "claude-opus-5-5", "messages": messages,
                "system": [{"type": "text", "text": "You are an agent."}],
                "tools": [{"name": "Read", "input_schema": {
                    "type": "object"}}], "max_tokens": 1000, "stream": True}
        self.sent = json.dumps(body, ensure_ascii=False,
                               separators=(",", ":")).encode()
        with self.client() as c:
            r = c.ask("POST", "/v1/messages?beta=true", self.sent,
                      headers=[("X-Claude-Code-Session-Id", "example"),
                               ("x-api-key", self.key)])
        assert r.status == 200, (r.status, r.body)
        return self.model.requests[-1]


def result_texts(r):
    return [b["content"] if isinstance(b["content"], str)
            else "".join(x["text"] for x in b["content"])
            for m in r.json["messages"] if isinstance(m["content"], list)
            for b in m["content"] if b["type"] == "tool_result"]


def notes(r):
    """Each text of ours behind a result's own, behind the user's words, or
    behind an attached file."""
    said = [m["content"] for m in r.json["messages"] if m["role"] == "user"]
    texts = result_texts(r) + [
        text for content in said for text in
        ([content] if isinstance(content, str) else
         [b["text"] for b in content if b["type"] == "text"])
        if text.startswith(MARK) or "\n\n" + MARK in text]
    found = [t if t.startswith(MARK) else t.partition("\n\n" + MARK)[2]
             for t in texts]
    return [MARK + t.removeprefix(MARK) for t in found
            if t and not t.startswith(MARK + " removed")]


def prefix_kept(before, after):
    """Asserts that the messages of `after` begin with those of `before`, cache
    marks aside."""
    strip = lambda r: json.loads(json.dumps(r.json["messages"]).replace(
        ', "cache_control": {"type": "ephemeral"}', ""))
    a, b = strip(before), strip(after)
    assert b[:len(a)] == a, (a, b)

"""Real agents under `statetape run`, with a scripted model behind it.

    s = agents.Session(agents.Claude(), [[("read", "app.py")], [...]])
    s.run()
    s.code, s.sent, s.got       # what the agent sent, what the model got

The agents are those of `tools/setup --with-agents`; a case is skipped where
one is absent. A script is a list of steps, a step a list of operations that
each agent carries out with the tools it has:

    ("read", path)  ("edit", path, old, new)  ("write", path, text)
    ("run", command)  ("grep", pattern)  ("task", text)
    ("tool", name, arguments)  one of that agent's own
    ("outside", function)      called by the model before it says the step

Between agent and proxy stands a recorder, put there by a program that bears the
agent's name, so that what was sent can be held against what arrived. Nothing
leaves the machine: the case gets a network of its own that has but loopback.
"""

import base64
import contextlib
import json
import os
import re
import subprocess
import time

import fakemodel
import recorder
import st

MARK = "[statetape]"
PLACE = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../"
                                      ".deps/agents/bin"))
KEY = "sk-not-a-key-0123456789"
LAST_WORDS = "All that was asked for is done."
PROMPT = "Make mean() cope with an empty list."

APP = '''"""Statistics of small lists."""
from helper import add


def total(items):
    """Sum the items."""
    t = 0
    for i in items:
        t = add(t, i)
    return t


def mean(items):
    """The average."""
    return total(items) / len(items)
'''
OLD = "    return total(items) / len(items)\n"
NEW = "    if not items:\n        return 0\n" + OLD
HELPER = '''"""Helpers."""


def add(a, b):
    return a + b


def sub(a, b):
    return a - b
'''
TEST = '''import unittest

from app import mean


class Mean(unittest.TestCase):
    def test_mean(self):
        self.assertEqual(mean([1, 3]), 2)
'''
FILES = {"app.py": APP, "helper.py": HELPER, "test_app.py": TEST,
         "README.md": "# A tiny example\n", "tools/say.sh":
         "#!/bin/sh\necho said\n"}

# read, read helper, edit, test run, grep, re-read, new file, sub-agent
SCRIPT = [
    [("read", "app.py")],
    [("read", "helper.py")],
    [("edit", "app.py", OLD, NEW)],
    [("run", "python3 -m unittest -v test_app 2>&1")],
    [("grep", "def ")],
    [("read", "app.py")],
    [("write", "notes.md", "# Notes\n\nmean() copes with nothing.\n")],
    [("task", "[[sub]] Look at helper.py and say what it does.")],
    [("run", "git status --short")],
]
SUB = [[("read", "helper.py")],
       [("run", "wc -l helper.py")]]


def program(name):
    path = PLACE + "/" + name
    if not os.path.exists(path):
        st.skip("%s is not here; tools/setup --with-agents fetches it" % name)
    return path


def loopback_only():
    """Take the network away from here on, where that is possible. The agents
    are also configured to make no requests of their own."""
    clone_newnet = 0x40000000
    if st.is_root() and st.which("ip") and \
            st._libc.unshare(clone_newnet) == 0:
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


# -- the agents ---------------------------------------------------------------

class Claude:
    name = "claude"
    sub_mark = "x-claude-code-agent-id"
    env = {"ANTHROPIC_API_KEY": KEY, "IS_SANDBOX": "1",
           "DISABLE_AUTOUPDATER": "1", "DISABLE_TELEMETRY": "1",
           "DISABLE_ERROR_REPORTING": "1",
           "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    plain = {"ANTHROPIC_BASE_URL": "%s"}

    def __init__(self, model=None):
        self.model = model

    def words(self, prompt, more):
        return ["-p", prompt, "--dangerously-skip-permissions"] + (
            ["--continue"] if more else []) + (
            ["--model", self.model] if self.model else [])

    def prepare(self, home):
        """Answers to what it asks a new user at a terminal."""
        with open(home.env["HOME"] + "/.claude.json", "w") as f:
            json.dump({"hasCompletedOnboarding": True, "theme": "dark",
                       "bypassPermissionsModeAccepted": True,
                       "customApiKeyResponses": {"approved": [KEY[-20:]]},
                       "projects": {home.top + "/repo": {
                           "hasTrustDialogAccepted": True}}}, f)

    def call(self, op, where):
        path = where(op[1]) if op[0] in ("read", "edit", "write") else None
        return {
            "read": lambda: ("Read", {"file_path": path}),
            "edit": lambda: ("Edit", {"file_path": path, "old_string": op[2],
                                      "new_string": op[3]}),
            "write": lambda: ("Write", {"file_path": path,
                                        "content": op[2]}),
            "run": lambda: ("Bash", {"command": op[1],
                                     "description": "as scripted"}),
            "grep": lambda: ("Bash", {
                "command": "grep -rn --include='*.py' '%s' ." % op[1],
                "description": "as scripted"}),
            "task": lambda: ("Agent", {
                "description": "Look at it", "prompt": op[1],
                "subagent_type": "general-purpose",
                "run_in_background": False}),
        }[op[0]]()


def patch(op):
    if op[0] == "write":
        body = "*** Add File: %s\n" % op[1] + "".join(
            "+%s\n" % line for line in op[2].splitlines())
    else:
        body = "*** Update File: %s\n@@\n" % op[1] + "".join(
            "-%s\n" % line for line in op[2].splitlines()) + "".join(
            "+%s\n" % line for line in op[3].splitlines())
    return "*** Begin Patch\n%s*** End Patch" % body


ANTHROPIC = "anthropic/claude-sonnet-4-5"


class Opencode:
    name = "opencode"
    sub_mark = "x-parent-session-id"
    env = {"ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": KEY,
           "OPENCODE_DISABLE_AUTOUPDATE": "1",
           "OPENCODE_DISABLE_MODELS_FETCH": "1",
           "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
           "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
           "OPENCODE_PERMISSION": '{"*":"allow"}'}
    plain = {"OPENCODE_CONFIG_CONTENT": json.dumps({"provider": {
        n: {"options": {"baseURL": "%s/v1"}}
        for n in ("anthropic", "openai")}})}

    def __init__(self, model=ANTHROPIC):
        self.model = model

    def words(self, prompt, more):
        return ["run", "-m", self.model] + (["--continue"] if more else []) \
            + [prompt]

    def prepare(self, home):
        place = home.mkdir("xdg/c/opencode")
        with open(place + "/opencode.json", "w") as f:
            json.dump({"autoupdate": False, "share": "disabled"}, f)

    def call(self, op, where):
        if op[0] in ("edit", "write") and self.model != ANTHROPIC:
            return "apply_patch", {"patchText": patch(op)}
        path = where(op[1]) if op[0] in ("read", "edit", "write") else None
        return {
            "read": lambda: ("read", {"filePath": path}),
            "edit": lambda: ("edit", {"filePath": path, "oldString": op[2],
                                      "newString": op[3]}),
            "write": lambda: ("write", {"filePath": path, "content": op[2]}),
            "run": lambda: ("bash", {"command": op[1],
                                     "description": "as scripted"}),
            "grep": lambda: ("grep", {"pattern": op[1], "path": where("")}),
            "task": lambda: ("task", {"description": "Look at it",
                                      "prompt": op[1],
                                      "subagent_type": "general"}),
        }[op[0]]()


def chatgpt_login():
    """As Codex stores one; no server ever checks it."""
    def part(o):
        return base64.urlsafe_b64encode(
            json.dumps(o).encode()).decode().rstrip("=")

    about = {"chatgpt_account_id": "account", "chatgpt_plan_type": "plus",
             "chatgpt_user_id": "user", "user_id": "user"}
    token = ".".join([part({"alg": "none"}), part({
        "exp": int(time.time()) + 86400, "email": "a@example.org",
        "https://api.openai.com/auth": about}), "c2ln"])
    return {"auth_mode": "chatgpt", "OPENAI_API_KEY": None, "tokens": {
        "id_token": token, "access_token": token, "refresh_token": "r",
        "account_id": "account"}, "last_refresh": time.strftime(
            "%Y-%m-%dT%H:%M:%SZ", time.gmtime())}


class Codex:
    """With its own way of calling tools: programs in JavaScript."""
    name = "codex"
    sub_mark = "x-codex-parent-thread-id"
    env = {"CODEX_API_KEY": KEY}
    plain = {}
    quiet = ["analytics.enabled=false", "check_for_update_on_startup=false",
             "features.plugins=false", "features.apps=false"]

    def __init__(self, model=None, login=False):
        self.model, self.login = model, login
        if login:
            self.env = {}

    def words(self, prompt, more):
        out = ["exec"]
        for q in self.quiet:
            out += ["-c", q]
        if self.model:
            out += ["-m", self.model]
        out += ["--dangerously-bypass-approvals-and-sandbox"]
        return out + (["resume", "--last"] if more else []) + [prompt]

    def prepare(self, home):
        if self.login:
            place = home.mkdir("home/.codex")
            with open(place + "/auth.json", "w") as f:
                json.dump(chatgpt_login(), f)

    def shell(self, op, where):
        return {"read": lambda: "cat " + where(op[1]),
                "run": lambda: op[1],
                "grep": lambda: "grep -rn --include='*.py' '%s' ." % op[1],
                }[op[0]]()

    def call(self, op, where):
        if op[0] in ("edit", "write"):
            return "exec", "text(await tools.apply_patch(%s));" % \
                json.dumps(patch(op))
        if op[0] == "task":
            return "collaboration:spawn_agent", {
                "message": op[1], "task_name": "look", "fork_turns": "none"}
        if op[0] == "wait":
            return "collaboration:wait_agent", {"timeout_ms": 60000}
        return "exec", "text((await tools.exec_command({cmd: %s})).output);" \
            % json.dumps(self.shell(op, where))


class CodexFunctions(Codex):
    """As with models before GPT-6: one function call per command, and no
    sub-agents."""

    def __init__(self, model="gpt-5.5", login=False):
        super().__init__(model, login)

    def call(self, op, where):
        if op[0] in ("edit", "write"):
            return "apply_patch", patch(op)
        return "exec_command", {"cmd": self.shell(op, where)}


def is_aside(r):
    """A request without tools, such as for a title."""
    return not r.json.get("tools") and not any(
        i.get("type") == "additional_tools" for i in fakemodel.items(r.json))


# -- a session ----------------------------------------------------------------

# Takes the place of the agent's program, and puts the recorder in between.
BETWEEN = '''#!/usr/bin/env python3
import os, re, sys
place = re.compile(r"127\\.0\\.0\\.1:[0-9]+")
names = ("ANTHROPIC_BASE_URL", "OPENCODE_CONFIG_CONTENT")
told = sys.argv[1:] + [os.environ.get(name, "") for name in names]
with open(%(told)r, "w") as f:
    f.write(place.search(" ".join(told))[0])
for name in names:
    if name in os.environ:
        os.environ[name] = place.sub(%(place)r, os.environ[name])
argv = [place.sub(%(place)r, word) for word in sys.argv]
os.execv(%(program)r, [%(program)r] + argv[1:])
'''


class Session:
    """One agent, one script, one repository."""

    def __init__(self, agent, script=SCRIPT, sub=SUB, files=None):
        self.agent, self.script, self.sub = agent, script, sub
        self.program = program(agent.name)
        self.stack = contextlib.ExitStack()
        self.home = self.stack.enter_context(st.Home())
        for name in list(self.home.env):
            if name.lower().endswith("_proxy") or name.startswith(
                    ("ANTHROPIC_", "OPENAI_", "CLAUDE", "CODEX_",
                     "OPENCODE")):
                del self.home.env[name]
        self.repo = self.cwd = self.home.mkdir("repo")
        self.fill(files or FILES)
        self.model = self.stack.enter_context(
            fakemodel.Model(self.step_for))
        self.rec = self.stack.enter_context(recorder.Recorder())
        self.home.env.update(agent.env, PYTHONDONTWRITEBYTECODE="1",
                             PWD=self.repo,
                             GIT_OPTIONAL_LOCKS="0",
                             STATETAPE_DEADLINE_MS="5000",
                             STATETAPE_ANTHROPIC_UPSTREAM=self.model.url,
                             STATETAPE_OPENAI_UPSTREAM=self.model.url,
                             STATETAPE_CHATGPT_UPSTREAM=self.model.url)
        agent.prepare(self.home)
        self.before = self.contents()
        self.code, self.out, self.err = None, "", ""
        self.served = set()
        self.over = False  # the last words were said

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if exc[0] and exc[0] is not st.Skip:
            print("-- exit %s\n%s\n%s" % (self.code, self.out[-3000:],
                                          self.err[-3000:]))
        self.stack.close()

    def fill(self, files):
        for name, text in files.items():
            self.home.mkdir(os.path.dirname("repo/" + name))
            with open(self.repo + "/" + name, "w") as f:
                f.write(text)
            if name.endswith(".sh"):
                os.chmod(self.repo + "/" + name, 0o755)
        for words in (["init", "-q"], ["add", "-A"],
                      ["-c", "user.name=n", "-c", "user.email=e@x", "commit",
                       "-qm", "first"]):
            subprocess.run(["git", "-C", self.repo] + words, check=True,
                           env=self.home.env)

    def tree(self):
        """path -> (mode, content) of all files but git's."""
        out = {}
        for at, folders, names in os.walk(self.repo):
            if at == self.repo:
                folders.remove(".git")
            for name in folders + names:
                path = at + "/" + name
                what = None
                if os.path.islink(path):
                    what = os.readlink(path)
                elif not os.path.isdir(path):
                    with open(path, "rb") as f:
                        what = f.read()
                out[os.path.relpath(path, self.repo)] = (
                    os.lstat(path).st_mode, what)
        return out

    def contents(self):
        return {n: what for n, (_, what) in self.tree().items()
                if what is not None}

    def git(self, *words):
        return subprocess.run(["git", "-C", self.repo, *words],
                              env=self.home.env, text=True, check=True,
                              capture_output=True).stdout

    # -- the model's part

    def step_for(self, r):
        if not r.dialect or r.json is None:
            return {}
        if is_aside(r):
            return {"text": "A title"}
        r.files = self.contents()
        script = self.sub if r.header(self.agent.sub_mark) else self.script
        at = r.step()
        if at >= len(script):
            self.over = True
            return {"text": LAST_WORDS}
        calls = []
        for op in script[at]:
            if op[0] == "outside":
                if (script is self.sub, at) not in self.served:
                    op[1](self)
            elif op[0] == "tool":
                calls.append(op[1:])
            else:
                calls.append(self.agent.call(op, self.where))
        self.served.add((script is self.sub, at))
        return {"text": "I go on.", "calls": calls, "thinking": "Hm."}

    def where(self, name):
        return os.path.join(self.repo, name).rstrip("/")

    # -- the agent's

    def run(self, *options, prompt=PROMPT, more=False):
        """`statetape run OPTIONS -- AGENT ...` to its end."""
        told = self.home.top + "/told"
        between = self.home.mkdir("bin") + "/" + self.agent.name
        with open(between, "w") as f:
            f.write(BETWEEN % {"told": told, "place": self.rec.place,
                               "program": self.program})
        os.chmod(between, 0o755)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(told)
        p = self.home.start("run", *options, "--", between,
                            *self.agent.words(prompt, more), cwd=self.cwd,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)

        def found():
            with contextlib.suppress(FileNotFoundError), open(told) as f:
                place = f.read()
                if place:
                    return place
            return "-" if p.poll() is not None else None

        self.rec.target = "http://" + st.eventually(found, "the agent runs")
        self.out, self.err = p.communicate(timeout=4 * st.DEADLINE)
        self.code = p.returncode
        return self

    def run_plain(self, prompt=PROMPT):
        """The agent alone, with nothing of ours but the model."""
        env = dict(self.home.env)
        for name, value in self.agent.plain.items():
            env[name] = value.replace("%s", self.model.url)
        words = self.agent.words(prompt, False)
        if self.agent.name == "codex":
            words = ["-c", "openai_base_url=\"%s/v1\"" % self.model.url] + \
                words
        r = subprocess.run([self.program] + words, cwd=self.repo, env=env,
                           text=True, stdin=subprocess.DEVNULL,
                           capture_output=True, timeout=4 * st.DEADLINE)
        self.code, self.out, self.err = r.returncode, r.stdout, r.stderr
        return self

    def wait_for_entry(self, path, origin):
        """Wait until a change outside the mount is on the tape."""
        def there():
            r = self.home.run("log", "--json", self.repo, check=True)
            return any(e["path"] == path and e["author"]["origin"] == origin
                       for e in map(json.loads, r.stdout.splitlines()))
        st.eventually(there, "%s is on the tape" % path)

    # -- what came of it

    def turns(self):
        """[(sent, got)]: each request of the agent with the one that arrived;
        None if it did not arrive."""
        left = [r for r in self.model.requests if r.dialect]
        out = []
        for s in self.rec.requests:
            if not s.dialect:
                continue
            g = next((g for g in left if key(g) == key(s)), None)
            if g:
                left.remove(g)
            out.append((s, g))
        assert not left, "the model got what nobody sent: %r" % left
        return out


SECRET = re.compile("^/[0-9a-f]{40}(?=/)")


def key(r):
    """Of a request: the same for what was sent and for what arrived. (The
    back end of a ChatGPT login has no /v1.)"""
    return (SECRET.sub("", r.target).removeprefix("/v1"), r.call_ids(),
            [r.header(n) for n in ("thread-id", "x-claude-code-agent-id",
                                   "x-parent-session-id")],
            len(r.json.get("messages") or fakemodel.items(r.json)))

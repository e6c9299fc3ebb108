"""Pyright as a judge: where does it say that each call goes?

It is asked over its language server, a request per call site, and its answers
are kept: they depend on nothing but pyright's version and the repository's
Python files, so a second run asks nothing.
"""

import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path
from urllib.parse import quote, unquote, urlparse

PINS = Path(__file__).resolve().parents[2] / "pins"
# Requests in flight: enough to keep pyright busy, and few enough that neither
# pipe can fill up while both ends write.
WINDOW = 64
RESTART_EVERY = 400     # files: its memory grows with what it has read


def cache_dir():
    top = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(top) / "statetape" / "judges"


def pins():
    lines = PINS.read_text().splitlines()
    return dict(l.split("=", 1) for l in lines if "=" in l and l[0] != "#")


def version():
    return pins()["PYRIGHT_VERSION"]


def install():
    """The language server's script, fetched once from the npm registry."""
    home = cache_dir() / f"pyright-{version()}"
    script = home / "package" / "langserver.index.js"
    if script.exists():
        return script
    home.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home.parent) as work:
        subprocess.run(["npm", "pack", "--ignore-scripts",
                        f"pyright@{version()}"], cwd=work, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        tgz = (Path(work) / f"pyright-{version()}.tgz").read_bytes()
        if hashlib.sha512(tgz).hexdigest() != pins()["PYRIGHT_SHA512"]:
            sys.exit("pyright does not have the hash in tools/pins: not used")
        with tarfile.open(fileobj=io.BytesIO(tgz)) as tar:
            tar.extractall(Path(work) / "new")
        os.rename(Path(work) / "new", home)
    return script


def uri(path):
    return "file://" + quote(str(path))


class Server:
    """One pyright, asked in pipelined rounds. Single-threaded: we write at
    most WINDOW small requests, then read until all are answered."""

    SETTINGS = {
        "python": {"pythonPath": sys.executable},
        "python.analysis": {"diagnosticMode": "openFilesOnly",
                            "typeCheckingMode": "off",
                            "autoSearchPaths": True,
                            "useLibraryCodeForTypes": True},
        "pyright": {"disableTaggedHints": True,
                    "disableOrganizeImports": True},
    }

    def __init__(self, root):
        self.root, self.number = root, 0
        # It has to be killed, and then leaves temporary files behind.
        self.scratch = tempfile.TemporaryDirectory(prefix="pyright.")
        self.process = subprocess.Popen(
            ["nice", "-n", "10", "node", "--max-old-space-size=3072",
             str(install()), "--stdio"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(os.environ, TMPDIR=self.scratch.name))
        folder = {"uri": uri(root), "name": "judged"}
        self.ask([("initialize", {
            "processId": os.getpid(), "rootUri": uri(root),
            "workspaceFolders": [folder],
            "capabilities": {"workspace": {"configuration": True,
                                           "workspaceFolders": True}}})])
        self.tell("initialized", {})

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s"
                                 % (len(body), body))

    def tell(self, method, params):
        self.send({"method": method, "params": params})
        self.process.stdin.flush()

    def receive(self):
        length = 0
        while True:
            line = self.process.stdout.readline()
            if not line:
                raise EOFError("pyright ended")
            if line == b"\r\n":
                break
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        return json.loads(self.process.stdout.read(length))

    def serve(self, message):
        """Answers a request of the server's."""
        result = None
        if message["method"] == "workspace/configuration":
            result = [self.SETTINGS.get(i.get("section"), {})
                      for i in message["params"]["items"]]
        self.send({"id": message["id"], "result": result})
        self.process.stdin.flush()

    def ask(self, questions):
        """Results of [(method, params)], in order; errors are None."""
        first, waiting, results = self.number, 0, [None] * len(questions)
        for start in range(0, len(questions), WINDOW):
            for method, params in questions[start:start + WINDOW]:
                self.send({"id": self.number, "method": method,
                           "params": params})
                self.number += 1
                waiting += 1
            self.process.stdin.flush()
            while waiting:
                message = self.receive()
                if "method" in message and "id" in message:
                    self.serve(message)
                elif "id" in message:
                    results[message["id"] - first] = message.get("result")
                    waiting -= 1
        return results

    def definitions(self, path, places):
        """For each (line, column) from (1, 0): a list of (file relative to
        the root or "" outside, line, column)."""
        full = os.path.join(self.root, path)
        with open(full, encoding="utf-8-sig", newline="") as f:
            text = f.read()
        self.tell("textDocument/didOpen", {"textDocument": {
            "uri": uri(full), "languageId": "python", "version": 1,
            "text": text}})
        answers = self.ask([
            ("textDocument/definition", {
                "textDocument": {"uri": uri(full)},
                "position": {"line": line - 1, "character": column}})
            for line, column in places])
        self.tell("textDocument/didClose",
                  {"textDocument": {"uri": uri(full)}})
        return [self.locations(a) for a in answers]

    def locations(self, answer):
        found = []
        for one in [answer] if isinstance(answer, dict) else answer or []:
            path = unquote(urlparse(one.get("uri") or
                                    one["targetUri"]).path)
            start = (one.get("range") or
                     one["targetSelectionRange"])["start"]
            inside = path.startswith(str(self.root) + "/")
            found.append((os.path.relpath(path, self.root) if inside else "",
                          start["line"] + 1, start["character"]))
        return found

    def close(self):
        self.process.stdin.close()
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.scratch.cleanup()


def digest(root, sources):
    """A file name made from all that the answers depend on."""
    h = hashlib.sha256(version().encode())
    for path in sorted(sources):
        h.update(path.encode() + b"\0" +
                 hashlib.sha256((root / path).read_bytes()).digest())
    return h.hexdigest()[:32]


def load(store):
    """Loads the kept answers, by file; a last line that was cut off is asked
    again."""
    known = {}
    if store.exists():
        for line in store.read_bytes().split(b"\n"):
            try:
                one = json.loads(line)
            except ValueError:
                continue
            known[one["file"]] = one["answers"]
    return known


def judge(root, sources, judged, progress=lambda text: None):
    """{file: {(line, column): [(file or "", line, column)]}} for the sites of
    those that are judged, some or all of the sources."""
    folder = cache_dir() / f"answers-{version()}"
    folder.mkdir(parents=True, exist_ok=True)
    store = folder / f"{root.name}-{digest(root, sources)}.jsonl"
    known, server, begin = load(store), None, time.monotonic()
    todo = [p for p in sorted(judged) if p not in known]
    try:
        with store.open("a") as out:
            for n, path in enumerate(todo):
                if n % RESTART_EVERY == 0 and server:
                    server.close()
                    server = None
                server = server or Server(root)
                places = sorted({(s.line, s.column)
                                 for s in sources[path].sites if s.token})
                answers = server.definitions(path, places) if places else []
                known[path] = [[*p, a] for p, a in zip(places, answers)]
                out.write(json.dumps({"file": path,
                                      "answers": known[path]}) + "\n")
                out.flush()
                progress("pyright: %d of %d files, %.0f s" % (
                    n + 1, len(todo), time.monotonic() - begin))
    finally:
        if server:
            server.close()
    return {path: {(l, c): [tuple(w) for w in where]
                   for l, c, where in known[path]} for path in judged}

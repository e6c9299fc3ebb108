"""A tape beside a mount, used through its sockets.

    with st.Mount() as m, taped.Tape(m.home, m.repo) as t:
        open(m.path + "/a.py", "w").write("x = 1\\n")
        entries = t.sync()          # since the last call
"""

import glob
import json
import os
import socket
import struct
import subprocess
import time

import st

SUB, PUB, REQ, REP = 0x21, 0x20, 0x30, 0x31


class Conn:
    """One connection of nng's Unix-socket transport."""

    def __init__(self, path, me, peer, timeout=st.DEADLINE):
        self.s = socket.socket(socket.AF_UNIX)
        self.s.settimeout(timeout)
        self.s.connect(path)
        self.s.sendall(b"\0SP\0" + struct.pack(">HH", me, 0))
        got = self._take(8)
        assert got == b"\0SP\0" + struct.pack(">HH", peer, 0), got

    def _take(self, n):
        parts = b""
        while len(parts) < n:
            part = self.s.recv(n - len(parts))
            if not part:
                raise ConnectionResetError("the other side closed")
            parts += part
        return parts

    def send(self, message):
        self.s.sendall(b"\x01" + struct.pack(">Q", len(message)) + message)

    def receive(self):
        head = self._take(9)
        return self._take(struct.unpack(">Q", head[1:])[0])

    def close(self):
        self.s.close()


class Asker:
    """Asks questions over one connection that stays open."""

    def __init__(self, path):
        self.conn = Conn(path, REQ, REP)

    def ask(self, name, **members):
        question = dict(members, v=1, ask=name)
        self.conn.send(b"\x80\0\0\1" + json.dumps(question).encode())
        answer = json.loads(self.conn.receive()[4:])
        if not answer["ok"]:
            raise AssertionError("%s: %s" % (name, answer["error"]))
        return answer

    def close(self):
        self.conn.close()


class Subscriber:
    def __init__(self, path):
        self.conn = Conn(path, SUB, PUB)

    def next(self):
        message = self.conn.receive()
        assert message.startswith(b"tape."), message[:20]
        return json.loads(message[5:])

    def close(self):
        self.conn.close()


class Tape:
    """`statetape tape`; inside `with` it is ready to answer."""

    def __init__(self, home, repo, *args, expect_log=None, broken=False):
        self.home, self.repo, self.args = home, repo, args
        self.expect_log, self.broken = expect_log, broken
        self.log_path = home.top + "/tape.log.%d" % time.monotonic_ns()
        self.proc = self.asker = None
        self.seen = 0

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, kind, exc, tb):
        self.stop()
        log = self.log()
        if kind:
            print(log)
            return
        lines = [line for line in log.splitlines()
                 if not (self.expect_log and self.expect_log in line)]
        assert not lines, "\n".join(lines)

    def start(self):
        with open(self.log_path, "ab") as log:
            self.proc = self.home.start("tape", *self.args, self.repo,
                                        stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=log)
        self.banner = os.fsdecode(self.proc.stdout.readline())
        if "is ready" not in self.banner:
            self.proc.wait(st.DEADLINE)
            raise AssertionError("no tape: " + self.log())

    def stop(self):
        self.forget()
        if self.proc and self.proc.poll() is None:
            self.proc.terminate()
        if self.proc:
            code = self.proc.wait(st.DEADLINE)
            assert self.broken or code == 0, "exit %d\n%s" % (code, self.log())
            self.proc.stdout.close()
            self.proc = None

    def kill(self):
        self.forget()
        self.proc.kill()
        self.proc.wait(st.DEADLINE)
        self.proc.stdout.close()
        self.proc = None

    def forget(self):
        if self.asker:
            self.asker.close()
            self.asker = None

    def log(self):
        with open(self.log_path, errors="backslashreplace") as f:
            return f.read()

    def socket(self, name):
        found = glob.glob(self.home.env["XDG_RUNTIME_DIR"] +
                          "/statetape/*/" + name)
        assert len(found) == 1, found
        return found[0]

    def ask(self, name, **members):
        if not self.asker:
            self.asker = Asker(self.socket("tape.sock"))
        return self.asker.ask(name, **members)

    def since(self, n):
        entries = []
        while True:
            answer = self.ask("SINCE", n=n, limit=1000)
            entries += answer["entries"]
            if not answer.get("more"):
                return entries
            n = entries[-1]["n"]

    def sync(self):
        """Asks SYNC; returns the entries since the last call."""
        self.ask("SYNC")
        return self.news()

    def news(self):
        entries = self.since(self.seen)
        if entries:
            self.seen = entries[-1]["n"]
        return entries

    def settle_in(self):
        """Waits until the tape has stored the first contents of all files."""
        st.eventually(lambda: self.ask("STATUS")["bases"] == 0, "bases kept")

    def subscribe(self):
        return Subscriber(self.socket("tape.pub"))


def files_of(top):
    found = {}
    for d, _, names in os.walk(top):
        for name in names:
            with open(os.path.join(d, name), "rb") as f:
                found[os.path.relpath(os.path.join(d, name), top)] = f.read()
    return found


def replay(entries):
    """({path: hash}, {path: pid of the last author}) as the entries
    describe."""
    state, author = {}, {}
    for e in entries:
        if e["kind"] == "gap":
            continue
        if e["kind"] == "rename":
            state.pop(e["path"], None)
        path = e.get("path2") or e["path"]
        # Each entry continues the one before: none is missing or repeated.
        old = e["path"] if e["kind"] != "rename" else None
        if old in state:
            assert state[old] == e["before"], (e, state[old])
            assert e["before"] != e["after"], e
        if e["after"] is None:
            state.pop(path, None)
        else:
            state[path] = e["after"]
        author[path] = e["author"].get("pid")
    return state, author


def outline(e):
    """The parts of an entry that do not depend on when the tape was killed."""
    author = e["author"]
    return (e["n"], e["kind"], e.get("path"), e.get("path2"), e["before"],
            e["after"], e["lines"], e["X"], e["dX"], e["R"], e["new"],
            e["syntax"], author["origin"], author.get("comm"))

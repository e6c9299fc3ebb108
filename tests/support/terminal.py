"""Runs a program on a pseudoterminal, types for it and reads its output.

    with terminal.Terminal(argv, env, cwd) as t:
        t.sees("password:")
        t.types("secret\\r")
        t.end()                  # its exit status
"""

import fcntl
import os
import pty
import re
import signal
import struct
import termios
import threading

import st

# Escape sequences: colours, cursor movements, titles and the like.
CONTROL = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|"
                     r"[()#][0-9A-Z]|[=>78DEHMNOZc])")


class Terminal:
    def __init__(self, argv, env, cwd, size=(40, 120)):
        self.text, self.code = "", None
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.execve(argv[0], argv, env)
        self.resize(*size)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def __enter__(self):
        return self

    def __exit__(self, kind, exc, tb):
        if kind:
            print("-- on the terminal:\n" + self.plain()[-4000:])
        if self.code is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        self.reader.join(st.DEADLINE)
        os.close(self.fd)

    def read(self):
        while True:
            try:
                got = os.read(self.fd, 65536)
            except OSError:
                return
            if not got:
                return
            self.text += got.decode(errors="replace")

    def plain(self, since=0):
        """The program's output without escape sequences."""
        return CONTROL.sub("", self.text[since:])

    def shows(self, words, since=0):
        """Has the terminal shown these words? White space is ignored, because
        the program may move the cursor instead."""
        bare = re.sub(r"\s", "", words)
        return bare in re.sub(r"\s", "", self.plain(since))

    def sees(self, words, since=0):
        st.eventually(lambda: self.shows(words, since),
                      "the terminal shows '%s'" % words)

    def types(self, keys):
        os.write(self.fd, keys.encode())

    def resize(self, lines, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ,
                    struct.pack("HHHH", lines, columns, 0, 0))

    def mode(self):
        """The terminal's modes (termios)."""
        return termios.tcgetattr(self.fd)[:4]

    def end(self):
        """Waits for the program to end; returns its exit status."""
        def ended():
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
            return pid
        st.eventually(ended, "the program ends")
        return self.code

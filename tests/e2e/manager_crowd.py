#!/usr/bin/env python3
"""Programs that have the secret and keep the manager busy: huge bodies, results
without end, senders that never finish. The agent's next request is served in
time, compared with an idle manager."""

import contextlib
import json
import os
import socket
import statistics
import threading
import time

import proxy
import st
from world import World

BIG = 40 << 20
MANY = 16000


def sink(listening):
    """An upstream that reads requests and says yes, in a process of its own."""
    def serve(s):
        with contextlib.suppress(OSError, ValueError), s, s.makefile("rb") as f:
            while f.readline():
                length = 0
                while (line := f.readline().strip()):
                    if line.lower().startswith(b"content-length:"):
                        length = int(line.split(b":")[1])
                while length:
                    length -= len(f.read(min(length, 1 << 20)))
                s.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    def accept():
        while True:
            threading.Thread(target=serve, args=(listening.accept()[0],),
                             daemon=True).start()
    threading.Thread(target=accept, daemon=True).start()
    return "ready"


def responses(items):
    return json.dumps({"model": "m", "tools": [{"type": "custom", "name": "x"}],
                       "input": [{"type": "message", "role": "user", "content":
                                  "go"}] + items}).encode()


def huge():
    return responses([{"type": "message", "role": "user",
                       "content": "x" * 1000}] * (BIG // 1100))


def repeated():
    return responses([
        {"type": "function_call", "call_id": "c", "name": "exec_command",
         "arguments": "{\"cmd\":\"cat config.py\"}"}] + [
        {"type": "function_call_output", "call_id": "c", "output": "x = 1\n"}
        ] * MANY)


def send_for_ever(place, body):
    def send():
        while True:
            with contextlib.suppress(OSError, EOFError), \
                    proxy.Client(*place) as c:
                c.ask("POST", "/v1/responses", body)
    with proxy.Client(*place) as c:
        assert c.ask("POST", "/v1/responses", body).status == 200
    for _ in range(2):
        threading.Thread(target=send, daemon=True).start()
    return "busy"


def send_slowly(place):
    """A hundred requests of which a byte comes now and then."""
    held = [socket.create_connection(("127.0.0.1", place[0]))
            for _ in range(100)]
    for s in held:
        s.sendall(b"POST /%s/v1/responses HTTP/1.1\r\nHost: localhost\r\n"
                  b"Content-Length: 1000000\r\n\r\n{" % place[1].encode())

    def go_on():
        while True:
            for s in held:
                s.send(b" ")
            time.sleep(0.05)
    threading.Thread(target=go_on, daemon=True).start()
    return "busy"


def typical(w):
    def once():
        begin = time.monotonic()
        w.request()
        return time.monotonic() - begin

    w.request()
    return statistics.median(once() for _ in range(11))


def the_agents_next_request_is_served_in_time():
    with socket.create_server(("127.0.0.1", 0), backlog=256) as listening, \
            contextlib.ExitStack() as stack:
        upstream = proxy.Neighbour(sink, listening)
        stack.callback(upstream.end)
        w = stack.enter_context(World(
            "--openai-upstream",
            "http://127.0.0.1:%d" % listening.getsockname()[1]))
        w.home.env["STATETAPE_DEADLINE_MS"] = "50"
        w.start_manager()
        w.read("config.py")
        alone = typical(w)
        place = (w.port, w.secret)
        for work in ((send_for_ever, place, huge()),
                     (send_for_ever, place, repeated()),
                     (send_slowly, place)):
            p = proxy.Neighbour(*work)
            try:
                assert p.said == "busy", p.said
                crowded = typical(w)
            finally:
                p.end()
            print("%.1f ms alone, %.1f with %s" % (
                1000 * alone, 1000 * crowded, work[0].__name__))
            assert crowded < 20 * alone + 0.5, (alone, crowded)
        rss = int(next(line for line in open("/proc/%d/status" % w.manager.pid)
                       if line.startswith("VmRSS")).split()[1])
        print("%d MiB" % (rss >> 10))
        path, = [os.path.join(d, "manager.db") for d in w.home.state_dirs()]
        assert os.stat(path).st_mode & 0o777 == 0o600


st.main(the_agents_next_request_is_served_in_time)

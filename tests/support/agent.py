#!/usr/bin/env python3
"""A minimal coding agent: keeps a transcript, sends all of it with each
request to $ANTHROPIC_BASE_URL, carries out the tool calls in the reply, and
retries as real clients do when a connection breaks or the server reports an
error. A tool call that fails because the mount's process died is repeated, as
a model would do.

Tools: Read(file_path), Edit(file_path, old_string, new_string),
Write(file_path, content), Bash(command), Wait(file_path), which waits until
the file exists. Prints each tool call; those of one reply run at the same time.
$AGENT_PROMPTS are the user's prompts, one after the other, as a list in JSON.
Exit code 0: the model made no more tool calls; 1: it could not be reached."""

import concurrent.futures
import errno
import http.client
import json
import os
import subprocess
import sys
import time
import urllib.parse

TRIES = 10
PAUSE, PAUSE_MAX = 0.05, 1.0
DEAD = (errno.ENOTCONN, errno.ECONNABORTED, errno.ECONNREFUSED)
DEAD_TRIES = 100
TOOLS = [{"name": n, "input_schema": {"type": "object"}}
         for n in ("Read", "Edit", "Write", "Bash", "Wait")]


class Trouble(Exception):
    """A failure that is worth a retry."""


def stubborn(what):
    """Calls `what`, again while the dead mount is still in the way."""
    for _ in range(DEAD_TRIES):
        try:
            return what()
        except OSError as e:
            if e.errno not in DEAD:
                raise
            time.sleep(PAUSE)
    return what()


def read(path):
    with open(path) as f:
        return f.read()


def write(path, text):
    """An atomic save, as Claude Code does it: a temporary file and a
    rename."""
    fresh = "%s.tmp.%d" % (path, os.getpid())
    with open(fresh, "w") as f:
        f.write(text)
    os.replace(fresh, path)


def do_read(path):
    text = stubborn(lambda: read(path))
    return "".join("%d\t%s\n" % (n, line)
                   for n, line in enumerate(text.splitlines(), 1))


def do_edit(path, old, new):
    text = stubborn(lambda: read(path))
    if old not in text:
        return "String to replace not found in %s." % path
    stubborn(lambda: write(path, text.replace(old, new, 1)))
    return "The file %s has been updated successfully." % path


def do_write(path, text):
    stubborn(lambda: write(path, text))
    return "File created successfully at: " + path


def shell(command):
    r = subprocess.run(["sh", "-c", command], stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       text=True)
    for e in DEAD:
        if r.returncode and os.strerror(e) in r.stdout:
            raise OSError(e, r.stdout)
    return r


def do_bash(command):
    r = stubborn(lambda: shell(command))
    text = r.stdout.strip() or "(Bash completed with no output)"
    return "Exit code %d\n%s" % (r.returncode, text) if r.returncode else text


def do_wait(path):
    while not os.path.exists(path):
        time.sleep(0.01)
    return "It is there."


def act(name, i):
    print(name, *(v for v in i.values() if "\n" not in v), flush=True)
    path = i.get("file_path")
    if name == "Bash":
        return do_bash(i["command"])
    if name == "Wait":
        return do_wait(path)
    if name == "Read":
        return do_read(path)
    if name == "Edit":
        return do_edit(path, i["old_string"], i["new_string"])
    return do_write(path, i["content"])


def take_event(blocks, data):
    """Adds one event of the stream to `blocks`; True: it was the last."""
    if data["type"] == "content_block_start":
        blocks.append(dict(data["content_block"], partial=""))
    elif data["type"] == "content_block_delta":
        d = data["delta"]
        if d["type"] == "text_delta":
            blocks[-1]["text"] += d["text"]
        elif d["type"] == "input_json_delta":
            blocks[-1]["partial"] += d["partial_json"]
    elif data["type"] == "error":
        raise Trouble("an error in the stream")
    return data["type"] == "message_stop"


def stream(response):
    """The reply's blocks; raises Trouble if the stream ends too early."""
    blocks, whole = [], False
    for line in response:
        if line.startswith(b"data: "):
            whole = take_event(blocks, json.loads(line[6:])) or whole
    if not whole:
        raise Trouble("the stream broke off")
    for b in blocks:
        partial = b.pop("partial")
        if b["type"] == "tool_use":
            b["input"] = json.loads(partial or "{}")
    return blocks


def ask_once(base, body):
    url = urllib.parse.urlsplit(base)
    c = http.client.HTTPConnection(url.hostname, url.port, timeout=60)
    try:
        c.request("POST", url.path + "/v1/messages", body,
                  {"Content-Type": "application/json", "x-api-key": "k",
                   "anthropic-version": "2023-06-01"})
        r = c.getresponse()
        if r.status in (408, 409, 429) or r.status >= 500:
            raise Trouble("status %d" % r.status)
        if r.status != 200:
            sys.exit("status %d: %s" % (r.status, r.read().decode()))
        return stream(r)
    except (OSError, http.client.HTTPException, ValueError) as e:
        raise Trouble(repr(e)) from e
    finally:
        c.close()


def ask(base, messages):
    body = json.dumps({"model": "demo", "max_tokens": 1024, "stream": True,
                       "system": "You are a coding agent.", "tools": TOOLS,
                       "messages": messages})
    pause = PAUSE
    for _ in range(TRIES):
        try:
            return ask_once(base, body)
        except Trouble as e:
            print("again:", e, file=sys.stderr, flush=True)
            time.sleep(pause)
            pause = min(pause * 2, PAUSE_MAX)
    sys.exit("the model cannot be reached")


def act_at_once(calls):
    with concurrent.futures.ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(lambda b: act(b["name"], b["input"]), calls))


def turn(base, messages, prompt):
    messages.append({"role": "user", "content": prompt})
    while True:
        blocks = ask(base, messages)
        messages.append({"role": "assistant", "content": blocks})
        calls = [b for b in blocks if b["type"] == "tool_use"]
        if not calls:
            return
        messages.append({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": b["id"], "content": said}
            for b, said in zip(calls, act_at_once(calls))]})


def main():
    messages = []
    prompts = os.environ.get("AGENT_PROMPTS") or '["Do as you are told."]'
    for prompt in json.loads(prompts):
        turn(os.environ["ANTHROPIC_BASE_URL"], messages, prompt)


main()

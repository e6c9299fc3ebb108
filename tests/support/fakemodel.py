#!/usr/bin/env python3
"""A model server that follows a script, on loopback, for tests.

    with fakemodel.Model([{"calls": [("Read", {"path": "a.py"})]},
                          {"text": "Done."}]) as m:
        ...                       # a client is pointed at m.url
        m.requests[0].json        # what it sent

It speaks Anthropic Messages, OpenAI Responses and Chat Completions, as SSE or
as one JSON object, and refuses with 400 what the real servers refuse: calls
and results that do not pair, empty texts, a fifth cache mark, reasoning that
it did not give itself. It simulates a prompt cache and reports it as usage.

A script is a list of steps or a function from Request to step. The transcript
selects the step of a list: a call's id names its step, so the server keeps no
state, and a rewritten transcript continues where it was. After the last step
the model says "Done.". A step is a dictionary; all members are optional:

  text, calls [(name, arguments)], thinking   what the model says; a name may
            have a namespace before a colon (Responses)
  status, headers [(name, value)], body       an answer of another kind
  times     how often the status is sent before the step is played (1)
  cut       break the connection after this many events (times: how often)
  delay     seconds before each event
  gate      called with each event's number before it is sent
  coding    gzip, deflate or zstd: the reply's Content-Encoding
  usage     members that replace those of the reported usage
  raw       called with (request, socket) instead of all the above

As a program: fakemodel.py [--port N] [--script FILE] [--log DIR] prints its
port; FILE is the list in JSON; each body is written to DIR/NNN.json.
"""

import argparse
import ctypes
import ctypes.util
import gzip
import hashlib
import hmac
import json
import os
import re
import socket
import sys
import threading
import time
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = b"fakemodel"
MARKS_MAX = 4
LOOK_BACK = 20
CHUNK = 40
CACHE_SECONDS = 300
HOUR = 3600
BODY_MAX = 64 << 20


# -- codings ------------------------------------------------------------------

_zstd = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
_zstd.ZSTD_compressBound.restype = ctypes.c_size_t
_zstd.ZSTD_compress.restype = ctypes.c_size_t
_zstd.ZSTD_decompress.restype = ctypes.c_size_t
_zstd.ZSTD_isError.argtypes = [ctypes.c_size_t]
_zstd.ZSTD_getFrameContentSize.restype = ctypes.c_ulonglong
for _f in (_zstd.ZSTD_compress, _zstd.ZSTD_decompress):
    _f.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p,
                   ctypes.c_size_t] + ([ctypes.c_int] if _f is
                                       _zstd.ZSTD_compress else [])


def zstd_pack(data, level=3):
    size = _zstd.ZSTD_compressBound(ctypes.c_size_t(len(data)))
    to = ctypes.create_string_buffer(size)
    n = _zstd.ZSTD_compress(to, size, data, len(data), level)
    assert not _zstd.ZSTD_isError(n)
    return ctypes.string_at(to, n)


def zstd_unpack(data):
    size = _zstd.ZSTD_getFrameContentSize(data, ctypes.c_size_t(len(data)))
    if size > BODY_MAX:  # unknown, no frame, or too much
        size = BODY_MAX
    to = ctypes.create_string_buffer(size or 1)
    n = _zstd.ZSTD_decompress(to, size, data, len(data))
    if _zstd.ZSTD_isError(n):
        raise ValueError("not zstd")
    return ctypes.string_at(to, n)


def pack(coding, data):
    return {None: lambda d: d, "gzip": gzip.compress, "zstd": zstd_pack,
            "deflate": zlib.compress}[coding](data)


def unpack(coding, data):
    return {None: lambda d: d, "gzip": gzip.decompress,
            "zstd": zstd_unpack, "deflate": zlib.decompress}[coding](data)


class Packer:
    """Encodes a stream, flushed after each piece. For zstd each piece is a
    frame of its own, which is a valid stream."""

    def __init__(self, coding):
        self.coding = coding
        self.z = zlib.compressobj(6, zlib.DEFLATED,
                                  31 if coding == "gzip" else 15)

    def piece(self, data):
        if self.coding == "zstd":
            return zstd_pack(data)
        return self.z.compress(data) + self.z.flush(zlib.Z_SYNC_FLUSH) \
            if self.coding else data

    def end(self):
        return self.z.flush() if self.coding in ("gzip", "deflate") else b""


# -- the request --------------------------------------------------------------

def sign(text):
    return hmac.new(KEY, text.encode("utf-8", "surrogatepass"),
                    hashlib.sha256).hexdigest()


def tokens(text):
    return max(1, len(text.encode("utf-8", "surrogatepass")) // 4)


def flat(o):
    return json.dumps(o, ensure_ascii=False, separators=(",", ":"))


class Refusal(Exception):
    pass


def dialect_of(path):
    path = path.split("?")[0]
    for end, name in (("/messages", "messages"), ("/responses", "responses"),
                      ("/chat/completions", "chat")):
        if path.endswith(end):
            return name
    return None


class Request:
    """method, target, headers [(name, value)] as they came, body (bytes, as
    they came), text (decoded), json (None if it is none), dialect."""

    def __init__(self, method, target, headers, body):
        self.method, self.target = method, target
        self.headers, self.body = headers, body
        self.at = time.monotonic()
        self.dialect = dialect_of(target) if method == "POST" else None
        self.status, self.refusal, self.usage = None, None, None
        self.text, self.json = body, None
        try:
            self.text = unpack(self.header("content-encoding"), body)
            self.json = json.loads(self.text)
        except (ValueError, KeyError, EOFError, zlib.error, OSError):
            pass

    def header(self, name):
        for n, v in self.headers:
            if n.lower() == name.lower():
                return v
        return None

    def call_ids(self):
        if self.dialect == "messages":
            return [b.get("id", "") for m in self.json["messages"]
                    for b in blocks(m) if b.get("type") == "tool_use"]
        if self.dialect == "responses":
            return [i.get("call_id") or "" for i in items(self.json)
                    if (i.get("type") or "").endswith("_call")]
        return [c.get("id", "") for m in self.json["messages"]
                for c in m.get("tool_calls") or []]

    def step(self):
        """The number of the script's next step."""
        seen = [int(m[1]) for i in self.call_ids()
                for m in [re.search(r"_s(\d+)_", i)] if m]
        return max(seen, default=-1) + 1


def blocks(message):
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [b for b in content or [] if isinstance(b, dict)]


def items(body):
    given = body.get("input")
    if isinstance(given, str):
        return [{"type": "message", "role": "user", "content": given}]
    return given or []


# -- what real servers refuse -------------------------------------------------

def need(truth, sentence):
    if not truth:
        raise Refusal(sentence)


def check_blocks(where, message):
    """Returns the ids of calls and of results."""
    calls, results, text = [], [], False
    for b in blocks(message):
        kind = b.get("type")
        if kind == "text":
            need(b.get("text"), where + ": text content blocks must be "
                 "non-empty")
            text = True
        elif kind == "tool_use":
            calls.append(b["id"])
        elif kind == "tool_result":
            need(not text, where + ": `tool_result` blocks come before text")
            results.append(b["tool_use_id"])
            for part in blocks(b):
                need(part.get("type") != "text" or part.get("text")
                     or isinstance(b.get("content"), str) or
                     "content" not in b,
                     where + ": text content blocks must be non-empty")
        elif kind == "thinking":
            need(b.get("signature") == sign(b.get("thinking", "")),
                 where + ": Invalid `signature` in `thinking` block")
    return calls, results


def marks(o):
    if isinstance(o, dict):
        return ("cache_control" in o) + sum(marks(v) for v in o.values())
    return sum(marks(v) for v in o) if isinstance(o, list) else 0


def check_messages(body):
    need(body.get("messages"), "messages: at least one message is required")
    pending = []
    for n, m in enumerate(body["messages"]):
        where = "messages.%d" % n
        # Claude Code has system messages that only set the reasoning effort.
        need(m.get("content") or m.get("role") in ("assistant", "system"),
             where + ": all messages must have non-empty content")
        calls, results = check_blocks(where, m)
        if m.get("role") == "system":  # may stand anywhere
            continue
        need(len(set(results)) == len(results),
             where + ": each tool_use must have a single result")
        need(set(pending) <= set(results), where + ": `tool_use` ids were "
             "found without `tool_result` blocks immediately after: "
             + ", ".join(sorted(set(pending) - set(results))))
        need(set(results) <= set(pending), where + ": unexpected "
             "`tool_use_id` found in `tool_result` blocks")
        pending = calls
    need(not pending, "messages: `tool_use` ids were found without "
         "`tool_result` blocks immediately after: " + ", ".join(pending))
    found = marks(body)
    need(found <= MARKS_MAX, "A maximum of 4 blocks with cache_control may be "
         "provided. Found %d." % found)


def check_responses(body):
    calls, outputs = [], []
    for i in items(body):
        kind = i.get("type") or "message"
        if kind.endswith("_call"):
            calls.append(i.get("call_id"))
        elif kind.endswith("_call_output"):
            need(i.get("call_id") in calls, "No tool call found for function "
                 "call output with call_id %s." % i.get("call_id"))
            outputs.append(i["call_id"])
        elif i.get("encrypted_content"):
            made, _, seal = i["encrypted_content"].partition(".")
            need(seal == sign(made), "The encrypted content %s... could not "
                 "be verified." % made[:12])
    for c in calls:
        need(c in outputs, "No tool output found for function call %s." % c)
    need(len(set(outputs)) == len(outputs), "Duplicate tool output.")


def check_chat(body):
    need(body.get("messages"), "[] is too short - 'messages'")
    pending = []
    for m in body["messages"]:
        if m.get("role") == "tool":
            need(m.get("tool_call_id") in pending, "messages with role 'tool' "
                 "must be a response to a preceding message with "
                 "'tool_calls'.")
            pending.remove(m["tool_call_id"])
            continue
        need(not pending, "An assistant message with 'tool_calls' must be "
             "followed by tool messages responding to each 'tool_call_id'. "
             "The following tool_call_ids did not have response messages: "
             + ", ".join(pending))
        pending = [c["id"] for c in m.get("tool_calls") or []]
    need(not pending, "An assistant message with 'tool_calls' must be "
         "followed by tool messages: " + ", ".join(pending))


CHECKS = {"messages": check_messages, "responses": check_responses,
          "chat": check_chat}


# -- the prompt cache ---------------------------------------------------------

def bare(o):
    if isinstance(o, dict):
        return {k: bare(v) for k, v in o.items() if k != "cache_control"}
    return [bare(v) for v in o] if isinstance(o, list) else o


class Cache:
    """Prefixes by hash. A test may replace `now` to let time pass."""

    def __init__(self):
        self.until = {}
        self.lock = threading.Lock()
        self.now = time.monotonic

    def prefix(self, body):
        """[(hash so far, tokens so far, lifetime of a mark here or 0)]"""
        parts = [("tools", t) for t in body.get("tools") or []]
        system = body.get("system") or body.get("instructions") or []
        parts += [("system", s) for s in (
            system if isinstance(system, list) else [{"text": system}])]
        for m in body.get("messages") or []:
            parts += [(m.get("role"), b) for b in (
                blocks(m) or [{k: v for k, v in m.items()}])]
            if m.get("tool_calls"):
                parts.append(("calls", m["tool_calls"]))
        parts += [("item", i) for i in items(body)]
        run, total, out = hashlib.sha256(
            flat(body.get("model")).encode()), 0, []
        for role, part in parts:
            text = flat([role, bare(part)])
            run.update(text.encode("utf-8", "surrogatepass"))
            total += tokens(text)
            out.append((run.hexdigest(), total, self.life(part)))
        return out

    @staticmethod
    def life(part):
        if not marks(part):
            return 0
        return HOUR if '"ttl":"1h"' in flat(part) else CACHE_SECONDS

    def usage(self, dialect, body):
        """(uncached, written, read) tokens."""
        prefix = self.prefix(body)
        total = prefix[-1][1] if prefix else 0
        ends = [n for n, p in enumerate(prefix) if p[2]] \
            if dialect == "messages" else list(range(len(prefix)))
        with self.lock:
            now, read = self.now(), 0
            for end in ends:
                first = max(0, end - LOOK_BACK) if dialect == "messages" \
                    else end
                for n in range(end, first - 1, -1):
                    if self.until.get(prefix[n][0], 0) > now:
                        read = max(read, prefix[n][1])
                        break
            for end in ends:
                self.until[prefix[end][0]] = now + (prefix[end][2] or
                                                    CACHE_SECONDS)
        written = prefix[ends[-1]][1] - read if ends else 0
        if dialect != "messages":
            return total - read, 0, read
        return total - read - written, written, read


# -- the answer ---------------------------------------------------------------

def pieces(text):
    return [text[i:i + CHUNK] for i in range(0, len(text), CHUNK)]


class Speech:
    """One step's answer in one dialect: events() for a stream, whole() for a
    single object."""

    def __init__(self, request, step, number, usage):
        self.request, self.number = request, number
        self.model = (request.json or {}).get("model", "fake")
        self.text, self.thinking = step.get("text"), step.get("thinking")
        at = request.step() if request.json else 0
        self.calls = [("call_s%03d_%d" % (at, n), name, args)
                      for n, (name, args) in enumerate(step.get("calls", []))]
        if not self.text and not self.calls:
            self.text = "Done."
        self.fresh, self.written, self.read = usage
        self.over = step.get("usage") or {}

    def events(self):
        return getattr(self, self.request.dialect + "_events")()

    def whole(self):
        return getattr(self, self.request.dialect + "_whole")()

    # Anthropic Messages

    def messages_usage(self):
        return dict({"input_tokens": self.fresh,
                     "cache_creation_input_tokens": self.written,
                     "cache_read_input_tokens": self.read,
                     "output_tokens": 7}, **self.over)

    def messages_content(self):
        out = []
        if self.thinking:
            out.append({"type": "thinking", "thinking": self.thinking,
                        "signature": sign(self.thinking)})
        if self.text:
            out.append({"type": "text", "text": self.text})
        return out + [{"type": "tool_use", "id": i, "name": n, "input": a}
                      for i, n, a in self.calls]

    def messages_whole(self):
        return {"id": "msg_%d" % self.number, "type": "message",
                "role": "assistant", "model": self.model,
                "content": self.messages_content(), "stop_sequence": None,
                "stop_reason": "tool_use" if self.calls else "end_turn",
                "usage": self.messages_usage()}

    def messages_events(self):
        whole = self.messages_whole()
        yield "message_start", {"message": dict(
            whole, content=[], stop_reason=None)}
        yield "ping", {}
        for n, b in enumerate(whole["content"]):
            yield from self.messages_block(n, b)
        yield "message_delta", {"delta": {
            "stop_reason": whole["stop_reason"], "stop_sequence": None},
            "usage": whole["usage"]}
        yield "message_stop", {}

    @staticmethod
    def messages_block(n, b):
        def delta(kind, **members):
            return "content_block_delta", {
                "index": n, "delta": dict(members, type=kind)}

        empty = {"text": {"text": ""}, "tool_use": {"input": {}},
                 "thinking": {"thinking": "", "signature": ""}}[b["type"]]
        yield "content_block_start", {"index": n,
                                      "content_block": dict(b, **empty)}
        if b["type"] == "text":
            for p in pieces(b["text"]):
                yield delta("text_delta", text=p)
        elif b["type"] == "thinking":
            for p in pieces(b["thinking"]):
                yield delta("thinking_delta", thinking=p)
            yield delta("signature_delta", signature=b["signature"])
        else:
            for p in pieces(json.dumps(b["input"])):
                yield delta("input_json_delta", partial_json=p)
        yield "content_block_stop", {"index": n}

    # OpenAI Responses

    def responses_output(self):
        out = []
        if self.thinking:
            made = self.thinking.encode().hex()
            out.append({"type": "reasoning", "id": "rs_%d" % self.number,
                        "summary": [],
                        "encrypted_content": made + "." + sign(made)})
        if self.text:
            out.append({"type": "message", "id": "msg_%d" % self.number,
                        "role": "assistant", "status": "completed",
                        "content": [{"type": "output_text",
                                     "text": self.text, "annotations": []}]})
        for i, name, args in self.calls:
            if isinstance(args, str):
                out.append({"type": "custom_tool_call", "id": "ctc_" + i,
                            "call_id": i, "name": name, "input": args,
                            "status": "completed"})
            else:
                space, _, name = name.rpartition(":")
                out.append({"type": "function_call", "id": "fc_" + i,
                            "call_id": i, "name": name,
                            "arguments": json.dumps(args),
                            "status": "completed"})
                if space:
                    out[-1]["namespace"] = space
        return out

    def responses_whole(self):
        total = self.fresh + self.written + self.read
        usage = dict({"input_tokens": total, "output_tokens": 7,
                      "input_tokens_details": {"cached_tokens": self.read},
                      "total_tokens": total + 7}, **self.over)
        return {"id": "resp_%d" % self.number, "object": "response",
                "model": self.model, "status": "completed",
                "output": self.responses_output(), "usage": usage}

    def responses_events(self):
        whole = self.responses_whole()
        begun = dict(whole, output=[], status="in_progress", usage=None)
        yield "response.created", {"response": begun}
        for n, i in enumerate(whole["output"]):
            yield "response.output_item.added", {"output_index": n,
                                                 "item": i}
            if i["type"] == "message":
                for p in pieces(self.text):
                    yield "response.output_text.delta", {
                        "item_id": i["id"], "output_index": n, "delta": p}
            elif i["type"] == "function_call":
                for p in pieces(i["arguments"]):
                    yield "response.function_call_arguments.delta", {
                        "item_id": i["id"], "output_index": n, "delta": p}
            yield "response.output_item.done", {"output_index": n, "item": i}
        yield "response.completed", {"response": whole}

    # OpenAI Chat Completions

    def chat_usage(self):
        total = self.fresh + self.written + self.read
        return dict({"prompt_tokens": total, "completion_tokens": 7,
                     "total_tokens": total + 7, "prompt_tokens_details": {
                         "cached_tokens": self.read}}, **self.over)

    def chat_calls(self):
        return [{"id": i, "type": "function", "function": {
            "name": n, "arguments": json.dumps(a)}} for i, n, a in self.calls]

    def chat_whole(self):
        message = {"role": "assistant", "content": self.text}
        if self.calls:
            message["tool_calls"] = self.chat_calls()
        return {"id": "chatcmpl-%d" % self.number, "model": self.model,
                "object": "chat.completion", "usage": self.chat_usage(),
                "choices": [{"index": 0, "message": message, "finish_reason":
                             "tool_calls" if self.calls else "stop"}]}

    def chat_events(self):
        def chunk(delta, end=None):
            return None, {"id": "chatcmpl-%d" % self.number,
                          "object": "chat.completion.chunk",
                          "model": self.model, "choices": [
                              {"index": 0, "delta": delta,
                               "finish_reason": end}]}

        yield chunk({"role": "assistant", "content": ""})
        for p in pieces(self.thinking or ""):
            yield chunk({"reasoning_content": p})
        for p in pieces(self.text or ""):
            yield chunk({"content": p})
        for n, c in enumerate(self.chat_calls()):
            yield chunk({"tool_calls": [dict(c, index=n)]})
        yield chunk({}, "tool_calls" if self.calls else "stop")
        options = self.request.json.get("stream_options") or {}
        if options.get("include_usage"):
            yield None, dict(chunk({})[1], choices=[],
                             usage=self.chat_usage())
        yield None, "[DONE]"


def event_bytes(name, data):
    if isinstance(data, dict):
        if name:
            data = dict({"type": name}, **data)
        data = flat(data)
    text = ("event: %s\n" % name if name else "") + "data: %s\n\n" % data
    return text.encode("utf-8", "surrogatepass")


def error_body(dialect, status, message):
    kind = {400: "invalid_request_error", 413: "request_too_large",
            429: "rate_limit_error", 529: "overloaded_error"}.get(
                status, "api_error")
    if dialect in ("responses", "chat"):
        return {"error": {"message": message, "type": kind, "param": None,
                          "code": None}}
    return {"type": "error", "error": {"type": kind, "message": message}}


# -- the server ---------------------------------------------------------------

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Each event is sent at once, as real servers do.
    disable_nagle_algorithm = True

    def log_message(self, *args):
        pass

    @property
    def m(self):
        return self.server.owner

    def read_body(self):
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            out = []
            while True:
                n = int(self.rfile.readline().split(b";")[0], 16)
                out.append(self.rfile.read(n))
                self.rfile.readline()
                if n == 0:
                    return b"".join(out)
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def serve(self):
        if self.m.before:
            self.m.before(self)
        r = Request(self.command, self.path, self.headers.items(),
                    self.read_body())
        number = self.m.note(r)
        step = self.m.step_for(r)
        try:
            self.answer(r, step, number)
        except (BrokenPipeError, ConnectionResetError):
            r.cancelled = True
            self.close_connection = True
        finally:
            r.done.set()

    do_GET = do_POST = do_HEAD = do_PUT = do_DELETE = do_PATCH = serve
    do_OPTIONS = serve

    def answer(self, r, step, number):
        if step.get("raw"):
            self.close_connection = True
            step["raw"](r, self.connection)
            return
        if "status" in step and self.m.is_due(r, step):
            self.reply(r, step, step["status"], step.get("body"))
            return
        if not r.dialect or r.json is None:
            self.reply(r, step, 400 if r.dialect else 200,
                       step.get("body", {"ok": True}))
            return
        try:
            if self.m.validate:
                CHECKS[r.dialect](r.json)
        except Refusal as e:
            r.refusal = str(e)
            self.reply(r, {}, 400, error_body(r.dialect, 400, str(e)))
            return
        r.usage = self.m.cache.usage(r.dialect, r.json)
        speech = Speech(r, step, number, r.usage)
        if r.json.get("stream"):
            self.stream(r, step, speech)
        else:
            self.reply(r, step, 200, speech.whole())

    def head(self, r, step, status, headers):
        r.status = status
        self.send_response_only(status)
        for n, v in headers + list(step.get("headers", [])):
            self.send_header(n, v)
        self.end_headers()
        self.wfile.flush()

    def reply(self, r, step, status, body):
        if body is None:
            body = error_body(r.dialect, status, "scripted")
        if isinstance(body, (dict, list)):
            body = flat(body).encode("utf-8", "surrogatepass")
        body = pack(step.get("coding"), body)
        headers = [("Content-Type", "application/json"),
                   ("Content-Length", str(len(body)))]
        if step.get("coding"):
            headers.append(("Content-Encoding", step["coding"]))
        self.head(r, step, status, headers)
        if self.command != "HEAD":
            r.sent = body
            self.wfile.write(body)

    def chunk(self, r, data):
        if data:
            r.sent += data
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()

    def stream(self, r, step, speech):
        headers = [("Content-Type", "text/event-stream"),
                   ("Transfer-Encoding", "chunked")]
        if step.get("coding"):
            headers.append(("Content-Encoding", step["coding"]))
        packer = Packer(step.get("coding"))
        cut = step["cut"] if "cut" in step and self.m.is_due(r, step) else -1
        self.head(r, step, 200, headers)
        for n, (name, data) in enumerate(speech.events()):
            if n == cut:
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            if step.get("delay"):
                time.sleep(step["delay"])
            if step.get("gate"):
                step["gate"](n)
            self.chunk(r, packer.piece(event_bytes(name, data)))
        self.chunk(r, packer.end())
        self.wfile.write(b"0\r\n\r\n")


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512

    def handle_error(self, request, client_address):
        """Says nothing about a client that left."""
        if not isinstance(sys.exc_info()[1], (ConnectionError, ValueError)):
            super().handle_error(request, client_address)


class Loopback:
    """A server on 127.0.0.1 while the context is entered. Handlers reach it as
    server.owner."""

    def __init__(self, handler, port=0):
        self.requests, self.lock = [], threading.Lock()
        self.server = Server(("127.0.0.1", port), handler)
        self.server.owner = self
        self.port = self.server.server_address[1]
        self.place = "127.0.0.1:%d" % self.port
        self.url = "http://" + self.place
        self.thread = threading.Thread(target=self.server.serve_forever,
                                       kwargs={"poll_interval": 0.05},
                                       daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *exc):
        self.server.shutdown()
        self.server.server_close()


class Model(Loopback):
    """requests: those received, in order. validate: refuse as real servers do.
    before: called with the handler before a body is read."""

    def __init__(self, script=(), validate=True, port=0, keep=True):
        super().__init__(Handler, port)
        self.script, self.validate, self.keep = script, validate, keep
        self.before = None
        self.cache = Cache()
        self.played = {}
        self.count = 0

    def note(self, r):
        r.done, r.sent, r.cancelled = threading.Event(), b"", False
        with self.lock:
            self.count += 1
            if self.keep:
                self.requests.append(r)
            return self.count

    def step_for(self, r):
        if callable(self.script):
            return self.script(r) or {}
        if not self.script or not r.dialect or r.json is None:
            return {}
        at = r.step()
        return self.script[at] if at < len(self.script) else {}

    def is_due(self, r, step):
        """Misbehaviour happens `times` times per step, by default once; a
        script that is a function keeps its own count."""
        if callable(self.script) and "times" not in step:
            return True
        key = id(step)
        with self.lock:
            self.played[key] = self.played.get(key, 0) + 1
            return self.played[key] <= step.get("times", 1)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--port", type=int, default=0)
    p.add_argument("--script")
    p.add_argument("--log")
    a = p.parse_args()
    script = []
    if a.script:
        with open(a.script, encoding="utf-8") as f:
            script = json.load(f)
    with Model(script, port=a.port) as m:
        print(m.port, flush=True)
        seen = 0
        while True:
            time.sleep(0.05)
            while a.log and seen < len(m.requests):
                with open(os.path.join(a.log, "%03d.json" % seen), "wb") as f:
                    f.write(m.requests[seen].text)
                seen += 1


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Agents that give their conversations no id, begin with the same words and
number their calls alike: their processes tell them apart. One that begins anew
goes on with what its predecessor was told."""

import json
import multiprocessing

import proxy
import st
from world import MARK, World

TOOLS = [{"type": "function", "function": {"name": "Read"}}]


class Agent:
    """A process of its own, with a conversation in Chat's dialect."""

    def __init__(self, w):
        self.w, self.messages = w, [{"role": "user", "content": "Go."}]
        self.begin()

    def begin(self):
        fork = multiprocessing.get_context("fork")
        self.pipe, theirs = fork.Pipe()
        self.process = fork.Process(target=self.serve, args=(theirs,),
                                    daemon=True)
        self.process.start()

    def serve(self, pipe):
        while (body := pipe.recv_bytes()) != b"":
            with proxy.Client(self.w.port, self.w.secret) as c:
                pipe.send(c.ask("POST", "/v1/chat/completions", body).status)

    def end(self):
        self.pipe.send_bytes(b"")
        self.process.join()

    def shows(self, name):
        with open(self.w.mount.path + "/" + name) as f:
            text = f.read()
        call = "call_%d" % (len(self.messages) // 2)
        self.messages += [
            {"role": "assistant", "content": None, "tool_calls": [{
                "id": call, "type": "function", "function": {
                    "name": "Read", "arguments": json.dumps(
                        {"file_path": self.w.mount.path + "/" + name})}}]},
            {"role": "tool", "tool_call_id": call, "content": text}]

    def request(self):
        """What was said behind each result, and all that arrived."""
        self.pipe.send_bytes(json.dumps({
            "model": "m", "messages": self.messages, "tools": TOOLS,
            "stream": True}).encode())
        assert self.pipe.recv() == 200
        got = json.loads(self.w.model.requests[-1].body)["messages"]
        return [m["content"].partition("\n\n" + MARK)[2] for m in got
                if m["role"] == "tool"]


def change(w, name):
    path = w.mount.path + "/" + name
    with open(path) as f:
        text = f.read()
    with open(path, "w") as f:
        f.write(text.replace("return", "return  "))


def two_processes_with_the_same_words_are_two_conversations():
    with World() as w:
        one, other = Agent(w), Agent(w)
        for agent, name in ((one, "config.py"), (other, "yaml_io.py")):
            agent.request()
            agent.shows(name)
            assert agent.request() == [""]
        change(w, "config.py")
        change(w, "yaml_io.py")
        said = {}
        for agent, name in ((one, "config.py"), (other, "yaml_io.py")):
            said[name], = agent.request()
            assert name in said[name], said
            assert ("yaml_io" if name == "config.py" else "config") \
                not in said[name], said
        for _ in range(2):
            for agent, name in ((one, "config.py"), (other, "yaml_io.py")):
                agent.shows(name)
                got = agent.request()
                assert got[0] == said[name] and not any(got[1:]), (got, said)
        one.end()
        other.end()


def a_process_that_ended_is_followed_by_the_next():
    with World() as w:
        agent = Agent(w)
        agent.request()
        agent.shows("config.py")
        agent.request()
        change(w, "config.py")
        said, = agent.request()
        assert "config.py" in said
        agent.end()
        agent.begin()
        agent.shows("config.py")
        assert agent.request() == [said, ""]
        agent.end()


st.main(two_processes_with_the_same_words_are_two_conversations,
        a_process_that_ended_is_followed_by_the_next)

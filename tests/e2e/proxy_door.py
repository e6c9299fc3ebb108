#!/usr/bin/env python3
"""Who may use the proxy's port: the agent, and nobody else."""

import resource
import socket
import statistics
import time

import fakemodel
import proxy
import st

TURN = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}


def ask(e):
    with e.client() as c:
        return c.ask("POST", "/v1/messages", TURN).status


class Crowd(list):
    """Connections with a little written on each."""

    def __init__(self, e, n, text):
        resource.setrlimit(resource.RLIMIT_NOFILE, (n + 100, n + 100))
        super().__init__()
        for _ in range(n):
            self.append(socket.create_connection(("127.0.0.1", e.port)))
            if text:
                self[-1].send(text)

    def __str__(self):
        return "all here"


def without_the_secret_nothing_passes():
    with fakemodel.Model() as m, proxy.Proxy(m.url) as e:
        good = "/" + proxy.SECRET
        for target in ("/v1/messages", "/", "", "//v1/messages",
                       "/" + proxy.SECRET[:-1] + "/v1/messages",
                       good + "0/v1/messages", good[:-1] + "1/v1/messages",
                       good.upper() + "/v1/messages", good + "?a=b",
                       "/x" + good + "/v1/messages",
                       "/%30" + proxy.SECRET[1:] + "/v1/messages"):
            with e.client() as c:
                c.secret = ""
                c.s.sendall(b"POST %s HTTP/1.1\r\nHost: localhost\r\n"
                            b"Content-Length: 0\r\n\r\n" %
                            (target or "*").encode())
                assert c.reply().status in (400, 403), target
        assert not m.requests
        with e.client() as c:
            assert c.ask("POST", "/v1/messages", TURN).status == 200
            assert m.requests[0].target == "/v1/messages"
            assert c.ask("GET", "").status == 200  # the address itself
            assert m.requests[1].target == "/"
        n = e.counters()
        assert n["strangers"] >= 9 and n["rewritten"] == 0, n
        assert proxy.SECRET not in e.log()


def a_refused_body_is_not_read():
    with fakemodel.Model() as m, proxy.Proxy(m.url) as e, e.client() as c:
        c.secret = "x" * 40
        c.send("POST", "/v1/messages", b"", [("Content-Length", "60000000")])
        assert c.reply().status == 403
        assert e.counters()["bytes_in"] == 0 and not m.requests


def another_user_is_refused_with_the_secret():
    st.need_root("to be two users")
    with fakemodel.Model() as m, proxy.Proxy(m.url) as e:
        assert proxy.Neighbour(ask, e, uid=st.NOBODY).end() == "403"
        assert not m.requests
        assert proxy.Neighbour(ask, e).end() == "200"
        assert e.counters()["strangers"] == 1


def a_socket_of_ipv6_is_known_too():
    with fakemodel.Model() as m, proxy.Proxy(m.url) as e, e.client() as c:
        c.s.close()
        try:
            c.s = socket.socket(socket.AF_INET6)
            c.s.connect(("::ffff:127.0.0.1", e.port))
        except OSError:
            st.skip("there is no IPv6 here")
        assert c.ask("POST", "/v1/messages", TURN).status == 200
        assert len(m.requests) == 1


def web_pages_are_refused():
    with fakemodel.Model() as m, proxy.Proxy(m.url) as e:
        def status(method, *headers):
            with e.client() as c:
                return c.ask(method, "/v1/models", None, headers).status

        for header in (("Origin", "http://localhost"), ("origin", "null"),
                       ("Sec-Fetch-Site", "none"), ("Sec-Fetch-Dest", "empty"),
                       ("sec-fetch-user", "?1"),
                       ("Sec-Fetch-Mode", "navigate")):
            assert status("GET", header) == 403, header
        assert status("OPTIONS") == 403
        with e.client() as c:
            c.s.sendall(b"GET /%s/v1/models HTTP/1.0\r\n\r\n"
                        % proxy.SECRET.encode())
            assert c.reply().status == 400
        assert not m.requests
        # What Node's fetch() sends, by itself.
        assert status("GET", ("sec-fetch-mode", "cors")) == 200
        assert e.counters()["rejected"] == 8


def typical(e):
    """Seconds for a request on a connection of its own."""
    def once():
        begin = time.monotonic()
        with e.client() as c:
            r = c.ask("POST", "/v1/messages", TURN)
            assert r.status == 200 and r.whole
        return time.monotonic() - begin

    return statistics.median(once() for _ in range(21))


def a_crowd_at_the_door_does_not_keep_the_agent_out():
    """700 connections that ask for nothing, or never finish asking."""
    users = [None] + ([st.NOBODY] if st.is_root() else [])
    line = b"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\n"
    with fakemodel.Model() as m, proxy.Proxy(m.url) as e:
        alone = typical(e)
        for uid in users:
            for text in (b"", line):
                p = proxy.Neighbour(Crowd, e, 700, text, uid=uid)
                assert p.said == "all here", p.said
                crowded = typical(e)
                print("%.1f ms alone, %.1f in a crowd" % (
                    1000 * alone, 1000 * crowded))
                assert crowded < 10 * alone + 0.05, (alone, crowded)
                p.end()
        assert e.counters()["broken"] == 0


st.main(without_the_secret_nothing_passes,
        a_refused_body_is_not_read,
        another_user_is_refused_with_the_secret,
        a_socket_of_ipv6_is_known_too,
        web_pages_are_refused,
        a_crowd_at_the_door_does_not_keep_the_agent_out)

"""A forwarding server that records what a client sent, byte for byte.

    with recorder.Recorder() as rec:
        rec.target = "http://127.0.0.1:1234"      # where requests go
        ...                                       # a client talks to rec.url
        rec.requests[0].body

Requests and replies pass unchanged. rec.requests holds fakemodel.Request.
"""

import http.client
from http.server import BaseHTTPRequestHandler
from urllib.parse import urlsplit

import fakemodel

HOP = {"connection", "keep-alive", "transfer-encoding", "content-length",
       "host"}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    read_body = fakemodel.Handler.read_body

    def log_message(self, *args):
        pass

    def serve(self):
        r = fakemodel.Request(self.command, self.path, self.headers.items(),
                              self.read_body())
        with self.server.owner.lock:
            self.server.owner.requests.append(r)
        try:
            self.forward(r)
        except ConnectionError:
            self.close_connection = True

    do_GET = do_POST = do_HEAD = do_PUT = do_DELETE = do_PATCH = serve
    do_OPTIONS = serve

    def forward(self, r):
        to = http.client.HTTPConnection(
            urlsplit(self.server.owner.target).netloc)
        to.putrequest(r.method, r.target, skip_host=True,
                      skip_accept_encoding=True)
        for name, value in r.headers:
            if name.lower() not in ("transfer-encoding", "content-length"):
                to.putheader(name, value)
        if r.body or r.method == "POST":
            to.putheader("Content-Length", str(len(r.body)))
        to.endheaders(r.body)
        reply = to.getresponse()
        r.status = reply.status
        self.back(r, reply)
        to.close()

    def back(self, r, reply):
        self.send_response_only(reply.status, reply.reason)
        for name, value in reply.getheaders():
            if name.lower() not in HOP:
                self.send_header(name, value)
        bare = r.method == "HEAD" or reply.status in (204, 304)
        if not bare:
            self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while not bare:
            piece = reply.read1(65536)
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.flush()
            if not piece:
                break


class Recorder(fakemodel.Loopback):
    """requests: those received, in order, each with its reply's status."""

    def __init__(self):
        super().__init__(Handler)
        self.target = None

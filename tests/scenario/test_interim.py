"""Interim responses of an origin: 103 Early Hints reach the client at once."""

import socket
import threading

import pytest

from certificates import Authority
from servers import response

HINTS = (b"HTTP/1.1 100 Go\r\nX-Go: on\r\n\r\n"
         b"HTTP/1.1 103 Early\r\nLink: </a.css>; rel=preload\r\n"
         b"Connection: X-Hop\r\nX-Hop: 1\r\n\r\n")


def ask(s, method):
    s.sendall(method + b" /a HTTP/1.1\r\nHost: www.example.com\r\n"
              b"Content-Length: 0\r\n\r\n")


def read_header(s):
    got = b""
    while not got.endswith(b"\r\n\r\n"):
        got += s.recv(1)
    return got.split(b"\r\n")[:-2]


def read_answer(s):
    lines = read_header(s)
    assert lines[0] == b"HTTP/1.1 200 OK"
    assert b"Content-Length: 4" in lines
    assert not any(line.startswith((b"Link", b"X-")) for line in lines)
    assert s.recv(4, socket.MSG_WAITALL if type(s) is socket.socket else 0) \
        == b"body"


@pytest.mark.parametrize("tls", (False, True))
def test_early_hints_come_before_the_answer(make_cluster, origin, tmp_path,
                                            tls):
    seen = threading.Event()

    def hint(request, connection):
        connection.sendall(HINTS)
        assert seen.wait(20)
        return response(200, {"Cache-Control": "max-age=60"}, b"body")

    origin.pages["/a"] = hint
    options = {}
    if tls:
        ca = Authority(tmp_path)
        pem, key = ca.issue("node")
        options = {"tls_data_certificate": pem, "tls_data_key": key}
    c = make_cluster(1, **options)
    c.origin_url = origin.url
    node = c.start().nodes[0]
    with socket.create_connection(("127.0.0.1", node.data), 20) as s:
        if tls:
            s = ca.client().wrap_socket(s, server_hostname="127.0.0.1")
        for method in b"GET", b"POST", b"GET":
            seen.clear()
            ask(s, method)
            lines = read_header(s)
            assert lines[0] == b"HTTP/1.1 103 Early Hints"
            assert lines[1:] == [b"Link: </a.css>; rel=preload",
                                 b"Via: 1.1 n1"]
            seen.set()
            read_answer(s)
        ask(s, b"GET")  # a hit has none
        read_answer(s)
        s.close()

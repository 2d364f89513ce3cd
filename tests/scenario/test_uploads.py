"""Requests with a body, and large answers to them."""

import socket
import time

import pytest

import servers
from servers import response

# between the window of a body that flows through and half a window more
SIZES = (262145, 280000, 320000)


@pytest.mark.parametrize("method", ("GET", "POST", "PUT", "DELETE"))
def test_a_large_answer_to_a_request_with_a_body(node, origin, method):
    """Sending the request's body must not resume the answer's."""
    bodies = {f"/{size}": bytes(i * 7 % 251 for i in range(size))
              for size in SIZES}
    origin.pages = {path: response(206 if method == "GET" else 200,
                                   {"Cache-Control": "no-store"}, body)
                    for path, body in bodies.items()}
    for path, body in bodies.items():
        answer = node.get(path, method=method, body=b"abcd",
                          headers={"Range": f"bytes=0-{len(body) - 1}"})
        assert answer.body == body
        assert origin.last().body == b"abcd"
    assert node.process.alive()


class Closing(servers.Origin):
    """Reads the second request of a connection, and closes it."""

    def converse(self, stream, connection):
        for answer in (response(200, {"Cache-Control": "no-store"}), None):
            request = servers.read_request(stream)
            if request is None:
                return
            with self.lock:
                self.requests.append(request)
            if answer:
                connection.sendall(answer)


def test_what_is_not_idempotent_arrives_once(make_cluster):
    origin = Closing()
    c = make_cluster(1, threads=1)
    c.origin_url = origin.url
    node = c.start().nodes[0]
    statuses = [node.get(f"/{i}", method="POST", body=b"pay"[i % 4:]).status
                for i in range(30)]
    origin.close()
    assert [origin.count(f"/{i}") for i in range(30)] == [1] * 30
    assert set(statuses) == {200, 502}


@pytest.mark.parametrize("length", ("Content-Length: 8",
                                    "Transfer-Encoding: chunked"))
def test_a_slow_client_is_no_slow_origin(make_cluster, origin, length):
    """origin_timeout does not count while the request's body comes in."""
    c = make_cluster(1, origin_timeout="400ms")
    c.origin_url = origin.url
    node = c.start().nodes[0]
    origin.set("/a", fields={"Cache-Control": "no-store"}, body=b"done")
    origin.pages["/mute"] = lambda request, connection: time.sleep(20)
    for path, status in (("/a", b"200"), ("/mute", b"504")):
        with socket.create_connection(("127.0.0.1", node.data), 10) as s:
            s.sendall(f"POST {path} HTTP/1.1\r\nHost: h\r\n"
                      f"{length}\r\n\r\n".encode())
            for _ in range(8):
                time.sleep(0.1)
                s.sendall(b"1\r\nx\r\n" if "chunked" in length else b"x")
            if "chunked" in length:
                s.sendall(b"0\r\n\r\n")
            assert s.recv(1000).split(b" ")[1] == status
        assert origin.last().body == b"x" * 8


@pytest.mark.parametrize("minor", (1, 0))
def test_expectations_reach_the_origin(node, origin, minor):
    origin.set("/a", fields={"Cache-Control": "no-store"}, body=b"done")
    with socket.create_connection(("127.0.0.1", node.data), 10) as s:
        s.sendall(f"POST /a HTTP/1.{minor}\r\nHost: h\r\nContent-Length: 4\r\n"
                  "Expect: 100-continue\r\n\r\n".encode())
        got = b""
        while minor and not got.endswith(b"\r\n\r\n"):
            got += s.recv(1)
        assert not minor or got.startswith(b"HTTP/1.1 100 ")
        s.sendall(b"abcd")
        assert s.recv(1000).split(b" ")[1] == b"200"
    assert origin.last().body == b"abcd"
    assert origin.last().get("Expect") == ("100-continue" if minor else None)

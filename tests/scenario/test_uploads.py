"""Requests with a body, and large answers to them."""

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

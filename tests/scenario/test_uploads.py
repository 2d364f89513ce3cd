"""Requests with a body, and large answers to them."""

import pytest

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

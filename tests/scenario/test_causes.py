"""Why an origin fails: each fault has a line in the log that names origin and
cause, and a metric with both."""

import re
import shutil
import socket

import pytest

from certificates import Authority
from cluster import request, until


def failures(node):
    """By origin and cause, as /metrics has them."""
    return {(origin, cause): int(n) for origin, cause, n in re.findall(
        r'^digestd_origin_failures_total\{origin="(.*)",cause="(\w+)"\} (\d+)$',
        request(node.admin, "/metrics").body.decode(), re.M)}


def test_each_has_its_own(make_cluster, serve):
    def hang_up(request, connection):
        return None

    def babble(request, connection):
        return b"220 smtp.example.com ready\r\n"

    def break_off(request, connection):
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx")

    def wait(request, connection):
        connection.recv(1)
    plain = serve(babble).port
    with socket.create_server(("127.0.0.1", 0)) as s:
        nobody = s.getsockname()[1]
    rows = (
        (f"http://127.0.0.1:{nobody}", "refused", "it refuses connections"),
        ("http://nobody.invalid", "no_such_name|name_server", "name"),
        (f"http://127.0.0.1:{serve(hang_up).port}", "hung_up",
         "it hung up without an answer"),
        (f"http://127.0.0.1:{plain}", "not_http", "no valid answer"),
        (f"http://127.0.0.1:{serve(break_off).port}", "cut_off",
         "its answer broke off"),
        (f"http://127.0.0.1:{serve(wait).port}", "answer_timeout",
         "no answer within origin_timeout"),
        (f"https://127.0.0.1:{plain}", "no_tls|unreachable", ""),
    )
    c = make_cluster(1, origin_timeout="300ms")
    node = c.nodes[0]
    node.lines = [f'origin "h{i}" {{ url = "{url}" }}'
                  for i, (url, _, _) in enumerate(rows)]
    c.start()
    for i in range(len(rows)):
        for _ in range(2):
            try:
                node.get(f"/{i}", host=f"h{i}")
            except OSError:
                pass  # a reply that breaks off
    found = failures(node)
    logged = node.process.logged()
    assert len(found) == len(rows), found
    for url, causes, text in rows:
        (cause,) = (c for origin, c in found if origin == url)
        assert re.fullmatch(causes, cause), (url, cause)
        assert found[url, cause] == 2
        # the second one says nothing new
        lines = re.findall(f"warning fetch: origin {re.escape(url)}: .*",
                           logged)
        assert len(lines) == 1 and text in lines[0], (url, lines)


def test_certificates(make_cluster, origin, tmp_path):
    if not shutil.which("openssl"):
        pytest.skip("openssl is not installed")
    other = Authority(tmp_path)
    pair = other.issue("origin")
    c = make_cluster(2, tls_data_certificate=pair[0], tls_data_key=pair[1],
                     cooperate=False)
    c.origin_url = origin.url
    one, behind = c.nodes
    url = f"https://localhost:{one.data}"
    behind.options.update(default_origin=url, tls_data_certificate=None,
                          tls_data_key=None)
    c.start()
    assert behind.get("/").status == 502
    assert failures(behind) == {(url, "certificate"): 1}
    until(lambda: f"origin {url}: its certificate is not trusted"
          in behind.process.logged())

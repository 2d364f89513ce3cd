"""The front door: what clients may say of themselves, and what old and odd ones
send."""

import os
import re
import socket
import time

import pytest

import cluster as scd
from cluster import request, until
from test_tls import MAXAGE

CLAIMS = {
    "X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https",
    "X-Forwarded-For": "192.0.2.7", "X-Forwarded": "a", "Forwarded":
    "host=evil.example;proto=https", "X-Original-URL": "/evil",
    "X-Rewrite-URL": "/evil", "X_Forwarded_Host": "evil.example",
    "x-forwarded-port": "1", "X-Real-IP": "192.0.2.7",
    "X-HOST": "evil.example", "X-HTTP-Host-Override": "evil.example",
    "X-Client-IP": "192.0.2.7", "X-Cluster-Client-IP": "192.0.2.7",
    "True-Client-IP": "192.0.2.7", "Client-IP": "192.0.2.7",
    "CF-Connecting-IP": "192.0.2.7", "CF-Connecting-IPv6": "2001:db8::7",
    "Cf-Pseudo-IPv4": "240.0.0.7", "Fastly-Client-IP": "192.0.2.7",
}


def behind(make_cluster, origin, **options):
    c = make_cluster(1, **options)
    c.origin_url = origin.url
    return c.start().nodes[0]


def send(port, data, timeout=10):
    """What comes back for these bytes, until the other end closes."""
    with socket.create_connection(("127.0.0.1", port), timeout) as s:
        s.sendall(data)
        got = b""
        try:
            while part := s.recv(65536):
                got += part
        except ConnectionResetError:
            pass
        return got


def test_clients_do_not_choose_what_others_get(make_cluster, origin):
    """An origin that redirects to https, and makes links of what it is told."""
    node = behind(make_cluster, origin)
    origin.set("/", fields=MAXAGE, body=b"x")
    node.get("/", headers=dict(CLAIMS, X_Other="stays"))
    seen = origin.last()
    assert [n for n, _ in seen.fields
            if n.lower().replace("_", "-").startswith(
                ("x-", "f", "t", "cl", "cf"))] \
        == ["X_Other", "X-Forwarded-For"]
    assert seen.get("X-Forwarded-For") == "127.0.0.1"


def test_claims_do_not_select_variants(make_cluster, origin):
    node = behind(make_cluster, origin)
    origin.set("/", fields=dict(MAXAGE, Vary="X-Forwarded-Proto"), body=b"x")
    for scheme in ("https", "gopher", "http"):
        node.get("/", headers={"X-Forwarded-Proto": scheme})
    assert origin.count("/") == 1


def test_the_scheme_is_in_the_key(make_cluster, origin):
    """That of a trusted proxy, as X-Forwarded-Proto or as Forwarded."""
    node = behind(make_cluster, origin, trusted_proxies="10.0.0.0/8 127.0.0.1",
                  forwarded="x-forwarded")
    origin.set("/", fields=MAXAGE, body=b"x")
    for fields, scheme, count in (
            ({"X-Forwarded-Proto": "http"}, "http", 1),
            ({}, "http", 1),
            ({"X-Forwarded-Proto": "gopher"}, "http", 1),
            ({"X-Forwarded-Proto": "HTTPS"}, "https", 2),
            ({"X-Forwarded-Proto": "http, https"}, "https", 2),
            ({"Forwarded": "for=a;proto=http, for=b; Proto=\"https\""},
             "https", 2)):
        r = node.get("/", headers=fields)
        assert (r.status, origin.count("/")) == (200, count), fields
        assert origin.last().get("X-Forwarded-Proto") == scheme


def test_the_scheme_of_an_absolute_target_does_not_count(make_cluster, origin):
    """Else a client could store the redirect to https as the https page."""
    node = behind(make_cluster, origin, trusted_proxies="127.0.0.1",
                  forwarded="x-forwarded")
    origin.set("/", fields=MAXAGE, body=b"x")
    for named, scheme, count in (("http", "http", 1), ("https", "http", 1),
                                 ("http", "https", 2), ("https", "https", 2)):
        node.get(f"{named}://www.example.com/",
                 headers={"X-Forwarded-Proto": scheme})
        node.get("/", headers={"X-Forwarded-Proto": scheme})
        assert origin.count("/") == count, (named, scheme)
        assert origin.last().get("X-Forwarded-Proto") == scheme


def test_a_purge_is_for_both_schemes(make_cluster, origin):
    node = behind(make_cluster, origin, trusted_proxies="127.0.0.1")
    origin.set("/a", fields=MAXAGE, body=b"x")

    def fill():
        for scheme in ("http", "https"):
            node.get("/a", headers={"X-Forwarded-Proto": scheme})
    for headers in ({}, {"Purge-Prefix": "http://www.example.com/"},
                    {"Purge-Prefix": "https://www.example.com/a"}):
        fill()
        r = request(node.admin, "/" if headers else "/a", method="PURGE",
                    headers=headers)
        assert b'"purged": 2' in r.body, (headers, r.body)


def test_http_1_0_without_host(make_cluster, origin):
    """What haproxy sends as a health check, and what is no request."""
    node = behind(make_cluster, origin)
    origin.set("/", body=b"home")
    assert send(node.data, b"GET / HTTP/1.0\r\n\r\n").endswith(b"home")
    seen = origin.last()
    assert seen.get("Host") == f"127.0.0.1:{origin.port}"
    got = send(node.data, b"OPTIONS / HTTP/1.0\r\n\r\n")
    assert got.startswith(b"HTTP/1.1 200")
    assert origin.last().method == "OPTIONS"
    assert b" 400 " in send(node.data, b"GET / HTTP/1.1\r\n\r\n")
    other = make_cluster(1, forward=True).start().nodes[0]
    assert b" 400 " in send(other.data, b"GET / HTTP/1.0\r\n\r\n")


def test_options_asterisk(make_cluster, origin):
    node = behind(make_cluster, origin)
    origin.set("*", body=b"")
    ask = b"OPTIONS * HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
    assert send(node.data, ask + b"\r\n").startswith(b"HTTP/1.1 200")
    assert (origin.last().method, origin.last().target) == ("OPTIONS", "*")
    assert send(node.data, ask + b"Max-Forwards: 2\r\n\r\n")
    assert origin.last().get("Max-Forwards") == "1"
    count = len(origin.requests)
    for line in (b"OPTIONS *", b"OPTIONS /x"):
        got = send(node.data, ask.replace(b"OPTIONS *", line)
                   + b"Max-Forwards: 0\r\n\r\n")
        assert got.startswith(b"HTTP/1.1 200") and b"\r\nAllow: GET, " in got
    assert len(origin.requests) == count
    # where no origin fits, it is about the node
    other = make_cluster(1, forward=True).start().nodes[0]
    for asked in (ask, b"OPTIONS * HTTP/1.0\r\n"):
        got = send(other.data, asked + b"\r\n")
        assert got.startswith(b"HTTP/1.1 200") and b"\r\nAllow: GET, " in got
    assert b" 400 " in send(node.data, ask.replace(b"OPTIONS", b"GET")
                            + b"\r\n")


def headers(size, lines, cookies):
    """A request's header of about so many bytes."""
    head = b"GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
    if cookies:
        head += b"Cookie: " + b"; ".join(b"n%d=0123456789" % i
                                         for i in range(cookies)) + b"\r\n"
    left = size - len(head) - 2
    for i in range(lines):
        line = b"X-%d: " % i
        head += line + b"v" * (left // lines - len(line) - 2) + b"\r\n"
    return head + b"\r\n"


@pytest.mark.parametrize("limit", [1024, 8192, 32768])
def test_headers_of_every_size_are_answered(make_cluster, origin, limit):
    """With an answer, or with 431: never by a close without a byte. Those of a
    browser with 60 cookies fit as long as they are within the limit."""
    node = behind(make_cluster, origin, max_header_size=str(limit))
    origin.set("/a", fields=MAXAGE, body=b"x")
    large = 0
    for lines, cookies in ((1, 0), (20, 0), (95, 0), (120, 0), (12, 60),
                           (4, 400), (1, 2500)):
        for size in range(1000, 2 * limit + 100, limit // 16 + 1):
            data = headers(size, lines, cookies)
            with socket.create_connection(("127.0.0.1", node.data), 10) as s:
                s.sendall(data)
                got = s.recv(65536)
            assert got[:12] in (b"HTTP/1.1 200", b"HTTP/1.1 431"), (
                len(data), lines, cookies, got)
            # a hundred fields are allowed, Host and Connection among them
            if len(data) - len("GET /a HTTP/1.1\r\n") > limit or lines > 98:
                assert got[9:12] == b"431"
            else:
                assert got[9:12] == b"200", (len(data), lines, cookies)
            large += got[9:12] == b"431"
    assert b" 414 " in send(node.data, b"GET /" + b"a" * max(limit, 8000)
                            + b" HTTP/1.1\r\nHost: h\r\n\r\n")[:13]
    assert node.counters()["too_large"] == large + 1
    assert "larger than max_header_size" in node.process.logged()


def test_slow_uploads_do_not_take_all_places(make_cluster, origin):
    node = behind(make_cluster, origin, max_connections="200")
    origin.set("/a", fields=MAXAGE, body=b"x")
    slow = []
    for i in range(205):
        s = socket.socket()
        s.bind(("127.0.0.2", 0))
        s.connect(("127.0.0.1", node.data))
        s.sendall(b"POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n"
                  b"\r\nx")
        slow.append(s)
    until(lambda: node.counters()["requests"] >= 190, what="uploads begun")
    time.sleep(1.1)
    good = [socket.create_connection(("127.0.0.1", node.data), 10)
            for _ in range(21)]
    for s in good:
        s.sendall(b"GET /a HTTP/1.1\r\nHost: h\r\n\r\n")
    for s in good:
        assert s.recv(12) == b"HTTP/1.1 200"
        s.close()
    # a good upload of another address is not the one that goes
    body = b"x" * 100000
    r = request(node.data, "/up", method="POST", body=body)
    assert r.status == 404 and origin.was_sent(body)
    assert node.counters()["crowded_out"] >= 15
    for s in slow:
        s.close()


def start_with(node, descriptors, log):
    """The process, with so many descriptors at the most."""
    return scd.Process(
        ["sh", "-c",
         f"ulimit -n {descriptors}; exec {scd.DIGESTD} -c {node.path}"], log)


def test_with_too_few_descriptors_it_does_not_start(make_cluster, origin):
    """And where it starts, it serves: there is nothing in between."""
    c = make_cluster(1, threads=1)
    c.origin_url = origin.url
    origin.set("/a", fields=MAXAGE, body=b"x")
    node = c.nodes[0]
    node.write()
    refused = ""
    for limit in range(17, 60):
        node.process = start_with(node, limit,
                                  os.path.join(c.dir, f"{limit}.log"))
        until(lambda: node.process.popen.poll() is not None
              or "data on port" in node.process.logged())
        if node.process.popen.poll() is None:
            break
        assert node.process.popen.returncode == 1
        refused = node.process.logged()
    c.processes.append(node.process)
    node.wait_ready()
    assert re.search(f"limit of {limit - 1} open files leaves 5 for clients, "
                     "peers and origins, and 6 are needed", refused)
    assert node.get("/a").status == 200


def test_few_descriptors_are_enough(make_cluster, origin):
    """Clients that leave in the middle of a header, more than there may be
    open files."""
    c = make_cluster(1)
    c.origin_url = origin.url
    origin.set("/a", fields=MAXAGE, body=b"x")
    node = c.nodes[0]
    node.write()
    log = os.path.join(c.dir, "few.log")
    node.process = start_with(node, 64, log)
    c.processes.append(node.process)
    node.wait_ready()
    assert "max_connections = 4096 needs more than the limit of 64 open " \
        "files: each listener of each thread takes " in node.process.logged()
    gone = []
    for i in range(300):
        s = socket.create_connection(("127.0.0.1", node.data), 10)
        s.sendall(b"GET /a HTTP/1.1\r\nHost:")
        gone.append(s)
        if i >= 150:
            gone[i - 150].close()
    began = time.monotonic()
    for _ in range(10):
        assert node.get("/a").status == 200
    assert time.monotonic() - began < 5 * scd.SLOW
    for s in gone:
        s.close()

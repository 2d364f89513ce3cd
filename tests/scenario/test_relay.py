"""Requests for a large object that another request is fetching already."""

import socket
import threading
import time

import cluster as scd
import servers
from cluster import until

SIZE = 3_000_000
HALF = SIZE // 2
BODY = bytes(range(256)) * (SIZE // 256) + b"." * (SIZE % 256)


class InHalves:
    """A page that comes in two halves, the second one when told."""

    def __init__(self, second=BODY[HALF:], **fields):
        self.go, self.second, self.asked = threading.Event(), second, 0
        self.fields = {"Cache-Control": "max-age=60",
                       **{k.replace("_", "-"): v for k, v in fields.items()}}

    def __call__(self, request, connection):
        self.asked += 1
        connection.sendall(servers.response(200, self.fields, BODY[:HALF],
                                            length=SIZE))
        self.go.wait(20)
        connection.sendall(self.second)
        # one that is short ends here
        return b"" if len(self.second) == SIZE - HALF else None


class Client:
    """A request whose response is read piece by piece."""

    def __init__(self, node, path="/a", fields=""):
        self.socket = socket.create_connection(("127.0.0.1", node.data), 20)
        self.socket.sendall(f"GET {path} HTTP/1.1\r\nHost: h\r\n{fields}"
                            "Connection: close\r\n\r\n".encode())
        self.got = b""

    def read(self, length=None):
        """Until so many bytes of the body are here; None: to the end."""
        while length is None or len(self.body()) < length:
            more = self.socket.recv(65536)
            if not more:
                break
            self.got += more
        return self.body()

    def body(self):
        return self.got.partition(b"\r\n\r\n")[2]


def crowd(node, page, count=12):
    """A first one that has half of it, and then others, who get it too."""
    first = Client(node)
    assert len(first.read(HALF)) == HALF
    others = [Client(node) for _ in range(count)]
    for c in others:
        assert c.read(HALF) == BODY[:HALF]
    assert page.asked == 1
    return [first, *others]


def start(make_cluster, origin, page):
    c = make_cluster(1, threads=2)
    c.origin_url = origin.url
    origin.pages["/a"] = page
    return c.start().nodes[0]


def test_all_read_what_has_come(make_cluster, origin):
    page = InHalves()
    node = start(make_cluster, origin, page)
    clients = crowd(node, page)
    page.go.set()
    for c in clients:
        assert c.read() == BODY
    assert b"collapsed" in clients[-1].got
    assert node.get("/a", host="h").source == "hit"
    assert page.asked == 1 and node.counters()["collapsed"] == 12


def test_those_who_wait_for_the_header(make_cluster, origin):
    begin, page = threading.Event(), InHalves()

    def slow(request, connection):
        begin.wait(20)
        return page(request, connection)

    node = start(make_cluster, origin, slow)
    clients = [Client(node) for _ in range(8)]
    until(lambda: node.counters()["requests"] >= 8)
    begin.set()
    for c in clients:
        assert c.read(HALF) == BODY[:HALF]
    page.go.set()
    assert all(c.read() == BODY for c in clients)
    assert page.asked == 1


def test_the_first_leaves_before_the_header(make_cluster, origin):
    """The others go on waiting for what was asked for it."""
    begin, page = threading.Event(), InHalves()

    def slow(request, connection):
        begin.wait(20)
        return page(request, connection)

    node = start(make_cluster, origin, slow)
    first = Client(node)
    until(lambda: origin.count("/a") == 1)
    clients = [Client(node) for _ in range(20)]
    until(lambda: node.counters()["requests"] >= 21)
    first.socket.close()
    until(lambda: node.counters()["aborted"] == 1)
    begin.set()
    page.go.set()
    assert all(c.read() == BODY for c in clients)
    assert page.asked == 1


def test_nobody_waits_in_line_for_what_is_not_shared(make_cluster, origin):
    """The first time they find out, and then no more."""
    pause = .3

    def own(_request, connection):
        time.sleep(pause)
        connection.sendall(servers.response(
            200, {"Cache-Control": "no-store"}, b"own"))
        return b""

    def took():
        began = time.monotonic()
        clients = [Client(node) for _ in range(5)]
        assert all(c.read() == b"own" for c in clients)
        return time.monotonic() - began

    node = start(make_cluster, origin, own)
    assert took() > 1.8 * pause
    assert took() < 1.8 * pause * scd.SLOW
    # until one response is for all
    origin.set("/a", fields={"Cache-Control": "max-age=60"}, body=b"all")
    assert node.get("/a", host="h").body == b"all"
    assert node.get("/a", host="h").source == "hit"


def test_it_breaks_off_for_all(make_cluster, origin):
    page = InHalves(second=b"short")
    node = start(make_cluster, origin, page)
    clients = crowd(node, page)
    page.go.set()
    for c in clients:
        assert len(c.read()) < SIZE  # and no more comes: it is closed
    page.second = BODY[HALF:]
    assert node.get("/a", host="h").body == BODY


def test_anybody_may_leave(make_cluster, origin):
    page = InHalves()
    node = start(make_cluster, origin, page)
    clients = crowd(node, page)
    for c in clients[::2]:
        c.socket.close()
    page.go.set()
    for c in clients[1::2]:
        assert c.read() == BODY
    assert node.get("/a", host="h").source == "hit"
    assert page.asked == 1


def test_another_variant_is_fetched(make_cluster, origin):
    page = InHalves(Vary="Accept-Language")
    node = start(make_cluster, origin, page)
    clients = crowd(node, page, 1)
    other = Client(node, fields="Accept-Language: de\r\n")
    until(lambda: page.asked == 2)
    page.go.set()
    assert all(c.read() == BODY for c in [*clients, other])

"""Clients that are slow on purpose: they are closed in time, and cost nobody
else. A few hundred of each kind; 2,000 and a bound of the delay by
SCD_TEST_LONG."""

import os
import socket
import statistics
import threading
import time

import pytest

import cluster as scd
from cluster import request, until

LONG = bool(os.environ.get("SCD_TEST_LONG"))
SLOW_CLIENTS = 2000 if LONG else 200
ROUNDS = 5000 if LONG else 500
ASK = b"GET /%s HTTP/1.1\r\nHost: www.example.com\r\n\r\n"


class SlowClients:
    """Headers and bodies, a byte now and then, as long as the node lets them.

    One that reads does not see for long that it was closed: its own machine
    has some of the body yet. The node's counters tell."""

    def __init__(self, port, count):
        self.open, self.stop = [], False
        for i in range(2 * count):
            s = socket.socket()
            reads = i % 2 == 1
            if reads:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            s.connect(("127.0.0.1", port))
            s.sendall(ASK % b"big" if reads else b"GET /small HTTP/1.1\r\nX: ")
            s.setblocking(False)
            self.open.append((s, reads))
        self.cut_off = 0  # of those that send headers
        self.thread = threading.Thread(target=self.drip)
        self.thread.start()

    def drip(self):
        over = set()
        while not self.stop:
            for s, reads in self.open:
                try:
                    if reads:
                        s.recv(1)
                    elif s not in over:
                        s.send(b"x")
                except BlockingIOError:
                    pass
                except OSError:
                    if not reads:
                        over.add(s)
                        self.cut_off += 1
            time.sleep(0.1)

    def end(self):
        self.stop = True
        self.thread.join()
        for s, _ in self.open:
            s.close()


def answered(s):
    """Asks; None: the connection was closed before, as it was idle."""
    data = b""
    try:
        s.sendall(ASK % b"small")
        while not data.endswith(b"x" * 100):
            part = s.recv(4096)
            assert part or not data
            if not part:
                return None
            data += part
    except ConnectionError:
        assert not data
        return None
    return data


def load(port, rounds):
    """Requests one after the other; how long each took [s]. A machine that is
    busy elsewhere may let their connection be idle for too long."""
    took = []
    while len(took) < rounds:
        with socket.create_connection(("127.0.0.1", port), 20) as s:
            first = len(took)
            while len(took) < rounds:
                began = time.monotonic()
                data = answered(s)
                if data is None:
                    break
                assert data.startswith(b"HTTP/1.1 200")
                took.append(time.monotonic() - began)
            assert len(took) > first
    return took


def p99(took):
    return statistics.quantiles(took, n=100)[98]


@pytest.fixture
def pages(make_cluster, origin):
    """A node with a small and a big page in its store."""
    def make(**options):
        fields = {"Cache-Control": "max-age=600"}
        origin.set("/small", fields=fields, body=b"x" * 100)
        origin.set("/big", fields=fields, body=b"y" * (8 << 20))
        c = make_cluster(1, **options)
        c.origin_url = origin.url
        node = c.start().nodes[0]
        for page in ("/small", "/big"):
            node.get(page)
            assert node.get(page).source == "hit"
        return node
    return make


def test_slow_clients_cost_nobody_else(pages):
    node = pages(header_timeout="2s", idle_timeout="1s", max_connections="8192",
                 client_min_rate="8K")
    before = load(node.data, ROUNDS)
    slow = SlowClients(node.data, SLOW_CLIENTS)
    try:
        during = load(node.data, ROUNDS)
        if LONG:
            bound = 2 * p99(before) + 0.005
            assert p99(during) <= bound, (p99(before), p99(during))
        until(lambda: slow.cut_off == SLOW_CLIENTS, 30, what="headers closed")
        until(lambda: node.counters()["aborted"] == SLOW_CLIENTS, 30,
              what="readers closed")
        assert load(node.data, 10)
    finally:
        slow.end()


def test_slow_uploads_are_closed(pages):
    node = pages(idle_timeout="1s", client_min_rate="1K")
    with socket.create_connection(("127.0.0.1", node.data), 20) as s:
        s.sendall(b"POST /small HTTP/1.1\r\nHost: www.example.com\r\n"
                  b"Content-Length: 1000000\r\n\r\n")

        def is_over():
            try:
                s.send(b"x")
            except OSError:
                return True
            return False
        until(is_over, 20, every=0.1, what="closed")
    assert "408 to 127.0.0.1: its body came too slowly" in \
        node.process.logged()


def test_steady_clients_may_take_long(pages):
    """Slow, but not below the rate: all of it comes, however long it takes."""
    node = pages(idle_timeout="1s", client_min_rate="16K")
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        s.settimeout(20)
        s.connect(("127.0.0.1", node.data))
        s.sendall(ASK % b"big")
        got = 0
        while got < 8 << 20:
            part = s.recv(1 << 16)
            assert part, got
            got += len(part)
            time.sleep(len(part) / (3 << 20))


def test_idle_connections_make_room(pages):
    """Whoever takes all places and says nothing keeps nobody out."""
    node = pages(max_connections="50", header_timeout="5m", idle_timeout="5m")
    held = [socket.create_connection(("127.0.0.1", node.data), 20)
            for _ in range(200)]
    for s in held:
        try:
            s.sendall(b"GET /small HTTP/1.1\r\nX: ")
        except OSError:
            pass  # it had to go already
    assert len(load(node.data, 100)) == 100
    assert node.counters()["crowded_out"] >= 150
    for s in held:
        s.close()


def test_connections_of_one_address_are_limited(pages):
    node = pages(client_connections="3")
    held = []

    def holds_one():
        """Those that came before may be there for a moment yet."""
        s = socket.create_connection(("127.0.0.1", node.data), 20)
        try:
            s.sendall(ASK % b"small")
            if s.recv(4096).startswith(b"HTTP/1.1 200"):
                held.append(s)
                return True
        except OSError:
            pass
        s.close()
        return False
    for _ in range(3):
        until(holds_one, what="a connection")
    with pytest.raises((OSError, scd.http.client.HTTPException)):
        request(node.data, "/small")
    assert request(node.admin, "/healthz").status == 200
    held.pop().close()

    def served():
        try:
            return request(node.data, "/small").status == 200
        except (OSError, scd.http.client.HTTPException):
            return False
    until(served, what="room again")
    for s in held:
        s.close()

"""Connections that change protocols, as WebSockets do: tunnels."""

import shutil
import signal
import socket
import threading
import time

import pytest

import servers
from certificates import Authority
from cluster import until

MAXAGE = {"Cache-Control": "max-age=600"}
SWITCH = (b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
          b"Upgrade: websocket\r\nSec-WebSocket-Accept: x\r\n\r\n")


BLOCKS = 300  # of 64 KiB: more than sockets hold


class Tunnel:
    """A client's connection after its request; status and fields: the answer's.
    """

    def __init__(self, node, target="/ws", protocol="websocket", tls=None,
                 room=None, **fields):
        s = socket.socket()
        s.settimeout(10)
        if room:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        s.connect(("127.0.0.1", node.data))
        self.s = tls.wrap_socket(s, server_hostname="127.0.0.1") if tls else s
        lines = [f"GET {target} HTTP/1.1", "Host: www.example.com",
                 f"Upgrade: {protocol}", "Connection: keep-alive, Upgrade",
                 "Sec-WebSocket-Key: key"]
        lines += [f"{k.replace('_', '-')}: {v}" for k, v in fields.items()]
        self.s.sendall("\r\n".join(lines + ["", ""]).encode())
        self.answer = b""
        while not self.answer.endswith(b"\r\n\r\n"):
            byte = self.s.recv(1)
            if not byte:
                break
            self.answer += byte
        self.status = int(self.answer[9:12])

    def read(self, n):
        got = bytearray()
        while len(got) < n:
            part = self.s.recv(min(n - len(got), 65536))
            if not part:
                break
            got += part
        return bytes(got)

    def say(self, data):
        self.s.sendall(data)
        return self.read(len(data))

    def is_closed(self):
        """At once: it does not wait for the other end."""
        self.s.settimeout(0)
        try:
            return self.s.recv(1) == b""
        except BlockingIOError:
            return False
        except ConnectionResetError:
            return True

    def close(self):
        self.s.close()


def echo(_, connection):
    """An origin that agrees, and says what it hears, and b"end" at the end."""
    connection.sendall(SWITCH)
    while data := connection.recv(65536):
        connection.sendall(data)
    connection.sendall(b"end")


def behind(make_cluster, origin, **options):
    c = make_cluster(1, **options)
    c.origin_url = origin.url
    return c.start().nodes[0]


def test_a_tunnel(make_cluster, origin):
    node = behind(make_cluster, origin)
    origin.pages["/ws"] = echo
    t = Tunnel(node)
    assert t.status == 101
    for line in (b"Upgrade: websocket", b"Connection: Upgrade",
                 b"Sec-WebSocket-Accept: x", b"Via: 1.1 " + node.name.encode()):
        assert b"\r\n" + line + b"\r\n" in t.answer
    seen = origin.last()
    assert (seen.get("Upgrade"), seen.get("Connection"),
            seen.get("Sec-WebSocket-Key"), seen.get("X-Forwarded-For")) \
        == ("websocket", "Upgrade", "key", "127.0.0.1")
    assert t.say(b"hello") == b"hello"
    assert node.counters()["tunnels"] == 1
    assert node.counters()["tunnels_ended"] == 0
    big = bytes(range(251)) * 8000
    threading.Thread(target=t.s.sendall, args=(big,), daemon=True).start()
    assert t.read(len(big)) == big
    t.s.shutdown(socket.SHUT_WR)  # the origin hears of it, and has its say
    assert t.read(10) == b"end"
    t.close()
    until(lambda: node.counters()["tunnels_ended"] == 1)
    counters = node.counters()
    assert counters["tunnel_bytes"] == 2 * (5 + len(big)) + 3
    assert counters["origin_errors"] == counters["errors"] == 0


def test_an_origin_that_is_done_first(make_cluster, origin):
    heard = []

    def page(_, connection):
        connection.sendall(SWITCH + b"bye")
        connection.shutdown(socket.SHUT_WR)
        while data := connection.recv(65536):
            heard.append(data)
    origin.pages["/ws"] = page
    node = behind(make_cluster, origin)
    t = Tunnel(node)
    assert t.read(10) == b"bye"
    t.s.sendall(b"more")
    until(lambda: b"".join(heard) == b"more")
    t.close()
    until(lambda: node.counters()["tunnels_ended"] == 1)


def test_an_upgrade_is_nobody_elses(make_cluster, origin):
    """Not answered from the store, not collapsed, not stored."""
    node = behind(make_cluster, origin)
    origin.set("/ws", fields=MAXAGE, body=b"page")
    assert node.get("/ws").source == "origin"
    assert node.get("/ws").source == "hit"
    origin.pages["/ws"] = echo
    tunnels = [Tunnel(node) for _ in range(3)]
    assert [t.status for t in tunnels] == [101] * 3
    for i, t in enumerate(tunnels):
        assert t.say(b"%d" % i) == b"%d" % i
        t.close()
    assert node.get("/ws").body == b"page"
    origin.set("/other", fields=MAXAGE, body=b"no")
    for _ in range(2):  # another answer is an answer
        t = Tunnel(node, "/other", Connection="close")
        assert t.status == 200 and t.read(10) == b"no"
        assert b"upgrade" not in t.answer.lower()
        t.close()
    assert origin.count("/other") == 2
    assert node.get("/other").source == "origin"


def test_protocols_that_are_not_passed_on(make_cluster, origin):
    """An ordinary request, that the store may answer."""
    node = behind(make_cluster, origin)
    origin.set("/ws", fields=MAXAGE, body=b"page")
    for protocol in ("h2c", "websocket, HTTP/2.0", "TLS/1.0"):
        t = Tunnel(node, protocol=protocol)
        assert t.status == 200 and t.read(4) == b"page"
        t.close()
    assert origin.count() == 1
    assert origin.last().get("Upgrade") is None


def test_what_was_not_asked_for(make_cluster, origin):
    node = behind(make_cluster, origin)
    for target, head in (("/a", SWITCH.replace(b"websocket", b"other")),
                         ("/b", SWITCH.replace(b"Upgrade: w", b"X: w"))):
        origin.pages[target] = lambda _, connection, head=head: \
            connection.sendall(head)
        t = Tunnel(node, target)
        assert t.status == 502, target
        t.close()
    origin.pages["/c"] = lambda _, connection: connection.sendall(SWITCH)
    assert node.get("/c").status == 502
    assert node.counters()["tunnels"] == 0


def test_silence_ends_a_tunnel(make_cluster, origin):
    """A tunnel where one end says something now and then stays."""
    node = behind(make_cluster, origin, tunnel_timeout="500ms")
    origin.pages["/ws"] = echo
    silent, busy = Tunnel(node), Tunnel(node)
    begin = time.monotonic()
    while time.monotonic() < begin + 1.2:
        assert busy.say(b"x") == b"x"
        time.sleep(.05)
    assert silent.is_closed()
    assert node.counters()["tunnels_ended"] == 1
    assert busy.say(b"x") == b"x"
    busy.close()


def test_a_drain_ends_tunnels_in_its_time(make_cluster, origin):
    node = behind(make_cluster, origin, drain="1s")
    origin.pages["/ws"] = echo
    t = Tunnel(node)
    node.process.signal(signal.SIGTERM)
    time.sleep(.2)
    assert t.say(b"still") == b"still"
    assert node.process.wait(10) == 0
    assert t.is_closed()


def test_who_does_not_listen_holds_up_the_other(make_cluster, origin):
    """And takes no memory for what has not been read."""
    sent = []

    def flood(_, connection):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
        connection.sendall(SWITCH)
        block = b"x" * 65536
        for _ in range(BLOCKS):
            connection.sendall(block)
            sent.append(len(block))
    origin.pages["/ws"] = flood
    node = behind(make_cluster, origin)
    t = Tunnel(node, room=65536)
    before = -1
    while before != len(sent):
        before = len(sent)
        time.sleep(.3)
    assert 0 < before < BLOCKS * 3 / 4
    memory = node.status()["memory"]
    assert memory["streams"] + memory["uploads"] <= 65536
    assert t.read(BLOCKS * 65536) == b"x" * BLOCKS * 65536
    t.close()


def test_with_tls_at_both_ends(make_cluster, tmp_path):
    if not shutil.which("openssl"):
        pytest.skip("openssl is not installed")
    ca = Authority(tmp_path)
    pair = ca.issue("node")
    secure = servers.Server(echo, tls=ca.server(pair))
    try:
        c = make_cluster(1, tls_data_certificate=pair[0],
                         tls_data_key=pair[1], tls_origin_ca=ca.pem)
        c.origin_url = secure.url
        node = c.start().nodes[0]
        t = Tunnel(node, tls=ca.client())
        assert t.status == 101
        for n in (1, 1000, 16384, 40000):  # one thread: so ssl wants it
            assert t.say(b"0123456789" * n) == b"0123456789" * n
        t.close()
        until(lambda: node.counters()["tunnels_ended"] == 1)
    finally:
        secure.close()

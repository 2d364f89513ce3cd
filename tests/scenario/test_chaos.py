"""Everything at once, at random: an origin that fails and changes its mind,
clients that leave, reloads, kills. Whatever is answered must be right.

The seed is printed when a test fails; SCD_TEST_SEED repeats its choices, not
its timing. Under a sanitizer this is what finds what outlives what.
"""

import http.client
import os
import random
import signal
import socket
import threading
import time
import zlib

import servers
from cluster import request

SECONDS = 60 if os.environ.get("SCD_TEST_LONG") else 4
SEED = int(os.environ.get("SCD_TEST_SEED", str(random.getrandbits(32))))
CLIENTS = 8
POLICIES = ("max-age=1", "max-age=600", "no-store", "max-age=0", "s-maxage=2",
            "max-age=600, stale-while-revalidate=10", "private")
HOST = b"Host: www.example.com\r\n"


def number(path):
    """What decides how the origin treats a path."""
    return zlib.crc32(path.encode())


def body_of(path, version):
    return f"{path}:{version}|".encode() * (number(path) % 3000 + 1)


class Fickle:
    """An origin whose objects get a new version by every unsafe request."""

    def __init__(self, seed):
        self.random, self.versions = random.Random(seed), {}

    def __call__(self, r, connection):
        if r.method not in ("GET", "HEAD"):
            self.versions[r.target] = self.versions.get(r.target, 0) + 1
            return servers.response(204)
        version = self.versions.get(r.target, 0)
        body, kind = body_of(r.target, version), number(r.target)
        fields = {"Cache-Control": POLICIES[kind % len(POLICIES)],
                  "X-Version": str(version)}
        if kind % 3 == 0:
            fields["ETag"] = f'"{version}"'
            if r.get("If-None-Match") == fields["ETag"]:
                return servers.response(304, fields)
        if kind % 5 == 0:
            fields["Vary"] = "Accept-Language"
        whole = servers.response(200, fields, body)
        if r.method == "HEAD":
            return whole[:-len(body)]
        return self.misbehave(whole, fields, body, connection)

    def misbehave(self, whole, fields, body, connection):
        luck = self.random.random()
        if luck < 0.01:
            return servers.reset(None, connection)
        if luck < 0.02:
            connection.sendall(whole[:-(len(body) // 2 + 1)])
            return None
        if luck < 0.03:
            return servers.response(503, {}, b"no")
        if luck < 0.05:
            time.sleep(self.random.random() * 0.3)
        if luck < 0.15:
            return chunked(fields, body)
        return whole


def chunked(fields, body):
    head = servers.response(200, {**fields, "Transfer-Encoding": "chunked"})
    head = head.replace(b"Content-Length: 0\r\n", b"")
    parts = [body[i:i + 1000] for i in range(0, len(body), 1000)] + [b""]
    return head + b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in parts)


class Client(threading.Thread):
    def __init__(self, nodes, seed, stop):
        super().__init__()
        self.nodes, self.random, self.stop = nodes, random.Random(seed), stop
        self.wrong, self.right = [], 0

    def run(self):
        while not self.stop.is_set():
            node = self.random.choice(self.nodes)
            path = f"/{min(int(self.random.paretovariate(0.5)), 999)}"
            try:
                self.choose()(node, path)
            except (OSError, http.client.HTTPException):
                pass  # the node was killed, or the origin broke off

    def choose(self):
        luck = self.random.random()
        if luck < 0.02:
            return self.leave
        if luck < 0.04:
            return self.pipeline
        return self.change if luck < 0.06 else self.ask

    def ask(self, node, path):
        fields = {}
        for name, share, values in (
                ("Accept-Language", 0.2, ("de", "en")),
                ("Cache-Control", 0.05, ("no-cache", "no-store", "max-age=0",
                                         "only-if-cached")),
                ("If-None-Match", 0.05, ('"0"',)),
                ("Range", 0.03, ("bytes=0-9",)),
                ("Authorization", 0.03, ("Basic eDp5",))):
            if self.random.random() < share:
                fields[name] = self.random.choice(values)
        method = "HEAD" if self.random.random() < 0.05 else "GET"
        r = node.get(path, method=method, headers=fields, timeout=20)
        if r.status in (200, 206):
            whole = body_of(path, int(r.get("X-Version")))
            good = method == "HEAD" or r.body == whole
            if r.status == 206:
                part = whole[:10]
                good = r.body == part and r.get("Content-Range") \
                    == f"bytes 0-{len(part) - 1}/{len(whole)}"
        else:
            good = r.status in (304, 502, 503, 504)
        self.right += good and r.status == 200
        if not good:
            self.wrong.append((path, r.status, len(r.body), r.fields))

    def change(self, node, path):
        node.get(path, method=self.random.choice(("PUT", "POST", "DELETE")),
                 body=b"x" * self.random.randrange(5000), timeout=20)

    def leave(self, node, path):
        """Goes away before the answer, or in the middle of it."""
        with socket.create_connection(("127.0.0.1", node.data), 5) as s:
            s.sendall(b"GET %s HTTP/1.1\r\n%s\r\n" % (path.encode(), HOST))
            if self.random.random() < 0.5:
                s.recv(100)

    def pipeline(self, node, path):
        ask = b"GET %s HTTP/1.1\r\n%s\r\n" % (path.encode(), HOST)
        last = ask.replace(HOST, HOST + b"Connection: close\r\n")
        with socket.create_connection(("127.0.0.1", node.data), 5) as s:
            s.settimeout(20)
            s.sendall(ask * self.random.randrange(1, 5) + last)
            while s.recv(65536):
                pass


def reload_at_random(node, others, choice):
    node.options["max_object_size"] = f"{choice.randrange(1, 9)}M"
    node.options["cache_size"] = f"{choice.randrange(1, 9)}M"
    if choice.random() < 0.3:
        node.peers = [(n.name, n.peer) for n in others if choice.random() < 0.7]
    node.write()
    node.process.signal(signal.SIGHUP)


def disturb(nodes, choice, kill):
    """Something that an operator, or a fault, does to one node."""
    node, luck = choice.choice(nodes), choice.random()
    if luck < 0.4:
        reload_at_random(node, [n for n in nodes if n is not node], choice)
    elif luck < 0.6 and kill:
        node.process.kill()
        node.start()
    elif luck < 0.8:
        for target in ("/metrics", "/status.json"):
            assert request(node.admin, target).status == 200


def chaos(make_cluster, serve, kill):
    print("SCD_TEST_SEED", SEED)
    c = make_cluster(3, cache_size="2M", threads="2")
    c.origin_url = serve(Fickle(SEED)).url
    c.start()
    choice, stop = random.Random(SEED), threading.Event()
    clients = [Client(c.nodes, SEED + i, stop) for i in range(CLIENTS)]
    for client in clients:
        client.start()
    try:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            time.sleep(choice.random() * 0.3)
            disturb(c.nodes, choice, kill)
            for node in c.nodes:
                assert node.process.alive(), node.process.logged()[-4000:]
    finally:
        stop.set()
        for client in clients:
            client.join()
    assert [w for client in clients for w in client.wrong] == []
    assert sum(client.right for client in clients) > 100


def test_everything_at_once(make_cluster, serve):
    chaos(make_cluster, serve, kill=False)


def test_everything_at_once_with_kills(make_cluster, serve):
    chaos(make_cluster, serve, kill=True)

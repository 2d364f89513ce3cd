"""kill -9 at random points under load: no wrong body, no failed start.

Each body tells what it is of, so that a mix-up, a torn one, or one of another
object is seen whatever the node says about it.
"""

import hashlib
import http.client
import itertools
import os
import random
import signal
import threading
import time

import servers
from cluster import until

KILLS = 1000 if os.environ.get("SCD_TEST_LONG") else 20
PAGES = 300
CLIENTS = 4


def make_body(path, version):
    """Some bytes of it, 90 KB, or in between, as path and version want it."""
    start = f"{path} {version} ".encode()
    seed = hashlib.sha256(start).digest()
    size = (10, 700, 5000, 90_000)[seed[0] % 4] + seed[1]
    return start + (seed * (size // len(seed) + 1))[:size]


def is_right(path, body):
    words = body.split(b" ", 2)
    return (len(words) == 3 and words[0].decode() == path
            and body == make_body(path, int(words[1])))


class Clients:
    """Threads that ask for random pages, whether the node is there or not."""

    def __init__(self, node):
        self.node, self.ended = node, threading.Event()
        self.wrong, self.answers, self.hits = [], 0, 0
        self.threads = [threading.Thread(target=self.run, args=(i,))
                        for i in range(CLIENTS)]
        for t in self.threads:
            t.start()

    def run(self, number):
        rng = random.Random(number)
        while not self.ended.is_set():
            c = http.client.HTTPConnection("127.0.0.1", self.node.data,
                                           timeout=20)
            try:
                while not self.ended.is_set():
                    self.ask(c, rng)
            except (OSError, http.client.HTTPException):
                time.sleep(0.01)  # it has been killed
            finally:
                c.close()

    def ask(self, connection, rng):
        path = f"/{int(PAGES * rng.random() ** 2)}"
        # some of them again, so that objects on disk are replaced
        fields = {"Cache-Control": "no-cache"} if rng.random() < 0.05 else {}
        connection.request("GET", path, headers=fields)
        r = connection.getresponse()
        body = r.read()
        self.answers += 1
        self.hits += "; hit" in r.getheader("Cache-Status", "")
        if r.status != 200 or not is_right(path, body):
            self.wrong.append((path, r.status, body[:80]))

    def end(self):
        self.ended.set()
        for t in self.threads:
            t.join()


def test_kill_at_random_points(make_cluster, serve, tmp_path):
    versions = itertools.count(1)

    def answer(r, _):
        return servers.response(200, {"Cache-Control": "max-age=600"},
                                make_body(r.target, next(versions)))

    c = make_cluster(1, disk_path=str(tmp_path / "disk"), disk_size="3M",
                     cache_size="512K")
    c.origin_url = serve(answer).url
    node = c.start().nodes[0]
    clients = Clients(node)
    rng = random.Random(1)

    def has_some():
        return node.status()["disk"]["writes"] > 20

    try:
        until(has_some, what="writes")
        for _ in range(KILLS):
            time.sleep(rng.random() * 0.1)
            node.process.signal(signal.SIGKILL)
            node.process.wait()
            node.start()  # fails if it does not get ready
            disk = node.status()["disk"]
            assert disk["objects"] > 0, node.process.logged()[-3000:]
            assert disk["corrupt"] == 0, node.process.logged()[-3000:]
        until(has_some, what="writes")
    finally:
        clients.end()
    assert not clients.wrong, clients.wrong[:5]
    assert clients.hits

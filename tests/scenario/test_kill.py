"""kill -9 at random points under load, lost writes, flipped bits: no body is
wrong, no start fails.

SCD_TEST_LONG makes it 10,000 kills, 1,000 power failures and 10^5 bits, in half
an hour.
"""

import concurrent.futures
import http.client
import itertools
import os
import random
import signal
import threading
import time

import servers
from bodies import is_right, make_body
from cluster import until

LONG = bool(os.environ.get("SCD_TEST_LONG"))
KILLS = 10000 if LONG else 20
NODES = 4 if LONG else 1  # at the same time, that share the kills
PAGES = 300
CLIENTS = 2 if LONG else 4  # of each


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


def serve_pages(serve):
    """An origin whose pages get another version with each request."""
    versions = itertools.count(1)

    def answer(r, _):
        return servers.response(200, {"Cache-Control": "max-age=600"},
                                make_body(r.target, next(versions)))
    return serve(answer).url


def has_some(node):
    return node.status()["disk"]["writes"] > 20


def kill(node):
    node.process.signal(signal.SIGKILL)
    node.process.wait()


def kill_under_load(node, kills, seed):
    clients = Clients(node)
    rng = random.Random(seed)
    try:
        until(lambda: has_some(node), 60, what="writes")
        for _ in range(kills):
            time.sleep(rng.random() * 0.1)
            kill(node)
            node.start()  # fails if it does not get ready
            disk = node.status()["disk"]
            assert disk["objects"] > 0, node.process.logged()[-3000:]
            assert disk["corrupt"] == 0, node.process.logged()[-3000:]
        until(lambda: has_some(node), 60, what="writes")
    finally:
        clients.end()
    assert not clients.wrong, clients.wrong[:5]
    assert clients.hits


def test_kill_at_random_points(make_cluster, serve, tmp_path):
    c = make_cluster(NODES, cooperate=False, disk_size="3M",
                     cache_size="512K", admission="none")
    c.origin_url = serve_pages(serve)
    for node in c.nodes:
        node.options["disk_path"] = str(tmp_path / node.name)
    c.start()
    with concurrent.futures.ThreadPoolExecutor(NODES) as pool:
        done = [pool.submit(kill_under_load, node, KILLS // NODES, seed)
                for seed, node in enumerate(c.nodes, 1)]
        for each in done:
            each.result()


# What is found in the folder is not what was written.

def flip_bits(paths, rng, count):
    """Single bits, anywhere."""
    for _ in range(count):
        with open(rng.choice(paths), "r+b") as f:
            at = rng.randrange(max(os.fstat(f.fileno()).st_size, 1))
            f.seek(at)
            byte = f.read(1)
            if byte:
                f.seek(at)
                f.write(bytes([byte[0] ^ 1 << rng.randrange(8)]))


def lose_writes(paths, rng, count):
    """Blocks that never reached the disk: zeros, an end that is missing, the
    whole file; or what was in these blocks before."""
    other = os.urandom(4096)
    for path in rng.sample(paths, min(count, len(paths))):
        how, size = rng.randrange(4), os.path.getsize(path)
        if how == 0:
            os.unlink(path)
        elif how == 1:
            os.truncate(path, rng.randrange(size + 1))
        else:
            at = rng.randrange(size // 4096 + 1) * 4096
            with open(path, "r+b") as f:
                f.seek(at)
                f.write((bytes(4096) if how == 2 else other)[:size - at])


def segments(folder):
    return sorted(str(path) for path in folder.glob("*.log"))


def bodies(folder):
    """The files of large ones."""
    return sorted(str(path) for path in folder.glob("*/*"))


def ask_all(node):
    """Every page is right; how many came from here."""
    c = http.client.HTTPConnection("127.0.0.1", node.data, timeout=20)
    hits = 0
    for number in range(PAGES):
        path = f"/{number}"
        c.request("GET", path)
        r = c.getresponse()
        body = r.read()
        assert r.status == 200 and is_right(path, body), (path, body[:80])
        hits += "; hit" in r.getheader("Cache-Status", "")
    c.close()
    return hits


def damaged_again_and_again(make_cluster, serve, tmp_path, rounds, damage):
    """Returns how many objects were found to be bad, and how many good."""
    c = make_cluster(1, disk_path=str(tmp_path / "disk"), disk_size="64M",
                     cache_size="256K", admission="none")
    c.origin_url = serve_pages(serve)
    node = c.start().nodes[0]
    rng = random.Random(1)
    bad = hits = 0
    for number in range(rounds):
        hits += ask_all(node)
        disk = node.status()["disk"]
        bad += disk["corrupt"] + disk["lost"]
        until(lambda: has_some(node) or number, what="writes")
        if number % 10 == 0:
            node.process.end()  # so that all is written
        else:
            kill(node)
        damage(tmp_path / "disk", rng)
        node.start()
    ask_all(node)
    return bad, hits


def test_flipped_bits(make_cluster, serve, tmp_path):
    def damage(folder, rng):
        flip_bits(bodies(folder), rng, 50)
        flip_bits(segments(folder), rng, 20)

    rounds = 1000 if LONG else 3
    bad, hits = damaged_again_and_again(make_cluster, serve, tmp_path, rounds,
                                        damage)
    assert bad > 10 * rounds and hits > 10 * rounds


def test_power_failures(make_cluster, serve, tmp_path):
    def damage(folder, rng):
        lose_writes(bodies(folder), rng, 50)
        lose_writes(segments(folder)[-1:], rng, 1)

    rounds = 1000 if LONG else 3
    bad, hits = damaged_again_and_again(make_cluster, serve, tmp_path, rounds,
                                        damage)
    assert bad > 5 * rounds and hits > 10 * rounds

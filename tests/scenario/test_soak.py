"""All that a node does, for long: it must not grow.

Hits, misses, large bodies, ranges, conditions, purges, peers that come and go,
reloads, with a disk. Every body is right, no request fails. Memory and
descriptors are those of the two nodes that stay; after a quarter of the time
they have all that they need. SOAK_SECONDS says how long: an hour with
SCD_TEST_LONG, else some seconds, which tell nothing of growth.
"""

import http.client
import os
import random
import signal
import statistics
import threading
import time

import cluster as scd
import servers
from bodies import is_right, make_body
from cluster import request, until

LONG = bool(os.environ.get("SCD_TEST_LONG"))
SECONDS = float(os.environ.get("SOAK_SECONDS") or (3600 if LONG else 3))
CLIENTS = 6
PAGES = 20_000
SIZES = (10, 700, 2000, 5000, 5000, 20_000, 90_000, 400_000)
TOLD = 60  # a soak of so many seconds sees everything, growth too
OPTIONS = {"cache_size": "8M", "disk_size": "48M", "threads": "2",
           "max_object_size": "16M", "filter_min": "8K", "purge_peers": True}


def page(r, _):
    fields = {"Cache-Control": "max-age=2" if hash(r.target) % 7 == 0
              else "max-age=600", "ETag": '"1"'}
    if r.get("If-None-Match") == '"1"':
        return servers.response(304, fields)
    whole = servers.response(200, fields, make_body(r.target, 1, SIZES))
    return whole[:whole.index(b"\r\n\r\n") + 4] if r.method == "HEAD" else whole


class Client(threading.Thread):
    """Asks the nodes that stay, on connections that it keeps for a while."""

    def __init__(self, nodes, seed, ended):
        super().__init__()
        self.nodes, self.ended = nodes, ended
        self.random, self.wrong, self.done = random.Random(seed), [], 0

    def run(self):
        while not self.ended.is_set():
            node = self.random.choice(self.nodes)
            c = http.client.HTTPConnection("127.0.0.1", node.data, timeout=60)
            try:
                for _ in range(self.random.randrange(1, 200)):
                    if not self.ended.is_set():
                        self.ask(c)
                if self.random.random() < 0.3:
                    c.request("GET", "/0")  # and leaves
            except (OSError, http.client.HTTPException) as e:
                self.wrong.append(repr(e))
            finally:
                c.close()

    def ask(self, c):
        path = f"/{int(PAGES * self.random.random() ** 4)}"
        luck = self.random.random()
        fields, method = {}, "GET"
        if luck < 0.05:
            fields = {"Range": "bytes=3-60"}
        elif luck < 0.08:
            fields = {"If-None-Match": '"1"'}
        elif luck < 0.10:
            fields = {"Cache-Control": "no-cache"}
        elif luck < 0.12:
            method = "HEAD"
        c.request(method, path, headers=fields)
        r = c.getresponse()
        body = r.read()
        self.done += 1
        if r.status == 206:
            good = body == make_body(path, 1, SIZES)[3:61]
        elif method == "HEAD" or r.status == 304:
            good = body == b"" and r.status in (200, 304)
        else:
            good = r.status == 200 and is_right(path, body, SIZES)
        if not good:
            self.wrong.append((path, r.status, fields, body[:60]))


def disturb(nodes, choice):
    """Something that happens to a cluster once a second."""
    luck, node = choice.random(), choice.choice(nodes[:2])
    if luck < 0.3:
        nodes[2].process.kill()
        nodes[2].start()
    elif luck < 0.6:
        node.options["publish_share"] = f"0.0{choice.randrange(1, 9)}"
        node.peers = [(n.name, n.peer) for n in nodes
                      if n is not node and choice.random() < 0.9]
        node.write()
        node.process.signal(signal.SIGHUP)
    else:
        number = choice.randrange(PAGES)
        ways = {"Purge-Prefix": f"http://127.0.0.1:{node.data}/{number // 9}"}
        if luck < 0.7:
            request(node.admin, "/", "PURGE", headers=ways)
        else:
            request(node.admin, f"/{number}", "PURGE")
        request(node.admin, "/metrics")


class Sample:
    def __init__(self, node):
        proc = f"/proc/{node.process.popen.pid}"
        with open(proc + "/statm", encoding="ascii") as f:
            self.rss = int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE")
        self.descriptors = len(os.listdir(proc + "/fd"))


def no_growth(samples):
    """The last quarter is as the second one."""
    quarter = len(samples) // 4
    for what, slack in (("rss", 4 << 20), ("descriptors", 30)):
        early, late = (statistics.median(getattr(s, what) for s in part)
                       for part in (samples[quarter:2 * quarter],
                                    samples[-quarter:]))
        assert late <= 1.05 * early + slack, (what, early, late)


def told(node, samples):
    """Into the file REPORT: eight of the samples."""
    path = os.environ.get("REPORT")
    if path:
        with open(path, "a", encoding="ascii") as f:
            for i in range(1, 9):
                s = samples[len(samples) * i // 8 - 1]
                print(f"{node.name} {i}/8: {s.rss >> 10} KiB, "
                      f"{s.descriptors} descriptors", file=f)


def test_nothing_grows(make_cluster, serve, tmp_path):
    c = make_cluster(3, **OPTIONS)
    c.origin_url = serve(page).url
    for node in c.nodes:
        node.options["disk_path"] = str(tmp_path / node.name)
    stay = c.start().nodes[:2]
    ended, choice = threading.Event(), random.Random(1)
    clients = [Client(stay, seed, ended) for seed in range(CLIENTS)]
    samples = {node: [] for node in stay}
    for client in clients:
        client.start()
    try:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            disturb(c.nodes, choice)
            time.sleep(1)
            for node in stay:
                samples[node].append(Sample(node))
    finally:
        ended.set()
        for client in clients:
            client.join()
    wrong = [w for client in clients for w in client.wrong]
    assert not wrong, (len(wrong), wrong[:5])
    assert sum(client.done for client in clients) > 20 * SECONDS / scd.SLOW
    long = SECONDS >= TOLD  # long enough for all of what is meant to happen
    kinds = ["local_hits", "misses"] + ["revalidated"] * long
    for node in stay:
        n = node.counters()
        assert all(n[kind] > 0 for kind in kinds), n
        told(node, samples[node])
        if long and scd.SLOW == 1:
            no_growth(samples[node])
        # nothing is left of what clients and peers had opened
        until(lambda node=node: Sample(node).descriptors < 100, 30,
              what="descriptors closed")

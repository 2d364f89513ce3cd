"""Purges at a rate while nodes are killed, stand still and are cut off: who
asks after a purge was acknowledged, in full or, if it is strict, at all, gets
nothing older. SCD_TEST_LONG makes it 10^5 purges of each kind, at 1,000 a
second; REPORT names a file for what acknowledgements took."""

import http.client
import json
import os
import random
import signal
import threading
import time

import pytest

from cluster import SLOW, until
from relays import Links

LONG = bool(os.environ.get("SCD_TEST_LONG"))
PURGES = 100_000 if LONG else 900
RATE = 1000 if LONG else 150  # a second
BREAK = 2.5 if LONG else 1.0  # [s], at most
PAGES = 100 if LONG else 20
PURGERS, READERS = (16, 4) if LONG else (6, 2)
HOST = "www.example.com"
CALM, STORMY, CALM_AGAIN = "calm", "stormy", "calm again"


class Client:
    """Keeps a connection to each of a node's listeners."""

    def __init__(self, nodes):
        self.nodes, self.open = nodes, {}

    def ask(self, port, method, path):
        """Its status and body; None: there was no answer."""
        if port not in self.open:
            self.open[port] = http.client.HTTPConnection("127.0.0.1", port,
                                                         timeout=15 * SLOW)
        connection = self.open[port]
        try:
            connection.request(method, path, headers={"Host": HOST})
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            self.open.pop(port).close()
            return None

    def close(self):
        for connection in self.open.values():
            connection.close()


class Soak:
    def __init__(self, nodes, origin, links, is_strict):
        self.nodes, self.origin, self.links = nodes, origin, links
        self.is_strict, self.lock = is_strict, threading.Lock()
        self.version = [0] * PAGES      # of each page, at the origin
        self.acknowledged = [0] * PAGES  # what nobody may be older than
        self.begun = self.purged = self.answers = 0
        self.took = {CALM: [], STORMY: [], CALM_AGAIN: []}
        self.weather, self.failed, self.ended = CALM, [], False
        self.start = time.monotonic()
        for page in range(PAGES):
            self.change(page)

    def change(self, page):
        with self.lock:
            self.version[page] += 1
            version = self.version[page]
            self.origin.set(f"/{page}",
                            fields={"Cache-Control": "max-age=600"},
                            body=str(version).encode())
        return version

    def is_final(self, answer):
        return answer is not None and answer[0] == 200 and (
            self.is_strict
            or None not in json.loads(answer[1])["peers"].values())

    def next(self):
        """Waits until the next purge is due; false: there is none."""
        with self.lock:
            number, self.begun = self.begun, self.begun + 1
        time.sleep(max(0, self.start + number / RATE - time.monotonic()))
        return number < PURGES

    def purge(self, seed):
        rng, client = random.Random(seed), Client(self.nodes)
        while self.next():
            page, node = rng.randrange(PAGES), rng.choice(self.nodes)
            version, weather = self.change(page), self.weather
            began = time.monotonic()
            answer = client.ask(node.admin, "PURGE", f"/{page}")
            if not self.is_final(answer):
                continue
            with self.lock:
                self.purged += 1
                self.took[weather].append(time.monotonic() - began)
                self.acknowledged[page] = max(self.acknowledged[page], version)
        client.close()

    def read(self, seed):
        rng, client = random.Random(seed), Client(self.nodes)
        while not self.ended:
            time.sleep(0.001)
            page, node = rng.randrange(PAGES), rng.choice(self.nodes)
            least = self.acknowledged[page]
            answer = client.ask(node.data, "GET", f"/{page}")
            if answer is None or answer[0] != 200:
                time.sleep(0.01)
                continue
            self.answers += 1
            if int(answer[1]) < least:
                self.failed.append(f"{node.name} /{page}: {int(answer[1])}, "
                                   f"after {least} was acknowledged")
        client.close()

    def break_one(self, rng):
        """One thing goes wrong for a second; never two at the same time, as
        then strict nodes would all ask the origin."""
        node = rng.choice(self.nodes)
        how = rng.randrange(3)
        if how == 0:
            node.process.kill()
            time.sleep(rng.random())
            node.start()
        elif how == 1:
            node.process.pause()
            time.sleep(0.2 + BREAK * rng.random())
            node.process.signal(signal.SIGCONT)
        else:
            self.links.cut(node)
            time.sleep(0.2 + BREAK * rng.random())
            self.links.mend(node)
        until(lambda: all(n.status()["purges"]["serves"] for n in self.nodes),
              30, every=0.1, what="leases")

    def storm(self):
        rng = random.Random(5)
        while self.begun < PURGES // 5:
            time.sleep(0.01)
        self.weather = STORMY
        while self.begun < PURGES * 3 // 5 and not self.failed:
            self.break_one(rng)
            time.sleep(0.5)
        self.weather = CALM_AGAIN

    def run(self):
        purgers = [threading.Thread(target=self.purge, args=(i,))
                   for i in range(PURGERS)]
        readers = [threading.Thread(target=self.read, args=(1000 + i,))
                   for i in range(READERS)]
        for t in purgers + readers:
            t.start()
        try:
            self.storm()
        finally:
            for t in purgers:
                t.join()
            time.sleep(0.2)
            self.ended = True
            for t in readers:
                t.join()

    def report(self):
        path = os.environ.get("REPORT")
        if not path:
            return
        with open(path, "a", encoding="ascii") as f:
            print("strict" if self.is_strict else "available", self.begun,
                  "purges,", self.purged, "final,", self.answers, "answers",
                  file=f)
            for weather, took in self.took.items():
                took = sorted(took) or [0]
                p50, p99 = (took[len(took) * p // 100] for p in (50, 99))
                print(f"  {weather}: {len(took)}, p50 {1e3 * p50:.1f} ms, p99 "
                      f"{1e3 * p99:.1f} ms, most {1e3 * took[-1]:.0f} ms",
                      file=f)


@pytest.mark.parametrize("kind", ["available", "strict"])
def test_what_is_purged_stays_so(make_cluster, origin, kind):
    c = make_cluster(3, invalidation=kind)
    links = Links(c.nodes)
    try:
        c.origin_url = origin.url
        c.start()
        c.wait_heard()
        until(lambda: all(n.status()["purges"]["serves"] for n in c.nodes),
              what="leases")
        soak = Soak(c.nodes, origin, links, kind == "strict")
        soak.run()
        soak.report()
    finally:
        links.end()
    assert not soak.failed, soak.failed[:10]
    assert soak.purged > PURGES // 5 and soak.answers > 100

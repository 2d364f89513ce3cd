#!/usr/bin/env python3
"""What digest work does to hits: a node with so many objects that publishes
all the time, and follows peers with as many that have news all the time.

Hits come at a steady rate; p50, p99 and p99.9 of how long they take, with
digest work and without, taking turns, the medians of the rounds; the node on
one processor and on two. Client and peers are on another one, as far as there
are two.
"""

import argparse
import json
import multiprocessing
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, os.pardir, os.pardir, name)
                for name in ("tool", "scenario")] + [HERE]
sys.dont_write_bytecode = True  # the source may be read-only

import cluster as scd  # noqa: E402
import measured  # noqa: E402
import servers  # noqa: E402

DIGESTCTL = os.path.join(scd.BUILD, "digestd", "ctl", "digestctl")
HOST = "http://www.example.com"
GENERATIONS = 5
HOT = 1000  # objects that are asked for
NEWS = 50  # objects a second that are new
QUIET = {"publish_min": "1h", "publish_max": "1h"}
BUSY = {"publish_min": "10ms", "publish_max": "10ms"}
TITLES = ("processors", "digest work", "p50 [ms]", "p99 [ms]", "p99.9 [ms]",
          "longest [ms]", "generations/s", "taken from peers/s", "errors")


def digestctl(*args, text=None):
    subprocess.run([DIGESTCTL, *args], input=text, check=True)


class News:
    """Digests of a cache that replaces 1 % of its objects, and their deltas:
    each generation leads to the next, the last to the first."""

    def __init__(self, folder, count, bits):
        self.full, self.delta = [], []
        paths = [os.path.join(folder, f"{g}.scd") for g in range(GENERATIONS)]
        for g, path in enumerate(paths):
            first = g * count // 100
            urls = "\n".join(f"{HOST}/peer/{i}"
                             for i in range(first, first + count))
            digestctl("build", "--quiet", "--key", scd.KEY, "--bits",
                      str(bits), "--hashes", "3", "--instance", "7",
                      "--generation", str(g + 1), "--output", path,
                      text=urls.encode())
            self.full.append(read(path))
        for g in range(1, GENERATIONS):
            out = os.path.join(folder, "delta")
            digestctl("diff", "--output", out, paths[g - 1], paths[g])
            self.delta.append(read(out))

    def answer(self, r, _):
        """Whatever the node has, there is something new."""
        if r.target != "/scd/v1/digest":
            return servers.response(504)
        tags = [f'"{7:016x}-{g + 1}"' for g in range(GENERATIONS)]
        has = r.get("If-None-Match", "")
        g = tags.index(has) + 1 if has in tags else 0
        if 0 < g < GENERATIONS and r.get("A-IM"):
            return servers.response(226, {
                "ETag": tags[g], "IM": "scd", "Delta-Base": has,
                "Content-Type": "application/scd-digest"}, self.delta[g - 1])
        g %= GENERATIONS
        return servers.response(200, {
            "ETag": tags[g], "Content-Type": "application/scd-digest"},
            self.full[g])


def read(path):
    with open(path, "rb") as f:
        return f.read()


def serve(news, ports):
    """In a process of its own, behind the load if they share a processor."""
    os.nice(10)
    for port in ports:
        servers.Server(news.answer, port)
    signal.pause()


def write_trace(path, urls, rate):
    """One after the other, so many a second."""
    with open(path, "w", encoding="ascii") as f:
        f.write("time,client,url,size\n")
        for i, url in enumerate(urls):
            f.write(f"{1e9 + i / rate:.3f},c{i % 16},{HOST}{url},1\n")


class Bench:
    def __init__(self, arguments, folder):
        self.a, self.folder, self.new = arguments, folder, 0
        self.cluster = scd.Cluster(1, cooperate=False, cache_size="4G",
                                   digest_form="array",
                                   threads=str(arguments.threads),
                                   placement=arguments.placement or None)
        self.node, self.peers = self.cluster.nodes[0], None

    def start(self):
        count = self.a.objects
        path = os.path.join(self.folder, "all.csv")
        write_trace(path, (f"/{i}" for i in range(count)), 1000)
        self.cluster.start_origin("--trace", path)
        self.cluster.start()
        report, code = self.cluster.replay(path, timeout=3600)
        if code:
            raise RuntimeError(report)
        scd.until(self.is_settled, 60, what="a digest of everything")
        bits = self.node.status()["digest"]["array_bytes"] * 8
        news = News(self.folder, count, bits)
        ports = [scd.free_port() for _ in range(self.a.peers)]
        self.peers = multiprocessing.Process(target=serve, args=(news, ports),
                                             daemon=True)
        self.peers.start()
        os.sched_setaffinity(self.peers.pid, {int(measured.CLIENT_CPU)})
        self.ports = [(f"p{i}", port) for i, port in enumerate(ports)]

    def is_settled(self):
        d = self.node.status()["digest"]
        return not d["unpublished_changes"] and \
            d["array_bytes"] * 8 >= 8 * self.a.objects

    def set(self, busy, processors):
        """Reloads, and moves the node's threads."""
        self.node.options.update(BUSY if busy else QUIET)
        self.node.peers = self.ports if busy else []
        self.node.write()
        self.node.process.signal(signal.SIGHUP)
        pid = self.node.process.popen.pid
        for thread in os.listdir(f"/proc/{pid}/task"):
            os.sched_setaffinity(int(thread), set(map(
                int, measured.CPUS[:processors])))
        scd.until(lambda: len(self.node.status()["peers"])
                  == len(self.node.peers), what="reload")
        if busy:
            scd.until(lambda: all(p["digest"] for p in
                                  self.node.status()["peers"]), 30,
                      what="digests")
        time.sleep(1)

    def load(self, name, urls, rate):
        path = os.path.join(self.folder, name)
        write_trace(path, urls, rate)
        return subprocess.Popen(
            [*measured.on_cpu(measured.CLIENT_CPU), scd.REPLAY, "--json",
             "--quiet", "--speed", "1", "--node",
             f"http://127.0.0.1:{self.node.data}", path],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def counts(self):
        s = self.node.status()
        return (s["digest"]["generation"] or 0,
                sum(p["full_received"] + p["delta_received"]
                    for p in s["peers"]))

    def measure(self, busy, processors):
        self.set(busy, processors)
        n, rate = self.a.seconds * self.a.rate, self.a.rate
        before = self.counts()
        news = range(self.new, self.new + self.a.seconds * NEWS)
        self.new = news.stop
        other = self.load("new.csv", (f"/new/{i}" for i in news), NEWS)
        hits = self.load("hits.csv", (f"/{i % HOT}" for i in range(n)), rate)
        found = json.loads(hits.communicate()[0])["total"]
        other.communicate()
        after = self.counts()
        ms = found["latency_ms"]
        return (*(ms[q] for q in ("p50", "p99", "p999", "max")),
                *((b - a) / self.a.seconds for a, b in zip(before, after)),
                found["errors"]["total"] + n - found["local"])

    def end(self):
        if self.peers:
            self.peers.terminate()
        self.cluster.stop()
        self.cluster.remove()


def arguments_of(argv):
    p = argparse.ArgumentParser(
        prog="make bench-digests ARGS=...", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value, text in (
            ("--objects", 1000000, "in the node, and in each peer"),
            ("--seconds", 10, "of a round"), ("--rounds", 3, "of each row"),
            ("--rate", 1000, "hits a second"), ("--peers", 3, "with news"),
            ("--threads", 1, "workers of the node")):
        p.add_argument(name, type=int, default=value, metavar="N",
                       help=f"{text} ({value:,})")
    p.add_argument("--placement", default="", metavar="WORD",
                   help="of the node, see digestd.conf(5)")
    return p.parse_args(argv)


def run(arguments, folder):
    bench = Bench(arguments, folder)
    rows = {(busy, processors): []
            for processors in range(1, min(len(measured.CPUS), 2) + 1)
            for busy in (False, True)}
    try:
        bench.start()
        for _ in range(arguments.rounds):
            for row, found in rows.items():
                found.append(bench.measure(*row))
        print("|", " | ".join(TITLES), "|")
        print("|" + "---|" * len(TITLES))
        for (busy, processors), found in rows.items():
            *ms, made, taken, errors = map(statistics.median, zip(*found))
            print("|", " | ".join((
                str(processors), "yes" if busy else "no",
                *(f"{each:.2f}" for each in ms), f"{made:.1f}",
                f"{taken:.1f}", f"{errors:.0f}")), "|")
    finally:
        bench.end()


def main():
    arguments = arguments_of(sys.argv[1:])
    with tempfile.TemporaryDirectory(dir=scd.BUILD) as folder:
        run(arguments, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""A node with very many peers: one real node, and its peers in one process
(bench_crowd), which answer as nodes do and are asked for nothing else.

How long the node takes to know all their digests, the memory that they take,
and the processor's time when each of them changes some objects a second.
"""

import argparse
import ipaddress
import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, os.pardir, *folder) for folder in
                ((os.pardir, "tool"), (os.pardir, "scenario"), ("http",))]
sys.dont_write_bytecode = True  # the source may be read-only

import cluster as scd  # noqa: E402
import measured  # noqa: E402
from bench_mesh import wake_ups  # noqa: E402

FIRST = ipaddress.IPv4Address("127.1.0.1")
BUILD = os.path.abspath(os.environ.get("top_builddir", "."))
PROGRAM = os.path.join(BUILD, "tests", "bench", "mesh", "bench_crowd")
LOOK_S = .05
SETTLE_S = 2
TITLES = ("peers", "objects each", "known after [s]", "used for that [s]",
          "MB", "bytes an entry", "changes/s", "taken/s", "core",
          "us a digest taken", "wake-ups/s")


def resident_mb(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return next(int(line.split()[1]) / 1e3 for line in f
                    if line.startswith("VmRSS:"))


class Crowd:
    def __init__(self, peers, objects, changes):
        self.peers = peers
        self.process = subprocess.Popen(
            [PROGRAM, "0", str(peers), str(objects), str(changes)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.port = int(self.process.stdout.readline())

    def lines(self):
        return [f'peer "p{i}" {{ url = "http://{FIRST + i}:{self.port}" }}'
                for i in range(self.peers)]

    def begin(self):
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()

    def end(self):
        self.process.stdin.close()
        self.process.wait(30)


class Follower:
    """A node that follows a crowd, or nobody."""

    def __init__(self, crowd, options):
        self.cluster = scd.Cluster(1, log_level="warning", cache_size="4M",
                                   default_origin="http://127.0.0.1:9",
                                   **options)
        self.node, = self.cluster.nodes
        self.node.lines += crowd.lines() if crowd else []

    def start(self):
        """Returns (seconds, seconds of the processor) until it is ready and
        knows all digests."""
        begin = time.monotonic()
        self.node.start(wait=False)
        while not self.is_ready() or not self.knows_all():
            if not self.node.process.alive():
                raise RuntimeError(self.node.process.logged())
            time.sleep(LOOK_S)
        return time.monotonic() - begin, self.used()

    def is_ready(self):
        try:
            return scd.request(self.node.admin, "/readyz").status == 200
        except OSError:
            return False

    def knows_all(self):
        return all(p["digest"] for p in self.node.status()["peers"])

    @property
    def pid(self):
        return self.node.process.popen.pid

    def used(self):
        return measured.cpu_seconds(self.pid)

    def taken(self):
        return sum(p["delta_received"] + p["full_received"]
                   for p in self.node.status()["peers"])

    def end(self):
        self.cluster.stop()
        self.cluster.remove()


def start_of(options):
    """What it costs to start with no peers: (seconds, of the processor, MB)."""
    follower = Follower(None, options)
    try:
        seconds, used = follower.start()
        time.sleep(SETTLE_S)
        return seconds, used, resident_mb(follower.pid)
    finally:
        follower.end()


def measure_changes(found, crowd, follower, a):
    crowd.begin()
    time.sleep(SETTLE_S)
    taken, used, woken = follower.taken(), follower.used(), \
        wake_ups(follower.pid)
    began = time.monotonic()
    time.sleep(a.seconds)
    used, woken = follower.used() - used, wake_ups(follower.pid) - woken
    seconds = time.monotonic() - began
    taken = follower.taken() - taken
    found.update(changes=a.peers * a.changes, taken=taken / seconds,
                 core=used / seconds, us_taken=1e6 * used / max(1, taken),
                 wake_ups=woken / seconds)


def measure(a, options):
    alone = start_of(options)
    crowd = Crowd(a.peers, a.objects, a.changes)
    follower = Follower(crowd, options)
    try:
        seconds, used = follower.start()
        time.sleep(SETTLE_S)
        mb = resident_mb(follower.pid)
        found = {"peers": a.peers, "objects": a.objects,
                 "known_s": seconds - alone[0], "used_s": used - alone[1],
                 "mb": mb, "bytes": 1e6 * (mb - alone[2]) /
                 (a.peers * a.objects)}
        measure_changes(found, crowd, follower, a)
        return found
    finally:
        follower.end()
        crowd.end()


def row_of(f):
    return (f"{f['peers']}", f"{f['objects']}", f"{f['known_s']:.2f}",
            f"{f['used_s']:.2f}", f"{f['mb']:.0f}", f"{f['bytes']:.1f}",
            f"{f['changes']}", f"{f['taken']:.0f}", f"{f['core']:.3f}",
            f"{f['us_taken']:.0f}", f"{f['wake_ups']:.0f}")


def arguments_of(argv):
    p = argparse.ArgumentParser(
        prog="make bench-crowd ARGS=...", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, kind, value, text in (
            ("--peers", int, 1000, "of the node"),
            ("--objects", int, 10000, "of each"),
            ("--changes", int, 1, "objects of each that are replaced a second"),
            ("--seconds", float, 10, "for which changes are counted")):
        p.add_argument(name, type=kind, default=value, metavar="N",
                       help=f"{text} ({value})")
    p.add_argument("--option", action="append", default=[],
                   metavar="NAME=VALUE", help="of the node; may be repeated")
    p.add_argument("--json", action="store_true", help="one line of JSON")
    return p.parse_args(argv)


def main():
    a = arguments_of(sys.argv[1:])
    found = measure(a, dict(pair.split("=", 1) for pair in a.option))
    if a.json:
        print(json.dumps(found))
        return 0
    print("|", " | ".join(TITLES), "|")
    print("|" + "---|" * len(TITLES))
    print("|", " | ".join(row_of(found)), "|")
    return 0


if __name__ == "__main__":
    sys.exit(main())

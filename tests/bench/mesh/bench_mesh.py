#!/usr/bin/env python3
"""What it costs that nodes know of each other: a full mesh of nodes that are
asked for nothing, and then for new objects, so many a second in all, which
each of them publishes and all others hear of; and then one after the other to
purge something, which all others have to acknowledge.

Processor time of all nodes, how often their threads wake up, what goes between
them and by how many connections; for news, how long it takes until all know of
an object, and for purges, until they are answered.
"""

import argparse
import json
import os
import statistics
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, os.pardir, *folder) for folder in
                ((os.pardir, "tool"), (os.pardir, "scenario"), ("http",))]
sys.dont_write_bytecode = True  # the source may be read-only

import cluster as scd  # noqa: E402
import measured  # noqa: E402

HOST = {"Host": "www.example.com"}
SETTLE_S = 2  # after which a mesh has nothing left to do
TITLES = ("nodes", "phase", "cores", "us a digest taken", "wake-ups/s a node",
          "generations/s", "taken/s", "KB/s between", "known after [ms]",
          "purges/s", "p50 [ms]", "p99 [ms]", "connections")
ESTABLISHED = "01"


def wake_ups(pid):
    """How often its threads have waited so far, and were woken."""
    total = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{thread}/status",
                      encoding="ascii") as f:
                total += sum(int(line.split()[1]) for line in f
                             if line.startswith("voluntary_ctxt_switches"))
        except FileNotFoundError:
            pass  # it has just ended
    return total


def connections(ports):
    """How many connections these ports have accepted."""
    with open("/proc/net/tcp", encoding="ascii") as f:
        rows = [line.split() for line in f][1:]
    return sum(row[3] == ESTABLISHED and int(row[1].split(":")[1], 16) in ports
               for row in rows)


class Mesh:
    def __init__(self, arguments):
        self.a, self.asked, self.took_ms = arguments, 0, []
        options = dict(pair.split("=", 1) for pair in arguments.option)
        self.cluster = scd.Cluster(arguments.nodes, log_level="warning",
                                   cache_size="4M", **options)

    def start(self):
        self.cluster.start_origin()
        self.cluster.start()
        self.cluster.wait_settled(60)
        time.sleep(SETTLE_S)

    def counts(self):
        """(generations, digests taken, bytes of digests) so far."""
        made = taken = sent = 0
        for node in self.cluster.nodes:
            s = node.status()
            made += s["digest"]["generation"] or 0
            taken += sum(p["full_received"] + p["delta_received"]
                         for p in s["peers"])
            sent += s["digest"]["full_sent_bytes"] + \
                s["digest"]["delta_sent_bytes"]
        return made, taken, sent

    def used(self):
        """(seconds of the processor, wake-ups) of all nodes so far."""
        pids = [n.process.popen.pid for n in self.cluster.nodes]
        return (sum(measured.cpu_seconds(pid) for pid in pids),
                sum(wake_ups(pid) for pid in pids))

    def ask(self, node):
        """For an object that nobody has; returns when that was."""
        self.asked += 1
        if node.get(f"/new/{self.asked}", headers=HOST).status != 200:
            raise RuntimeError(f"{node.name}: no 200 for a new object")
        return time.monotonic()

    def news(self, seconds):
        """New objects at a steady rate, at one node after the other."""
        begin = time.monotonic()
        for i in range(int(seconds * self.a.rate)):
            due = begin + i / self.a.rate
            time.sleep(max(0, due - time.monotonic()))
            self.ask(self.cluster.nodes[i % self.a.nodes])

    def purges(self, seconds):
        """As many as get done, at one node after the other."""
        self.took_ms, end = [], time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(self.a.pause)
            node = self.cluster.nodes[len(self.took_ms) % self.a.nodes]
            began = time.monotonic()
            answer = scd.request(node.admin, "/gone", "PURGE",
                                 headers=HOST)
            if answer.status != 200 or \
                    None in json.loads(answer.body)["peers"].values():
                raise RuntimeError(f"{node.name}: {answer.body}")
            self.took_ms.append(1000 * (time.monotonic() - began))

    def took(self, percent):
        if len(self.took_ms) < 2:
            return None
        return statistics.quantiles(self.took_ms, n=100)[percent - 1]

    def lag_ms(self):
        """How long it takes until another node knows of a new object."""
        first, last = self.cluster.nodes[0], self.cluster.nodes[-1]
        asked = self.ask(first)
        scd.until(lambda: last.knows(first), 30, .002, "news")
        return 1000 * (time.monotonic() - asked)

    def measure(self, phase):
        before, used = self.counts(), self.used()
        began = time.monotonic()
        if phase == "news":
            self.news(self.a.seconds)
        elif phase == "purges":
            self.purges(self.a.seconds)
        else:
            time.sleep(self.a.seconds)
        cpu, woken = (b - a for a, b in zip(used, self.used()))
        seconds = time.monotonic() - began
        made, taken, sent = (b - a for a, b in zip(before, self.counts()))
        return {
            "nodes": self.a.nodes, "phase": phase, "cores": cpu / seconds,
            "us_taken": 1e6 * cpu / taken if taken else None,
            "wake_ups": woken / seconds / self.a.nodes,
            "generations": made / seconds, "taken": taken / seconds,
            "kb": sent / seconds / 1000,
            "lag_ms": statistics.median(
                self.lag_ms() for _ in range(self.a.lags))
            if phase == "news" else None,
            "purges": len(self.took_ms) / seconds if self.took_ms else None,
            "p50_ms": self.took(50), "p99_ms": self.took(99),
            "connections": connections({n.peer for n in self.cluster.nodes})}

    def end(self):
        self.cluster.stop()
        self.cluster.remove()


def row_of(found):
    def text(name, digits):
        return "" if found[name] is None else f"{found[name]:.{digits}f}"
    return (str(found["nodes"]), found["phase"], text("cores", 3),
            text("us_taken", 0), text("wake_ups", 1), text("generations", 1),
            text("taken", 0), text("kb", 1), text("lag_ms", 0),
            text("purges", 0), text("p50_ms", 2), text("p99_ms", 2),
            str(found["connections"]))


def arguments_of(argv):
    p = argparse.ArgumentParser(
        prog="make bench-mesh ARGS=...", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, kind, value, text in (
            ("--nodes", int, 64, "of the mesh"),
            ("--seconds", float, 10, "of a phase"),
            ("--rate", float, 192, "new objects a second, in all"),
            ("--lags", int, 9, "objects whose way is timed"),
            ("--pause", float, 0, "seconds between two purges")):
        p.add_argument(name, type=kind, default=value, metavar="N",
                       help=f"{text} ({value})")
    p.add_argument("--option", action="append", default=[],
                   metavar="NAME=VALUE", help="of all nodes; may be repeated")
    p.add_argument("--json", action="store_true",
                   help="a line of JSON for each phase")
    return p.parse_args(argv)


def main():
    arguments = arguments_of(sys.argv[1:])
    mesh = Mesh(arguments)
    if not arguments.json:
        print("|", " | ".join(TITLES), "|")
        print("|" + "---|" * len(TITLES))
    try:
        mesh.start()
        for phase in ("idle", "news", "purges"):
            found = mesh.measure(phase)
            print(json.dumps(found) if arguments.json
                  else "| " + " | ".join(row_of(found)) + " |", flush=True)
    finally:
        mesh.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())

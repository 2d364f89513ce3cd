#!/usr/bin/env python3
"""digestd beside other servers, in processor time a request.

Each row is a load. Its servers take turns, each with one worker on one
processor; wrk and the origin have another one, and their time does not count.
CPU is what all processes of a server had for a request, the median of the
rounds. The ratio is that of the server's CPU to digestd's in the same round,
again the median: above 1 digestd takes less. What is not installed is left
out, and named.
"""

import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, os.pardir, os.pardir, name)
                for name in ("tool", "scenario")] + [HERE]
sys.dont_write_bytecode = True  # the source may be read-only

import caches  # noqa: E402
import cluster  # noqa: E402
import measured  # noqa: E402
from rows import ROWS  # noqa: E402

OBJECT_MB = .002  # more than an object of 1 KiB takes, but of Squid
LONGEST_S = 60  # a round
TITLES = ("row", "server", "CPU [us]", "ratio", "goal", "requests/s",
          "p99 [ms]", "from origin", "errors")
MEMORY = "memory"


def wrk(server, path, env, clients, threads, seconds):
    """What load.lua says of a run, which an interrupt ends in the middle of a
    second."""
    ports = [server.ports[i % len(server.ports)] for i in range(threads)]
    done = subprocess.run(
        [*measured.on_cpu(measured.CLIENT_CPU), "timeout", "--preserve-status",
         "--signal=INT", str(seconds), "wrk", f"-t{threads}", f"-c{clients}",
         f"-d{math.ceil(seconds) + 1}s", "-s", os.path.join(HERE, "load.lua"),
         f"{server.scheme}://127.0.0.1:{ports[0]}{path}"],
        env={**os.environ, **env, "PORTS": " ".join(map(str, ports))},
        stdout=subprocess.PIPE, check=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


class Bench:
    """Servers that take turns before one origin."""

    def __init__(self, folder, rounds, seconds):
        self.folder, self.number = folder, 0
        self.rounds, self.seconds = rounds, seconds
        self.running = []
        self.origin = measured.Origin(measured.Certificates(folder),
                                      self.new_folder())

    def new_folder(self):
        self.number += 1
        path = os.path.join(self.folder, str(self.number))
        os.makedirs(path)
        return path

    def start(self, kinds, memory_mb):
        """Those that are installed."""
        for kind in kinds:
            try:
                self.running.append(kind(self.origin, self.new_folder(),
                                         memory_mb))
            except caches.Missing as e:
                print(f"left out: {e}", file=sys.stderr)
        return self.running

    def stop(self):
        while self.running:
            self.running.pop().end()

    def end(self):
        self.stop()
        self.origin.end()

    def load(self, server, row, seconds):
        self.number += 1
        env = {**dict(row.env), "SEED": str(self.number)}
        if row.prefix:
            env["PREFIX"] = row.prefix.format(self.number)
        return wrk(server, row.path, env, row.clients * server.threads,
                   row.threads, seconds)

    def store(self, server, row):
        """Asks for all objects of a row, one after the other."""
        first = 0
        while first < row.stored:
            env = {"PREFIX": row.prefix, "FIRST": str(first)}
            first += wrk(server, "", env, row.clients, 1, 1)["requests"]

    def measure(self, server, row):
        """One round. Says so if it was not what it should have been."""
        found, seconds = {"requests": 0}, row.seconds or self.seconds
        while not found["requests"]:  # on a busy machine nobody had a turn
            if seconds > LONGEST_S:
                raise TimeoutError(f"{server.name} answers nothing")
            asked, cpu = self.origin.served(), server.cpu_seconds()
            found = self.load(server, row, seconds)
            seconds *= 2
        n = found["requests"]
        found["cpu_us"] = 1e6 * (server.cpu_seconds() - cpu) / n
        asked = self.origin.served() - asked - 1
        found["from_origin"] = asked / n
        # wrk leaves behind what is under way when time is up
        if row.asks >= 0 and \
                abs(asked - row.asks * n) > .01 * n + 2 * row.clients:
            found["errors"] += abs(asked - round(row.asks * n))
        return found

    def run(self, row, others=()):
        """[(server's name, its rounds)], this tree's first."""
        servers = self.start((*row.servers, *others), row.memory_mb)
        for server in servers:
            self.store(server, row)
            self.load(server, row, row.warm_s)
        found = [(s.name, []) for s in servers]
        for _ in range(self.rounds):
            for server, (_, rounds) in zip(servers, found):
                if row.rewarm:
                    self.load(server, row, row.warm_s)
                rounds.append(self.measure(server, row))
        self.stop()
        return found

    def memory(self, kinds, objects):
        """(name, bytes that an object of 1 KiB takes with its body), each."""
        row = next(r for r in ROWS if r.name == "misses")
        memory_mb = max(row.memory_mb, int(objects * OBJECT_MB))
        for server in self.start(kinds, memory_mb):
            before, asked = server.memory_bytes(), self.origin.served()
            while self.origin.served() - asked < objects:
                self.load(server, row, 1)
            yield server.name, (server.memory_bytes() - before) / \
                (self.origin.served() - asked)
        self.stop()


def median(rounds, key):
    return statistics.median(r[key] for r in rounds)


def summaries(row, found):
    """What came of a row: a dictionary for each server."""
    ours, peer = found[0][1], 1
    if len(found) > 1 and found[1][0] != row.servers[1].name:
        peer = None  # the one that the goal is of is not here
    for place, (name, rounds) in enumerate(found):
        ratio = statistics.median(r["cpu_us"] / o["cpu_us"]
                                  for r, o in zip(rounds, ours))
        yield {"row": row.name, "server": name,
               "cpu_us": median(rounds, "cpu_us"), "ratio": ratio,
               "goal": row.goal if place == peer else None,
               "requests_per_s": statistics.median(
                   r["requests"] / r["seconds"] for r in rounds),
               "p99_ms": median(rounds, "p99_us") / 1000,
               "from_origin": median(rounds, "from_origin"),
               "errors": sum(r["errors"] for r in rounds)}


def reached(summary):
    return summary["goal"] is None or summary["ratio"] >= summary["goal"]


def cells(s):
    goal = "" if s["goal"] is None else \
        f"{s['goal']:.2f} {'reached' if reached(s) else 'missed'}"
    return (s["row"], s["server"], f"{s['cpu_us']:.1f}", f"{s['ratio']:.2f}",
            goal, f"{s['requests_per_s']:,.0f}", f"{s['p99_ms']:.2f}",
            f"{s['from_origin']:.2f}", str(s["errors"]))


def show(*lines):
    for line in lines:
        print("|", " | ".join(line), "|", flush=True)


def show_titles(*titles):
    show(titles)
    print("|" + "---|" * len(titles))


def kinds_by_name():
    kinds = (measured.Digestd, *measured.OTHERS, measured.Files,
             measured.Responder, measured.Forwarder)
    return {kind.__name__.lower(): kind for kind in kinds}


def arguments_of(argv):
    listed = "\n".join(f"  {row.name:16}{row.text}" for row in ROWS)
    p = argparse.ArgumentParser(
        prog="make bench-http ARGS=...", description=__doc__,
        epilog=f"rows:\n{listed}\n  {MEMORY:16}bytes of memory that an object "
        "of 1 KiB takes; only if asked for",
        formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--row", action="append", metavar="NAME", default=[],
                   choices=[*(r.name for r in ROWS), MEMORY],
                   help="this one only, see below; may be repeated")
    p.add_argument("--seconds", type=float, default=1, metavar="N",
                   help="of a round (1)")
    p.add_argument("--rounds", type=int, default=4, metavar="N",
                   help="of a row (4)")
    p.add_argument("--objects", type=int, default=50000, metavar="N",
                   help="to measure memory with (50000)")
    p.add_argument("--json", action="store_true",
                   help="an object a line, for each row and server")
    p.add_argument("--gate", action="store_true",
                   help="fail if a goal is missed")
    p.add_argument("servers", nargs="*", metavar="SERVER",
                   choices=[[], *kinds_by_name()],
                   help="beside those of the rows: "
                   + " ".join(kinds_by_name()))
    return p.parse_args(argv)


def run_memory(bench, others, arguments):
    found = bench.memory((measured.Digestd, *others), arguments.objects)
    if arguments.json:
        for name, size in found:
            print(json.dumps({"row": MEMORY, "server": name,
                              "object_bytes": size}), flush=True)
        return
    print()
    show_titles("server", f"bytes an object, {arguments.objects:,} of 1 KiB")
    show(*((name, f"{size:,.0f}") for name, size in found))


def run(arguments, folder):
    """Whether all went well."""
    bench = Bench(folder, arguments.rounds, arguments.seconds)
    others = [kinds_by_name()[name] for name in arguments.servers]
    wanted = arguments.row or [row.name for row in ROWS]
    good = True
    try:
        if not arguments.json:
            show_titles(*TITLES)
        for row in ROWS:
            if row.name not in wanted:
                continue
            for summary in summaries(row, bench.run(row, others)):
                good &= reached(summary)
                if arguments.json:
                    print(json.dumps(summary), flush=True)
                else:
                    show(cells(summary))
        if MEMORY in wanted:
            run_memory(bench, others, arguments)
    finally:
        bench.end()
    return good or not arguments.gate


def main():
    arguments = arguments_of(sys.argv[1:])
    if not measured.Files.installed() or not shutil.which("wrk"):
        print("bench-http needs nginx and wrk", file=sys.stderr)
        return 1
    if len(measured.CPUS) < 2:
        print("one processor only: all have to share it", file=sys.stderr)
    with tempfile.TemporaryDirectory(dir=cluster.BUILD) as folder:
        os.chmod(folder, 0o777)
        return 0 if run(arguments, folder) else 1


if __name__ == "__main__":
    sys.exit(main())

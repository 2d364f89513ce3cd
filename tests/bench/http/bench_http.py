#!/usr/bin/env python3
"""digestd beside the caches that Debian has: hits, misses, memory.

Each server has one processor with one worker, wrk and the origin have another;
rounds take turns among the servers, and medians are printed. CPU is what all
processes of a server have had for a request: noise moves it least.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, os.pardir, os.pardir, "tool"), HERE]
sys.dont_write_bytecode = True  # the source may be read-only

import caches  # noqa: E402
import cluster  # noqa: E402
import measured  # noqa: E402

# label, path (a prefix if it ends in a slash: every URL new), clients
LOADS = (("hits of 1 KiB, 64 clients", "/1k", 64),
         ("hits of 1 KiB, 128 clients", "/1k", 128),
         ("hits of 1 KiB, 256 clients", "/1k", 256),
         ("hits of 64 KiB, 64 clients", "/64k", 64),
         ("hits of 64 KiB, 256 clients", "/64k", 256),
         ("misses of 1 KiB, 64 clients", "/miss/", 64),
         ("no-store, 1 KiB, 64 clients", "/pass/", 64),
         ("POSTs for 1 KiB, 64 clients", "/post/", 64))
SERVERS = (measured.Digestd, measured.Digestd2, *measured.OTHERS,
           measured.Files)
USUAL = [kind.__name__.lower() for kind in SERVERS
         if kind is not measured.Digestd2]
OBJECTS = 50000  # to measure memory with
TITLES = ("server", "requests/s", "of digestd's", "p50 [ms]", "p99 [ms]",
          "CPU [us]", "errors")


def wrk(port, path, clients, seconds):
    """What report.lua says of a run."""
    new = {"NEW": path} if path.endswith("/") else {}
    if path.startswith("/post/"):
        new["METHOD"] = "POST"
    done = subprocess.run(
        [*measured.on_cpu(measured.CLIENT_CPU), "wrk", "-t1", f"-c{clients}",
         f"-d{seconds}s", "-s", os.path.join(HERE, "report.lua"),
         f"http://127.0.0.1:{port}{path}"], env={**os.environ, **new},
        stdout=subprocess.PIPE, check=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


class Bench:
    """Servers that run before one origin; what each of them did."""

    def __init__(self, arguments, folder):
        self.seconds, self.rounds = arguments.seconds, arguments.rounds
        self.folder, self.number = folder, 0
        self.running, self.started = [], []
        self.origin = self.start(measured.Origin, 0)

    def start(self, kind, origin_port):
        folder = os.path.join(self.folder, kind.__name__)
        os.makedirs(folder)
        server = kind(origin_port, folder)
        self.started.append(server)
        return server

    def start_all(self, names):
        for kind in SERVERS:
            name = kind.__name__.lower()
            if name not in (names or USUAL):
                continue
            try:
                self.running.append(self.start(kind, self.origin.port))
            except caches.Missing as e:
                print(e, file=sys.stderr)

    def end(self):
        while self.started:
            self.started.pop().end()

    def path(self, path):
        """A prefix is used once."""
        self.number += 1
        return f"{path}{self.number}/" if path.endswith("/") else path

    def measure(self, server, path, clients):
        """One round. Says so if it was not what it should have been."""
        path = self.path(path)
        asked, cpu = self.origin.served(), self.cpu(server)
        found = wrk(server.port, path, clients, self.seconds)
        found["cpu_us"] = 1e6 * (self.cpu(server) - cpu) / found["requests"]
        asked = self.origin.served() - asked - 1
        share = asked / found["requests"]
        hits = not path.endswith("/")
        if share > .01 if hits else share < .99:
            found["errors"] += abs(asked - (0 if hits
                                            else found["requests"]))
        return found

    @staticmethod
    def cpu(server):
        return measured.cpu_seconds(server.process.popen.pid)

    def load(self, path, clients):
        """{server: its rounds}."""
        rounds = {}
        for server in self.running:
            if isinstance(server, measured.Files) and path.endswith("/"):
                continue
            rounds[server] = []
            wrk(server.port, self.path(path), clients, 1)
        for _ in range(self.rounds):
            for server, found in rounds.items():
                found.append(self.measure(server, path, clients))
        return rounds

    def memory(self, server):
        """Bytes that an object of 1 KiB takes of memory, its body too."""
        pid = server.process.popen.pid
        before, asked = measured.memory_bytes(pid), self.origin.served()
        while self.origin.served() - asked < OBJECTS:
            wrk(server.port, self.path("/miss/"), 16, 1)
        return (measured.memory_bytes(pid) - before) / \
            (self.origin.served() - asked)


def median(rounds, key):
    return statistics.median(r[key] for r in rounds)


def table(rounds):
    """Rows of what a load did, the fastest first."""
    speed = {s: statistics.median(r["requests"] / r["seconds"] for r in found)
             for s, found in rounds.items()}
    ours = next((v for s, v in speed.items() if s.name == "digestd"), None)
    for s in sorted(speed, key=speed.get, reverse=True):
        found = rounds[s]
        yield (s.name, f"{speed[s]:,.0f}",
               f"{speed[s] / ours:.2f}" if ours else "-",
               f"{median(found, 'p50_us') / 1000:.2f}",
               f"{median(found, 'p99_us') / 1000:.2f}",
               f"{median(found, 'cpu_us'):.1f}",
               str(sum(r["errors"] for r in found)))


def show(title, titles, rows):
    print(f"\n{title}\n")
    print("|", " | ".join(titles), "|")
    print("|" + "---|" * len(titles))
    for row in rows:
        print("|", " | ".join(row), "|", flush=True)


def arguments_of(argv):
    p = argparse.ArgumentParser(
        prog="make bench-http ARGS=...", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--seconds", type=int, default=3, help="of a round (3)")
    p.add_argument("--rounds", type=int, default=3, help="of a load (3)")
    p.add_argument("--only", default="", metavar="WORDS",
                   help="loads with these words in their names")
    p.add_argument("servers", nargs="*", metavar="SERVER",
                   help=f"{' '.join(USUAL)} (all), and digestd2: with two "
                   "workers")
    return p.parse_args(argv)


def run(arguments, folder):
    bench = Bench(arguments, folder)
    try:
        bench.start_all(arguments.servers)
        if not arguments.only or arguments.only in "memory":
            show(f"memory, {OBJECTS} objects of 1 KiB and more",
                 ("server", "bytes an object"),
                 [(s.name, f"{bench.memory(s):,.0f}") for s in bench.running
                  if not isinstance(s, measured.Files)])
        for label, path, clients in LOADS:
            if arguments.only in label:
                show(label, TITLES, table(bench.load(path, clients)))
    finally:
        bench.end()


def main():
    arguments = arguments_of(sys.argv[1:])
    if not measured.Files.installed() or not shutil.which("wrk"):
        print("bench-http needs nginx and wrk", file=sys.stderr)
        return 1
    if len(measured.CPUS) < 2:
        print("one processor only: all have to share it", file=sys.stderr)
    with tempfile.TemporaryDirectory(dir=cluster.BUILD) as folder:
        os.chmod(folder, 0o777)
        run(arguments, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())

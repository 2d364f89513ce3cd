#!/usr/bin/env python3
"""Hits by HTTP/2, without TLS, beside HTTP/1.1 and nginx's static files.

Each server has one processor with one worker, h2load and the origin have
another; rounds take turns, and medians are printed. CPU is what all processes
of a server have had for a request.
"""

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.join(HERE, os.pardir, os.pardir)
sys.path[:0] = [os.path.join(TESTS, "tool"), os.path.join(TESTS, "scenario"),
                HERE]
sys.dont_write_bytecode = True  # the source may be read-only

import cluster  # noqa: E402
import measured  # noqa: E402

# label, path, clients, requests of each at a time, and by HTTP/1.1, too
LOADS = (("1 KiB, 64 clients, one request at a time", "/1k", 64, 1, True),
         ("1 KiB, 64 clients, 10 requests at a time", "/1k", 64, 10, False),
         ("64 KiB, 64 clients, one request at a time", "/64k", 64, 1, True))


class Digestd(measured.Digestd):
    lines = "http2_plain = true\n"


class FilesHttp2(measured.Files):
    listens = " http2"


def measure(server, path, how, seconds):
    """Requests a second, and the processor's time for one [us]."""
    cpu = server.cpu_seconds()
    done = subprocess.run(
        [*measured.on_cpu(measured.CLIENT_CPU), "h2load", "-D", str(seconds),
         *how, f"http://127.0.0.1:{server.port}{path}"],
        stdout=subprocess.PIPE, check=True, text=True).stdout
    cpu = server.cpu_seconds() - cpu
    good = int(re.search(r"(\d+) succeeded", done)[1])
    bad = int(re.search(r"(\d+) failed", done)[1])
    assert good and not bad, done
    return good / seconds, 1e6 * cpu / good


def runs(servers, clients, streams, old):
    """Name, server and h2load's options of each row of a table."""
    digestd, files, files2 = servers
    by2 = ("-c", str(clients), "-m", str(streams))
    yield "digestd, HTTP/2", digestd, by2
    yield "nginx, HTTP/2", files2, by2
    if old:
        by1 = ("--h1", "-c", str(clients))
        yield "digestd, HTTP/1.1", digestd, by1
        yield "nginx, HTTP/1.1", files, by1


def load(servers, row, arguments):
    label, path, clients, streams, old = row
    found = {}
    measure(servers[0], path, ("-c", "1"), 1)  # it is a hit from now on
    for _ in range(arguments.rounds):
        for name, server, how in runs(servers, clients, streams, old):
            found.setdefault(name, []).append(
                measure(server, path, how, arguments.seconds))
    print(f"\n{label}\n\n| server | requests/s | CPU [us] |\n|---|---|---|")
    for name, rounds in found.items():
        speed, cpu = map(statistics.median, zip(*rounds))
        print(f"| {name} | {speed:,.0f} | {cpu:.1f} |", flush=True)


def run(arguments, folder):
    started = []

    def start(kind, before):
        place = os.path.join(folder, f"{len(started)}")
        os.makedirs(place)
        started.append(kind(before, place))
        return started[-1]

    try:
        origin = start(measured.Origin, measured.Certificates(folder))
        servers = [start(kind, origin)
                   for kind in (Digestd, measured.Files, FilesHttp2)]
        for row in LOADS:
            if arguments.only in row[0]:
                load(servers, row, arguments)
    finally:
        while started:
            started.pop().end()


def main():
    p = argparse.ArgumentParser(
        prog="make bench-http2 ARGS=...", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--seconds", type=int, default=3, help="of a round (3)")
    p.add_argument("--rounds", type=int, default=3, help="of a load (3)")
    p.add_argument("--only", default="", metavar="WORDS",
                   help="loads with these words in their names")
    arguments = p.parse_args()
    if not (measured.Files.installed() and shutil.which("h2load") and
            shutil.which("openssl")):
        print("bench-http2 needs nginx, openssl and h2load, which is in "
              "nghttp2-client", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(dir=cluster.BUILD) as folder:
        os.chmod(folder, 0o777)
        run(arguments, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""What digestd brings to proxies that are there: real nginx, Squids and
Varnishes, each alone and with a digestd beside it, over the same trace, with
the same clients at each, and before the same origin.

Systems take turns, each with processes of its own that start empty. "from
origin" is the origin's own count; "remote hits" are objects that came from
another machine's proxy, "false hits" peers that were asked in vain, "digests"
the bytes of digests that machines got from each other.

"false hit [us]" is what a false hit adds to a miss, measured after the trace
on idle machines, one request at a time on one kept connection to the first
machine: the median of those for which a peer was asked in vain, less the
median of misses for which none was. Objects that the second machine has just
lost (a file removed, a ban, a PURGE) make the false hits. The digests of
Squids among themselves cannot be had to be wrong at a given time: there new
objects are asked for that no digest has, and false positives make them.

Remote hits depend on how busy the machine is, and all counts on --rate: nginx
looks every 10 s or so how large its cache is, and Squid also evicts in the
background, so that faster replays give them more room than they were told.
"""

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.join(HERE, os.pardir, os.pardir)
sys.path[:0] = [HERE, *(os.path.join(TESTS, *folder) for folder in (
    ("tool",), ("scenario",), ("bench", "http"), ("bench", "cluster")))]
sys.dont_write_bytecode = True  # the source may be read-only

import bench_cluster  # noqa: E402
import cluster  # noqa: E402
import events  # noqa: E402
import neighbours  # noqa: E402
import systems  # noqa: E402

TRACE = "gen:upisa,requests=57000,seed=1"
NODES_MAX = 8
FEW = 5  # of which no median is told
HOST = "http://www.example.com"
PROBE_BYTES = 10000


def arguments_of(argv):
    listed = "\n".join(f"  {r.name:17}{r.text}" for r in neighbours.ROWS)
    p = argparse.ArgumentParser(
        prog="make bench-sidecars ARGS=...", description=__doc__,
        epilog=f"rows:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--row", action="append", metavar="NAME", default=[],
                   choices=[r.name for r in neighbours.ROWS],
                   help="this one only, see below; may be repeated")
    p.add_argument("--nodes", type=int, default=3, metavar="N",
                   help=f"machines, 2 to {NODES_MAX} (3)")
    p.add_argument("--cache-size", type=bench_cluster.size_of,
                   default=40 << 20, metavar="SIZE",
                   help="of each proxy (40M)")
    p.add_argument("--trace", default=TRACE,
                   help="a log or a generator (%(default)s)")
    p.add_argument("--requests", type=int, default=0, metavar="N",
                   help="of the trace, the first N only")
    p.add_argument("--rate", type=float, default=400, metavar="N",
                   help="requests a second; 0: without waiting (400)")
    p.add_argument("--origin-delay", type=int, default=0, metavar="MS",
                   help="that the origin takes (0)")
    p.add_argument("--concurrency", type=int, default=64, metavar="N",
                   help="requests under way at most (64)")
    p.add_argument("--partition", default="client",
                   choices=("client", "round-robin"),
                   help="of clients over machines (client)")
    p.add_argument("--probes", type=int, default=200, metavar="N",
                   help="false hits, and misses, that are timed (200)")
    p.add_argument("--option", action="append", default=[],
                   type=bench_cluster.option_of, metavar="NAME=VALUE",
                   help="of digestd.conf(5), for all nodes of digestd; may "
                   "be repeated")
    p.add_argument("--json", action="store_true", help="an object a row")
    a = p.parse_args(argv)
    if not 2 <= a.nodes <= NODES_MAX:
        p.error(f"--nodes: 2 to {NODES_MAX}")
    return a


def wanted_rows(arguments):
    """Rows whose programs are here; names those that are not."""
    for row in neighbours.ROWS:
        if arguments.row and row.name not in arguments.row:
            continue
        if row.missing():
            print(f"left out: {row.name}: {row.missing()} is not installed",
                  file=sys.stderr)
        else:
            yield row


def probe_urls(count):
    """(to be held and lost, not held by anybody)"""
    return ([f"{HOST}/lost/{i}" for i in range(count)],
            [f"{HOST}/new/{i}" for i in range(count)])


def time_lost(system, count):
    """Seconds of misses: with a peer asked in vain, and without any."""
    lost, new = probe_urls(count)
    system.hold_for_probes(1, lost)
    vain, plain = [], []
    connection = neighbours.connect(system, 0)
    for url, other in zip(lost, new):
        system.forget(1, url)
        before = system.vain(0)
        took = neighbours.timed_get(connection, system, url)
        after = system.vain(0)
        if after > before:
            vain.append(took)
        took = neighbours.timed_get(connection, system, other)
        if system.vain(0) == after:
            plain.append(took)
    connection.close()
    return vain, plain


def time_false_positives(system, count):
    lost, new = probe_urls(count)
    connection = neighbours.connect(system, 0)
    took = {url: neighbours.timed_get(connection, system, url)
            for url in lost + new}
    connection.close()
    vain = system.asked_in_vain()
    return ([s for url, s in took.items() if url in vain],
            [s for url, s in took.items() if url not in vain])


def time_false_hits(system, count):
    """[us] that they add to a miss, and how many were timed."""
    if not system.digests or not count:
        return None, 0
    vain, plain = (time_lost if system.can_forget
                   else time_false_positives)(system, count)
    if min(len(vain), len(plain)) < FEW:
        return None, len(vain)
    return 1e6 * (statistics.median(vain) - statistics.median(plain)), \
        len(vain)


EVENT = events.Event("trace", "the whole trace, from empty caches on",
                     events.steps_of_trace)


def run_row(row, arguments, load):
    """A row as numbers."""
    halves = events.halves(load)
    probes = [(events.BEGIN, "c", url, PROBE_BYTES) for urls in
              probe_urls(arguments.probes) for url in urls]
    probes.append((events.BEGIN, "c", HOST + "/is-followed", 1))
    steps = [events.Step(r) for r in (*halves, probes)]
    event = events.Event(EVENT.name, EVENT.text, EVENT.steps,
                         load=row.make.load)
    with contextlib.ExitStack() as ends:
        folder = ends.enter_context(
            tempfile.TemporaryDirectory(dir=cluster.BUILD))
        os.chmod(folder, 0o777)  # some servers change their user
        origin = events.Origin(folder, load.origin_delay_ms, steps)
        ends.callback(origin.end)
        system = row.make(systems.Plan(
            arguments.nodes, arguments.cache_size, origin.port,
            tuple(arguments.option)), folder)
        ends.callback(system.end)
        seen, found = events.Seen(), neighbours.Found()
        for i, half in enumerate(halves):
            if i:
                system.halfway()
            asked, before = origin.stats(), system.found()
            seen.add_replay(events.replay(system, folder, event, load, half),
                            load.rate, True)
            found = found.plus(system.found().since(before))
            seen.add_origin(asked, origin.stats())
        added_us, timed = time_false_hits(system, arguments.probes)
    return {
        "row": row.name, "requests": seen.requests, "verified": seen.verified,
        "errors": seen.errors, "failures": dict(seen.failures),
        "origin_requests": seen.fetches, "origin_bytes": seen.fetched_bytes,
        "remote_hits": found.remote_hits, "false_hits": found.false_hits,
        "digest_bytes": found.digest_bytes, "has_digests": row.make.digests,
        "false_hit_us": added_us, "false_hits_timed": timed,
        "seconds": seen.seconds,
        "late": seen.seconds > bench_cluster.LATE * seen.planned_s > 0,
    }


def only_with_digests(name):
    return lambda r: f"{r[name]:,}" if r["has_digests"] else ""


CELLS = {
    "system": lambda r: r["row"],
    "from origin": lambda r: f"{r['origin_requests']:,}",
    "origin [MB]": lambda r: f"{r['origin_bytes'] / 1e6:,.1f}",
    "remote hits": only_with_digests("remote_hits"),
    "false hits": only_with_digests("false_hits"),
    "digests [KB]": lambda r: f"{r['digest_bytes'] / 1e3:,.0f}"
    if r["has_digests"] else "",
    "false hit [us]": lambda r: "" if r["false_hit_us"] is None
    else f"{r['false_hit_us']:+,.0f}",
    "errors": lambda r: f"{r['errors']}" + (" late" if r["late"] else ""),
}


def show(cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def run(arguments, rows):
    """Whether no client saw an error, and no row failed."""
    load = events.Load(
        requests=events.read_trace(arguments.trace, arguments.requests),
        rate=arguments.rate, origin_delay_ms=arguments.origin_delay,
        concurrency=arguments.concurrency, partition=arguments.partition)
    good = True
    if not arguments.json:
        print(f"{arguments.nodes} machines with {arguments.cache_size:,} bytes "
              f"each, {arguments.trace}, {len(load.requests):,} requests, "
              f"{arguments.rate:g} requests/s\n")
        show(CELLS)
        show(["---"] * len(CELLS))
    for row in rows:
        try:
            r = run_row(row, arguments, load)
        except (AssertionError, RuntimeError, OSError,
                subprocess.TimeoutExpired) as e:
            print(f"{row.name}: {e}", file=sys.stderr)
            good = False
            continue
        good &= not r["errors"]
        if arguments.json:
            print(json.dumps(r), flush=True)
        else:
            show([cell(r) for cell in CELLS.values()])
    return good


def main():
    arguments = arguments_of(sys.argv[1:])
    rows = list(wanted_rows(arguments))
    return 0 if rows and run(arguments, rows) else 1


if __name__ == "__main__":
    sys.exit(main())

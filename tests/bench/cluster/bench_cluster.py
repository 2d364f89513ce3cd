#!/usr/bin/env python3
"""Clusters of caches beside each other: digestd with each of its placements,
and consistent hashing in front of nodes that know nothing of each other, over
the same nodes, trace and origin.

Systems take turns, each with a cluster of its own that starts empty. Hit ratio
is by the origin's own count: requests that did not reach it, of all. Local are
those that were answered by the process that the client connected to; with a
front there are none. "between" is what went from node to node, digests
included, or from nodes to the front. CPU is what all processes had of the
processors for a request, but for clients and origin, and "ratio" that to the
first hash's in the same round; "busiest" what the one that had most of it had
for a request of all, so that a cluster on machines of their own cannot do more
than one request in that time. "lost" are points of hit ratio beside the same
half of the trace without the event.

Counts depend little on how busy a machine is; p50 and p99 depend on nothing
else. "late" says that requests came later than they should have.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.join(HERE, os.pardir, os.pardir)
sys.path[:0] = [HERE, *(os.path.join(TESTS, *folder) for folder in (
    ("tool",), ("scenario",), ("bench", "http")))]
sys.dont_write_bytecode = True  # the source may be read-only

import cluster  # noqa: E402
import events  # noqa: E402
import systems  # noqa: E402

TRACE = "gen:cdn,requests=40000,seed=1"
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
NODES_MAX = 32  # scd-replay is told of each N - 1 times, and takes 1,024
LATE = 1.1  # times as long as planned


def size_of(text):
    """64K, 4M, as digestd reads it."""
    number, unit = (text[:-1], UNITS[text[-1]]) if text[-1:] in UNITS \
        else (text, 1)
    return int(number) * unit


def option_of(text):
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(text)
    return name.strip(), value.strip().strip('"')


def arguments_of(argv, rows):
    listed = "\n".join(f"  {r.name:16}{r.text}" for r in rows)
    happen = "\n".join(f"  {e.name:16}{e.text}" for e in events.EVENTS)
    p = argparse.ArgumentParser(
        prog="make bench-cluster ARGS=...", description=__doc__,
        epilog=f"rows:\n{listed}\n\nevents:\n{happen}",
        formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--row", action="append", metavar="NAME", default=[],
                   choices=[r.name for r in rows],
                   help="this one only, see below; may be repeated")
    p.add_argument("--event", action="append", metavar="NAME", default=[],
                   choices=[e.name for e in events.EVENTS],
                   help="this one only, see below; may be repeated")
    p.add_argument("--nodes", type=int, default=8, metavar="N",
                   help=f"2 to {NODES_MAX} (8)")
    p.add_argument("--cache-size", type=size_of, default=4 << 20,
                   metavar="SIZE",
                   help="of each node (4M)")
    p.add_argument("--disk", type=size_of, default=0, metavar="SIZE",
                   help="that each node of digestd has behind it, and finds "
                   "again when it is restarted; 1M at least (no disk)")
    p.add_argument("--trace", default=TRACE,
                   help="a log or a generator (%(default)s)")
    p.add_argument("--requests", type=int, default=0, metavar="N",
                   help="of the trace, the first N only")
    p.add_argument("--rate", type=float, default=4000, metavar="N",
                   help="requests a second; 0: without waiting (4000)")
    p.add_argument("--origin-delay", type=int, default=0, metavar="MS",
                   help="that the origin takes, but for the flash crowd's (0)")
    p.add_argument("--concurrency", type=int, default=64, metavar="N",
                   help="requests under way at most (64)")
    p.add_argument("--partition", default="client",
                   choices=("client", "round-robin"),
                   help="of clients over nodes without a front (client)")
    p.add_argument("--hot-requests", type=int, default=20000, metavar="N",
                   help="for the hot object (20000)")
    p.add_argument("--crowds", type=int, default=10, metavar="N",
                   help="new objects of the flash crowd (10)")
    p.add_argument("--rounds", type=int, default=1, metavar="N",
                   help="of which medians are shown (1)")
    p.add_argument("--option", action="append", type=option_of, default=[],
                   metavar="NAME=VALUE", help="of digestd.conf(5), for all "
                   "nodes of digestd; may be repeated")
    p.add_argument("--json", action="store_true",
                   help="an object a line, for each event and system")
    a = p.parse_args(argv)
    if not 2 <= a.nodes <= NODES_MAX:
        p.error(f"--nodes: 2 to {NODES_MAX}")
    return a


def installed(rows):
    """Rows whose programs are here; names those that are not."""
    for row in rows:
        if row.needs and not row.needs.installed():
            print(f"left out: {row.name}: {row.needs.program} is not "
                  "installed", file=sys.stderr)
        else:
            yield row


def result_of(event, row, seen):
    """What a run came to, as numbers."""
    n = seen.requests
    cpu = sum(seen.cpu.values())
    return {
        "event": event.name, "row": row.name, "requests": n,
        "hit_ratio": seen.hit_ratio,
        "last_hit_ratio": seen.last_hit_ratio,
        "local": 0 if row.make.front else seen.kinds["local"] / n,
        "origin_requests": seen.fetches, "origin_bytes": seen.fetched_bytes,
        "between_bytes": seen.between if row.make.counts else None,
        "cpu_us": 1e6 * cpu / n, "cpu_ratio": None,
        "busiest_us": 1e6 * max(seen.cpu.values()) / n,
        "p50_ms": seen.p50_ms, "p99_ms": seen.p99_ms,
        "requests_per_s": n / seen.seconds,
        "late": seen.seconds > LATE * seen.planned_s > 0,
        "errors": seen.errors, "failures": dict(seen.failures),
        "errors_before": seen.errors_before,
        "verified": seen.verified,
        "unaccounted_requests": seen.unaccounted[0],
        "unaccounted_bytes": seen.unaccounted[1],
        **{"by_" + kind: count for kind, count in seen.kinds.items()},
    }


def run_row(row, event, arguments, load):
    def plan_of(port):
        return systems.Plan(arguments.nodes, arguments.cache_size, port,
                            tuple(arguments.option), arguments.disk)
    with tempfile.TemporaryDirectory(dir=cluster.BUILD) as folder:
        os.chmod(folder, 0o777)  # some servers change their user
        return events.run(row.make, plan_of, folder, event, load,
                          arguments.nodes)


def run_round(rows, event, arguments, load):
    """One result a row, by its name; one that fails is told, and left out."""
    results = {}
    for row in rows:
        try:
            results[row.name] = result_of(event, row, run_row(
                row, event, arguments, load))
        except (AssertionError, RuntimeError, OSError,
                subprocess.TimeoutExpired) as e:
            print(f"{event.name}, {row.name}: {e}", file=sys.stderr)
    hashed = next((results[row.name] for row in rows
                   if row.is_hash and row.name in results), None)
    for r in results.values():
        if hashed:
            r["cpu_ratio"] = r["cpu_us"] / hashed["cpu_us"]
    return results


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def median_of(rounds):
    """Of a row's rounds; what is no number is so if it was in any of them."""
    first = rounds[0]
    return {name: statistics.median(r[name] for r in rounds)
            if is_number(value) else any(r[name] for r in rounds)
            if isinstance(value, bool) else value
            for name, value in first.items()}


def share(value):
    return f"{value:.4f}".lstrip("0") if value < 1 else "1"


def mb(value):
    return "" if value is None else f"{value / 1e6:,.1f}"


CELLS = {
    "system": lambda r: r["row"],
    "hit ratio": lambda r: share(r["hit_ratio"]),
    "lost": lambda r: "" if r.get("lost") is None else f"{r['lost']:.2f}",
    "local": lambda r: share(r["local"]),
    "from origin": lambda r: f"{r['origin_requests']:,.0f}",
    "origin [MB]": lambda r: mb(r["origin_bytes"]),
    "between [MB]": lambda r: mb(r["between_bytes"]),
    "CPU [us]": lambda r: f"{r['cpu_us']:.0f}",
    "ratio": lambda r: "" if r["cpu_ratio"] is None
    else f"{r['cpu_ratio']:.2f}",
    "busiest [us]": lambda r: f"{r['busiest_us']:.1f}",
    "p50 [ms]": lambda r: f"{r['p50_ms']:.2f}",
    "p99 [ms]": lambda r: f"{r['p99_ms']:.2f}" + (" late" if r["late"]
                                                  else ""),
    "errors": lambda r: f"{r['errors']:.0f}" + (
        f", {r['unaccounted_requests']:.0f} unaccounted"
        if r["unaccounted_requests"] else ""),
}
TITLES = {"hot": ("system", "from origin", "CPU [us]", "ratio", "busiest [us]",
                  "between [MB]", "errors"),
          "flash": ("system", "from origin", "between [MB]", "p50 [ms]",
                    "p99 [ms]", "errors")}
LOST = ("system", "hit ratio", "lost", "local", "origin [MB]", "between [MB]",
        "p50 [ms]", "p99 [ms]", "errors")
TRACE_TITLES = ("system", "hit ratio", "local", "origin [MB]", "between [MB]",
                "CPU [us]", "ratio", "busiest [us]", "p50 [ms]", "p99 [ms]",
                "errors")


def titles_of(event):
    if event.name in TITLES:
        return TITLES[event.name]
    return TRACE_TITLES if event.name == "trace" else LOST


def show(event, results):
    titles = titles_of(event)
    print(f"\n{event.name}: {event.text}\n")
    for line in (titles, ["---"] * len(titles),
                 *([CELLS[t](r) for t in titles] for r in results)):
        print("| " + " | ".join(line) + " |", flush=True)


def load_of(arguments):
    return events.Load(
        requests=events.read_trace(arguments.trace, arguments.requests),
        rate=arguments.rate, origin_delay_ms=arguments.origin_delay,
        concurrency=arguments.concurrency,
        partition=arguments.partition, hot=arguments.hot_requests,
        crowds=arguments.crowds)


def run(arguments, rows):
    """Whether no client saw an error, and all counts add up."""
    load = load_of(arguments)
    usual, good = {}, True  # hit ratio of the second half, by row
    for event in events.EVENTS:
        if arguments.event and event.name not in arguments.event:
            continue
        rounds = [run_round(rows, event, arguments, load)
                  for _ in range(arguments.rounds)]
        results = [median_of([r[row.name] for r in rounds if row.name in r])
                   for row in rows if any(row.name in r for r in rounds)]
        good &= all(len(r) == len(rows) for r in rounds)
        for r in results:
            if event.name == "trace":
                usual[r["row"]] = r["last_hit_ratio"]
            if event.name in ("loss", "restart") and r["row"] in usual:
                r["lost"] = 100 * (usual[r["row"]] - r["hit_ratio"])
            good &= not (r["unaccounted_requests"] or r["errors"]
                         or r["errors_before"])
        if arguments.json:
            for r in results:
                print(json.dumps(r), flush=True)
        else:
            show(event, results)
    return good


def main():
    rows = systems.all_rows()
    arguments = arguments_of(sys.argv[1:], rows)
    wanted = [r for r in rows if not arguments.row or r.name in arguments.row]
    wanted = list(installed(wanted))
    if not wanted:
        return 1
    if not arguments.json:
        of = f"its first {arguments.requests:,} requests, " \
            if arguments.requests else ""
        print(f"{arguments.nodes} nodes of {arguments.cache_size:,} bytes, "
              f"{arguments.trace}, {of}{arguments.rate:g} requests/s")
    return 0 if run(arguments, wanted) else 1


if __name__ == "__main__":
    sys.exit(main())

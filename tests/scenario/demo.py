#!/usr/bin/env python3
"""What cooperation saves: one trace through a cluster, then without digests.

Starts an origin and some nodes on loopback, sends a trace through them as real
HTTP, checks every byte that comes back, and prints what each node did; then
the same with nodes that do not know each other.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cluster as scd  # noqa: E402

DEFAULT_TRACE = "gen:upisa,requests=60000,seed=1"


def arguments():
    p = argparse.ArgumentParser(prog="bootstrap run", description=__doc__,
                                formatter_class=argparse
                                .RawDescriptionHelpFormatter)
    p.add_argument("--trace", default=DEFAULT_TRACE,
                   help="an access log (Common Log Format, Squid, CSV; plain, "
                   "gz or zst) or a generator (%(default)s)")
    p.add_argument("--nodes", type=int, default=3, help="how many (3)")
    p.add_argument("--cache-size", default="64M", help="of each node (64M)")
    p.add_argument("--concurrency", type=int, default=32,
                   help="requests under way at a time (32)")
    p.add_argument("--requests", type=int, help="stop after so many")
    p.add_argument("--keep", metavar="DIR",
                   help="where configurations, logs, status and metrics go")
    p.add_argument("--stay", action="store_true",
                   help="leave the cluster up until Enter is pressed")
    a = p.parse_args()
    if not 1 <= a.nodes <= 64:
        p.error("--nodes: 1 to 64")
    if not a.trace.startswith("gen:") and not os.path.exists(a.trace):
        p.error(f"--trace: {a.trace}: no such file")
    return a


def replay(c, a):
    """scd-replay with its progress on this terminal; gives its report."""
    argv = [scd.REPLAY, "--json", "--concurrency", str(a.concurrency)]
    if a.requests:
        argv += ["--requests", str(a.requests)]
    for node in c.nodes:
        argv += ["--node", f"http://127.0.0.1:{node.data}"]
    r = subprocess.run(argv + [a.trace], stdout=subprocess.PIPE, check=False)
    if r.returncode > 1 or not r.stdout:
        sys.exit(f"scd-replay failed ({r.returncode})")
    return json.loads(r.stdout)


def keep(c, directory):
    os.makedirs(directory, exist_ok=True)
    for node in c.nodes:
        for name, target in (("status.json", "/status.json"),
                             ("metrics", "/metrics")):
            with open(os.path.join(directory, f"{node.name}.{name}"),
                      "wb") as f:
                f.write(scd.request(node.admin, target).body)
        shutil.copy(node.path, directory)


def run(a, cooperate):
    """One cluster, one replay. Gives its report and the nodes' status."""
    c = scd.Cluster(a.nodes, cooperate, cache_size=a.cache_size,
                    log_level="warning")
    try:
        c.start_origin("--trace", a.trace)
        c.start()
        if cooperate and a.nodes > 1:
            c.wait_settled()
        report = replay(c, a)
        # the last changes are published within publish_max
        if cooperate and a.nodes > 1:
            c.wait_settled()
        statuses = [dict(node.status(), delivered=r["bytes"])
                    for node, r in zip(c.nodes, report["nodes"])]
        if cooperate and a.keep:
            keep(c, a.keep)
        if cooperate and a.stay:
            look_further(c)
            input("Press Enter to stop it. ")
    finally:
        c.stop()
    for process in c.processes:
        if process.popen.returncode:
            sys.exit(f"a process ended with {process.popen.returncode}:\n"
                     + process.logged())
    c.remove()
    return report, statuses


def look_further(c):
    print("\nThe cluster is up:")
    for node in c.nodes:
        print(f"  {node.name}: clients http://127.0.0.1:{node.data}/  "
              f"status http://127.0.0.1:{node.admin}/status.json  "
              f"metrics http://127.0.0.1:{node.admin}/metrics")


COLUMNS = (
    ("node", None),
    ("requests", lambda s: s["counters"]["requests"]),
    ("local hits", lambda s: s["counters"]["local_hits"]
     + s["counters"]["collapsed"]),
    ("remote hits", lambda s: s["counters"]["remote_hits"]),
    ("false hits", lambda s: s["counters"]["false_hits"]),
    ("origin", lambda s: s["counters"]["origin_fetches"]),
    ("MB delivered", lambda s: s["delivered"] / 1e6),
    ("MB origin", lambda s: s["counters"]["origin_bytes"] / 1e6),
    ("MB peers", lambda s: s["counters"]["peer_bytes"] / 1e6),
    ("MB saved", lambda s: (s["delivered"]
                            - s["counters"]["origin_bytes"]) / 1e6),
    ("full digests B", lambda s: s["digest"]["full_sent_bytes"]),
    ("deltas B", lambda s: s["digest"]["delta_sent_bytes"]),
)


def text(value):
    return f"{value:,.1f}" if isinstance(value, float) else f"{value:,}"


def rows(statuses, label):
    values = [[f(s) for _, f in COLUMNS[1:]] for s in statuses]
    total = [sum(column) for column in zip(*values)]
    return ([[s["node"]] + [text(v) for v in line]
             for s, line in zip(statuses, values)],
            [label] + [text(v) for v in total])


def print_table(with_peers, without):
    lines, total = rows(with_peers, "together")
    _, alone = rows(without, "without")
    table = [[name for name, _ in COLUMNS], *lines, total, alone]
    widths = [max(len(row[i]) for row in table) for i in range(len(COLUMNS))]
    for row in table:
        print("  ".join(cell.ljust(w) if i == 0 else cell.rjust(w)
                        for i, (cell, w) in enumerate(zip(row, widths))))


def total(statuses, name):
    return sum(s["counters"][name] for s in statuses)


def hit_ratio(statuses):
    hits = sum(total(statuses, n)
               for n in ("local_hits", "collapsed", "remote_hits",
                         "revalidated"))
    return hits / max(1, total(statuses, "requests"))


def conclude(report, with_peers, without):
    saved = total(without, "origin_bytes") - total(with_peers, "origin_bytes")
    digests = sum(s["digest"]["full_sent_bytes"]
                  + s["digest"]["delta_sent_bytes"] for s in with_peers)
    full = max(s["digest"]["full_bytes"] for s in with_peers)
    delta = max(s["digest"]["delta_bytes"] for s in with_peers)
    print(f"\nHit ratio {hit_ratio(with_peers):.1%} together, "
          f"{hit_ratio(without):.1%} without; "
          f"{saved / 1e6:,.1f} MB less from the origin, "
          f"for {digests / 1e6:,.2f} MB of digests.")
    print(f"At the end a full digest has {full:,} bytes, a delta {delta:,}.")
    print(f"{report['total']['verified']:,} bodies verified, "
          f"{report['total']['errors']['total']:,} errors.")


def main():
    a = arguments()
    began = time.monotonic()
    print(f"{a.nodes} nodes with {a.cache_size} each, {a.trace}\n", flush=True)
    report, with_peers = run(a, True)
    alone, without = run(a, False)
    print_table(with_peers, without)
    conclude(report, with_peers, without)
    print(f"{time.monotonic() - began:.0f} s in all.")
    if a.keep:
        print(f"\nConfigurations, status and metrics of the run: {a.keep}\n"
              "Start a node of your own: digestd -c FILE "
              "(digestd.conf(5), docs/examples), then look at\n"
              "  curl http://ADMIN/status.json   what it holds, what its "
              "peers hold\n"
              "  curl http://ADMIN/metrics       the same for Prometheus\n"
              "or leave this one up with ./bootstrap run --stay.")
    bad = report["total"]["errors"]["total"] + alone["total"]["errors"]["total"]
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()

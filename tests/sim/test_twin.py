#!/usr/bin/env python3
"""Every counter of the simulator against twin.py's, on small traces. TAP.

Traces: generated ones, one of random requests with objects that change, and
the first requests of real ones where they are beside the checkout.
"""

import os
import random
import subprocess
import sys
import tempfile

import twin

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.environ.get("top_srcdir", os.path.join(HERE, "..", ".."))
BUILD = os.environ.get("top_builddir", os.path.join(TOP, "build"))
DUMP = os.path.join(BUILD, "tests", "sim", "cluster_dump")
REAL = os.environ.get("SCD_TRACES", os.path.join(
    TOP, "..", "shared", "traces"))

CASES = [
    {"protocol": "none"},
    {"protocol": "none", "proxies": 1},
    {"protocol": "none", "placement": twin.SECOND, "warmup_ppm": 250000},
    {"protocol": "icp"},
    {"protocol": "icp", "proxies": 9, "tries": 0},
    {"protocol": "icp", "peer_use": 1, "size_limit": 20000},
    {"protocol": "icp", "placement": twin.SECOND, "tries": 2},
    {"protocol": "icp", "placement": twin.SINGLE, "warmup_ppm": 100000},
    {"protocol": "icp", "placement": twin.SINGLE_SEEN},
    {"protocol": "icp", "placement": twin.SINGLE_SHARED, "epoch": 50},
    {"protocol": "icp", "objects": 1, "capacity": 100},
    {"protocol": "icp", "epoch": 100, "peer_use": 1},
    {"protocol": "htcp", "tries": 3},
    {"protocol": "directory"},
    {"protocol": "directory", "share_ppm": 0},
    {"protocol": "directory", "share_ppm": 100000, "tries": 0},
    {"protocol": "directory", "share_ppm": 1000, "proxies": 8, "epoch": 64},
    {"protocol": "directory", "share_ppm": 0, "period_s": 60},
    {"protocol": "directory", "share_ppm": 50000, "period_s": 30,
     "delay_s": 20, "warmup_ppm": 200000},
    {"protocol": "directory", "delay_requests": 40, "loss_ppm": 200000},
    {"protocol": "directory", "loss_ppm": 500000, "proxies": 7, "tries": 2},
    {"protocol": "directory", "loss_ppm": 100000, "epoch": 30,
     "placement": twin.SINGLE_SHARED, "delay_requests": 70},
    {"protocol": "directory", "placement": twin.SINGLE, "tries": 2},
    {"protocol": "directory", "placement": twin.SECOND, "peer_use": 1,
     "epoch": 7},
    {"protocol": "icp", "modify_s": 60, "tries": 2},
    {"protocol": "directory", "modify_s": 200, "peer_use": 1,
     "share_ppm": 20000},
    {"protocol": "directory", "modify_s": 25, "epoch": 20, "tries": 0},
    {"protocol": "none", "modify_s": 1},
    {"protocol": "icp", "warmup_s": 300},
    {"protocol": "none", "warmup_s": 300, "warmup_ppm": 900000},
]


# Of libscd's digests, of consistent hashing and of admission, which the twin
# does not have.
NOT_HERE = {"full_coded", "xor_coded", "conditional_coded", "forwards",
            "forward_bytes", "admission_memory", "admission_keys",
            "admission_fresh", "admission_false_seen",
            "collapsed", "collapsed_bytes"}  # of whole nodes
SEEN, NAMES = set(), set()


def dump(*arguments):
    done = subprocess.run([DUMP, *arguments], check=True,
                          stdout=subprocess.PIPE, universal_newlines=True)
    return done.stdout


def counters(text):
    found = {}
    for line in text.splitlines():
        who, name, value = line.split()
        found.setdefault(who, {})[name] = int(value)
    return found


def differences(trace, first, columns, case):
    """Yields what differs; notes which counters were not 0 in SEEN."""
    case = {"capacity": 300000, **case}
    options = [f"{k}={v}" for k, v in case.items()]
    fast = counters(dump(trace, "run", f"first={first}", *options))
    slow = twin.Cluster(columns, case).run()
    for who, row in fast.items():
        for name, value in row.items():
            if value:
                SEEN.add(name)
            NAMES.add(name)
            if value != slow[who][name]:
                yield f"{who} {name}: {value}, the twin {slow[who][name]}"


def random_trace(folder):
    """A CSV of popular objects that change now and then, and some requests
    whose responses no cache may store."""
    rng = random.Random(4)
    size = {}
    path = os.path.join(folder, "changes.csv")
    with open(path, "w", encoding="ascii") as out:
        out.write("time,client,url,size,status\n")
        for i in range(6000):
            key = int(rng.paretovariate(0.6)) % 900
            if key not in size or rng.random() < 0.03:
                size[key] = rng.randint(1, 9000)
            out.write(f"{1000000000 + i // 5},10.0.0.{rng.randint(0, 30)},"
                      f"http://a.example/{key},{size[key]},"
                      f"{502 if i % 50 == 49 else 200}\n")
    return path


def traces(folder):
    """Name, how many requests of it, how many cases to leave out between."""
    yield random_trace(folder), 6000, 1
    yield "gen:dec,requests=3000", 3000, 3
    yield "gen:questnet,requests=3000,seed=7", 3000, 4
    for name in ("nasa-http-1995-07-09.clf.log.zst",
                 "cloudphysics-w60.oracleGeneral.bin.zst"):
        yield os.path.join(REAL, name), 4000, 5


def main():
    number = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for trace, first, step in traces(folder):
            label = os.path.basename(trace)
            if trace.startswith(REAL) and not os.path.exists(trace):
                number += 1
                print(f"ok {number} - {label} # SKIP not beside the checkout")
                continue
            columns = twin.Trace(dump(trace, "columns", f"first={first}"))
            for case in CASES[::step]:
                number += 1
                wrong = list(differences(trace, first, columns, case))
                failed += bool(wrong)
                words = " ".join(f"{k}={v}" for k, v in case.items())
                print(f"{'not ok' if wrong else 'ok'} {number} - "
                      f"{label}: {words}")
                for line in wrong[:20]:
                    print("# " + line)
    number += 1
    word = "ok" if NAMES - SEEN == NOT_HERE else "not ok"
    failed += word != "ok"
    print(f"{word} {number} - all other counters were not 0 in some case")
    print(f"1..{number}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

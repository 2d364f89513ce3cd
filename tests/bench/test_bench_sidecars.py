#!/usr/bin/env python3
"""`make bench-sidecars` builds and runs, for few requests to three nginx: what
the origin counts, and what digestd found at others, add up. TAP.

SCD_TEST_LONG has all rows whose programs are here.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.path.abspath(os.environ.get("top_srcdir", "."))
BUILD = os.path.abspath(os.environ.get("top_builddir", "."))
MAKE = os.environ.get("MAKE", "make")
LONG = bool(os.environ.get("SCD_TEST_LONG"))
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(SOURCE, "tests", *folder)
                for folder in (("tool",), ("bench", "sidecars"))]

import bench_sidecars  # noqa: E402
import neighbours  # noqa: E402
from taprun import run  # noqa: E402

# Each is asked for once at each machine: no multiple of them; half of the
# requests is one, as nodes take turns from the first again then.
NODES, OBJECTS = 3, 100
REQUESTS = NODES * OBJECTS
PROBES = 12
RATE = 300 / float(os.environ.get("SCD_TEST_SLOW", "1"))


def bench(*rows):
    """What it printed: a dictionary a row, by its name."""
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as trace:
        trace.write("time,client,url,size\n")
        for i in range(REQUESTS):
            n = i % OBJECTS
            trace.write(f"{i},c,http://a.example/{n},{1000 + n}\n")
        trace.flush()
        few = (f"--json --trace {trace.name} --rate {RATE} --concurrency 4 "
               f"--partition round-robin --probes {PROBES} "
               "--option publish_min=10ms --option publish_max=10ms "
               + " ".join(f"--row {row}" for row in rows))
        # Not the job server of the make that runs this.
        env = {**os.environ, "MAKEFLAGS": "", "MFLAGS": "", "MAKELEVEL": ""}
        r = subprocess.run(
            [MAKE, "-s", "bench-sidecars", f"ARGS={few}"], cwd=BUILD,
            check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, env=env)
    assert r.returncode == 0, r.stdout
    lines = [json.loads(line) for line in r.stdout.splitlines()
             if line.startswith("{")]  # make says what it builds
    found = {line["row"]: line for line in lines}
    assert list(found) == list(rows), r.stdout
    return found


def adds_up(r):
    assert r["requests"] == r["verified"] == REQUESTS, r
    assert r["errors"] == 0, r


def is_alone(r):
    adds_up(r)
    assert r["origin_requests"] == REQUESTS, r
    assert r["remote_hits"] == r["false_hits"] == r["digest_bytes"] == 0, r
    assert r["false_hit_us"] is None, r


def finds_what_others_have(r):
    adds_up(r)
    assert r["origin_requests"] + r["remote_hits"] == REQUESTS, r
    assert OBJECTS <= r["origin_requests"] < REQUESTS * .7, r
    assert r["false_hits"] < OBJECTS / 2, r
    assert r["digest_bytes"] > 2 * OBJECTS, r
    # one round trip more, on one machine
    assert r["false_hits_timed"] > PROBES / 2, r
    assert -1e5 < r["false_hit_us"] < 1e6, r


def nginx_alone_and_with_a_digestd():
    if not shutil.which("nginx"):
        return "nginx is missing"
    found = bench("nginx", "nginx-digestd")
    is_alone(found["nginx"])
    finds_what_others_have(found["nginx-digestd"])
    return None


def varnish_alone_and_with_a_digestd():
    if neighbours.ROWS[-1].missing():
        return "Varnish is missing"
    found = bench("varnish", "varnish-digestd")
    is_alone(found["varnish"])
    finds_what_others_have(found["varnish-digestd"])
    return None


def squids():
    if not shutil.which("squid"):
        return "Squid is missing"
    found = bench("squid", "squid-digests", "squid-digestd")
    is_alone(found["squid"])
    for name in ("squid-digests", "squid-digestd"):
        adds_up(found[name])
        assert found[name]["remote_hits"] > 0, found
        assert found[name]["origin_requests"] >= OBJECTS, found
    return None


def what_is_missing_is_named():
    class Nowhere:
        needs = ("no-such-program",)
    row = neighbours.Row("a", "", Nowhere)
    assert row.missing() == "no-such-program"
    names = [r.name for r in neighbours.ROWS]
    assert len(set(names)) == len(names), names


def cells_are_of_rows_with_digests():
    r = {"row": "a", "origin_requests": 4321, "origin_bytes": 1.5e6,
         "remote_hits": 7, "false_hits": 0, "digest_bytes": 2500,
         "has_digests": True, "false_hit_us": 12.4, "errors": 0,
         "late": False}
    told = [cell(r) for cell in bench_sidecars.CELLS.values()]
    assert told == ["a", "4,321", "1.5", "7", "0", "2", "+12", "0"], told
    r.update(has_digests=False, false_hit_us=None, late=True)
    told = [cell(r) for cell in bench_sidecars.CELLS.values()]
    assert told == ["a", "4,321", "1.5", "", "", "", "", "0 late"], told


if __name__ == "__main__":
    run((what_is_missing_is_named, cells_are_of_rows_with_digests,
         nginx_alone_and_with_a_digestd) +
        ((varnish_alone_and_with_a_digestd, squids) if LONG else ()))

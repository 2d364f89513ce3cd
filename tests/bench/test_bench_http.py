#!/usr/bin/env python3
"""`make bench-http` builds and runs, for some rows and seconds: no request
fails, hits stay away from the origin, and misses are all its own. Its ratios
are those of rounds that took turns, and goals are of the server that they name.
So does `make bench-digests`: there is digest work where it says so. TAP.
"""

import json
import os
import shutil
import subprocess
import sys

SOURCE = os.path.abspath(os.environ.get("top_srcdir", "."))
BUILD = os.path.abspath(os.environ.get("top_builddir", "."))
MAKE = os.environ.get("MAKE", "make")
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(SOURCE, "tests", *folder)
                for folder in (("tool",), ("bench", "http"))]

import bench_http  # noqa: E402
import measured  # noqa: E402
import rows  # noqa: E402
from taprun import run  # noqa: E402

SLOW = float(os.environ.get("SCD_TEST_SLOW", "1"))
DIGESTS = (f"--objects 3000 --seconds {1 if SLOW == 1 else 3} --rounds 1 "
           "--rate 200 --peers 1")
ARGS = "--json --seconds .2 --rounds 1 --row post --row hits-64k"


def make(target, arguments):
    """What it printed."""
    # Not the job server of the make that runs this.
    env = {**os.environ, "MAKEFLAGS": "", "MFLAGS": "", "MAKELEVEL": ""}
    r = subprocess.run([MAKE, "-s", target, f"ARGS={arguments}"], cwd=BUILD,
                       check=False, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True, env=env)
    assert r.returncode == 0, r.stdout
    return r.stdout


def measures_digest_work():
    out = make("bench-digests", DIGESTS)
    rows = [line.strip("| ").split(" | ") for line in out.splitlines()
            if line.startswith("| ")]
    titles, *rows = rows
    assert rows and len(rows) % 2 == 0, out
    for row in rows:
        made, taken = map(float, row[titles.index("generations/s"):][:2])
        assert row[titles.index("errors")] == "0", row
        if row[1] == "yes":
            assert made > 0 and taken > 0, row
        else:
            assert (made, taken) == (0, 0), row


def measures_hits_and_misses():
    if not shutil.which("wrk"):
        return "wrk is missing"
    if not shutil.which("nginx", path="/usr/sbin:/usr/bin"):
        return "nginx is missing"
    found = [json.loads(line) for line in make("bench-http", ARGS).splitlines()
             if line.startswith("{")]  # make says what it builds
    assert [(f["row"], f["server"], f["goal"] is None) for f in found] == [
        ("post", "digestd", True), ("post", "nginx, no cache", False),
        ("hits-64k", "digestd", True),
        ("hits-64k", "nginx, static file", False)], found
    for f in found:
        assert f["errors"] == 0 and f["cpu_us"] > 0, f
        # on a busy machine most of a round's requests are under way at its end
        assert (f["from_origin"] > .5) == (f["row"] == "post"), f
        assert f["ratio"] == 1 or f["server"] != "digestd", f
    return None


def made_up(*cpu_us):
    return [{"cpu_us": us, "requests": 10, "seconds": 1, "p99_us": 1,
             "from_origin": 0, "errors": 0} for us in cpu_us]


def judges_rounds_in_pairs():
    """The machine was slow in the second of three rounds."""
    row = rows.hits("x", "", (measured.Digestd, measured.Files), 2.5)
    ours, other = ("digestd", made_up(1, 10, 2)), \
        (measured.Files.name, made_up(2, 20, 6))
    a, b = bench_http.summaries(row, [ours, other])
    assert (a["ratio"], a["goal"], bench_http.reached(a)) == (1, None, True), a
    assert (b["ratio"], b["goal"], bench_http.reached(b)) == (2, 2.5, False), b
    assert "missed" in bench_http.cells(b)[4], b
    _, b = bench_http.summaries(row, [ours, ("haproxy cache", other[1])])
    assert b["goal"] is None, "the goal is of a server that is not there"


def rows_are_told_apart():
    names = [row.name for row in rows.ROWS]
    assert len(set(names)) == len(names), names
    for row in rows.ROWS:
        assert bool(row.path) != bool(row.prefix), row
        assert len(row.servers) > 1 and row.goal > 0, row


if __name__ == "__main__":
    run((rows_are_told_apart, judges_rounds_in_pairs,
         measures_hits_and_misses, measures_digest_work))

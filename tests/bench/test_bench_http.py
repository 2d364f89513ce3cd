#!/usr/bin/env python3
"""`make bench-http` builds and runs, for seconds and with digestd only: no
request fails, hits stay away from the origin, and misses are all its own. So
does `make bench-digests`: there is digest work where it says so. TAP.
"""

import os
import shutil
import subprocess
import sys

SOURCE = os.path.abspath(os.environ.get("top_srcdir", "."))
BUILD = os.path.abspath(os.environ.get("top_builddir", "."))
MAKE = os.environ.get("MAKE", "make")
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(SOURCE, "tests", "tool"))

from taprun import run  # noqa: E402

SLOW = float(os.environ.get("SCD_TEST_SLOW", "1"))
DIGESTS = (f"--objects 3000 --seconds {1 if SLOW == 1 else 3} --rounds 1 "
           "--rate 200 --peers 1")
ARGS = "--seconds 1 --rounds 1 --only '1 KiB, 64 clients' digestd"


def tables(text):
    """{title: rows}, each a list of its cells."""
    found = {}
    for line in text.splitlines():
        if line.startswith("| ") and found:
            found[list(found)[-1]].append(line.strip("| ").split(" | "))
        elif line and not line.startswith("|"):
            found[line] = []
    return found


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
    found = tables(make("bench-http", ARGS))
    for title in (f"{load} 1 KiB, 64 clients"
                  for load in ("hits of", "misses of", "no-store,",
                               "POSTs for")):
        titles, row = found[title]
        assert row[0] == "digestd" and row[titles.index("errors")] == "0", row
        assert float(row[titles.index("CPU [us]")]) > 0, row
    return None


if __name__ == "__main__":
    run((measures_hits_and_misses, measures_digest_work))

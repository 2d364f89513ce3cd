#!/usr/bin/env python3
"""`make bench-cache` builds and runs, with few objects: each row has times and
the ratio that follows from them, and a gate that nothing can reach fails. TAP.
"""

import os
import subprocess
import sys

SOURCE = os.path.abspath(os.environ.get("top_srcdir", "."))
BUILD = os.path.abspath(os.environ.get("top_builddir", "."))
MAKE = os.environ.get("MAKE", "make")
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(SOURCE, "tests", "tool"))

from taprun import run  # noqa: E402

SMALL = "2000 20 1"


def make(arguments):
    """What it printed, and whether it was content."""
    # Not the job server of the make that runs this.
    env = {**os.environ, "MAKEFLAGS": "", "MFLAGS": "", "MAKELEVEL": ""}
    r = subprocess.run([MAKE, "-s", "bench-cache", f"ARGS={arguments}"],
                       cwd=BUILD, check=False, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True, env=env)
    return r.stdout, r.returncode == 0


def measures_all_operations():
    out, good = make(SMALL)
    assert good, out
    rows = [line.strip("| ").split("|") for line in out.splitlines()
            if line.startswith("| ")][1:]
    assert len(rows) == 3, out
    for row in rows:
        alone, beside, shared, ratio = map(float, row[1:])
        assert min(alone, beside, shared) > 0, row
        rounded = .5 / beside + .5 / shared  # the times are, to whole ns
        assert abs(beside / shared - ratio) < (.05 + rounded) * ratio, row


def fails_below_its_gate():
    out, good = make(SMALL + " 1000")
    assert not good, out


if __name__ == "__main__":
    run((measures_all_operations, fails_below_its_gate))

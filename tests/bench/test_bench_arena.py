#!/usr/bin/env python3
"""`make bench-arena` builds and runs, with few bodies: each row says what the
kernel holds, which is no less than the bodies. TAP.
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


def measures_all_bodies():
    # Not the job server of the make that runs this.
    env = {**os.environ, "MAKEFLAGS": "", "MFLAGS": "", "MAKELEVEL": ""}
    r = subprocess.run([MAKE, "-s", "bench-arena", "ARGS=16"], cwd=BUILD,
                       check=False, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True, env=env)
    assert not r.returncode, r.stdout
    rows = [line.strip("| ").split(" | ") for line in r.stdout.splitlines()
            if line.startswith("| ")][1:]
    assert len(rows) == 12, r.stdout
    for row in rows:
        assert 1 <= float(row[3]) < 2 and float(row[4]) >= 0, row
        assert float(row[5].split()[0]) > 0, row


if __name__ == "__main__":
    run((measures_all_bodies,))

#!/usr/bin/env python3
"""`make bench` builds and runs, with small numbers, and prints its tables.
TAP.
"""

import os
import subprocess
import sys

BUILD = os.environ.get("top_builddir", ".")
MAKE = os.environ.get("MAKE", "make")
ARGS = ("BENCH_CODEC_ARGS=-n 1000 -r 1", "BENCH_INDEX_ARGS=1000 14 2 4 8")

# What the output has of each part.
TITLES = (
    ("coders", "Full digest, m/n 14, k 2, 1000 objects"),
    ("those of others", "\nbytewise "),
    ("digests", "Filling a filter, asking it"),
    ("conditional deltas", "what the conditional form saves"),
    ("the peer index", "objects a peer, 14 bits an object"),
)


def main():
    # Not the job server of the make that runs this.
    env = {**os.environ, "MAKEFLAGS": "", "MFLAGS": "", "MAKELEVEL": ""}
    r = subprocess.run([MAKE, "-s", "bench", *ARGS], cwd=BUILD, check=False,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       text=True, env=env)
    print(f"1..{len(TITLES)}")
    failed = False
    for number, (label, text) in enumerate(TITLES, 1):
        good = r.returncode == 0 and text in r.stdout
        failed |= not good
        print(f"{'ok' if good else 'not ok'} {number} - {label}")
    if failed:
        print("# " + r.stdout.replace("\n", "\n# "))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

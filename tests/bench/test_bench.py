#!/usr/bin/env python3
"""`make bench` builds and runs, with small numbers, and prints its tables; and
the tables of PERFORMANCE.md can be made of its JSON. TAP.
"""

import os
import subprocess
import sys

SOURCE = os.path.abspath(os.environ.get("top_srcdir", "."))
BUILD = os.environ.get("top_builddir", ".")
MAKE = os.environ.get("MAKE", "make")
ARGS = ("BENCH_CODEC_ARGS=-n 1000 -r 1", "BENCH_INDEX_ARGS=1000 14 2 4 8",
        "BENCH_AGES_ARGS=1000 10", "BENCH_LIST_ARGS=1000 32 3 10",
        "BENCH_LOAD_ARGS=20000 1000", "BENCH_TABLE_ARGS=1000 32 3 4 8/2")

# What the output has of each part.
TITLES = (
    ("coders", "Full digest, m/n 14, k 2, 1000 objects"),
    ("those of others", "\nbytewise "),
    ("digests", "Filling a filter, asking it"),
    ("conditional deltas", "what the conditional form saves"),
    ("the peer index", "objects a peer, 14 bits an object"),
    ("lists", "1000 objects; list of width 21"),
    ("frames by age", "1000 objects; list of width 20 with ages"),
    ("the peer table", "1000 objects a peer; lists of width"),
    ("traces", "generated (zipf)"),
)


def summary_has_all_arrays():
    """A line for each array, ours beside zstd; and all coders of three."""
    program = os.path.join(BUILD, "digestd", "bench", "digestbench")
    told = subprocess.run([program, "coding", "-n", "1000,9000", "-r", "1",
                           "-S", "coders", "-j"], stdout=subprocess.PIPE,
                          check=True)
    script = os.path.join(SOURCE, "tests", "bench", "summary.py")
    out = subprocess.run([sys.executable, script], input=told.stdout,
                         stdout=subprocess.PIPE, check=True).stdout.decode()
    coders, arrays = [[line.split(" | ") for line in part.splitlines()[2:]]
                      for part in out.split("\n\n")[:2]]
    assert len(arrays) == 16 and all(len(row) == 9 for row in arrays)
    assert sum(row[1] == "zstd -1" for row in coders) == 3
    assert all(row[5:] == ["1.00", "1.00 |"] for row in coders
               if row[1] == "zstd -1")
    assert sum(row[1] == "bytewise" for row in coders) == 3


def main():
    # Not the job server of the make that runs this.
    env = {**os.environ, "MAKEFLAGS": "", "MFLAGS": "", "MAKELEVEL": ""}
    r = subprocess.run([MAKE, "-s", "bench", *ARGS], cwd=BUILD, check=False,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       text=True, env=env)
    print(f"1..{len(TITLES) + 1}")
    failed = False
    for number, (label, text) in enumerate(TITLES, 1):
        good = r.returncode == 0 and text in r.stdout
        failed |= not good
        print(f"{'ok' if good else 'not ok'} {number} - {label}")
    try:
        summary_has_all_arrays()
        print(f"ok {len(TITLES) + 1} - the summary")
    except Exception as e:  # any fault is this test's failure
        failed = True
        print(f"not ok {len(TITLES) + 1} - the summary\n# {e!r}")
    if failed:
        print("# " + r.stdout.replace("\n", "\n# "))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""`make bench-mesh` and `make bench-crowd` build and run, for few nodes: nodes
that nobody asks for anything hardly wake up, and what comes is published and
taken. TAP.
"""

import json
import os
import subprocess
import sys

SOURCE = os.path.abspath(os.environ.get("top_srcdir", "."))
BUILD = os.path.abspath(os.environ.get("top_builddir", "."))
MAKE = os.environ.get("MAKE", "make")
NODES = 3
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(SOURCE, "tests", "tool"))

from taprun import run  # noqa: E402


def made(target, few):
    """The lines of JSON that a benchmark prints."""
    # Not the job server of the make that runs this.
    env = {**os.environ, "MAKEFLAGS": "", "MFLAGS": "", "MAKELEVEL": ""}
    r = subprocess.run([MAKE, "-s", target, f"ARGS=--json {few}"], cwd=BUILD,
                       check=False, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True, env=env)
    assert not r.returncode, r.stdout
    return [json.loads(line) for line in r.stdout.splitlines()
            if line.startswith("{")]


def measures_all_phases():
    idle, news, purges = made("bench-mesh", f"--nodes {NODES} --seconds 1.5 "
                              "--rate 10 --lags 1")
    assert idle["generations"] == idle["taken"] == 0, idle
    # once a second, and some that come with the machine's own work
    assert 0 < idle["wake_ups"] < 5, idle
    assert news["generations"] > 0 and news["kb"] > 0, news
    # two others take each, unless two come at once
    assert 0 < news["taken"] <= (NODES - 1) * (news["generations"] + 3), news
    assert news["cores"] > 0 and news["lag_ms"] > 0, news
    assert purges["purges"] > 0 and purges["p99_ms"] > 0, purges
    # the streams of all, both ways
    assert purges["connections"] >= NODES * (NODES - 1), purges


def follows_a_crowd():
    found, = made("bench-crowd", "--peers 20 --objects 100 --seconds 1")
    assert found["peers"] == 20 and found["known_s"] < 60, found
    assert found["taken"] > 0 and found["core"] > 0, found


if __name__ == "__main__":
    run((measures_all_phases, follows_a_crowd))

"""What the tests of cachesim share: the program, and small traces."""

import json
import os
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "tool"))

from program import SOURCE, Program, folder_of
from taprun import run

cachesim = Program("cachesim", "cachesim")

# With sanitizers: what only compares figures says nothing new there.
SLOW = float(os.environ.get("SCD_TEST_SLOW", "1")) > 1


def result(*args, **more):
    """What a command says with --json, which has to go well."""
    code, out, err = cachesim(*args, "--json", **more)
    assert code == 0, err
    told = json.loads(out)
    assert told["cachesim"] == 1
    return told


def rows(*args, **more):
    return result(*args, **more)["rows"]

#!/usr/bin/env python3
"""The options of cachesim, its manual page with its examples, and its
completion."""

import re
import tempfile

from harness import SLOW, cachesim, run
from options import Options


class Cachesim(Options):
    beside = ("/dev/null",)  # a trace without requests
    after_commands = ".Ss "
    without_files = ("generate",)
    some_words = {"lru", "icp", "compact", "single"}


def examples_of_the_manual():
    with tempfile.TemporaryDirectory() as folder:
        blocks, said = cachesim.examples(folder)
    for line in ("one hit of objects", "byte hit ratio", "plot $row",
                 "set output \"sizes.svg\"", "25 to 60",
                 "publish_share"):
        assert line in said, line
    used = set(re.findall(r"cachesim ([a-z]+)\b", "".join(blocks)))
    assert set(cachesim.commands()) <= used


TESTS = Cachesim(cachesim).tests()
if not SLOW:
    TESTS.append(examples_of_the_manual)

if __name__ == "__main__":
    run(TESTS)

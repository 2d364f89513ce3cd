#!/usr/bin/env python3
"""The processor time of test programs, the longest first.

    make check-times    # of all that `make check` runs and that are in C

They run one after the other. Some wait, which is no processor time; what else
runs on the machine makes them take longer, but hardly more of it. The sum
leaves out tests/world/world, which runs as long as its requests are many.
"""

import os
import subprocess
import sys

COUNTED_APART = "tests/world/world"
SKIPPED = 77


def seconds_of(program):
    """What it and its children take of the processor, and whether it failed."""
    child = subprocess.Popen([program], stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    failed = os.waitstatus_to_exitcode(status) not in (0, SKIPPED)
    child.returncode = status
    return usage.ru_utime + usage.ru_stime, failed


def main(programs):
    rows = sorted(((*seconds_of(p), p) for p in programs), reverse=True)
    for seconds, failed, program in rows:
        if seconds >= 0.1 or failed:
            print(f"{seconds:7.2f} {program}{' FAILED' if failed else ''}")
    total = sum(seconds for seconds, _, program in rows
                if program != COUNTED_APART)
    print(f"{total:7.2f} seconds, {len(rows)} programs, "
          f"without {COUNTED_APART}")
    return any(failed for _, failed, _ in rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

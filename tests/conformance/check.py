#!/usr/bin/env python3
"""The suite against digestd, held against the list of allowed failures.

usage: check.py FOLDER [TEST...]

FOLDER takes the package and the logs. The check fails when a test fails that
is not in allowed.tsv, and when one passes that is: so the list only shrinks.
A test that fails unexpectedly is tried once more.
With tests named, only they are run, and how each ended is printed.
"""

import os
import sys
import tempfile

import suite


def read_allowed():
    """{test: reason}; lines are test, tab, reason."""
    allowed = {}
    path = os.path.join(suite.HERE, "allowed.tsv")
    with open(path, encoding="utf-8") as f:
        for line in f:
            if line.startswith("#"):
                continue
            name, reason = line.rstrip("\n").split("\t")
            assert reason and name not in allowed, line
            allowed[name] = reason
    return allowed


def run_whole(root, folder, allowed):
    with suite.Running(suite.Digestd, root, folder) as base:
        return suite.run_twice(root, base, allowed)


def judge(results, allowed):
    """Complaints, one a line."""
    failed = set(suite.failures(results))
    for name in sorted(failed - allowed.keys()):
        yield f"FAIL: {name}: {suite.why(results, name)}"
    for name in sorted(allowed.keys() - failed):
        yield f"FAIL: {name} passes: take it off allowed.tsv"


def report(results, allowed):
    """Prints, ending with totals as Automake's. Returns the exit status."""
    complaints = list(judge(results, allowed))
    expected = len(allowed.keys() & set(suite.failures(results)))
    for line in complaints:
        print(line)
    counted = 0
    for kind in ("required", "optimal"):
        passed, count = suite.score(results, kind)
        counted += passed
        print(f"{kind} {passed} of {count}")
    print(f"# PASS: {counted}\n# XFAIL: {expected}\n"
          f"# FAIL: {len(complaints)}")
    return 1 if complaints else 0


def try_some(root, folder, names):
    with suite.Running(suite.Digestd, root, folder) as base:
        for name, test in suite.run(root, base, names).items():
            print(f"{name}: {test['kind']}: {test['result']}")
    return 0


def main():
    folder, names = os.path.abspath(sys.argv[1]), sys.argv[2:]
    try:
        root = suite.package(os.path.join(folder, "npm"))
    except suite.Missing as e:
        print(f"SKIP: http-cache-tests {suite.VERSION}: {e}\n# SKIP: 1")
        return 0
    suite.enter_namespace()
    with tempfile.TemporaryDirectory(dir=folder) as logs:
        if names:
            return try_some(root, logs, names)
        allowed = read_allowed()
        return report(run_whole(root, logs, allowed), allowed)


if __name__ == "__main__":
    sys.exit(main())

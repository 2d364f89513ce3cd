#!/usr/bin/env python3
"""Runs the scenarios with pytest and reports them as TAP, for Automake."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

try:
    import pytest
except ImportError:
    print("1..0 # SKIP pytest is not installed: no scenario was run")
    sys.exit(0)


class Tap:
    def __init__(self):
        self.number = 0
        self.outcome = {}

    def pytest_collection_finish(self, session):
        print(f"1..{len(session.items)}", flush=True)

    def pytest_runtest_logreport(self, report):
        """Each test has three phases; the worst of them counts."""
        rank = ("passed", "skipped", "failed")
        old = self.outcome.get(report.nodeid, ("passed", ""))
        if rank.index(report.outcome) >= rank.index(old[0]):
            text = report.longreprtext if report.failed else str(
                report.longrepr[2] if report.skipped else "")
            self.outcome[report.nodeid] = (report.outcome, text)
        if report.when == "teardown":
            self.tell(report.nodeid)

    def tell(self, nodeid):
        outcome, text = self.outcome[nodeid]
        name = nodeid.split("::", 1)[-1].replace("#", "")
        self.number += 1
        word = "not ok" if outcome == "failed" else "ok"
        skip = f" # SKIP {text}" if outcome == "skipped" else ""
        print(f"{word} {self.number} - {name}{skip}", flush=True)
        if outcome == "failed":
            for line in text.splitlines():
                print("# " + line, flush=True)

    def pytest_collectreport(self, report):
        if report.failed:
            print("Bail out! " + report.longreprtext.replace("\n", " "),
                  flush=True)


if __name__ == "__main__":
    sys.exit(pytest.main(["-q", "-p", "no:terminal", "-p", "no:cacheprovider",
                          os.path.join(HERE, os.environ.get("SCENARIO", ""))
                          if os.environ.get("SCENARIO") else HERE,
                          *sys.argv[1:]], plugins=[Tap()]))

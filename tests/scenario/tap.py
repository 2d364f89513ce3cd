#!/usr/bin/env python3
"""Runs the scenarios with pytest and reports them as TAP, for Automake."""

import os
import signal
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True  # the source may be read-only

try:
    import pytest
except ImportError:
    print("1..0 # SKIP pytest is not installed: no scenario was run")
    sys.exit(0)


class Tap:
    """A plugin that writes TAP; pytest's own report goes nowhere."""

    def __init__(self):
        self.number = 0
        self.outcome = {}
        self.out = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)

    def say(self, line):
        print(line, file=self.out, flush=True)

    def pytest_collection_finish(self, session):
        self.say(f"1..{len(session.items)}")

    def pytest_runtest_logreport(self, report):
        """Each test has three phases; the worst of them counts."""
        rank = ("passed", "skipped", "failed")
        old = self.outcome.get(report.nodeid, ("passed", ""))
        if rank.index(report.outcome) >= rank.index(old[0]):
            self.outcome[report.nodeid] = (report.outcome, self.text(report))
        if report.when == "teardown":
            self.tell(report.nodeid)

    @staticmethod
    def text(report):
        if report.skipped:
            return str(report.longrepr[2])
        return report.longreprtext + "".join(
            "\n" + name + "\n" + content for name, content in report.sections)

    def tell(self, nodeid):
        outcome, text = self.outcome[nodeid]
        name = nodeid.split("::", 1)[-1].replace("#", "")
        self.number += 1
        word = "not ok" if outcome == "failed" else "ok"
        skip = f" # SKIP {text}" if outcome == "skipped" else ""
        self.say(f"{word} {self.number} - {name}{skip}")
        if outcome == "failed":
            for line in text.splitlines():
                self.say("# " + line)

    def pytest_collectreport(self, report):
        if report.failed:
            self.say("Bail out! "
                     + report.longreprtext.replace("\n", " "))


# Each set is a test of its own for Automake, of about the same length. make
# check runs them side by side: all of them mostly wait. What clients and
# origins say to one node; what else becomes of one node; what purges and age
# forbid to serve; what stands beside nodes: other caches, who watches them; and
# proxies with their logs and modules.
# Those of no set are of clusters.
OF_MESSAGES = {f"test_{name}.py" for name in """
    causes cookies early front http http2 interim origins poisoning
    proxy_protocol ranges refusals sites slices slow tls trailers upgrade
    uploads""".split()}
OF_ONE_NODE = {f"test_{name}.py" for name in """
    access_log admission control disk handover kill memory nginx operating
    operation soak systemd tutorial varnish whole""".split()}
OF_PURGES = {f"test_{name}.py" for name in """
    invalidation leases lies purge purge_forms purge_soak stale""".split()}
OF_NEIGHBOURS = {f"test_{name}.py" for name in """
    mixed monitoring sidecar squid squid_parent squid_sibling
    status_page""".split()}
OF_PROXIES = {f"test_{name}.py" for name in """
    modules squid_sidecar trafficserver varnish_sidecar""".split()}
# Whose figures are those of a plain build, or that are about what other
# programs make of a node's output: nothing for one with sanitizers.
OF_FIGURES = {"test_distance.py", "test_simulated.py", "test_tutorial.py",
              "test_operating.py", "test_whole.py", "test_monitoring.py",
              "test_status_page.py", "test_varnish_sidecar.py",
              "test_mixed.py", "test_modules.py", "test_squid_parent.py",
              "test_squid_sidecar.py", "test_trafficserver.py"}
# Where threads meet: what make check-threads runs, which is slow.
OF_THREADS = {f"test_{name}.py" for name in """
    access_log admission chaos cluster coming disk faults front handover kill
    operation origins
    purge relay sharing soak tls uploads""".split()}


def is_wanted(name):
    """In a build of this kind."""
    if os.environ.get("SCD_TEST_THREADS"):
        return name in OF_THREADS
    return name not in OF_FIGURES or not is_slow()


def is_slow():
    return float(os.environ.get("SCD_TEST_SLOW", "1")) > 1


def files(names=None):
    """Those scenarios; without names, all others."""
    return [os.path.join(HERE, name) for name in sorted(os.listdir(HERE))
            if name.startswith("test_") and name.endswith(".py")
            and is_wanted(name)
            and (name in names if names else
                 name not in (OF_MESSAGES | OF_ONE_NODE | OF_PURGES
                              | OF_NEIGHBOURS | OF_PROXIES))]


def run(args):
    """Runs pytest with its arguments; does not return."""
    # as an interrupt: the fixtures end what they have started
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if not args:
        print("1..0 # SKIP no scenario of this set is for such a build")
        sys.exit(0)
    sys.exit(pytest.main(["-p", "no:cacheprovider", "--rootdir", HERE, *args],
                         plugins=[Tap()]))


if __name__ == "__main__":
    # arguments: pytest's, e.g. a file of scenarios, or -k WORD
    run(sys.argv[1:] or [HERE])

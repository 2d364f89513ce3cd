#!/usr/bin/env python3
"""The check of the suite finds what it is for: planted results. TAP."""

import contextlib
import io
import os
import re
import sys

SOURCE = os.environ.get("top_srcdir", ".")
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(SOURCE, "tests", "conformance"),
                os.path.join(SOURCE, "tests", "tool")]

import check  # noqa: E402
import suite  # noqa: E402
from taprun import run  # noqa: E402

BAD = ["Assertion", "no good"]


def planted(**results):
    """Required tests a, b, ... by name; c depends on b."""
    return {name: {"id": name, "kind": "check" if name == "x" else "required",
                   "depends": ["b"] if name == "c" else [], "result": result}
            for name, result in results.items()}


def complaints(results, allowed):
    return [line.split(":")[1].split()[0]
            for line in check.judge(results, allowed)]


def nothing_to_say():
    assert complaints(planted(a=True, b=True, c=True), {}) == []
    assert complaints(planted(a=BAD, x=BAD), {"a": "reason"}) == []


def unlisted_failure():
    assert complaints(planted(a=BAD, b=True), {}) == ["a"]


def listed_test_passes():
    assert complaints(planted(a=True), {"a": "reason"}) == ["a"]


def unknown_test_listed():
    assert complaints(planted(a=True), {"gone": "reason"}) == ["gone"]


def failed_dependency_counts():
    results = planted(a=True, b=BAD, c=True)
    assert complaints(results, {"b": "reason"}) == ["c"]
    assert suite.score(results, "required") == (1, 3)
    assert "depends on b" in suite.why(results, "c")


def report_ends_with_totals():
    with contextlib.redirect_stdout(io.StringIO()) as out:
        status = check.report(planted(a=BAD, b=True), {"b": "reason"})
    assert status == 1
    text = out.getvalue()
    assert "required 1 of 2\n" in text, text
    assert text.endswith("# PASS: 1\n# XFAIL: 0\n# FAIL: 2\n"), text


def list_has_reasons():
    for name, reason in check.read_allowed().items():
        assert len(reason) > 10, name


def document_agrees():
    """docs/CONFORMANCE.md counts as many failures as the list has."""
    with open(os.path.join(SOURCE, "docs", "CONFORMANCE.md"),
              encoding="utf-8") as f:
        row = [line for line in f if line.startswith("| digestd ")][0]
    counts = [int(n) for n in re.findall(r"(\d+)(?: of| \|)", row)]
    assert len(counts) == 4, row
    failed = counts[1] - counts[0] + counts[3] - counts[2]
    assert failed == len(check.read_allowed()), row


TESTS = (nothing_to_say, unlisted_failure, listed_test_passes,
         unknown_test_listed, failed_dependency_counts,
         report_ends_with_totals, list_has_reasons, document_agrees)


if __name__ == "__main__":
    run(TESTS)

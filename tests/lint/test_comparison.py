#!/usr/bin/env python3
"""docs/COMPARISON.md says of digestd only what a test shows, and says of every
program something; the short table of the README agrees with it. TAP.
"""

import os
import re
import sys

SOURCE = os.environ.get("top_srcdir", ".")
sys.path.insert(0, os.path.join(SOURCE, "tests", "tool"))

from taprun import run  # noqa: E402

PROGRAMS = ["digestd", "Squid", "Varnish", "nginx", "Traffic Server", "haproxy"]
HEAD = ["", *PROGRAMS, "shown by"]
WORD = re.compile(r"(yes|partly|no)(?:: (.+)|$)")
SHORT_ROWS_MAX = 14


def text_of(path):
    with open(os.path.join(SOURCE, path), encoding="utf-8") as f:
        return f.read()


def tables(text, head):
    """The rows of all tables with this head."""
    for block in re.findall(r"(?:^\|.*\n)+", text, re.M):
        rows = [[cell.strip() for cell in line.strip()[1:-1].split("|")]
                for line in block.splitlines()]
        if rows[0] == head:
            yield rows[2:]


def comparison(text):
    return [row for rows in tables(text, HEAD) for row in rows]


def row_faults(row):
    """What is wrong with a row, but for its test."""
    if len(row) != len(HEAD):
        return ["columns"]
    faults = [f"{PROGRAMS[i]}: {cell}"
              for i, cell in enumerate(row[1:-1]) if not WORD.match(cell)]
    if (row[-1] == "-") != (re.split(r"\W", row[1])[0] == "no"):
        faults.append("a test where it is no, or none where it is not")
    # what another program does has a name there
    faults += [f"unnamed: {cell}" for cell in row[2:-1]
               if cell in ("yes", "partly")]
    return faults


def shows(name):
    """Whether this is the file and the function of a test."""
    path, _, function = name.partition("::")
    path = os.path.join("tests", path)
    if not (re.search(r"/test_\w+\.(py|c)$", path)
            and os.path.exists(os.path.join(SOURCE, path))):
        return False
    start = "def " if path.endswith(".py") else r"static void "
    return bool(re.search(rf"^{start}{re.escape(function)}\(", text_of(path),
                          re.M))


def every_group_is_there():
    text = text_of("docs/COMPARISON.md")
    assert len(list(tables(text, HEAD))) == 9
    assert len(comparison(text)) > 60


def rows_are_whole():
    rows = comparison(text_of("docs/COMPARISON.md"))
    faults = [(row[0], fault) for row in rows for fault in row_faults(row)]
    assert not faults, faults
    labels = [row[0] for row in rows]
    assert len(labels) == len(set(labels))


def faults_are_found():
    """Planted ones, of rows and of tests."""
    good = ["x", "yes", *["no"] * 5, "lint/test_comparison.py::tables"]
    assert not row_faults(good)
    for at, cell in ((1, "no"), (1, "mostly"), (2, "?"), (3, ""), (4, "yes"),
                     (7, "-")):
        assert row_faults([*good[:at], cell, *good[at + 1:]]), (at, cell)
    assert row_faults(good[:-1])
    assert row_faults(["x", "no", *["no"] * 5, good[-1]])
    assert not row_faults(["x", "no: why", *["no"] * 5, "-"])
    assert shows(good[-1])
    assert not shows(good[-1] + "_of_others")
    assert not shows("lint/test_of_nothing.py::tables")
    assert not shows("lint/rules.py::check")


def tests_exist():
    rows = comparison(text_of("docs/COMPARISON.md"))
    missing = [row[-1] for row in rows if row[-1] != "-" and not shows(row[-1])]
    assert not missing, missing


def readme_agrees():
    """Its rows are rows of the document, with the first word of each cell."""
    readme = text_of("README.md")
    assert "(docs/COMPARISON.md)" in readme
    rows = [row for rows in tables(readme, HEAD[:-1]) for row in rows]
    assert 0 < len(rows) <= SHORT_ROWS_MAX, len(rows)
    wanted = {row[0]: [WORD.match(cell)[1] for cell in row[1:-1]]
              for row in comparison(text_of("docs/COMPARISON.md"))}
    wrong = [row for row in rows if wanted.get(row[0]) != row[1:]]
    assert not wrong, wrong
    # both sides: what it has, and what it lacks
    assert {"yes", "no"} <= {row[1] for row in rows}


TESTS = (every_group_is_there, rows_are_whole, faults_are_found, tests_exist,
         readme_agrees)


if __name__ == "__main__":
    run(TESTS)

#!/usr/bin/env python3
"""digestbench tables: the tables of the paper, its experiment, and the plots of
TUNING.md, as TAP."""

import json
import os
import re
import shutil
import subprocess
import tempfile

from benchmark import SOURCE, bench, row_test, run


def read(*path):
    with open(os.path.join(SOURCE, *path), encoding="utf-8") as f:
        return f.read()


def experiment_of_the_paper():
    code, out, _ = bench("tables", "--trials", "200", "--seed", "7")
    assert code == 0
    m = re.search(rb"theory ([\d.]+) bytes; coded: mean ([\d.]+)", out)
    theory, mean = float(m.group(1)), float(m.group(2))
    assert theory == 9903.9
    # a byte of overhead, and the mean of 200 trials is good to +- 0.8 (sd 11)
    assert theory - 3 < mean < theory + 1 + 3
    for line in out.decode().splitlines():
        cells = line.split()
        if len(cells) == 6 and cells[0][0].isdigit():
            assert abs(float(cells[2]) - float(cells[3])) < 0.0005, line
            assert abs(float(cells[4]) - float(cells[5])) < 0.00005, line


def tables_as_json():
    """The numbers that the text has."""
    text = bench("tables", "-t", "50", "-s", "7")[1].decode()
    told = json.loads(bench("tables", "-t", "50", "-s", "7", "--json")[1])
    rows = [row for t in told["tables"] for row in t["rows"]]
    cells = [line.split() for line in text.splitlines()]
    cells = [c for c in cells if len(c) == 6 and c[0][0].isdigit()]
    assert len(rows) == len(cells) == 18
    for row, cell in zip(rows, cells):
        names = ("m", "k", "wire_bits", "paper_wire_bits", "fp", "paper_fp")
        for name, number in zip(names, cell):
            assert abs(row[name] - float(number)) < .0001, (row, cell)
    mean = float(re.search(r"mean ([\d.]+)", text)[1])
    assert abs(told["experiment"]["mean_bytes"] - mean) < .06
    assert told["experiment"]["trials"] == 50
    none = json.loads(bench("tables", "-t", "0", "-j")[1])
    assert none["experiment"] is None and none["tables"] == told["tables"]


def curves_are_of_the_formulas():
    def curve(name):
        code, out, _ = bench("tables", "--csv", name)
        assert code == 0
        lines = [line.split(",") for line in out.decode().splitlines()]
        return lines[0], [[float(x) for x in line] for line in lines[1:]]

    rows = curve("wire")[1]
    wire, fp = next(r[2:] for r in rows if r[:2] == [2, 14])
    assert abs(wire - 7.9231) < 1e-4 and abs(fp - .01772) < 1e-5
    rows = curve("equal")[1]
    assert [r[1] for r in rows[4:8]] == [1, 2, 3, 4]
    assert abs(rows[4][2] - 49.5) < .01 and abs(rows[5][3] - 7.71) < .01
    for row in curve("cost")[1]:
        assert 0.5 < row[2] / row[1] < 2 and row[2] <= row[4], row
    titles, rows = curve("churn")
    assert len(titles) == 7
    for row in rows:
        assert row[2] >= row[3] and row[5] >= row[6], row
        assert row[1] >= row[3] * .999 and row[4] >= row[6] * .999, row
    assert bench("tables", "--csv", "nonsense")[0] == 2


def plots_are_up_to_date():
    """What gnuplot makes, is checked in; if it is the same gnuplot."""
    if not shutil.which("gnuplot"):
        return
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(SOURCE, "docs", "plots", "tuning.gp")
        r = subprocess.run(["gnuplot", os.path.abspath(script)], check=False,
                           stderr=subprocess.PIPE,
                           env={**os.environ, "OUT": folder,
                                "DIGESTBENCH": bench.path})
        assert (r.returncode, r.stderr) == (0, b"")
        made = sorted(os.listdir(folder))
        assert made == ["churn.svg", "cost.svg", "wire.svg"]
        for name in made:
            old = read("docs", "plots", name)
            new = read(folder, name)
            version = re.search(r"GNUPLOT .*", new).group(0)
            assert len(new) < 40000
            assert new == old or version not in old, name


WRONG = (
    ("operands", ["tables", "x"], b"", 2, b"", "takes no operands"),
    ("two forms", ["tables", "-j", "-c", "wire"], b"", 2, b"", "exclude"),
    ("a negative number", ["tables", "-t", "-1"], b"", 2, b"", "--trials"),
)

TESTS = [experiment_of_the_paper, tables_as_json, curves_are_of_the_formulas,
         plots_are_up_to_date, *(row_test(row, None) for row in WRONG)]


if __name__ == "__main__":
    run(TESTS)

#!/usr/bin/env python3
"""cachesim mrc: its curves are what single simulations say, and samples come
near."""

import os

from harness import cachesim, folder_of, result, rows, run

FOLDER = folder_of({"t.csv": cachesim("generate", "dec,requests=60000")[1]})
AT = FOLDER.name

with open(os.path.join(AT, "changing.csv"), "w") as changing:
    for i in range(20000):
        key = i * i * 7919 % (37 + i % 211)
        changing.write("%d,k%d,%d\n" % (i, key, 1 + key * (1 + i // 3000 % 3)))

# generated; sizes that follow from the key; and that change, up and down
TRACES = ["t.csv", "gen:cdn,requests=20000", "changing.csv"]


def exact_curve_is_what_runs_say():
    """At sizes that hold no more than the smallest objects, too."""
    sizes = "0.01%,0.03%,0.1%,1%,20%"
    for trace in TRACES:
        got = rows("mrc", trace, "-e", "lru,sieve,gdsf", "-s", sizes, cwd=AT)
        runs = rows("sweep", trace, "-p", "1", "-e", "lru,sieve,gdsf", "-s",
                    sizes, cwd=AT)
        alone = {(r["eviction"], r["size"]): r for r in runs}
        assert len(got) == len(alone) == 15
        for r in got:
            same = alone[r["eviction"], r["size"]]
            for name in ("capacity", "hit_ratio", "byte_hit_ratio"):
                assert same[name] == r[name], (r, same[name])


def curve_rises():
    got = rows("mrc", "t.csv", cwd=AT)
    ratios = [r["hit_ratio"] for r in got]
    assert len(ratios) == 20 and ratios == sorted(ratios)
    most = rows("info", "t.csv", cwd=AT)[0]["max_hit_ratio"]
    assert abs(ratios[-1] - most) < 1e-9


def samples_come_near():
    sizes = ("-s", "5%,10%,20%,50%")
    exact = rows("mrc", "t.csv", *sizes, cwd=AT)
    for args in (("-r", "0.2"), ("-r", "0.2", "-S", "7"), ("-m", "5000")):
        told = result("mrc", "t.csv", *sizes, *args, cwd=AT)
        for a, b in zip(exact, told["rows"]):
            assert abs(a["hit_ratio"] - b["hit_ratio"]) < .03, (a, b)
    assert told["rows"] != exact


def objects_are_counted():
    got = rows("mrc", "t.csv", "-s", "100,1000", "--ignore-obj-size", cwd=AT)
    for r in got:
        alone = rows("run", "t.csv", "-s", r["size"], "--ignore-obj-size",
                     cwd=AT)[0]
        assert abs(alone["hit_ratio"] - r["hit_ratio"]) < 1e-9


ROWS = [
    # label, arguments, input, code, stdout, stderr
    ("rate", ("mrc", "-r", "2", "t.csv"), b"", 2, b"",
     "is not a number of 0 to 1"),
    ("policy", ("mrc", "-e", "x", "t.csv"), b"", 2, b"", "is not lru"),
    ("size", ("mrc", "-s", "1%,x", "t.csv"), b"", 2, b"", '"x" is not a'),
]

TESTS = [exact_curve_is_what_runs_say, curve_rises, samples_come_near,
         objects_are_counted]
TESTS += [cachesim.row_test(row, AT) for row in ROWS]

if __name__ == "__main__":
    run(TESTS)

#!/usr/bin/env python3
"""cachesim plot: what is drawn by itself, what is asked for, what cannot be;
and with gnuplot, that a picture comes out."""

import os
import shutil
import subprocess

from harness import cachesim, folder_of, rows, run

FOLDER = folder_of({"bad.csv": b"# cachesim 1 run\n# types: count\na\nx\n",
                    "other.csv": b"a,b\n1,2\n"})
AT = FOLDER.name
TRACE = "gen:upisa,requests=5000"


def made(name, *args):
    assert cachesim("sweep", TRACE, *args, "-o", name, cwd=AT)[0] == 0
    return name


def script(*args):
    code, out, err = cachesim("plot", "--script", *args, cwd=AT)
    assert code == 0, err
    return out.decode()


def hit_ratio_by_size():
    for name in ("size.csv", "size.json"):
        text = script(made(name, "-e", "lru,fifo", "-s", "1%,5%,20%"))
        assert 'set xlabel "capacity"' in text
        assert 'set ylabel "hit ratio, %"' in text
        assert 'title "lru"' in text and 'title "fifo"' in text
        assert text.count("EOD\n") == 4
        row = rows("run", TRACE, "-e", "fifo", "-s", "5%")[0]
        line = f"{row['capacity']} {100 * row['hit_ratio']:.12g}"
        assert line in text.splitlines()


def traffic_by_threshold():
    text = script(made("t.csv", "-k", "icp,directory", "-T", "1%,5%,10%"))
    assert 'set xlabel "threshold, %"' in text
    assert "message bytes per request" in text
    # ICP has no threshold, and no line
    assert 'title "directory"' in text and 'title "icp"' not in text


def any_column_over_any_other():
    text = script(made("p.csv", "-k", "icp", "-p", "2,3,4"), "-x", "proxies",
                  "-y", "queries")
    assert 'set ylabel "queries"' in text and "\n4 " in text


def pictures():
    if not shutil.which("gnuplot"):
        return
    made("s.csv", "-s", "1%,5%,20%")
    terminals = subprocess.run(["gnuplot", "-e", "set terminal"], check=False,
                               stderr=subprocess.STDOUT,
                               stdout=subprocess.PIPE).stdout
    for name, begins in (("s.svg", b"<?xml"), ("s.png", b"\x89PNG")):
        if name == "s.png" and b"pngcairo" not in terminals:
            continue
        code, out, err = cachesim("plot", "s.csv", "-o", name, cwd=AT)
        assert (code, out, err) == (0, b"", ""), err
        with open(os.path.join(AT, name), "rb") as f:
            assert f.read(5).startswith(begins[:5])


def without_gnuplot():
    made("w.csv", "-s", "1%,5%")
    r = subprocess.run([cachesim.path, "plot", "w.csv"], cwd=AT, check=False,
                       env={"PATH": AT}, stderr=subprocess.PIPE, text=True)
    assert r.returncode == 3 and "the program is not installed" in r.stderr


ROWS = [
    # label, arguments, input, code, stdout, stderr
    ("no result", ("plot",), b"", 2, b"", "no file is named"),
    ("no file", ("plot", "none"), b"", 1, b"", "none: No such file"),
    ("another file", ("plot", "other.csv"), b"", 1, b"", "not a result"),
    ("bad line", ("plot", "bad.csv"), b"", 1, b"", "bad.csv:4: a field"),
    ("other end", ("plot", "x", "-o", "x.gif"), b"", 2, b"", "neither .svg"),
    ("no column", ("plot", "w.csv", "-x", "x"), b"", 1, b"", "no such col"),
]

TESTS = [hit_ratio_by_size, traffic_by_threshold, any_column_over_any_other,
         pictures, without_gnuplot]
TESTS += [cachesim.row_test(row, AT) for row in ROWS]

if __name__ == "__main__":
    run(TESTS)

#!/usr/bin/env python3
"""digestctl merge and overlap: digests as sets, and how good estimates are."""

import json
import math

from harness import built, ctl, folder_of, on_a_terminal, row_test, run

A, B, C = (built(range(i * 500, 1000 + i * 500)) for i in range(3))
FOLDER = folder_of({
    "a": A, "b": B, "c": C, "cut": B[:-1], "none": built([]),
    "large": built(range(9), "-b", "128K"), "hashes": built(range(9), "-H",
                                                            "4"),
    "full": built(range(2000), "-b", "64"),
    "odd": built(range(9), "-b", "96K"),
    "b128": built(range(500, 1500), "-b", "128K"),
    "c256": built(range(1000, 2000), "-b", "256K"),
})
AT = FOLDER.name


def merged_arrays_are_those_of_the_union():
    for name, files, numbers in (
            ("two", ("a", "b"), range(1500)), ("three", ("a", "b", "c"),
                                               range(2000)),
            ("one", ("b",), range(500, 1500)), ("twice", ("a", "a"),
                                                range(1000)),
            ("with nothing", ("none", "a"), range(1000))):
        code, got, err = ctl("merge", *files, cwd=AT)
        assert (code, err) == (0, ""), name
        # the headers differ in the number of keys, the payloads in nothing
        assert got[96:] == built(numbers)[96:], name


def sizes_are_folded_to_the_smallest():
    for files, folded_from in ((("a", "b128", "c256"), 262144),
                               (("c256", "b128", "a"), 262144),
                               (("b128", "c256", "a"), 262144),
                               (("b128", "a"), 131072)):
        code, got, err = ctl("merge", *files, cwd=AT)
        assert code == 0
        assert err == (f"digestctl: merge: sizes differ: arrays of up to "
                       f"{folded_from} bits folded to 65536, the smallest\n")
        numbers = range(2000) if len(files) == 3 else range(1500)
        assert got[96:] == built(numbers)[96:], files


def overlap_of_different_sizes():
    same = json.loads(ctl("overlap", "-j", "a", "b", "c", cwd=AT)[1])
    code, out, err = ctl("overlap", "-j", "a", "b128", "c256", cwd=AT)
    told = json.loads(out)
    assert code == 0 and "arrays of up to 262144 bits folded to 65536" in err
    for one, two in zip(same["pairs"], told["pairs"]):
        assert (one["objects"], one["sd"]) == (two["objects"], two["sd"])
    for one, two in zip(same["digests"], told["digests"]):
        assert one["objects"] == two["objects"]


def keys_of_a_union_are_estimated():
    code, out, _ = ctl("merge", "-j", "-o", "m", "-i", "5", "-g", "6", "a", "b",
                       "c", cwd=AT)
    told = json.loads(out)
    assert code == 0 and abs(told["nkeys"] - 2000) < 40
    info = json.loads(ctl("info", "-j", "m", cwd=AT)[1])
    assert info["nkeys"] == told["nkeys"] and info["generation"] == 6
    assert info["instance"] == told["instance"] == "%016x" % 5
    assert info["bytes"] == told["bytes"] and told["digests"] == 3
    assert math.isclose(info["fill"], told["fill"])
    assert math.isclose(info["fp"], told["fp"])
    # an estimate never leaves what the headers say: the same set twice
    for files in (("a", "a"), ("a",), ("none", "a")):
        ctl("merge", "-o", "m", *files, cwd=AT)
        assert 1000 <= json.loads(ctl("info", "-j", "m",
                                      cwd=AT)[1])["nkeys"] <= 1040
    # a full array has no estimate
    ctl("merge", "-o", "m", "full", "full", cwd=AT)
    keys = json.loads(ctl("info", "-j", "full", cwd=AT)[1])["nkeys"]
    merged = json.loads(ctl("info", "-j", "m", cwd=AT)[1])["nkeys"]
    assert merged == 2 * keys


def merge_in_a_pipe():
    assert ctl("merge", "-", "b", data=A, cwd=AT) == ctl("merge", "a", "b",
                                                         cwd=AT)
    code, err = on_a_terminal("merge", "a", "b", cwd=AT)
    assert code == 2 and "is a terminal" in err


def overlap_of_two():
    code, out, _ = ctl("overlap", "-j", "a", "b", cwd=AT)
    told = json.loads(out)
    (pair,) = told["pairs"]
    assert code == 0 and (pair["a"], pair["b"]) == ("a", "b")
    assert [d["file"] for d in told["digests"]] == ["a", "b"]
    assert all(abs(d["objects"] - 1000) < 25 for d in told["digests"])
    assert abs(pair["objects"] - 500) < 25
    assert math.isclose(pair["share_a"],
                        pair["objects"] / told["digests"][0]["objects"])
    code, out, _ = ctl("overlap", "-", "b", data=A, cwd=AT)
    assert code == 0 and b"in common" in out and b" % of b" in out
    assert f"{pair['objects']:.0f} in common".encode() in out


def overlap_of_many():
    pairs = json.loads(ctl("overlap", "-j", "a", "b", "c", cwd=AT)[1])["pairs"]
    names = [p["a"] + p["b"] for p in pairs]
    assert names == ["ab", "ac", "bc"]
    for pair, truth in zip(pairs, (500, 0, 500)):
        assert abs(pair["objects"] - truth) < 25
    lines = ctl("overlap", "a", "b", "c", cwd=AT)[1].decode().splitlines()
    assert [line.split()[2] for line in lines[1:4]] == ["a", "b", "c"]
    cells = [line.split()[1::3] for line in lines[-3:]]
    assert [len(c) for c in cells] == [3, 3, 3]
    assert all(cells[i][j] == cells[j][i] for i in range(3) for j in range(3))
    assert "100.0 %" in lines[-1]


def the_estimate_is_as_good_as_it_says():
    """Over 60 pairs of known sets, errors are what the sd tells: the mean of
    60 squares of normal errors is 1 +- 0.18."""
    squares = []
    for i in range(60):
        one = built(range(i * 10000, i * 10000 + 6000), "-b", "16K")
        two = built(range(i * 10000 + 4000, i * 10000 + 9000), "-b", "16K")
        with folder_of({"one": one, "two": two}) as at:
            (pair,) = json.loads(ctl("overlap", "-j", "one", "two",
                                     cwd=at)[1])["pairs"]
        squares.append(((pair["objects"] - 2000) / pair["sd"]) ** 2)
    assert 0.5 < sum(squares) / len(squares) < 1.7, sum(squares)


ROWS = (
    ("merge: size", ("merge", "a", "b", "odd"), b"", 1, b"",
     "digestctl: odd: filters differ in shape: 98304 bits, 3 hash "
     "functions; a has 65536 bits, 3"),
    ("merge: whose size it is", ("merge", "large", "a", "odd"), b"", 1, b"",
     "odd: filters differ in shape: 98304 bits, 3 hash functions; a has 65536"),
    ("merge: hash functions", ("merge", "a", "hashes"), b"", 1, b"",
     "hashes: filters differ in shape: 65536 bits, 4 hash"),
    ("merge: cut", ("merge", "a", "cut"), b"", 1, b"", "cut: input ends"),
    ("merge: missing", ("merge", "a", "no"), b"", 3, b"", "no: No such"),
    ("merge: nothing", ("merge",), b"", 2, b"", "usage: digestctl merge"),
    ("merge: instance 0", ("merge", "-i", "0", "a"), b"", 2, b"", "usage"),
    ("merge: report in the way", ("merge", "-j", "a"), b"", 2, b"",
     "--output"),
    ("merge: stdin twice", ("merge", "-", "-"), A, 2, b"", "once only"),
    ("merge: full disk", ("merge", "-o", "/dev/full", "a"), b"", 3, b"",
     "No space"),
    ("overlap: size", ("overlap", "odd", "a"), b"", 1, b"",
     "odd: filters differ in shape"),
    ("overlap: hash functions", ("overlap", "a", "hashes"), b"", 1, b"",
     "hashes: filters differ in shape: 65536 bits, 4 hash"),
    ("overlap: cut", ("overlap", "cut", "a"), b"", 1, b"", "cut: input ends"),
    ("overlap: missing", ("overlap", "a", "no"), b"", 3, b"", "no: No such"),
    ("overlap: one", ("overlap", "a"), b"", 2, b"", "usage: digestctl ov"),
    ("overlap: option", ("overlap", "-x", "a", "b"), b"", 2, b"", "x"),
    ("overlap: stdin twice", ("overlap", "-", "-"), A, 2, b"", "once only"),
    ("overlap: full array", ("overlap", "full", "full"), b"", 1, b"",
     "full: all of 64 bits are set"),
    ("overlap: full array at that size", ("overlap", "full", "a"), b"", 1,
     b"", "all of 64 bits are set"),
    ("overlap: nothing in it", ("overlap", "none", "none"), b"", 0,
     b"0 in common (sd 0): 0.0 % of none, 0.0 % of none", ""),
)

if __name__ == "__main__":
    run([merged_arrays_are_those_of_the_union,
         sizes_are_folded_to_the_smallest, overlap_of_different_sizes,
         keys_of_a_union_are_estimated,
         merge_in_a_pipe, overlap_of_two, overlap_of_many,
         the_estimate_is_as_good_as_it_says,
         *(row_test(row, AT) for row in ROWS)])

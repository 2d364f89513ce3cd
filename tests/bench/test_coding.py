#!/usr/bin/env python3
"""digestbench coding: that its tables are complete. How fast anything is, no
test asks."""

import json
import os
import re

from benchmark import SOURCE, bench, row_test, run

TINY = ("coding", "-n", "1000,20000", "-r", "1")
CODE, OUT, ERR = bench(*TINY)
TOLD = json.loads(bench(*TINY, "-s", "1", "--json")[1])
CODERS = ("bytewise", "zstd -1", "zlib -1", "zlib -6")
CODINGS = ("stored", "range", "gaps", "dense", "sparse")
SETUPS = {(14, 2, 0), (46, 1, 0), (8, 6, 0), (32, 3, 0), (12, 3, .1),
          (12, 3, 1), (12, 3, 5), (32, 3, 1)}


def arrays():
    """Setup and objects: what is said of the array, and of each coder."""
    made = {}
    for block in OUT.decode().split("\n\n"):
        title = re.match(r"(?:Full digest|Delta, ([\d.]+) % replaced), m/n "
                         r"([\d.]+), k (\d), (\d+) objects: (\d+) bytes, "
                         r"entropy ([\d.]+)", block)
        if title:
            churn, m, k, objects, *array = (float(x or 0)
                                            for x in title.groups())
            rows = {line[:17].strip(): [float(x) for x in line[17:].split()]
                    for line in block.splitlines()[2:]}
            made[m, k, churn, objects] = (array, rows)
    return made


def all_arrays_by_all_coders():
    assert (CODE, ERR) == (0, "")
    told = arrays()
    assert set(told) == {(*s, n) for s in SETUPS for n in (1000, 20000)}
    for (m, _, _, objects), ((size, entropy), rows) in told.items():
        assert size == -(-m * objects // 8) and 0 < entropy < size
        assert set(CODERS) < set(rows)
        ours = set(rows) - set(CODERS)
        assert ours and all(name.split()[0] in CODINGS for name in ours)
        for name, numbers in rows.items():
            assert len(numbers) == 6 and all(x >= 0 for x in numbers), name
            length, ratio = numbers[:2]
            assert abs(length / entropy - ratio) < .01 * ratio, name
            assert length >= entropy - 2, name
        assert rows["zstd -1"][4:] == [1, 1]


def ours_is_never_much_longer():
    for (_, entropy), rows in arrays().values():
        for name in set(rows) - set(CODERS):
            assert rows[name][0] < 1.005 * entropy + 8, name
        # the others are what they should be, too: no straw men
        assert rows["bytewise"][0] < 1.03 * entropy + 24


def lines_below(title):
    """Those of a table, without its two lines of titles."""
    after = OUT.decode().split(title)[1].split("\n\n")[0]
    return [line.split() for line in after.splitlines()[3:]]


def all_steps_of_a_node():
    rows = lines_below("Filling a filter")
    assert [row[:3] for row in rows] == [
        [n, *shape] for n in ("1000", "20000")
        for shape in (("14", "2"), ("46", "1"), ("8", "6"), ("32", "3"))]
    assert all(len(row) == 13 and all(float(x) >= 0 for x in row)
               for row in rows)


def whole_digests_beside_zstd():
    rows = lines_below("Whole digests")
    assert [row[:3] for row in rows[::3]] == [
        [n, *shape] for n in ("1000", "20000")
        for shape in (("14", "2"), ("46", "1"), ("8", "6"), ("32", "3"))]
    assert [row[3:5] for row in rows[:3]] == [
        ["zstd", "-1"], ["1", "thread"], ["2", "threads"]]
    for row in rows:
        assert len(row) == 11 and all(float(x) >= 0 for x in row[5:])
    assert [row["threads"] for row in TOLD["whole"][:3]] == [1, 1, 2]
    assert len(TOLD["whole"]) == 24
    three = json.loads(bench(*TINY, "-j", "-S", "whole", "-t", "3")[1])
    assert [row["threads"] for row in three["whole"][:3]] == [1, 1, 3]
    assert all(row[step] > 0 for row in three["whole"] for step in
               ("encode_ms", "decode_ms", "decode_spare_ms"))


def all_conditional_deltas():
    rows = lines_below("Deltas of 20000 objects")
    assert [row[:2] for row in rows] == [
        ["8", "5"], ["8", "6"], ["12", "3"], ["12.6", "2"], ["13.1", "2"],
        ["14", "2"], ["16", "3"], ["26", "2"], ["32", "2"], ["32", "3"],
        ["46", "1"], ["49.5", "1"]]
    for row in rows:
        assert row[4::3] == ["%"] * 4
        sizes, savings = row[2::3], row[3::3]
        assert sorted(map(int, sizes)) == list(map(int, sizes))
        assert all(-3 < float(x) < 24 for x in savings)
    # where one bit in 50 is set, a fifth
    assert float(rows[-1][-2]) > 20 and abs(float(rows[0][-2])) < 1


def savings_are_those_of_the_page():
    """TUNING.md has a million objects; a tenth of them comes close, where
    headers do not count."""
    with open(os.path.join(SOURCE, "docs", "TUNING.md"),
              encoding="ascii") as f:
        page = f.read().split("coding --section conditional -n")[1]
    told = {tuple(words[:2]): words[6::3] for words in
            (line.split() for line in page.splitlines()[:20])
            if words[4::3] == ["%"] * 4}
    out = bench("coding", "-n", "100000", "-S", "conditional")[1].decode()
    rows = [line.split() for line in out.splitlines()[5:] if line]
    assert len(told) == len(rows) == 12, (told, rows)
    for row in rows:
        for mine, theirs in zip(row[6::3], told[tuple(row[:2])]):
            assert abs(float(mine) - float(theirs)) < 1, row


def json_has_all_steps():
    """And sizes of deltas that are those of the table."""
    for row in TOLD["digests"]:
        assert len(row) == 14 and all(x > 0 for x in row.values())
    assert len(TOLD["digests"]) == 8 and len(TOLD["conditional"]) == 96
    sizes = [row["xor_bytes"] for row in TOLD["conditional"][48:]]
    assert sizes == [int(x) for row in lines_below("Deltas of 20000 objects")
                     for x in row[2::3]]
    for row in TOLD["conditional"]:
        saving = 1 - row["conditional_bytes"] / row["xor_bytes"]
        assert abs(saving - row["saving"]) < 1e-9


def sections_are_chosen():
    told = json.loads(bench(*TINY, "-j", "-S", "conditional")[1])
    assert set(told) == {"seed", "repetitions", "conditional"}
    assert told["conditional"] == TOLD["conditional"]
    out = bench("coding", "-n", "1000", "-r", "2", "-S", "digests", "-S",
              "conditional")[1]
    assert b"Filling" in out and b"Deltas of" in out and b"zlib" not in out


def json_has_the_same():
    """But for the speeds."""
    told = TOLD
    assert told["seed"] == 1 and told["repetitions"] == 1
    text = arrays()
    assert len(told["coders"]) == len(text)
    for mine in told["coders"]:
        (size, entropy), rows = text[mine["m"], mine["k"],
                                     100 * mine["churn"], mine["objects"]]
        assert mine["array_bytes"] == size
        assert abs(mine["entropy"] - entropy) < .06
        for coder in mine["coders"]:
            name = coder["name"]
            if coder["engine"]:
                name += " " + coder["engine"]
            elif coder["level"]:
                name += f" -{coder['level']}"
            assert coder["bytes"] == rows[name][0]
            assert coder["encode_mbs"] > 0 and coder["decode_mbs"] > 0
        assert len(mine["coders"]) == len(rows)


def another_seed_makes_other_filters():
    args = ("coding", "-n", "1000", "-r", "1", "-S", "coders", "-j", "-s")
    one, two = (json.loads(bench(*args, seed)[1])["coders"]
                for seed in ("1", "2"))
    assert all(a["entropy"] != b["entropy"] for a, b in zip(one, two)
               if not a["churn"])


ROWS = (
    ("too few objects", ["coding", "-n", "999"], b"", 2, b"", "1000.."),
    ("too many objects", ["coding", "-n", "1G"], b"", 2, b"", "--objects"),
    ("too many sizes", ["coding", "-n", ",".join(["1000"] * 8)], b"", 2, b"",
     "7 numbers at most"),
    ("no objects", ["coding", "-n", ""], b"", 2, b"", "--objects"),
    ("no number", ["coding", "-n", "1000,x"], b"", 2, b"", "not a number"),
    ("a gap", ["coding", "-n", "1000,,1000"], b"", 2, b"", "not a number"),
    ("no repetitions", ["coding", "-r", "0"], b"", 2, b"", "1 to 99"),
    ("too many repetitions", ["coding", "-r", "100"], b"", 2, b"", "1 to 99"),
    ("no threads", ["coding", "-t", "0"], b"", 2, b"", "1 to 32"),
    ("no section", ["coding", "-S", "x"], b"", 2, b"", '"x" is not one of'),
    ("too much", ["coding", "x"], b"", 2, b"", "usage: digestbench coding"),
)

if __name__ == "__main__":
    run([all_arrays_by_all_coders, ours_is_never_much_longer,
         json_has_the_same, all_steps_of_a_node, all_conditional_deltas,
         whole_digests_beside_zstd,
         savings_are_those_of_the_page, json_has_all_steps, sections_are_chosen,
         another_seed_makes_other_filters,
         *(row_test(row, None) for row in ROWS)])

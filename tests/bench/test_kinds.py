#!/usr/bin/env python3
"""digestbench tables --kinds: that what it prints is what theory says."""

import json
import math
import re

from benchmark import bench, row_test, run

KEYS = 20000
CODE, OUT, ERR = bench("tables", "--kinds", "--keys", str(KEYS), "--seed", "3")
KINDS = ("Bloom filter", "Compressed Bloom filter", "Golomb-coded set",
         "Blocked Bloom filter", "Squid's digest")
RATES = (.02, .01, .001)


def groups():
    """Rate (0: none is asked for) and its rows: kind -> numbers."""
    made = []
    for line in OUT.decode().splitlines():
        begins = re.match(r"False positives of ([\d.]+) %", line)
        if begins or line.startswith("What Squid sends"):
            made.append((float(begins[1]) / 100 if begins else 0, {}))
        elif made:
            made[-1][1][line[:24].strip()] = [float(x)
                                              for x in line[24:].split()]
    return made


def every_kind_at_every_rate():
    assert (CODE, ERR) == (0, "")
    assert [rate for rate, _ in groups()] == [*RATES, 0]
    for rate, rows in groups():
        assert set(rows) == (set(KINDS) if rate else {KINDS[-1]})
        for numbers in rows.values():
            assert len(numbers) == 8 and all(x >= 0 for x in numbers)


def rates_are_reached():
    for rate, rows in groups():
        for kind, (found, *_) in rows.items():
            want = rate or .092
            spread = 5 * math.sqrt(want / KEYS) + .1 * want
            assert found / 100 < want + spread, (kind, rate, found)
            if kind != KINDS[-1]:  # whole bits: it may be better
                assert found / 100 > want - spread, (kind, rate, found)


def wire_is_in_the_order_of_theory():
    for rate, rows in groups():
        if not rate:
            assert 5 < rows[KINDS[-1]][1] < 5.1
            continue
        plain, compressed, golomb, blocked, squid = (
            rows[kind][1] for kind in KINDS)
        bound = -math.log2(rate)
        assert bound < golomb < plain < blocked < squid
        assert compressed < plain
        assert abs(plain - bound / math.log(2)) < .05
        assert golomb < bound + 1.6


def memory_is_what_pays_for_it():
    for rate, rows in groups():
        for kind, (_, wire, memory, *_) in rows.items():
            if kind == "Compressed Bloom filter":
                assert 2 * wire < memory < 64.1
            elif kind == "Golomb-coded set":
                assert wire + 1.9 < memory < wire + 2.1
            else:
                assert wire - .2 < memory < wire + .2


def numbers_are_the_same_again():
    again = bench("tables", "-K", "-n", str(KEYS), "-s", "3")[1].decode()
    for one, two in zip(OUT.decode().splitlines(), again.splitlines()):
        assert one[:51] == two[:51]


def json_has_the_same():
    """All rows of the table, with its numbers but for the times."""
    told = json.loads(bench("tables", "-K", "-j", "-n", str(KEYS), "-s",
                          "3")[1])
    assert told["keys"] == KEYS and told["seed"] == 3
    rows = [row for _, of_rate in groups() for row in of_rate.values()]
    assert len(told["kinds"]) == len(rows)
    for mine, row in zip(told["kinds"], rows):
        assert mine["reached"] and mine["add_ns"] > 0
        assert abs(100 * mine["found"] - row[0]) < .0006
        assert abs(mine["wire_bits"] - row[1]) < .006
        assert abs(mine["memory_bits"] - row[2]) < .006


ROWS = (
    ("no keys", ["tables", "--kinds", "-n", "0"], b"", 2, b"", "--keys"),
    ("too many", ["tables", "--kinds", "-n", "1G"], b"", 2, b"", "--keys"),
    ("no number", ["tables", "--kinds", "-n", "x"], b"", 2, b"", "--keys"),
    ("one key", ["tables", "--kinds", "-n", "1"], b"", 0,
     b"Golomb-coded set", ""),
)

run((every_kind_at_every_rate, rates_are_reached,
     wire_is_in_the_order_of_theory, memory_is_what_pays_for_it,
     numbers_are_the_same_again, json_has_the_same,
     *(row_test(row, None) for row in ROWS)))

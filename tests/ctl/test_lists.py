#!/usr/bin/env python3
"""digestctl and lists of fingerprints: build, query, diff, apply, merge,
overlap and verify, and what they refuse.
"""

import json
import os

from harness import KEY, SOURCE, ctl, folder_of, run, urls

GOLDEN = os.path.join(SOURCE, "tests", "vectors")


def listed(numbers, *options):
    code, digest, err = ctl("build", "-k", KEY, "--list", *options,
                            data=urls(numbers))
    assert code == 0, err
    return digest


def golden(name, folder="list"):
    with open(os.path.join(GOLDEN, folder, name), "rb") as f:
        return f.read()


# Three generations of one cache, at f = 0.001; lists and an array beside them.
ONE, TWO, THREE = (listed(range(i * 100, 1000 + i * 100), "-f", ".001", "-g",
                          str(i + 1)) for i in range(3))
ARRAY = ctl("build", "-k", KEY, "-b", "64K", "-H", "3",
            data=urls(range(1000)))[1]
FOLDER = folder_of({
    "one": ONE, "two": TWO, "three": THREE, "array": ARRAY,
    "array2": ctl("build", "-k", KEY, "-b", "64K", "-H", "3", "-g", "2",
                  data=urls(range(100, 1100)))[1],
    "wide": listed(range(500, 1500), "-f", "1e-6", "-g", "4"),
    "other": listed(range(9), "-f", ".001", "-n", "1000", "-i", "7", "-g",
                    "9"),
    "none": listed([], "-n", "1000", "-f", ".001"),
    "cut": TWO[:-1], "damaged": TWO[:-9] + bytes([TWO[-9] ^ 1]) + TWO[-8:],
    "thousand": golden("thousand.scd"), "frame": golden("frame.frame"),
    "cut-frame": golden("frame.frame")[:-1],
    "old": golden("old.scd", "ages"), "ages": golden("old.ages", "ages"),
    "by-age": golden("by-age.frame", "ages"),
    "ages-and-frame": golden("old.ages", "ages") +
    golden("by-age.frame", "ages"),
})
AT = FOLDER.name


def told(*args, data=None):
    code, out, err = ctl(*args, cwd=AT, data=data)
    assert (code, err) == (0, ""), (args, code, err)
    return json.loads(out)


def made(name, *args):
    code, out, err = ctl(*args, cwd=AT)
    assert (code, err) == (0, ""), (args, code, err)
    with open(os.path.join(AT, name), "wb") as f:
        f.write(out)
    return out


def a_list_says_what_it_is():
    report = told("build", "-k", KEY, "-l", "-f", ".001", "-j", "-o", "l",
                  data=urls(range(1000)))
    assert report["kind"] == "list" and report["nkeys"] == 1000
    assert report["width"] == 20 and report["fp"] == 1000 / 2 ** 20
    info = told("info", "-j", "l")
    assert info["kind"] == "list" and info["hashing"] == "prefix"
    assert info["nkeys"] == 1000 and info["bytes"] == report["bytes"]
    out = ctl("info", "l", cwd=AT)[1].decode()
    assert "fingerprints     20 bits" in out and "array" not in out


def what_comes_twice_is_there_once():
    assert listed(list(range(1000)) * 2, "-f", ".001") == ONE


def the_width_follows_from_what_is_expected():
    few = told("build", "-k", KEY, "-l", "-f", ".001", "-n", "1e6", "-j", "-o",
               "l", data=urls(range(9)))
    assert few["nkeys"] == 9 and few["width"] == 30


def it_has_what_is_in_it():
    ask = ("query", "-k", KEY, "-q")
    every = urls(range(1000))
    assert ctl(*ask, "one", "-", cwd=AT, data=every)[0] == 0
    code, out, _ = ctl("query", "-k", KEY, "-j", "one", "-", cwd=AT,
                       data=urls(range(5000, 9000)))
    has = sum(row["has"] for row in json.loads(out))
    assert code == 1 and has <= 20, has  # 4 are to be expected
    code, _, err = ctl("query", "one", "http://a.example/1", cwd=AT)
    assert code == 2 and "--key is needed" in err


def deltas_lead_from_one_to_the_next():
    delta = made("onetwo", "diff", "one", "two")
    made("twothree", "diff", "two", "three")
    assert len(delta) < len(TWO) // 3
    assert ctl("apply", "one", "onetwo", cwd=AT) == (0, TWO, "")
    assert ctl("apply", "one", "onetwo", "twothree", cwd=AT)[1] == THREE
    report = told("diff", "-j", "-o", "d", "one", "two")
    assert report["form"] == "list"
    # twins, and what came and went with one fingerprint, are few
    assert 190 <= report["changed_entries"] <= 200, report
    assert ctl("verify", "-B", "one", "onetwo", cwd=AT)[0] == 0
    assert ctl("verify", "-B", "array", "onetwo", cwd=AT)[0] == 1
    assert ctl("verify", "-B", "one", "twothree", cwd=AT)[0] == 1


def nothing_is_a_list_too():
    made("nothing", "diff", "none", "two")
    assert ctl("apply", "none", "nothing", cwd=AT)[1] == TWO


def frames_are_applied_as_they_come():
    """Of the golden files, as a node sends them."""
    code, out, err = ctl("apply", "thousand", "frame", cwd=AT)
    assert (code, err) == (0, "")
    info = json.loads(ctl("info", "-j", "-", data=out)[1])
    assert info["generation"] == 300 and info["nkeys"] == 1002
    code, _, err = ctl("apply", "thousand", "cut-frame", cwd=AT)
    assert code == 1 and "cut-frame" in err
    # a frame is for one list
    assert ctl("apply", "one", "frame", cwd=AT)[0] == 1


def ages_may_come_before_frames():
    """In one file, as a node sends them, or in two."""
    code, out, err = ctl("apply", "old", "ages-and-frame", cwd=AT)
    assert (code, err) == (0, "")
    before, after = (json.loads(ctl("info", "-j", "-", data=data)[1])
                     for data in (golden("old.scd", "ages"), out))
    assert after["generation"] == before["generation"] + 1
    assert after["nkeys"] == before["nkeys"] - 10
    assert ctl("apply", "old", "ages", "by-age", cwd=AT) == (0, out, "")
    assert ctl("apply", "old", "by-age", cwd=AT)[0] == 1  # without ages
    assert ctl("apply", "old", "ages", "ages", cwd=AT)[0] == 1


def a_union_is_the_list_of_all():
    for name, files, numbers in (
            ("two", ("one", "two"), range(1100)),
            ("three", ("one", "two", "three"), range(1200)),
            ("one", ("two",), range(100, 1100)),
            ("twice", ("one", "one"), range(1000)),
            ("with nothing", ("none", "one"), range(1000))):
        code, out, err = ctl("merge", *files, cwd=AT)
        assert (code, err) == (0, ""), name
        # at the same width, which more of them would make larger
        want = listed(numbers, "-n", "1", "-f",
                      str(len(numbers) / 2 ** 20))
        assert out == want, name


def a_union_has_the_smallest_width():
    report = told("merge", "-j", "-o", "m", "one", "wide")
    assert report["fp"] == report["nkeys"] / 2 ** 20
    assert 1490 <= report["nkeys"] <= 1500
    assert told("merge", "-j", "-o", "m", "wide", "one") == report


def what_caches_have_in_common():
    pair = told("overlap", "-j", "one", "two")
    assert [d["objects"] for d in pair["digests"]] == [1000, 1000]
    pair = pair["pairs"][0]
    assert abs(pair["objects"] - 900) <= 5 and pair["sd"] < 1
    assert abs(pair["share_a"] - .9) < .01
    pairs = told("overlap", "-j", "one", "two", "wide")["pairs"]
    assert abs(pairs[1]["objects"] - 500) <= 5
    same = told("overlap", "-j", "one", "one")["pairs"][0]
    assert same["objects"] == 1000 and same["sd"] == 0


ROWS = (
    ("lists and arrays, diff", ("diff", "one", "array2"), 1,
     "65536 bits, 3 hash functions; one has a list of fingerprints of 20 bits"),
    ("arrays and lists, diff", ("diff", "array", "two"), 1, "a list"),
    ("lists and arrays, merge", ("merge", "one", "array"), 1, "a list"),
    ("arrays and lists, merge", ("merge", "array", "one"), 1, "a list"),
    ("lists and arrays, overlap", ("overlap", "one", "array"), 1, "a list"),
    ("arrays and lists, overlap", ("overlap", "array", "one"), 1, "a list"),
    ("other widths, diff", ("diff", "one", "wide"), 1, "30 bits"),
    ("another instance", ("diff", "one", "other"), 1, "instance"),
    ("no later one", ("diff", "two", "one"), 1, "not later"),
    ("a list for Squid", ("convert", "one"), 1, "not an array"),
    ("cut", ("apply", "cut", "frame"), 1, "cut"),
    ("damaged", ("query", "-k", KEY, "damaged", "http://a.example/1"), 1,
     "damaged"),
    ("an array's delta", ("apply", "one", "array"), 1, "full digest"),
    ("frames for an array", ("apply", "array", "frame"), 1, "frame"),
    ("a list of bits", ("build", "-k", KEY, "-l", "-b", "64K", "-H", "3"), 2,
     "--list excludes"),
    ("a list that counts", ("build", "-k", KEY, "-l", "-c"), 2,
     "--list excludes"),
    ("a list of Squid's", ("build", "--hashing", "squid", "-l"), 2, "--list"),
    ("no width", ("build", "-k", KEY, "-l", "-n", "1e12", "-f", "1e-9"), 1,
     "no list"),
)


def refusals():
    for label, args, want, text in ROWS:
        code, _, err = ctl(*args, cwd=AT, data=b"")
        assert code == want and text in err, (label, code, err)


if __name__ == "__main__":
    run((a_list_says_what_it_is, what_comes_twice_is_there_once,
         the_width_follows_from_what_is_expected, it_has_what_is_in_it,
         deltas_lead_from_one_to_the_next, nothing_is_a_list_too,
         frames_are_applied_as_they_come, ages_may_come_before_frames,
         a_union_is_the_list_of_all,
         a_union_has_the_smallest_width, what_caches_have_in_common,
         refusals))

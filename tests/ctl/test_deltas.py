#!/usr/bin/env python3
"""digestctl diff and apply: round trips, chains, pipes, and what they refuse.
"""

import json
import os

from harness import built, ctl, folder_of, on_a_terminal, row_test, run

# Three generations of one cache, and digests that do not fit them.
ONE, TWO, THREE = (built(range(i * 100, 1000 + i * 100), "-g", str(i + 1))
                   for i in range(3))
FOLDER = folder_of({
    "one": ONE, "two": TWO, "three": THREE,
    "large": built(range(9), "-b", "128K", "-g", "9"),
    "hashes": built(range(9), "-H", "4", "-g", "9"),
    "other": built(range(9), "-i", "7", "-g", "9"),
    "twin": built(range(50), "-g", "1"),
    "cut": TWO[:-1], "damaged": TWO[:-9] + bytes([TWO[-9] ^ 1]) + TWO[-8:],
})
AT = FOLDER.name


def read(name):
    with open(os.path.join(AT, name), "rb") as f:
        return f.read()


def delta(old, new):
    code, out, err = ctl("diff", old, new, cwd=AT)
    assert (code, err) == (0, "")
    with open(os.path.join(AT, old + new), "wb") as f:
        f.write(out)


def round_trip():
    """What apply makes of a delta is the digest itself, byte for byte."""
    assert ctl("apply", "one", "onetwo", cwd=AT) == (0, TWO, "")
    assert ctl("apply", "one", "onethree", cwd=AT) == (0, THREE, "")
    assert len(read("onetwo")) < len(TWO)


def forms():
    """Either leads to the same digest; the smallest is one of the two."""
    made = {}
    for form in ("xor", "conditional", "smallest"):
        code, out, err = ctl("diff", "-F", form, "-j", "-o", form, "one", "two",
                             cwd=AT)
        assert (code, err) == (0, "")
        told = json.loads(out)
        assert form in (told["form"], "smallest")
        made[form] = read(form)
        assert ctl("apply", "one", form, cwd=AT) == (0, TWO, "")
        assert ctl("verify", "-B", "one", form, cwd=AT)[0] == 0
    assert made["xor"] == read("onetwo") != made["conditional"]
    assert made["smallest"] == min(made["xor"], made["conditional"], key=len)


def chain():
    assert ctl("apply", "one", "onetwo", "twothree", cwd=AT)[1] == THREE


def pipes():
    assert ctl("diff", "-", "two", data=ONE, cwd=AT)[1] == read("onetwo")
    assert ctl("diff", "one", "-", data=TWO, cwd=AT)[1] == read("onetwo")
    assert ctl("apply", "-", "onetwo", data=ONE, cwd=AT)[1] == TWO
    assert ctl("apply", "one", "-", data=read("onetwo"), cwd=AT)[1] == TWO


def to_a_file():
    """--output takes the bytes, --json tells what they are."""
    code, out, _ = ctl("diff", "-o", "d", "--json", "one", "two", cwd=AT)
    told = json.loads(out)
    assert code == 0 and read("d") == read("onetwo")
    assert told["base_generation"] == 1 and told["generation"] == 2
    assert told["bytes"] == len(read("d")) and told["full_bytes"] == len(TWO)
    assert told["instance"] == "%016x" % 1 and told["changed_bits"] > 300
    code, out, _ = ctl("apply", "--json", "-o", "f", "one", "d", cwd=AT)
    told = json.loads(out)
    assert code == 0 and read("f") == TWO and told["generation"] == 2
    assert told["bytes"] == len(TWO) and told["deltas"] == 1
    assert ctl("diff", "-o", "d", "one", "two", cwd=AT) == (0, b"", "")


def terminals_get_no_bytes():
    for args in (("diff", "one", "two"), ("apply", "one", "onetwo")):
        code, err = on_a_terminal(*args, cwd=AT)
        assert code == 2 and "is a terminal" in err, args
        assert on_a_terminal(*args, "-o", "d", cwd=AT) == (0, "")


def nothing_is_left_of_a_failure():
    """No output file is made when the input is bad."""
    assert ctl("diff", "-o", "none", "one", "cut", cwd=AT)[0] == 1
    assert ctl("apply", "-o", "none", "one", "twothree", cwd=AT)[0] == 1
    assert not os.path.exists(os.path.join(AT, "none"))


# label, arguments, input, code, stdout, stderr
ROWS = (
    ("shape: size", ("diff", "one", "large"), b"", 1, b"",
     "digestctl: large: filters differ in shape: 131072 bits, 3 hash "
     "functions; one has 65536 bits, 3"),
    ("shape: hash functions", ("diff", "one", "hashes"), b"", 1, b"",
     "hashes: filters differ in shape"),
    ("another instance", ("diff", "one", "other"), b"", 1, b"",
     "other: instance 0000000000000007; one is of 0000000000000001"),
    ("backwards", ("diff", "two", "one"), b"", 1, b"",
     "one: generation 1 is not later than 2 of two"),
    ("to itself", ("diff", "one", "one"), b"", 1, b"", "is not later"),
    ("old is cut", ("diff", "cut", "three"), b"", 1, b"",
     "digestctl: cut: input ends too early"),
    ("new is damaged", ("diff", "one", "damaged"), b"", 1, b"",
     "digestctl: damaged: "),
    ("new is a delta", ("diff", "one", "onetwo"), b"", 1, b"",
     "onetwo: a delta, not a full digest"),
    ("new is empty", ("diff", "one", "-"), b"", 1, b"", "-: input ends"),
    ("new is missing", ("diff", "one", "none"), b"", 3, b"",
     "digestctl: none: No such file"),
    ("a folder", ("diff", "one", "."), b"", 3, b"", ".: Is a directory"),
    ("no place", ("diff", "-o", "none/d", "one", "two"), b"", 3, b"",
     "none/d: No such file"),
    ("a full disk", ("diff", "-o", "/dev/full", "one", "two"), b"", 3, b"",
     "/dev/full: No space"),
    ("diff of one", ("diff", "one"), b"", 2, b"", "usage: digestctl diff"),
    ("diff of three", ("diff", "one", "two", "three"), b"", 2, b"", "usage:"),
    ("diff, unknown option", ("diff", "-x", "one", "two"), b"", 2, b"", "x"),
    ("diff, no such form", ("diff", "-F", "stored", "one", "two"), b"", 2, b"",
     '--form: "stored" is not xor, conditional or smallest'),
    ("both from stdin", ("diff", "-", "-"), ONE, 2, b"", "once only"),
    ("diff, report in the way", ("diff", "-j", "one", "two"), b"", 2, b"",
     "--output"),
    ("base is a delta", ("apply", "onetwo", "twothree"), b"", 1, b"",
     "onetwo: a delta, not a full digest"),
    ("a full digest applied", ("apply", "one", "two"), b"", 1, b"",
     "two: a full digest, not a delta"),
    ("a step left out", ("apply", "one", "twothree"), b"", 1, b"",
     "twothree: a delta from generation 2, not from 1"),
    ("applied twice", ("apply", "one", "onetwo", "onetwo"), b"", 1, b"",
     "onetwo: a delta from generation 1, not from 2"),
    ("wrong order", ("apply", "one", "twothree", "onetwo"), b"", 1, b"",
     "twothree: "),
    ("delta of another cache", ("apply", "other", "onetwo"), b"", 1, b"",
     "onetwo: a delta of instance 0000000000000001, not of 00000000000000"),
    ("base is another array", ("apply", "twin", "onetwo"), b"", 1, b"",
     "onetwo: delta belongs to another base"),
    ("delta is missing", ("apply", "one", "none"), b"", 3, b"", "none: No "),
    ("delta is empty", ("apply", "one", "-"), b"", 1, b"", "-: input ends"),
    ("apply nothing", ("apply", "one"), b"", 2, b"", "usage: digestctl apply"),
    ("apply, report in the way", ("apply", "-j", "one", "onetwo"), b"", 2, b"",
     "--output"),
    ("apply, twice stdin", ("apply", "one", "-", "-"), b"", 2, b"", "once"),
)

if __name__ == "__main__":
    for pair in (("one", "two"), ("two", "three"), ("one", "three")):
        delta(*pair)
    run([round_trip, forms, chain, pipes, to_a_file, terminals_get_no_bytes,
         nothing_is_left_of_a_failure, *(row_test(row, AT) for row in ROWS)])

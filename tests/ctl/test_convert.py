#!/usr/bin/env python3
"""digestctl with Squid's digests: build, convert, info and query."""

import hashlib
import json
import os
import struct

from harness import (KEY, SOURCE, built, ctl, folder_of, on_a_terminal,
                     row_test, run, urls)

HEADER = struct.Struct(">HHiiiiBB106s")


def by_hand(numbers, size, capacity, entry_bits=5):
    """The digest that Squid would make of numbered URLs."""
    mask = bytearray(size)
    for url in urls(numbers).splitlines():
        for word in struct.unpack(">4I", hashlib.md5(b"\1" + url).digest()):
            bit = word % (8 * size)
            mask[bit >> 3] |= 1 << (bit & 7)
    return HEADER.pack(5, 3, capacity, len(numbers), 0, size, entry_bits, 4,
                       b"") + bytes(mask)


def squids(numbers, *options, bits="5016"):
    code, digest, err = ctl("build", "--hashing", "squid", "-b", bits,
                            *options, data=urls(numbers))
    assert code == 0, err
    return digest


def golden(name):
    with open(os.path.join(SOURCE, "tests", "vectors", name), "rb") as f:
        return f.read()


SQUID = by_hand(range(1000), 627, 1003)
SCD = squids(range(300))
SMALL = by_hand(range(300), 627, 1003)
FOLDER = folder_of({
    "squid": SQUID, "small": SMALL, "scd": SCD, "double": built(range(9)),
    "full": squids(range(1000), bits="3000"),
    "two": squids(range(500, 1500)), "cut": SQUID[:-1],
    "long": SQUID + b"\0", "wide": golden("squid/entry-bits-128.cd"),
    "filled": golden("squid/fill-over-65.cd"),
    "version": golden("squid/version-required-6.cd"),
})
AT = FOLDER.name


def what_squid_would_make():
    code, out, err = ctl("convert", "scd", cwd=AT)
    assert (code, err) == (0, "") and out == SMALL
    assert ctl("convert", "small", cwd=AT) == (0, SCD, "")


def there_and_back_loses_nothing():
    """Also where capacity and bits an entry are not the usual ones."""
    for capacity, entry_bits, size in ((1002, 5, 627), (1003, 5, 627),
                                       (100, 32, 400), (60, 127, 953),
                                       (1, 1, 1)):
        first = by_hand(range(capacity // 2), size, capacity, entry_bits)
        code, scd, err = ctl("convert", "-i", "7", "-g", "9", data=first)
        assert code == 0, err
        code, again, err = ctl("convert", "-c", str(capacity), "-e",
                               str(entry_bits), data=scd)
        assert (code, err) == (0, "") and again == first


def ids_are_taken():
    code, scd, _ = ctl("convert", "--instance", "7", "--generation", "9",
                       "squid", cwd=AT)
    told = json.loads(ctl("info", "--json", "-", data=scd)[1])
    assert code == 0 and told["generation"] == 9
    assert told["instance"] == "%016x" % 7 and told["nkeys"] == 1000
    assert (told["format"], told["hashing"]) == ("scd", "squid")


def to_the_same_format():
    assert ctl("convert", "--to", "squid", "squid", cwd=AT)[1] == SQUID
    assert ctl("convert", "--to", "scd", "scd", cwd=AT)[1] == SCD
    assert ctl("convert", "--to", "scd", "-g", "2", "double", cwd=AT)[1] == \
        built(range(9), "-g", "2")


def to_a_file():
    assert ctl("convert", "-o", "made", "scd", cwd=AT) == (0, b"", "")
    with open(os.path.join(AT, "made"), "rb") as f:
        assert f.read() == SMALL
    code, err = on_a_terminal("convert", "scd", cwd=AT)
    assert code == 2 and "terminal" in err


def as_json():
    for args, whole in ((("-c", "1003", "scd"), SMALL), (("small",), SCD)):
        code, out, _ = ctl("convert", "-j", "-o", "j", *args, cwd=AT)
        told = json.loads(out)
        assert code == 0 and told["bytes"] == len(whole)
        assert (told["nbits"], told["nhash"], told["nkeys"]) == (5016, 4, 300)
        assert told["format"] == ("scd" if whole == SCD else "squid")


def count_is_not_believed():
    """What it says goes on, what is there is counted."""
    for count, nkeys in ((-5, 0), (0, 0), (7, 7), (2**31 - 1, 2**31 - 1)):
        odd = SQUID[:8] + struct.pack(">i", count) + SQUID[12:]
        told = json.loads(ctl("info", "-j", "-", data=odd)[1])
        assert told["nkeys"] == nkeys and told["count"] == count
        assert 0.54 < told["fill"] < 0.56
        assert ctl("convert", data=odd)[0] == 0
    empty = by_hand((), 10, 16)
    empty = empty[:8] + struct.pack(">i", 3) + empty[12:]
    assert ctl("convert", data=empty)[0] == 0


def info_of_squids():
    code, out, _ = ctl("info", "squid", cwd=AT)
    text = out.decode()
    assert code == 0 and "Squid's, version 5" in text
    assert "1003 entries of 5 bits" in text and "5016 bits" in text
    told = json.loads(ctl("info", "-j", "squid", cwd=AT)[1])
    assert told["bytes"] == len(SQUID) and told["capacity"] == 1003
    assert told["entry_bits"] == 5 and told["format"] == "squid"


def query_needs_no_key():
    there = ["http://A.example:80/%d" % i for i in range(300)]
    for name in ("squid", "scd"):
        code, out, _ = ctl("query", name, *there, cwd=AT)
        assert code == 0 and out.count(b"yes ") == 300
        code, out, _ = ctl("query", "-k", KEY, name, "http://b.example/1",
                           cwd=AT)
        assert code == 1 and out == b"no  http://b.example/1\n"


def sets_of_squids():
    """Other commands read both formats, and do not mix hashings."""
    code, out, err = ctl("merge", "squid", "two", cwd=AT)
    assert (code, err) == (0, "")
    code, out, _ = ctl("query", "-", "http://a.example/0",
                       "http://a.example/1499", data=out)
    assert code == 0 and out.count(b"yes ") == 2
    code, _, err = ctl("merge", "squid", "double", cwd=AT)
    assert code == 1 and "shape" in err


ROWS = (
    ("double hashing has no place there", ["convert", "double"], b"", 1, b"",
     "hashing"),
    ("nor what is too full", ["convert", "full"], b"", 1, b"", "65 %"),
    ("capacity must fit", ["convert", "-c", "999", "scd"], b"", 1, b"",
     "capacity"),
    ("bits an entry must fit", ["convert", "-e", "127", "scd"], b"", 1, b"",
     "bits an entry"),
    ("cut", ["convert", "cut"], b"", 1, b"", "shorter than its mask"),
    ("long", ["info", "long"], b"", 1, b"", "longer than its mask"),
    ("128 bits an entry", ["convert", "wide"], b"", 1, b"", "1 to 127"),
    ("over 65 %", ["query", "filled", "http://a/"], b"", 1, b"", "65 %"),
    ("unknown version", ["convert", "version"], b"", 1, b"", "version"),
    ("nothing", ["convert"], b"", 1, b"", "too early"),
    ("no digest", ["convert"], b"SCD and nothing more", 1, b"", "early"),
    ("no file", ["convert", "missing"], b"", 3, b"", "missing"),
    ("report in the way", ["convert", "-j", "scd"], b"", 2, b"", "--output"),
    ("no such format", ["convert", "-t", "cd", "scd"], b"", 2, b"", "--to"),
    ("two files", ["convert", "scd", "squid"], b"", 2, b"", "usage"),
    ("capacity too large", ["convert", "-c", "2G", "scd"], b"", 2, b"",
     "usage"),
    ("entry bits too many", ["convert", "-e", "128", "scd"], b"", 2, b"",
     "usage"),
    ("a key is needed elsewhere", ["query", "double", "http://a/"], b"", 2,
     b"", "--key"),
    ("hash functions are 4", ["build", "--hashing", "squid", "-b", "64K",
                              "-H", "3"], b"", 2, b"", "usage"),
    ("whole bytes", ["build", "--hashing", "squid", "-b", "1001"], b"", 2,
     b"", "usage"),
    ("no such hashing", ["build", "--hashing", "md5", "-b", "64K"], b"", 2,
     b"", "--hashing"),
)

run((what_squid_would_make, there_and_back_loses_nothing, ids_are_taken,
     to_the_same_format, to_a_file, as_json, count_is_not_believed,
     info_of_squids, query_needs_no_key, sets_of_squids,
     *(row_test(row, AT) for row in ROWS)))

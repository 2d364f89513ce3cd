#!/usr/bin/env python3
"""Make the golden files: good/*.scd, bad/*.scd and manifest.txt; those of
lists, list/*.scd and list.txt; and those of Squid's format, squid/*.cd and
squid.txt.

    tests/vectors/generate.py           (writes beside itself)

The files are in git and must not change: a decoder of format version 1 has to
read them for ever. Add cases at the end of a list and run it again; git shows
whether an old one has moved. It uses the encoder in ../ref, so that the C
code, which must make the same bytes, is compared with something else.
"""

import collections
import json
import pathlib
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "ref"))

import scd_coder as coder  # noqa: E402
import scd_ref as ref  # noqa: E402
import ages  # noqa: E402
import codings  # noqa: E402
import lists  # noqa: E402
import parts  # noqa: E402
from forge import (ANY, LAST, Bad, Good, Random, damaged, drawn,  # noqa: E402
                   flipped, forged, ids, raw)
from scd_bits import array, count_ones, get_bit  # noqa: E402
from scd_parts import counter_bytes  # noqa: E402


def members(nbits, keys):
    """The array of some keys with Squid's hashing."""
    return array(nbits, (i for lo, hi in keys
                         for i in ref.positions_squid(lo, hi, nbits)))


def with_carry():
    """An array in whose coding a carry runs through a byte of 255."""
    seen = []
    original = coder.add_carry

    def watch(out):
        seen.append(out[-1] == 255)
        original(out)

    coder.add_carry = watch
    seed = 0
    while not any(seen):
        seed += 1
        bits = drawn(2000, 300, seed)
        coder.encode(bits, 2000)
    coder.add_carry = original
    return bits


def some_keys(count, seed):
    rng = Random(seed)
    return [(rng.below(2**64), rng.below(2**64)) for _ in range(count)]


PAPER = drawn(14000, 2000, 1)
PAPER_2 = flipped(PAPER, 14000, 40, 2)
PAPER_3 = flipped(PAPER_2, 14000, 40, 3)
ODD = drawn(1003, 150, 4)
SQUID_KEYS = some_keys(500, 9)

# name: fields, array, base ("" for a full digest), limits (None: defaults)
GOOD = {
    "example": (ids(64, 2, 2), array(64, (3, 17, 21, 60)), "", None),
    "paper": (ids(14000, 2, 1000), PAPER, "", None),
    "odd": (ids(1003, 2, 75), ODD, "", None),
    "no-ones": (ids(1024, 3, 0), bytes(128), "", None),
    "one-bit": (ids(1, 1, 1), b"\1", "", ANY),
    "one-bit-clear": (ids(1, 1, 0), b"\0", "", None),
    "first-one": (ids(5000, 1, 1), array(5000, (0,)), "", None),
    "last-one": (ids(5001, 1, 1), array(5001, (5000,)), "", None),
    "sparse": (ids(46000, 1, 1000), drawn(46000, 1000, 5), "", None),
    "half-stored": (ids(800, 6, 92), array(800, range(0, 800, 2)), "", None),
    "many-ones": (ids(3001, 32, 210), drawn(3001, 6720, 6), "", None),
    "all-ones": (ids(101, 32, 101), array(101, range(101)), "", ANY),
    "all-but-one": (ids(104, 1, 99), array(104, range(103)), "", ANY),
    "carry": (ids(2000, 2, 150), with_carry(), "", None),
    "extremes": (dict(ids(4096, 32, LAST, LAST), instance=LAST),
                 drawn(4096, 2000, 7), "", None),
    "saturated": (ids(512, 4, 0), array(512, (1, 2, 3)), "", None),
    "delta": (ids(14000, 2, 1000, 2, 1), PAPER_2, "paper", None),
    "delta-next": (ids(14000, 2, 1001, 3, 2), PAPER_3, "delta", None),
    "delta-across": (ids(14000, 2, 1001, 3, 1), PAPER_3, "paper", None),
    "delta-nothing": (ids(14000, 2, 1000, 9, 1), PAPER, "paper", None),
    "delta-to-empty": (ids(1003, 2, 0, 2, 1), bytes(126), "odd", None),
    "delta-all": (ids(64, 2, 2, 2, 1), array(64, set(range(64)) - {3, 17, 21,
                                                                    60}),
                  "example", ANY),
    "delta-dense": (ids(1003, 2, 75, 5, 1),
                    flipped(ODD, 1003, 800, 8), "odd", ANY),
    "squid": (dict(ids(5016, 4, 500), hashing=ref.SQUID),
              members(5016, SQUID_KEYS), "", None),
    "delta-squid": (dict(ids(5016, 4, 400, 2, 1), hashing=ref.SQUID),
                    members(5016, SQUID_KEYS[100:]), "squid", None),
    "prefix": (dict(ids(4096, 1, 99), hashing=ref.PREFIX),
               array(4096, (ref.prefix(lo, 4096)
                            for lo, _ in SQUID_KEYS[:99])), "", None),
}


MANIFEST = """\
# Made by generate.py.
# file, result, base, max_bits, max_hash, max_fp_ppm, max_expansion, file whose
# .bits is the array, encoding: "same" for all encoders, or "free". base: "-",
# a file, or "counters" for a counting filter: .counters are beside the .bits
"""

# The bytes of a good file, its row, and what its header says.
Made = collections.namedtuple("Made", "data row head")


def good_rows():
    rows = {name: Good(*row) for name, row in GOOD.items()}
    rows.update(codings.GOOD)
    rows.update(parts.good_rows({name: row.bits
                                 for name, row in rows.items()}))
    return rows


def encoded(row, base_bits):
    if row.encode:
        return row.encode(row.head, row.bits, base_bits)
    return ref.encode(row.head, row.bits, base_bits,
                      row.payload_of or coder.encode)


def made_of(row, base):
    """The bytes of a good file; what they decode to is what they are of."""
    base_bits = base.row.bits if base else None
    data = encoded(row, base_bits)
    if row.counters:
        head, counters = ref.decode_counting(data, row.limits)
        assert counters == row.counters
        return Made(data, row, head)
    if base:
        head, bits = ref.apply(data, ref.parse(base.data, ANY), base_bits,
                               row.limits)
    else:
        head, bits = ref.decode(data, row.limits)
    assert bits == row.bits
    return Made(data, row, head)


def describe(head):
    fields = {k: v if v < 2**53 else "%#x" % v
              for k, v in head.items() if k != "hashing" or v}
    return json.dumps(fields, indent=1) + "\n"


def make_good():
    made = {}
    for name, row in good_rows().items():
        made[name] = made_of(row, made[row.base] if row.base else None)
        (HERE / "good" / (name + ".scd")).write_bytes(made[name].data)
        (HERE / "good" / (name + ".json")).write_text(
            describe(made[name].head))
        if row.array:
            assert made[row.array].row.bits == row.bits
            continue
        (HERE / "good" / (name + ".bits")).write_bytes(row.bits)
        if row.counters:
            (HERE / "good" / (name + ".counters")).write_bytes(
                counter_bytes(row.counters))
    return made


def bad_cases(good):
    """name: bytes, error, base, limits"""
    paper, delta = good["paper"].data, good["delta"].data
    stored, example = good["half-stored"].data, good["example"].data
    empty, odd = good["no-ones"].data, good["odd"].data
    nothing, squid = good["delta-nothing"].data, good["squid"].data
    other_array = drawn(14000, 2000, 99)
    payload = paper[96:]
    big = dict(ANY, max_bits=2**40)
    return {
        "nothing": (b"", "ETRUNC", "", None),
        "header-cut": (paper[:95], "ETRUNC", "", None),
        "magic": (raw(paper, 0, 0x73), "EFORMAT", "", None),
        "version-0": (raw(paper, 3, 0), "EVERSION", "", None),
        "version-2": (raw(paper, 3, 2), "EVERSION", "", None),
        "header-sum": (damaged(paper, 88), "ECHECKSUM", "", None),
        "kind-damaged": (damaged(paper, 4), "ECHECKSUM", "", None),
        "nkeys-damaged": (damaged(paper, 16), "ECHECKSUM", "", None),
        "generation-damaged": (damaged(paper, 40), "ECHECKSUM", "", None),
        "kind-2": (raw(paper, 4, 2), "EFORMAT", "", None),
        "kind-4": (raw(paper, 4, 4), "EFORMAT", "", None),
        "kind-6": (raw(paper, 4, 6), "EVERSION", "", None),
        "coding-3": (raw(paper, 5, 3), "EFORMAT", "", None),
        "coding-7": (raw(paper, 5, 7), "EFORMAT", "", None),
        "coding-8": (raw(paper, 5, 8), "EVERSION", "", None),
        "hashing-1": (raw(paper, 6, 1), "EFORMAT", "", None),
        "hashing-2": (raw(paper, 6, 2), "EFORMAT", "", None),
        "hashing-3": (raw(paper, 6, 3), "EVERSION", "", None),
        "prefix-nhash-2": (raw(good["prefix"].data, 7, 2), "EFORMAT", "",
                           None),
        "prefix-nbits-odd": (forged(good["prefix"].data, nbits=4095),
                             "EFORMAT", "", None),
        "prefix-nbits-1": (raw(good["one-bit-clear"].data, 6, 2), "EFORMAT",
                           "", None),
        "squid-nhash-3": (raw(squid, 7, 3), "EFORMAT", "", None),
        "squid-nhash-5": (raw(squid, 7, 5), "EFORMAT", "", None),
        "squid-nbits-odd": (forged(squid, nbits=5015), "EFORMAT", "", None),
        "squid-nbits-huge": (forged(squid, nbits=2**31 + 8), "EFORMAT", "",
                             None),
        "nhash-0": (raw(paper, 7, 0), "EFORMAT", "", None),
        "nhash-33": (raw(paper, 7, 33), "EFORMAT", "", None),
        "nbits-0": (forged(empty, nbits=0), "EFORMAT", "", None),
        "nbits-huge": (forged(paper, nbits=2**40 + 1), "EFORMAT", "", big),
        "nones-over": (forged(paper, nones=14001, ncoded=14001), "EFORMAT",
                       "", ANY),
        "ncoded-over": (forged(delta, ncoded=14001), "EFORMAT", "paper", ANY),
        "instance-0": (forged(paper, instance=0), "EFORMAT", "", None),
        "keys-without-ones": (forged(empty, nkeys=1), "EFORMAT", "", None),
        "full-with-base": (forged(paper, base_generation=1), "EFORMAT", "",
                           None),
        "full-with-base-sum": (forged(paper, base_checksum=1), "EFORMAT", "",
                               None),
        "full-ncoded": (forged(paper, ncoded=5), "EFORMAT", "", None),
        "delta-same-generation": (forged(delta, generation=1), "EFORMAT",
                                  "paper", None),
        "delta-backwards": (forged(delta, generation=0), "EFORMAT", "paper",
                            None),
        "claims-2-40": (forged(paper, nbits=2**40), "ELIMIT", "", None),
        "claims-2-40-half": (forged(paper, nbits=2**40, nones=2**39,
                                    ncoded=2**39), "EFORMAT", "", big),
        "above-max-bits": (paper, "ELIMIT", "", dict(ANY, max_bits=13999)),
        "above-max-hash": (paper, "ELIMIT", "", dict(ANY, max_hash=1)),
        "too-full": (good["one-bit"].data, "ELIMIT", "", None),
        "claims-all": (good["all-ones"].data, "ELIMIT", "", None),
        "above-max-fp": (paper, "ELIMIT", "", dict(ANY, max_fp_ppm=17000)),
        "empty-with-ones": (raw(forged(paper, payload=b""), 5, 0), "EFORMAT",
                            "", None),
        "empty-with-bytes": (forged(empty, payload=b"\1"), "EFORMAT", "",
                             None),
        "range-without-ones": (raw(empty, 5, 2), "EFORMAT", "", None),
        "stored-without-ones": (raw(forged(empty, payload=bytes(128)), 5, 1),
                                "EFORMAT", "", None),
        "stored-short": (forged(stored, payload=stored[96:-1]), "EFORMAT",
                         "", None),
        "stored-long": (forged(stored, payload=stored[96:] + b"\0"),
                        "EFORMAT", "", None),
        "range-as-long-as-stored": (
            forged(example, payload=example[96:].ljust(8, b"\1")), "EFORMAT",
            "", None),
        "payload-implausible": (forged(paper, payload=payload[:800]),
                                "EFORMAT", "", None),
        "payload-cut": (paper[:-1], "ETRUNC", "", None),
        "payload-missing": (paper[:96], "ETRUNC", "", None),
        "trailing": (paper + b"\0", "EFORMAT", "", None),
        "payload-bytes-max": (forged(paper, payload_bytes=LAST), "EFORMAT",
                              "", None),
        "delta-as-full": (delta, "EBASE", "", None),
        "full-as-delta": (paper, "EBASE", "paper", None),
        "delta-other-base": (delta, "EBASE", "odd", None),
        "delta-other-generation": (good["delta-next"].data, "EBASE", "paper",
                                   None),
        "delta-other-instance": (forged(delta, instance=1), "EBASE", "paper",
                                 None),
        "delta-other-sum": (forged(delta, base_checksum=1), "EBASE", "paper",
                            None),
        "delta-other-nhash": (raw(delta, 7, 3), "EBASE", "paper", None),
        "delta-other-hashing": (raw(good["delta-squid"].data, 6, 0), "EBASE",
                                "squid", None),
        "delta-other-nbits": (forged(delta, nbits=14001), "EBASE", "paper",
                              None),
        "stored-spare-bit": (
            raw(forged(odd, payload=ODD[:-1] + bytes([ODD[-1] | 128])), 5, 1),
            "EFORMAT", "", None),
        "stored-miscounted": (
            forged(stored, nones=399, ncoded=399), "EFORMAT", "", None),
        "range-outside": (forged(paper, payload=b"\xff" * 8 + payload[8:]),
                          "EFORMAT", "", None),
        "range-ends-in-zero": (forged(paper, payload=payload[:-1] + b"\0"),
                               "EFORMAT", "", None),
        "range-left-over": (forged(paper, payload=payload + b"\1" * 9),
                            "EFORMAT", "", None),
        "range-miscounted": (forged(paper, payload=damaged(payload, 3)),
                             "EFORMAT", "", None),
        "array-sum": (forged(paper, checksum=1), "ECHECKSUM", "", None),
        "stored-damaged": (
            forged(stored, payload=b"\xaa" + stored[97:]), "ECHECKSUM", "",
            None),
        "spliced": (forged(paper, payload=ref.encode(
            ids(14000, 2, 1000), array_like(other_array, PAPER))[96:]),
            "ECHECKSUM", "", None),
        "delta-nones": (forged(delta, nones=1800), "ECHECKSUM", "paper",
                        None),
        "delta-sum": (forged(delta, checksum=1), "ECHECKSUM", "paper", None),
        "delta-nothing-sum": (forged(nothing, checksum=1), "ECHECKSUM",
                              "paper", None),
        "bomb-empty": (forged(empty, nbits=2**22 + 1), "ELIMIT", "", None),
        "bomb-empty-2-32": (forged(empty, nbits=2**32), "ELIMIT", "", None),
        "bomb-range": (raw(forged(paper, payload=b"\x20", nbits=2**18 + 513,
                                  nones=1, ncoded=1), 5, 2), "EFORMAT", "",
                       None),
        "bomb-range-2-32": (raw(forged(paper, payload=b"\x20" * 4, nbits=2**32,
                                       nones=1, ncoded=1), 5, 2), "EFORMAT",
                            "", ANY),
        "bomb-expansion": (
            raw(forged(paper, payload=b"\1" * 1000, nbits=8 * 512 * 1096 + 1,
                       nones=500, ncoded=500), 5, 5), "ELIMIT", "", None),
    }


def array_like(bits, model):
    """bits with some cleared or set, until it has as many ones as model."""
    out, i = bytearray(bits), 0
    while count_ones(out) != count_ones(model):
        more = count_ones(out) < count_ones(model)
        if get_bit(out, i) != more:
            out[i >> 3] ^= 1 << (i & 7)
        i += 1
    return bytes(out)


def refusal(bad, good):
    """What the decoder says: an error's name, or OK."""
    try:
        if bad.base == "counters":
            ref.decode_counting(bad.data, bad.limits)
        elif bad.base:
            base = good[bad.base]
            ref.apply(bad.data, ref.parse(base.data, ANY), base.row.bits,
                      bad.limits)
        else:
            ref.decode(bad.data, bad.limits)
    except ref.Refused as refused:
        return refused.args[0]
    return "OK"


def make_bad(good):
    made = {name: Bad(*row) for name, row in bad_cases(good).items()}
    made.update(codings.BAD)
    made.update(parts.bad_rows(good))
    for name, bad in made.items():
        assert refusal(bad, good) == bad.error, (name, refusal(bad, good))
        (HERE / "bad" / (name + ".scd")).write_bytes(bad.data)
    return made


def base_of(row):
    if row.base == "counters" or getattr(row, "counters", None):
        return "counters"
    return "good/" + row.base if row.base else "-"


def manifest_line(name, result, row, more):
    limits = row.limits or ref.LIMITS
    return "%-36s %-10s %-20s %d %d %d %d %s\n" % (
        name, result, base_of(row), limits["max_bits"], limits["max_hash"],
        limits["max_fp_ppm"], limits["max_expansion"], more)


def good_line(name, row):
    return manifest_line("good/" + name, "OK", row, "good/%s %s" % (
        row.array or name,
        "free" if row.payload_of or row.free else "same"))


def with_header(data, offset, layout, *values):
    """A digest of Squid's with some bytes of its header replaced."""
    out = bytearray(data)
    struct.pack_into(layout, out, offset, *values)
    return bytes(out)


def squid_cases(good):
    """name: bytes, result"""
    mask = good["squid"].row.bits
    data = ref.squid_encode(mask, 1002, 500)
    full = array(5016, range(3260))
    over = array(5016, range(3261))
    return {
        "good": (data, "OK"),
        "32-bits": (ref.squid_encode(bytes(127) + b"\1", 32, 1, 32), "OK"),
        "nothing-in-it": (ref.squid_encode(bytes(1), 1, 0), "OK"),
        "version-4": (with_header(data, 0, ">HH", 4, 3), "OK"),
        "version-6": (with_header(data, 0, ">HH", 6, 5), "OK"),
        "count-negative": (with_header(data, 8, ">i", -1), "OK"),
        "count-absurd": (with_header(data, 8, ">i", 2**31 - 1), "OK"),
        "reserved-used": (with_header(data, 127, "B", 1), "OK"),
        "fill-65": (ref.squid_encode(full, 1003, 1000), "OK"),
        "fill-over-65": (ref.squid_encode(over, 1003, 1000), "ELIMIT"),
        "nothing": (b"", "ETRUNC"),
        "header-cut": (data[:127], "ETRUNC"),
        "version-2": (with_header(data, 0, ">HH", 2, 2), "EVERSION"),
        "version-below-required": (with_header(data, 0, ">HH", 4, 5),
                                   "EVERSION"),
        "version-required-6": (with_header(data, 0, ">HH", 6, 6),
                               "EVERSION"),
        "capacity-0": (with_header(data, 4, ">i", 0), "EFORMAT"),
        "capacity-negative": (with_header(data, 4, ">i", -1002), "EFORMAT"),
        "capacity-other": (with_header(data, 4, ">i", 1001), "EFORMAT"),
        "mask-size-0": (with_header(data, 16, ">i", 0), "EFORMAT"),
        "mask-size-negative": (with_header(data, 16, ">i", -627), "EFORMAT"),
        "mask-size-other": (with_header(data, 16, ">i", 628), "EFORMAT"),
        "entry-bits-0": (with_header(data, 20, "B", 0), "EFORMAT"),
        "entry-bits-128": (
            with_header(ref.squid_encode(bytes(1024), 64, 1, 127), 20, "B",
                        128), "EFORMAT"),
        "bits-2-31": (with_header(data, 4, ">iiii", 2**31 - 1, 1, 0,
                                  (5 * (2**31 - 1) + 7) // 8 % 2**31),
                      "EFORMAT"),
        "bits-wrap": (ref.squid_encode(bytes(1), (2**32 + 4) // 5, 1),
                      "EFORMAT"),
        "claims-2-31": (with_header(data, 4, ">iiii", (2**31 - 1) // 5, 1, 0,
                                    2**28), "ETRUNC"),
        "hashes-3": (with_header(data, 21, "B", 3), "EVERSION"),
        "hashes-5": (with_header(data, 21, "B", 5), "EVERSION"),
        "mask-cut": (data[:-1], "ETRUNC"),
        "mask-missing": (data[:128], "ETRUNC"),
        "trailing": (data + b"\0", "EFORMAT"),
    }


def make_squid(good):
    made = squid_cases(good)
    with open(HERE / "squid.txt", "w") as out:
        out.write("# Made by generate.py.\n# file, result\n")
        for name, (data, result) in made.items():
            try:
                ref.squid_decode(data)
                got = "OK"
            except ref.Refused as refused:
                got = refused.args[0]
            assert got == result, (name, got, result)
            (HERE / "squid" / (name + ".cd")).write_bytes(data)
            out.write("%-28s %s\n" % (name, result))


def main():
    good = make_good()
    make_squid(good)
    lists.write(HERE)
    ages.write(HERE)
    bad = make_bad(good)
    with open(HERE / "manifest.txt", "w") as out:
        out.write(MANIFEST)
        for name, made in good.items():
            out.write(good_line(name, made.row))
        for name, row in bad.items():
            out.write(manifest_line("bad/" + name, row.error, row, "- -"))


if __name__ == "__main__":
    main()

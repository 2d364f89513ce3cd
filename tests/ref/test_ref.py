#!/usr/bin/env python3
"""The second decoder on the golden files of tests/vectors. Prints TAP."""

import collections
import json
import os
import pathlib
import sys

TOP = pathlib.Path(os.environ.get("top_srcdir", "."))
VECTORS = TOP / "tests" / "vectors"
sys.dont_write_bytecode = True
sys.path.insert(0, str(TOP / "tests" / "ref"))

import scd_ages as aged  # noqa: E402
import scd_invalidations as invalidations  # noqa: E402
import scd_list as lists  # noqa: E402
import scd_parts as parts  # noqa: E402
import scd_ref as ref  # noqa: E402
from scd_cursor import Reader  # noqa: E402

XXH64_KNOWN = (
    (b"", 0, 0xEF46DB3751D8E999),
    (b"abc", 0, 0x44BC2CF5AD770999),
)


# A line of the manifest.
Row = collections.namedtuple("Row", "file result base limits array encoding")


def read(file, suffix):
    return (VECTORS / (file + suffix)).read_bytes()


def decode(row):
    data = read(row.file, ".scd")
    if row.base == "-":
        return ref.decode(data, row.limits)
    if row.base == "counters":
        return ref.decode_counting(data, row.limits)
    base_head = ref.parse(read(row.base, ".scd"), row.limits)
    return ref.apply(data, base_head, read(row.base, ".bits"), row.limits)


def encode(row, head, decoded):
    """What was decoded, again."""
    if head["kind"] == ref.COUNTING:
        return ref.encode_counting(head, decoded)
    if head["kind"] == ref.CONDITIONAL:
        return ref.encode_conditional(head, decoded, read(row.base, ".bits"))
    base_bits = read(row.base, ".bits") if row.base != "-" else None
    return ref.encode(head, decoded, base_bits)


def fault_in_good(row):
    """What is wrong with the decoding of a good file; empty: nothing."""
    head, decoded = decode(row)
    bits = decoded
    if head["kind"] == ref.COUNTING:
        bits = parts.array_of(decoded)
        if parts.counter_bytes(decoded) != read(row.array, ".counters"):
            return "the counters differ"
    if bits != read(row.array, ".bits"):
        return "the array differs"
    expected = json.loads(read(row.file, ".json"))
    for name, value in expected.items():
        want = int(value, 16) if isinstance(value, str) else value
        if head[name] != want:
            return "%s is %d, not %d" % (name, head[name], want)
    if (row.encoding == "same" and
            encode(row, head, decoded) != read(row.file, ".scd")):
        return "encodes to other bytes"
    return ""


def fault(row):
    try:
        text = fault_in_good(row) if row.result == "OK" else decode(row)
        return text if row.result == "OK" else "decodes"
    except ref.Refused as refused:
        got = refused.args[0]
        return ("" if got == row.result else
                "%s, expected %s" % (got, row.result))


def vectors():
    for line in (VECTORS / "manifest.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        (file, result, base, bits, hashes, fp, expansion, array,
         encoding) = line.split()
        limits = {"max_bits": int(bits), "max_hash": int(hashes),
                  "max_fp_ppm": int(fp), "max_expansion": int(expansion)}
        yield Row(file, result, base, limits, array, encoding)


def basics():
    """Labels and truths that need no manifest."""
    for data, seed, value in XXH64_KNOWN:
        yield "XXH64 of %r" % data, ref.xxh64(data, seed) == value
    yield "positions", ref.positions(3, 18, 64, 4) == [3, 21, 40, 61]
    yield "positions wrap", ref.positions(2**64 - 1, 2, 10, 3) == [5, 1, 4]
    yield "positions of Squid", ref.positions_squid(
        0x10203040_00000005, 0x00000025_FFFFFFFF, 32) == [0, 5, 5, 31]
    yield "Squid's key", ref.squid_key("GET", b"http://example.com/") == (
        0x5C9109034C1D089F, 0xB6D92F7258B2F5C3)
    head, bits = ref.decode(read("good/example", ".scd"))
    yield "members", (ref.has(head, bits, 3, 18) and
                      ref.has(head, bits, 17, 43))
    yield "no member", not ref.has(head, bits, 3, 19)


def golden():
    for row in vectors():
        text = fault(row)
        yield "%s %s" % (row.file, text), not text


def squid():
    for line in (VECTORS / "squid.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        name, result = line.split()
        data = read("squid/" + name, ".cd")
        try:
            head, mask = ref.squid_decode(data)
            got = "OK" if mask == data[128:] and head["capacity"] else "wrong"
        except ref.Refused as refused:
            got = refused.args[0]
        yield "squid/%s is %s" % (name, got), got == result


def read_list(name, base, limits):
    if base == "-":
        return lists.decode(read("list/" + name, ".scd"), limits)
    before = lists.entries_of(read("list/" + base, ".entries"))
    head = ref.parse(read("list/" + base, ".scd"))
    if "frame" in name:
        return lists.read_frame(read("list/" + name, ".frame"), head, before,
                                limits)
    return lists.apply(read("list/" + name, ".scd"), head, before, limits)


def list_fault(name, base, limits):
    """What is wrong with a list that is to be accepted."""
    head, entries = read_list(name, base, limits)
    if entries != lists.entries_of(read("list/" + name, ".entries")):
        return "other entries"
    if base == "-":
        again = lists.encode(head, entries)
        return "" if again == read("list/" + name, ".scd") else "other bytes"
    before = lists.entries_of(read("list/" + base, ".entries"))
    if "frame" in name:
        again = lists.write_frame(ref.parse(read("list/" + base, ".scd")),
                                  before, head, entries)
        return "" if again == read("list/" + name, ".frame") else "other bytes"
    again = lists.encode_delta(head, entries, before)
    return "" if again == read("list/" + name, ".scd") else "other bytes"


def golden_lists():
    for line in (VECTORS / "list.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        name, result, base, max_bits = line.split()
        limits = dict(ref.LIMITS, max_bits=int(max_bits))
        try:
            got = list_fault(name, base, limits) or "OK"
        except ref.Refused as refused:
            got = refused.args[0]
        yield "list/%s is %s" % (name, got), got == result


def read_aged(what, name, base):
    head = ref.parse(read("ages/" + base, ".scd"))
    entries = lists.decode(read("ages/" + base, ".scd"))[1]
    own = base if what == "frame" else name
    ages = aged.read_ages(read("ages/" + own, ".ages"), head, entries)
    if what == "ages":
        again = aged.write_ages(head, ages)
        return "OK" if again == read("ages/" + name, ".ages") else "other"
    rest = read("ages/" + name, ".frame")
    while rest:
        r = Reader(rest[1:])
        length = r.varint() + r.at + 1
        head["generation"] = aged.read_frame(rest, head, ages)
        rest = rest[length:]
    right = (ages.entries() == lists.entries_of(
        read("ages/" + name, ".entries")) and
        aged.write_ages(head, ages) == read("ages/" + name, ".after"))
    return "OK" if right else "other"


def golden_ages():
    for line in (VECTORS / "ages.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        what, name, result, base = line.split()
        try:
            got = read_aged(what, name, base)
        except ref.Refused as refused:
            got = refused.args[0]
        yield "ages/%s is %s" % (name, got), got == result


SECRET = b"0123456789abcde\0"
INVALIDATIONS = [
    invalidations.Section(0x1111, 2, 9, False, [
        invalidations.Entry(3, "key", 0, (1, 2)),
        invalidations.Entry(4, "prefix", 4, (3, 2**64 - 1)),
        invalidations.Entry(9, "tag", 0, (5, 6))]),
    invalidations.Section(2**64 - 1, 0, 1, True, [
        invalidations.Entry(1, "all", 0, (0, 0))])]


def refuses_invalidations(secret, data):
    try:
        invalidations.read(secret, data)
        return False
    except ref.Refused:
        return True


def told():
    """Messages of invalidations: the golden one, which the C tests write."""
    data = read("invalidations", ".bin")
    yield "invalidations", invalidations.read(SECRET, data) == INVALIDATIONS
    yield "the same bytes", invalidations.write(SECRET, INVALIDATIONS) == data
    yield "another secret", refuses_invalidations(bytes(16), data)
    yield "cut", all(refuses_invalidations(SECRET, data[:n])
                     for n in range(len(data)))


def main():
    number = 0
    for tests in (basics(), golden(), golden_lists(), golden_ages(),
                  squid(), told()):
        for number, (label, ok) in enumerate(tests, number + 1):
            print("%s %d - %s" % ("ok" if ok else "not ok", number, label))
    print("1..%d" % number)


if __name__ == "__main__":
    main()

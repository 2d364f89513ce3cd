"""Golden files of lists, kinds 4 and 5: list/*.scd, their .entries as u64 each,
and list.txt; frames are list/*.frame."""

import struct

import scd_coder as coder
import scd_list as lists
import scd_ref as ref
from forge import INSTANCE, LAST, Random, damaged, forged, raw

GENERATIONS = {"generation": 1, "base_generation": 0}


def head_of(width, **more):
    return dict(GENERATIONS, nbits=2**width, instance=INSTANCE, **more)


def next_head(width, **more):
    return dict(head_of(width, **more), generation=2, base_generation=1)


def drawn(width, count, seed):
    rng = Random(seed)
    return sorted(rng.below(2**width) for _ in range(count))


def replaced(entries, width, go, come, seed):
    """So many go, so many others come."""
    rng, left = Random(seed), list(entries)
    for _ in range(go):
        del left[rng.below(len(left))]
    return sorted(left + [rng.below(2**width) for _ in range(come)])


THOUSAND = drawn(20, 1000, 1)
HUNDRED = drawn(17, 100, 2)
TWINS = sorted(drawn(14, 200, 3) + [77, 77, 77, 2**14 - 1, 2**14 - 1])

# name: width, entries
FULL = {
    "empty": (20, []),
    "smallest": (5, [31]),
    "one": (30, [123456789]),
    "ends": (10, [0, 1023]),
    "zeros": (10, [0] * 32),
    "twins": (14, TWINS),
    "hundred": (17, HUNDRED),
    "thousand": (20, THOUSAND),
    "dense": (12, drawn(12, 128, 4)),
    "wide": (40, drawn(40, 20, 5)),
    "wide-one": (40, [2**40 - 1]),
    "crowded": (24, [2**23 + i * i for i in range(200)]),
    "late": (30, [2**30 - 500 + i for i in range(300)]),
}

# name: base, entries
DELTAS = {
    "delta-nothing": ("thousand", THOUSAND),
    "delta-one": ("thousand", replaced(THOUSAND, 20, 1, 1, 6)),
    "delta-goes": ("thousand", replaced(THOUSAND, 20, 1, 0, 7)),
    "delta-comes": ("thousand", replaced(THOUSAND, 20, 0, 1, 8)),
    "delta": ("thousand", replaced(THOUSAND, 20, 10, 12, 9)),
    "delta-many": ("thousand", replaced(THOUSAND, 20, 300, 290, 10)),
    "delta-half": ("hundred", replaced(HUNDRED, 17, 50, 50, 11)),
    "delta-most": ("thousand", replaced(THOUSAND, 20, 900, 20, 12)),
    "delta-all": ("hundred", drawn(17, 90, 13)),
    "delta-to-empty": ("thousand", []),
    "delta-from-empty": ("empty", drawn(20, 50, 14)),
    "delta-twin-goes": ("twins", sorted(
        set(TWINS) | {77})),
    "delta-twin-comes": ("twins", sorted(TWINS + [77, TWINS[9]])),
    "delta-zeros": ("zeros", [0] * 20),
    "delta-wide": ("wide", replaced(drawn(40, 20, 5), 40, 2, 3, 15)),
}


def make_good():
    """name: bytes, entries, the name of the base"""
    made = {name: (lists.encode(head_of(width), entries), entries, "-")
            for name, (width, entries) in FULL.items()}
    for name, (base, entries) in DELTAS.items():
        data, before, _ = made[base]
        width = ref.parse(data)["nbits"].bit_length() - 1
        made[name] = (lists.encode_delta(next_head(width), entries, before),
                      entries, base)
    return made


def with_payload(data, payload, **fields):
    return forged(data, payload=payload, **fields)


def bad_cases(good):
    """name: bytes, error, base, max_bits"""
    data, delta = good["thousand"][0], good["delta"][0]
    payload, code = data[96:], delta[96:]
    empty = good["empty"][0]
    reader = 2**32
    last_state = lists.list_payload(THOUSAND, 2**20, last_state=1)
    beyond = lists.list_payload(THOUSAND[:-1] + [2**20], 2**20)
    ranks = lists.delta_payload(
        [3, 50, 999, 1000], 1000, lists.changes(
            THOUSAND, good["delta"][1])[1], 2**20)
    return {
        "hashing-0": (raw(data, 6, 0), "EFORMAT", "-", reader),
        "hashing-1": (raw(data, 6, 1), "EFORMAT", "-", reader),
        "nhash-2": (raw(data, 7, 2), "EFORMAT", "-", reader),
        "nbits-odd": (forged(data, nbits=2**20 + 1), "EFORMAT", "-", reader),
        "nbits-16": (forged(empty, nbits=16), "EFORMAT", "-", reader),
        "nbits-2-41": (forged(data, nbits=2**41), "EFORMAT", "-", reader),
        "nones-over": (forged(data, nones=2**15 + 1, ncoded=2**15 + 1,
                              payload_bytes=len(payload)), "EFORMAT", "-",
                       reader),
        "ncoded-other": (forged(data, ncoded=999), "EFORMAT", "-", reader),
        "instance-0": (forged(data, instance=0), "EFORMAT", "-", reader),
        "with-base": (forged(data, base_generation=1), "EFORMAT", "-",
                      reader),
        "with-base-sum": (forged(data, base_checksum=1), "EFORMAT", "-",
                          reader),
        "coding-gaps": (raw(data, 5, coder.GAPS), "EFORMAT", "-", reader),
        "coding-stored": (raw(data, 5, coder.STORED), "EFORMAT", "-", reader),
        "above-max-bits": (data, "ELIMIT", "-", 63999),
        "delta-above-max-bits": (good["delta-to-empty"][0], "ELIMIT",
                                 "thousand", 63999),
        "bomb": (with_payload(data, b"\1" * 62), "EFORMAT", "-", reader),
        "bomb-2-35": (forged(data, nbits=2**40, nones=2**35, ncoded=2**35),
                      "ELIMIT", "-", 2**42),
        "too-long": (with_payload(empty, b"\1" * 17), "EFORMAT", "-", reader),
        "payload-cut": (data[:-1], "ETRUNC", "-", reader),
        "trailing": (data + b"\0", "EFORMAT", "-", reader),
        "empty-with-state": (with_payload(empty, b"\1"), "EFORMAT", "-",
                             reader),
        "state-ends-in-0": (with_payload(empty, b"\1\0"), "EFORMAT", "-",
                            reader),
        "long-state-ends-in-0": (
            with_payload(data, payload[:3 - len(payload) % 2] + b"\0" +
                         payload[4 - len(payload) % 2:]), "EFORMAT", "-",
            reader),
        "last-state": (with_payload(data, last_state), "EFORMAT", "-",
                       reader),
        "words-left": (with_payload(data, payload + b"\1\1"), "EFORMAT", "-",
                       reader),
        "words-missing": (with_payload(data, payload[:-2]), "EFORMAT", "-",
                          reader),
        "entry-beyond": (with_payload(data, beyond), "EFORMAT", "-", reader),
        "sum": (forged(data, checksum=1), "ECHECKSUM", "-", reader),
        "sum-of-empty": (forged(empty, checksum=1), "ECHECKSUM", "-", reader),
        "other-entries": (with_payload(data, lists.list_payload(
            drawn(20, 1000, 99), 2**20)), "ECHECKSUM", "-", reader),
        "other-instance": (forged(data, instance=LAST), "ECHECKSUM", "-",
                           reader),
        "header-sum": (damaged(data, 88), "ECHECKSUM", "-", reader),
        "delta-as-list": (delta, "EBASE", "-", reader),
        "list-as-delta": (data, "EBASE", "thousand", reader),
        "delta-other-base": (delta, "EBASE", "hundred", reader),
        "delta-other-instance": (forged(delta, instance=1), "EBASE",
                                 "thousand", reader),
        "delta-other-generation": (forged(delta, generation=5,
                                          base_generation=4), "EBASE",
                                   "thousand", reader),
        "delta-other-width": (forged(delta, nbits=2**21), "EBASE", "thousand",
                              reader),
        "delta-other-sum": (forged(delta, base_checksum=1), "EBASE",
                            "thousand", reader),
        "delta-backwards": (forged(delta, generation=1), "EFORMAT",
                            "thousand", reader),
        "delta-odd": (forged(delta, ncoded=23), "EFORMAT", "thousand",
                      reader),
        "delta-too-few": (forged(delta, nones=1500), "EFORMAT", "thousand",
                          reader),
        "delta-too-many-go": (forged(delta, nones=2, ncoded=1004), "EFORMAT",
                              "thousand", reader),
        "delta-bomb": (forged(with_payload(delta, b"\1"), nones=21000,
                              ncoded=20000), "EFORMAT", "thousand", reader),
        "delta-rank-beyond": (
            forged(with_payload(delta, ranks), nones=1008, ncoded=16),
            "EFORMAT", "thousand", reader),
        "delta-words-left": (with_payload(delta, code + b"\1\1"), "EFORMAT",
                             "thousand", reader),
        "delta-sum": (forged(delta, checksum=1), "ECHECKSUM", "thousand",
                      reader),
        "delta-other-entries": (with_payload(
            delta, lists.delta_payload(list(range(10)), 1000,
                                       drawn(20, 12, 98), 2**20)),
            "ECHECKSUM", "thousand", reader),
    }


# name: base, entries, generation

FRAMES = {
    "frame-nothing": ("thousand", THOUSAND, 2),
    "frame-one": ("thousand", replaced(THOUSAND, 20, 1, 1, 6), 2),
    "frame": ("thousand", replaced(THOUSAND, 20, 10, 12, 9), 300),
    "frame-long-sum": ("thousand", replaced(THOUSAND, 20, 10, 12, 9), 64),
    "frame-long": ("thousand", replaced(THOUSAND, 20, 700, 700, 16), 5),
    "frame-to-empty": ("thousand", [], 3),
    "frame-from-empty": ("empty", drawn(20, 50, 14), 2**63),
    "frame-twins": ("twins", sorted(set(TWINS)), 2),
    "frame-wide": ("wide", replaced(drawn(40, 20, 5), 40, 2, 3, 15), 2),
}


def make_frames(good):
    """name: bytes, entries, the name of the base"""
    return {name: (lists.write_frame(ref.parse(good[base][0]), good[base][1],
                                     generation, entries), entries, base)
            for name, (base, entries, generation) in FRAMES.items()}


def changed_at(data, offset, value):
    return data[:offset] + bytes((value,)) + data[offset + 1:]


def bad_frames(frames):
    """name: bytes, error, base, max_bits"""
    data, one = frames["frame"][0], frames["frame-one"][0]
    reader, base = 2**32, "thousand"
    # one: type, length, go, more, sum; data has steps, too
    return {
        "frame-of-nothing": (b"", "ETRUNC", base, reader),
        "frame-type-only": (b"\1", "ETRUNC", base, reader),
        "frame-length-cut": (b"\1\x80", "ETRUNC", base, reader),
        "frame-length-wrong": (b"\1\x80\0", "EFORMAT", base, reader),
        "frame-length-long": (b"\1" + b"\xff" * 9, "EFORMAT", base, reader),
        "frame-length-huge": (b"\1" + b"\xff" * 8 + b"\x7f", "ETRUNC", base,
                              reader),
        "frame-type-0": (changed_at(one, 0, 0), "EVERSION", base, reader),
        "frame-type-3": (changed_at(one, 0, 3), "EBASE", base, reader),
        "frame-type-5": (changed_at(one, 0, 5), "EVERSION", base, reader),
        "frame-type-6": (changed_at(one, 0, 6), "EVERSION", base, reader),
        "frame-cut": (one[:-1], "ETRUNC", base, reader),
        "frame-steps-0": (b"\2\x0b\0\0\0" + b"\1" * 8, "EFORMAT", base,
                          reader),
        "frame-no-fields": (b"\1\3\1\1\1", "EFORMAT", base, reader),
        "frame-go-1001": (b"\1\6\xe9\7\0" + b"\1" * 3, "EFORMAT", base,
                          reader),
        "frame-come-many": (b"\1\7\0\xff\xff\3" + b"\1" * 3,
                            "EFORMAT", base, reader),
        "frame-come-less": (b"\1\5\1\3" + b"\1" * 3, "EFORMAT", base,
                            reader),
        "frame-bomb": (b"\1\6\0\xd0\x0f" + b"\1" * 3, "EFORMAT", base,
                       reader),
        "frame-above-max-bits": (data, "ELIMIT", base, 64 * 1001),
        "frame-sum": (changed_at(one, 4, one[4] ^ 1), "ECHECKSUM", base,
                      reader),
        "frame-code": (changed_at(one, 6, one[6] ^ 1), "ECHECKSUM", base,
                       reader),
        "frame-long-code-sum": (
            changed_at(frames["frame-long"][0], 13,
                       frames["frame-long"][0][13] ^ 1), "ECHECKSUM", base,
            reader),
        "frame-other-base": (one, "EFORMAT", "empty", reader),
    }


def read_frame(data, base, good, max_bits):
    before = good[base]
    try:
        return "OK", lists.read_frame(
            data, ref.parse(before[0]), before[1],
            dict(ref.LIMITS, max_bits=max_bits))[1]
    except ref.Refused as refused:
        return refused.args[0], None


def write_frames(folder, out, good):
    frames = make_frames(good)
    for name, (data, entries, base) in frames.items():
        assert read_frame(data, base, good, 2**32) == ("OK", entries), name
        (folder / "list" / (name + ".frame")).write_bytes(data)
        (folder / "list" / (name + ".entries")).write_bytes(
            struct.pack("<%dQ" % len(entries), *entries))
        out.write("%-24s OK         %-12s %d\n" % (name, base, 2**32))
    for name, (data, error, base, max_bits) in bad_frames(frames).items():
        got = read_frame(data, base, good, max_bits)[0]
        assert got == error, (name, got)
        (folder / "list" / ("bad-" + name + ".frame")).write_bytes(data)
        out.write("%-24s %-10s %-12s %d\n" % ("bad-" + name, error, base,
                                              max_bits))


def read(data, base, good, max_bits):
    """What a decoder says: an error's name, or OK; and the entries."""
    limits = dict(ref.LIMITS, max_bits=max_bits)
    try:
        if base == "-":
            return "OK", lists.decode(data, limits)[1]
        before = good[base]
        return "OK", lists.apply(data, ref.parse(before[0]), before[1],
                                 limits)[1]
    except ref.Refused as refused:
        return refused.args[0], None


def write(folder):
    (folder / "list").mkdir(exist_ok=True)
    good = make_good()
    with open(folder / "list.txt", "w") as out:
        out.write("# Made by generate.py.\n# file, result, base, max_bits\n")
        for name, (data, entries, base) in good.items():
            assert read(data, base, good, 2**32) == ("OK", entries), name
            (folder / "list" / (name + ".scd")).write_bytes(data)
            (folder / "list" / (name + ".entries")).write_bytes(
                struct.pack("<%dQ" % len(entries), *entries))
            out.write("%-24s OK         %-12s %d\n" % (name, base, 2**32))
        for name, (data, error, base, max_bits) in bad_cases(good).items():
            got = read(data, base, good, max_bits)[0]
            assert got == error, (name, got)
            (folder / "list" / ("bad-" + name + ".scd")).write_bytes(data)
            out.write("%-24s %-10s %-12s %d\n" % ("bad-" + name, error, base,
                                                  max_bits))
        write_frames(folder, out, good)

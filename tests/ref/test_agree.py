#!/usr/bin/env python3
"""The second codec and the C library on random digests. Prints TAP.

What one encodes the other decodes to the same, and they make the same bytes
where FORMAT.md says which; what is damaged both refuse with the same error,
or take for the same. SCD_TEST_LONG: twenty times as many.
"""

import os
import pathlib
import struct
import subprocess
import sys

TOP = pathlib.Path(os.environ.get("top_srcdir", "."))
BUILD = pathlib.Path(os.environ.get("top_builddir", "."))
sys.dont_write_bytecode = True
sys.path[:0] = [str(TOP / "tests" / "ref"), str(TOP / "tests" / "vectors")]

import scd_ages as aged  # noqa: E402
import scd_coder as coder  # noqa: E402
import scd_dense as dense  # noqa: E402
import scd_gaps as gaps  # noqa: E402
import scd_list as lists  # noqa: E402
import scd_parts as parts  # noqa: E402
import scd_ref as ref  # noqa: E402
from forge import Random, raw  # noqa: E402
from scd_bits import array, count_ones  # noqa: E402

ROUNDS = 20 if os.environ.get("SCD_TEST_LONG") else 1
LIMITS = dict(ref.LIMITS, max_bits=2**21)  # as in answer.c


class Library:
    """tests/ref/answer, to which questions are put."""

    def __init__(self):
        self.process = subprocess.Popen([BUILD / "tests" / "ref" / "answer"],
                                        stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)

    def ask(self, what, data, base=b""):
        """The name of an error, or "OK", and what there is to it."""
        question = (what.encode() + struct.pack("I", len(base)) + base +
                    struct.pack("I", len(data)) + data)
        self.process.stdin.write(question)
        self.process.stdin.flush()
        size, = struct.unpack("I", self.process.stdout.read(4))
        answer = self.process.stdout.read(size)
        if answer[:2] == b"OK":
            return "OK", answer[2:]
        return answer.decode(), b""

    def end(self):
        self.process.stdin.close()
        return self.process.wait()


# What the second codec says, in the form of the library's answers

def said(decode, *args):
    try:
        return "OK", decode(*args)[1]
    except ref.Refused as refused:
        return refused.args[0], b""


def full(data, _):
    return said(ref.decode, data, LIMITS)


def applied(data, base):
    return said(ref.apply, data, *ref.decode(base), LIMITS)


def counting(data, _):
    error, counters = said(ref.decode_counting, data, LIMITS)
    return error, parts.counter_bytes(counters) if counters else b""


def listed(data, _):
    error, entries = said(lists.decode, data, LIMITS)
    return error, struct.pack("%dQ" % len(entries), *entries)


def changed(data, base):
    error, entries = said(lists.apply, data, *lists.decode(base), LIMITS)
    return error, struct.pack("%dQ" % len(entries), *entries)


def framed(data, base):
    error, entries = said(lists.read_frame, data, *lists.decode(base), LIMITS)
    return error, struct.pack("%dQ" % len(entries), *entries)


def split(base):
    """A list's header and its ages, which are behind it."""
    size = 96 + ref.read_header(base)["payload_bytes"]
    head, entries = lists.decode(base[:size])
    return head, aged.read_ages(base[size:], head, entries)


def framed_by_age(data, base):
    head, ages = split(base)
    try:
        head["generation"] = aged.read_frame(data, head, ages, LIMITS)
        return "OK", aged.write_ages(head, ages)
    except ref.Refused as refused:
        return refused.args[0], b""


def with_ages(data, base):
    error, _ = said(lambda: (0, aged.read_ages(data, *lists.decode(base))))
    return error, b""


SAID = {"F": full, "A": applied, "C": counting, "L": listed, "D": changed,
        "R": framed, "G": framed_by_age, "E": with_ages}


# Random arrays and digests

def draw(rng, nbits, share):
    """An array with about that share of ones."""
    count = max(1, int(nbits * share))
    return array(nbits, (rng.below(nbits) for _ in range(count)))


def some_size(rng):
    """Of all lengths in bytes and bits, small ones mostly."""
    return 1 + rng.below(1 << 6 + rng.below(11))


def some_share(rng):
    """Up to 30 % of ones, and seldom more."""
    if rng.below(8) == 0:
        return rng.below(1000) / 1000
    return 0.3 / (1 << rng.below(9))


def some_head(rng, nbits, nones, **more):
    """32 hash functions: then any fill is within the limits but a full one."""
    return {"nbits": nbits, "nhash": 32, "nkeys": rng.below(nones + 1),
            "instance": 1 + rng.below(2**64 - 1), "generation": 1,
            "base_generation": 0, **more}


def some_filter(rng, nbits=None, share=None):
    """The head and the array of a filter within the limits."""
    nbits = nbits or some_size(rng)
    bits = draw(rng, nbits, share or some_share(rng))
    if count_ones(bits) > nbits * 0.9:
        bits = bytes(len(bits))
    return some_head(rng, nbits, count_ones(bits)), bits


def next_filter(rng, head, bits):
    """What becomes of a filter: some bits are others."""
    nbits = head["nbits"]
    flips = draw(rng, nbits, some_share(rng) / 4)
    after = ref.xor(bits, flips)
    if count_ones(after) > nbits * 0.9:
        after = bits
    nones = count_ones(after)
    return dict(head, nkeys=rng.below(nones + 1), generation=2 + rng.below(9),
                base_generation=1), after


def some_list(rng):
    """The head and the entries of a list; some of them are close."""
    width = 5 + rng.below(36)
    entries = [rng.below(2**width)
               for _ in range(rng.below(min(300, 2**width // 32) + 1))]
    if rng.below(4) == 0:
        entries = [entry >> width - 5 for entry in entries]
    head = {"nbits": 2**width, "instance": 1 + rng.below(2**64 - 1),
            "generation": 1, "base_generation": 0}
    return head, sorted(entries)


def next_list(rng, head, entries):
    """What becomes of a list: some go, others come."""
    stay = 1 + rng.below(8)
    after = [entry for entry in entries if rng.below(8) < stay]
    room = head["nbits"] // 32 - len(after)
    after += [rng.below(head["nbits"])
              for _ in range(rng.below(min(room, 100) + 1))]
    return dict(head, generation=2 + rng.below(9),
                base_generation=1), sorted(after)


def some_payload(rng):
    """A payload_of for ref.encode with a coding and parameters at random."""
    def stored(bits, _):
        return coder.STORED, bits

    def ranged(bits, nbits):
        return coder.RANGE, coder.range_encode(bits, nbits, count_ones(bits))

    def as_dense(bits, _):
        return coder.DENSE, dense.encode(
            bits, 16 + rng.below(3), 2 + rng.below(7),
            dense.LANES_LOGS[rng.below(len(dense.LANES_LOGS))])

    def as_gaps(bits, nbits):
        return coder.GAPS, gaps.encode_gaps(bits, nbits, count_ones(bits))

    def as_sparse(bits, nbits):
        return coder.SPARSE, gaps.encode_sparse(
            bits, nbits, count_ones(bits), 16 + rng.below(3),
            4 + rng.below(3))

    return (stored, ranged, as_dense, as_gaps, as_sparse)[rng.below(5)]


def some_counters(rng):
    nbits, most = some_size(rng), 1 + rng.below(15)
    counters = [0] * nbits
    for _ in range(1 + rng.below(nbits)):
        at = rng.below(nbits)
        counters[at] = min(15, counters[at] + 1 + rng.below(most))
    if counters.count(0) < nbits // 8 + 1:
        return [0] * nbits
    return counters


# The tests: each yields faults, in words

def differences(ours, theirs):
    """Of what both say."""
    if ours[0] != theirs[0]:
        yield "%s here, %s there" % (ours[0], theirs[0])
    elif ours[1] != theirs[1]:
        yield "decoded to other bytes"


def same(library, what, data, base=b""):
    """Both decode to the same; yields what differs."""
    yield from differences(SAID[what](data, base),
                           library.ask(what, data, base))


def has_dense(data):
    """Are these bytes the encoder's own affair?"""
    head = ref.read_header(data)
    return (head["coding"] == coder.DENSE or head["coding"] == coder.PARTS
            and head["nbits"] >= 8 * 32768)


def both_ways(library, data, what, question):
    """Ours is decoded there, theirs here; and are they the same?

    question: what to ask for theirs, of which data, with which base.
    """
    base = question[2]
    yield from same(library, what, data, base)
    error, theirs = library.ask(*question)
    if error != "OK":
        yield "does not encode: " + error
        return
    if theirs == data:
        return
    yield from same(library, what, theirs, base)
    if not has_dense(data):
        yield "encoded to other bytes"


def full_digests(library, rng):
    for _ in range(60 * ROUNDS):
        head, bits = some_filter(rng)
        data = ref.encode(head, bits)
        yield from both_ways(library, data, "F", ("f", data, b""))


def large_digests(library, rng):
    """Of sizes where an encoder takes dense, gaps, sparse."""
    for nbits, share in ((600000, 0.2), (800000, 0.13), (90000, 0.02),
                         (1200000, 0.031), (1600000, 0.03)):
        head, bits = some_filter(rng, nbits + rng.below(64), share)
        data = ref.encode(head, bits)
        yield from both_ways(library, data, "F", ("f", data, b""))


def other_codings(library, rng):
    """Codings and parameters that the library's encoder does not take."""
    accepted = 0
    for _ in range(80 * ROUNDS):
        head, bits = some_filter(rng)
        if not count_ones(bits):
            continue
        data = ref.encode(head, bits, payload_of=some_payload(rng))
        yield from same(library, "F", data)
        accepted += full(data, b"")[0] == "OK"
    if accepted < 20 * ROUNDS:
        yield "few of them fit: %d" % accepted


def xor_deltas(library, rng):
    for _ in range(40 * ROUNDS):
        head, bits = some_filter(rng)
        after_head, after = next_filter(rng, head, bits)
        base = ref.encode(head, bits)
        data = ref.encode(after_head, after, bits)
        result = ref.encode(dict(after_head, base_generation=0), after)
        yield from both_ways(library, data, "A", ("x", result, base))


def conditional_deltas(library, rng):
    for _ in range(60 * ROUNDS):
        head, bits = some_filter(rng)
        after_head, after = next_filter(rng, head, bits)
        base = ref.encode(head, bits)
        data = ref.encode_conditional(after_head, after, bits)
        result = ref.encode(dict(after_head, base_generation=0), after)
        yield from both_ways(library, data, "A", ("c", result, base))


def counting_filters(library, rng):
    for _ in range(60 * ROUNDS):
        counters = some_counters(rng)
        head = some_head(rng, len(counters),
                         count_ones(parts.array_of(counters)))
        data = ref.encode_counting(head, counters)
        yield from both_ways(library, data, "C", ("n", data, b""))


def full_lists(library, rng):
    for _ in range(60 * ROUNDS):
        data = lists.encode(*some_list(rng))
        yield from both_ways(library, data, "L", ("l", data, b""))


def list_deltas(library, rng):
    for _ in range(60 * ROUNDS):
        head, entries = some_list(rng)
        after_head, after = next_list(rng, head, entries)
        base = lists.encode(head, entries)
        data = lists.encode_delta(after_head, after, entries)
        result = lists.encode(after_head, after)
        yield from both_ways(library, data, "D", ("d", result, base))


def list_frames(library, rng):
    for _ in range(60 * ROUNDS):
        head, entries = some_list(rng)
        after_head, after = next_list(rng, head, entries)
        base = lists.encode(head, entries)
        data = lists.write_frame(head, entries, after_head["generation"],
                                 after)
        yield from same(library, "R", data, base)
        error, theirs = library.ask("r", lists.encode(after_head, after), base)
        if (error, theirs) != ("OK", data):
            yield "another frame"
        damaged = bytearray(data)
        for _ in range(1 + rng.below(2)):
            damaged[rng.below(len(data))] ^= 1 << rng.below(8)
        yield from same(library, "R", bytes(damaged), base)


def some_ages(rng, entries):
    """Of a list that has become this one by some changes."""
    ages, left = aged.Ages(), list(entries)
    while left:
        come = [left.pop(rng.below(len(left)))
                for _ in range(min(len(left), 1 + rng.below(60)))]
        twin = ages.entries()[:rng.below(3)]
        ages.change(twin, sorted(come + twin))
    return ages


def list_ages(library, rng):
    for _ in range(40 * ROUNDS):
        head, entries = some_list(rng)
        after_head, after = next_list(rng, head, entries)
        ages = some_ages(rng, entries)
        told = aged.write_ages(head, ages)
        base = lists.encode(head, entries)
        data = aged.write_frame(head, ages, after_head["generation"], after)
        yield from same(library, "E", told, base)
        yield from same(library, "G", data, base + told)
        error, theirs = library.ask("g", lists.encode(after_head, after),
                                    base + told)
        if (error, theirs) != ("OK", data):
            yield "another frame"
        for what, good, its_base in (("E", told, base),
                                     ("G", data, base + told)):
            damaged = bytearray(good)
            for _ in range(1 + rng.below(2)):
                damaged[rng.below(len(good))] ^= 1 << rng.below(8)
            yield from same(library, what, bytes(damaged), its_base)


def damaged_at_random(rng, data):
    """A digest with some bytes of it others, its header's sum right."""
    out = bytearray(data)
    for _ in range(1 + rng.below(3)):
        first = 96 if len(out) > 96 and rng.below(4) else 4
        at = first + rng.below(len(out) - first)
        out[at] = rng.below(256) if rng.below(2) else out[at] ^ 1 << rng.below(
            8)
    if rng.below(8) == 0:
        del out[96 + rng.below(len(out) - 95):]
        out[80:88] = struct.pack("<Q", len(out) - 96)
    return raw(bytes(out), 3, ref.VERSION)


def damage(library, rng):
    """Both refuse the same, with the same error."""
    seen = set()
    for _ in range(150 * ROUNDS):
        head, bits = some_filter(rng)
        after_head, after = next_filter(rng, head, bits)
        counters = some_counters(rng)
        base = ref.encode(head, bits)
        some = [("F", ref.encode(head, bits), b""),
                ("A", ref.encode(after_head, after, bits), base),
                ("A", ref.encode_conditional(after_head, after, bits), base),
                ("C", ref.encode_counting(
                    some_head(rng, len(counters),
                              count_ones(parts.array_of(counters))),
                    counters), b"")]
        list_head, entries = some_list(rng)
        next_head, more = next_list(rng, list_head, entries)
        listed_base = lists.encode(list_head, entries)
        some += [("L", listed_base, b""),
                 ("D", lists.encode_delta(next_head, more, entries),
                  listed_base)]
        if count_ones(bits):
            some.append(("F", ref.encode(head, bits,
                                         payload_of=some_payload(rng)), b""))
        for what, data, base in some:
            data = damaged_at_random(rng, data)
            ours = SAID[what](data, base)
            yield from differences(ours, library.ask(what, data, base))
            seen.add(ours[0])
    missing = {"EFORMAT", "ECHECKSUM", "EBASE", "ELIMIT", "EVERSION"} - seen
    if missing:
        yield "never seen: " + ", ".join(missing)


TESTS = (full_digests, large_digests, other_codings, xor_deltas,
         conditional_deltas, counting_filters, full_lists, list_deltas,
         list_frames, list_ages, damage)


def main():
    library = Library()
    for number, test in enumerate(TESTS, 1):
        faults = list(test(library, Random(number)))
        for fault in faults[:10]:
            print("# " + fault)
        print("%s %d - %s" % ("not ok" if faults else "ok", number,
                              test.__name__))
    ended = library.end()
    print("%s %d - the library's process ends well" % (
        "not ok" if ended else "ok", len(TESTS) + 1))
    print("1..%d" % (len(TESTS) + 1))


if __name__ == "__main__":
    main()

"""Golden files of coding 6: conditional deltas and counting filters."""

import codings
import scd_coder as coder
import scd_dense as dense
import scd_parts as parts
import scd_ref as ref
from forge import (ANY, Bad, Good, Random, damaged, drawn, flipped, forged,
                   ids, raw)
from scd_bits import array, count_ones
from scd_cursor import varint

# Conditional deltas. GAPS (of codings) has 65541 places, some 1480 ones.

def delta_of(nbits, nhash, nkeys):
    return ids(nbits, nhash, nkeys, 2, 1)


def conditional(head, bits, base, **more):
    """What every encoder makes."""
    return Good(head, bits, base=base, encode=ref.encode_conditional, **more)


def as_parts(first, second):
    """An encoder that codes both parts in given ways."""
    def encode(head, bits, base_bits):
        ones, zeros = parts.ones_and_zeros(base_bits, head["nbits"])
        wanted = []
        for way, places, turned in ((first, ones, 0), (second, zeros, 1)):
            part = array(len(places), (
                i for i, at in enumerate(places)
                if parts.get_bit(bits, at) == turned))
            wanted.append(way(part, len(places)))
        (a, cleared), (b, are_set) = wanted
        return sealed_delta(head, bits, base_bits,
                            two(a, cleared, b, are_set))
    return encode


def sealed_delta(head, bits, base_bits, payload):
    return ref.sealed(head, bits, payload, kind=ref.CONDITIONAL,
                      coding=coder.PARTS,
                      ncoded=count_ones(ref.xor(bits, base_bits)),
                      base_checksum=ref.array_sum(base_bits))


def two(first_coding, first, second_coding, second):
    return (bytes((first_coding + 16 * second_coding,)) +
            varint(len(first)) + first + second)


def as_range(bits, nbits):
    return coder.RANGE, coder.range_encode(bits, nbits, count_ones(bits))


def as_stored(bits, _):
    return coder.STORED, bits


def conditional_good(arrays):
    """arrays: of other good files, by their names."""
    paper, odd = arrays["paper"], arrays["odd"]
    next_paper, gaps = arrays["delta"], codings.GAPS
    turned = flipped(gaps, 65541, 3000, 32)
    yield "conditional", conditional(delta_of(14000, 2, 1000), next_paper,
                                     "paper")
    yield "conditional-odd", conditional(
        delta_of(1003, 2, 75), flipped(odd, 1003, 300, 33), "odd", limits=ANY)
    yield "conditional-nothing", conditional(delta_of(14000, 2, 1000), paper,
                                             "paper")
    yield "conditional-to-empty", conditional(delta_of(1003, 2, 0),
                                              bytes(126), "odd")
    yield "conditional-from-empty", conditional(
        delta_of(1024, 3, 9), drawn(1024, 27, 34), "no-ones")
    yield "conditional-from-full", conditional(
        delta_of(101, 32, 9), array(101, range(0, 101, 3)), "all-ones",
        limits=ANY)
    yield "conditional-all", conditional(
        delta_of(800, 6, 92), array(800, range(1, 800, 2)), "half-stored")
    yield "conditional-squid", conditional(
        dict(delta_of(5016, 4, 400), hashing=ref.SQUID),
        arrays["delta-squid"], "squid")
    yield "conditional-gaps", conditional(
        delta_of(65541, 2, 700), turned, "gaps", array="")
    yield "conditional-dense", Good(
        delta_of(65541, 2, 700), turned, base="gaps",
        array="conditional-gaps", free=True,
        encode=as_parts(as_range, codings.as_dense(16, 3, 2)))
    yield "conditional-sparse", Good(
        delta_of(65541, 2, 700), flipped(gaps, 65541, 40, 35), base="gaps",
        free=True, encode=as_parts(codings.as_gaps, codings.as_sparse(16, 4)))
    yield "conditional-stored", Good(
        delta_of(65541, 2, 700), turned, base="gaps",
        array="conditional-gaps", free=True,
        encode=as_parts(as_stored, as_stored))


# Counting filters

def counters_of(nbits, draws, seed):
    rng, counters = Random(seed), [0] * nbits
    for _ in range(draws):
        at = rng.below(nbits)
        counters[at] = min(15, counters[at] + 1)
    return counters


def counting(head, counters, **more):
    """What every encoder makes."""
    return Good(head, parts.array_of(counters), counters=counters,
                encode=lambda head, *_: ref.encode_counting(head, counters),
                **more)


def as_planes(ways):
    """An encoder that codes plane v in way v; the last one is for the rest."""
    def encode(head, bits, _):
        payload = planes(head["counters"], ways)
        return ref.sealed(
            head, bits, payload, kind=ref.COUNTING, coding=coder.PARTS,
            ncoded=count_ones(bits),
            base_checksum=ref.counters_sum(head["counters"]))
    return encode


def planes(counters, ways):
    inside, out = list(range(len(counters))), []
    for v in range(1, parts.MAX_COUNTER + 1):
        ones = [i for i, at in enumerate(inside) if counters[at] >= v]
        way = ways[min(v, len(ways)) - 1] if ones else coder.encode
        coding, payload = way(array(len(inside), ones), len(inside))
        out.append((coding, len(ones), payload))
        inside = [inside[i] for i in ones]
        if not ones:
            break
    return joined(out)


def joined(listed):
    """The payload of planes: coding, ones, payload."""
    out = b""
    for v, (coding, ones, payload) in enumerate(listed, 1):
        out += bytes((coding,)) + (varint(ones) if v > 1 else b"")
        out += varint(len(payload)) + payload
    return out


COUNTERS = counters_of(14000, 2000, 41)
LADDER = [i % 16 if i % 50 < 16 else 0 for i in range(1601)]
MOSTLY = counters_of(33007, 9000, 42)


def squid_counters():
    counters = [0] * 5016
    rng = Random(43)
    for _ in range(500):
        for at in ref.positions_squid(rng.below(2**64), rng.below(2**64),
                                      5016):
            counters[at] = min(15, counters[at] + 1)
    return counters


def counting_good():
    yield "counting", counting(ids(14000, 2, 1000), COUNTERS)
    yield "counting-ladder", counting(ids(1601, 3, 100), LADDER, limits=ANY)
    yield "counting-no-ones", counting(ids(1024, 3, 0), [0] * 1024)
    yield "counting-one", counting(ids(1, 1, 1), [1], limits=ANY)
    yield "counting-one-saturated", counting(ids(3, 1, 15), [0, 15, 0],
                                             limits=ANY)
    yield "counting-all-saturated", counting(ids(65, 32, 15), [15] * 65,
                                             limits=ANY)
    yield "counting-squid", counting(
        dict(ids(5016, 4, 500), hashing=ref.SQUID), squid_counters())
    yield "counting-dense", Good(
        dict(ids(33007, 2, 4500), counters=MOSTLY),
        parts.array_of(MOSTLY), counters=MOSTLY, free=True, limits=ANY,
        encode=as_planes((codings.as_dense(16, 4, 3),
                          codings.as_dense(16, 3, 2), as_range)))
    yield "counting-stored", Good(
        dict(ids(1601, 3, 100), counters=LADDER), parts.array_of(LADDER),
        counters=LADDER, array="counting-ladder", free=True, limits=ANY,
        encode=as_planes((as_stored,)))


def good_rows(arrays):
    return {**dict(conditional_good(arrays)), **dict(counting_good())}


# Bad files

def conditional_bad(good):
    """Of a delta with 20 ones cleared and 20 zeros set, some."""
    data = good["conditional"].data
    head, base = good["conditional"].head, good["paper"].row.bits
    n1 = count_ones(base)
    ncleared = (head["ncoded"] + n1 - head["nones"]) // 2
    payload = data[96:]
    size = payload[1]
    first, second = payload[2:2 + size], payload[2 + size:]
    assert payload == two(2, first, 2, second)

    def forge(payload=payload, **fields):
        return forged(data, payload=payload, **fields)

    def forge_two(*fields):
        return forge(two(*fields))

    ones = codings.just_so_many(n1, ncleared + 1, 51)
    more = coder.range_encode(ones, n1, ncleared)
    yield "coding-2", raw(data, 5, coder.RANGE), "EFORMAT"
    yield "as-xor", raw(data, 4, ref.DELTA_XOR), "EFORMAT"
    yield "as-full", raw(data, 4, ref.FULL), "EFORMAT"
    yield "nothing", forge(b""), "EFORMAT"
    yield "too-long", forge(bytes(1750 + 17)), "EFORMAT"
    yield "varint-missing", forge(payload[:1]), "EFORMAT"
    yield "varint-cut", forge(payload[:1] + b"\x80"), "EFORMAT"
    yield "varint-long", forge(
        payload[:1] + bytes((size | 128, 0)) + payload[2:]), "EFORMAT"
    yield "varint-10", forge(
        payload[:1] + bytes((size | 128,)) + b"\x80" * 8 + b"\1" +
        payload[2:]), "EFORMAT"
    yield "varint-max", forge(
        payload[:1] + b"\xff" * 8 + b"\x7f" + payload[2:]), "EFORMAT"
    yield "length-over", forge(
        payload[:1] + varint(len(payload)) + payload[2:]), "EFORMAT"
    yield "length-short", forge(
        payload[:1] + varint(size - 1) + payload[2:]), "EFORMAT"
    yield "left-over", forge_two(2, first, 2, second + b"\1" * 9), "EFORMAT"
    yield "parts-in-parts", forge_two(6, first, 2, second), "EFORMAT"
    yield "coding-15", forge_two(2, first, 15, second), "EFORMAT"
    yield "odd-change", forge(ncoded=head["ncoded"] + 1), "EFORMAT"
    yield "more-cleared", forge(nones=10, ncoded=n1 + 20), "EFORMAT"
    yield "less-than-none", forge(nones=head["nones"] + 1000), "EFORMAT"
    yield "empty-with-ones", forge_two(0, b"", 2, second), "EFORMAT"
    yield "miscounted", forge_two(2, more, 2, second), "EFORMAT"
    yield "implausible", forge(
        two(2, first, 2, b""), nones=head["nones"] + 1000,
        ncoded=head["ncoded"] + 1000), "EFORMAT"
    yield "sum", forge(checksum=1), "ECHECKSUM"
    yield "spliced", forge_two(2, coder.range_encode(
        codings.just_so_many(n1, ncleared, 52), n1, ncleared), 2,
        second), "ECHECKSUM"


def other_bases(good):
    data = good["conditional"].data
    yield "other-base", data, "odd"
    yield "other-generation", forged(data, base_generation=0), "paper"
    yield "other-instance", forged(data, instance=1), "paper"
    yield "other-sum", forged(data, base_checksum=1), "paper"
    yield "other-nhash", raw(data, 7, 3), "paper"
    yield "other-nbits", forged(data, nbits=14001), "paper"
    yield "claims-2-32", forged(data, nbits=2**32, nones=1), "paper"


def no_places(good):
    """Parts of 0 bits are empty."""
    from_empty = good["conditional-from-empty"].data
    from_full = good["conditional-from-full"].data
    payload = from_empty[96:]
    yield "no-ones-coded", Bad(
        forged(from_empty, payload=bytes((payload[0] + 2,)) + payload[1:]),
        "EFORMAT", base="no-ones")
    yield "no-ones-bytes", Bad(
        forged(from_empty, payload=payload[:1] + b"\1\1" + payload[2:]),
        "EFORMAT", base="no-ones")
    yield "more-set", Bad(
        forged(from_full, nones=good["conditional-from-full"].head["nones"] + 1,
               ncoded=good["conditional-from-full"].head["ncoded"] + 1),
        "EFORMAT", base="all-ones", limits=ANY)
    yield "no-zeros-bytes", Bad(
        forged(from_full, payload=from_full[96:] + b"\1"), "EFORMAT",
        base="all-ones", limits=ANY)


def split_planes(payload, nones):
    """The planes of a payload: coding, ones, payload."""
    reader, out, ones = parts.Reader(payload), [], nones
    while reader.at < len(payload):
        coding, = reader.take("B")
        ones = reader.varint() if out else nones
        out.append((coding, ones, reader.bytes(reader.varint())))
    return out


def counting_bad(good):
    data, head = good["counting"].data, good["counting"].head
    payload = data[96:]
    listed = split_planes(payload, head["nones"])
    assert joined(listed) == payload

    def replaced(v, coding=None, ones=None, part=None):
        rows = list(listed)
        was = rows[v - 1]
        rows[v - 1] = (was[0] if coding is None else coding,
                       was[1] if ones is None else ones,
                       was[2] if part is None else part)
        return forged(data, payload=joined(rows))

    second = listed[1]
    yield "coding-2", raw(data, 5, coder.RANGE), "EFORMAT"
    yield "other-ncoded", forged(data, ncoded=1), "EFORMAT"
    yield "with-base", forged(data, base_generation=1,
                              generation=2), "EFORMAT"
    yield "nothing", forged(data, payload=b""), "EFORMAT"
    yield "implausible", forged(data, payload=payload[:300]), "EFORMAT"
    yield "too-long", forged(data, payload=bytes(16 * 1750 + 257)), "EFORMAT"
    yield "planes-cut", forged(data, payload=joined(listed[:1])), "EFORMAT"
    yield "plane-cut", forged(data, payload=payload[:-1]), "EFORMAT"
    yield "plane-missing", forged(data, payload=joined(listed[:-1])), "EFORMAT"
    yield "plane-more", forged(data, payload=joined(
        listed + [(0, 0, b"")])), "EFORMAT"
    yield "left-over", forged(data, payload=payload + b"\0"), "EFORMAT"
    yield "ones-over", replaced(2, ones=head["nones"] + 1), "EFORMAT"
    yield "ones-other", replaced(2, ones=second[1] + 1), "EFORMAT"
    yield "length-over", forged(
        data, payload=payload[:1] + varint(len(payload)) +
        payload[3:]), "EFORMAT"
    yield "parts-in-parts", replaced(2, coding=coder.PARTS), "EFORMAT"
    yield "coding-7", replaced(2, coding=7), "EFORMAT"
    yield "coding-255", replaced(1, coding=255), "EFORMAT"
    yield "empty-with-bytes", replaced(len(listed), part=b"\1"), "EFORMAT"
    yield "empty-with-ones", replaced(2, coding=coder.EMPTY,
                                      part=b""), "EFORMAT"
    yield "second-damaged", replaced(
        2, part=damaged(second[2], len(second[2]) // 2)), "EFORMAT"
    yield "stored-spare-bit", replaced(
        2, coding=coder.STORED, part=b"\xff" * len(array(
            head["nones"], ()))), "EFORMAT"
    yield "spliced", replaced(2, part=coder.range_encode(
        codings.just_so_many(head["nones"], second[1], 53), head["nones"],
        second[1])), "ECHECKSUM"
    yield "array-sum", forged(data, checksum=1), "ECHECKSUM"
    yield "counters-sum", forged(data, base_checksum=1), "ECHECKSUM"


def plane_miscounted():
    """A dense plane with a one less than it says: nothing else counts it."""
    counters = counters_of(16003, 3000, 44)
    bits = parts.array_of(counters)
    data = as_planes((codings.as_dense(16, 3, 2), as_range))(
        dict(ids(16003, 2, 1500), counters=counters), bits, None)
    listed = split_planes(data[96:], count_ones(bits))
    fewer = array(16003, codings.places(bits)[:-1])
    listed[0] = (coder.DENSE, 0, dense.encode(fewer, 16, 3, 2))
    return forged(data, payload=joined(listed))


def sixteenth_plane(good):
    data = good["counting-one-saturated"].data
    listed = split_planes(data[96:], 1)
    return forged(data, payload=joined(listed + [(0, 0, b"")]))


def range_bomb(good):
    """A part of more bits than coding 2 has for 1 byte."""
    base = good["gaps-wide"].row.bits
    nbits = good["gaps-wide"].head["nbits"]
    return Bad(sealed_delta(delta_of(nbits, 1, 2),
                            flipped(base, nbits, 1, 61), base,
                            two(coder.EMPTY, b"", coder.RANGE, b"\x20")),
               "EFORMAT", base="gaps-wide")


def bad_rows(good):
    made = {}
    for label, data, error in conditional_bad(good):
        base = "" if label == "as-full" else "paper"
        made["conditional-" + label] = Bad(data, error, base=base)
    for label, data, base in other_bases(good):
        made["conditional-" + label] = Bad(data, "EBASE", base=base)
    for label, row in no_places(good):
        made["conditional-" + label] = row
    for label, data, error in counting_bad(good):
        made["counting-" + label] = Bad(data, error, base="counters")
    made["conditional-decoded"] = Bad(good["conditional"].data, "EBASE")
    made["counting-decoded"] = Bad(good["counting"].data, "EBASE")
    made["counting-applied"] = Bad(good["counting"].data, "EBASE",
                                   base="paper")
    made["full-as-counters"] = Bad(good["paper"].data, "EBASE",
                                   base="counters")
    made["counting-miscounted"] = Bad(plane_miscounted(), "EFORMAT",
                                      base="counters")
    made["counting-bomb"] = Bad(
        forged(good["counting-no-ones"].data, nbits=2**20), "ELIMIT",
        base="counters")
    made["conditional-bomb"] = range_bomb(good)
    made["counting-16-planes"] = Bad(sixteenth_plane(good), "EFORMAT",
                                     base="counters", limits=ANY)
    return made

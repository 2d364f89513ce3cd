"""Golden files of codings 3 to 5: dense, gaps, sparse."""

import struct

import scd_coder as coder
import scd_dense as dense
import scd_gaps as gaps
import scd_ref as ref
from forge import ANY, Bad, Good, Random, drawn, flipped, forged, ids, raw
from parts import as_range
from scd_bits import array, count_ones, places

# Arrays

DENSE = drawn(16003, 3000, 20)  # its last byte has spare bits
DENSE_CHUNKS = drawn(8 * 65537 - 3, 20000, 21)
TINY = drawn(16384, 500, 22)
GAPS = drawn(65541, 1500, 23)
WIDE_BITS = 1200001  # low_bits 17 with a single one
SPARSE_BITS = 1152007


def thinned():
    """GAPS without ones in the middle: gaps of several escapes."""
    return array(65541, (i for i in places(GAPS)
                         if not 20000 <= i < 22000 and i < 64000))


def just_so_many(nbits, nones, seed):
    rng, ones = Random(seed), set()
    while len(ones) < nones:
        ones.add(rng.below(nbits))
    return array(nbits, ones)


SPARSE = just_so_many(SPARSE_BITS, 36000, 24)


# Payloads that are not those of every encoder

def as_dense(*parameters):
    return lambda bits, nbits: (coder.DENSE, dense.encode(bits, *parameters))


def as_gaps(bits, nbits):
    return coder.GAPS, gaps.encode_gaps(bits, nbits, count_ones(bits))


def as_sparse(*parameters):
    return lambda bits, nbits: (
        coder.SPARSE, gaps.encode_sparse(bits, nbits, count_ones(bits),
                                         *parameters))


def dense_good():
    head, lanes = ids(16003, 2, 1500), (5, 5, 6, 7, 6, 5, 7)
    for nclasses, lanes_log in zip(range(2, 9), lanes):
        array_of = "dense-2" if nclasses > 2 else ""
        yield "dense-%d" % nclasses, Good(
            head, DENSE, payload_of=as_dense(22, nclasses, lanes_log),
            array=array_of)
    yield "dense-delta", Good(
        ids(16003, 2, 1500, 2, 1), flipped(DENSE, 16003, 500, 25),
        base="dense-2", payload_of=as_dense(16, 4, 5))
    head = ids(8 * 65537 - 3, 1, 20000)
    yield "dense-whole", Good(head, DENSE_CHUNKS, payload_of=coder.encode)
    yield "dense-chunks", Good(head, DENSE_CHUNKS, array="dense-whole",
                               payload_of=as_dense(16, 6, 7))


def range_good():
    """As many bits as so few bytes may stand for."""
    yield "range-free", Good(ids(2**18, 1, 1), array(2**18, (0,)),
                             payload_of=as_range)


def mirrored_good():
    """Arrays of mostly ones, as every encoder makes them, or none does."""
    for name, nbits, bits, more in (
            ("mirrored-dense", 262149, drawn(262149, 60000, 62),
             {"free": True}),
            ("mirrored-gaps", 65541, GAPS, {}),
            ("mirrored-sparse", SPARSE_BITS, SPARSE, {}),
            ("mirrored-tiny", 16384, TINY, {"payload_of": as_mirrored})):
        yield name, Good(ids(nbits, 1, 1), coder.complement(bits, nbits),
                         limits=ANY, **more)


def as_mirrored(bits, nbits):
    coding, payload = as_sparse(22, 4)(coder.complement(bits, nbits), nbits)
    return coder.MIRRORED + coding, payload


def gaps_good():
    head = ids(65541, 2, 750)
    yield "gaps", Good(head, GAPS)
    yield "gaps-escapes", Good(head, thinned())
    yield "gaps-delta", Good(dict(head, generation=2, base_generation=1),
                             flipped(GAPS, 65541, 40, 26), base="gaps")
    yield "gaps-32", Good(ids(65568, 1, 2049),
                          just_so_many(65568, 2049, 27))
    yield "gaps-one", Good(ids(70000, 1, 1), array(70000, (69999,)))
    yield "gaps-wide", Good(ids(WIDE_BITS, 1, 1),
                            array(WIDE_BITS, (600000,)))
    yield "gaps-tiny", Good(ids(64, 1, 2), array(64, (0, 63)),
                            payload_of=as_gaps)
    yield "gaps-no-words", Good(ids(40, 1, 1), array(40, (7,)),
                                payload_of=as_gaps)


def sparse_good():
    head = ids(SPARSE_BITS, 1, 36000)
    yield "sparse-16", Good(head, SPARSE)
    yield "sparse-32", Good(head, SPARSE, array="sparse-16",
                            payload_of=as_sparse(16, 5))
    yield "sparse-64", Good(head, SPARSE, array="sparse-16",
                            payload_of=as_sparse(28, 6))
    yield "sparse-no-ones", Good(ids(WIDE_BITS, 1, 1),
                                 array(WIDE_BITS, (600000,)),
                                 array="gaps-wide",
                                 payload_of=as_sparse(16, 4))
    yield "sparse-escapes", Good(ids(65541, 2, 750), thinned(),
                                 array="gaps-escapes",
                                 payload_of=as_sparse(22, 4))
    yield "sparse-tiny", Good(ids(16384, 1, 500), TINY,
                              payload_of=as_sparse(22, 4))


GOOD = {**dict(dense_good()), **dict(gaps_good()), **dict(sparse_good()),
        **dict(range_good()), **dict(mirrored_good())}


# Bad files. Few ones, so that no payload is too short to be plausible; for the
# shortest, SHORT, a single one.

FEW_BITS = 16003
FEW = just_so_many(FEW_BITS, 100, 28)
FEW_CHUNKS_BITS = 8 * 65537 - 3
SHORT = ("nothing", "sizes-cut", "code-empty", "2-bytes", "freq-cut",
         "list-cut", "without-ones")
FEW_CHUNKS = array(FEW_CHUNKS_BITS, (1, 2, 3, 99999, 300000))


def changed(fields, **others):
    return {**fields, **others}


def cut(fields, name):
    """The code up to the last byte but one of a field."""
    out = b""
    for each, value in fields.items():
        if each == name:
            return out + value[:-1]
        out += value
    return None


def u32(*numbers):
    return struct.pack("<%dI" % len(numbers), *numbers)


def of_chunks(fields, lane_of_end):
    """What is wrong with codes of chunks, whatever is in them: payloads.

    lane_of_end: codes of which the last one has a state of another end.
    """
    code = b"".join(fields.values())
    joined = dense.join(22, [code])
    low = u32(0xFFFF) + fields["states"][4:]
    yield "nothing", b""
    yield "sizes-cut", joined[:4]
    yield "chunk-log-15", dense.join(15, [code])
    yield "code-too-long", joined[:1] + u32(len(code) + 1) + code
    yield "code-left-over", joined + b"\0"
    yield "code-empty", dense.join(22, [b""])
    yield "states-cut", dense.join(22, [cut(fields, "states")])
    yield "state-low", of(changed(fields, states=low))
    yield "state-end", dense.join(16, lane_of_end)
    yield "words-cut", dense.join(22, [code[:-2]])
    yield "words-odd", dense.join(22, [code[:-1]])
    yield "words-left-over", dense.join(22, [code + b"\0\0"])


def of(fields):
    """The payload of one chunk."""
    return dense.join(22, [b"".join(fields.values())])


def other_end(codes):
    """The last lane of the last of some chunks codes nothing: not 2^16."""
    last = codes[-1]["states"]
    codes[-1]["states"] = last[:-4] + u32(2**16 + 1)
    return [b"".join(fields.values()) for fields in codes]


def dense_payloads():
    fields = dense.chunk_fields(FEW, 3, 5)
    sixes = dense.chunk_fields(FEW, 7, 5)
    two = [dense.chunk_fields(FEW_CHUNKS[:65536], 3, 5),
           dense.chunk_fields(FEW_CHUNKS[65536:], 3, 5)]
    yield from of_chunks(fields, other_end(two))
    code = b"".join(fields.values())
    nescapes = int.from_bytes(fields["nescapes"], "little")
    listed = fields["escapes"]
    yield "chunk-log-31", dense.join(31, [code])
    yield "freq-cut", dense.join(22, [cut(fields, "freq")])
    yield "list-cut", dense.join(22, [cut(fields, "escapes")])
    yield "lanes-2", of(dense.chunk_fields(FEW, 3, 1))
    yield "lanes-256", of(dense.chunk_fields(FEW, 3, 8))
    yield "classes-1", of(changed(fields, nclasses=b"\1", freq=b""))
    yield "classes-9", of(changed(fields, nclasses=b"\11",
                                  freq=fields["freq"] + bytes(12)))
    yield "freq-0", of(changed(fields, freq=fields["freq"][:2] + bytes(2)))
    yield "freq-all", of(changed(fields, freq=struct.pack("<HH", 2047, 8)))
    yield "freq-over", of(changed(fields, freq=struct.pack("<HH", 65535, 1)))
    yield "escapes-over", of(changed(sixes, nescapes=u32(2002),
                                     escapes=bytes(1502)))
    yield "escapes-2-32", of(changed(fields, nescapes=u32(2**32 - 1)))
    yield "escapes-few", of(changed(fields, nescapes=u32(nescapes - 1),
                                    escapes=listed[:-1]))
    yield "escapes-many", of(changed(fields, nescapes=u32(nescapes + 1),
                                     escapes=listed + b"\0"))
    yield "escapes-spare", of(spare_in_list())
    yield "rank-over", of(changed(fields, escapes=listed[:-1] + b"\xff"))
    yield "spare-bit", of(dense.chunk_fields(
        array(FEW_BITS + 1, places(FEW)[:-1] + [FEW_BITS]), 3, 5))


def spare_in_list():
    """An escape of 6 bits, and one more bit behind it."""
    chunk = b"\xff" + array(FEW_BITS, places(FEW)[:92])[1:]
    fields = dense.chunk_fields(chunk, 7, 5)
    return changed(fields, escapes=bytes((fields["escapes"][0] | 0x40,)))


def sparse_payloads():
    ones, model = places(FEW), gaps.Model(FEW_BITS, 100)
    fields = gaps.chunk_fields(ones, model)
    two_model = gaps.Model(FEW_CHUNKS_BITS, 5)
    two = [gaps.chunk_fields(places(FEW_CHUNKS), two_model),
           gaps.chunk_fields([], two_model)]
    escape_places = model.escape << model.low_bits
    yield from of_chunks(fields, other_end(two))
    yield "chunk-log-29", dense.join(29, [b"".join(fields.values())])
    yield "low-cut", dense.join(22, [cut(fields, "low")])
    yield "lanes-8", of(gaps.chunk_fields(ones, model, 3))
    yield "lanes-128", of(gaps.chunk_fields(ones, model, 7))
    yield "low-short", of(changed(fields, low=fields["low"][:-1],
                                  nlow=u32(len(fields["low"]) - 1)))
    yield "low-long", of(changed(fields, low=fields["low"] + b"\0",
                                 nlow=u32(len(fields["low"]) + 1)))
    yield "low-2-32", of(changed(fields, nlow=u32(2**32 - 1)))
    yield "symbols-2-32", of(changed(fields, nsyms=u32(2**32 - 1)))
    yield "beyond", of(gaps.chunk_fields(ones[:-1] + [FEW_BITS], model))
    yield "escapes-beyond", of(gaps.chunk_fields(
        ones, model, more=[model.escape] * (FEW_BITS // escape_places + 1)))


def gaps_payloads():
    payload = gaps.encode_gaps(FEW, FEW_BITS, 100)
    ones = places(FEW)[:-1]

    def with_last(place):
        return gaps.encode_gaps(array(place + 1, ones + [place]), FEW_BITS,
                                100)

    yield "nothing", b""
    yield "2-bytes", payload[:2]
    yield "odd", payload + b"\0"
    yield "state-end", gaps.encode_gaps(FEW, FEW_BITS, 100, 1)
    yield "words-left-over", payload + b"\0\0"
    yield "beyond", with_last(FEW_BITS)
    yield "escapes-beyond", with_last(9 * FEW_BITS)


def beyond_chunk():
    """A one beyond its chunk, but not beyond the array."""
    model = gaps.Model(FEW_CHUNKS_BITS, 5)
    codes = [gaps.chunk_fields([1, 2, 3, 4, 8 * 65536], model),
             gaps.chunk_fields([], model)]
    return dense.join(16, [b"".join(fields.values()) for fields in codes])


def coded_as(number, full, payload, **fields):
    return raw(forged(full, payload=payload, **fields), 5, number)


def full(bits, nbits):
    return ref.encode(ids(nbits, 1, 1), bits)


def bad_of(number, few, payloads):
    """Those of all codings; of few, payloads."""
    size, most = len(FEW), FEW_BITS // (2 if number == coder.DENSE else 32)
    chunks = full(FEW_CHUNKS, FEW_CHUNKS_BITS)
    one = full(array(FEW_BITS, (5,)), FEW_BITS)
    sources = {label: one for label in SHORT}
    if number != coder.GAPS:
        sources["state-end"] = chunks
    for label, payload in payloads:
        yield label, coded_as(number, sources.get(label, few), payload)
    yield "without-ones", coded_as(number, few, u32(2**16), nkeys=0, nones=0,
                                   ncoded=0)
    yield "as-long-as-stored", coded_as(number, few, bytes(size))
    yield "too-many-ones", coded_as(number, few, bytes(size - 1),
                                    nones=most + 1, ncoded=most + 1)


def all_bad():
    few = full(FEW, FEW_BITS)
    for number, name, payloads in (
            (coder.DENSE, "dense", dense_payloads()),
            (coder.GAPS, "gaps", gaps_payloads()),
            (coder.SPARSE, "sparse", sparse_payloads())):
        for label, data in bad_of(number, few, payloads):
            yield name + "-" + label, Bad(data, "EFORMAT", limits=ANY)
    yield "dense-miscounted", Bad(
        coded_as(coder.DENSE, few, of(dense.chunk_fields(FEW, 3, 5)),
                 nones=99, ncoded=99), "ECHECKSUM")
    ones, model = places(FEW)[:-1], gaps.Model(FEW_BITS, 100)
    yield "sparse-miscounted", Bad(
        coded_as(coder.SPARSE, few, of(gaps.chunk_fields(ones, model))),
        "ECHECKSUM")
    yield "sparse-beyond-chunk", Bad(
        coded_as(coder.SPARSE, full(FEW_CHUNKS, FEW_CHUNKS_BITS),
                 beyond_chunk()), "EFORMAT")
    wide = array(2**24, (5,))
    yield "sparse-low-bits-19", Bad(
        coded_as(coder.SPARSE, full(wide, 2**24),
                 gaps.encode_sparse(wide, 2**24, 1)), "EFORMAT",
        limits=ANY)

    gaps_of_few = gaps.encode_gaps(FEW, FEW_BITS, 100)
    yield "mirrored-few-ones", Bad(
        coded_as(coder.MIRRORED + coder.GAPS, few, gaps_of_few), "EFORMAT")
    yield "mirrored-half", Bad(
        coded_as(coder.MIRRORED + coder.DENSE, few, bytes(900), nbits=200,
                 nones=100, ncoded=100), "EFORMAT", limits=ANY)
    yield "mirrored-all-ones", Bad(
        coded_as(coder.MIRRORED + coder.SPARSE, few, b"", nones=FEW_BITS,
                 ncoded=FEW_BITS), "EFORMAT", limits=ANY)
    yield "mirrored-sum", Bad(
        coded_as(coder.MIRRORED + coder.GAPS, few, gaps_of_few,
                 nones=FEW_BITS - 100, ncoded=FEW_BITS - 100), "ECHECKSUM",
        limits=ANY)
    for number in (8, 9, 10, 14):
        yield "mirrored-%d" % number, Bad(raw(few, 5, number), "EVERSION")
    yield "gaps-words-cut", Bad(
        coded_as(coder.GAPS, few, gaps.encode_gaps(FEW, FEW_BITS, 100)[:-2]),
        "ECHECKSUM")


BAD = dict(all_bad())

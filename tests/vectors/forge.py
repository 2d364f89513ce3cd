"""What golden files are made with: arrays drawn, digests forged.

A row of a good file is a Good, a row of a bad one a Bad.
"""

import collections

import scd_ref as ref
from scd_bits import array, xor

ANY = {"max_bits": 2**32, "max_hash": 32, "max_fp_ppm": 1000000,
       "max_expansion": 0}
INSTANCE = 0x0123456789ABCDEF
LAST = 2**64 - 1

# A digest that must be accepted. base: the name of the good file that it is
# a delta to, "" for none. limits: None for the defaults. payload_of: makes
# the coding and the payload, if they are not those that every encoder makes.
# array: the name of the good file with the same array, "" for its own.
# counters: of a counting filter. encode: makes the digest of head, bits and
# the base's bits, if it is neither a full digest nor an XOR delta. free: not
# every encoder makes it.
Good = collections.namedtuple(
    "Good", "head bits base limits payload_of array counters encode free",
    defaults=("", None, None, "", None, None, False))

# What must be refused, and the error. base: as above, or "counters" for what
# is to be read as counters.
Bad = collections.namedtuple("Bad", "data error base limits",
                             defaults=("", None))


class Random:
    """splitmix64, as tests/codec/random.h"""

    def __init__(self, seed):
        self.state = seed

    def below(self, n):
        self.state = (self.state + 0x9E3779B97F4A7C15) & ref.U64
        z = self.state
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & ref.U64
        z = (z ^ z >> 27) * 0x94D049BB133111EB & ref.U64
        return (z ^ z >> 31) % n


def drawn(nbits, draws, seed):
    """An array as draws random positions leave it."""
    rng = Random(seed)
    return array(nbits, (rng.below(nbits) for _ in range(draws)))


def flipped(bits, nbits, draws, seed):
    return xor(bits, drawn(nbits, draws, seed))


def ids(nbits, nhash, nkeys, generation=1, base=0):
    return {"nbits": nbits, "nhash": nhash, "nkeys": nkeys,
            "instance": INSTANCE, "generation": generation,
            "base_generation": base}


def forged(data, payload=None, **fields):
    """The digest with other fields or another payload, checksums correct."""
    head = ref.read_header(data)
    if payload is None:
        payload = data[ref.HEADER_BYTES:]
    head["payload_bytes"] = len(payload)
    head.update(fields)
    return ref.write_header(head) + payload


def raw(data, offset, value):
    """The digest with one byte replaced, its header's checksum correct."""
    out = bytearray(data)
    out[offset] = value
    out[88:96] = ref.xxh64(bytes(out[:88]), ref.SEED_HEADER).to_bytes(
        8, "little")
    return bytes(out)


def damaged(data, offset):
    out = bytearray(data)
    out[offset] ^= 1
    return bytes(out)

"""Messages of invalidations, read as FORMAT.md has them."""

import collections
import itertools
import struct

from scd_bits import refuse_if
from scd_cursor import Reader

KINDS = ("all", "key", "prefix", "tag")
PREFIX_MAX = 8192
MASK = 2**64 - 1

Section = collections.namedtuple("Section",
                                 "source floor upto incomplete entries")
Entry = collections.namedtuple("Entry", "seq kind length hash")


def rotate(word, bits):
    return (word << bits | word >> 64 - bits) & MASK


def rounds(v, n):
    a, b, c, d = v
    for _ in range(n):
        a, c = (a + b) & MASK, (c + d) & MASK
        b, d = rotate(b, 13) ^ a, rotate(d, 16) ^ c
        a, c = (rotate(a, 32) + d) & MASK, (c + b) & MASK
        b, d = rotate(b, 17) ^ c, rotate(d, 21) ^ a
        c = rotate(c, 32)
    return a, b, c, d


def siphash(secret, message):
    """SipHash-2-4-128: two words."""
    k0, k1 = struct.unpack("<2Q", secret)
    v = (k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D ^ 0xEE,
         k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573)
    padded = message + bytes(-(len(message) + 1) % 8) + \
        bytes((len(message) % 256,))
    for word, in struct.iter_unpack("<Q", padded):
        a, b, c, d = rounds((v[0], v[1], v[2], v[3] ^ word), 2)
        v = (a ^ word, b, c, d)
    v = rounds((v[0], v[1], v[2] ^ 0xEE, v[3]), 4)
    low = v[0] ^ v[1] ^ v[2] ^ v[3]
    v = rounds((v[0], v[1] ^ 0xDD, v[2], v[3]), 4)
    return low, v[0] ^ v[1] ^ v[2] ^ v[3]


def end_of(secret, message):
    return struct.pack("<2Q", *siphash(secret, b"invalidations " + message))


def read_entry(r, before, upto):
    seq, kind, zero, length, low, high = r.take("<QBBHQQ")
    refuse_if(not before < seq <= upto, "EFORMAT")
    refuse_if(kind >= len(KINDS) or zero or length > PREFIX_MAX, "EFORMAT")
    refuse_if((KINDS[kind] == "prefix") != (length > 0), "EFORMAT")
    refuse_if(KINDS[kind] == "all" and (low or high), "EFORMAT")
    return Entry(seq, KINDS[kind], length, (low, high))


def read_section(r):
    source, floor, upto, flags, n = r.take("<QQQII")
    refuse_if(not source or floor > upto or flags > 1, "EFORMAT")
    entries, before = [], 0
    for _ in range(n):
        entries.append(read_entry(r, before, upto))
        before = entries[-1].seq
    return Section(source, floor, upto, flags == 1, entries)


def read(secret, message):
    """The sections of a message."""
    refuse_if(len(message) < 24, "EFORMAT")
    text, end = message[:-16], message[-16:]
    r = Reader(text)
    magic, version, n = r.take("<4sHH")
    refuse_if(magic != b"SCDI" or version != 1, "EFORMAT")
    sections = [read_section(r) for _ in range(n)]
    refuse_if(len(r.rest()), "EFORMAT")
    refuse_if(end != end_of(secret, text), "ECHECKSUM")
    return sections


def write(secret, sections):
    """The message of these sections, which must keep the rules."""
    text = struct.pack("<4sHH", b"SCDI", 1, len(sections))
    for s in sections:
        text += struct.pack("<QQQII", s.source, s.floor, s.upto, s.incomplete,
                            len(s.entries))
        text += b"".join(itertools.chain.from_iterable(
            (struct.pack("<QBBHQQ", e.seq, KINDS.index(e.kind), 0, e.length,
                         *e.hash),) for e in s.entries))
    return text + end_of(secret, text)

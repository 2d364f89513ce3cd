"""A second implementation of the digest format, for comparison with the C one.

Written from docs/FORMAT.md alone, to be read beside it; slow, and without
dependencies. Here are the header and what a digest is; the codings are in
scd_coder. Bit arrays are bytes objects in canonical form (scd_bits).
"""

import hashlib
import struct

import scd_coder as coder
import scd_parts as parts
from scd_bits import (Refused, array_bytes, count_ones, get_bit, refuse_if,
                      xor)

U64 = 2**64 - 1
HEADER_BYTES = 96
MAGIC = b"SCD"
VERSION = 1
FULL, DELTA_XOR, CONDITIONAL, COUNTING, LIST, LIST_DELTA = KINDS = range(6)
DOUBLE, SQUID, PREFIX = HASHINGS = range(3)
SEED_ARRAY = 0x7363642062697473
SEED_COUNTERS = 0x73636420636F756E
SEED_HEADER = 0x7363642068656164
FIELDS = ("nbits", "nkeys", "nones", "instance", "generation",
          "base_generation", "base_checksum", "checksum", "ncoded",
          "payload_bytes")
LISTS = LIST, LIST_DELTA
PARTS_MOST = {CONDITIONAL: lambda size: size + 16,
              COUNTING: lambda size: 16 * size + 256}
LIMITS = {"max_bits": 2**32, "max_hash": 32, "max_fp_ppm": 50000,
          "max_expansion": 512}
FREE_BYTES = 2**19


# XXH64, from its specification

P1 = 0x9E3779B185EBCA87
P2 = 0xC2B2AE3D27D4EB4F
P3 = 0x165667B19E3779F9
P4 = 0x85EBCA77C2B2AE63
P5 = 0x27D4EB2F165667C5


def rotl(x, n):
    return (x << n | x >> 64 - n) & U64


def xxh64_round(acc, lane):
    return rotl((acc + lane * P2) & U64, 31) * P1 & U64


def xxh64_merge(acc, value):
    return ((acc ^ xxh64_round(0, value)) * P1 + P4) & U64


def xxh64_stripes(data, seed):
    """The state after all whole stripes of 32 bytes."""
    acc = [(seed + P1 + P2) & U64, (seed + P2) & U64, seed, (seed - P1) & U64]
    for at in range(0, len(data) - 31, 32):
        lanes = struct.unpack_from("<4Q", data, at)
        acc = [xxh64_round(a, lane) for a, lane in zip(acc, lanes)]
    h = sum(rotl(a, n) for a, n in zip(acc, (1, 7, 12, 18))) & U64
    for a in acc:
        h = xxh64_merge(h, a)
    return h


def xxh64(data, seed):
    h = xxh64_stripes(data, seed) if len(data) >= 32 else (seed + P5) & U64
    h = (h + len(data)) & U64
    at = len(data) // 32 * 32
    while at + 8 <= len(data):
        lane, = struct.unpack_from("<Q", data, at)
        h = (rotl(h ^ xxh64_round(0, lane), 27) * P1 + P4) & U64
        at += 8
    if at + 4 <= len(data):
        lane, = struct.unpack_from("<I", data, at)
        h = (rotl(h ^ lane * P1 & U64, 23) * P2 + P3) & U64
        at += 4
    for byte in data[at:]:
        h = rotl(h ^ byte * P5 & U64, 11) * P1 & U64
    h = (h ^ h >> 33) * P2 & U64
    h = (h ^ h >> 29) * P3 & U64
    return h ^ h >> 32


# Keys

def positions(lo, hi, nbits, nhash):
    x, y, out = lo, hi, []
    for i in range(nhash):
        out.append(x % nbits)
        x, y = (x + y) & U64, (y + i + 1) & U64
    return out


def positions_squid(lo, hi, nbits):
    words = lo >> 32, lo & 0xFFFFFFFF, hi >> 32, hi & 0xFFFFFFFF
    return [word % nbits for word in words]


def prefix(lo, nbits):
    """The position of hashing 2."""
    return lo >> 65 - nbits.bit_length()


def has(head, bits, lo, hi):
    if head.get("hashing", DOUBLE) == SQUID:
        places = positions_squid(lo, hi, head["nbits"])
    elif head.get("hashing", DOUBLE) == PREFIX:
        places = [prefix(lo, head["nbits"])]
    else:
        places = positions(lo, hi, head["nbits"], head["nhash"])
    return all(get_bit(bits, i) for i in places)


# Headers

def read_header(data):
    refuse_if(len(data) < HEADER_BYTES, "ETRUNC")
    version, kind, coding, hashing, nhash = data[3:8]
    refuse_if(data[:3] != MAGIC, "EFORMAT")
    refuse_if(version != VERSION, "EVERSION")
    numbers = struct.unpack_from("<11Q", data, 8)
    refuse_if(numbers[10] != xxh64(data[:88], SEED_HEADER), "ECHECKSUM")
    refuse_if(coding not in (coder.PARTS, coder.LIST) and
              coding not in coder.CODINGS, "EVERSION")
    refuse_if(kind not in KINDS or hashing not in HASHINGS, "EVERSION")
    head = {"kind": kind, "coding": coding, "hashing": hashing,
            "nhash": nhash}
    head.update(zip(FIELDS, numbers))
    return head


def write_header(head):
    data = MAGIC + bytes((VERSION, head["kind"], head["coding"],
                          head.get("hashing", DOUBLE), head["nhash"]))
    data += struct.pack("<10Q", *(head[name] for name in FIELDS))
    return data + struct.pack("<Q", xxh64(data, SEED_HEADER))


def check_fields(head):
    m = head["nbits"]
    refuse_if(not 1 <= head["nhash"] <= 32, "EFORMAT")
    refuse_if(not 1 <= m <= 2**40, "EFORMAT")
    refuse_if(head["nones"] > m or head["ncoded"] > m, "EFORMAT")
    refuse_if(head["instance"] == 0, "EFORMAT")
    refuse_if(head["nkeys"] > 0 and head["nones"] == 0, "EFORMAT")
    if head["hashing"] == SQUID:
        refuse_if(head["nhash"] != 4 or m % 8 or m > 2**31, "EFORMAT")
    if head["hashing"] == PREFIX:
        refuse_if(head["nhash"] != 1 or m < 2 or m & m - 1, "EFORMAT")
    if head["kind"] in LISTS:
        refuse_if(head["hashing"] != PREFIX or m < 32 or
                  head["nones"] > m // 32, "EFORMAT")
    if head["kind"] in (FULL, LIST):
        refuse_if(head["base_checksum"], "EFORMAT")
    if head["kind"] in (FULL, COUNTING, LIST):
        refuse_if(head["base_generation"], "EFORMAT")
        refuse_if(head["ncoded"] != head["nones"], "EFORMAT")
    else:
        refuse_if(head["base_generation"] >= head["generation"], "EFORMAT")


def memory_of(head):
    """Bytes that a reader takes for it, as check 11 counts them."""
    if head["kind"] == FULL:
        return array_bytes(head["nbits"])
    if head["kind"] == COUNTING:
        return (5 * array_bytes(head["nbits"]) +
                64 * array_bytes(head["nones"]))
    if head["kind"] == LIST:
        return 8 * head["nones"]
    return 0


def check_limits(head, limits):
    size = head["nbits"]
    if head["kind"] in LISTS:
        size = 64 * max(head["nones"], head["ncoded"])
    refuse_if(size > limits["max_bits"], "ELIMIT")
    refuse_if(head["nhash"] > limits["max_hash"], "ELIMIT")
    fp = (head["nones"] / head["nbits"]) ** head["nhash"]
    refuse_if(fp * 1e6 > limits["max_fp_ppm"], "ELIMIT")
    most = limits["max_expansion"] * (HEADER_BYTES + head["payload_bytes"])
    refuse_if(limits["max_expansion"] and
              memory_of(head) > max(FREE_BYTES, most), "ELIMIT")


def check_payload(head, rest):
    m, ncoded, size = head["nbits"], head["ncoded"], head["payload_bytes"]
    refuse_if((head["kind"] in PARTS_MOST) != (head["coding"] == coder.PARTS),
              "EFORMAT")
    refuse_if((head["kind"] in LISTS) != (head["coding"] == coder.LIST),
              "EFORMAT")
    if head["coding"] == coder.PARTS:
        refuse_if(size > PARTS_MOST[head["kind"]](array_bytes(m)), "EFORMAT")
    elif head["coding"] == coder.LIST:
        refuse_if(size > 8 * ncoded + 16, "EFORMAT")
        refuse_if(head["kind"] == LIST and head["nones"] > 16 * size,
                  "EFORMAT")
    else:
        refuse_if(not coder.fits(head["coding"], size, m, ncoded), "EFORMAT")
    if head["kind"] not in (CONDITIONAL, LIST, LIST_DELTA):
        refuse_if(not coder.is_plausible(size, m, ncoded), "EFORMAT")
    refuse_if(rest < size, "ETRUNC")
    refuse_if(rest > size, "EFORMAT")


def parse(data, limits=None):
    head = read_header(data)
    check_fields(head)
    check_limits(head, limits or LIMITS)
    check_payload(head, len(data) - HEADER_BYTES)
    return head


# Digests

def decode_coded(head, data):
    """The coded array of kinds 0 and 1."""
    return coder.decode(head["coding"], data[HEADER_BYTES:], head["nbits"],
                        head["ncoded"])


def array_sum(bits):
    return xxh64(bits, SEED_ARRAY)


def check_array(head, bits):
    refuse_if(count_ones(bits) != head["nones"], "ECHECKSUM")
    refuse_if(array_sum(bits) != head["checksum"], "ECHECKSUM")


def decode(data, limits=None):
    """A full digest: its header's fields and its array."""
    head = parse(data, limits)
    refuse_if(head["kind"] != FULL, "EBASE")
    bits = decode_coded(head, data)
    check_array(head, bits)
    return head, bits


def apply(data, base_head, base_bits, limits=None):
    """A delta, applied to a base: its header's fields and the new array."""
    head = parse(data, limits)
    refuse_if(head["kind"] not in (DELTA_XOR, CONDITIONAL), "EBASE")
    for name in ("instance", "nbits", "nhash", "hashing"):
        refuse_if(head[name] != base_head[name], "EBASE")
    refuse_if(head["base_generation"] != base_head["generation"], "EBASE")
    refuse_if(head["base_checksum"] != array_sum(base_bits), "EBASE")
    if head["kind"] == DELTA_XOR:
        bits = xor(decode_coded(head, data), base_bits)
    else:
        bits = parts.decode_conditional(data[HEADER_BYTES:], base_bits, head)
    check_array(head, bits)
    return head, bits


def decode_counting(data, limits=None):
    """A counting filter: its header's fields and its counters."""
    head = parse(data, limits)
    refuse_if(head["kind"] != COUNTING, "EBASE")
    counters = parts.decode_counting(data[HEADER_BYTES:], head["nbits"],
                                     head["nones"])
    check_array(head, parts.array_of(counters))
    refuse_if(counters_sum(counters) != head["base_checksum"], "ECHECKSUM")
    return head, counters


def counters_sum(counters):
    return xxh64(parts.counter_bytes(counters), SEED_COUNTERS)


def sealed(head, bits, payload, **fields):
    """The digest: what follows from the array is put into the header."""
    filled = dict(head, nones=count_ones(bits), checksum=array_sum(bits),
                  payload_bytes=len(payload))
    filled.update(fields)
    return write_header(filled) + payload


def encode(head, bits, base_bits=None, payload_of=coder.encode):
    """A digest of bits; an XOR delta if base_bits is given.

    Of head: nbits, nhash, nkeys, instance, generation, base_generation, and
    hashing if it is not 0. payload_of: the coding and the payload of an array
    and its size.
    """
    coded = xor(bits, base_bits) if base_bits else bits
    coding, payload = payload_of(coded, head["nbits"])
    if not base_bits:
        return sealed(head, bits, payload, kind=FULL, coding=coding,
                      ncoded=count_ones(bits), base_generation=0,
                      base_checksum=0)
    return sealed(head, bits, payload, kind=DELTA_XOR, coding=coding,
                  ncoded=count_ones(coded), base_checksum=array_sum(base_bits))


def encode_conditional(head, bits, base_bits):
    """A conditional delta."""
    return sealed(head, bits, parts.encode_conditional(base_bits, bits,
                                                       head["nbits"]),
                  kind=CONDITIONAL, coding=coder.PARTS,
                  ncoded=count_ones(xor(bits, base_bits)),
                  base_checksum=array_sum(base_bits))


def encode_counting(head, counters):
    bits = parts.array_of(counters)
    return sealed(head, bits, parts.encode_counting(counters), kind=COUNTING,
                  coding=coder.PARTS, ncoded=count_ones(bits),
                  base_generation=0, base_checksum=counters_sum(counters))


# Squid's format

SQUID_HEADER = struct.Struct(">HHiiiiBB106s")
SQUID_METHODS = {"GET": 1, "POST": 2, "PUT": 3, "HEAD": 4}


def squid_key(method, uri):
    data = bytes((SQUID_METHODS[method],)) + uri
    return struct.unpack(">QQ", hashlib.md5(data).digest())


def squid_decode(data):
    """A digest of Squid's: its header's fields and its array."""
    refuse_if(len(data) < SQUID_HEADER.size, "ETRUNC")
    (current, required, capacity, count, deletions, size, entry_bits, nhash,
     _) = SQUID_HEADER.unpack_from(data)
    mask = data[SQUID_HEADER.size:]
    refuse_if(current < 3 or current < required or required > 5, "EVERSION")
    refuse_if(capacity <= 0 or not 1 <= entry_bits <= 127, "EFORMAT")
    refuse_if(capacity * entry_bits >= 2**31, "EFORMAT")
    refuse_if(size != (capacity * entry_bits + 7) // 8, "EFORMAT")
    refuse_if(nhash != 4, "EVERSION")
    refuse_if(len(mask) < size, "ETRUNC")
    refuse_if(len(mask) > size, "EFORMAT")
    refuse_if(count_ones(mask) * 100 > 65 * 8 * size, "ELIMIT")
    return {"version": current, "required": required, "capacity": capacity,
            "count": count, "deletions": deletions,
            "entry_bits": entry_bits}, mask


def squid_encode(mask, capacity, count, entry_bits=5):
    return SQUID_HEADER.pack(5, 3, capacity, count, 0, len(mask), entry_bits,
                             4, b"") + mask

"""Digests and keys in Python: what a peer has to know, beside the codec's
second decoder (tests/ref)."""

import functools
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "ref"))
import scd_ref  # noqa: E402

MASK = (1 << 64) - 1


def rotl(x, n):
    return (x << n | x >> (64 - n)) & MASK


def sip_round(v):
    v[0] = (v[0] + v[1]) & MASK
    v[1] = rotl(v[1], 13) ^ v[0]
    v[0] = rotl(v[0], 32)
    v[2] = (v[2] + v[3]) & MASK
    v[3] = rotl(v[3], 16) ^ v[2]
    v[0] = (v[0] + v[3]) & MASK
    v[3] = rotl(v[3], 21) ^ v[0]
    v[2] = (v[2] + v[1]) & MASK
    v[1] = rotl(v[1], 17) ^ v[2]
    v[2] = rotl(v[2], 32)


def siphash128(key, message):
    """SipHash-2-4 with 128 bits of output, as two words."""
    k0 = int.from_bytes(key[:8], "little")
    k1 = int.from_bytes(key[8:], "little")
    v = [k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d ^ 0xee,
         k0 ^ 0x6c7967656e657261, k1 ^ 0x7465646279746573]
    tail = len(message) % 8
    padded = message + bytes(7 - tail) + bytes([len(message) & 255])
    for i in range(0, len(padded), 8):
        word = int.from_bytes(padded[i:i + 8], "little")
        v[3] ^= word
        sip_round(v)
        sip_round(v)
        v[0] ^= word
    out = []
    for index, mark in ((2, 0xee), (1, 0xdd)):
        v[index] ^= mark
        for _ in range(4):
            sip_round(v)
        out.append(v[0] ^ v[1] ^ v[2] ^ v[3])
    return tuple(out)


@functools.lru_cache(maxsize=None)
def derive(cluster_key, label):
    """A secret of the cluster for a purpose: "hash" or "token"."""
    words = siphash128(bytes.fromhex(cluster_key), label.encode())
    return b"".join(w.to_bytes(8, "little") for w in words)


def key(cluster_key, uri, method="GET"):
    """The cache key of a canonical URI."""
    return siphash128(derive(cluster_key, "hash"), f"{method} {uri}".encode())


class Digest:
    """A filter with the fields of its header."""

    def __init__(self, head, bits):
        self.head, self.bits = head, bits

    @classmethod
    def decode(cls, data):
        return cls(*scd_ref.decode(data))

    @classmethod
    def make(cls, keys, nbits=1 << 14, nhash=3):
        bits = bytearray(nbits // 8)
        for lo, hi in keys:
            for at in scd_ref.positions(lo, hi, nbits, nhash):
                bits[at >> 3] |= 1 << (at & 7)
        head = {"nbits": nbits, "nhash": nhash, "nkeys": len(keys),
                "instance": 7, "generation": 1, "base_generation": 0}
        return cls(head, bytes(bits))

    def encode(self):
        return scd_ref.encode(self.head, self.bits)

    def applied(self, delta):
        return Digest(*scd_ref.apply(delta, self.head, self.bits))

    def __contains__(self, lo_hi):
        return scd_ref.has(self.head, self.bits, *lo_hi)

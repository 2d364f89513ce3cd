"""Bit arrays, and what it is to refuse: the ground of the second decoder.

Bit arrays are bytes objects in canonical form: bit i is bit i & 7 of byte
i >> 3, the spare bits of the last byte are zero.
"""

import math


class Refused(Exception):
    """A digest that must be refused; args[0] is the error's name."""


def refuse_if(condition, error):
    if condition:
        raise Refused(error)


def array_bytes(nbits):
    return (nbits + 7) // 8


def get_bit(bits, i):
    return bits[i >> 3] >> (i & 7) & 1


def bits_of(bits, nbits):
    """All of them, in their order."""
    text = format(int.from_bytes(bits, "little"), f"0{nbits}b")
    return [digit == "1" for digit in reversed(text)][:nbits]


def count_ones(bits):
    return bin(int.from_bytes(bits, "little")).count("1")


def places(bits):
    """The places of the ones, in their order."""
    return [at * 8 + i for at, byte in enumerate(bits) if byte
            for i in range(8) if byte >> i & 1]


def array(nbits, ones):
    bits = bytearray(array_bytes(nbits))
    for i in ones:
        bits[i >> 3] |= 1 << (i & 7)
    return bytes(bits)


def xor(a, b):
    return bytes(x ^ y for x, y in zip(a, b))


def has_spare_bits(bits, nbits):
    return nbits % 8 != 0 and bits[-1] >> nbits % 8 != 0


def entropy(p):
    if p in (0, 1):
        return 0
    return -p * math.log2(p) - (1 - p) * math.log2(1 - p)

"""The codings 0 to 2, the table of all, and which one an encoder takes."""

import scd_dense as dense
import scd_gaps as gaps
from scd_bits import (array, array_bytes, bits_of, count_ones, entropy,
                      has_spare_bits, refuse_if)

EMPTY, STORED, RANGE, DENSE, GAPS, SPARSE, PARTS, LIST = range(8)
MIRRORED = 8  # added to the coding of the complement
U64 = 2**64 - 1


def range_model(nbits, ncoded):
    """The rarer value and its probability as a fraction of 2^32."""
    rare = 1 if ncoded <= nbits - ncoded else 0
    return rare, max(1, (min(ncoded, nbits - ncoded) << 32) // nbits)


def range_decode(payload, nbits, ncoded):
    rare, p = range_model(nbits, ncoded)
    refuse_if(payload[-1:] == b"\0", "EFORMAT")
    code, taken = int.from_bytes(payload[:8].ljust(8, b"\0"), "big"), 8
    interval = U64
    refuse_if(code >= interval, "EFORMAT")
    rares = []
    for i in range(nbits):
        upper = (interval >> 32) * p
        lower = interval - upper
        if code < lower:
            interval = lower
        else:
            interval, code = upper, code - lower
            rares.append(i)
        while interval < 2**56:
            byte = payload[taken] if taken < len(payload) else 0
            interval, code, taken = interval << 8, code << 8 | byte, taken + 1
    refuse_if(taken < len(payload), "EFORMAT")
    bits = array(nbits, rares) if rare else complement(array(nbits, rares),
                                                       nbits)
    refuse_if(count_ones(bits) != ncoded, "EFORMAT")
    return bits


def add_carry(out):
    at = len(out) - 1
    while out[at] == 255:
        out[at] = 0
        at -= 1
    out[at] += 1


def range_encode(bits, nbits, ncoded):
    """The payload, or None if the list grows beyond the array's bytes."""
    rare, p = range_model(nbits, ncoded)
    low, interval, out = 0, U64, bytearray()
    for bit in bits_of(bits, nbits):
        upper = (interval >> 32) * p
        lower = interval - upper
        if bit == rare:
            low, interval = low + lower, upper
            if low > U64:
                low &= U64
                add_carry(out)
        else:
            interval = lower
        while interval < 2**56:
            out.append(low >> 56)
            low, interval = low << 8 & U64, interval << 8
    last = low + interval - 1
    if last > U64:
        add_carry(out)
    elif low > 0:
        out.append(last >> 56)
    return None if len(out) > array_bytes(nbits) else bytes(out).rstrip(b"\0")


def stored_decode(payload, nbits, ncoded):
    refuse_if(has_spare_bits(payload, nbits), "EFORMAT")
    refuse_if(count_ones(payload) != ncoded, "EFORMAT")
    return payload


# coding: may it have that size, its decoder
CODINGS = {
    EMPTY: (lambda size, nbits, ncoded: size == 0 and ncoded == 0,
            lambda payload, nbits, ncoded: bytes(array_bytes(nbits))),
    STORED: (lambda size, nbits, ncoded:
             size == array_bytes(nbits) and ncoded > 0, stored_decode),
    RANGE: (lambda size, nbits, ncoded:
            size < array_bytes(nbits) and ncoded > 0 and
            nbits <= 2**18 + 512 * size, range_decode),
    DENSE: (dense.fits, dense.decode),
    GAPS: (gaps.fits_gaps, gaps.decode_gaps),
    SPARSE: (gaps.fits_sparse, gaps.decode_sparse),
}


def is_mostly_ones(nbits, ncoded):
    return nbits - ncoded < ncoded < nbits


def complement(bits, nbits):
    out = bytes(byte ^ 255 for byte in bits)
    if nbits % 8:
        return out[:-1] + bytes((out[-1] & (1 << nbits % 8) - 1,))
    return out


def mirrored(coding):
    """What a row of CODINGS becomes for an array of mostly ones."""
    plain_fits, plain_decode = CODINGS[coding]
    return (lambda size, nbits, ncoded:
            is_mostly_ones(nbits, ncoded) and
            plain_fits(size, nbits, nbits - ncoded),
            lambda payload, nbits, ncoded: complement(
                plain_decode(payload, nbits, nbits - ncoded), nbits))


CODINGS.update({MIRRORED + coding: mirrored(coding)
                for coding in (DENSE, GAPS, SPARSE)})


def fits(coding, size, nbits, ncoded):
    """Check 12."""
    return CODINGS[coding][0](size, nbits, ncoded)


def is_plausible(size, nbits, ncoded):
    """Check 13."""
    return size >= 0.98 * nbits * entropy(ncoded / nbits) / 8 - 64


def decode(coding, payload, nbits, ncoded):
    """The array; the size of the payload has been checked."""
    return CODINGS[coding][1](payload, nbits, ncoded)


def of_few_ones(bits, nbits, ncoded):
    """Those of arrays with no more ones than zeros."""
    if (36000 <= ncoded <= nbits // 32 and
            gaps.Model(nbits, ncoded).low_bits <= gaps.MAX_LOW_BITS):
        yield SPARSE, gaps.encode_sparse(bits, nbits, ncoded)
    if ncoded <= nbits // 32 and array_bytes(nbits) >= 8192:
        yield GAPS, gaps.encode_gaps(bits, nbits, ncoded)
    if array_bytes(nbits) >= 32768 and ncoded <= nbits // 2:
        yield DENSE, dense.encode(bits)


def candidates(bits, nbits, ncoded):
    """The codings that an encoder tries, in their order, and their bytes."""
    if ncoded == 0:
        yield EMPTY, b""
        return
    if nbits > 32768 and abs(ncoded - nbits // 2) < nbits // 2048 * 85:
        yield STORED, bits
    yield from of_few_ones(bits, nbits, ncoded)
    if is_mostly_ones(nbits, ncoded):
        for coding, payload in of_few_ones(complement(bits, nbits), nbits,
                                           nbits - ncoded):
            yield MIRRORED + coding, payload
    yield RANGE, range_encode(bits, nbits, ncoded)
    yield STORED, bits


def encode(bits, nbits):
    """The coding an encoder takes, and its bytes."""
    ncoded = count_ones(bits)
    least = 0.99 * nbits * entropy(ncoded / nbits) / 8 - 32
    for coding, payload in candidates(bits, nbits, ncoded):
        if coding in (EMPTY, STORED):
            return coding, payload
        if (payload is not None and least <= len(payload) and
                fits(coding, len(payload), nbits, ncoded)):
            return coding, payload
    return None

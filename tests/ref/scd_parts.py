"""Coding 6: the parts of conditional deltas and of counting filters.

Counters are a list of numbers from 0 to 15, one for each place.
"""

import scd_coder as coder
from scd_bits import array, bits_of, count_ones, get_bit, refuse_if
from scd_cursor import Reader, varint

MAX_COUNTER = 15


def decode_part(coding, payload, nbits, ones):
    """One array."""
    refuse_if(coding not in coder.CODINGS, "EFORMAT")
    refuse_if(ones > nbits, "EFORMAT")
    if nbits == 0:
        refuse_if(coding != coder.EMPTY or payload, "EFORMAT")
        return b""
    refuse_if(not coder.fits(coding, len(payload), nbits, ones), "EFORMAT")
    refuse_if(not coder.is_plausible(len(payload), nbits, ones), "EFORMAT")
    bits = coder.decode(coding, payload, nbits, ones)
    refuse_if(count_ones(bits) != ones, "EFORMAT")
    return bits


def encode_part(nbits, ones):
    """The coding and the payload, of the places of the ones."""
    if nbits == 0:
        return coder.EMPTY, b""
    return coder.encode(array(nbits, ones), nbits)


def chosen(part, items):
    """The items where the array of a part is 1."""
    return [item for bit, item in zip(bits_of(part, len(items)), items)
            if bit]


# Conditional deltas

def ones_and_zeros(bits, nbits):
    """The places of each."""
    places = [], []
    for i, bit in enumerate(bits_of(bits, nbits)):
        places[1 - bit].append(i)
    return places


def decode_conditional(payload, base, head):
    """The array that results."""
    ones, zeros = ones_and_zeros(base, head["nbits"])
    more = head["nones"] - len(ones)
    refuse_if((head["ncoded"] + more) % 2, "EFORMAT")
    nset, ncleared = ((head["ncoded"] + more) // 2,
                      (head["ncoded"] - more) // 2)
    refuse_if(not 0 <= nset <= len(zeros), "EFORMAT")
    refuse_if(not 0 <= ncleared <= len(ones), "EFORMAT")
    reader = Reader(payload)
    codings, = reader.take("B")
    first = reader.bytes(reader.varint())
    cleared = decode_part(codings % 16, first, len(ones), ncleared)
    are_set = decode_part(codings // 16, reader.rest(), len(zeros), nset)
    left = set(ones) - set(chosen(cleared, ones))
    return array(head["nbits"], left | set(chosen(are_set, zeros)))


def encode_conditional(base, bits, nbits):
    ones, zeros = ones_and_zeros(base, nbits)
    first, cleared = encode_part(len(ones), [
        i for i, at in enumerate(ones) if not get_bit(bits, at)])
    second, are_set = encode_part(len(zeros), [
        i for i, at in enumerate(zeros) if get_bit(bits, at)])
    return (bytes((first + 16 * second,)) + varint(len(cleared)) + cleared +
            are_set)


# Counting filters

def counter_bytes(counters):
    """Two to a byte, the lower half first."""
    even = counters + [0] * (len(counters) % 2)
    return bytes(low | high << 4 for low, high in zip(even[::2], even[1::2]))


def array_of(counters):
    return array(len(counters), (i for i, n in enumerate(counters) if n))


def decode_counting(payload, nbits, nones):
    """The counters."""
    counters, inside, reader = [0] * nbits, range(nbits), Reader(payload)
    for v in range(1, MAX_COUNTER + 1):
        coding, = reader.take("B")
        ones = nones if v == 1 else reader.varint()
        part = decode_part(coding, reader.bytes(reader.varint()),
                           len(inside), ones)
        inside = chosen(part, inside)
        for i in inside:
            counters[i] = v
        if ones == 0:
            break
    refuse_if(reader.rest(), "EFORMAT")
    return counters


def encode_counting(counters):
    inside, out = list(range(len(counters))), b""
    for v in range(1, MAX_COUNTER + 1):
        ones = [i for i, at in enumerate(inside) if counters[at] >= v]
        coding, payload = encode_part(len(inside), ones)
        out += bytes((coding,)) + (varint(len(ones)) if v > 1 else b"")
        out += varint(len(payload)) + payload
        inside = [inside[i] for i in ones]
        if not ones:
            break
    return out

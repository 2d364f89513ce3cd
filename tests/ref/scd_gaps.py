"""Codings 4, gaps, and 5, sparse, as FORMAT.md has them."""

import struct

import scd_ans as ans
from scd_bits import array, array_bytes, places, refuse_if
from scd_dense import chunks, join

MAX_LOW_BITS = 18  # of coding 5
ONE = 2**32


def fits_gaps(size, nbits, ncoded):
    return (0 < ncoded <= nbits // 32 and size % 2 == 0 and
            4 <= size < array_bytes(nbits))


def fits_sparse(size, nbits, ncoded):
    return 0 < ncoded <= nbits // 32 and size < array_bytes(nbits)


class Model(ans.Model):
    """Of the gaps in an array with so many ones."""

    def __init__(self, nbits, ncoded):
        none, low_bits = self.beginning(nbits, ncoded)
        while ONE - none < 2**28:
            none, low_bits = none * none >> 32, low_bits + 1
        one, mass, freq = ONE - none, ONE, []
        while mass * one >> 20 >= ONE:
            share = mass * one >> 32
            freq.append(max(1, (share * 4096 + 2**31) >> 32))
            mass -= share
        freq.append(max(1, (mass * 4096 + 2**31) >> 32))
        freq[0] += 4096 - sum(freq)
        super().__init__(freq, 12)
        self.low_bits, self.escape = low_bits, len(freq) - 1

    @staticmethod
    def beginning(nbits, ncoded):
        """none and low_bits, before gaps are joined."""
        return ONE - max(1, ncoded * ONE // nbits), 0

    def split(self, gap):
        """How many escapes, the symbol, the low bits."""
        high, low = divmod(gap, 2**self.low_bits)
        return high // self.escape, high % self.escape, low


def gaps_of(ones):
    return [b - a - 1 for a, b in zip([-1] + ones[:-1], ones)]


# Coding 4

def decode_gaps(payload, nbits, ncoded):
    model = Model(nbits, ncoded)
    coder = ans.LoneDecoder(struct.unpack_from("<I", payload),
                            ans.words_of(payload[4:]))
    ones, at = [], -1
    for _ in range(ncoded):
        at += 1
        while (s := coder.get(0, model)) == model.escape:
            at += s << model.low_bits
            refuse_if(at >= nbits, "EFORMAT")
        at += (s << model.low_bits) + coder.bits(model.low_bits)
        refuse_if(at >= nbits, "EFORMAT")
        ones.append(at)
    coder.end()
    return array(nbits, ones)


def encode_gaps(bits, nbits, ncoded, last_state=0):
    """last_state is the decoder's; another is a fault."""
    model, coder = Model(nbits, ncoded), ans.Encoder()
    coder.states[0] = last_state
    for gap in reversed(gaps_of(places(bits))):
        escapes, s, low = model.split(gap)
        coder.bits(low, model.low_bits)
        for symbol in [s] + [model.escape] * escapes:
            coder.put(0, model, symbol)
    return b"".join(coder.fields().values())


# Coding 5

def listed_low(low, at, nbits):
    """The bits of low from bit at on; zeros are behind it."""
    some = low[at >> 3:(at + nbits >> 3) + 1]
    return int.from_bytes(some, "little") >> (at & 7) & 2**nbits - 1


def decode_chunk(reader, inside, model):
    """The ones of a chunk with so many places inside."""
    lanes_log, nsyms, nlow = reader.take("<BII")
    refuse_if(lanes_log not in range(4, 7), "EFORMAT")
    low = reader.bytes(nlow)
    lanes = ans.Decoder(reader.take("<%dI" % 2**lanes_log),
                        ans.words_of(reader.rest()))
    ones, at, taken = [], 0, 0
    for s in lanes.symbols(model, nsyms):
        at += s << model.low_bits
        if s != model.escape:
            at += listed_low(low, taken, model.low_bits)
            ones.append(at)
            at, taken = at + 1, taken + model.low_bits
        refuse_if(at > inside, "EFORMAT")
    lanes.end()
    refuse_if(nlow != (taken + 7) // 8, "EFORMAT")
    return ones


def decode_sparse(payload, nbits, ncoded):
    model = Model(nbits, ncoded)
    refuse_if(model.low_bits > MAX_LOW_BITS, "EFORMAT")
    ones = []
    for at, length, reader in chunks(payload, nbits, range(16, 29)):
        inside = min(length * 8, nbits - at * 8)
        ones += [at * 8 + one for one in decode_chunk(reader, inside, model)]
    return array(nbits, ones)  # who counts the ones is check 18


def low_list(lows, low_bits):
    """One after the other, the first one lowest."""
    size = (len(lows) * low_bits + 7) // 8
    text = "".join(format(low, "0%db" % low_bits) for low in reversed(lows))
    return (int(text, 2) if low_bits and lows else 0).to_bytes(size, "little")


def chunk_fields(ones, model, lanes_log=None, more=()):
    """The fields of a chunk's code, in their order; more symbols follow."""
    if lanes_log is None:
        lanes_log = 4 + (len(ones) >= 120000) + (len(ones) >= 400000)
    coded, lows = [], []
    for gap in gaps_of(ones):
        escapes, s, low = model.split(gap)
        coded += [model.escape] * escapes + [s]
        lows.append(low)
    coded += more
    listed = low_list(lows, model.low_bits)
    lanes = ans.Encoder(2**lanes_log)
    lanes.symbols(model, coded)
    return {"lanes_log": bytes((lanes_log,)),
            "nsyms": struct.pack("<I", len(coded)),
            "nlow": struct.pack("<I", len(listed)), "low": listed,
            **lanes.fields()}


def usual_chunk_log(nbits, ncoded):
    for log in range(22, 28):
        if ncoded // (array_bytes(nbits) >> log | 1) >= 2**20:
            return log
    return 28


def encode_sparse(bits, nbits, ncoded, chunk_log=None, lanes_log=None):
    model = Model(nbits, ncoded)
    if chunk_log is None:
        chunk_log = usual_chunk_log(nbits, ncoded)
    size = 2**chunk_log
    return join(chunk_log, [
        b"".join(chunk_fields(places(bits[at:at + size]), model,
                              lanes_log).values())
        for at in range(0, len(bits), size)])

"""Coding 3, dense, as FORMAT.md has it."""

import math
import struct

import scd_ans as ans
from scd_bits import array_bytes, has_spare_bits, refuse_if
from scd_cursor import Reader

LOG = 14
LANES_LOGS = range(2, 8)
BY_RANK = sorted(range(256), key=lambda byte: (bin(byte).count("1"), byte))
ONES = [bin(byte).count("1") for byte in range(256)]
RANK = [BY_RANK.index(byte) for byte in range(256)]


def fits(size, nbits, ncoded):
    return 0 < ncoded <= nbits // 2 and size < array_bytes(nbits)


def class_bytes(nclasses):
    """The bytes of each class; of an escape, those that it stands for."""
    classes = [[b for b in BY_RANK if ONES[b] == c]
               for c in range(nclasses - 1)]
    return classes + [[b for b in BY_RANK if ONES[b] >= nclasses - 1]]


def symbols_of(nclasses):
    """The symbols: bytes, and None for the escape. And of each its class."""
    symbols, classes = [], []
    for c, members in enumerate(class_bytes(nclasses)):
        is_escape = c == nclasses - 1 < 7
        symbols += [None] if is_escape else members
        classes += [c] * (1 if is_escape else len(members))
    return symbols, classes


def escape_model(nclasses):
    """The lowest rank of an escaped byte, and the bits that one takes."""
    first = RANK[class_bytes(nclasses)[-1][0]]
    return first, (255 - first).bit_length()


def chunks(payload, nbits, logs):
    """Of each chunk where its bytes begin, how many they are, its code."""
    reader = Reader(payload)
    chunk_log, = reader.take("<B")
    refuse_if(chunk_log not in logs, "EFORMAT")
    size, total = 2**chunk_log, array_bytes(nbits)
    sizes = reader.take("<%dI" % -(-total // size))
    for at, code in zip(range(0, total, size), sizes):
        yield at, min(size, total - at), Reader(reader.bytes(code))
    refuse_if(reader.rest(), "EFORMAT")


def take_escapes(reader, nclasses, length):
    if nclasses == 8:
        return []
    nescapes, = reader.take("<I")
    refuse_if(nescapes > length, "EFORMAT")
    first, nbits = escape_model(nclasses)
    listed = reader.bytes((nescapes * nbits + 7) // 8)
    refuse_if(has_spare_bits(listed, nescapes * nbits), "EFORMAT")
    number = int.from_bytes(listed, "little")
    ranks = [first + (number >> i * nbits & 2**nbits - 1)
             for i in range(nescapes)]
    refuse_if(ranks and max(ranks) > 255, "EFORMAT")
    return [BY_RANK[rank] for rank in ranks]


def decode_chunk(reader, length):
    lanes_log, nclasses = reader.take("<BB")
    refuse_if(lanes_log not in LANES_LOGS, "EFORMAT")
    refuse_if(nclasses not in range(2, 9), "EFORMAT")
    class_freq = [0, *reader.take("<%dH" % (nclasses - 1))]
    refuse_if(0 in class_freq[1:], "EFORMAT")
    symbols, classes = symbols_of(nclasses)
    freq = [class_freq[c] for c in classes]
    freq[0] = 2**LOG - sum(freq)
    refuse_if(freq[0] < 1, "EFORMAT")
    escapes = take_escapes(reader, nclasses, length)
    lanes = ans.Decoder(reader.take("<%dI" % 2**lanes_log),
                        ans.words_of(reader.rest()))
    out = [symbols[s] for s in lanes.symbols(ans.Model(freq, LOG), length)]
    lanes.end()
    refuse_if(out.count(None) != len(escapes), "EFORMAT")
    escaped = iter(escapes)
    return bytes(next(escaped) if b is None else b for b in out)


def decode(payload, nbits, _):
    bits = b"".join(decode_chunk(reader, length) for _, length, reader
                    in chunks(payload, nbits, range(16, 31)))
    refuse_if(has_spare_bits(bits, nbits), "EFORMAT")
    return bits  # who counts the ones is check 18


# The encoder. Which frequencies it takes is its own affair.

def class_frequencies(counts, classes):
    """Of classes 1 and up, with these counts of their symbols."""
    total = sum(counts)
    sizes = [classes.count(c) for c in range(len(counts))]
    freq = [max(1, count * 2**LOG // (total * size))
            for count, size in zip(counts, sizes)]
    while sum(f * s for f, s in zip(freq[1:], sizes[1:])) >= 2**LOG:
        at = max(range(1, len(freq)), key=lambda c: freq[c])
        freq[at] -= 1
    freq[0] = 2**LOG - sum(f * s for f, s in zip(freq[1:], sizes[1:]))
    return freq


def class_counts(chunk, nclasses):
    return [sum(chunk.count(b) for b in members)
            for members in class_bytes(nclasses)]


def chunk_cost(chunk, nclasses):
    """The bits that a chunk takes with that many classes, about."""
    counts = class_counts(chunk, nclasses)
    freq = class_frequencies(counts, symbols_of(nclasses)[1])
    cost = sum(n * (LOG - math.log2(f)) for n, f in zip(counts, freq))
    escapes = counts[-1] if nclasses < 8 else 0
    return cost + escapes * escape_model(nclasses)[1]


def list_of(escapes, nclasses):
    first, nbits = escape_model(nclasses)
    number = sum(RANK[b] - first << i * nbits for i, b in enumerate(escapes))
    return number.to_bytes((len(escapes) * nbits + 7) // 8, "little")


def chunk_fields(chunk, nclasses=None, lanes_log=None):
    """The fields of a chunk's code, in their order."""
    if nclasses is None:
        nclasses = min(range(2, 9), key=lambda n: chunk_cost(chunk, n))
    if lanes_log is None:
        lanes_log = 2 + sum(len(chunk) >= kib << 10
                            for kib in (32, 64, 96, 192, 640))
    symbols, classes = symbols_of(nclasses)
    class_freq = class_frequencies(class_counts(chunk, nclasses), classes)
    number = {byte: s for s, byte in enumerate(symbols)}
    escape = number.get(None)
    escapes = [b for b in chunk if b not in number]
    lanes = ans.Encoder(2**lanes_log)
    lanes.symbols(ans.Model([class_freq[c] for c in classes], LOG),
                  [number.get(byte, escape) for byte in chunk])
    fields = {"lanes_log": bytes((lanes_log,)),
              "nclasses": bytes((nclasses,)),
              "freq": struct.pack("<%dH" % (nclasses - 1), *class_freq[1:])}
    if nclasses < 8:
        fields["nescapes"] = struct.pack("<I", len(escapes))
        fields["escapes"] = list_of(escapes, nclasses)
    return {**fields, **lanes.fields()}


def join(chunk_log, codes):
    """The payload of coding 3 or 5."""
    return struct.pack("<B%dI" % len(codes), chunk_log,
                       *map(len, codes)) + b"".join(codes)


def encode(bits, chunk_log=22, nclasses=None, lanes_log=None):
    size = 2**chunk_log
    return join(chunk_log, [
        b"".join(chunk_fields(bits[at:at + size], nclasses,
                              lanes_log).values())
        for at in range(0, len(bits), size)])

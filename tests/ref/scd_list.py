"""Lists: kinds 4 and 5, and coding 7, as FORMAT.md has them.

A list is the list of its entries in their order.
"""

import struct

import scd_ans as ans
import scd_coder as coder
import scd_gaps as gaps
import scd_ref as ref
from scd_bits import Refused, refuse_if
from scd_cursor import Reader, varint

U64 = 2**64 - 1


def mix(z):
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & U64
    z = (z ^ z >> 27) * 0x94D049BB133111EB & U64
    return z ^ z >> 31


def checksum(instance, nbits, entries):
    width = nbits.bit_length() - 1
    key = mix(instance + width * 0x9E3779B97F4A7C15 & U64)
    return sum(mix(key + entry & U64) for entry in entries) & U64


# Coding 7

class Model(gaps.Model):
    """Of r numbers in a row of u."""

    def __init__(self, nbits, ncoded):
        super().__init__(nbits, ncoded)
        self.start = [2**self.log - start - freq
                      for start, freq in zip(self.start, self.freq)]
        self.symbol.reverse()

    @staticmethod
    def beginning(nbits, ncoded):
        low_bits = 0
        while (p := (ncoded << 32 + low_bits) // nbits) < 2**16:
            low_bits += 1
        return gaps.ONE - p, low_bits


class Decoder(ans.LoneDecoder):
    def __init__(self, payload):
        size = len(payload)
        split = size if size <= 4 else 4 - size % 2
        refuse_if(payload[:split].endswith(b"\0"), "EFORMAT")
        super().__init__((int.from_bytes(payload[:split], "little"),),
                         ans.words_of(payload[split:]))

    def run(self, count, row, bound, least):
        """Numbers below bound; a gap of 0 is so much more than before."""
        model = Model(row, count) if count else None
        numbers, at = [], -least
        for _ in range(count):
            at += least
            while (s := self.get(0, model)) == model.escape:
                at += s << model.low_bits
                refuse_if(at >= bound, "EFORMAT")
            at += (s << model.low_bits) + self.bits(model.low_bits)
            refuse_if(at >= bound, "EFORMAT")
            numbers.append(at)
        return numbers

    def entries(self, count, nbits):
        return self.run(count, nbits + count - 1, nbits, 0)

    def ranks(self, count, inside):
        """Those that go, of so many."""
        if 2 * count <= inside:
            return self.run(count, inside, inside, 1)
        stay = set(self.run(inside - count, inside, inside, 1))
        return [rank for rank in range(inside) if rank not in stay]


class Encoder(ans.Encoder):
    """Runs are put from the last to the first."""

    def __init__(self, last_state=0):
        super().__init__()
        self.states[0] = last_state

    def run(self, numbers, row, least):
        if not numbers:
            return
        model = Model(row, len(numbers))
        before = [-least] + numbers[:-1]
        for a, b in reversed(list(zip(before, numbers))):
            escapes, s, low = model.split(b - a - least)
            self.bits(low, model.low_bits)
            for symbol in [s] + [model.escape] * escapes:
                self.put(0, model, symbol)

    def entries(self, entries, nbits):
        self.run(entries, nbits + len(entries) - 1, 0)

    def ranks(self, ranks, inside):
        if 2 * len(ranks) > inside:
            go = set(ranks)
            ranks = [rank for rank in range(inside) if rank not in go]
        self.run(ranks, inside, 1)

    def payload(self):
        state, words = self.states[0], self.reversed[::-1]
        return (state.to_bytes((state.bit_length() + 7) // 8, "little") +
                struct.pack("<%dH" % len(words), *words))


def list_payload(entries, nbits, **how):
    e = Encoder(**how)
    e.entries(entries, nbits)
    return e.payload()


def delta_payload(ranks, inside, entries, nbits):
    e = Encoder()
    e.entries(entries, nbits)
    e.ranks(ranks, inside)
    return e.payload()


def entries_of(data):
    """As files of entries have them."""
    return [entry for entry, in struct.iter_unpack("<Q", data)]


# Digests

def decode(data, limits=None):
    """The header's fields and the entries."""
    head = ref.parse(data, limits)
    refuse_if(head["kind"] != ref.LIST, "EBASE")
    d = Decoder(data[ref.HEADER_BYTES:])
    entries = d.entries(head["nones"], head["nbits"])
    d.end()
    check(head, entries)
    return head, entries


def check(head, entries):
    refuse_if(checksum(head["instance"], head["nbits"], entries) !=
              head["checksum"], "ECHECKSUM")


def counts(head, inside):
    """How many go and come."""
    more = head["nones"] - inside
    both = head["ncoded"]
    refuse_if((both + more) % 2 or both < abs(more), "EFORMAT")
    come, go = (both + more) // 2, (both - more) // 2
    refuse_if(go > inside or come > 16 * head["payload_bytes"], "EFORMAT")
    return go, come


def apply(data, base_head, base, limits=None):
    """The header's fields and the entries that result."""
    head = ref.parse(data, limits)
    refuse_if(head["kind"] != ref.LIST_DELTA, "EBASE")
    for name in ("instance", "nbits"):
        refuse_if(head[name] != base_head[name], "EBASE")
    refuse_if(head["base_generation"] != base_head["generation"], "EBASE")
    refuse_if(head["base_checksum"] != checksum(
        base_head["instance"], base_head["nbits"], base), "EBASE")
    go, come = counts(head, len(base))
    d = Decoder(data[ref.HEADER_BYTES:])
    ranks = d.ranks(go, len(base))
    added = d.entries(come, head["nbits"])
    d.end()
    gone = set(ranks)
    entries = sorted([e for rank, e in enumerate(base) if rank not in gone] +
                     added)
    check(head, entries)
    return head, entries


def header(head, entries, payload, **more):
    """The digest; what follows from the entries is put into its header."""
    filled = dict(head, coding=coder.LIST, hashing=ref.PREFIX, nhash=1,
                  nones=len(entries), nkeys=len(entries),
                  checksum=checksum(head["instance"], head["nbits"], entries),
                  payload_bytes=len(payload))
    filled.update(more)
    return ref.write_header(filled) + payload


def encode(head, entries):
    """Of head: nbits, instance, generation."""
    return header(head, entries, list_payload(entries, head["nbits"]),
                  kind=ref.LIST, ncoded=len(entries), base_generation=0,
                  base_checksum=0)


def ranks_of(base, removed):
    """The lowest of equal entries."""
    ranks, at = [], 0
    for entry in removed:
        at = base.index(entry, at)
        ranks.append(at)
        at += 1
    return ranks


def changes(base, entries):
    """What goes and what comes."""
    go, come, i, j = [], [], 0, 0
    while i < len(base) or j < len(entries):
        if j == len(entries) or i < len(base) and base[i] < entries[j]:
            go.append(base[i])
            i += 1
        elif i == len(base) or entries[j] < base[i]:
            come.append(entries[j])
            j += 1
        else:
            i, j = i + 1, j + 1
    return go, come


def encode_delta(head, entries, base):
    """Of head: nbits, instance, generation, base_generation."""
    go, come = changes(base, entries)
    payload = delta_payload(ranks_of(base, go), len(base), come,
                            head["nbits"])
    return header(head, entries, payload, kind=ref.LIST_DELTA,
                  ncoded=len(go) + len(come),
                  base_checksum=checksum(head["instance"], head["nbits"],
                                         base))


# Frames

SHORT, LONG, AGED = 1, 2, 2  # AGED: more than one by rank
SUMS = {SHORT: "<H", LONG: "<Q"}
TYPES = (1, 2, 3, 4)


def beginning(data, kinds=TYPES):
    """The type, and the body, which may be cut off."""
    try:
        r = Reader(data)
        (kind,), length = r.take("B"), r.varint()
    except Refused:
        # a varint of nine bytes is whole, and no varint
        refuse_if(len(data) < 10 and all(b > 127 for b in data[1:]), "ETRUNC")
        raise
    refuse_if(kind not in kinds, "EVERSION")
    refuse_if(len(data) - r.at < length, "ETRUNC")
    return kind, r.bytes(length)


def read_changes(data, head, base, limits, codes):
    """The generation, what goes and what comes; codes: by what a type is
    more than SHORT or LONG, how its code is read."""
    kind, body = beginning(data)
    more = kind - (SHORT if kind % 2 else LONG)
    refuse_if(more not in codes, "EBASE")
    layout = SUMS[kind - more]
    r = Reader(body)
    steps = r.varint() if kind - more == LONG else 1
    go, excess = r.varint(), r.varint()
    total, = r.take(layout)
    come = go + (-(excess + 1) // 2 if excess % 2 else excess // 2)
    refuse_if(not steps or head["generation"] + steps > U64, "EFORMAT")
    refuse_if(go > len(base) or come < 0, "EFORMAT")
    size = len(base) - go + come
    refuse_if(size > head["nbits"] // 32, "EFORMAT")
    refuse_if(size > (limits or ref.LIMITS)["max_bits"] // 64, "ELIMIT")
    code = r.rest()
    refuse_if(come > 16 * len(code), "EFORMAT")
    gone, added = codes[more](code, go, come)
    got = checksum(head["instance"], head["nbits"], base) + checksum(
        head["instance"], head["nbits"], added) - checksum(
            head["instance"], head["nbits"], gone)
    refuse_if((got ^ total) & 2**(8 * struct.calcsize(layout)) - 1,
              "ECHECKSUM")
    return head["generation"] + steps, gone, added


def by_rank(head, base):
    """How a code is read that names ranks of the base."""
    def code(payload, go, come):
        d = Decoder(payload)
        ranks = d.ranks(go, len(base))
        added = d.entries(come, head["nbits"])
        d.end()
        return [base[rank] for rank in ranks], added

    return code


def read_frame(data, head, base, limits=None):
    """The generation and the entries that result."""
    generation, gone, added = read_changes(data, head, base, limits,
                                           {0: by_rank(head, base)})
    left = list(base)
    for entry in gone:
        left.remove(entry)
    return generation, sorted(left + added)


def frame_of(head, generation, entries, change, code, more):
    """more: than SHORT or LONG."""
    go, come = change
    steps, excess = generation - head["generation"], len(come) - len(go)
    kind = LONG if (len(code) >= 1024 or generation % 64 == 0 or
                    steps != 1) else SHORT
    size = struct.calcsize(SUMS[kind])
    total = checksum(head["instance"], head["nbits"], entries)
    body = ((varint(steps) if kind == LONG else b"") + varint(len(go)) +
            varint(2 * excess if excess >= 0 else -2 * excess - 1) +
            total.to_bytes(8, "little")[:size] + code)
    return bytes((kind + more,)) + varint(len(body)) + body


def write_frame(head, base, generation, entries):
    """head: of the list that the base is."""
    go, come = changes(base, entries)
    code = delta_payload(ranks_of(base, go), len(base), come, head["nbits"])
    return frame_of(head, generation, entries, (go, come), code, 0)

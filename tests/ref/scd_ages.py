"""Ages of lists, as FORMAT.md has them: frames of types 3, 4 and 5.

A list with ages is the list of its pairs (entry, cohort) in their order.
"""

import struct

import scd_ans as ans
import scd_list as lists
from scd_bits import refuse_if
from scd_cursor import Reader, varint

MOST, LOG = 192, 12
U32 = 2**32 - 1


def remembered(n):
    """How many that have gone, of a list of n entries."""
    return min(max(n // 8, 256), 2048)


class Ages:
    def __init__(self, entries=()):
        self.pairs = [(entry, 0) for entry in entries]
        self.sizes = [len(self.pairs)] if self.pairs else []
        self.gone = [0] * len(self.sizes)

    def entries(self):
        return [entry for entry, _ in self.pairs]

    def of(self, cohort):
        """The entries of a cohort."""
        return [entry for entry, age in self.pairs if age == cohort]

    def begin(self, come):
        youngest = self.sizes[-1] if self.sizes else None
        n = len(self.pairs)
        if come and (youngest is None or
                     youngest >= 16 and youngest >= n // 128):
            self.sizes.append(0)
            self.gone.append(0)

    def merge(self, older):
        """A cohort and the next one; gone stays where it is."""
        self.sizes[older:older + 2] = [sum(self.sizes[older:older + 2])]
        self.pairs = [(entry, age - (age > older))
                      for entry, age in self.pairs]

    def drop(self, empty):
        del self.sizes[empty]
        self.pairs = [(entry, age - (age > empty))
                      for entry, age in self.pairs]

    def change(self, go, come):
        """Entries, in their order."""
        self.begin(come)
        at = 0
        for entry in go:
            while self.pairs[at][0] != entry:
                at += 1
            age = self.pairs.pop(at)[1]
            self.sizes[age] -= 1
            self.gone[age] += 1
        if come:
            self.sizes[-1] += len(come)
        while sum(self.gone) > remembered(sum(self.sizes)):
            self.gone = [number // 2 for number in self.gone]
        self.pairs = sorted(self.pairs + [(entry, len(self.sizes) - 1)
                                          for entry in come])
        for i in reversed(range(len(self.sizes))):
            if not self.sizes[i]:
                self.drop(i)
        if len(self.sizes) > MOST:
            self.merge(min(range(MOST - 1), key=lambda i: (
                self.sizes[i] + self.sizes[i + 1], i)))
        self.gone = self.gone[:len(self.sizes)]

    def weights(self):
        last, n = len(self.sizes) - 1, len(self.pairs)
        return [8 * sum((3 - abs(j)) * self.gone[min(max(i + j, 0), last)]
                        for j in range(-2, 3)) + 1 + 16 * size // n
                for i, size in enumerate(self.sizes)]

    def odds(self, left, i):
        """The model of a decision: no more, or one more."""
        weights = self.weights()
        share = min(left, 2**20) * weights[i]
        odds = 2**LOG * share // (share + sum(weights[i + 1:]))
        odds = min(max(odds, 1), 2**LOG - 1)
        return ans.Model([2**LOG - odds, odds], LOG)

    def model(self):
        """Of the cohorts of entries."""
        n = len(self.pairs)
        freq = [max(1, 2**LOG * size // n) for size in self.sizes]
        freq[self.sizes.index(max(self.sizes))] += 2**LOG - sum(freq)
        return ans.Model(freq, LOG)

    def sum(self, head):
        key = lists.mix(head["instance"] + (head["nbits"].bit_length() - 1) *
                        0x9E3779B97F4A7C15 & lists.U64)
        s = 0
        for number in self.gone:
            s = lists.mix(s + number & lists.U64)
        for entry, age in self.pairs:
            s += lists.mix(lists.mix(key + entry & lists.U64) + age &
                           lists.U64)
        return s & U32


# The code by age

def put_counts(e, ages, counts):
    steps, left = [], sum(counts)
    for i, count in enumerate(counts[:-1]):
        model = ages.odds(left, i) if left else None
        steps += [(model, 1)] * count
        left -= count
        if left and count < ages.sizes[i]:
            steps.append((model, 0))
    for model, decision in reversed(steps):
        e.put(0, model, decision)


def get_counts(d, ages, go):
    counts, left = [], go
    for i, size in enumerate(ages.sizes[:-1]):
        count, model = 0, ages.odds(left, i) if left else None
        while left and count < size and d.get(0, model):
            count, left = count + 1, left - 1
        counts.append(count)
    refuse_if(left > ages.sizes[-1], "EFORMAT")
    return counts + [left]


def ranks_of(ages, go):
    """By cohort: the ranks of what goes, the oldest of equal entries."""
    seen, at, ranks = [0] * len(ages.sizes), 0, [[] for _ in ages.sizes]
    for entry, age in ages.pairs:
        if at < len(go) and entry == go[at]:
            ranks[age].append(seen[age])
            at += 1
        seen[age] += 1
    return ranks


def payload_of(ages, go, come, nbits):
    e = lists.Encoder()
    e.entries(come, nbits)
    ranks = ranks_of(ages, go)
    for i in reversed(range(len(ranks))):
        e.ranks(ranks[i], ages.sizes[i])
    if go:
        put_counts(e, ages, [len(some) for some in ranks])
    return e.payload()


def removed(d, ages, go):
    """The entries that go."""
    gone = []
    if go:
        for i, count in enumerate(get_counts(d, ages, go)):
            of = ages.of(i)
            gone += [of[rank] for rank in d.ranks(count, len(of))]
    return sorted(gone)


# Frames

def read_frame(data, head, ages, limits=None):
    """The generation; ages become those that result."""
    def code(payload, go, come):
        d = lists.Decoder(payload)
        gone = removed(d, ages, go)
        added = d.entries(come, head["nbits"])
        d.end()
        return gone, added

    base = ages.entries()
    generation, gone, added = lists.read_changes(
        data, head, base, limits,
        {0: lists.by_rank(head, base), lists.AGED: code})
    ages.change(gone, added)
    return generation


def write_frame(head, ages, generation, entries, aged=True):
    """head: of the list that the base is."""
    if not aged:
        return lists.write_frame(head, ages.entries(), generation, entries)
    go, come = lists.changes(ages.entries(), entries)
    code = payload_of(ages, go, come, head["nbits"])
    return lists.frame_of(head, generation, entries, (go, come), code,
                          lists.AGED)


def read_ages(data, head, entries):
    body = lists.beginning(data, (5,))[1]
    r = Reader(body)
    of_list, total = r.take("<II")
    count = r.varint()
    refuse_if(count > MOST, "EFORMAT")
    ages = Ages(entries)
    fields = [(r.varint(), r.varint()) for _ in range(count)]
    refuse_if(of_list != lists.checksum(head["instance"], head["nbits"],
                                        entries) & U32, "ECHECKSUM")
    ages.sizes = [size for size, _ in fields]
    ages.gone = [number for _, number in fields]
    refuse_if(0 in ages.sizes or sum(ages.sizes) != len(entries) or
              sum(ages.gone) > remembered(len(entries)), "EFORMAT")
    d = lists.Decoder(r.rest())
    model = ages.model() if entries else None
    ages.pairs = [(entry, d.get(0, model)) for entry in entries]
    d.end()
    refuse_if(ages.pairs != sorted(ages.pairs) or
              any(len(ages.of(i)) != size
                  for i, size in enumerate(ages.sizes)), "EFORMAT")
    refuse_if(ages.sum(head) != total, "ECHECKSUM")
    return ages


def write_ages(head, ages):
    e = lists.Encoder()
    for _, age in reversed(ages.pairs):
        e.put(0, ages.model(), age)
    body = struct.pack("<II", lists.checksum(
        head["instance"], head["nbits"], ages.entries()) & U32,
        ages.sum(head)) + varint(len(ages.sizes))
    for size, number in zip(ages.sizes, ages.gone):
        body += varint(size) + varint(number)
    body += e.payload()
    return b"\5" + varint(len(body)) + body

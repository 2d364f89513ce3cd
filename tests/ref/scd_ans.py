"""The coder of codings 3, 4 and 5, with as many lanes as a chunk has.

FORMAT.md, "The coder of codings 3, 4 and 5". The frequencies of a model's
symbols sum up to 2^log.
"""

import itertools
import struct

from scd_bits import refuse_if

ONE = 2**16  # the lowest state, which is the first and the last too


class Model:
    """Frequencies, with the slots that they give."""

    def __init__(self, freq, log):
        self.freq, self.log = freq, log
        self.start = list(itertools.accumulate([0] + freq[:-1]))
        self.symbol = [s for s, f in enumerate(freq) for _ in range(f)]


def words_of(data):
    refuse_if(len(data) % 2, "EFORMAT")
    return struct.unpack("<%dH" % (len(data) // 2), data)


class Decoder:
    """Lanes of states, and the words that all of them take."""

    least = ONE  # of the states, and what they end with

    def __init__(self, states, words):
        refuse_if(min(states) < self.least, "EFORMAT")
        self.states, self.words, self.taken = list(states), words, 0

    def refill(self, lane, x):
        if x < ONE and (self.least or self.taken < len(self.words)):
            refuse_if(self.taken == len(self.words), "EFORMAT")
            x = x << 16 | self.words[self.taken]
            self.taken += 1
        self.states[lane] = x

    def get(self, lane, model):
        """A symbol."""
        x = self.states[lane]
        slot = x & 2**model.log - 1
        s = model.symbol[slot]
        self.refill(lane, model.freq[s] * (x >> model.log) + slot -
                    model.start[s])
        return s

    def symbols(self, model, count):
        """That many symbols, the next one from the next lane."""
        nlanes = len(self.states)
        for i in range(count):
            yield self.get(i % nlanes, model)

    def bits(self, n):
        """n bits from the first lane: the lowest 16 first."""
        value = 0
        for at in range(0, n, 16):
            some = min(16, n - at)
            x = self.states[0]
            value |= x % 2**some << at
            self.refill(0, x >> some)
        return value

    def end(self):
        refuse_if(any(x != self.least for x in self.states), "EFORMAT")
        refuse_if(self.taken < len(self.words), "EFORMAT")


class LoneDecoder(Decoder):
    """One state, which may become small when no words are left."""

    least = 0


class Encoder:
    """Puts the last symbol first."""

    def __init__(self, nlanes=1):
        self.states, self.reversed = [ONE] * nlanes, []

    def room(self, lane, limit):
        """The lane's state, made to be below limit."""
        x = self.states[lane]
        if x >= limit:
            self.reversed.append(x % 2**16)
            x >>= 16
        return x

    def put(self, lane, model, s):
        freq = model.freq[s]
        x = self.room(lane, freq << 32 - model.log)
        self.states[lane] = ((x // freq << model.log) + model.start[s] +
                             x % freq)

    def symbols(self, model, coded):
        """All symbols of a chunk."""
        for i in range(len(coded) - 1, -1, -1):
            self.put(i % len(self.states), model, coded[i])

    def bits(self, value, n):
        for at in range((n - 1) // 16 * 16, -1, -16):
            some = min(16, n - at)
            x = self.room(0, 2**(32 - some))
            self.states[0] = x << some | value >> at & 2**some - 1

    def fields(self):
        """The states, and the words."""
        words = self.reversed[::-1]
        return {"states": struct.pack("<%dI" % len(self.states),
                                      *self.states),
                "words": struct.pack("<%dH" % len(words), *words)}

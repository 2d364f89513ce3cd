"""Golden files of ages: ages/*, and ages.txt.

NAME.scd and NAME.ages are a list and its ages, NAME.frame is for a base, and
NAME.entries and NAME.after are the entries and the ages that result. A row of
frames is one file, too.
"""

import copy
import struct

import scd_ages as aged
import scd_list as lists
import scd_ref as ref
from forge import Random
from lists import changed_at, head_of
from scd_bits import Refused

WIDTH = 18


class Cache:
    """Evicts in the order of arrival, but for one object in four."""

    def __init__(self, seed, width=WIDTH):
        self.rng, self.width, self.held = Random(seed), width, []
        self.often = 4

    def next(self, go, come):
        """The entries that there are after a change."""
        for _ in range(go):
            at = 0
            if not self.rng.below(self.often):
                at = self.rng.below(len(self.held))
            del self.held[at]
        self.held += [self.rng.below(2**self.width) for _ in range(come)]
        return sorted(self.held)


def turned(cache, head, ages, aged_form, go, come):
    """The next frame; ages become those that result."""
    entries = cache.next(go, come)
    frame = aged.write_frame(head, ages, head["generation"] + 1, entries,
                             aged_form)
    ages.change(*lists.changes(ages.entries(), entries))
    head["generation"] += 1
    return frame


def row(count, cache, ages, most):
    """Frames of both forms, from generation 1 on."""
    head, out = head_of(cache.width), b""
    for i in range(count):
        come = cache.rng.below(40)
        go = max(0, len(cache.held) + come - most)
        out += turned(cache, head, ages, i % 3 > 0, go, come)
    return out, head


def base_of(count, most, seed, width=WIDTH):
    cache, ages = Cache(seed, width), aged.Ages()
    head = row(count, cache, ages, most)[1]
    return cache, ages, head


TWINS = sorted([5] * 40 + [77, 77, 900] * 10)


def make_bases():
    """name: cache, ages, head"""
    twins = Cache(4, 12)
    twins.held = list(TWINS)
    ages = aged.Ages()
    for i in range(0, len(TWINS), 20):
        ages.change([], sorted(TWINS[i::4][:20]))
    twins.held = ages.entries()
    return {
        "young": (Cache(1), aged.Ages(), head_of(WIDTH)),
        "old": base_of(220, 1500, 2),
        "one-cohort": (None, aged.Ages(range(0, 5000, 50)), head_of(WIDTH)),
        "twins": (twins, ages, head_of(12)),
    }


def make_frames(bases):
    """name: bytes, entries, ages, the name of the base"""
    cases = {"by-age": ("old", True, 40, 30), "by-rank": ("old", False, 40, 30),
             "nothing": ("old", True, 0, 0), "goes": ("old", True, 1, 0),
             "comes": ("old", True, 0, 1), "one": ("old", True, 1, 1),
             "most": ("old", True, 1400, 10), "all": ("old", True, 1500, 20),
             "first": ("young", True, 0, 30), "long": ("old", True, 300, 700),
             "twins-go": ("twins", True, 33, 5)}
    made = {}
    for name, (base, form, go, come) in cases.items():
        cache, ages, head = copy.deepcopy(bases[base])
        go = min(go, len(cache.held))
        frame = turned(cache, head, ages, form, go, come)
        made[name] = frame, ages.entries(), ages, base
    cache, ages, head = copy.deepcopy(bases["young"])
    frames = row(330, cache, ages, 1300)[0]
    made["row"] = frames, ages.entries(), ages, "young"
    made["remnants"] = remnants(*copy.deepcopy(bases["young"]))
    return made


def remnants(cache, ages, head):
    """So many cohorts of which little is left that some become one."""
    steps = [(0, 16)] * 125 + [(1400, 0)] + [(0, 16)] * 90
    cache.often = 1
    frames = b"".join(turned(cache, head, ages, True, go, come)
                      for go, come in steps)
    assert len(ages.sizes) == aged.MOST
    return frames, ages.entries(), ages, "young"


def summed(data, head, ages):
    """Ages whose sums are right."""
    at = 2 if data[1] < 128 else 3
    return data[:at] + struct.pack("<II", lists.checksum(
        head["instance"], head["nbits"], ages.entries()) & aged.U32,
        ages.sum(head)) + data[at + 8:]


def bad_ages(bases):
    """name: bytes, error, base"""
    _, ages, head = bases["old"]
    data = aged.write_ages(head, ages)
    none = b"\5\x09" + data[3:11]
    other = copy.deepcopy(ages)
    other.sizes[0], other.sizes[1] = other.sizes[1] + 1, other.sizes[0] - 1
    forgets = copy.deepcopy(ages)
    forgets.gone[3] += 2048
    empty = copy.deepcopy(ages)
    empty.sizes[0:1] = [0, empty.sizes[0]]
    empty.gone[0:1] = [0, empty.gone[0]]
    twins = copy.deepcopy(bases["twins"][1])
    twins.pairs = [(e, len(twins.sizes) - 1 - a) for e, a in twins.pairs]
    twins.sizes.reverse()
    return {
        "type-1": (changed_at(data, 0, 1), "EVERSION", "old"),
        "cut": (data[:-1], "ETRUNC", "old"),
        "type-only": (b"\5", "ETRUNC", "old"),
        "length-wrong": (b"\5\x80\0", "EFORMAT", "old"),
        "other-list": (data, "ECHECKSUM", "twins"),
        "list-sum": (changed_at(data, 3, data[3] ^ 1), "ECHECKSUM", "old"),
        "sum": (changed_at(data, 7, data[7] ^ 1), "ECHECKSUM", "old"),
        "no-cohorts": (none + b"\0", "EFORMAT", "old"),
        "193-cohorts": (b"\5\x0a" + none[2:] + b"\xc1\1", "EFORMAT", "old"),
        "sizes-cut": (none + b"\2", "EFORMAT", "old"),
        "other-sizes": (summed(aged.write_ages(head, other), head, other),
                        "EFORMAT", "old"),
        "size-0": (aged.write_ages(head, empty), "EFORMAT", "old"),
        "gone-over": (aged.write_ages(head, forgets), "EFORMAT", "old"),
        "code-cut": (b"\5" + lists.varint(len(data) - 5) + data[3:-2],
                     "EFORMAT", "old"),
        "code-more": (b"\5" + lists.varint(len(data) - 1) + data[3:] +
                      b"\1\1", "EFORMAT", "old"),
        "twins-order": (aged.write_ages(bases["twins"][2], twins), "EFORMAT",
                        "twins"),
    }


def bad_frames(bases, frames):
    data = frames["by-age"][0]
    return {
        "frame-sum": (changed_at(data, 4, data[4] ^ 1), "ECHECKSUM", "old"),
        "frame-code": (changed_at(data, len(data) - 1, data[-1] ^ 1),
                       "ECHECKSUM", "old"),
        "frame-code-end": (data[:-2] + b"\0\0", "EFORMAT", "old"),
        "frame-other-base": (data, "EFORMAT", "young"),
        "frame-young-too-many": (frames["goes"][0], "EFORMAT", "young"),
    }


def said(read, *args):
    try:
        read(*args)
        return "OK"
    except Refused as refused:
        return refused.args[0]


def write_file(folder, name, data):
    (folder / "ages" / name).write_bytes(data)


def write(folder):
    (folder / "ages").mkdir(exist_ok=True)
    bases = make_bases()
    frames = make_frames(bases)
    with open(folder / "ages.txt", "w") as out:
        out.write("# Made by generate.py.\n# what, file, result, base\n")
        for name, (_, ages, head) in bases.items():
            write_file(folder, name + ".scd", lists.encode(head,
                                                           ages.entries()))
            write_file(folder, name + ".ages", aged.write_ages(head, ages))
            out.write("ages  %-24s OK         %s\n" % (name, name))
        for name, (data, entries, ages, base) in frames.items():
            head = bases[base][2]
            write_file(folder, name + ".frame", data)
            write_file(folder, name + ".entries",
                       struct.pack("<%dQ" % len(entries), *entries))
            write_file(folder, name + ".after", aged.write_ages(head, ages))
            out.write("frame %-24s OK         %s\n" % (name, base))
        for name, (data, error, base) in bad_ages(bases).items():
            _, ages, head = bases[base]
            got = said(aged.read_ages, data, head, ages.entries())
            assert got == error, (name, got)
            write_file(folder, "bad-" + name + ".ages", data)
            out.write("ages  %-24s %-10s %s\n" % ("bad-" + name, error, base))
        for name, (data, error, base) in bad_frames(bases, frames).items():
            _, ages, head = copy.deepcopy(bases[base])
            got = said(aged.read_frame, data, head, ages)
            assert got == error, (name, got)
            write_file(folder, "bad-" + name + ".frame", data)
            out.write("frame %-24s %-10s %s\n" % ("bad-" + name, error, base))

#!/usr/bin/env python3
"""Seeds of the targets of single codings, from the golden files.

    tests/fuzz/seeds.py           (writes corpus/ beside itself)

A payload of coding 2 to 5 becomes an input as coding.h has it: raw; and its
array one that is to be coded. Sets of numbers are those of fuzz_golomb.c.
"""

import hashlib
import pathlib
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
VECTORS = HERE.parent / "vectors"
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent / "ref"))

import scd_coder as coder  # noqa: E402
import scd_ref as ref  # noqa: E402
from scd_bits import Refused, places  # noqa: E402

CODINGS = {coder.RANGE: "range", coder.DENSE: "dense", coder.GAPS: "gaps",
           coder.SPARSE: "sparse"}
MAX_BITS = 65536
HOWS = (0, 37, 74, 121, 163, 201, 250, 255)  # lanes, classes, chunks


def write(name, data):
    folder = HERE / "corpus" / name
    folder.mkdir(exist_ok=True)
    (folder / hashlib.sha1(data).hexdigest()[:12]).write_bytes(data)


def raw_input(head, payload):
    return struct.pack("<BHH", 0, head["nbits"] - 1, head["ncoded"]) + payload


def made_of(coding, bits):
    """The bytes that coding.h makes the array of, nearly."""
    if coding not in (coder.GAPS, coder.SPARSE):
        return bits
    ones = places(bits)
    gaps = [b - a - 1 for a, b in zip([-1] + ones, ones)]
    return bytes(min(gap, 255) for gap in gaps)


def coded_input(coding, nbits, how, bits):
    return (struct.pack("<BHBB", 1, nbits - 1, how, 0) +
            made_of(coding, bits))


def main():
    for path in sorted(VECTORS.glob("*/*.scd")):
        data = path.read_bytes()
        try:
            head = ref.read_header(data)
        except Refused:
            continue
        if head["coding"] not in CODINGS or head["nbits"] > MAX_BITS:
            continue
        if 0 < head["ncoded"] <= head["nbits"]:
            write(CODINGS[head["coding"]], raw_input(head, data[96:]))
    for nbytes, first in ((1, 0), (40, 1), (1100, 2), (2559, 3), (2000, 4)):
        write("chunks", struct.pack("<BHBH", 1, 8 * nbytes - 1, first,
                                    2 * nbytes) + bytes([first, 7, 0]))
        write("chunks", struct.pack("<BHBIB", 0, 8 * nbytes - 1, 5, 32,
                                    first) + bytes(range(31)))
    for shift in (0, 3, 10, 39):
        gaps = bytes(i * 37 % 256 for i in range(200))
        write("golomb", struct.pack("<BBHB", 1, shift, 0, 0) + gaps)
    for rice, count, code in ((0, 3, b"\7"), (3, 2, b"\x11"),
                              (7, 1, b"\x80\7"), (20, 0, b"")):
        write("golomb", struct.pack("<BBHHB", 0, rice, count, 999, 9) + code)
    for name, how in zip(("paper", "dense-2", "sparse-tiny", "odd", "sparse",
                          "sparse-tiny", "dense-2", "paper"), HOWS):
        bits = (VECTORS / "good" / (name + ".bits")).read_bytes()
        nbits = min(8 * len(bits), MAX_BITS)
        for coding, folder in CODINGS.items():
            write(folder, coded_input(coding, nbits, how, bits))


if __name__ == "__main__":
    main()

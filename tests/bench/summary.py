#!/usr/bin/env python3
"""Tables in Markdown of what `digestbench coding --json` measured: all coders
for some arrays of a million objects (or the most that there are up to it); and
each array with the fastest engine of its coding, beside zstd -1 in the same
run.

    digestbench coding --long --section coders --json | tests/bench/summary.py

Fast: by the median time to decode. "over" is the code's length less the
entropy of the array.
"""

import json
import sys

# m/n, k and churn of what all coders are shown for.
SHOWN = ((14, 2, 0), (46, 1, 0), (12, 3, .01))
MOST_SHOWN = 1000000

CODER_TITLES = ("m/n, k", "coder", "/ entropy", "encode", "decode",
                "encode / zstd", "decode / zstd")
TITLES = ("m/n, k", "objects", "coding", "/ entropy", "over [bytes]", "encode",
          "decode", "encode / zstd", "decode / zstd")


def title(array):
    shape = f"{array['m']:g}, {array['k']}"
    if array["churn"]:
        return f"{shape}, {100 * array['churn']:g} % replaced"
    return shape


def best_of(array):
    """Of ours, the engine that decodes fastest."""
    ours = [c for c in array["coders"] if c["engine"]]
    return max(ours, key=lambda c: c["decode_mbs"])


def zstd_of(array):
    return next(c for c in array["coders"] if c["name"] == "zstd")


def name_of(coder):
    if coder["engine"]:
        return f"{coder['name']} {coder['engine']}"
    return (f"{coder['name']} -{coder['level']}" if coder["level"]
            else coder["name"])


def speeds(coder, other):
    return (f"{coder['encode_mbs'] / 1000:.2f} GB/s",
            f"{coder['decode_mbs'] / 1000:.2f} GB/s",
            f"{coder['encode_mbs'] / other['encode_mbs']:.2f}",
            f"{coder['decode_mbs'] / other['decode_mbs']:.2f}")


def coder_rows(arrays):
    """All coders, array by array."""
    most = max(a["objects"] for a in arrays if a["objects"] <= MOST_SHOWN)
    for array in arrays:
        if (array["m"], array["k"], array["churn"]) not in SHOWN or (
                array["objects"] != most):
            continue
        for coder in array["coders"]:
            yield (title(array), name_of(coder), f"{coder['ratio']:.4f}",
                   *speeds(coder, zstd_of(array)))


def row(array):
    mine = best_of(array)
    return (title(array), f"{array['objects']:,}", name_of(mine),
            f"{mine['ratio']:.4f}",
            f"{round(mine['bytes'] - array['entropy']):,}",
            *speeds(mine, zstd_of(array)))


def print_table(titles, rows):
    print("| " + " | ".join(titles) + " |")
    print("|---" * len(titles) + "|")
    for cells in rows:
        print("| " + " | ".join(cells) + " |")
    print()


def main():
    arrays = json.load(sys.stdin)["coders"]
    arrays.sort(key=lambda a: (bool(a["churn"]), a["m"], a["k"], a["churn"],
                               a["objects"]))
    print_table(CODER_TITLES, coder_rows(arrays))
    print_table(TITLES, map(row, arrays))


if __name__ == "__main__":
    main()

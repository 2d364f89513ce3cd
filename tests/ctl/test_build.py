#!/usr/bin/env python3
"""digestctl build: lines of all kinds, keys against their twin in Python,
shapes that are found, progress, and the memory it takes.
"""

import hashlib
import json
import os
import random
import struct
import subprocess
import sys
import time

from harness import CTL, KEY, SOURCE, built, ctl, folder_of, row_test, run, urls

sys.path.insert(0, os.path.join(SOURCE, "tests", "ref"))

import scd_ref as ref  # noqa: E402

SHAPE = ("-b", "64K", "-H", "3")
URLS = ("build", "-k", KEY, *SHAPE)
KEYS = ("build", "--hex", *SHAPE)
BLOCK, LONGEST = 256 * 1024, 64 * 1024  # see line_reader.h

FOLDER = folder_of({
    "few": urls(range(10)), "more": urls(range(5, 1005)),
    "bad": b"http://a/\nnonsense\nhttp://b/\n", "none": b"",
    "binary": bytes(range(256)) * 4,
})
AT = FOLDER.name


def info(digest):
    return json.loads(ctl("info", "-j", "-", data=digest)[1])


def line_ends():
    plain = urls(range(100))
    for other in (plain[:-1], plain.replace(b"\n", b"\r\n"),
                  plain.replace(b"\n", b"\n\n\r\n"), b"\n" + plain):
        assert ctl(*URLS, data=other) == ctl(*URLS, data=plain)


def lines_cross_blocks():
    """Lines of all lengths, in blocks and across them, up to the longest."""
    rng = random.Random(1)
    lines = [b"http://h/" + b"a" * rng.choice((1, 9, 90, 3000, 30000))
             + b"%d" % i for i in range(300)]
    lines.append(b"http://h/".ljust(LONGEST, b"b"))
    assert sum(map(len, lines)) > 4 * BLOCK
    rng.shuffle(lines)
    hashed = [hashlib.md5(b"\1" + line).hexdigest().encode() for line in lines]
    squid = ("build", "--hashing", "squid", "-b", "64K")
    from_urls = ctl(*squid, data=b"\n".join(lines))
    assert from_urls[0] == 0
    assert from_urls == ctl(*squid, "--hex", data=b"\n".join(hashed))


def a_line_too_long_is_left_out():
    good = [b"http://a/", b"http://b/"]
    for length in (LONGEST + 1, BLOCK - 10, BLOCK, BLOCK + 1, 3 * BLOCK):
        for end in (b"\n", b"\r\n"):
            long = b"http://h/".ljust(length, b"x")
            code, out, err = ctl(*URLS, data=end.join([good[0], long,
                                                       good[1]]))
            assert code == 1 and out == ctl(*URLS, data=b"\n".join(good))[1]
            assert err == "digestctl: -:2: line too long\n", err
        assert ctl(*URLS, data=good[0] + b"\n" + long)[0] == 1
        assert ctl(*URLS, data=long)[0] == 1


def keys_as_their_twin():
    """Positions by the second implementation, for any shape."""
    rng = random.Random(2)
    for nbits, nhash in ((1, 1), (4099, 3), (65536, 7), (100000, 32)):
        keys = [(rng.getrandbits(64), rng.getrandbits(64)) for _ in range(700)]
        lines = b"".join(struct.pack("<QQ", *key).hex().encode() + b"\n"
                         for key in keys)
        code, digest, err = ctl("build", "-x", "-b", str(nbits), "-H",
                                str(nhash), data=lines.upper())
        assert (code, err) == (0, "")
        bits = bytearray(ref.array_bytes(nbits))
        for key in keys:
            for at in ref.positions(*key, nbits, nhash):
                bits[at >> 3] |= 1 << (at & 7)
        limits = {"max_bits": 2**32, "max_hash": 32, "max_fp_ppm": 1000000,
                  "max_expansion": 0}
        assert ref.decode(digest, limits)[1] == bytes(bits)


def bad_keys_are_named():
    good = b"0123456789abcdefABCDEF0123456789"
    lines = [good, good[:-1], good + b"0", good[:-1] + b"g", b"@" + good[1:],
             b"`" + good[1:], b"http://a/", good[:-1] + b"\xff", good]
    code, out, err = ctl(*KEYS, data=b"\n".join(lines))
    assert code == 1 and out == ctl(*KEYS, data=good)[1]
    assert err == "".join(f"digestctl: -:{n}: not 32 hexadecimal digits\n"
                          for n in range(2, 9)), err


def several_files():
    together = ctl(*URLS, "few", "more", cwd=AT)
    assert together == ctl(*URLS, data=urls(range(1005)))
    assert together == ctl(*URLS, "few", "-", data=urls(range(5, 1005)),
                           cwd=AT)
    assert info(together[1])["nkeys"] in range(1000, 1006)
    code, _, err = ctl(*URLS, "few", "bad", cwd=AT)
    assert code == 1 and err.startswith("digestctl: bad:2: not an absolute")


def a_shape_is_found():
    """For the lines, or for as many objects as the option says."""
    few = ("build", "-k", KEY, "few")
    for args, data, objects, fp in (
            (few, b"", 10, .01), ((*few, "more"), b"", 1010, .01),
            ((*few, "-f", ".001", "more"), b"", 1010, .001),
            ((*few, "-n", "5K"), b"", 5120, .01),
            (("build", "-k", KEY, "-n", "5K", "-f", ".2"), urls(range(9)),
             5120, .2)):
        code, digest, err = ctl(*args, data=data, cwd=AT)
        assert (code, err) == (0, ""), args
        code, out, _ = ctl("tune", "-j", "-n", str(objects), "-f", str(fp))
        got, want = info(digest), json.loads(out)
        assert (got["nbits"], got["nhash"]) == (want["nbits"],
                                                want["nhash"]), args
    assert ctl("build", "-k", KEY, "none", cwd=AT)[0] == 0
    code, out, err = ctl("build", "-k", KEY, "bad", cwd=AT)
    assert code == 1 and out and err.count("\n") == 1


def standard_input_that_is_a_file_is_counted():
    """From where it stands, so that what was read before is left out."""
    with open(os.path.join(AT, "more"), "rb") as f:
        f.seek(len(urls(range(5, 15))))
        r = subprocess.run([CTL, "build", "-k", KEY], stdin=f, check=True,
                           stdout=subprocess.PIPE)
    expected = ctl("build", "-k", KEY, "-n", "990", data=urls(range(15, 1005)))
    assert (0, r.stdout, "") == expected


def a_shape_of_squid_is_found():
    for args, bits in ((("-n", "1000"), 5000), (("-n", "1001"), 5008),
                       (("-n", "1000", "-f", "0.01"), 10528), (("few",), 56)):
        code, digest, _ = ctl("build", "--hashing", "squid", *args, cwd=AT)
        assert code == 0 and info(digest)["nbits"] == bits, args
        assert info(digest)["nhash"] == 4


def counters_as_their_twin():
    """Each line counts, also one that was there before; nkeys does not."""
    rng = random.Random(3)
    for nbits, nhash, count in ((4099, 3, 2000), (8, 2, 100), (65536, 4, 0)):
        keys = [(rng.getrandbits(64), rng.getrandbits(64))
                for _ in range(count)]
        keys += keys[:count // 4]
        lines = b"".join(struct.pack("<QQ", *key).hex().encode() + b"\n"
                         for key in keys)
        shape = ("build", "-x", "-b", str(nbits), "-H", str(nhash))
        code, digest, err = ctl(*shape, "--counting", data=lines)
        assert (code, err) == (0, "")
        counters = [0] * nbits
        for key in keys:
            for at in ref.positions(*key, nbits, nhash):
                counters[at] = min(counters[at] + 1, 15)
        limits = {"max_bits": 2**32, "max_hash": 32, "max_fp_ppm": 1000000,
                  "max_expansion": 0}
        head, found = ref.decode_counting(digest, limits)
        assert list(found) == counters
        assert head["nkeys"] == info(ctl(*shape, data=lines)[1])["nkeys"]


def counters_are_understood():
    """Their filter is that of a full digest, whatever the hashing."""
    for way in (("-k", KEY, *SHAPE), ("--hashing", "squid", "-b", "80000")):
        full = ctl("build", *way, "more", cwd=AT)[1]
        code, out, _ = ctl("build", *way, "-c", "-j", "-o", "c", "more", cwd=AT)
        told = json.loads(out)
        assert code == 0 and told["kind"] == "counting"
        with open(os.path.join(AT, "c"), "rb") as f:
            digest = f.read()
        assert told["bytes"] == len(digest) > len(full)
        said = ctl("info", "-", data=digest)[1].decode()
        assert "kind             counting, parts coding" in said
        assert info(digest)["kind"] == "counting"
        for name in ("nkeys", "fill", "fp", "hashing"):
            assert info(digest)[name] == info(full)[name], name
        assert ctl("merge", "-", data=digest) == (0, full, "")
        key = way[:2] if way[0] == "-k" else ()
        asked = ("http://a.example/7", "http://a.example/no")
        told = ctl("query", *key, "-", *asked, data=digest)
        assert told == ctl("query", *key, "-", *asked, data=full)
        assert told[1].startswith(b"yes http://a.example/7\nno  ")


def counters_are_verified():
    """Not their array alone: a damaged plane is found."""
    digest = ctl(*URLS, "-c", "more", cwd=AT)[1]
    assert ctl("verify", "-", data=digest)[1] == b"-: OK\n"
    assert ctl("verify", "-f", "1e-9", "-", data=digest)[0] == 1
    for at in (-2, -40):
        bad = bytearray(digest)
        bad[at] ^= 8
        code, out, _ = ctl("verify", "-", data=bytes(bad))
        assert code == 1 and b"OK" not in out, out
        assert ctl("query", "-k", KEY, "-", "http://a/", data=bytes(bad))[0]


def as_json():
    code, out, _ = ctl(*URLS, "-j", "-o", "d", "bad", "few", cwd=AT)
    told = json.loads(out)
    assert code == 1 and told["lines"] == 13 and told["left_out"] == 1
    assert (told["nkeys"], told["nbits"], told["nhash"]) == (12, 65536, 3)
    with open(os.path.join(AT, "d"), "rb") as f:
        digest = f.read()
    assert told["bytes"] == len(digest) and info(digest)["nkeys"] == 12


def progress_when_it_is_asked_for():
    code, out, err = ctl(*URLS, "--progress", "few", "more", cwd=AT)
    size = len(urls(range(10)) + urls(range(5, 1005)))
    assert code == 0 and out == ctl(*URLS, "few", "more", cwd=AT)[1]
    assert f"of {size / 1000:.0f} kB" in err and "building: 1010 lines" in err
    assert "\033" not in err and "\r" not in err
    code, _, err = ctl("build", "-k", KEY, "-p", "more", cwd=AT)
    assert "counting: 1000 lines" in err and "building: 1000 lines" in err
    err = ctl(*URLS, "-p", data=urls(range(1000)))[2]
    assert "building: 1000 lines, 21 kB in " in err, err
    assert " of " not in err and "left" not in err
    assert "building: 10 lines" in ctl(*URLS, "-p", "few", cwd=AT)[2]
    assert ctl(*URLS, "-p", "-q", "more", cwd=AT)[2] == ""


def slowly(*options):
    """What a terminal on stderr sees of a build that takes a while."""
    terminal, side = os.openpty()
    with subprocess.Popen([CTL, *URLS, *options], stdin=subprocess.PIPE,
                          stdout=subprocess.DEVNULL, stderr=side) as p:
        os.close(side)
        for part in range(3):
            p.stdin.write(urls(range(part * 1000, part * 1000 + 1000)))
            p.stdin.flush()
            time.sleep(0.4)
        p.stdin.close()
        seen = b""
        while True:
            try:
                got = os.read(terminal, 4096)
            except OSError:  # the other side is closed
                got = b""
            if not got:
                break
            seen += got
    os.close(terminal)
    assert p.returncode == 0
    return seen.decode()


def progress_on_a_terminal():
    seen = slowly()
    assert seen.startswith("\rbuilding: ") and "lines/s" in seen
    assert seen.endswith("lines/s\r\n") and "building: 3000 lines" in seen
    assert slowly("--quiet") == ""


def short_work_has_no_progress():
    terminal, side = os.openpty()
    subprocess.run([CTL, *URLS, os.path.join(AT, "few")], stderr=side,
                   stdout=subprocess.DEVNULL, check=True)
    os.close(side)
    try:
        assert os.read(terminal, 100) == b""
    except OSError:
        pass  # nothing was ever written
    os.close(terminal)


def most_memory(nlines):
    """Resident kilobytes of a build from a pipe, at most."""
    with subprocess.Popen([CTL, *URLS], stdin=subprocess.PIPE,
                          stdout=subprocess.DEVNULL) as p:
        for first in range(0, nlines, 10000):
            p.stdin.write(urls(range(first, first + 10000)))
        p.stdin.close()
        _, status, usage = os.wait4(p.pid, 0)
        p.returncode = status
    assert status == 0
    return usage.ru_maxrss


def memory_does_not_grow_with_the_lines():
    """A list of the keys alone would take 4.8 MB."""
    assert most_memory(310000) < most_memory(10000) + 2500


def with_little_memory(*args):
    """Exit code and errors of digestctl within 400 MB of addresses."""
    script = 'ulimit -v 400000; exec "$0" "$@"'
    r = subprocess.run(["sh", "-c", script, CTL, *args], check=False, cwd=AT,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.PIPE, text=True)
    return r.returncode, r.stderr


def no_memory():
    if with_little_memory("--version")[0]:
        return  # a sanitizer has more addresses than that
    no_room = (3, "digestctl: build: out of memory\n")
    assert with_little_memory("build", "-k", KEY, "-b", "64G", "-H",
                              "3") == no_room
    # the array fits, but not what is written beside it
    assert with_little_memory("build", "-k", KEY, "-b", "2G", "-H", "3",
                              "few")[0] == 3


ROWS = (
    ("no key", ("build", *SHAPE), b"", 2, b"", "usage: digestctl build"),
    ("hashes without bits", ("build", "-k", KEY, "-H", "3"), b"", 2, b"",
     "--bits and --hashes go together"),
    ("bits without hashes", ("build", "-k", KEY, "-b", "9"), b"", 2, b"", "us"),
    ("0 bits", ("build", "-k", KEY, "-b", "0", "-H", "3"), b"", 2, b"",
     '--bits: "0" is not above 0'),
    ("0 hashes", ("build", "-k", KEY, "-b", "9", "-H", "0"), b"", 2, b"",
     '--hashes: "0" is not above 0'),
    ("bits and objects", (*URLS, "-n", "5"), b"", 2, b"",
     "--bits excludes --objects"),
    ("bits and a rate", (*URLS, "-f", ".1"), b"", 2, b"", "usage"),
    ("a rate of 1", ("build", "-k", KEY, "-n", "5", "-f", "1"), b"", 2, b"",
     "--fp: not below 1"),
    ("instance 0", (*URLS, "-i", "0"), b"", 2, b"", "--instance: may not be 0"),
    ("a pipe has no count", ("build", "-k", KEY), b"http://a/", 2, b"",
     "digestctl: -: lines can be counted of regular files only: --objects"),
    ("no shape", ("build", "-k", KEY, "-n", "9", "-f", "1e-30"), b"", 1, b"",
     "--objects, --fp: no parameters reach the goal"),
    ("squid: too many", ("build", "--hashing", "squid", "-n", "1G"), b"", 1,
     b"", "--objects, --fp: more than Squid's"),
    ("missing", (*URLS, "no"), b"", 3, b"", "digestctl: no: No such file"),
    ("second is missing", (*URLS, "few", "no"), b"", 3, b"", "no: No such"),
    ("to be counted, missing", ("build", "-k", KEY, "no"), b"", 3, b"",
     "no: No such"),
    ("a folder", (*URLS, "."), b"", 3, b"", "digestctl: .: Is a directory"),
    ("twice stdin", (*URLS, "-", "-"), b"", 2, b"", "once only"),
    ("report in the way", (*URLS, "-j"), b"", 2, b"", "--output"),
    ("full disk, counters", (*URLS, "-c", "-o", "/dev/full", "few"), b"", 3,
     b"", "No space"),
    ("full disk", (*URLS, "-o", "/dev/full", "few"), b"", 3, b"", "No space"),
    ("unknown option", ("build", "-Z"), b"", 2, b"",
     "digestctl: build: invalid option"),
    ("nothing", URLS, b"", 0, built([]), ""),
    ("not text", (*URLS, "binary"), b"", 1, built([]), "binary:1: not an"),
)

if __name__ == "__main__":
    run([line_ends, lines_cross_blocks, a_line_too_long_is_left_out,
         keys_as_their_twin, bad_keys_are_named, several_files,
         a_shape_is_found, standard_input_that_is_a_file_is_counted,
         a_shape_of_squid_is_found, counters_as_their_twin,
         counters_are_understood, counters_are_verified, as_json,
         progress_when_it_is_asked_for, progress_on_a_terminal,
         short_work_has_no_progress, memory_does_not_grow_with_the_lines,
         no_memory, *(row_test(row, AT) for row in ROWS)])

#!/usr/bin/env python3
"""digestctl verify: on the golden files, on damaged ones, and its options."""

import json
import os

from harness import SOURCE, built, ctl, folder_of, row_test, run

VECTORS = os.path.join(SOURCE, "tests", "vectors")
ONE, TWO, THREE = (built(range(i * 100, 1000 + i * 100), "-g", str(i + 1))
                   for i in range(3))
FOLDER = folder_of({"one": ONE, "two": TWO, "three": THREE, "cut": ONE[:-1],
                    "damaged": ONE[:-9] + bytes([ONE[-9] ^ 1]) + ONE[-8:],
                    "dense": built(range(2000), "-b", "8K")})
AT = FOLDER.name
REASONS = {"OK": "OK", "ETRUNC": "input ends too early",
           "EFORMAT": "malformed input",
           "EVERSION": "unknown version or coding",
           "ELIMIT": "input exceeds the limits",
           "ECHECKSUM": "checksum does not match",
           "EBASE": "delta belongs to another base"}


# Refused for what its header claims, as nodes do, before what is wrong with it.
JUDGED = {"bad/claims-2-40-half", "bad/bomb-range-2-32",
          "bad/sparse-low-bits-19"}


def scd(name):
    return os.path.join(VECTORS, name + ".scd")


def golden_rows():
    """File, result, base and limits of each line of the manifest."""
    with open(os.path.join(VECTORS, "manifest.txt"), encoding="ascii") as f:
        for line in f:
            if not line.startswith("#"):
                yield line.split()


def golden_lists():
    """Lists are judged, and their deltas by their bases."""
    with open(os.path.join(VECTORS, "list.txt"), encoding="ascii") as f:
        rows = [line.split() for line in f if not line.startswith("#")]
    for file, result, base, bits in rows:
        path = scd("list/" + file)
        if base == "-" and result != "EBASE":
            code, out, _ = ctl("verify", "-b", bits, path, cwd=AT)
            assert out.decode() == f"{path}: {REASONS[result]}\n", (file, out)
            assert code == int(result != "OK"), file
        # a list by itself is good, whatever it is meant to be here
        if base != "-" and "frame" not in file and file != "bad-list-as-delta":
            code, out, _ = ctl("verify", "-b", bits, "-B", scd("list/" + base),
                               path, cwd=AT)
            assert out.decode() == f"{path}: {REASONS[result]}\n", (file, out)
            assert code == int(result != "OK"), file
    out = ctl("verify", scd("list/delta"), cwd=AT)[1].decode()
    assert "--base is needed" in out
    told = json.loads(ctl("info", "-j", scd("list/delta"), cwd=AT)[1])
    assert told["kind"] == "list delta" and told["hashing"] == "prefix"
    text = ctl("info", scd("list/thousand"), cwd=AT)[1].decode()
    assert "kind             list, list coding\n" in text
    assert "fingerprints     20 bits\n" in text


def golden_files():
    """Good and bad files are judged as every decoder has to."""
    done = 0
    for file, result, base, bits, hashes, fp, *_ in golden_rows():
        if file in ("bad/full-as-delta", "bad/full-as-counters",
                    "bad/counting-decoded", "bad/counting-applied"):
            continue  # a good digest, where another kind was asked for
        args = ["-b", bits, "-H", hashes, "-f", str(int(fp) / 1e6)]
        reason = REASONS["ELIMIT" if file in JUDGED else result]
        if base == "good/delta":  # for which a base has to be made first
            ctl("apply", "-o", "base", scd("good/paper"), scd(base), cwd=AT)
            args += ["-B", "base"]
        elif base not in ("-", "counters"):
            args += ["-B", scd(base)]
        elif result == "EBASE":
            reason = "a delta; --base is needed to check it"
        code, out, err = ctl("verify", *args, scd(file), cwd=AT)
        assert (code, err) == (int(result != "OK"), ""), (file, code, err)
        assert out.decode() == f"{scd(file)}: {reason}\n", (file, out)
        done += 1
    assert done > 80


def golden_files_of_squid():
    folder = os.path.join(VECTORS, "squid")
    with open(folder + ".txt", encoding="ascii") as f:
        rows = [line.split() for line in f if not line.startswith("#")]
    assert {result for _, result in rows} >= {"OK", "ETRUNC", "EFORMAT"}
    for name, result in rows:
        code, out, err = ctl("verify", name + ".cd", cwd=folder)
        assert (code, err) == (int(result != "OK"), ""), name
        assert (result == "OK") == out.endswith(b": OK\n"), (name, out)
    few = ctl("verify", "-b", "4K", "good.cd", cwd=folder)
    assert few == (1, b"good.cd: input exceeds the limits\n", "")


def every_cut_is_found():
    """Any start of a digest, and of a delta, is bad."""
    delta = ctl("diff", "one", "two", cwd=AT)[1]
    for whole in (ONE, delta):
        parts = [whole[:i] for i in range(0, len(whole), 29)]
        with folder_of({str(i): p for i, p in enumerate(parts)}) as at:
            names = [str(i) for i in range(len(parts))]
            base = os.path.join(AT, "one")
            code, out, _ = ctl("verify", "-B", base, *names, cwd=at)
        assert code == 1 and out.decode().splitlines() == [
            f"{n}: input ends too early" for n in names]


def several_files():
    """Each is told; the worst one makes the exit code."""
    code, out, err = ctl("verify", "one", "cut", "two", cwd=AT)
    assert (code, err) == (1, "")
    assert out == b"one: OK\ncut: input ends too early\ntwo: OK\n"
    assert ctl("verify", "-q", "one", "cut", cwd=AT)[1] == (
        b"cut: input ends too early\n")
    assert ctl("verify", "-q", "one", "two", cwd=AT) == (0, b"", "")
    code, out, err = ctl("verify", "no", "cut", "one", cwd=AT)
    assert code == 3 and "no: No such file" in err and b"one: OK" in out


def what_has_no_end():
    """Of what is no digest, or is longer than it can be, little is read."""
    with open(os.path.join(AT, "long"), "wb") as f:
        f.write(ONE)
        f.truncate(1 << 40)
    code, out, _ = ctl("verify", "/dev/zero", "long", cwd=AT)
    assert (code, out.decode()) == (
        1, "/dev/zero: of a version before 3\nlong: malformed input\n")


def as_json():
    code, out, _ = ctl("verify", "--json", "one", "cut", "no", cwd=AT)
    good, cut, missing = json.loads(out)
    assert code == 3
    assert good == {"file": "one", "ok": True, "reason": None}
    assert cut == {"file": "cut", "ok": False,
                   "reason": "input ends too early"}
    assert not missing["ok"] and "No such file" in missing["reason"]


def deltas_need_their_base():
    ctl("diff", "-o", "12", "one", "two", cwd=AT)
    ctl("diff", "-o", "13", "one", "three", cwd=AT)
    ctl("diff", "-o", "23", "two", "three", cwd=AT)
    verify = ("verify", "--base", "one")
    assert ctl(*verify, "12", "13", "two", cwd=AT)[0] == 0
    code, out, _ = ctl(*verify, "12", "23", cwd=AT)
    assert code == 1 and b"23: delta belongs to another base" in out
    assert ctl("verify", "12", cwd=AT)[0] == 1
    assert ctl("verify", "-B", "-", "12", data=ONE, cwd=AT)[0] == 0
    assert ctl("verify", "-B", "-", "12", data=TWO, cwd=AT)[0] == 1


ROWS = (
    ("stdin", ("verify", "-"), ONE, 0, b"-: OK\n", ""),
    ("damaged", ("verify", "damaged"), b"", 1, b"damaged: ", ""),
    ("too full", ("verify", "dense"), b"", 1, b"dense: input exceeds", ""),
    ("full, but accepted", ("verify", "-f", "1", "dense"), b"", 0, b"OK", ""),
    ("too large", ("verify", "-b", "32K", "one"), b"", 1, b"exceeds", ""),
    ("too many hash functions", ("verify", "-H", "2", "one"), b"", 1,
     b"exceeds", ""),
    ("a base that is none", ("verify", "-B", "cut", "one"), b"", 1, b"",
     "cut: input ends"),
    ("a base that is missing", ("verify", "-B", "no", "one"), b"", 3, b"",
     "no: No such"),
    ("a folder", ("verify", "."), b"", 3, b"", ".: Is a directory"),
    ("no files", ("verify",), b"", 2, b"", "usage: digestctl verify"),
    ("no rate", ("verify", "-f", "2", "one"), b"", 2, b"",
     "is not a number of 0 to 1"),
    ("no number", ("verify", "-b", "x", "one"), b"", 2, b"", "not a number"),
    ("stdin twice", ("verify", "-B", "-", "-"), ONE, 2, b"", "once only"),
)

if __name__ == "__main__":
    run([golden_files, golden_lists, golden_files_of_squid,
         every_cut_is_found, several_files, what_has_no_end, as_json,
         deltas_need_their_base,
         *(row_test(row, AT) for row in ROWS)])

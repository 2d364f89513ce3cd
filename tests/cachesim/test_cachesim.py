#!/usr/bin/env python3
"""cachesim: the trace that is read, what is told of it, exit codes."""

import json

from harness import cachesim, folder_of, result, rows, run

TRACE = b"""time,client,url,size
1,a,http://a.example/1,10
2,b,http://a.example/2,20
3,a,http://a.example/1,10
4,b,http://a.example/3,40
5,b,http://a.example/1,10
"""
CLF = (b'h - - [01/Jan/2000:00:00:00 +0000] "GET /x HTTP/1.0" 200 5\n'
       b"nonsense\n"
       b'h - - [01/Jan/2000:00:00:01 +0000] "GET /x HTTP/1.0" 200 5\n')
FOLDER = folder_of({"t.csv": TRACE, "t.log": CLF, "empty.csv": b""})
AT = FOLDER.name


def info_of_a_trace():
    got = result("info", "t.csv", cwd=AT)
    assert got["kind"] == "info" and got["about"]["trace"] == "t.csv"
    row = got["rows"][0]
    assert row["requests"] == 5 and row["objects"] == 3
    assert row["clients"] == 2 and row["infinite_size"] == 70
    assert row["bytes"] == 90 and row["one_hit_objects"] == 2
    assert abs(row["max_hit_ratio"] - 2 / 5) < 1e-9


def first_requests_only():
    row = rows("info", "t.csv", "-n", "2", cwd=AT)[0]
    assert row["requests"] == row["objects"] == 2
    assert row["infinite_size"] == 30


def result_goes_to_a_file():
    for name, args in (("r.json", ()), ("r.csv", ()), ("r", ("--csv",))):
        code, out, err = cachesim("info", "t.csv", "-o", name, *args, cwd=AT)
        assert (code, out, err) == (0, b"", "")
        with open(f"{AT}/{name}", encoding="utf-8") as f:
            text = f.read()
        if name.endswith("json"):
            assert json.loads(text)["rows"][0]["objects"] == 3
        else:
            assert text.startswith("# cachesim 1 info\n# trace: t.csv\n")


def bad_records_are_named():
    code, out, err = cachesim("info", "t.log", cwd=AT)
    assert code == 0 and b"bad records" in out
    assert "t.log:2: " in err and "1 records were" in err
    assert cachesim("info", "-q", "t.log", cwd=AT)[2] == ""
    code, out, err = cachesim("info", "--strict", "t.log", cwd=AT)
    assert code == 1 and out == b"" and "t.log" in err


def conversions_keep_what_they_can():
    """A generated trace through every form; what it is stays the same."""
    assert cachesim("generate", "ucb,requests=20000,seed=3", "-o", "g.csv",
                    cwd=AT)[0] == 0
    want = rows("info", "gen:ucb,requests=20000,seed=3")[0]
    assert rows("info", "g.csv", cwd=AT)[0] == want
    for form, lost in (("compact", ()), ("csv", ()),
                       ("oracleGeneral", ("clients",)),
                       ("keys", ("clients", "bytes", "infinite_size",
                                 "duration", "max_byte_hit_ratio"))):
        name = "g2." + form
        assert cachesim("convert", "-T", form, "-o", name, "g.csv",
                        cwd=AT)[0] == 0
        got = rows("info", name, cwd=AT)[0]
        for key, value in want.items():
            assert key in lost or got[key] == value, (form, key)
    code, out, _ = cachesim("convert", "-T", "csv", "g2.compact", cwd=AT)
    assert code == 2 and not out
    with open(f"{AT}/g.csv", "rb") as f:
        again = cachesim("convert", "-T", "csv", "-", data=f.read())[1]
    assert again == cachesim("generate", "ucb,requests=20000,seed=3")[1]


def presets_are_listed():
    presets = rows("generate", "--presets")
    assert [p["preset"] for p in presets] == ["dec", "ucb", "upisa",
                                              "questnet", "nlanr",
                                              "cdn", "zipf"]
    assert presets[0]["requests"] == 3543968
    assert presets[0]["hit_ratio"] == 0.49
    assert presets[5]["hit_ratio"] == 0.791 and presets[5]["churn"] == 7.5
    assert presets[6].get("hit_ratio") is None
    assert presets[6]["alpha"] == 0.9


ROWS = [
    # label, arguments, input, code, stdout, stderr
    ("no command", (), b"", 2, b"", "usage: cachesim COMMAND"),
    ("unknown command", ("nonsense",), b"", 2, b"", "no command"),
    ("two traces", ("info", "a", "b"), b"", 2, b"", "too many"),
    ("both forms", ("info", "-j", "-c"), b"", 2, b"", "one of them"),
    ("no file", ("info", "none"), b"", 3, b"", "none: No such file"),
    ("no requests", ("info", "empty.csv"), b"", 1, b"", "no requests"),
    ("bad format", ("info", "-f", "nonsense", "t.csv"), b"", 2, b"", "t.csv"),
    ("bad preset", ("info", "gen:nonsense"), b"", 2, b"", "nonsense: unknown"),
    ("bad option", ("info", "gen:ucb,seed=2,requests=1e6"), b"", 2, b"",
     ": requests=1e6: unknown option or value"),
    ("options at odds", ("info", "gen:dec,hit_ratio=0.9,once=0.5"), b"", 2, b"",
     "do not go together"),
    ("bad column", ("info", "-", "-f", "csv", "-t", "url,colour=2"), b"a,b\n",
     2, b"", "-: colour=2: unknown option"),
    ("bad place", ("info", "t.csv", "-o", "/none/x"), b"", 3, b"", "/none/x"),
    ("full disk", ("info", "t.csv", "-o", "/dev/full"), b"", 3, b"", "full"),
    ("no operand", ("convert",), b"", 2, b"", "no trace is named"),
    ("bad form", ("convert", "-T", "x", "t.csv"), b"", 2, b"", "is not compa"),
    ("no place", ("convert", "t.csv", "-o", "/none/x"), b"", 3, b"", "/none"),
    ("full", ("generate", "ucb,requests=99", "-o", "/dev/full"), b"", 3, b"",
     "/dev/full"),
    ("stdin", ("info", "-"), TRACE, 0, b"objects", ""),
    ("version", ("--version",), b"", 0, b"cachesim ", ""),
]

TESTS = [info_of_a_trace, first_requests_only, result_goes_to_a_file,
         bad_records_are_named, conversions_keep_what_they_can,
         presets_are_listed]
TESTS += [cachesim.row_test(row, AT) for row in ROWS]

if __name__ == "__main__":
    run(TESTS)

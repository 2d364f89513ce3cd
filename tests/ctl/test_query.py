#!/usr/bin/env python3
"""digestctl query and info: URLs as arguments and lines, JSON, exit codes."""

import json

from harness import KEY, built, ctl, folder_of, row_test, run, urls

FOLDER = folder_of({"d": built(range(100)), "cut": built(range(100))[:-1]})
AT = FOLDER.name
QUERY = ("query", "-k", KEY)
HAS, HAS_NOT = "http://a.example/7", "http://a.example/no"


def lines_of_standard_input():
    """As the same URLs in arguments, and beside them."""
    there = urls(range(200))
    args = [line.decode() for line in there.splitlines()]
    by_args = ctl(*QUERY, "d", *args, cwd=AT)
    assert ctl(*QUERY, "d", "-", data=there, cwd=AT) == by_args
    assert by_args[0] == 1 and by_args[1].count(b"yes ") >= 100
    assert ctl(*QUERY, "d", "-", data=b"\n" + there.replace(b"\n", b"\r\n\n"),
               cwd=AT) == by_args
    code, out, _ = ctl(*QUERY, "d", HAS, "-", HAS, data=urls((1, 2)), cwd=AT)
    assert (code, out.count(b"yes ")) == (0, 4)
    code, out, err = ctl(*QUERY, "d", "-", cwd=AT,
                         data=b"http://h/".ljust(70000) + b"\n" + HAS.encode())
    assert code == 1 and out.count(b"yes") == 1 and "too long" in err


def as_json():
    code, out, _ = ctl(*QUERY, "--json", "d", HAS, HAS_NOT, cwd=AT)
    assert code == 1
    assert json.loads(out) == [{"url": HAS, "has": True},
                               {"url": HAS_NOT, "has": False}]


ROWS = (
    ("has it", (*QUERY, "d", HAS), b"", 0, b"yes http://a.example/7\n", ""),
    ("has it not", (*QUERY, "d", HAS, HAS_NOT), b"", 1,
     b"no  http://a.example/no\n", ""),
    ("quiet: has it", (*QUERY, "-q", "d", HAS), b"", 0, b"", ""),
    ("quiet: has it not", (*QUERY, "-q", "d", HAS_NOT), b"", 1, b"", ""),
    ("no URL", (*QUERY, "d", "nonsense"), b"", 1, b"",
     "digestctl: nonsense: not an absolute"),
    ("no URL in a line", (*QUERY, "d", "-"), b"x y\n", 1, b"", "x y: not an"),
    ("no lines", (*QUERY, "d", "-"), b"", 0, b"", ""),
    ("no key", ("query", "d", HAS), b"", 2, b"", "d: --key is needed"),
    ("cut", (*QUERY, "cut", HAS), b"", 1, b"", "cut: input ends too early"),
    ("missing", (*QUERY, "no", HAS), b"", 3, b"", "no: No such file"),
    ("stdin twice", (*QUERY, "-", "-"), b"", 2, b"", "once only"),
    ("nothing asked", (*QUERY, "d"), b"", 2, b"", "usage: digestctl query"),
    ("info, missing", ("info", "no"), b"", 3, b"", "no: No such file"),
    ("info, cut", ("info", "cut"), b"", 1, b"", "cut: input ends too early"),
)

if __name__ == "__main__":
    run([lines_of_standard_input, as_json,
         *(row_test(row, AT) for row in ROWS)])

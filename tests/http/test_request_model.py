#!/usr/bin/env python3
"""The parser of requests and its slow twin (request_model.py) on what clients
might send: they accept the same, with the same meaning, and what one refuses
the other does not take, whole or with more behind it. TAP. SCD_TEST_LONG:
fifty times as many.
"""

import os
import pathlib
import re
import sys

TOP = pathlib.Path(os.environ.get("top_srcdir", "."))
sys.dont_write_bytecode = True
sys.path.insert(0, str(TOP / "tests" / "http"))

import request_messages  # noqa: E402
import request_model as model  # noqa: E402
import request_parser  # noqa: E402

SLOW = max(1, int(os.environ.get("SCD_TEST_SLOW", "1")))
MESSAGES = 1000000 if os.environ.get("SCD_TEST_LONG") else 20000 // SLOW
STEPS = (1, 7, 64, 100000)

# What may make a message whole.
ENDS = (b"", b"\n", b"\r\n", b"\n\r\n", b"\r\n\r\n",
        b"\r\nHost: h\r\n\r\n", b"\nHost: h\r\n\r\n", b"Host: h\r\n\r\n",
        b": b\r\nHost: h\r\n\r\n", b": b\r\n\r\n", b": chunked\r\n\r\n",
        b" / HTTP/1.1\r\nHost: h\r\n\r\n", b"/ HTTP/1.1\r\nHost: h\r\n\r\n",
        b" HTTP/1.1\r\nHost: h\r\n\r\n", b"HTTP/1.1\r\nHost: h\r\n\r\n",
        b"1.1\r\nHost: h\r\n\r\n", b".1\r\nHost: h\r\n\r\n",
        b"1\r\nHost: h\r\n\r\n", b"0\r\n\r\n", b"\r\n0\r\n\r\n",
        b"\n0\r\n\r\n", b"h\r\n\r\n")


def could_become_whole(data, at):
    """Whether there is something that, put behind it, makes a good request."""
    before = model.read(data)
    return any(model.read(data + end)[3] > before[3]
               for end in ENDS if end or at < len(data))


def plausible(status, rest):
    """Whether a status may be right for what is no head at all."""
    line = rest[2:] if rest.startswith(b"\r\n") else rest
    words = re.split(rb"[\r\n]", line)[0].split(b" ")
    return {
        400: True,
        414: len(words) > 1 and len(words[1]) > model.MAX_TARGET,
        417: re.search(rb"(?i)\nexpect:", rest),
        431: (len(rest) > model.MAX_HEADER or
              rest.count(b"\n") > model.MAX_FIELDS),
        501: (len(words[0]) > 32 or
              re.search(rb"(?i)\ntransfer-encoding:", rest)),
        505: (len(words) > 2 and
              not re.fullmatch(rb"HTTP/1\.[0-9]", words[2])),
    }[status]


def complaint(data, ours):
    """What is wrong with the parser's text, or None."""
    text, end, faults, at = model.read(data)
    last = ours.rsplit("\n", 1)[-1]
    if not ours.startswith(text):
        return "another text"
    if end or faults is None and last == "idle":
        return None if ours == text + (end or "") else "another end"
    if not re.fullmatch(r"more|refused \d+", last):
        return "it is not whole, or wrong"
    status = int(last.split()[1]) if last != "more" else None
    if faults:
        return None if status in faults else f"should be one of {faults}"
    if not status:
        in_head = ours == text + last
        whole = in_head and b"\r\n\r\n" in data[at + 2:]
        return "should be refused" if whole else None
    if not plausible(status, data[at:]):
        return "not this status"
    if could_become_whole(data, at):
        return "could become a request"
    return None


def agree(parser, seeds, counts):
    for seed in seeds:
        data = request_messages.connection(seed)[:16000]
        step = STEPS[seed % len(STEPS)]
        ours = parser.read(data, step)
        wrong = complaint(data, ours)
        if wrong:
            return f"seed {seed}: {wrong}\n{data!r}\n{ours}"
        last = ours.rsplit("\n", 1)[-1]
        counts[last] = counts.get(last, 0) + 1
        counts["requests"] = counts.get("requests", 0) + ours.count("\n. ")
    return None


def main():
    parser = request_parser.Parser()
    counts = {}
    print("1..3")
    wrong = agree(parser, range(MESSAGES), counts)
    for line in (wrong or "").splitlines():
        print("# " + line)
    print(("not " if wrong else "") + f"ok 1 - {MESSAGES} connections: "
          "parser and model agree")
    for name in sorted(counts):
        print(f"# {name}: {counts[name]}")
    enough = SLOW > 1 or all(counts.get(e, 0) > MESSAGES / 10000 for e in (
        "idle", "close", "more", "preface", "refused 400", "refused 417",
        "refused 414", "refused 431", "refused 501", "refused 505"))
    print(("" if enough else "not ") +
          "ok 2 - all ends were met, or few were tried")
    print(("not " if parser.end() else "") + "ok 3 - the parser ended well")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

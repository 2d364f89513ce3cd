#!/usr/bin/env python3
"""What the parser of requests accepts, other programs read alike: method,
target, fields, body, and where the next request begins; or DIFFERENCES says why
not. Mutated connections (tests/http/request_messages.py) are cut behind the
last request that is accepted, and a last one is put there, which all have to
find. TAP. 10,000 connections; SCD_TEST_LONG: 10^6. By hand, to look at one:

    tests/differential/test_readers.py SEED...
"""

import os
import pathlib
import re
import sys
import tempfile

TOP = pathlib.Path(os.environ.get("top_srcdir", "."))
sys.dont_write_bytecode = True
sys.path[:0] = [str(TOP / "tests" / "http"),
                str(TOP / "tests" / "differential")]

import readers  # noqa: E402
import request_messages  # noqa: E402
import request_parser  # noqa: E402

SLOW = max(1, int(os.environ.get("SCD_TEST_SLOW", "1")))
CONNECTIONS = 1000000 if os.environ.get("SCD_TEST_LONG") else 10000 // SLOW
LAST = b"GET /last HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"

# Fields of a connection, which a proxy does not hand on as they came.
OF_CONNECTION = {b"connection", b"content-length", b"expect", b"host",
                 b"keep-alive", b"proxy-connection", b"te",
                 b"transfer-encoding", b"upgrade"}


def expected_fields(request, reader):
    """The fields that a reader should show."""
    if reader == "libmicrohttpd":
        return request.fields
    fields = [(name, value) for name, value in request.fields
              if name.lower() not in OF_CONNECTION]
    if reader == "haproxy":
        fields = [(name.lower(), value) for name, value in fields]
    return fields


def shown_fields(reading, reader):
    """Without the blanks around values, of which nginx keeps tabs and
    libmicrohttpd all at the end: they mean nothing."""
    return [(name, value.strip(b" \t")) for name, value in reading.fields
            if name.lower() not in OF_CONNECTION or reader == "libmicrohttpd"]


def targets(request, reader):
    """What a reader may make of the target."""
    if reader == "nginx" and request.form == "a":
        path = request.path
        return {path if path.startswith(b"/") else b"/" + path}
    return {request.target}


def hosts(fields):
    return [value.lower() for name, value in fields if name.lower() == b"host"]


def leaves_root(request):
    """Whether the path, decoded, has more ".." than other segments."""
    depth = 0
    path = re.sub(rb"%([0-9a-fA-F]{2})",
                  lambda match: bytes([int(match[1], 16)]),
                  request.path.split(b"?")[0])
    for segment in path.split(b"/"):
        depth += (-1 if segment == b".." else
                  1 if segment not in (b"", b".") else 0)
        if depth < 0:
            return True
    return False


def has_bad_escape(request):
    return re.search(rb"%(?![0-9a-fA-F]{2})|%00",
                     request.path.split(b"?")[0])


def host_differs_in_bytes(request):
    """Of an absolute target: another case, a dot, or a port that is implied."""
    return (request.form == "a" and request.authority not in
            request.values(b"host"))


def has_framing_trailer(request):
    return "t" in request.flags and re.search(
        rb"(?i)\r\n0+(;[^\r]*)?\r\n([^\r]+\r\n)*"
        rb"(transfer-encoding|content-length|host):", request.bytes)


def has_blanks_around(request):
    """Around what frames or routes it: more than one space before it."""
    return re.search(rb"(?i)\n(content-length|transfer-encoding|host):"
                     rb"(?! ?[^ \t\r]+\r)", request.bytes)


def has_chunk_extension(request):
    return re.search(rb"\r\n[0-9A-Fa-f]+[ \t]*;", request.bytes)


def has_odd_cookie(request):
    return any(value.count(b'"') % 2 for value in request.values(b"cookie"))


def closes_and_keeps(request):
    options = b",".join(request.values(b"connection")).lower()
    return b"close" in options and b"keep-alive" in options


# Why a reader refuses what the parser accepts, or reads something else: reader,
# status of its refusal or the part that differs, which requests, why.
DIFFERENCES = (
    ("nginx", 400, lambda r: not re.fullmatch(rb"[A-Z_-]+", r.method),
     "it takes methods of capital letters only"),
    ("nginx", 400, leaves_root, "it resolves paths, and this one leaves /"),
    ("nginx", 400, has_bad_escape, "it decodes paths, and this is no escape"),
    ("nginx", 400, lambda r: r.form == "*", "it serves paths only"),
    ("nginx", 400, lambda r: len(r.values(b"expect")) > 1,
     "it refuses what it knows and is there twice"),
    ("nginx", 400, lambda r: r.form == "a" and
     not re.fullmatch(rb"\[.*|[A-Za-z0-9._-]+(:[0-9]*)?", r.authority),
     "it takes no other bytes in the host of a target"),
    ("nginx", 400, has_blanks_around, "it takes tabs for part of a value"),
    ("nginx", 501, has_blanks_around, "it takes tabs for part of a value"),
    ("nginx", 431, has_odd_cookie, "libmicrohttpd behind it refuses"),
    ("nginx", "more", closes_and_keeps, "it believes the last"),
    ("nginx", "fewer", lambda r: any(b"close" in value.lower() for value in
                                     r.values(b"connection")),
     "it closes after whatever has these letters"),
    ("nginx", "target", lambda r: r.path.endswith(b"?"),
     "it leaves out an empty query"),
    ("haproxy", 400, lambda r: r.form == "a" and not r.path.startswith(b"/"),
     "it demands a path"),
    ("haproxy", 400, host_differs_in_bytes,
     "it compares target and Host byte by byte"),
    ("haproxy", 400, lambda r: b"," in b"".join(r.values(b"host")),
     "3.0 takes it for a list of hosts"),
    ("haproxy", 400,
     lambda r: b"websocket" in b",".join(r.values(b"upgrade")).lower(),
     "it demands Sec-WebSocket-Key"),
    ("haproxy", 413, lambda r: not r.minor and r.body and r.method in
     (b"GET", b"HEAD", b"DELETE"), "no body in these in HTTP/1.0"),
    ("haproxy", "target", lambda r: r.form == "a",
     "it leaves out the port that the scheme implies"),
    ("haproxy", 400, has_framing_trailer, "it demands that they are not there"),
    ("haproxy", 431, has_odd_cookie, "libmicrohttpd behind it refuses"),
    ("libmicrohttpd", 431, has_odd_cookie, "it fails to read its cookies"),
    ("libmicrohttpd", 400, has_blanks_around, "blanks are part of a length"),
    ("libmicrohttpd", 400, has_chunk_extension, "1.0 takes few of them"),
    ("libmicrohttpd", "fewer", has_blanks_around,
     "blanks are part of a coding, which it waits for in vain"),
    ("libmicrohttpd", "fewer", lambda r: r.values(b"expect"),
     "it closes after 100 (Continue) if nothing comes behind its buffer"),
)


def excused(reader, what, request):
    return any(row[0] == reader and row[1] == what and row[2](request)
               for row in DIFFERENCES)


def difference(request, reading, reader):
    """The part that differs, or None."""
    if reading.method is None:
        return reading.status
    if reading.method != request.method:
        return "method"
    if reading.target not in targets(request, reader):
        return "target"
    if shown_fields(reading, reader) != expected_fields(request, reader):
        return "fields"
    if hosts(reading.fields) != (hosts(request.fields) or [b"none"]) and (
            reader != "libmicrohttpd"):
        return "host"
    if reading.body != request.body:
        return "body"
    return None


def compare(requests, found, reader):
    """What is wrong with what a reader made of a connection, or None."""
    for request, reading in zip(requests, found):
        what = difference(request, reading, reader)
        if what is None:
            continue
        if not excused(reader, what, request):
            return (f"{what} of {request.method} {request.target}: "
                    f"{reading.method} {reading.target} {reading.fields} "
                    f"{reading.body}")
        if reading.method is None and len(found) < len(requests):
            return None  # it refused, and closed
    if len(found) == len(requests):
        return None
    if len(found) < len(requests):
        around = requests[max(len(found) - 1, 0):len(found) + 1]
        if any(excused(reader, "fewer", request) for request in around):
            return None
    elif excused(reader, "more", requests[-1]):
        return None
    return f"{len(found)} requests in place of {len(requests)}"


def connection(parser, seed):
    """Bytes that are accepted to their end, and the requests in them. Without
    CONNECT: behind that there is a tunnel, if anything."""
    data = request_messages.connection(seed)[:8000]
    requests, kept = parser.requests(data)
    while requests and requests[-1].form == "c":
        requests.pop()
        kept = True
    if not requests or any(r.form == "c" for r in requests):
        return None, []
    data = data[:requests[-1].end]
    if kept:
        data += LAST
        requests, _ = parser.requests(data)
    return data, requests


class Tally:
    def __init__(self):
        self.connections = self.requests = 0
        self.wrong = {}

    def add(self, reader, seed, wrong, data):
        rows = self.wrong.setdefault(reader, [])
        rows.append(f"seed {seed}: {wrong}\n{data!r}")


def look(parser, others, seeds, tally):
    for seed in seeds:
        data, requests = connection(parser, seed)
        if not data:
            continue
        tally.connections += 1
        tally.requests += len(requests)
        methods = [request.method for request in requests]
        for other, answer in zip(others, readers.send(others, data)):
            found = readers.readings(answer, methods)
            wrong = compare(requests, found, other.name)
            if wrong:
                tally.add(other.name, seed, wrong, data)


def main():
    seeds = [int(seed) for seed in sys.argv[1:]] or range(CONNECTIONS)
    parser, tally = request_parser.Parser(), Tally()
    with tempfile.TemporaryDirectory() as folder:
        others, missing = readers.start(folder)
        print(f"1..{len(others) + len(missing) + 1}")
        look(parser, others, seeds, tally)
        number = 0
        for other in others:
            number += 1
            wrong = tally.wrong.get(other.name, [])
            print(("not " if wrong else "") + f"ok {number} - {other.name} "
                  f"reads {tally.requests} requests alike")
            for line in "\n".join(wrong[:5]).splitlines():
                print("# " + line)
            if wrong:
                print(f"# {len(wrong)} connections in all")
        for name in missing:
            number += 1
            print(f"ok {number} - {name} # SKIP {name} is not installed: "
                  "nothing was compared with it")
        for other in reversed(others):
            other.end()
    enough = sys.argv[1:] or tally.requests > len(seeds)
    print(("" if enough else "not ") + f"ok {number + 1} - "
          f"{tally.connections} connections were accepted")
    return 1 if tally.wrong else parser.end()


if __name__ == "__main__":
    sys.exit(main())

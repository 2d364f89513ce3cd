"""The parser of requests (tests/http/read_requests) as a process, to which
connections are given, and the requests in the text that it prints.
"""

import os
import pathlib
import re
import struct
import subprocess

BUILD = pathlib.Path(os.environ.get("top_builddir", "."))


def unescape(text):
    return re.sub(rb"\\x([0-9a-f]{2})",
                  lambda match: bytes([int(match[1], 16)]), text.encode())


class Request:
    """A request of the text: see request_text.h."""

    def __init__(self, line):
        words = [unescape(word) for word in line.split(" ")]
        self.method, self.target, form, self.authority, self.path, flags = words
        self.form, self.flags = form.decode(), flags.decode()
        self.path = b"" if self.path == b"-" else self.path
        self.minor, self.keep = int(self.flags[0]), "k" in self.flags
        self.fields, self.trailer, self.body = [], [], b""
        self.end = self.bytes = None  # until it is whole

    def add(self, line):
        mark, rest = line[0], line[2:]
        if mark in ":+":
            name, value = rest.split(": ", 1)
            fields = self.fields if mark == ":" else self.trailer
            fields.append((unescape(name), unescape(value)))
        elif mark == "=":
            self.body = unescape(rest)
        elif mark == ".":
            self.end = int(rest)

    def values(self, name):
        return [v for n, v in self.fields if n.lower() == name]


class Parser:
    def __init__(self):
        self.process = subprocess.Popen(
            [BUILD / "tests" / "http" / "read_requests"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def read(self, data, step):
        """The text of a connection whose bytes come so many at a time."""
        self.process.stdin.write(struct.pack("II", step, len(data)) + data)
        self.process.stdin.flush()
        size, = struct.unpack("I", self.process.stdout.read(4))
        return self.process.stdout.read(size).decode()

    def requests(self, data):
        """The whole requests, and whether there may be another behind them."""
        found, at = [], 0
        for line in self.read(data, 100000).split("\n")[:-1]:
            if line[:2] in (": ", "^ ", "= ", "+ ", ". "):
                found[-1].add(line)
                if found[-1].end is not None:
                    found[-1].bytes = data[at:found[-1].end]
                    at = found[-1].end
            else:
                found.append(Request(line))
        if found and found[-1].end is None:
            found.pop()
        return found, bool(found) and found[-1].keep

    def end(self):
        self.process.stdin.close()
        return self.process.wait()

"""Requests read from the grammar of docs/REQUESTS.md, as slowly as may be: the
expressions are the ABNF's, a message is read when it is whole, and all faults
of it are listed, not the first. The text is that of request_text.h.
"""

import ipaddress
import re

MAX_TARGET, MAX_HEADER, MAX_FIELDS = 300, 1000, 100  # as in read_requests.c
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
TBYTE = rb"[A-Za-z0-9\-._~:/\[\]@!$&'()*+,;=%^`{|}]"
TARGET = rb"(?:%s)*(?:\?(?:%s|[?\\])*)?" % (TBYTE, TBYTE)
FIELD = rb"%s:[\t\x20-\x7e\x80-\xff]*\r\n" % TOKEN
HEAD = re.compile(rb"(?:\r\n)?(?P<method>%s) (?P<target>%s) HTTP/1\."
                  rb"(?P<minor>[0-9])\r\n(?P<fields>(?:%s)*)\r\n"
                  % (TOKEN, TARGET, FIELD))
ABSOLUTE = re.compile(rb"(?P<scheme>https?)://(?P<authority>[^/?]*)"
                      rb"(?P<path>.*)", re.I | re.S)
HBYTE = rb"(?:[A-Za-z0-9\-._~!$&'()*+,;=]|%[0-9A-Fa-f]{2})"
AUTHORITY = re.compile(rb"(?P<host>\[[^\]]*\]|%s+)(?::(?P<port>[0-9]*))?"
                       % HBYTE)
SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})((?:;[\t\x20-\x7e\x80-\xff]*)?)\r\n")
TRAILER = re.compile(rb"((?:%s)*)\r\n" % FIELD)

DROPPED = set(b"""
    authorization cache-control cdn-loop connection content-encoding
    content-length content-range content-type cookie expect forwarded host
    if-match if-modified-since if-none-match if-range if-unmodified-since
    keep-alive max-forwards pragma proxy-authenticate proxy-authentication-info
    proxy-authorization proxy-connection range te trailer transfer-encoding
    upgrade via x-http-method x-http-method-override x-method-override
""".split())


def escape(part, blanks=False):
    return "".join(
        chr(c) if 0x20 < c < 0x7f and c != 0x5c or c == 0x20 and blanks
        else f"\\x{c:02x}" for c in part)


def split_authority(text):
    """Host in lower case and port; None when it is no authority."""
    match = AUTHORITY.fullmatch(text)
    if not match or len(text) > 300:
        return None
    host, port = match["host"], match["port"]
    if port and not 1 <= int(port) <= 65535:
        return None
    if host.startswith(b"["):
        try:
            if b"%" in host:
                return None
            ipaddress.IPv6Address(host[1:-1].decode("latin-1"))
        except ValueError:
            return None
    elif host.endswith(b"."):
        host = host[:-1]
        if not host or host.endswith(b"."):
            return None
    return host.lower(), int(port) if port else 0


def split_fields(block):
    pairs = (line.split(b":", 1) for line in block.split(b"\r\n")[:-1])
    return [(name, value.strip(b" \t")) for name, value in pairs]


class Request:
    """A head that the grammar has; what is wrong with it is in faults."""

    def __init__(self, match):
        self.method, self.target = match["method"], match["target"]
        self.minor = int(match["minor"] != b"0")
        self.fields = split_fields(match["fields"])
        self.header_len = len(match["fields"]) + 2
        self.end = match.end()
        self.faults = set()
        self.form, self.authority, self.path, self.https = "", b"", b"", False
        self.check_sizes()
        self.check_target()
        self.check_host()
        self.check_framing()
        self.check_rest()

    def values(self, name):
        return [v for n, v in self.fields if n.lower() == name]

    def options(self):
        return [option.strip(b" \t").lower() for value in
                self.values(b"connection") for option in value.split(b",")]

    def check(self, status, good):
        if not good:
            self.faults.add(status)

    def check_sizes(self):
        self.check(501, len(self.method) <= 32)
        self.check(414, len(self.target) <= MAX_TARGET)
        self.check(431, self.header_len <= MAX_HEADER)
        self.check(431, len(self.fields) <= MAX_FIELDS)

    def check_target(self):
        absolute = ABSOLUTE.fullmatch(self.target)
        if self.method == b"CONNECT":
            self.form, self.authority = "c", self.target
            parts = split_authority(self.target)
            self.check(400, parts and parts[1])
        elif self.target.startswith(b"/"):
            self.form, self.path = "o", self.target
        elif self.target == b"*":
            self.form = "*"
            self.check(400, self.method == b"OPTIONS")
        elif absolute:
            self.form, self.path = "a", absolute["path"]
            self.authority = absolute["authority"]
            self.https = absolute["scheme"].lower() == b"https"
            self.check(400, split_authority(self.authority))
        else:
            self.check(400, False)

    def check_host(self):
        hosts = self.values(b"host")
        self.check(400, len(hosts) == 1 or not hosts and not self.minor)
        for host in hosts:
            self.check(400, split_authority(host))
        if hosts and self.form in ("o", "*"):
            self.authority = hosts[0]
        if hosts and self.form == "a" and not self.faults:
            default = 443 if self.https else 80
            one, two = (split_authority(a) for a in (self.authority, hosts[0]))
            self.check(400, (one[0], one[1] or default) ==
                       (two[0], two[1] or default))

    def check_framing(self):
        lengths = self.values(b"content-length")
        codings = self.values(b"transfer-encoding")
        self.check(400, len(lengths) <= 1 and len(codings) <= 1)
        self.check(400, not (lengths and codings))
        self.check(400, self.minor or not codings)
        for length in lengths:
            self.check(400, re.fullmatch(rb"[0-9]{1,18}", length))
        for coding in codings:
            self.check(501, coding.lower() == b"chunked")
        self.chunked = bool(codings)
        self.length = int(lengths[0]) if lengths and not self.faults else 0

    def check_rest(self):
        options = self.options()
        self.check(400, not {b"host", b"content-length",
                             b"transfer-encoding"} & set(options))
        for value in self.values(b"expect"):
            self.check(417, value.lower() == b"100-continue")
        self.keep = b"close" not in options and (
            self.minor or b"keep-alive" in options)
        upgrades = self.values(b"upgrade")
        self.upgrade = b""
        if (len(upgrades) == 1 and b"upgrade" in options and self.minor and
                self.method == b"GET" and not self.chunked and
                not self.length):
            self.upgrade = upgrades[0]

    def text(self):
        flags = (str(self.minor) + "k" * bool(self.keep) +
                 "e" * bool(self.minor and self.values(b"expect")) +
                 "s" * self.https + "t" * self.chunked)
        words = [escape(self.method), escape(self.target), self.form,
                 escape(self.authority) or "-", escape(self.path) or "-", flags]
        lines = [" ".join(words)]
        lines += [f": {escape(n)}: {escape(v, True)}" for n, v in self.fields]
        if self.upgrade:
            lines.append("^ " + escape(self.upgrade, True))
        return "".join(line + "\n" for line in lines)


def read_chunks(data, at):
    """Body and place behind its last chunk's line; None: not whole, or bad."""
    body, extensions = b"", 0
    while True:
        match = SIZE.match(data, at)
        if not match or len(match[2]) > 256:
            return None
        extensions += len(match[2])
        size, at = int(match[1], 16), match.end()
        if extensions > 16384:
            return None
        if not size:
            return body, at
        body += data[at:at + size]
        at += size
        if data[at:at + 2] != b"\r\n":
            return None
        at += 2


def read_body(request, data):
    """Text of the body and the place behind it; None: not whole, or bad."""
    at = request.end
    trailer = []
    if request.chunked:
        found = read_chunks(data, at)
        match = found and TRAILER.match(data, found[1])
        if not match or (len(match[1]) + request.header_len > MAX_HEADER):
            return None
        body, at = found[0], match.end()
        trailer = split_fields(match[1])
        if len(trailer) > MAX_FIELDS:
            return None
    else:
        body = data[at:at + request.length]
        at += request.length
        if len(body) < request.length:
            return None
    text = f"= {escape(body, True)}\n" if body else ""
    for name, value in trailer:
        if name.lower().replace(b"_", b"-") not in DROPPED:
            text += f"+ {escape(name)}: {escape(value, True)}\n"
    return text, at


def read(data):
    """
    The text of all that is whole and good, how the reading ended (None: with
    what is neither), the faults of what comes next, if it is a head, and the
    place where that begins.
    """
    text, at = "", 0
    while at < len(data):
        if data.startswith(PREFACE, at):
            return text, "preface", None, at
        match = HEAD.match(data, at)
        if not match:
            return text, None, None, at
        request = Request(match)
        if request.faults:
            return text, None, request.faults, at
        text += request.text()
        body = read_body(request, data)
        if not body:
            return text, None, None, match.end()
        text += f"{body[0]}. {body[1]}\n"
        at = body[1]
        if not request.keep:
            return text, "close", None, at
    return text, "idle", None, at

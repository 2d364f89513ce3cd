"""Cache poisoning: whatever an attacker sends, the victim gets what it would
have got without.

Each row is a page of an origin, what an attacker sends for it, and a victim's
GET. The same GET for another host, where nobody attacks, has to be answered in
the same way. Where a cache cannot know that a field counts, the row has what
the operator has to say: Vary at the origin, or a rule of the site.
"""

import re
from typing import NamedTuple

import pytest

import cluster as scd
import dialects
from attacks import Http2, Sent, send
from servers import response

HOST, CLEAN = "www.example.com", "www.example.org"
RULES = """site "*" {
	rule "/drop/**" { key { drop = "utm_*" } }
	rule "/keep/**" { key { keep = "id" } }
	rule "/codings/**" { key { encodings = true } }
	rule "/cookies/**" { key { cookies = "lang" } }
	rule "/pass/**" { pass = true }
	rule "/static/**" { fresh_least = 1h }
	rule status 406 { fresh_most = 0s }
}"""
FRESH = {"Cache-Control": "max-age=60"}
HIDDEN = f"GET /~{dialects.HIDDEN} HTTP/1.1\r\nHost: HOST\r\n\r\n"


class Row(NamedTuple):
    name: str
    page: object  # answers a request, as bytes
    attack: tuple  # messages: text with PATH and HOST, or another of Sent
    victim: dict = {}  # fields
    rest: str = ""  # of the victim's target, behind PATH
    rule: str = ""  # what its path begins with
    dialect: str = "chunks"  # how the origin reads requests
    before: tuple = ()  # messages of others
    stored: bool = True  # what the victim gets
    hidden: int = 0  # messages that such an origin takes for requests


# Messages

def ask(*fields, path="PATH", method="GET", host="HOST", body="", end="\r\n"):
    return end.join([f"{method} {path} HTTP/1.1", f"Host: {host}",
                     *fields, "", body])


# Pages

def page(body="right", status=200, **fields):
    fields = {k.replace("_", "-"): v for k, v in fields.items()}
    return response(status, {**FRESH, **fields}, body.encode())


def right(_):
    return page()


def reflects(name, **fields):
    """Makes a link of what a field says."""
    return lambda r: page(f"link {r.claim(name)}", **fields)


def varies(name, *others):
    """By fields, and says so."""
    names = (name,) + others
    return lambda r: page(" ".join(str(r.claim(n)) for n in names),
                          Vary=", ".join(names))


def odd(answer, name="X-Odd"):
    """Another answer, as bytes, to a request with a field."""
    return lambda r: page() if r.claim(name) is None else answer


def fails(status, name="X-Odd", fields=None, body=b"error"):
    return odd(response(status, fields or {}, body), name)


def by_target(r):
    return page(f"page {r.target} of {r.get('Host')}")


def by_body(r):
    return page("body " + r.body.decode("latin-1"))


def by_method(r):
    return page(f"{r.claim('X-HTTP-Method-Override') or r.method} "
                f"{r.claim('X-HTTP-Method')} {r.claim('X-Method-Override')}")


ODD = ask("X-Odd: 1")
OK = b"HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n"
EVIL = OK + b"Content-Length: 4\r\n\r\nevil"


# What origins believe that stands in a field, and nobody says in Vary

CLAIMS = [Row("claim-" + name.lower().replace("_", "-us-"), reflects(name),
              (ask(f"{name}: {value}"),)) for name, value in (
    ("X-Forwarded-Host", "evil.example"), ("X_Forwarded_Host", "evil.example"),
    ("X-Forwarded-Scheme", "nothttps"), ("X-Forwarded-Proto", "https"),
    ("X-Forwarded-Port", "1337"), ("X-Forwarded-Server", "evil.example"),
    ("X-Forwarded-Prefix", "/evil"), ("X-Forwarded-Ssl", "on"),
    ("X-Host", "evil.example"), ("X-HTTP-Host-Override", "evil.example"),
    ("X-Original-URL", "/evil"), ("X-Original-Host", "evil.example"),
    ("X-Rewrite-URL", "/evil"), ("Forwarded", "host=evil.example"),
    ("Front-End-Https", "on"), ("X-Url-Scheme", "evil"))]

METHODS = [Row("method-" + name.lower().replace("_", "-us-"), by_method,
               (ask(f"{name}: POST"),)) for name in (
    "X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override",
    "X_HTTP_Method_Override")]

# Fields that no cache can know: what the operator says

TOLD = [
    Row("unknown-field-vary", varies("X-Backend-Host"),
        (ask("X-Backend-Host: evil.example"),)),
    Row("unknown-field-pass", reflects("X-Backend-Host"),
        (ask("X-Backend-Host: evil.example"),), rule="/pass", stored=False),
    Row("origin-vary", varies("Origin"), (ask("Origin: null"),)),
    Row("origin-vary-two-lines", varies("X-A", "Origin"),
        (ask("Origin: null"), ask("Origin: null", "Origin: x"))),
    Row("vary-any", lambda r: page(str(r.claim("X-Any")), Vary="*"),
        (ask("X-Any: evil"),), stored=False),
    Row("vary-any-among-others",
        lambda r: page(str(r.claim("X-Any")), Vary="Accept, *"),
        (ask("X-Any: evil"),), stored=False),
    Row("cookie-vary", varies("Cookie"), (ask("Cookie: theme=evil"),)),
    Row("cookie-rule", reflects("Cookie"), (ask("Cookie: theme=evil"),),
        rule="/cookies"),
    Row("cookie-rule-quoted", reflects("Cookie", Vary="Cookie"),
        (ask('Cookie: a="; lang=evil; "; lang=de'),), rule="/cookies",
        victim={"Cookie": "lang=de"}),
    Row("coding-rule", lambda r: page(Content_Encoding=r.claim(
        "Accept-Encoding") or "identity"), (ask("Accept-Encoding: evil"),),
        rule="/codings"),
    Row("error-with-lifetime-rule", fails(406, "Accept", FRESH),
        (ask("Accept: evil/evil"),)),
    Row("trace-context-vary", varies("traceparent"),
        (ask("traceparent: 00-" + "e" * 32 + "-" + "e" * 16 + "-01"),)),
    Row("claim-of-peer-address-vary", varies("X-Forwarded-For"),
        (ask("X-Forwarded-For: 192.0.2.66"),), stored=False),
]

# Denial of service by an error that is stored

DENIALS = [
    Row("oversized-header", lambda r: page() if not r.claim("X-Long") else
        response(431, {}, b"large"), (ask("X-Long: " + "x" * 7000),)),
    Row("oversized-header-400", fails(400, "X-Long"),
        (ask(*(f"X-Long: {'x' * 90}" for _ in range(60))),)),
    Row("meta-character-refused", fails(400, "X-Meta"),
        (ask("X-Meta: a\x07b"), ask("X-Meta: a\x01"), ask("X-Meta: \x7f"))),
    Row("meta-character-passed", fails(400, "X-Meta"),
        (ask("X-Meta: ${jndi:x}'\"<>"),)),
    Row("server-error", fails(500), (ask("X-Odd: %s%s%n"),)),
    Row("not-implemented", fails(501), (ODD,)),
    Row("not-found", fails(404), (ODD,)),
    Row("gone", fails(410), (ODD,)),
    Row("moved", fails(301, fields={"Location": "/evil"}), (ODD,)),
    Row("found", fails(302, fields={"Location": "/evil"}), (ODD,)),
    Row("method-not-allowed", fails(405, "X-HTTP-Method-Override",
                                    dict(FRESH, Allow="POST")),
        (ask("X-HTTP-Method-Override: DELETE"),)),
    Row("expectation", fails(417, "Expect"),
        (ask("Expect: evil"), ask("Expect: 100-continue"))),
    Row("unauthorized", fails(401, "Authorization", FRESH),
        (ask("Authorization: Basic ZXZpbDo="),)),
    Row("unsupported-upgrade", fails(426, "Upgrade", FRESH),
        (ask("Connection: Upgrade", "Upgrade: evil/1"),)),
    Row("precondition-failed", fails(412, "If-Match", FRESH),
        (ask('If-Match: "evil"'),)),
    Row("precondition-by-date", fails(412, "If-Unmodified-Since", FRESH),
        (ask("If-Unmodified-Since: Sun, 06 Nov 1994 08:49:37 GMT"),)),
    Row("error-after-a-good-one", fails(400), (ask(), ODD)),
    Row("error-to-no-cache", fails(503),
        (ask(), ask("X-Odd: 1", "Cache-Control: no-cache"))),
    Row("many-forwards", fails(508, "Max-Forwards"), (ask("Max-Forwards: 0"),)),
    Row("unreadable-answer", odd(b"\x16\x03\x01 this is not HTTP\r\n\r\n"),
        (ODD,)),
]

# Requests within requests

POST = "POST PATH HTTP/1.1\r\nHost: HOST\r\n"
ENDED = "0\r\n\r\n" + HIDDEN


def hide(name, *lines, body=None, dialect="chunks", method="POST", **more):
    """A hidden request behind a body that the origin takes for shorter."""
    body = HIDDEN if body is None else body
    lines = [line.replace("LENGTH", str(len(body.replace("HOST", HOST))))
             for line in lines]
    return Row(name, by_method, (Sent(ask(*lines, method=method, body=body),
                                      **more),), dialect=dialect)


SMUGGLED = [
    hide("cl-te", "Content-Length: LENGTH", "Transfer-Encoding: chunked",
         body=ENDED),
    hide("te-cl", "Transfer-Encoding: chunked", "Content-Length: 4",
         body="%x\r\n%s\r\n0\r\n\r\n" % (len(HIDDEN) + 11, HIDDEN),
         dialect="last"),
    hide("te-te", "Transfer-Encoding: chunked", "Transfer-Encoding: identity",
         "Content-Length: LENGTH", body=ENDED),
    hide("te-other", "Transfer-Encoding: xchunked", "Content-Length: LENGTH",
         body=ENDED),
    hide("te-list", "Transfer-Encoding: identity, chunked",
         "Content-Length: LENGTH", body=ENDED),
    hide("te-blank-before-colon", "Transfer-Encoding : chunked",
         "Content-Length: LENGTH", body=ENDED),
    hide("te-control-in-name", "Transfer-Encoding\x0b: chunked",
         "Content-Length: LENGTH", body=ENDED),
    hide("te-folded", "X-A: b\r\n Transfer-Encoding: chunked",
         "Content-Length: LENGTH", body=ENDED),
    hide("te-folded-value", "Transfer-Encoding:\r\n chunked",
         "Content-Length: LENGTH", body=ENDED),
    hide("te-behind-lf", "X-A: b\nTransfer-Encoding: chunked",
         "Content-Length: LENGTH", body=ENDED),
    hide("te-behind-cr", "X-A: b\rTransfer-Encoding: chunked",
         "Content-Length: LENGTH", body=ENDED),
    hide("te-behind-nul", "X-A: b\0\r\nTransfer-Encoding: chunked",
         "Content-Length: LENGTH", body=ENDED),
    hide("te-named-by-connection", "Connection: Transfer-Encoding",
         "Transfer-Encoding: chunked", body="%x\r\n%s\r\n0\r\n\r\n" % (
             len(HIDDEN) + 11, HIDDEN), dialect="none"),
    hide("cl-named-by-connection", "Connection: Content-Length",
         "Content-Length: LENGTH", dialect="none"),
    hide("cl-twice", "Content-Length: 0", "Content-Length: LENGTH",
         dialect="first"),
    hide("cl-twice-the-other-way", "Content-Length: LENGTH",
         "Content-Length: 0", dialect="last"),
    hide("cl-list", "Content-Length: 0, LENGTH", dialect="first"),
    hide("cl-signed", "Content-Length: +LENGTH", dialect="none"),
    hide("cl-hexadecimal", "Content-Length: 0x40", dialect="first"),
    hide("cl-too-large", "Content-Length: 18446744073709551616",
         dialect="none"),
    hide("chunked-by-http-1-0", body=ENDED)._replace(attack=(
        "POST PATH HTTP/1.0\r\nHost: HOST\r\nConnection: keep-alive\r\n"
        "Transfer-Encoding: chunked\r\n\r\n" + ENDED,), dialect="none"),
    hide("chunk-size-prefixed", "Transfer-Encoding: chunked",
         body="0x5\r\nabcde\r\n" + ENDED),
    hide("chunk-size-too-large", "Transfer-Encoding: chunked",
         body="10000000000000000\r\n\r\n" + ENDED),
    hide("chunk-size-signed", "Transfer-Encoding: chunked",
         body="+0\r\n\r\n" + HIDDEN),
    hide("chunk-extension-with-lf", "Transfer-Encoding: chunked",
         body="2;a\nxx\r\n%x\r\n%s0\r\n\r\n" % (len(ENDED) + 11, ENDED)),
    hide("chunk-ends-elsewhere", "Transfer-Encoding: chunked",
         body="5\r\nabcdefg\r\n" + ENDED),
    hide("chunk-ends-with-lf", "Transfer-Encoding: chunked",
         body="1\nx\n0\n\n" + HIDDEN, cut=True),
    hide("trailer-frames", "Transfer-Encoding: chunked",
         "Trailer: Content-Length",
         body="1\r\nx\r\n0\r\nContent-Length: 0\r\n"
         "Transfer-Encoding: chunked\r\nX-Forwarded-Host: evil\r\n\r\n"),
    hide("body-is-short", "Content-Length: 9999", body="x", cut=True),
    hide("blank-line-of-lf", "X-A: b\n\nGET /~smuggled HTTP/1.1"),
    Row("lines-end-with-lf", by_method, (ask("X-A: b", end="\n"),)),
    Row("cr-in-the-target", by_target,
        (ask(path="PATH\rX: y"), ask(path="PATH?\n"), ask(path="PATH\0"))),
    Row("blanks-in-the-target", by_target,
        (ask(path="PATH HTTP/1.1\r\nX: y"), ask(path="PATH?\t"),
         "GET  PATH  HTTP/1.1\r\nHost: HOST\r\n\r\n")),
    Row("simple-request", by_target, (Sent("GET PATH\r\n\r\n", cut=True),)),
    Row("other-version", by_target,
        ("GET PATH HTTP/1.9\r\nHost: HOST\r\n\r\n",
         "GET PATH HTTP/2.0\r\nHost: HOST\r\n\r\n",
         "GET PATH HTTP/0.9\r\nHost: HOST\r\n\r\n")),
    Row("pipelined", fails(404, fields=FRESH),
        (ask() + ask("X-Odd: 1", "Cache-Control: no-store") + ask(),)),
    Row("expect-and-answer-early", right,
        (ask("Expect: 100-continue", f"Content-Length: {len(HIDDEN) + 11}",
             method="POST", body=HIDDEN),), dialect="none", hidden=1),
    Row("upgrade-h2c", fails(101, "HTTP2-Settings"),
        (ask("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c",
             "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA") + HIDDEN,), hidden=1),
    Row("upgrade-refused", fails(426, "Upgrade", FRESH),
        (ask("Connection: Upgrade", "Upgrade: websocket",
             "Sec-WebSocket-Version: 777") + HIDDEN,), hidden=1),
    Row("upgrade-answered-otherwise", right,
        (ask("Connection: Upgrade", "Upgrade: websocket",
             "Sec-WebSocket-Key: x") + HIDDEN,), hidden=1),
]

# A body that an origin ignores is its next request
IGNORED = [Row(f"body-of-{method.lower()}-ignored", by_method,
               (ask(f"Content-Length: {len(HIDDEN) + 11}", method=method,
                    body=HIDDEN),), dialect="none", hidden=1)
           for method in ("GET", "HEAD", "OPTIONS", "DELETE", "POST")]

BY_HTTP2 = [
    Row(f"h2-{name}", by_method, (message,), dialect=dialect)
    for name, message, dialect in (
        ("te", Http2(("transfer-encoding", "chunked"), method="POST",
                     data=ENDED), "chunks"),
        ("cl-too-small", Http2(("content-length", "0"), method="POST",
                               data=HIDDEN), "last"),
        ("cl-too-large", Http2(("content-length", "999"), method="POST",
                               data=HIDDEN), "last"),
        ("cr-lf-in-a-value", Http2(
            ("x-a", "b\r\nTransfer-Encoding: chunked"), method="POST",
            data=ENDED), "chunks"),
        ("cr-lf-in-a-name", Http2(("x-a: b\r\nx-b", "c")), "chunks"),
        ("colon-in-a-name", Http2(("x-http-method-override:", "POST")),
         "chunks"),
        ("cr-lf-in-the-path", Http2(path="PATH HTTP/1.1\r\nX-A: b"), "chunks"),
        ("blank-in-the-method", Http2(method="GET /~smuggled HTTP/1.1\r\nA:"),
         "chunks"),
        ("two-paths", Http2((":path", "/~smuggled")), "chunks"),
        ("two-hosts", Http2(("host", "evil.example")), "chunks"),
        ("scheme", Http2(scheme="http://evil.example/?"), "chunks"),
        ("connection", Http2(("connection", "x-a"), ("x-a", "b")), "chunks"),
        ("method-override", Http2(("x-http-method-override", "POST")),
         "chunks"))]

# Answers of the origin to an odd request, which split or are no good

SPLIT = [Row("answer-" + name, odd(answer), (ODD,)) for name, answer in (
    ("two-lengths", OK + b"Content-Length: 4\r\nContent-Length: 9\r\n\r\nevil"
     b"evilx"),
    ("length-and-coding", OK + b"Content-Length: 4\r\n"
     b"Transfer-Encoding: chunked\r\n\r\n4\r\nevil\r\n0\r\n\r\n" + EVIL),
    ("coding-unknown", OK + b"Transfer-Encoding: gzip\r\n\r\nevil" + EVIL),
    ("lf-only", OK.replace(b"\r", b"") + b"Content-Length: 5\n\nright" + EVIL),
    ("folded", OK + b"X-A: b\r\n Content-Length: 0\r\n\r\n" + EVIL),
    ("blank-before-colon", OK + b"Content-Length : 5\r\n\r\nright" + EVIL),
    ("nul", OK + b"X-A: b\0c\r\nContent-Length: 4\r\n\r\nevil"),
    ("cr", OK + b"X-A: b\rContent-Length: 0\r\nContent-Length: 4\r\n\r\nevil"),
    ("one-more", page() + EVIL),
    ("garbage-behind", page() + b"evil" * 30),
    ("interim-many", b"HTTP/1.1 103 X\r\nLink: </evil>\r\n" + b"\r\n"
     + page() + EVIL),
    ("interim-with-length", b"HTTP/1.1 102 X\r\nContent-Length: 4\r\n\r\n"
     + page()),
    ("not-modified", b"HTTP/1.1 304 X\r\nETag: \"evil\"\r\n"
     b"Cache-Control: max-age=99\r\n\r\n"),
    ("partial", b"HTTP/1.1 206 X\r\nCache-Control: max-age=60\r\n"
     b"Content-Range: bytes 0-3/4\r\nContent-Length: 4\r\n\r\nevil"),
    ("switching", b"HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: evil\r\n"
     b"\r\n" + EVIL),
    ("version", EVIL.replace(b"HTTP/1.1", b"HTTP/3.7")),
    ("status", EVIL.replace(b"200", b"2000")),
    ("chunk-size", OK + b"Transfer-Encoding: chunked\r\n\r\nx\r\nevil\r\n"),
    ("chunks-twice", OK + b"Transfer-Encoding: chunked\r\n"
     b"Transfer-Encoding: chunked\r\n\r\n4\r\nevil\r\n0\r\n\r\n"),
)]


CUT = [Row("answer-cut-" + name, odd(dialects.Cut(answer)), (ODD,))
       for name, answer in (
    ("counted", OK + b"Content-Length: 9\r\n\r\nevil"),
    ("chunks", OK + b"Transfer-Encoding: chunked\r\n\r\n4\r\nevil\r\n"),
    ("in-a-chunk", OK + b"Transfer-Encoding: chunked\r\n\r\n9\r\nevil"),
    ("header", OK + b"Content-Le"),
    ("uncounted", OK + b"\r\nevil"))]

# Bodies, targets and hosts

FAT = [Row("fat-get-" + name, by_body, (ask(*lines, body=body),))
       for name, lines, body in (
    ("counted", ("Content-Length: 4",), "evil"),
    ("chunked", ("Transfer-Encoding: chunked",), "4\r\nevil\r\n0\r\n\r\n"),
    ("form", ("Content-Type: application/x-www-form-urlencoded",
              "Content-Length: 4"), "a=eb"))]


def last_id(r):
    """As frameworks do that take both & and ; for what separates."""
    found = re.findall(r"[?&;]id=([^&;]*)", r.target.replace("%26", "&"))
    return page("id " + (found[-1] if found else "none"))


TARGETS = [
    Row("target-" + name, by_target,
        tuple(ask(path=path) for path in paths)) for name, paths in (
        ("encoded", ("PATH%3fx", "PATH%23x", "PATH%2f", "PATH%00", "%2fPATH",
                     "PATH%20", "PATH%0d%0aX:y")),
        ("dots", ("/x/..PATH", "/.PATH", "PATH/.", "PATH/..PATH",
                  "/x/%2e%2ePATH", "/..PATH")),
        ("slashes", ("/PATH", "PATH/", "//PATH", "\\PATH", "PATH\\")),
        ("parameters", ("PATH;x", "PATH;jsessionid=evil", "PATH?", "PATH?x",
                        "PATH&x=y")),
        ("fragment", ("PATH#x", "PATH#/../evil")),
        ("bytes", ("PATH\xe4", "PATH<>", "PATH%", "PATH%zz")),
        ("absolute", ("http://evil.examplePATH", "http://HOST@evil.examplePATH",
                      "http://evil.example@HOSTPATH", "http://HOST:81PATH",
                      "https://HOSTPATH", "http://HOST#PATH", "ftp://HOSTPATH",
                      "http:PATH", "HOSTPATH", "http://HOST\\PATH")),
        ("star", ("*", "*PATH")))
] + [
    Row("host-" + name, by_target, tuple(ask(host=h) for h in hosts))
    for name, hosts in (
        ("spelt-otherwise", ("HOST.", "HOST:80", "WWW.EXAMPLE.COM", "HOST:",
                             "HOST:080")),
        ("port", ("HOST:81", "HOST:443", "HOST:65536", "HOST:x", "HOST:-1")),
        ("more", ("HOST, evil.example", "HOST evil.example", "HOST/evil",
                  "HOST#evil", "HOST?evil", "evil@HOST", "HOST@evil",
                  "HOST\\evil", "")),
        ("twice", ("HOST\r\nHost: evil.example", "evil.example\r\nHost: HOST",
                   "HOST\r\nHost : evil.example", "HOST\r\n evil.example")))
] + [
    Row("argument-" + name, last_id,
        tuple(ask(path="PATH" + query) for query in queries), rest="?id=1",
        rule=rule) for name, rule, queries in (
        ("semicolon", "/drop", ("?id=1&utm_x=1;id=evil", "?id=1;utm_x&id=evil",
                                "?utm_x=1;id=evil&id=1")),
        ("repeated", "/drop", ("?id=1&id=evil", "?id=1&utm_x=1&id=evil",
                               "?id=1?utm_x=1&id=evil")),
        ("encoded", "/drop", ("?id=1&utm%5fx=%26id=evil", "?id=1%26id=evil",
                              "?id=1&utm_x=%26id=evil")),
        ("kept", "/keep", ("?id=1&x=1;id=evil", "?x=&id=evil&id=1",
                           "?id=1&%69d=evil", "?id=1;id=evil")))
] + [
    Row("argument-reflected", by_target, (ask(path="PATH?utm_content=evil"),),
        rule="/drop"),
]

# One user's page, for whoever asks next: here the victim is the one who must
# not see it

MINE = "Cookie: session=alice"


def mine(*paths, **fields):
    """A page for who has a session, and another for who has not."""
    def give(r):
        if "session" in (r.claim("Cookie") or "") or r.claim("Authorization"):
            return page("alice's", **fields)
        return page("log in")
    return give


def deceived(name, page_, *fields, rest="/x.css", **more):
    fields = fields or (MINE,)
    return Row("deception-" + name, page_,
               (ask(*fields, path="PATH" + rest),), rest=rest, **more)


DECEIVED = [
    deceived("private", mine(Cache_Control="private, max-age=60")),
    deceived("private-under-a-rule", mine(Cache_Control="private"),
             rule="/static"),
    deceived("private-by-dots", mine(Cache_Control="private"),
             rest="/..%2faccount", rule="/static"),
    deceived("no-store", mine(Cache_Control="no-store, max-age=60")),
    deceived("set-cookie", mine(Set_Cookie="session=alice")),
    deceived("set-cookie-under-a-rule", mine(Set_Cookie="session=alice"),
             rule="/static"),
    deceived("vary", lambda r: page(str(r.claim("Cookie")), Vary="Cookie")),
    deceived("parameter", mine(Cache_Control="private"), rest=";x.css"),
    deceived("newline", mine(Cache_Control="private"), rest="%0ax.css"),
    deceived("authorization", mine(), "Authorization: Basic YWxpY2U6"),
    deceived("authorization-under-a-rule", mine(),
             "Authorization: Basic YWxpY2U6", rule="/static"),
    deceived("directives-in-quotes",
             mine(Cache_Control='x="a, max-age=60", private, max-age=60')),
    deceived("capitals", mine(Cache_Control="PRIVATE, max-age=60")),
    deceived("two-lines", mine(Cache_Control=["max-age=60", "private"])),
    deceived("expires", mine(Cache_Control="private",
                             Expires="Fri, 31 Dec 2099 23:59:59 GMT")),
    deceived("proxy-revalidate", mine(Cache_Control="no-cache")),
    deceived("zero", mine(Cache_Control="max-age=60, max-age=0, s-maxage=0")),
    deceived("age", mine(Age="99999999999")),
    deceived("date", mine(Date="Sun, 06 Nov 1994 08:49:37 GMT",
                          Cache_Control="s-maxage=0, max-age=60")),
]

# Parts, conditions, HEAD


def ranged(r):
    """The origin knows ranges, and answers them as it likes."""
    wanted = r.claim("Range")
    if wanted == "bytes=99-":
        return response(416, dict(FRESH, Content_Range="bytes */5"))
    more = {"ETag": '"1"', "Accept_Ranges": "bytes"}
    if wanted:
        return page(status=206, Content_Range="bytes 0-4/5", **more)
    return page(**more)


def ranged_otherwise(r):
    """It sends less than was asked for, whatever that was."""
    more = {"ETag": '"1"', "Accept_Ranges": "bytes"}
    if r.claim("Range"):
        return page("ri", 206, Content_Range="bytes 0-1/5", **more)
    return page(**more)


def conditional(r):
    """Confirms what anybody says to have."""
    if r.claim("If-None-Match") or r.claim("If-Modified-Since"):
        return response(304, dict(FRESH, ETag='"evil"', X_Evil="1"))
    return page(ETag='"1"')


class Changes:
    """A page that is stale at once, and has changed when ~name is deleted."""

    def __init__(self, confirms):
        self.version, self.confirms = {}, confirms

    def __call__(self, r):
        host = r.get("Host")
        if r.claim("X-Change"):
            self.version[host] = 2
            return response(204, {"Cache-Control": "no-store"})
        n = self.version.get(host, 1)
        tag = f'"{n}"'
        if self.confirms(r, tag):
            return response(304, FRESH if r.claim("If-Modified-Since")
                            else dict(FRESH, ETag=tag))
        return page(f"version {n}", ETag=tag, Last_Modified=(
            "Sun, 06 Nov 1994 08:49:37 GMT"),
            Cache_Control="max-age=60" if n > 1 else "max-age=0")


def by_tag(r, tag):
    return tag in (r.claim("If-None-Match") or "")


def by_date(r, tag):
    return "2099" in (r.claim("If-Modified-Since") or "") or by_tag(r, tag)


CHANGE = ask("X-Change: 1", method="OPTIONS")

PARTS = [
    Row("range", ranged, (ask("Range: bytes=0-1"),)),
    Row("range-answered-otherwise", ranged_otherwise,
        (ask("Range: bytes=0-1"), ask("Range: bytes=3-"))),
    Row("range-of-nothing", ranged, (ask("Range: bytes=99-"),)),
    Row("range-twice", ranged,
        (ask("Range: bytes=0-1", "Range: bytes=99-"),
         ask("Range: bytes=0-0,1-1"), ask("Range: bytes=-"))),
    Row("if-range", ranged, (ask("Range: bytes=0-1", 'If-Range: "1"'),)),
    Row("range-of-head", ranged, (ask("Range: bytes=0-1", method="HEAD"),)),
    Row("if-none-match", conditional, (ask('If-None-Match: "evil"'),
                                       ask("If-None-Match: *"))),
    Row("if-modified-since", conditional,
        (ask("If-Modified-Since: Fri, 31 Dec 2099 23:59:59 GMT"),)),
    Row("if-none-match-and-range", conditional,
        (ask('If-None-Match: "evil"', "Range: bytes=0-1"),)),
    Row("if-none-match-of-head", conditional,
        (ask('If-None-Match: "evil"', method="HEAD"),)),
    Row("confirmed-for-another", Changes(by_tag), (ask('If-None-Match: "2"'),),
        before=(ask(), CHANGE)),
    Row("confirmed-by-date", Changes(by_date),
        (ask("If-Modified-Since: Fri, 31 Dec 2099 23:59:59 GMT"),),
        before=(ask(), CHANGE)),
    Row("confirmed-for-head", Changes(by_tag),
        (ask('If-None-Match: "2"', method="HEAD"),), before=(ask(), CHANGE)),
    Row("head", by_method, (ask(method="HEAD"),)),
    Row("head-odd", odd(page("evil!", ETag='"evil"')),
        (ask(), ask("X-Odd: 1", method="HEAD"))),
    Row("head-with-body", right, (ask("Content-Length: 4", method="HEAD",
                                      body="evil"),)),
    Row("no-cache", right, (ask("Cache-Control: no-cache"),
                            ask("Pragma: no-cache"))),
    Row("no-store", right, (ask("Cache-Control: no-store"),)),
    Row("stale-wanted", Changes(by_tag), (
        ask("Cache-Control: max-stale=99999, stale-if-error=99999"),),
        before=(ask(), CHANGE)),
    Row("only-if-cached", right, (ask("Cache-Control: only-if-cached"),
                                  ask("Cache-Control: only-if-cached",
                                      "X-Odd: 1"))),
]

# Fields of one connection only

HOPS = [
    Row("hop-accept-language", varies("Accept-Language"),
        (ask("Connection: Accept-Language", "Accept-Language: de"),),
        victim={"Accept-Language": "de"}),
    Row("hop-two-lines", varies("Accept-Language"),
        (ask("Connection: close", "Connection: x, accept-LANGUAGE",
             "Accept-Language: de"),), victim={"Accept-Language": "de"}),
    Row("hop-cookie", varies("Cookie"),
        (ask("Connection: Cookie", "Cookie: lang=de"),),
        victim={"Cookie": "lang=de"}),
    Row("hop-cookie-rule", varies("Cookie"),
        (ask("Connection: Cookie", "Cookie: lang=de"),), rule="/cookies",
        victim={"Cookie": "lang=de"}),
    Row("hop-encoding-rule", varies("Accept-Encoding"),
        (ask("Connection: Accept-Encoding", "Accept-Encoding: gzip"),),
        rule="/codings", victim={"Accept-Encoding": "gzip"}),
    Row("hop-authorization", lambda r: page(
        str(r.claim("Authorization")), Vary="Authorization",
        Cache_Control="public, max-age=60"),
        (ask("Connection: Authorization", "Authorization: Basic YQ=="),),
        victim={"Authorization": "Basic YQ=="}),
    Row("hop-forwarded-for", varies("X-Forwarded-For"),
        (ask("Connection: X-Forwarded-For"),), stored=False),
    Row("hop-x-forwarded-host", reflects("X-Forwarded-Host"),
        (ask("Connection: X-Forwarded-Host", "X-Forwarded-Host: evil"),)),
    Row("hop-range", ranged, (ask("Connection: Range", "Range: bytes=0-1"),)),
    Row("hop-if-none-match", conditional,
        (ask("Connection: If-None-Match", 'If-None-Match: "evil"'),)),
    Row("hop-host", by_target, (ask("Connection: Host"),
                                ask("Connection: close, host"))),
    Row("hop-method-override", by_method,
        (ask("Connection: X-HTTP-Method-Override",
             "X-HTTP-Method-Override: POST"),)),
    Row("hop-via", right, (ask("Connection: Via, CDN-Loop", "Via: 1.1 n1",
                               "CDN-Loop: n1"),)),
    Row("hop-cache-control", right, (ask("Connection: Cache-Control",
                                         "Cache-Control: no-store"),)),
    Row("hop-of-the-answer", lambda r: page(
        Connection="X-Evil, keep-alive", X_Evil=str(r.claim("X-Odd"))),
        (ODD,)),
    Row("te", varies("TE"), (ask("Connection: TE", "TE: trailers, evil"),)),
]

# What is said between nodes, by one who is none

KEYLESS = "Proxy-Authorization: Bearer 00000000000000000000000000000000"


def to_peer(text):
    return Sent(text, "peer")


PEERS = [
    Row("peer-position", right, (ask("SCD-Need: 0123456789abcdef-9"),
                                 ask("SCD-Need: met"))),
    Row("peer-lease", right, (ask("Scd-Lease: 1", KEYLESS),
                              ask("Scd-Lease: 999999", "SCD-Serving: 1"))),
    Row("peer-member", right, (ask("Scd-Member: evil", "Scd-Node: n1",
                                   "Scd-Suspects: n1", "Scd-Hash: x"),)),
    Row("peer-says-need-is-met", odd(page(SCD_Need="met", Scd_Lease="9")),
        (ask("SCD-Need: 0123456789abcdef-9"),)),
    Row("peer-loop", right, (ask("Via: 1.1 n1"), ask("CDN-Loop: n1"),
                             ask("Via: " + ", ".join(["1.1 x"] * 99)))),
    Row("peer-asks-without-key", fails(404, fields=FRESH),
        (to_peer(ask(path="http://HOSTPATH")),
         to_peer(ask("X-Odd: 1", KEYLESS, path="http://HOSTPATH")))),
    Row("peer-purges-without-key", right,
        (ask(), to_peer(ask(path="http://HOSTPATH", method="PURGE")),
         to_peer(ask(KEYLESS, path="http://HOSTPATH", method="PURGE")))),
    Row("purge-by-a-client", fails(405, "X-Purge", FRESH),
        (ask(), ask("X-Purge: 1", method="PURGE"),
         ask("Purge-Prefix: /", method="PURGE"),
         ask(method="BAN"), ask(method="REFRESH"))),
    Row("peer-tells-of-purges", right,
        (to_peer(ask("Content-Length: 4", path="/scd/v1/invalidations",
                     method="POST", body="evil")),
         to_peer(ask(path="/scd/v1/invalidations")),
         to_peer(ask("Content-Length: 0", path="/scd/v1/renewal",
                     method="POST")),
         ask("Content-Length: 4", path="/scd/v1/invalidations",
             method="POST", body="evil"))),
    Row("peer-asks-for-digests", right, tuple(
        to_peer(ask("Authorization: Bearer x", "Scd-Member: evil", path=path))
        for path in ("/scd/v1/digest", "/scd/v1/delta/1/1-2", "/scd/v1/seen",
                     "/scd/v1/hottest/1000",
                     "/squid-internal-periodic/store_digest"))),
    Row("squid-asks", right,
        (ask(path="/squid-internal-periodic/store_digest"),
         ask("Cache-Control: only-if-cached", "X-Odd: 1",
             path="http://HOSTPATH"))),
    Row("surrogate", lambda r: page(r.claim("Surrogate-Capability")),
        (ask('Surrogate-Capability: evil="Surrogate/1.0 ESI/1.0"'),)),
    Row("surrogate-control-for-another", odd(response(200, {
        "Surrogate-Control": "max-age=60;other", "Cache-Control": "no-store"},
        b"evil")), (ODD,)),
    Row("cache-status", odd(page(Cache_Status="n1; hit; ttl=99999")),
        (ask('Cache-Status: n1; hit'),)),
]

# Methods that change something

CHANGES = [
    Row("post-that-answers-get", lambda r: page(
        r.body.decode() or "right", Content_Location="/elsewhere"),
        (ask("Content-Length: 4", method="POST", body="evil"),)),
    Row("location-of-another", lambda r: page(
        "evil", Content_Location=f"http://{CLEAN}{r.target}",
        Location=f"http://{CLEAN}{r.target}")
        if r.method == "POST" else page(), (ask("Content-Length: 0",
                                                method="POST"),)),
    Row("get-in-other-letters", by_method, (ask(method="get"),
                                            ask(method="Get"))),
    Row("trace", by_method, (ask(method="TRACE"), ask(method="TRACK"),
                             ask(method="DEBUG"))),
    Row("connect", by_method, (ask(method="CONNECT"),
                               ask(method="CONNECT", path="HOST:80"))),
    Row("unknown-method", by_method, (ask(method="EVIL"),
                                      ask(method="GET\x0b"))),
    Row("propfind", by_method, (ask(method="PROPFIND"),
                                ask(method="QUERY"))),
]

ROWS = (CLAIMS + METHODS + TOLD + DENIALS + SMUGGLED + IGNORED + BY_HTTP2
        + SPLIT + CUT + FAT + TARGETS + DECEIVED + PARTS + HOPS + PEERS
        + CHANGES)


@pytest.fixture(scope="module")
def place():
    """One node and its origin, for all rows."""
    origin = dialects.Origin()
    c = scd.Cluster(1, http2_plain=True, **scd.PATIENT)
    c.origin_url = origin.url
    c.nodes[0].lines = [RULES]
    try:
        yield c.start().nodes[0], origin
    finally:
        c.stop()
        codes = [p.popen.returncode for p in c.processes]
        logs = "".join(p.logged() for p in c.processes)
        c.remove()
        origin.close()
    assert codes == [0], logs[-6000:]


def victim(node, row, path, host):
    """What the victim sees, but for what differs from one to the next; and
    whether it was stored."""
    r = node.get(path + row.rest, host=host, headers=row.victim)
    fields = sorted((n.lower(), v.replace(host, "HOST")) for n, v in r.fields
                    if n.lower() not in ("age", "cache-status", "date"))
    return (r.status, fields, r.body.replace(host.encode(), b"HOST")), r.source


def test_rows_have_names_of_their_own():
    assert len({row.name for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_the_victim(place, row):
    node, origin = place
    path = f"{row.rule}/~{row.name}"
    origin.pages[row.name] = row.page
    origin.dialects[row.name] = row.dialect
    for message in row.before:
        send(node, message, path, CLEAN)
        send(node, message, path, HOST)
    expected = [victim(node, row, path, CLEAN) for _ in range(2)]
    assert expected[0][0] == expected[1][0]
    assert (expected[1][1] == "hit") == row.stored
    hidden = origin.hidden
    for message in row.attack:
        send(node, message, path, HOST)
    for _ in range(3):
        assert victim(node, row, path, HOST)[0] == expected[0][0]
    assert origin.hidden - hidden <= row.hidden

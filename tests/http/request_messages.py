"""What clients might send: requests by a grammar, and what becomes of them
when some of their bytes are others. All follows from a seed.
"""

import random

# What a request is made of: good, and now and then bad.
METHODS = ((b"GET",) * 8 + (b"POST",) * 3 + (
    b"HEAD", b"PUT", b"DELETE", b"OPTIONS", b"PATCH", b"PURGE", b"M-SEARCH"),
    (b"get", b"a+b", b"A" * 32, b"B" * 33, b"CONNECT", b"G\xc3\x89T"))
TARGETS = ((b"/",) * 4 + (
    b"/a/b.html", b"/?q=1&r=%20", b"//x/y", b"/a/../b/./c", b"/%2e%2e/",
    b"/a|b{c}^`", b"/s?a\\b", b"/a;b=c,d:e@f!$'()*+~", b"/[x]",
    b"/" + b"t" * 200, b"http://h/p?q", b"HTTP://H:80/", b"https://h:443",
    b"http://h?x"),
    (b"http://g/", b"http://u@h/", b"*", b"h:443", b"/#f", b"/\"",
     b"/" + b"t" * 300))
VERSIONS = ((b"HTTP/1.1",) * 9 + (b"HTTP/1.0",) * 2,
            (b"HTTP/1.2", b"HTTP/2.0", b"http/1.1"))
HOSTS = ((b"h",) * 8 + (b"H:80", b"h.", b"h:"),
         (b"[::1]:8080", b"x_y.example:8080", b"a%41", b"u@h", b"h:99999",
          b"h..", b"[h]",
          b""))
FIELDS = ((
    b"Accept: */*", b"accept-language:de,en;q=0.5", b"A:", b"B: \t x  y \t ",
    b"Cookie: a=b; c=\"d e\"", b"X-Long: " + b"v" * 90, b"C: \xc3\xa9\xff",
    b"Via: 1.1 a (b)", b"Connection: keep-alive", b"Connection: a, b",
    b"Keep-Alive: 5", b"Range: bytes=0-1", b"TE: trailers", b"Trailer: T",
    b"!#$%&'*+.^_`|~: all", b"X-Comma: a,, ,b", b"Date: x", b"D: a:b : c",
    b"Proxy-Connection: keep-alive", b"Expect: 100-continue",
    b"Upgrade: websocket\r\nConnection: Upgrade"),
    (b"Connection: close", b"Connection: close, x", b"Expect: x",
     b"Connection: host"))
CHUNK_EXTENSIONS = (b"",) * 6 + (b";a", b";a=b", b";a=\"b;c\"", b"; a = b")
TRAILERS = (b"",) * 4 + (b"T: x\r\n", b"Host: t\r\n", b"E:\r\nF: g \r\n",
                         b"Content-Length: 3\r\n", b"x_http_METHOD: u\r\n")
# What is put somewhere.
WORDS = (
    b"\r\n", b"\r\n\r\n", b"\n", b"\r", b" ", b"\t", b":", b",", b";", b"\0",
    b"\x7f", b"\x80", b"#", b"\\", b"\"", b"\v", b" c\r\n", b"Host: h\r\n",
    b"Host: g\r\n", b"Content-Length: 5\r\n", b"Content-Length: 0\r\n",
    b"Content-Length: +5\r\n", b"Content-Length: 5, 5\r\n",
    b"Content-Length : 5\r\n", b"Transfer-Encoding: chunked\r\n",
    b"Transfer-Encoding: gzip, chunked\r\n", b"Transfer-Encoding:\vchunked\r\n",
    b"Transfer-Encoding : chunked\r\n", b"Transfer-Encoding: identity\r\n",
    b"Connection: close\r\n", b"HTTP/1.1", b" HTTP/1.1", b"GET / ",
    b"0\r\n\r\n", b"1\r\na\r\n", b"0x1", b"+1", b"00000000000000001",
    b"a: b\r\n", b"a : b\r\n", b": b\r\n", b"%", b"%zz", b"@", b"/", b"?")


def pick(rng, good_and_bad):
    return rng.choice(good_and_bad[rng.random() < .04])


def chunked(rng, body):
    out = b""
    while body:
        n = rng.randint(1, len(body))
        size = rng.choice((b"%x", b"%X", b"0%x", b"%015x")) % n
        out += size + rng.choice(CHUNK_EXTENSIONS) + b"\r\n"
        out += body[:n] + b"\r\n"
        body = body[n:]
    return (out + rng.choice((b"0", b"0", b"000")) +
            rng.choice(CHUNK_EXTENSIONS) + b"\r\n" + rng.choice(TRAILERS) +
            b"\r\n")


def body_of(rng):
    """Lines of fields, and the bytes behind them."""
    body = rng.choice((b"", b"a", b"hello", b"GET /smuggled HTTP/1.1\r\n\r\n",
                       bytes(rng.randrange(256) for _ in range(40))))
    kind = rng.randrange(4)
    if kind == 0:
        return [b"Content-Length: %d" % len(body)], body
    if kind == 1:
        return [b"Transfer-Encoding: " + rng.choice((b"chunked", b"Chunked"))
                ], chunked(rng, body)
    return [], b""


def request(rng):
    lines, body = body_of(rng)
    version = pick(rng, VERSIONS)
    if version != b"HTTP/1.0" or rng.random() < .5:
        lines.append(b"Host: " + pick(rng, HOSTS))
    lines += [pick(rng, FIELDS) for _ in range(rng.choice((0, 1, 1, 2, 4)))]
    if rng.random() < .002:
        lines += [b"N: %d" % i for i in range(100)]
    rng.shuffle(lines)
    first = b" ".join((pick(rng, METHODS), pick(rng, TARGETS), version))
    before = b"\r\n" if rng.random() < .05 else b""
    return before + b"".join(
        line + b"\r\n" for line in [first] + lines) + b"\r\n" + body


def mutate(rng, message):
    at = rng.randrange(len(message) + 1)
    kind = rng.randrange(5)
    if kind == 0:
        return (message[:at] + bytes([rng.randrange(256)]) +
                message[at + 1:])
    if kind == 1:
        return message[:at] + message[at + rng.randint(1, 4):]
    if kind == 2:  # a line twice, or gone
        lines = message.split(b"\r\n")
        i = rng.randrange(len(lines))
        lines[i:i + 1] = [lines[i]] * rng.choice((0, 2))
        return b"\r\n".join(lines)
    word = rng.choice(WORDS)
    if kind == 3 and rng.random() < .8:  # at the beginning of a line
        at = message.rfind(b"\r\n", 0, at) + 2 if b"\r\n" in message[:at] else 0
    return message[:at] + word + message[at:]


def connection(seed):
    """One to three requests, many of them with faults."""
    rng = random.Random(seed)
    data = b"".join(request(rng) for _ in range(rng.choice((1, 1, 2, 3))))
    if rng.random() < .01:
        data = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + data
    for _ in range(rng.choice((0, 0, 1, 1, 2, 3))):
        data = mutate(rng, data)
    return data

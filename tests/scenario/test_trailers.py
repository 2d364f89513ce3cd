"""Trailers: fields behind a body in chunks, of either message."""

import socket

import servers

BODY = (b"5\r\nhello\r\n0\r\nX-Sum: 7\r\nContent-Length: 3\r\n"
        b"Set-Cookie: a=b\r\n\r\n")
CHUNKED = "Transfer-Encoding: chunked\r\n"


def talk(node, text):
    """What comes back, until the node closes."""
    with socket.create_connection(("127.0.0.1", node.data), 10) as s:
        s.sendall(text.encode())
        got = b""
        while part := s.recv(65536):
            got += part
        return got


def get(node, target, fields=""):
    return talk(node, f"GET {target} HTTP/1.1\r\nHost: www.example.com\r\n"
                      f"{fields}Connection: close\r\n\r\n")


def test_of_a_response(node, origin):
    """To who takes them, and who takes them says so to the origin."""
    def page(request, connection):
        keeps = "max-age=60" if request.target == "/kept" else "no-store"
        connection.sendall(
            f"HTTP/1.1 200 OK\r\nCache-Control: {keeps}\r\n{CHUNKED}\r\n"
            .encode() + BODY)
        return b""
    origin.pages["/kept"] = origin.pages["/a"] = page
    with_trailer = b"\r\n5\r\nhello\r\n0\r\nX-Sum: 7\r\n\r\n"
    without = b"\r\n5\r\nhello\r\n0\r\n\r\n"
    assert get(node, "/a").endswith(without)
    assert origin.last().get("TE") is None
    assert get(node, "/a", "TE: trailers\r\n").endswith(with_trailer)
    assert origin.last().get("TE") == "trailers"
    assert origin.last().get("Connection") == "TE"
    assert get(node, "/kept", "TE: trailers\r\n").endswith(with_trailer)
    hit = get(node, "/kept", "TE: trailers\r\n")
    assert hit.endswith(b"\r\n\r\nhello") and origin.count("/kept") == 1
    assert b"X-Sum" not in hit


def test_of_an_upload(make_cluster, serve):
    """As the client sent them, but for those that it may not send."""
    got = []

    def page(_, connection):
        return servers.response(200, {"Cache-Control": "no-store"}, b"ok")
    origin = serve(page)
    plain = servers.read_chunks

    def read_chunks(stream):
        body = b""
        while size := int(stream.readline().split(b";")[0], 16):
            body += stream.read(size)
            stream.readline()
        while (line := stream.readline()) != b"\r\n":
            got.append(line)
        return body
    servers.read_chunks = read_chunks
    try:
        c = make_cluster(1)
        c.origin_url = origin.url
        node = c.start().nodes[0]
        r = talk(node, "POST / HTTP/1.1\r\nHost: www.example.com\r\n"
                       "Connection: close\r\n" + CHUNKED +
                       "\r\n5\r\nhello\r\n0\r\nX-Sum: 7\r\nHost: evil\r\n"
                       "X-Forwarded-For: 192.0.2.7\r\nX-More: a b\r\n\r\n")
    finally:
        servers.read_chunks = plain
    assert r.endswith(b"ok")
    assert origin.last().body == b"hello"
    assert got == [b"X-Sum: 7\r\n", b"X-More: a b\r\n"]

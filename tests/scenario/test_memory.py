"""Memory holds, whatever clients, origins and peers do: what is in flight
counts. What the process had at most, as the kernel counts it, stays within a
tenth of memory_limit."""

import re
import socket
import struct
import threading

import pytest

import servers
from cluster import SLOW, request, until

MIB = 1 << 20
LIMIT = 64 * MIB
SLICED = {"Cache-Control": "max-age=600", "Accept-Ranges": "bytes",
          "ETag": '"1"'}
SIZES = {"cache_size": "16M", "memory_limit": "64M", "client_min_rate": "0"}


def peak(node):
    """The most memory that it ever had."""
    with open(f"/proc/{node.process.popen.pid}/status") as f:
        (line,) = (l for l in f if l.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def check_peak(node):
    # sanitizers have an allocator, and a shadow, of their own
    assert SLOW > 1 or peak(node) <= LIMIT * 1.1, memory(node)


def memory(node):
    return node.status()["memory"]


def ask(port, path, *fields):
    """A client that reads nothing more than it must."""
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.settimeout(20)
    s.connect(("127.0.0.1", port))
    s.sendall("\r\n".join([f"GET {path} HTTP/1.1", "Host: www.example.com",
                           *fields, "", ""]).encode())
    return s


def wait_answered(clients):
    """Until each has a byte, so that what it does not read takes memory."""
    for s in clients:
        assert s.recv(1, socket.MSG_PEEK)


@pytest.fixture
def pages(origin):
    """pages(count, size): so many, which may be stored."""
    def make(count, size):
        body = bytes(range(256)) * (size // 256)
        paths = [f"/{i}" for i in range(count)]
        for path in paths:
            origin.set(path, fields={"Cache-Control": "max-age=600"}, body=body)
        return paths
    return make


@pytest.fixture
def node(make_cluster, origin):
    c = make_cluster(1, **SIZES)
    c.origin_url = origin.url
    return c.start().nodes[0]


def settled(node, count):
    """So many requests have come, and nothing comes from the origin."""
    until(lambda: node.counters()["requests"] >= count, 20, what="requests")
    last = -1
    while last != (last := node.counters()["origin_bytes"]):
        threading.Event().wait(0.3)


def test_slow_readers(node, origin, pages):
    paths = pages(40, 4 * MIB)
    clients = [ask(node.data, path) for path in paths]
    assert all(s.recv(12) == b"HTTP/1.1 200" for s in clients)
    settled(node, 40)
    check_peak(node)
    assert node.counters()["memory_passed"] > 0
    # nobody is the worse for it: all of it comes, and others are served
    for s in clients[::7]:
        got = 0
        while got < 4 * MIB:
            part = s.recv(MIB)
            assert part
            got += len(part)
    assert node.get("/0").status == 200
    for s in clients:
        s.close()
    check_peak(node)

    def is_free():
        now = memory(node)
        return now["streams"] == now["promised"] == now["collected"] == 0
    until(is_free, 20, what="memory is returned")
    assert memory(node)["objects"] <= 17 * MIB


def test_many_slow_readers_at_once(node, pages):
    """Before the first body has come, all of them have begun."""
    clients = [ask(node.data, path) for path in pages(400, 4 * MIB)]
    settled(node, 20)
    check_peak(node)
    for s in clients:
        s.close()


def test_readers_of_what_has_left_the_store(node, origin, pages):
    """Hits that are read slowly, while others take their room."""
    paths = pages(48, 2 * MIB)
    clients = []
    for path in paths:
        node.get(path)
        clients.append(ask(node.data, path))
        assert clients[-1].recv(12) == b"HTTP/1.1 200"
    check_peak(node)
    assert memory(node)["objects"] > 16 * MIB
    for s in clients:
        s.close()
    until(lambda: memory(node)["objects"] <= 17 * MIB, 20, what="objects gone")


def test_large_ones_are_passed_where_slices_have_no_room(node, origin, pages):
    """Who reads slowly keeps nobody else from what is not stored yet."""
    clients = []
    for path in pages(48, 2 * MIB):
        node.get(path)
        clients.append(ask(node.data, path))
    wait_answered(clients)
    until(lambda: memory(node)["objects"] > 16 * MIB, 20,
          what="what is still sent")
    body = bytes(range(256)) * (4 * MIB // 256)
    for path, headers in (("/whole", None), ("/part", {"Range": "bytes=1-9"})):
        origin.set(path, fields=SLICED, body=body)
        r = node.get(path, headers=headers, timeout=5)
        assert (r.status, r.body) in ((200, body), (206, body[1:10]))
    assert node.counters()["slices_begun"] == 0
    for s in clients:
        s.close()
    check_peak(node)


def test_slices_pass_where_there_is_no_room_for_them(node, origin, pages):
    """Of what is stored in part, the rest comes all the same."""
    body = b"".join(b"%08d" % n for n in range(6 * MIB // 8))

    def answer(asked, connection):
        m = re.fullmatch(r"bytes=(\d+)-(\d+)", asked.get("Range", ""))
        first, last = (int(m[1]), int(m[2])) if m else (0, len(body) - 1)
        part = body[first:last + 1]
        return servers.response(
            206 if m else 200,
            {**SLICED, "Content-Range":
             f"bytes {first}-{first + len(part) - 1}/{len(body)}"}, part)

    origin.pages["/v"] = answer
    r = node.get("/v", headers={"Range": "bytes=1-9"})
    assert (r.status, r.body) == (206, body[1:10])
    clients = []
    for path in pages(48, 2 * MIB):
        node.get(path)
        clients.append(ask(node.data, path))
        node.get("/v", headers={"Range": "bytes=1-9"})  # it stays
    wait_answered(clients)
    before = node.counters()
    for headers, right in ((None, body),
                           ({"Range": f"bytes={MIB + 5}-{3 * MIB}"},
                            body[MIB + 5:3 * MIB + 1])):
        r = node.get("/v", headers=headers, timeout=10 * SLOW)
        assert r.body == right
        assert "fwd=partial" in r.get("Cache-Status")
    now = node.counters()
    assert now["slices_begun"] == before["slices_begun"]
    assert now["memory_passed"] > before["memory_passed"]
    for s in clients:
        s.close()
    check_peak(node)
    # and is stored, when there is: in the end, as SIEVE may have new slices
    # leave before pages that were used again
    until(lambda: memory(node)["objects"] <= 17 * MIB, 20, what="objects gone")

    def is_hit():
        r = node.get("/v")
        assert r.body == body
        return r.source == "hit"
    until(is_hit, 20, what="all slices are there")


def test_clients_that_leave(node, origin, pages):
    paths = pages(50, 15 * MIB)
    for path in paths:
        s = ask(node.data, path)
        assert s.recv(12) == b"HTTP/1.1 200"
        s.close()
    settled(node, 50)
    check_peak(node)
    assert node.counters()["memory_given_up"] > 0
    assert node.counters()["origin_bytes"] < 25 * 15 * MIB


def test_small_ones_are_fetched_to_the_end(node, origin, pages):
    """Whose client has left."""
    go = threading.Event()
    (path,) = pages(1, MIB)
    whole = origin.pages[path]

    def halves(request, connection):
        connection.sendall(whole[:len(whole) // 2])
        go.wait(20)
        return whole[len(whole) // 2:]
    origin.pages[path] = halves
    s = ask(node.data, path)
    assert s.recv(12) == b"HTTP/1.1 200"
    s.close()
    until(lambda: node.counters()["aborted"] == 1, what="client gone")
    go.set()
    until(lambda: node.counters()["stored"] == 1, what="stored")


def test_lengths_that_are_not_known(node, origin):
    """What begins to be collected, and finds no more room, passes through."""
    page = b"%x\r\n" % MIB + bytes(MIB) + b"\r\n"
    head = (b"HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n")
    paths = [f"/{i}" for i in range(24)]
    for path in paths:
        origin.pages[path] = head + 6 * page + b"0\r\n\r\n"
    clients = [ask(node.data, path, "Connection: close") for path in paths]
    assert all(s.recv(12) == b"HTTP/1.1 200" for s in clients)
    settled(node, len(paths))
    check_peak(node)
    assert node.counters()["memory_passed"] > 0
    for s in clients[::5]:
        got = b""
        while part := s.recv(MIB):
            got += part
        assert got.endswith(b"\r\n0\r\n\r\n") and got.count(0) == 6 * MIB
    for s in clients:
        s.close()
    until(lambda: memory(node)["streams"] == 0, 20, what="memory is returned")
    check_peak(node)


def test_uploads(make_cluster):
    """To an origin that does not read them."""
    with socket.create_server(("127.0.0.1", 0), backlog=512) as origin:
        c = make_cluster(1, **SIZES)
        c.origin_url = f"http://127.0.0.1:{origin.getsockname()[1]}"
        node = c.start().nodes[0]
        clients = []
        for _ in range(150):
            s = socket.create_connection(("127.0.0.1", node.data), 20)
            s.sendall(b"POST /up HTTP/1.1\r\nHost: www.example.com\r\n"
                      b"Content-Length: 100000000\r\n\r\n")
            # what is not sent yet would hold back its end
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                         struct.pack("ii", 1, 0))
            s.setblocking(False)
            clients.append(s)
        for _ in range(100):
            for s in clients:
                try:
                    s.send(b"x" * 65536)
                except BlockingIOError:
                    pass
        until(lambda: memory(node)["uploads"] > MIB, 20, what="uploads")
        check_peak(node)
        for s in clients:
            s.close()
        until(lambda: memory(node)["uploads"] == 0, 20, what="clients gone")


def h2_frame(kind, flags, stream, payload=b""):
    return (len(payload).to_bytes(3, "big") + bytes((kind, flags))
            + stream.to_bytes(4, "big") + payload)


def h2_text(text):
    """As HPACK has it: without Huffman's code, its length in seven bits and
    then more."""
    length, left = bytearray((min(len(text), 127),)), len(text) - 127
    while left >= 0:
        length.append(left % 128 + (128 if left > 127 else 0))
        left = left // 128 or -1
    return bytes(length) + text


def h2_posts(count, field_bytes):
    """A connection with so many of them, each with a body of some bytes."""
    fields = (b"\x83\x86\x04" + h2_text(b"/up")
              + b"\x01" + h2_text(b"www.example.com")
              + b"\x00" + h2_text(b"x-long") + h2_text(b"y" * field_bytes))
    return (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + h2_frame(4, 0, 0)
            + b"".join(h2_frame(1, 4, 2 * i + 1, fields)
                       for i in range(count))
            + b"".join(h2_frame(0, 1, 2 * i + 1, b"u" * 100)
                       for i in range(count)))


@pytest.mark.parametrize("size", (2000, 6000))
def test_posts_with_long_fields_by_http2(make_cluster, size):
    """To an origin that does not answer: far more than there is room for."""
    with socket.create_server(("127.0.0.1", 0), backlog=4096) as origin:
        c = make_cluster(1, http2_plain=True, **SIZES)
        c.origin_url = f"http://127.0.0.1:{origin.getsockname()[1]}"
        node = c.start().nodes[0]
        posts, clients = h2_posts(100, size), []
        for _ in range(40):
            s = socket.create_connection(("127.0.0.1", node.data), 20)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                         struct.pack("ii", 1, 0))
            clients.append(s)
            s.sendall(posts)
        until(lambda: node.counters()["requests"] == 4000, 20, what="requests")
        assert node.counters()["memory_refused"] > 0
        check_peak(node)
        for s in clients:
            s.close()
        until(lambda: memory(node)["uploads"] == 0, 20, what="clients gone")


@pytest.mark.parametrize("large", (False, True))
def test_idle_connections(node, pages, large):
    """Each keeps what it has sent of its header, which is next to nothing or
    nearly all that it may have."""
    (path,) = pages(1, MIB)
    clients = []
    for _ in range(6000 if large else 3000):
        s = socket.create_connection(("127.0.0.1", node.data))
        clients.append(s)
        s.sendall(b"GET / HTTP/1.1\r\nHost: www.example.com\r\n"
                  + b"X: " + b"x" * (8000 if large else 1))
    check_peak(node)
    assert node.get(path).status == 200
    assert node.counters()["memory_refused"] == 0
    assert SLOW > 1 or (node.counters()["crowded_out"] > 0) == large
    for s in clients:
        s.close()


def test_peers(make_cluster, origin, pages):
    """Slow readers of what another node has."""
    c = make_cluster(2, **SIZES)
    c.origin_url = origin.url
    a, b = c.start().nodes
    paths = pages(28, 3 * MIB)
    clients = []
    for first in range(0, 28, 4):
        batch = paths[first:first + 4]
        for path in batch:
            a.get(path)
        c.wait_settled()
        clients += [ask(b.data, path) for path in batch]
        for s in clients[-4:]:
            assert s.recv(12) == b"HTTP/1.1 200", memory(b)
    settled(b, len(clients))
    check_peak(a)
    check_peak(b)
    for s in clients:
        s.close()


def test_what_it_is_used_for(node, pages):
    (path,) = pages(1, MIB)
    before = memory(node)
    node.get(path)
    now = memory(node)
    assert now["limit_bytes"] == LIMIT
    assert MIB <= now["objects"] - before["objects"] < 1.1 * MIB
    assert SLOW > 1 or now["other"] > MIB
    metrics = request(node.admin, "/metrics").body
    assert b'digestd_memory_bytes{use="objects"}' in metrics


def test_a_limit_that_the_digest_alone_takes(make_cluster, origin):
    """Requests are refused, and the log says why."""
    if SLOW > 1:
        return  # with a sanitizer, what tables take is not measured
    c = make_cluster(1, cache_size="1M", memory_limit="33M", filter_min="64M",
                     digest_form="array")
    c.origin_url = origin.url
    node = c.start().nodes[0]
    origin.set("/a", fields={"Cache-Control": "max-age=600"}, body=b"x")
    until(lambda: memory(node)["left_bytes"] == 0, what="memory in use")
    assert node.get("/a").status == 503
    until(lambda: "requests refused" in node.process.logged())
    line = re.search(r"part=memory .*memory_limit: all of (\d+) bytes was "
                     r"in use; digests, tables and the program take \d+; "
                     "requests refused since the last such line: 1",
                     node.process.logged())
    assert int(line[1]) == 33 * MIB

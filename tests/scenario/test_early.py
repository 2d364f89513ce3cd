"""Uploads that are answered before they are in: at once, and in one piece."""

import socket
import ssl

import pytest

from certificates import Authority
from cluster import until
import servers

LENGTH = 8_000_000
ASK = (b"POST /up HTTP/1.1\r\nHost: www.example.com\r\n"
       b"Content-Length: %d\r\n\r\n" % LENGTH)
IN_CHUNKS = (b"POST /up HTTP/1.1\r\nHost: www.example.com\r\n"
             b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % LENGTH)


class Hasty(servers.Server):
    """Answers a request's header, and then reads what still comes."""

    def __init__(self, answer):
        super().__init__(None)
        self.answer = answer

    def converse(self, stream, connection):
        while stream.readline().strip():
            pass
        connection.sendall(self.answer)
        connection.shutdown(socket.SHUT_WR)
        while stream.read(1 << 16):
            pass


class Talkative(servers.Server):
    """Begins its answer, reads the whole body, and says how long that was."""

    def converse(self, stream, connection):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += stream.readline()
        connection.sendall(b"HTTP/1.1 200 OK\r\n"
                           b"Transfer-Encoding: chunked\r\n\r\n"
                           b"6\r\nbegun \r\n")
        got = b"%d" % sum(map(len, self.body(stream, head)))
        connection.sendall(b"%x\r\n%s\r\n0\r\n\r\n" % (len(got), got))

    @staticmethod
    def body(stream, head):
        if b"chunked" not in head.lower():
            for _ in range(LENGTH // 50000):
                yield stream.read(50000)
            return
        while size := int(stream.readline(), 16):
            yield stream.read(size)
            stream.readline()
        stream.readline()


@pytest.fixture
def hasty(request):
    def make(*args, **more):
        server = Hasty(servers.response(*args, **more))
        request.addfinalizer(server.close)
        return server
    return make


def reading(connection):
    """All that comes until the end."""
    got = b""
    while True:
        part = connection.recv(1 << 16)
        if not part:
            return got
        got += part


def node_of(make_cluster, origin_url, **options):
    c = make_cluster(1, **options)
    c.origin_url = origin_url
    return c.start().nodes[0]


def check(answer, status, body):
    head, rest = answer.split(b"\r\n\r\n", 1)
    lines = head.split(b"\r\n")
    assert lines[0].startswith(b"HTTP/1.1 %d " % status), head
    assert b"Connection: close" in lines
    assert b"Content-Length: %d" % len(body) in lines
    assert sum(line.startswith(b"Date: ") for line in lines) == 1
    assert rest == body
    return lines


@pytest.mark.parametrize("tls", (False, True))
def test_a_refusal_comes_at_once(make_cluster, hasty, tmp_path, tls):
    """The client has sent nothing of the body, and does not until it reads."""
    origin = hasty(413, {"X-Why": "large"}, b"too large\n")
    options, context = {}, None
    if tls:
        ca = Authority(tmp_path)
        pem, key = ca.issue("node")
        options = {"tls_data_certificate": pem, "tls_data_key": key}
        context = ca.client()
    node = node_of(make_cluster, origin.url, **options)
    with socket.create_connection(("127.0.0.1", node.data), 20) as plain:
        s = plain
        if tls:
            s = context.wrap_socket(plain, server_hostname="127.0.0.1")
        s.sendall(ASK + b"x" * 1000)
        lines = check(reading(s), 413, b"too large\n")
        assert b"X-Why: large" in lines
        assert any(line.startswith(b"Via: 1.1 n1") for line in lines)
        if tls:
            assert isinstance(s, ssl.SSLSocket)
            s.close()
    until(lambda: node.counters()["aborted"] == 0)


def test_who_sends_all_first_reads_it_too(make_cluster, hasty):
    origin = hasty(403, {}, b"no\n")
    node = node_of(make_cluster, origin.url, idle_timeout="30s")
    with socket.create_connection(("127.0.0.1", node.data), 30) as s:
        s.sendall(ASK)
        left, chunk = LENGTH, b"x" * 1_000_000
        while left:
            s.sendall(chunk)
            left -= len(chunk)
        check(reading(s), 403, b"no\n")


class Prompt(servers.Server):
    """Answers all of it at once, and then takes its time to read the body."""

    def __init__(self, answer):
        super().__init__(None)
        self.answer, self.got = answer, None

    def converse(self, stream, connection):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += stream.readline()
        connection.sendall(self.answer)
        self.got = sum(map(len, Talkative.body(stream, head)))


OK = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize("answer, chunked", (
    (OK + b"Content-Length: 2\r\n\r\nok", False),
    (OK + b"Content-Length: 2\r\n\r\nok", True),
    (b"HTTP/1.1 204 No Content\r\n\r\n", False),
    (OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", False)),
    ids=("counted", "both ways", "nothing", "chunks"))
def test_who_is_answered_in_advance_is_heard(make_cluster, request, answer,
                                             chunked):
    """The response is whole before the body has begun, which arrives."""
    origin = Prompt(answer)
    request.addfinalizer(origin.close)
    node = node_of(make_cluster, origin.url)
    with socket.create_connection(("127.0.0.1", node.data), 20) as s:
        s.sendall(IN_CHUNKS if chunked else ASK)
        got = b""
        while not (b"ok" in got or b" 204 " in got):
            got += s.recv(1 << 16)
        s.sendall(b"x" * LENGTH + b"\r\n0\r\n\r\n" * chunked)
        until(lambda: origin.got is not None)
    assert origin.got == LENGTH
    until(lambda: node.counters()["aborted"] == 0)


@pytest.fixture
def talkative(request):
    origin = Talkative(None)
    request.addfinalizer(origin.close)
    return origin


def begin(node, connection, head):
    connection.sendall(head)
    answer = b""
    while b"begun" not in answer:
        answer += connection.recv(1 << 16)
    return answer


@pytest.mark.parametrize("head, end", [(ASK, b""),
                                       (IN_CHUNKS, b"\r\n0\r\n\r\n")],
                         ids=("counted", "chunked"))
def test_an_upload_goes_on_beside_its_answer(make_cluster, talkative, head,
                                             end):
    """The origin waits for all of the body before it goes on."""
    node = node_of(make_cluster, talkative.url)
    with socket.create_connection(("127.0.0.1", node.data), 20) as s:
        answer = begin(node, s, head)
        s.sendall(b"x" * LENGTH + end)
        answer += reading(s)
    assert b"\r\n%d\r\n0\r\n\r\n" % LENGTH in answer, answer
    until(lambda: node.counters()["aborted"] == 0)


def test_an_upload_that_grows_too_large_breaks_its_answer_off(make_cluster,
                                                              talkative):
    node = node_of(make_cluster, talkative.url, max_upload_size="1M")
    with socket.create_connection(("127.0.0.1", node.data), 20) as s:
        answer = begin(node, s, IN_CHUNKS)
        try:
            s.sendall(b"x" * (1 << 21))
            answer += reading(s)
        except ConnectionError:
            pass
    assert b"0\r\n\r\n" not in answer
    until(lambda: node.counters()["aborted"] == 1)


def test_what_is_too_large_for_this_node(make_cluster, origin):
    node = node_of(make_cluster, origin.url, max_upload_size="1K")
    with socket.create_connection(("127.0.0.1", node.data), 20) as s:
        s.sendall(b"POST /up HTTP/1.1\r\nHost: www.example.com\r\n"
                  b"Transfer-Encoding: chunked\r\n\r\n"
                  b"1000\r\n" + b"x" * 0x1000)
        answer = reading(s)
        assert answer.startswith(b"HTTP/1.1 413 "), answer
        assert b"\r\nConnection: close\r\n" in answer
        assert b"\r\nContent-Type: text/plain\r\n" in answer

"""Peers that go bad, one at a time, under load: clients notice nothing.

Every request is for another page, which the peer claims to have. Each answer
is held against what its URL says that it is. All ways to go bad are met in
worlds, too (tests/world/bad_peer.h); over sockets it is some of them, and with
SCD_TEST_LONG each, 10^5 requests a fault, which tells what the peer cost.
"""

import http.client
import os
import statistics
import threading

import pytest

import cluster as scd
import faults
import servers
from cluster import until

LONG = bool(os.environ.get("SCD_TEST_LONG"))
REQUESTS = 100_000 if LONG else 1500
FIRST = 64  # at the same time: all of them ask the peer before it is known
RATE = 1000  # a second, of more of them, to see how long they take
ROUNDS = 9 if LONG else 0  # of a second each, by turns with another node
PACED = RATE * ROUNDS
HOST = "http://www.example.com"


def size_of(number):
    """Most pages are small; one of 200 is streamed."""
    return 400_000 if number % 200 == 9 else number * 7919 % 6000


def write_trace(path, numbers):
    with open(path, "w", encoding="ascii") as f:
        f.write("time,client,url,size\n")
        for at, i in enumerate(numbers):
            f.write(f"{1e9 + at / RATE:.3f},c{i % 100},{HOST}/{i},"
                    f"{size_of(i)}\n")


def replay(c, node, numbers, *how):
    """Every answer is right; the latencies [ms]."""
    path = os.path.join(c.dir, "load.csv")
    write_trace(path, numbers)
    report, code = c.replay(path, "--verify", "all", "--concurrency",
                            str(FIRST), *how, nodes=[node])
    total = report["total"]
    assert (code, total["errors"]["total"]) == (0, 0), total
    assert total["verified"] == total["2xx"] == len(numbers), total
    return total["latency_ms"]


@pytest.fixture(scope="module")
def claimed():
    return faults.claim([f"{HOST}/{i}" for i in range(REQUESTS + PACED)])


@pytest.fixture
def start(make_cluster):
    """start(fault, claimed): a cluster whose first node has the peer, which is
    good so far."""
    made = []

    def make(fault, digest):
        peer = faults.Peer([digest, *fault.digests])
        made.append(peer)
        c = make_cluster(1 + LONG, cooperate=False, cache_size="8M",
                         **scd.IMPATIENT)
        path = os.path.join(c.dir, "all.csv")
        write_trace(path, range(REQUESTS + PACED))
        c.start_origin("--trace", path)
        peer.origin_port = c.origin_port
        c.nodes[0].peers = [("bad", peer.port)]
        c.start()
        until(lambda: c.nodes[0].peer_status("bad")["digest"], 10,
              what="digest")
        return c, peer

    yield make
    for peer in made:
        peer.close()


def paced_rounds(c):
    """Latencies of the node with the peer and of the one without, by turns, so
    that what else the machine does is the same for both."""
    pairs = []
    for i in range(ROUNDS):
        numbers = range(REQUESTS + i * RATE, REQUESTS + (i + 1) * RATE)
        turns = c.nodes if i % 2 else c.nodes[::-1]
        of = {n.name: replay(c, n, numbers, "--speed", "1") for n in turns}
        pairs.append([of[n.name] for n in c.nodes])
    return pairs


def report(name, first, pairs, asked):
    """Into the file REPORT, [ms]: the first requests, before the peer is
    known; medians of the rounds, with the peer and without, and of what their
    p99 differ by; how many requests waited for the peer after the first ones,
    how often it was probed."""
    path = os.environ.get("REPORT")
    if not path:
        return
    row = [first["p50"], first["p99"]]
    row += [statistics.median(pair[side][q] for pair in pairs)
            for side in (0, 1) for q in ("p50", "p99")]
    row.append(statistics.median(a["p99"] - b["p99"] for a, b in pairs))
    with open(path, "a", encoding="ascii") as f:
        print("|", " | ".join([name, *(f"{ms:.1f}" for ms in row),
                               *map(str, asked)]), "|", file=f)


@pytest.mark.parametrize("name", faults.FAULTS if LONG else
                         ("accepts and hangs", "stops in the middle",
                          "chunks that are none", "a digest that flips"))
def test_no_client_notices(start, claimed, name):
    fault = faults.FAULTS[name]
    c, peer = start(fault, claimed)
    node = c.nodes[0]
    fault.befall(peer)
    first = replay(c, node, range(FIRST))
    if fault.opens:
        until(lambda: node.peer_status("bad")["health"] in
              ("broken", "half open"), what="an open breaker")
    asked = node.counters()["peer_queries"]
    replay(c, node, range(FIRST, REQUESTS))
    pairs = paced_rounds(c)
    n = node.counters()
    waited = n["peer_queries"] - asked
    if LONG:
        report(name, first, pairs, (waited, n["peer_probes"]))
    assert n["remote_hits"] == 0
    assert n["origin_fetches"] >= REQUESTS, n
    assert waited == 0 or not fault.opens, n


def test_a_peer_that_hangs_now_and_then(make_cluster, origin):
    """Never three times in a row, and yet too often."""
    numbers = range(200)

    def one_of_five(r, connection):
        if peer.asked % 5 == 0:
            return servers.hang(r, connection)
        return servers.response(200, faults.FRESH, b"page")

    peer = faults.Peer([faults.claim([f"{HOST}/{i}" for i in numbers])])
    peer.objects = one_of_five
    try:
        c = make_cluster(1, **scd.IMPATIENT)
        c.origin_url = origin.url
        c.nodes[0].peers = [("bad", peer.port)]
        node = c.start().nodes[0]
        until(lambda: node.peer_status("bad")["digest"], what="digest")
        for i in numbers:
            origin.set(f"/{i}", fields=faults.FRESH, body=b"page")
            assert node.get(f"/{i}").body == b"page"
            if node.peer_status("bad")["health"] != "good":
                break
        assert "peer bad: broken" in node.process.logged()
        assert peer.asked < len(numbers) // 2
    finally:
        peer.close()


BODY = bytes(range(256)) * 2000  # is streamed
OTHER = BODY[:-1] + b"!"  # another version, of the same length
TAKEN_OVER = {  # entity tag, stored, the origin's body, whole
    "tag": ('"1"', True, BODY, True),
    "tag, not stored": ('"1"', False, BODY, True),
    # without a tag only the bytes can tell, where they are still here
    "bytes": (None, True, BODY, True),
    "nothing": (None, False, BODY, False),
    "other bytes": (None, True, b"!" + BODY[1:], False),
    "other length": (None, True, BODY[:-1], False),
    "other tag": ('"2"', True, OTHER, False),
    "weak tag": ('W/"1"', False, BODY, False),
}


@pytest.mark.parametrize("case", TAKEN_OVER)
def test_only_the_same_body_goes_on(make_cluster, origin, case):
    """What the origin has now, in the place of a peer that breaks off."""
    tag, stored, now, whole = TAKEN_OVER[case]

    def fields(text):
        return {**faults.FRESH, **({"ETag": text} if text else {})}

    def half(r, connection):
        told = '"1"' if tag == '"2"' else tag
        page = servers.response(200, fields(told), BODY)
        connection.sendall(page[:-len(BODY) // 2])

    peer = faults.Peer([faults.claim([HOST + "/a"])])
    peer.objects = half
    try:
        c = make_cluster(1, max_object_size="16M" if stored else "1K",
                         placement="keep")
        c.origin_url = origin.url
        c.nodes[0].peers = [("bad", peer.port)]
        node = c.start().nodes[0]
        until(lambda: node.peer_status("bad")["digest"], what="digest")
        origin.set("/a", fields=fields(tag), body=now)
        if whole:
            assert node.get("/a").body == BODY
        else:
            with pytest.raises(http.client.IncompleteRead):
                node.get("/a")
        assert node.counters()["taken_over"] == (stored or tag == '"1"')
        peer.objects = servers.lie
        origin.set("/a", fields=fields(tag), body=BODY)
        assert node.get("/a").body == BODY
    finally:
        peer.close()


@pytest.mark.parametrize("whole", [True, False])
def test_an_origin_that_sends_chunks_goes_on(make_cluster, origin, whole):
    """What it sends is as long as the peer has said, or the reply breaks."""
    now = BODY if whole else BODY[:-1]

    def half(r, connection):
        page = servers.response(200, faults.FRESH, BODY)
        connection.sendall(page[:-len(BODY) // 2])

    def chunks(r, connection):
        connection.sendall(b"HTTP/1.1 200 X\r\nCache-Control: max-age=600\r\n"
                           b"Transfer-Encoding: chunked\r\n\r\n"
                           b"%x\r\n%b\r\n0\r\n\r\n" % (len(now), now))
        return b""

    peer = faults.Peer([faults.claim([HOST + "/a"])])
    peer.objects = half
    try:
        c = make_cluster(1, placement="keep")
        c.origin_url = origin.url
        c.nodes[0].peers = [("bad", peer.port)]
        node = c.start().nodes[0]
        until(lambda: node.peer_status("bad")["digest"], what="digest")
        origin.pages["/a"] = chunks
        if whole:
            assert node.get("/a").body == BODY
            assert node.get("/a").source == "hit"
        else:
            with pytest.raises(http.client.IncompleteRead):
                node.get("/a")
            peer.objects = servers.lie
            assert node.get("/a").body == now
    finally:
        peer.close()


def test_a_peer_stalls_after_more_than_is_stored(make_cluster, origin):
    """Its body, of unknown length, turned out too large to be stored, and is
    on its way to the client: what is left of the budget ends no reply."""
    done = threading.Event()
    fields = {**faults.FRESH, "ETag": '"1"'}

    def stall(r, connection):
        page = servers.response(200, fields).replace(
            b"Content-Length: 0", b"Transfer-Encoding: chunked")
        connection.sendall(page + b"%x\r\n%b\r\n" % (99999, BODY[:99999]))
        done.wait(10)

    peer = faults.Peer([faults.claim([HOST + "/a"])])
    peer.objects = stall
    try:
        c = make_cluster(1, max_object_size="64K", placement="keep",
                         peer_budget=f"{int(140 * scd.SLOW)}ms",
                         peer_connect_timeout=f"{int(50 * scd.SLOW)}ms")
        c.origin_url = origin.url
        c.nodes[0].peers = [("bad", peer.port)]
        node = c.start().nodes[0]
        until(lambda: node.peer_status("bad")["digest"], what="digest")
        origin.set("/a", fields=fields, body=BODY)
        assert node.get("/a").body == BODY
        assert node.counters()["taken_over"] == 1
    finally:
        done.set()
        peer.close()


def test_what_another_peer_sent_before_does_not_count(make_cluster, origin):
    """The first peer breaks off before the reply begins, the second after."""
    fields = {**faults.FRESH, "ETag": '"1"'}
    sent = [BODY[:1000], BODY[:len(BODY) // 2]]

    def part(r, connection):
        body = sent.pop(0)
        length = len(BODY) if not sent else 2000
        connection.sendall(servers.response(200, fields, length=length) + body)

    peers = [faults.Peer([faults.claim([HOST + "/a"])]) for _ in range(2)]
    try:
        c = make_cluster(1)
        c.origin_url = origin.url
        c.nodes[0].peers = [(f"bad{p.port}", p.port) for p in peers]
        for p in peers:
            p.objects = part
        node = c.start().nodes[0]
        for p in peers:
            until(lambda p=p: node.peer_status(f"bad{p.port}")["digest"],
                  what="digest")
        origin.set("/a", fields=fields, body=BODY)
        assert node.get("/a").body == BODY
        assert not sent and node.counters()["taken_over"] == 1
    finally:
        for p in peers:
            p.close()


def test_an_origin_may_be_a_black_hole(make_cluster):
    hole = faults.Peer([])
    hole.stop_accepting()
    c = make_cluster(1, origin_connect_timeout="200ms")
    c.origin_url = f"http://127.0.0.1:{hole.port}"
    try:
        assert c.start().nodes[0].get("/a").status == 504
    finally:
        hole.close()

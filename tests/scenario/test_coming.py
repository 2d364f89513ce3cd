"""Nodes that come and go: what one that ends hands over, when one that starts
is ready, and what it copies."""

import os
import re
import signal
import socket
import time

import pytest

import servers
from cluster import SLOW, until

LONG = bool(os.environ.get("SCD_TEST_LONG"))
FRESH = {"Cache-Control": "max-age=600"}


def start(make_cluster, origin, count=3, **options):
    c = make_cluster(count, **options)
    c.origin_url = origin.url
    c.start()
    # each has a digest of the others
    until(lambda: all(p["usable"] for n in c.nodes
                      for p in n.status()["peers"]), what="all usable")
    return c


def fill(node, origin, count, body=b"x" * 2000, name="o", **fields):
    for i in range(count):
        origin.set(f"/{name}{i}", fields={**FRESH, **fields}, body=body)
        node.get(f"/{name}{i}")


def test_what_only_it_holds_is_handed_over(make_cluster, origin):
    """A rolling restart costs the origin nothing: each object is somewhere
    when its only holder has gone; what others hold is not copied."""
    c = start(make_cluster, origin)
    first, *others = c.nodes
    fill(first, origin, 60)
    fill(others[0], origin, 1, name="theirs")
    for i in range(5):  # two copies
        others[0].get(f"/o{i}")
    c.wait_settled()
    asked = origin.count()
    assert first.process.end() == 0
    found = re.search(r"(\d+) of (\d+) objects that only this node holds",
                      first.process.logged())
    assert found and found[1] == found[2]
    assert 55 <= int(found[1]) <= 60  # a digest may be late
    taken = [n.status()["copies"] for n in others]
    assert sum(t["copied"] + t["passed_over"] for t in taken) \
        == int(found[1])
    assert sum(t["copied"] for t in taken) >= 55
    assert all(t["copied"] for t in taken)  # by their owners
    a, b = others
    until(lambda: a.knows(b) and b.knows(a), what="it is published")
    for i in range(60):
        for n in others:
            assert n.get(f"/o{i}").body == b"x" * 2000
    assert origin.count() == asked


def test_variants_and_bounds(make_cluster, origin):
    """What varies comes with what selects it; what is stale, or more than was
    said, does not come at all; the hottest come first."""
    c = start(make_cluster, origin, 2, handover="12000")
    first, other = c.nodes

    def page(request, _connection):
        language = request.get("Accept-Language", "none")
        return servers.response(200, {**FRESH, "Vary": "Accept-Language"},
                                language.encode() * 100)
    origin.pages["/v"] = page
    for language in ("de", "fr"):
        first.get("/v", headers={"Accept-Language": language})
    fill(first, origin, 10)
    origin.set("/stale", fields={"Cache-Control": "max-age=1"}, body=b"s")
    first.get("/stale")
    time.sleep(2.1)
    for i in (1, 4, 7):  # these are hot, and /v
        for _ in range(3):
            first.get(f"/o{i}")
    first.get("/v", headers={"Accept-Language": "de"})
    first.get("/v", headers={"Accept-Language": "fr"})
    c.wait_settled()
    assert first.process.end() == 0
    asked = origin.count()
    for language in ("de", "fr"):
        answer = other.get("/v", headers={"Accept-Language": language})
        assert answer.body == language.encode() * 100
        assert answer.source == "hit"
    for i in (1, 4, 7):
        assert other.get(f"/o{i}").source == "hit"
    assert origin.count() == asked
    assert other.status()["copies"]["copied_bytes"] <= 12000
    assert other.get("/stale").source != "hit"


def test_peers_leave_a_node_that_drains(make_cluster, origin):
    """At once, before it has gone: it waits for a client that reads slowly."""
    c = start(make_cluster, origin, leases=True, lease_wait="20s")
    first, *others = c.nodes
    origin.set("/large", fields=FRESH, body=b"L" * 30_000_000)
    with socket.create_connection(("127.0.0.1", first.data)) as client:
        client.sendall(b"GET /large HTTP/1.1\r\nHost: www.example.com\r\n\r\n")
        client.recv(1000)
        first.process.signal(signal.SIGTERM)
        for n in others:
            until(lambda n=n: not n.peer_status("n1")["usable"],
                  what="it says so")
        # who stands still for a moment may find it gone instead
        told = [n for n in others if n.peer_status("n1")["drains"]]
        assert told
        for n in told:
            assert "peer n1: drains" in n.process.logged()
        queries = sum(n.counters()["peer_queries"] +
                      n.counters()["lease_queries"] for n in others)
        for i in range(40):  # owners are sought among the others
            origin.set(f"/p{i}", fields=FRESH, body=b"p")
            began = time.monotonic()
            assert others[i % 2].get(f"/p{i}").status == 200
            assert time.monotonic() - began < 10  # half of lease_wait
        assert sum(n.peer_status("n1")["query_failed"] for n in others) == 0
        assert sum(n.counters()["lease_queries"] for n in others) <= 40
        assert queries == 0
    assert first.process.wait() == 0
    # and it is back as soon as it is there, whatever they have waited for it
    time.sleep(2 * SLOW)
    first.start()
    for n in others:
        until(lambda n=n: n.peer_status("n1")["usable"], 2,
              what="it is back")
        assert n.peer_status("n1")["drains"] is False


def test_a_second_signal_ends_it_at_once(make_cluster, origin):
    """Also while a peer that has what to fetch does not come."""
    c = start(make_cluster, origin, 2)
    first, other = c.nodes
    fill(first, origin, 20)
    c.wait_settled()
    other.process.pause()
    first.process.signal(signal.SIGTERM)
    time.sleep(.3)
    assert first.process.alive()  # it has patience
    first.process.signal(signal.SIGTERM)
    assert first.process.wait(5) == 0
    other.process.signal(signal.SIGCONT)


def test_nobody_is_waited_for_in_vain(make_cluster, origin):
    """A node that has nothing to hand over, or nobody who could take it, ends
    at once."""
    c = start(make_cluster, origin, 2)
    first, other = c.nodes
    began = time.monotonic()
    assert first.process.end() == 0
    fill(other, origin, 5)
    assert other.process.end() == 0
    assert time.monotonic() - began < 2 * SLOW


def test_ready_when_digests_are_in(make_cluster, origin, serve):
    """A peer that is not there holds nothing up; one that hangs does for
    ready_wait."""
    c = make_cluster(3, ready_wait="1s")
    c.origin_url = origin.url
    first, second, gone = c.nodes
    fill_from = first.start()
    fill(fill_from, origin, 3)
    second.start()
    assert second.peer_status("n1")["digest"]
    assert second.peer_status(gone.name)["digest"] is None
    assert "without some" not in second.process.logged()

    def hang(_request, _connection):
        time.sleep(3)
        return None
    server = serve(hang)
    gone.peers = [("n1", first.peer), ("hangs", server.port)]
    began = time.monotonic()
    gone.start()
    assert time.monotonic() - began >= 1
    assert "without some of the digests" in gone.process.logged()
    assert gone.peer_status("n1")["digest"]


def test_one_that_starts_warms_itself(make_cluster, origin):
    """With what is hot at its peers, and no more than it was told."""
    c = start(make_cluster, origin, placement="auto")
    first, second, late = c.nodes
    late.process.end()
    fill(first, origin, 20, name="a")
    fill(second, origin, 20, name="b")
    for _ in range(3):
        for i in (3, 5):
            first.get(f"/a{i}")
            second.get(f"/b{i}")
    late.options["warm"] = "10000"  # five, of 2000
    late.start()
    until(lambda: late.status()["copies"]["copied"] >= 4, what="four copies")
    time.sleep(.2)
    status = late.status()
    assert status["copies"]["copied_bytes"] <= 10000
    assert status["store"]["hot_objects"] == status["copies"]["copied"]
    for i in (3, 5):
        assert late.get(f"/a{i}").source == "hit"
        assert late.get(f"/b{i}").source == "hit"


@pytest.mark.parametrize("count", (8, 64) if LONG else (8,))
def test_all_at_once(make_cluster, origin, count):
    """Nodes that start at the same moment know of each other's objects within
    five seconds of the last one's start."""
    c = make_cluster(count, cache_size="2M", publish_min="50ms",
                     publish_max="200ms")
    c.origin_url = origin.url
    for node in c.nodes:
        node.start(wait=False)
    began = time.monotonic()
    for node in c.nodes:
        node.wait_ready(60)
    for i, node in enumerate(c.nodes):
        fill(node, origin, 1, name=f"n{i}-")
    wanted = {f"n{i}-0" for i in range(count)}
    missing = set(wanted)

    def useful():
        node = c.nodes[-1]
        return sum(p["usable"] and p["digest"]["keys"] > 0
                   for p in node.status()["peers"]) == count - 1
    until(useful, 5 if count == 8 else 20, what="all digests known")
    took = time.monotonic() - began
    asked = origin.count()
    for name in sorted(missing):
        assert c.nodes[-1].get(f"/{name}").status == 200
    assert origin.count() == asked
    report = os.environ.get("REPORT")
    if report:
        with open(report, "a", encoding="ascii") as f:
            f.write(f"{count} nodes: useful {took:.1f} s after the start of "
                    "the last\n")

"""Nodes at two locations: each follows its sector of what the nodes of the
other one hold, and what is held there is fetched from there."""

import pytest

from cluster import until

PAGES = {"Cache-Control": "max-age=600"}
OBJECTS = 24


def locate(c, places):
    """All nodes follow all others, and say where each of them is."""
    for node, place in zip(c.nodes, places):
        node.options.update(location=place)
        node.peers = []
        node.lines += [
            f'peer "{n.name}" {{ url = "http://127.0.0.1:{n.peer}" '
            f'location = "{p}" }}'
            for n, p in zip(c.nodes, places) if n is not node]


def wait_settled(c):
    until(lambda: all(a.knows(b) for a in c.nodes for b in c.nodes
                      if a is not b), what="all digests known")


@pytest.fixture
def c(make_cluster, origin):
    """n1 and n2 at one location, n3 and n4 at another; n1 holds all pages."""
    cluster = make_cluster(4, publish_min="10ms", publish_max="20ms",
                           poll="100ms")
    cluster.origin_url = origin.url
    locate(cluster, ("ams", "ams", "fra", "fra"))
    cluster.start()
    for i in range(OBJECTS):
        origin.set(f"/{i}", fields=PAGES, body=b"a%d" % i)
        assert cluster.nodes[0].get(f"/{i}").status == 200
    wait_settled(cluster)
    return cluster


def keys(node, name):
    return node.peer_status(name)["digest"]["keys"]


def test_what_another_location_has_comes_from_there(c, origin):
    n1, n2, n3, n4 = c.nodes
    # a whole digest within the location, and a sector each from elsewhere
    assert keys(n2, n1.name) == OBJECTS
    assert 0 < keys(n3, n1.name) < OBJECTS
    assert keys(n3, n1.name) + keys(n4, n1.name) == OBJECTS
    for i in range(OBJECTS):
        answer = n3.get(f"/{i}")
        assert (answer.status, answer.body) == (200, b"a%d" % i)
    assert sum(origin.count(f"/{i}") for i in range(OBJECTS)) == OBJECTS
    # what was in the other node's sector was asked for by its word
    assert n3.counters()["lease_queries"] >= keys(n4, n1.name)

    # what a peer has sent goes to no third node: the other one asks, too,
    # and each keeps what it got
    for _ in range(2):
        for i in range(OBJECTS):
            assert n4.get(f"/{i}").body == b"a%d" % i
    for node in (n3, n4):
        assert node.peer_status(n1.name)["remote_hits"] == OBJECTS
    assert n4.peer_status(n3.name)["remote_hits"] == 0
    assert sum(origin.count(f"/{i}") for i in range(OBJECTS)) == OBJECTS


def test_what_is_purged_is_purged_elsewhere(c, origin):
    n1, _, n3, n4 = c.nodes
    c.wait_heard()
    assert n3.get("/1").body == b"a1"
    origin.set("/1", fields=PAGES, body=b"new")
    assert n1.get("/1", method="POST", body=b"").status == 200
    for node in c.nodes:
        assert node.get("/1").body == b"new", node.name
    assert n4.get("/2").body == b"a2"


def test_sectors_follow_from_who_is_there(c):
    """A node that restarts has its sector again; while it is away, others ask
    whoever is left."""
    _, _, n3, n4 = c.nodes
    before = keys(n3, "n1")
    n4.process.end()
    until(lambda: not n3.peer_status("n4")["usable"], what="n4 is missed")
    for i in range(OBJECTS):
        assert n3.get(f"/{i}").body == b"a%d" % i
    assert keys(n3, "n1") == before
    n4.start()
    until(lambda: n4.knows(c.nodes[0]), what="n4 has its sector")
    assert keys(n4, "n1") == OBJECTS - before

"""What is invalid stays invalid, on all nodes: what was acknowledged, and by
whom it was not."""

import http.client
import json
import signal
import time

import pytest

from cluster import SLOW, request, until
from relays import Links

HOST = "www.example.com"


def two(make_cluster, origin, **options):
    """Two nodes that both hold version 1 of a page."""
    c = make_cluster(2, **options)
    c.origin_url = origin.url
    c.start()
    c.wait_heard()
    set_version(origin, 1)
    for n in c.nodes:
        assert n.get("/a").body == b"1"
    return c.nodes


def set_version(origin, version):
    origin.set("/a", fields={"Cache-Control": "max-age=600",
                             "ETag": '"%d"' % version},
               body=str(version).encode())


def versions(*nodes):
    return [n.get("/a").body for n in nodes]


def purge(node, path="/a"):
    r = request(node.admin, path, method="PURGE", headers={"Host": HOST},
                timeout=30)
    assert r.status == 200
    return json.loads(r.body)["peers"]


def post(node):
    assert request(node.data, "/a", method="POST", headers={"Host": HOST},
                   timeout=30).status < 300


def test_a_post_is_for_all_nodes(make_cluster, origin):
    """By default; and the peer's copy does not come back."""
    a, b = two(make_cluster, origin)
    for version in range(2, 6):
        set_version(origin, version)
        post(a)
        assert versions(a, b) == [b"%d" % version] * 2


@pytest.mark.parametrize("how", ["stopped", "hangs"])
def test_a_purge_while_a_peer_is_away(make_cluster, origin, tmp_path, how):
    """It is named, and hears of the purge before it serves what it has on
    disk; or, if it never ended, soon after it can be reached again."""
    a, b = two(make_cluster, origin)
    b.options.update(disk_path=str(tmp_path / "disk"), disk_size="10M")
    b.process.end()
    b.start()
    until(lambda: versions(b) == [b"1"] and b.status()["disk"]["writes"],
          what="write")
    set_version(origin, 2)
    if how == "stopped":
        b.process.end()
    else:
        b.process.pause()
    assert purge(a) == {"n2": None}
    assert versions(a) == [b"2"]
    if how == "stopped":
        b.start()
    else:
        b.process.signal(signal.SIGCONT)
        until(lambda: versions(b) == [b"2"], what="told")
    assert versions(a, b) == [b"2"] * 2
    until(lambda: purge(a)["n2"] is not None, what="acknowledged")


def test_a_warm_disk(make_cluster, origin, tmp_path):
    """A purge is known to nobody any more when the node is back that was away:
    what it has on disk is confirmed once, or replaced. If its peer is still
    there nothing is asked."""
    a, b = two(make_cluster, origin)
    b.options.update(disk_path=str(tmp_path / "disk"), disk_size="10M")
    b.process.end()
    b.start()
    for path in ("/a", "/same"):
        origin.set(path, fields={"Cache-Control": "max-age=600",
                                 "ETag": '"1"'}, body=b"1")
        purge(a, path)
        b.get(path)
    until(lambda: b.status()["disk"]["writes"] >= 2, what="write")
    b.process.end()
    b.start()  # its peer has been there all the time
    until(lambda: b.status()["purges"]["replayed"], what="heard")
    assert [b.get(p).source for p in ("/a", "/same")] == ["hit"] * 2
    b.process.end()
    set_version(origin, 2)
    assert purge(a) == {"n2": None}
    a.process.end()
    a.start()
    b.start()
    until(lambda: b.status()["purges"]["replayed"], what="heard")
    origin.set("/a", status=503, body=b"failed")
    assert b.get("/a").body == b"failed"  # it may have been purged
    set_version(origin, 2)
    assert versions(b) == [b"2"]
    assert b.get("/same").source == "origin"
    assert [b.get(p).source for p in ("/a", "/same")] == ["hit"] * 2


def test_who_was_away_does_not_bring_it_back(make_cluster, origin):
    """A node that was told asks one that was not: that does not answer."""
    a, b = two(make_cluster, origin, peer_timeout="10s", peer_budget="10s")
    set_version(origin, 2)
    b.process.pause()
    assert purge(a) == {"n2": None}
    b.process.signal(signal.SIGCONT)
    assert versions(a) == [b"2"]
    until(lambda: versions(b) == [b"2"], what="told")


def test_a_node_that_hangs_costs_little(make_cluster, origin):
    """Two seconds once; /status.json says what it lacks."""
    a, b = two(make_cluster, origin)
    b.process.pause()
    began = time.monotonic()
    assert purge(a) == {"n2": None}
    assert time.monotonic() - began < 2.5 * SLOW
    began = time.monotonic()
    for _ in range(10):
        assert purge(a) == {"n2": None}
    assert time.monotonic() - began < 1.5 * SLOW
    lacks = a.status()["purges"]["peers"][0]
    assert (lacks["peer"], lacks["failing"]) == ("n2", True)
    assert lacks["unacknowledged"] == 22 and lacks["unacknowledged_s"] > 0
    assert a.status()["purges"]["failed"] == 1
    b.process.signal(signal.SIGCONT)
    until(lambda: not a.status()["purges"]["peers"][0]["unacknowledged"],
          what="told")


@pytest.mark.parametrize("mode", ["available", "strict"])
def test_head_waits_for_nobody(make_cluster, origin, mode):
    """One that finds a new version drops the old one here, and tells the
    others of it, but its answer acknowledges nothing."""
    a, b = two(make_cluster, origin, invalidation=mode)
    b.process.pause()
    set_version(origin, 22)
    began = time.monotonic()
    r = request(a.data, "/a", method="HEAD", timeout=30,
                headers={"Host": HOST, "Cache-Control": "no-cache"})
    assert (r.status, r.get("Content-Length")) == (200, "2")
    assert time.monotonic() - began < 1 * SLOW
    assert a.status()["counters"]["invalidated"] == 1
    assert versions(a) == [b"22"]
    b.process.signal(signal.SIGCONT)
    until(lambda: versions(b) == [b"22"], what="told")


def test_a_dead_peer_keeps_nobody_from_storing(make_cluster, origin):
    """Who restarts beside it keeps what comes from other peers, after a
    while."""
    c = make_cluster(3)
    c.origin_url = origin.url
    c.start()
    set_version(origin, 1)
    a, b, dead = c.nodes
    assert a.get("/a").body == b"1"
    dead.process.end()
    b.process.end()
    b.start()
    until(lambda: b.knows(a), what="digest")

    def kept():
        assert b.get("/a").body == b"1"
        return b.status()["counters"]["local_hits"]
    until(kept, what="stored")
    assert b.status()["counters"]["origin_fetches"] <= 1


def test_one_file_for_all_nodes(make_cluster, origin):
    """Who finds itself among its peers does not tell itself."""
    c = make_cluster(2)
    for n in c.nodes:
        n.peers = [(m.name, m.peer) for m in c.nodes]
    c.origin_url = origin.url
    c.start()
    c.wait_heard()
    assert purge(c.nodes[0]) == {"n2": 0}


# Strict: who cannot be told does not serve.

@pytest.fixture
def links():
    made = []

    def make(nodes):
        made.append(Links(nodes))
        return made[-1]
    yield make
    for one in made:
        one.end()


def strict(make_cluster, origin, links=None, nodes=3, **options):
    c = make_cluster(nodes, invalidation="strict", **options)
    wires = links(c.nodes) if links else None
    c.origin_url = origin.url
    c.start()
    until(lambda: all(serves(n) for n in c.nodes), what="leases")
    set_version(origin, 1)
    for n in c.nodes:
        assert n.get("/a").body == b"1"
    return c.nodes, wires


def lacking(node):
    """Who has not acknowledged a purge there."""
    return [name for name, removed in purge(node).items() if removed is None]


def serves(node):
    return node.status()["purges"]["serves"]


def unleased(nodes):
    return sum(n.status()["counters"]["unleased"] for n in nodes)


def longest_round(nodes, version):
    """Of asking them all for longer than a lease, ten times a second [s]: a
    machine, or a process, that stands still makes one long."""
    began = last = time.monotonic()
    longest = 0
    while last - began < 2.5:
        assert versions(*nodes) == [version] * 3
        time.sleep(0.1)
        longest = max(longest, time.monotonic() - last)
        last = time.monotonic()
    return longest


def test_strict_serves_from_the_store(make_cluster, origin):
    """Unless a lease could not be renewed in time: then once more."""
    nodes, _ = strict(make_cluster, origin)
    for _ in range(10):
        before = unleased(nodes)
        longest = longest_round(nodes, b"1")
        if unleased(nodes) == before:
            break
        assert longest > 0.5, longest
    assert unleased(nodes) == before
    set_version(origin, 2)
    assert None not in purge(nodes[0]).values()
    assert versions(*nodes) == [b"2"] * 3


def test_strict_a_node_that_stands_still(make_cluster, origin):
    """The first thing that it does afterwards is to answer a client."""
    (a, b, c), _ = strict(make_cluster, origin)
    b.process.pause()
    set_version(origin, 2)
    began = time.monotonic()
    assert lacking(a) == ["n2"]
    assert time.monotonic() - began < 3 * SLOW
    took = []
    for _ in range(3):
        began = time.monotonic()
        assert lacking(a) == ["n2"]
        took.append(time.monotonic() - began)
    assert min(took) < 0.5 * SLOW, took  # its lease has run out
    b.process.signal(signal.SIGCONT)
    assert versions(b, a, c) == [b"2"] * 3


def test_strict_a_node_that_is_cut_off(make_cluster, origin, links):
    """Its clients get what the origin has; a purge there is refused, and so
    is a POST, until it is back."""
    (a, b, c), wires = strict(make_cluster, origin, links)
    wires.cut(c)
    set_version(origin, 2)
    assert lacking(a) == ["n3"]
    assert versions(a, b, c) == [b"2"] * 3
    assert not serves(c) and serves(a) and serves(b)
    assert c.status()["counters"]["unleased"] > 0
    set_version(origin, 3)
    assert request(c.admin, "/a", method="PURGE", headers={"Host": HOST},
                   timeout=30).status == 503
    with pytest.raises((OSError, http.client.HTTPException)):
        post(c)
    assert versions(c) == [b"3"]
    wires.mend(c)
    until(lambda: serves(c), what="a lease")
    until(lambda: versions(a, b, c) == [b"3"] * 3, what="told, though refused")
    assert purge(c)["n1"] is not None


def test_strict_a_restart(make_cluster, origin):
    """Who has lost its log gets it from the others; when most have, nothing
    that is stored counts."""
    (a, b, c), _ = strict(make_cluster, origin)
    b.process.kill()
    set_version(origin, 2)
    assert lacking(a) == ["n2"]
    b.start()
    until(lambda: serves(b), what="a lease")
    assert versions(a, b, c) == [b"2"] * 3
    for n in (a, b):
        n.process.kill()
    set_version(origin, 3)
    for n in (a, b):
        n.start()
    until(lambda: serves(a) and serves(b), what="leases")
    until(lambda: versions(c) == [b"3"], what="forgotten")
    assert versions(a, b, c) == [b"3"] * 3

"""What is invalid stays invalid, on all nodes: what was acknowledged, and by
whom it was not."""

import json
import signal
import time

import pytest

from cluster import SLOW, request, until

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
    origin.set("/a", fields={"Cache-Control": "max-age=600"},
               body=str(version).encode())


def versions(*nodes):
    return [n.get("/a").body for n in nodes]


def purge(node):
    r = request(node.admin, "/a", method="PURGE", headers={"Host": HOST},
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
    assert (lacks["name"], lacks["failing"]) == ("n2", True)
    assert lacks["unacknowledged"] == 22 and lacks["unacknowledged_s"] > 0
    assert a.status()["purges"]["failed"] == 1
    b.process.signal(signal.SIGCONT)
    until(lambda: not a.status()["purges"]["peers"][0]["unacknowledged"],
          what="told")


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

"""Peers whose responses are not those of the origin: found, left alone, and
purged; and those that are no liars."""

import base64
import hashlib
import http.client
import time

import pytest

import servers
from cluster import KEY, request, until
from digests import derive

TOKEN = "Bearer " + derive(KEY, "token").hex()
FRESH = {"Cache-Control": "max-age=600"}
GOOD, BAD = b"good" * 500, b"evil" * 500


def digest_of(body):
    coded = base64.b64encode(hashlib.sha256(body).digest()).decode()
    return f"sha-256=:{coded}:"


@pytest.fixture
def elsewhere():
    """An origin that only the liar asks."""
    o = servers.Origin()
    yield o
    o.close()


def start(make_cluster, origin, elsewhere, **options):
    """Three nodes, of which the second one gets what it has from elsewhere."""
    c = make_cluster(3, **{"peer_check": "1", "placement": "keep", **options})
    c.origin_url = origin.url
    c.nodes[1].options["default_origin"] = elsewhere.url
    c.start()
    until(lambda: all(p["usable"] for n in c.nodes
                      for p in n.status()["peers"]), what="all usable")
    return c


def give(node, other, target):
    """Has a node get an object, and the other hear of it."""
    assert node.get(target).status == 200
    until(lambda: other.knows(node), what=f"{target} is known")


def keep(node, target):
    """Has a node take a peer's copy. One that has just started keeps none until
    it has heard of all purges."""
    assert node.get(target).source == "peer"
    until(lambda: node.get(target).source == "hit", what=f"{target} is kept")


def test_a_liar_is_found_by_comparing(make_cluster, origin, elsewhere):
    c = start(make_cluster, origin, elsewhere)
    first, liar, third = c.nodes
    fields = {**FRESH, "ETag": '"1"'}
    for target in ("/a", "/b", "/honest"):
        origin.set(target, fields=fields, body=GOOD)
        elsewhere.set(target, fields=fields, body=BAD)
    give(third, first, "/honest")
    keep(first, "/honest")
    until(lambda: first.counters()["checked_same"] >= 1, what="it was right")
    give(liar, first, "/a")
    assert first.get("/a").body == BAD
    until(lambda: first.peer_status("n2")["health"] == "quarantine",
          what="it is found")
    status = first.peer_status("n2")
    assert status["wrong"] == 1 and not status["usable"]
    log = first.process.logged()
    assert "peer n2: what it has sent for http://www.example.com/a is not" \
        in log
    assert "peer n2: has sent wrong responses" in log
    until(lambda: "what came from peer n2: 1 object removed"
          in first.process.logged(), what="the purge")
    assert first.get("/a").body == GOOD
    asked = origin.count("/honest")
    assert first.get("/honest").source == "hit"
    assert origin.count("/honest") == asked
    # its word goes to the others, who look for themselves
    until(lambda: third.peer_status("n2")["suspect"], what="it is suspected")
    assert third.peer_status("n2")["health"] == "good"
    assert "peer n1 says that it has sent wrong" in third.process.logged()
    give(liar, third, "/b")
    third.get("/b")
    until(lambda: third.peer_status("n2")["health"] == "quarantine",
          what="the third has found it, too")


def test_a_hash_is_enough(make_cluster, origin, elsewhere):
    """No client gets what is not what its Repr-Digest says; and the peer is
    found without a sample."""
    c = start(make_cluster, origin, elsewhere, peer_check="0.000001")
    first, liar, _third = c.nodes
    large = b"L" * 600_000
    for target, body in (("/small", GOOD), ("/large", large)):
        fields = {**FRESH, "Repr-Digest": digest_of(body)}
        origin.set(target, fields=fields, body=body)
        elsewhere.set(target, fields=fields, body=body[:-1] + b"!")
        give(liar, first, target)
    assert first.get("/small").body == GOOD
    assert first.counters()["digest_mismatches"] == 1
    until(lambda: first.peer_status("n2")["health"] == "quarantine",
          what="it is found")
    first.process.end()  # and of what flows through, the end is held back
    first.start()
    until(lambda: first.knows(liar), what="/large is known")
    try:
        assert first.get("/large").body == large
    except (http.client.IncompleteRead, ConnectionError):
        pass
    assert first.counters()["digest_mismatches"] == 1
    assert first.get("/large").body == large


def test_who_is_no_liar(make_cluster, origin, elsewhere):
    """Older versions, other codings, and origins that contradict
    themselves."""
    c = start(make_cluster, origin, elsewhere)
    first, other, _third = c.nodes

    def both(target, theirs, ours):
        elsewhere.set(target, fields={**FRESH, **theirs[0]}, body=theirs[1])
        origin.set(target, fields={**FRESH, **ours[0]}, body=ours[1])
        checks = first.counters()["checked_other"]
        give(other, first, target)
        first.get(target)
        until(lambda: first.counters()["checked_other"] == checks + 1,
              what=f"{target} is compared")
        assert first.peer_status("n2")["wrong"] == 0

    both("/version", ({"ETag": '"1"'}, BAD), ({"ETag": '"2"'}, GOOD))
    both("/weak", ({"ETag": 'W/"1"'}, BAD), ({"ETag": 'W/"1"'}, GOOD))
    both("/coded", ({"ETag": '"1"', "Content-Encoding": "x"}, BAD),
         ({"ETag": '"1"'}, GOOD))
    both("/nothing", ({}, BAD), ({}, GOOD))
    wrong = {"Repr-Digest": digest_of(b"another"), "ETag": '"1"'}
    both("/careless", (wrong, BAD), (wrong, GOOD))
    assert first.get("/careless").body == GOOD
    assert first.peer_status("n2")["health"] == "good"
    # and of dates alone, three are needed
    old = {"Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT"}
    for i in range(3):
        elsewhere.set(f"/dated{i}", fields={**FRESH, **old}, body=BAD)
        origin.set(f"/dated{i}", fields={**FRESH, **old}, body=GOOD)
        assert first.peer_status("n2")["health"] == "good"
        give(other, first, f"/dated{i}")
        first.get(f"/dated{i}")
        until(lambda i=i: first.peer_status("n2")["wrong"] == i + 1,
              what="a doubt")
    assert first.peer_status("n2")["health"] == "quarantine"


def test_peers_may_not_claim_to_be_fresh_for_ever(make_cluster, origin):
    c = make_cluster(2, peer_freshness="1s", placement="keep")
    c.origin_url = origin.url
    c.start()
    first, other = c.nodes
    origin.set("/a", fields={"Cache-Control": "max-age=31536000",
                             "ETag": '"1"'}, body=GOOD)
    give(other, first, "/a")
    keep(first, "/a")
    time.sleep(2.1)
    assert other.get("/a").source == "hit"
    answer = first.get("/a")  # is renewed, as what is stale
    assert answer.body == GOOD and answer.source != "hit"
    assert first.get("/a").source == "hit"
    assert first.counters()["revalidated_by_peers"] == 1
    time.sleep(2.1)
    assert first.get("/a").source != "hit"  # nor may what confirms it


@pytest.mark.parametrize("disk", [False, True])
def test_where_a_copy_is_from_nobody_is_told(make_cluster, origin, tmp_path,
                                             disk):
    """But an operator can purge by it."""
    c = make_cluster(3, placement="keep")
    c.origin_url = origin.url
    first, other, third = c.nodes
    if disk:
        first.options.update(disk_path=str(tmp_path), disk_size="100M",
                             admission="none")
    c.start()
    origin.set("/a", fields={**FRESH, "ETag": '"1"'}, body=GOOD)
    origin.set("/own", fields=FRESH, body=GOOD)
    give(other, first, "/a")
    first.get("/own")
    keep(first, "/a")
    if disk:
        first.process.end()
        first.start()
    answers = [first.get("/a"), first.get("/a", method="HEAD"),
               first.get("/a", headers={"If-None-Match": '"1"'}),
               first.get("/a", headers={"Range": "bytes=0-3"})]
    assert all(a.source == "hit" for a in answers[:3])
    for answer in answers:
        assert not [n for n, _ in answer.fields if "source" in n.lower()]
        assert ":n2" not in str(answer.fields)
    purged = request(first.admin, "/", method="PURGE",
                     headers={"Purge-Tag": ":n2"})
    assert purged.status == 200
    assert first.get("/own").source == "hit"
    assert first.get("/a").source != "hit"


def test_what_a_peer_has_renewed_is_of_that_peer_too(make_cluster, origin):
    """What the peer says of the body is not taken over, and an operator can
    purge what it has renewed."""
    c = make_cluster(2, placement="keep")
    c.origin_url = origin.url
    c.start()
    first, other = c.nodes
    fields = {"Cache-Control": "max-age=2", "ETag": '"1"',
              "Repr-Digest": digest_of(GOOD)}
    origin.set("/a", fields=fields, body=GOOD)
    for node in c.nodes:  # each has it from the origin
        assert node.get("/a", headers={"Cache-Control": "no-cache"}
                        ).source == "origin"
    until(lambda: first.knows(other), what="the copy is known")
    time.sleep(3.1)
    assert other.get("/a").source not in ("hit", "peer")
    assert first.get("/a").body == GOOD
    assert first.counters()["revalidated_by_peers"] == 1
    assert first.get("/a").source == "hit"
    purged = request(first.admin, "/", method="PURGE",
                     headers={"Purge-Tag": ":n2"})
    assert purged.status == 200
    assert first.get("/a").source != "hit"


def ask_as_peer(node, target):
    """What a node says to a peer that asks for an object."""
    return request(node.peer, f"http://www.example.com{target}", headers={
        "Cache-Control": "only-if-cached",
        "Proxy-Authorization": TOKEN})


@pytest.mark.parametrize("disk", [False, True])
def test_what_came_from_a_peer_no_third_node_gets(make_cluster, origin,
                                                  tmp_path, disk):
    """Neither does its digest say that it is there, nor is it given."""
    c = make_cluster(3, placement="keep")
    c.origin_url = origin.url
    first, other, third = c.nodes
    if disk:
        first.options.update(disk_path=str(tmp_path), disk_size="100M",
                             admission="none")
    c.start()
    for target in ("/a", "/own"):
        origin.set(target, fields={**FRESH, "ETag": '"1"'}, body=GOOD)
    give(other, first, "/a")
    assert first.get("/own").source == "origin"
    keep(first, "/a")
    if disk:
        until(lambda: first.status()["disk"]["writes"] == 2,
              what="both are on disk")
        first.process.kill()
        first.start()
    until(lambda: third.knows(first), what="its digest is known")
    assert third.peer_status("n1")["digest"]["keys"] == 1
    assert ask_as_peer(first, "/own").status == 200
    refused = ask_as_peer(first, "/a")
    assert refused.status == 504
    assert "fwd=request" in refused.get("Cache-Status")
    other.process.kill()
    until(lambda: not third.peer_status("n2")["usable"], what="it is gone")
    asked = origin.count("/a")
    assert third.get("/a").source == "origin"
    assert origin.count("/a") == asked + 1
    assert third.get("/own").source == "peer"
    assert first.get("/a").source == "hit"

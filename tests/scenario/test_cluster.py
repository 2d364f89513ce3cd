"""Nodes that know each other: digests, remote hits, and peers gone bad."""

import json
import os
import re
import signal
import threading
import time

import pytest

import cluster as scd
import servers
from cluster import request, until
from digests import Digest, derive, key, scd_ref

LONG = bool(os.environ.get("SCD_TEST_LONG"))


def bearer(name="Authorization"):
    return {name: "Bearer " + derive(scd.KEY, "token").hex()}


def digest(node, **headers):
    return request(node.peer, "/scd/v1/digest", headers={**bearer(), **headers})


def pages(origin, count, prefix="/p"):
    for i in range(count):
        origin.set(f"{prefix}{i}", fields={"Cache-Control": "max-age=600"},
                   body=f"{prefix}{i}".encode() * 20)


def fill(node, count, prefix="/p"):
    for i in range(count):
        assert node.get(f"{prefix}{i}").status == 200


def start_three(make_cluster, origin, **options):
    c = make_cluster(3, **options)
    c.origin_url = origin.url
    c.start()
    c.wait_settled()
    return c


def test_remote_hit_without_the_origin(make_cluster, origin):
    c = start_three(make_cluster, origin)
    pages(origin, 50)
    fill(c.nodes[0], 50)
    c.wait_settled()
    for i in range(50):
        r = c.nodes[1].get(f"/p{i}")
        assert (r.source, r.body) == ("peer", f"/p{i}".encode() * 20)
    assert origin.count() == 50
    n = c.nodes[1].counters()
    assert (n["remote_hits"], n["false_hits"]) == (50, 0)
    assert n["origin_fetches"] == 0
    assert c.nodes[0].counters()["peer_served"] == 50
    again = [c.nodes[1].get("/p7").source for _ in range(10)]
    assert again[0] == "peer" and again[-1] == "hit"  # a hot copy


def test_clients_cannot_part_nodes(make_cluster, origin):
    """By fields that a peer would take for its asker's."""
    c = start_three(make_cluster, origin)
    node = c.nodes[1]
    pages(origin, 40)
    fill(c.nodes[0], 40)
    c.wait_settled()
    for i in range(40):
        name, value = (("CDN-Loop", "n1"), ("Via", "1.1 n1"),
                       ("SCD-Need", "0123456789abcdef-9"),
                       ("Scd-Lease", "who"))[i % 4]
        r = node.get(f"/p{i}", headers={name: value})
        assert (r.source, r.body) == ("peer", f"/p{i}".encode() * 20)
    assert node.peer_status("n1")["health"] == "good"


def test_remote_hit_is_one_round_trip(make_cluster, origin, serve):
    """One request, on the connection that is there: on one of two, where this
    machine is so slow that the peer counts as far away, which gets a second."""
    names = [f"/p{i}" for i in range(50)]
    peer = BadPeer(serve, names, None)
    connections = set()

    def answer(r, connection):
        connections.add(connection)
        return servers.response(200, {"Cache-Control": "max-age=600"},
                                b"from the peer")
    peer.behaviour = answer
    c = make_cluster(1)
    c.origin_url = origin.url
    node = c.nodes[0]
    node.peers = [("good", peer.server.port)]
    c.start()
    until(lambda: node.peer_status("good")["digest"], what="digest")
    for name in names:
        r = node.get(name)
        assert (r.source, r.body) == ("peer", b"from the peer")
    assert peer.asked == len(names) and origin.count() == 0
    assert len(connections) <= 2


def test_change_is_known_to_every_peer_within_a_second(make_cluster, origin):
    c = start_three(make_cluster, origin)
    pages(origin, 20)
    times = []
    for i in range(20):
        c.nodes[0].get(f"/p{i}")
        stored = time.monotonic()
        until(lambda i=i: all(knows_key(n, c.nodes[0], i + 1)
                              for n in c.nodes[1:]), 5, 0.01, "news")
        times.append(time.monotonic() - stored)
    # a busy machine may stand still for a second, but hardly three times
    assert sorted(times)[-3] < 1.0 * scd.SLOW, times


def knows_key(node, other, nkeys):
    held = node.peer_status(other.name)["digest"]
    return held and held["keys"] >= nkeys


def test_digest_resource(make_cluster, origin):
    c = start_three(make_cluster, origin)
    node = c.nodes[0]
    pages(origin, 300)
    fill(node, 200)
    until(lambda: not node.status()["digest"]["unpublished_changes"])
    first = digest(node)
    assert first.status == 200
    assert first.get("Content-Type") == "application/scd-digest"
    etag = first.get("ETag")
    old = Digest.decode(first.body)
    assert digest(node, **{"If-None-Match": etag}).status == 304
    assert digest(node, **{"If-None-Match": '"0-1", ' + etag}).status == 304
    fill_some = range(200, 300)
    for i in fill_some:
        node.get(f"/p{i}")
    until(lambda: not node.status()["digest"]["unpublished_changes"])
    full = digest(node, **{"If-None-Match": etag})
    assert full.status == 200  # no A-IM: a delta was not asked for
    new = Digest.decode(full.body)
    delta = digest(node, **{"If-None-Match": etag, "A-IM": "scd"})
    if delta.status == 226:
        assert delta.get("IM") == "scd" and delta.get("Delta-Base") == etag
        assert delta.get("ETag") == full.get("ETag")
        assert len(delta.body) < len(full.body)
        assert old.applied(delta.body).bits == new.bits
        both = digest(node, **{"If-None-Match": etag,
                               "A-IM": "scd, scd-conditional"})
        assert both.status == 226 and len(both.body) <= len(delta.body)
        assert both.get("IM") == ("scd-conditional" if both.body[4] == 2
                                  else "scd")
    head = request(node.peer, "/scd/v1/digest", "HEAD", bearer())
    assert head.body == b""
    assert int(head.get("Content-Length")) == len(full.body)


def test_deltas_are_immutable_resources(make_cluster, origin):
    c = start_three(make_cluster, origin)
    node = c.nodes[0]
    pages(origin, 400)
    fill(node, 390)
    until(lambda: not node.status()["digest"]["unpublished_changes"])
    old = Digest.decode(digest(node).body)
    node.get("/p395")
    until(lambda: not node.status()["digest"]["unpublished_changes"])
    now = digest(node)
    links = [v for v in now.all("Link")]
    link = next(part for v in links for part in v.split(", ")
                if f"/{old.head['generation']}-" in part)
    target = link[1:link.index(">")]
    r = request(node.peer, target, headers=bearer())
    assert r.status == 200 and "immutable" in r.get("Cache-Control")
    assert old.applied(r.body).bits == Digest.decode(now.body).bits
    assert request(node.peer, target[:-1] + "999",
                   headers=bearer()).status == 404


def test_waiting_for_news(make_cluster, origin):
    c = start_three(make_cluster, origin)
    node = c.nodes[0]
    pages(origin, 3)
    node.get("/p0")
    until(lambda: not node.status()["digest"]["unpublished_changes"])
    etag = digest(node).get("ETag")
    began = time.monotonic()
    r = digest(node, **{"If-None-Match": etag, "Prefer": "wait=1"})
    assert r.status == 304 and 0.9 < time.monotonic() - began < 5 * scd.SLOW
    answers = []
    t = threading.Thread(target=lambda: answers.append(
        digest(node, **{"If-None-Match": etag, "Prefer": "wait=20"})))
    t.start()
    time.sleep(0.2)
    node.get("/p1")
    t.join(5 * scd.SLOW)
    assert answers and answers[0].status == 200
    assert answers[0].get("ETag") != etag


def test_nothing_without_the_token(make_cluster, origin):
    c = start_three(make_cluster, origin)
    node = c.nodes[0]
    pages(origin, 1)
    node.get("/p0")
    target = "http://www.example.com/p0"
    only = {"Cache-Control": "only-if-cached"}
    for wrong in ({}, {"Authorization": "Bearer " + "0" * 32},
                  {"Authorization": "Basic " + derive(scd.KEY, "token").hex()}):
        assert request(node.peer, "/scd/v1/digest",
                       headers=wrong).status == 401
        proxy = {"Proxy-" + k: v for k, v in wrong.items()}
        assert request(node.peer, target, headers={**only, **proxy}
                       ).status == 407
    assert node.counters()["refused"] >= 6
    r = request(node.peer, target, headers={**only,
                                            **bearer("Proxy-Authorization")})
    assert r.status == 200


def test_peer_listener_never_goes_upstream(make_cluster, origin):
    c = start_three(make_cluster, origin)
    pages(origin, 1)
    for headers in ({"Cache-Control": "only-if-cached"}, {}):
        r = request(c.nodes[0].peer, "http://www.example.com/p0",
                    headers={**headers, **bearer("Proxy-Authorization")})
        assert r.status == 504
    assert origin.count() == 0


@pytest.mark.parametrize("filter_size", ["1K", "512K"])
def test_published_generations_have_no_false_negative(make_cluster, origin,
                                                      filter_size):
    # the larger one is copied in four slices, while objects come and go
    c = start_three(make_cluster, origin, cache_size="64K",
                    filter_min=filter_size, filter_max=filter_size)
    node = c.nodes[0]
    pages(origin, 400)
    for start in range(0, 400, 80):
        for i in range(start, start + 80):
            node.get(f"/p{i}")
        until(lambda: not node.status()["digest"]["unpublished_changes"])
        d = Digest.decode(digest(node).body)
        assert d.head["nkeys"] == node.status()["store"]["keys"]
        for i in range(start + 80):
            uri = f"http://www.example.com/p{i}"
            r = request(node.peer, uri, headers=bearer("Proxy-Authorization"))
            if r.status == 200:
                assert key(scd.KEY, uri) in d, uri
    assert node.status()["store"]["evicted"] > 0


def test_stale_hits_are_no_false_hits(make_cluster, origin):
    # what the peer claims has gone stale meanwhile: it says so, and more of
    # them than would be forgiven as false hits are no reason to doubt it
    c = start_three(make_cluster, origin, log_level="debug")
    for i in range(60):
        origin.set(f"/s{i}", fields={"Cache-Control": "max-age=1"},
                   body=b"short")
        c.nodes[0].get(f"/s{i}")
    c.wait_settled()
    time.sleep(2.1)
    for i in range(60):
        r = c.nodes[1].get(f"/s{i}")
        assert (r.status, r.body, r.source) == (200, b"short", "origin")
    n, p = c.nodes[1].counters(), c.nodes[1].peer_status("n1")
    assert (n["false_hits"], n["stale_hits"]) == (0, 60)
    assert (p["false_hits"], p["stale_hits"]) == (0, 60)
    assert p["health"] == "good"
    metrics = request(c.nodes[1].admin, "/metrics").body
    assert b"digestd_stale_hits_total 60" in metrics
    assert b'digestd_peer_stale_hits_total{peer="n1"} 60' in metrics
    assert "peer n1: stale hit" in c.nodes[1].process.logged()
    r = request(c.nodes[0].peer, "http://www.example.com/s0",
                headers=bearer("Proxy-Authorization"))
    assert r.status == 504
    assert r.get("Cache-Status") == \
        'n1; fwd=stale; usable=on-disconnect; detail="stale"'


def test_other_variants_are_no_false_hits(make_cluster, origin):
    c = start_three(make_cluster, origin)
    for i in range(40):
        origin.set(f"/v{i}", fields={"Cache-Control": "max-age=600",
                                     "Vary": "Accept-Language"}, body=b"v")
        c.nodes[0].get(f"/v{i}", headers={"Accept-Language": "de"})
    c.wait_settled()
    for i in range(40):
        r = c.nodes[1].get(f"/v{i}", headers={"Accept-Language": "en"})
        assert (r.status, r.source) == (200, "origin")
    p = c.nodes[1].peer_status("n1")
    assert (p["false_hits"], p["variant_misses"]) == (0, 40)
    assert c.nodes[1].counters()["variant_misses"] == 40
    assert p["health"] == "good"


def test_false_hit_goes_to_the_origin(make_cluster, origin):
    # what the peer claims has gone, and it is too early to say so
    c = start_three(make_cluster, origin)
    pages(origin, 1)
    c.nodes[0].get("/p0")
    c.wait_settled()
    c.nodes[0].options.update(publish_min="1h", publish_max="1h")
    c.nodes[0].write()
    c.nodes[0].process.signal(signal.SIGHUP)
    until(lambda: "reload: done" in c.nodes[0].process.logged())
    c.nodes[0].get("/p0", method="DELETE")
    assert c.nodes[1].get("/p0").source == "origin"
    assert c.nodes[1].peer_status("n1")["false_hits"] == 1
    assert c.nodes[1].peer_status("n1")["stale_hits"] == 0


def test_rings_do_not_loop(make_cluster, origin):
    for count in (3, 10) if LONG else (3, 5):
        c = make_cluster(count, cooperate=False)
        for i, node in enumerate(c.nodes):
            following = c.nodes[(i + 1) % count]
            node.options["default_origin"] = \
                f"http://127.0.0.1:{following.data}"
        c.start()
        r = c.nodes[0].get("/x")
        assert r.status in (502, 508)
        counters = [node.counters() for node in c.nodes]
        assert sum(n["requests"] for n in counters) == count + 1
        assert sum(n["loops"] for n in counters) == 1
        assert 'another node has the name "n1", too' in \
            c.nodes[0].process.logged()


def test_restarted_peer_is_followed_again(make_cluster, origin):
    c = start_three(make_cluster, origin)
    pages(origin, 20)
    fill(c.nodes[0], 10)
    c.wait_settled()
    c.nodes[0].process.kill()
    for i in range(10):
        assert c.nodes[1].get(f"/p{i}").status == 200
    c.nodes[0].start()
    fill(c.nodes[0], 20)
    c.wait_settled(20)
    until(lambda: c.nodes[2].get("/p15").source in ("peer", "hit"), 20, 0.3)


def test_another_key_is_another_cluster(make_cluster, origin):
    c = make_cluster(2)
    c.origin_url = origin.url
    c.nodes[1].options["cluster_key"] = "f" * 32
    c.start()
    pages(origin, 1)
    c.nodes[0].get("/p0")
    until(lambda: "peer=n1 cause=wrong-key" in c.nodes[1].process.logged())
    assert c.nodes[1].peer_status("n1")["digest"] is None
    assert c.nodes[1].get("/p0").source == "origin"


def give(node, text):
    """Its cluster key, which is in a file of its own."""
    node.key = node.path + ".key"
    node.options.update(cluster_key=None, cluster_key_file=node.key)
    with open(os.open(node.key, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600),
              "w", encoding="ascii") as f:
        f.write(text)


def test_a_cluster_changes_its_key(make_cluster, origin):
    """By reloads of one node after the other, in three rounds and in either
    order: nodes that have either key understand each other all the time."""
    old, new = "1" * 31 + "2", "3" * 31 + "4"
    c = make_cluster(2, placement="keep")
    c.origin_url = origin.url
    for node in c.nodes:
        give(node, old + "\n")
    c.start()
    pages(origin, 100)
    a, b = c.nodes
    page = 0
    for text, order in (
            (f"{old}\n{new}\nhash {old}\n", (a, b)),
            (f"{new}\n{old}\nhash {old}\n", (b, a)),
            (f"{new}\nhash {old}  # until all have been restarted\n", (a, b))):
        for node in order:
            give(node, text)
            reloads = node.process.logged().count("reload: done")
            node.process.signal(signal.SIGHUP)
            until(lambda n=node, r=reloads:
                  n.process.logged().count("reload: done") > r)
            for _ in range(3):
                a.get(f"/p{page}")
                b.get(f"/p{page + 1}")
                c.wait_settled()
                until(lambda: a.knows(b) and b.knows(a))
                assert b.get(f"/p{page}").source == "peer"
                assert a.get(f"/p{page + 1}").source == "peer"
                page += 2
            for teller, other in ((a, b), (b, a)):  # both hold it
                assert request(
                    teller.admin, f"/p{page - 1}", "PURGE",
                    headers={"Host": "www.example.com"}).status == 200
                assert other.get(f"/p{page - 1}").source == "origin"
                teller.get(f"/p{page - 1}")
    bearer = {"Authorization": "Bearer " + "0" * 32}
    assert scd.request(a.peer, "/scd/v1/digest", headers=bearer).status == 401
    for said in ("cause=wrong-key", "refused the"):
        assert said not in a.process.logged() + b.process.logged()
    changed = "reload: the cluster key has changed: of peers "
    assert [line[line.index(changed) + len(changed):][:5]
            for line in a.process.logged().splitlines() if changed in line] \
        == ["2 are", "2 are", "1 is "]

    # by another key for hashing digests would mean nothing, and it is said
    give(a, f"{new}\n")
    a.process.signal(signal.SIGHUP)
    until(lambda: "takes effect only at the next start" in a.process.logged())
    a.process.end()
    a.start()
    until(lambda: "digest refused: its keys are made by another cluster key "
          "than ours" in b.process.logged())
    assert b.peer_status("n1")["health"] == "good"


def test_who_keeps_the_old_key_is_let_in_no_more(make_cluster, origin):
    """Nor is it told of anything, though it was being told when the key
    changed: both logs say why, and the purge names it."""
    old, new = "1" * 31 + "2", "3" * 31 + "4"
    c = make_cluster(2)
    c.origin_url = origin.url
    for node in c.nodes:
        give(node, old + "\n")
    c.start()
    a, b = c.nodes
    c.wait_settled()
    for text in (f"{old}\n{new}\nhash {old}\n", f"{new}\nhash {old}\n"):
        give(a, text)
        reloads = a.process.logged().count("reload: done")
        a.process.signal(signal.SIGHUP)
        until(lambda r=reloads: a.process.logged().count("reload: done") > r)
    until(lambda: "peer=n1 cause=wrong-key" in b.process.logged())
    for node, other in ((a, b), (b, a)):
        r = request(node.admin, "/p", "PURGE",
                    headers={"Host": "www.example.com"})
        assert json.loads(r.body)["peers"] == {other.name: None}
        assert f"peer {other.name} refused the purge (401): its cluster key" \
            in node.process.logged()


# Peers gone bad: each behaviour at objects, with a digest that promises much.

class BadPeer:
    """Serves a true digest of every page, and answers badly for objects."""

    def __init__(self, serve, names, behaviour):
        self.behaviour = behaviour
        self.digest = Digest.make([key(scd.KEY, "http://www.example.com" + n)
                                   for n in names]).encode()
        self.asked = 0
        self.server = serve(self.answer)

    def answer(self, request, connection):
        if request.target == "/scd/v1/digest":
            if request.get("If-None-Match"):
                time.sleep(0.5)
                return servers.response(304, {"ETag": '"0000000000000007-1"'})
            return servers.response(200, {
                "ETag": '"0000000000000007-1"',
                "Content-Type": "application/scd-digest"}, self.digest)
        if request.target == "/scd/v1/invalidations":
            return servers.response(404, {}, b"")
        self.asked += 1
        return self.behaviour(request, connection)


def bad_peer_case(make_cluster, origin, serve, behaviour, count=400):
    names = [f"/p{i}" for i in range(count)]
    pages(origin, count)
    bad = BadPeer(serve, names, behaviour)
    c = make_cluster(1, **scd.IMPATIENT)
    c.origin_url = origin.url
    node = c.nodes[0]
    node.peers = [("bad", bad.server.port)]
    c.start()
    until(lambda: node.peer_status("bad")["digest"], 10, what="digest")
    times = []
    for name in names:
        began = time.monotonic()
        r = node.get(name)
        times.append(time.monotonic() - began)
        assert (r.status, r.body) == (200, name.encode() * 20)
    times.sort()
    assert times[-1] < 2.0 * scd.SLOW
    assert times[len(times) // 2] < 0.1 * scd.SLOW
    assert bad.asked <= count // 4
    return node, bad


def test_peer_that_hangs(make_cluster, origin, serve):
    node, _ = bad_peer_case(make_cluster, origin, serve, servers.hang)
    assert node.peer_status("bad")["health"] in ("broken", "half open")


def test_peer_that_resets(make_cluster, origin, serve):
    bad_peer_case(make_cluster, origin, serve, servers.reset)


def test_peer_that_drips(make_cluster, origin, serve):
    bad_peer_case(make_cluster, origin, serve, servers.drip)


def test_peer_that_sends_garbage(make_cluster, origin, serve):
    bad_peer_case(make_cluster, origin, serve, servers.garbage)


def test_peer_that_breaks_off(make_cluster, origin, serve):
    bad_peer_case(make_cluster, origin, serve, servers.too_short)


def test_peer_that_errs(make_cluster, origin, serve):
    bad_peer_case(make_cluster, origin, serve, servers.error)


def test_peer_that_lies_is_quarantined(make_cluster, origin, serve):
    node, bad = bad_peer_case(make_cluster, origin, serve, servers.lie)
    assert node.peer_status("bad")["health"] == "quarantine"
    assert node.peer_status("bad")["false_hits"] == bad.asked


def test_digests_that_are_none(make_cluster, origin, serve):
    """Each answer for a digest that must not be taken, and must not hurt."""
    good = Digest.make([]).encode()
    claims_all = Digest.make([(i, 0) for i in range(1 << 14)]).encode()
    answers = [b"", b"garbage" * 100, good[:-1], good + b"x", good[:50],
               claims_all, bytes([good[0] ^ 1]) + good[1:]]
    turn = [0]

    def answer(request, connection):
        turn[0] += 1
        return servers.response(200, {}, answers[turn[0] % len(answers)])
    bad = serve(answer)
    c = make_cluster(1)
    c.origin_url = origin.url
    node = c.nodes[0]
    node.peers = [("bad", bad.port)]
    c.start()
    until(lambda: node.peer_status("bad")["unfit"] >= 4, 20)
    assert node.peer_status("bad")["digest"] is None
    pages(origin, 1)
    assert node.get("/p0").source == "origin"


def test_implausible_digest_ends_at_its_header(make_cluster, origin, serve):
    """2^32 bits in 100 bytes, and a body that goes on for ever behind the
    header: refused at once, the transfer ended, and the node answers."""
    digest = Digest.make([(1, 2)])
    header = bytearray(scd_ref.write_header(dict(
        digest.head, kind=0, coding=2, hashing=0, nkeys=1, nbits=1 << 32,
        nones=1, ncoded=1, payload_bytes=4, base_checksum=0, checksum=0)))
    ended = []

    def drip(request, connection):
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: "
                           b"1000000000\r\n\r\n" + header)
        try:
            for _ in range(200):
                connection.sendall(bytes(1 << 16))
                time.sleep(.01)
        except OSError:
            ended.append(True)
        return b""
    bad = serve(drip)
    c = make_cluster(1)
    c.origin_url = origin.url
    node = c.nodes[0]
    node.peers = [("bad", bad.port)]
    c.start()
    until(lambda: ended, 10)
    assert node.peer_status("bad")["digest"] is None
    assert node.peer_status("bad")["unfit"] >= 1
    assert re.search("peer=bad cause=.* detail=.digest refused: ",
                     node.process.logged())
    pages(origin, 1)
    assert node.get("/p0").source == "origin"


def test_digest_with_hashing_of_squid(make_cluster, origin, serve):
    """It can be read, but a lookup in it would be of other keys: not taken,
    and the log says whose it is and why."""
    digest = Digest.make([(i, i) for i in range(100)], nhash=4)
    digest.head["hashing"] = 1
    bad = serve(lambda request, connection: servers.response(
        200, {}, digest.encode()))
    c = make_cluster(1)
    c.origin_url = origin.url
    node = c.nodes[0]
    node.peers = [("squid", bad.port)]
    c.start()
    until(lambda: node.peer_status("squid")["unfit"] >= 1, 20)
    assert node.peer_status("squid")["digest"] is None
    assert re.search("peer=squid cause=version .*it has Squid's hashing",
                     node.process.logged())
    digest.head["hashing"] = 0
    until(lambda: node.peer_status("squid")["digest"], 20)


# Whole replays

def replay_with(make_cluster, disturb):
    requests = 12000 if scd.SLOW == 1 else 4000
    c = make_cluster(3, **scd.IMPATIENT)
    c.start_origin()
    c.start()
    c.wait_settled()
    stop = threading.Event()
    t = threading.Thread(target=disturb, args=(c, stop))
    t.start()
    try:
        # clients talk to the first two; the third is the one in trouble
        report, code = c.replay(f"gen:upisa,requests={requests},seed=3",
                                nodes=c.nodes[:2])
    finally:
        stop.set()
        t.join()
    return c, report, code


def test_node_killed_and_restarted_during_a_replay(make_cluster):
    def disturb(c, stop):
        while not stop.wait(0.4):
            c.nodes[2].process.kill()
            time.sleep(0.2)
            c.nodes[2].start()

    _, report, code = replay_with(make_cluster, disturb)
    assert report["total"]["errors"]["total"] == 0 and code == 0
    assert report["total"]["remote"] > 0


def test_node_that_stops_answering_during_a_replay(make_cluster):
    def disturb(c, stop):
        c.replay("gen:upisa,requests=4000,seed=3", nodes=c.nodes[2:])
        while not stop.wait(0.5):
            c.nodes[2].process.pause()
            time.sleep(0.7)
            c.nodes[2].process.signal(signal.SIGCONT)

    c, report, code = replay_with(make_cluster, disturb)
    c.nodes[2].process.signal(signal.SIGCONT)
    assert report["total"]["errors"]["total"] == 0 and code == 0


def test_cooperation_pays_with_three_and_with_eight_nodes(make_cluster):
    requests = 8000 if scd.SLOW == 1 else 4000
    for count in (3, 8) if scd.SLOW == 1 else (3,):
        found = {}
        for cooperate in (True, False):
            c = make_cluster(count, cooperate, cache_size="4M")
            c.start_origin()
            c.start()
            report, code = c.replay(f"gen:upisa,requests={requests},seed=5")
            assert code == 0 and report["total"]["errors"]["total"] == 0
            assert report["total"]["verified"] == requests
            found[cooperate] = report["total"]["requests"] \
                - report["total"]["origin"]
            if cooperate:
                # a small change to a settled cluster travels as a delta
                c.wait_settled()
                c.nodes[0].get("/one/more")
                until(lambda: c.nodes[1].knows(c.nodes[0]) and
                      c.nodes[0].status()["digest"]["delta_sent"], 10)
            c.stop()
        assert found[True] > 1.1 * found[False]

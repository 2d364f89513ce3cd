"""Which nodes of a cluster keep an object."""

import signal
import threading
import time

import pytest
import servers
from cluster import KEY, SLOW, request, until
from digests import Digest, derive, key

PAGES = {"Cache-Control": "max-age=600"}


@pytest.fixture
def placed(make_cluster, origin):
    """placed(placement, count): nodes that follow each other."""
    def make(placement, count=3, **options):
        c = make_cluster(count, placement=placement, publish_min="10ms",
                         publish_max="20ms", **options)
        c.origin_url = origin.url
        c.start()
        c.wait_settled()
        return c
    return make


def ask(cluster, target, *numbers):
    """Where the answers of these nodes come from, one after the other."""
    sources = []
    for n in numbers:
        r = cluster.nodes[n].get(target)
        assert r.status == 200
        sources.append(r.source)
        cluster.wait_settled()
        until(lambda: seen_is_shared(cluster), what="what was seen is shared")
    return sources


def seen_key(path):
    return key(KEY, f"http://www.example.com/{path}")


def seen_is_shared(cluster):
    """Whether every node holds what every other one has seen."""
    seen = {n.name: n.status()["seen"] for n in cluster.nodes}
    return not any(seen.values()) or all(
        not theirs["unpublished_changes"]
        and mine["peers"].get(name, theirs["generation"])
        == theirs["generation"]
        for name, theirs in seen.items() for mine in seen.values())


def holders(cluster):
    return [n.status()["store"]["objects"] for n in cluster.nodes]


def test_keep_copies_at_once(placed, origin):
    c = placed("keep")
    origin.set("/a", fields=PAGES, body=b"a")
    assert ask(c, "/a", 0, 1, 1, 2) == ["origin", "peer", "hit", "peer"]
    assert holders(c) == [1, 1, 1]


def test_second_copies_at_the_second_request(placed, origin):
    c = placed("second")
    origin.set("/a", fields=PAGES, body=b"a")
    assert ask(c, "/a", 0, 1, 1, 1, 2) == ["origin", "peer", "peer", "hit",
                                           "peer"]
    assert holders(c) == [1, 1, 0]
    origin.set("/big", fields=PAGES, body=b"a" * 500000)  # streamed
    assert ask(c, "/big", 0, 1, 1, 1) == ["origin", "peer", "peer", "hit"]
    assert origin.count() == 2


def test_single_is_one_copy(placed, origin):
    c = placed("single")
    origin.set("/a", fields=PAGES, body=b"a")
    assert ask(c, "/a", 0, 1, 1, 2, 2, 0) == ["origin"] + ["peer"] * 4 + \
        ["hit"]
    assert holders(c) == [1, 0, 0]
    c.nodes[0].process.kill()  # the copy is lost, and made anew
    assert c.nodes[1].get("/a").source == "origin"
    assert c.nodes[1].get("/a").source == "hit"


def test_single_seen_remembers_by_itself(placed, origin):
    c = placed("single-seen", slice_size="64k")
    origin.set("/a", fields=PAGES, body=b"a")
    assert ask(c, "/a", 0, 1, 0, 1, 1) == ["origin", "origin", "origin",
                                           "peer", "peer"]
    assert holders(c) == [1, 0, 0]
    sliced = {**PAGES, "ETag": '"1"', "Accept-Ranges": "bytes"}
    origin.set("/large", fields=sliced, body=b"l" * 150_000)
    assert ask(c, "/large", 2, 2, 2) == ["origin", "origin", "hit"]


def test_stale_copies_are_renewed_where_they_are(placed, origin):
    c = placed("single", 2)
    origin.set("/a", fields={"Cache-Control": "max-age=0, must-revalidate",
                             "ETag": '"1"'}, body=b"a")
    assert ask(c, "/a", 0, 0) == ["origin", "origin"]
    assert holders(c) == [1, 0]


def test_single_shared_keeps_what_any_has_seen(placed, origin):
    c = placed("single-shared")
    origin.set("/a", fields=PAGES, body=b"a")
    assert ask(c, "/a", 0, 1, 2, 0, 1) == ["origin", "origin", "peer", "peer",
                                           "hit"]
    assert holders(c) == [0, 1, 0]
    origin.set("/b", fields=PAGES, body=b"b")
    assert ask(c, "/b", 0, 0, 0) == ["origin", "origin", "hit"]
    assert origin.count() == 4


def test_what_was_seen_is_a_digest(placed, origin):
    c = placed("single-shared", 2, admission_window="100")
    node = c.nodes[0]
    token = {"Authorization": "Bearer " + derive(KEY, "token").hex()}
    for i in range(20):
        origin.set(f"/{i}", fields=PAGES, body=b"a")
        node.get(f"/{i}")
    until(lambda: seen_is_shared(c))
    first = request(node.peer, "/scd/v1/seen", headers=token)
    assert first.status == 200
    seen = Digest.decode(first.body)
    assert all(seen_key(i) in seen for i in range(20))
    held = Digest.decode(request(node.peer, "/scd/v1/digest",
                                 headers=token).body)
    assert not any(held.bits) and held.head != seen.head
    etag = first.get("ETag")
    again = {**token, "If-None-Match": etag, "A-IM": "scd"}
    assert request(node.peer, "/scd/v1/seen", headers=again).status == 304
    for i in range(200):  # the oldest make room
        node.get(f"/none/{i}")
        origin.set(f"/more/{i}", fields=PAGES, body=b"a")
        node.get(f"/more/{i}")
        if i == 198:  # what is sent now, a delta leads from
            until(lambda: seen_is_shared(c))
            request(node.peer, "/scd/v1/seen", headers=token)
    until(lambda: seen_is_shared(c))
    assert node.status()["seen"]["keys"] == 100
    latest = request(node.peer, "/scd/v1/seen", headers=token)
    assert "</scd/v1/seen-delta/" in latest.get("Link")
    link = latest.get("Link").split("<")[1].split(">")[0]
    assert request(node.peer, link, headers=token).status == 200
    later = Digest.decode(latest.body)
    assert seen_key("more/199") in later
    assert sum(seen_key(i) in later for i in range(20)) <= 2
    assert request(node.peer, "/scd/v1/seen").status == 401
    assert request(node.peer, link).status == 401
    metrics = request(node.admin, "/metrics").body.decode()
    assert "\ndigestd_seen_keys 100\n" in metrics


def test_nothing_seen_is_published_without_need(placed):
    c = placed("single", 2)
    token = {"Authorization": "Bearer " + derive(KEY, "token").hex()}
    assert c.nodes[0].status()["seen"] is None
    assert request(c.nodes[0].peer, "/scd/v1/seen",
                   headers=token).status == 404


def total(cluster, counter):
    return sum(n.counters()[counter] for n in cluster.nodes)


def test_auto_copies_what_is_hot(placed, origin):
    c = placed("auto")
    origin.set("/hot", fields=PAGES, body=b"h")
    origin.set("/cold", fields=PAGES, body=b"c")
    assert ask(c, "/cold", 0, 1, 2) == ["origin"] + ["peer"] * 2
    # nothing has had to go yet, so twice is often
    assert ask(c, "/hot", 0, *[1] * 4) == ["origin"] + ["peer"] * 2 + \
        ["hit"] * 2
    assert holders(c) == [2, 1, 0] and origin.count() == 2
    stores = [n.status()["store"] for n in c.nodes]
    assert [s["hot_objects"] for s in stores] == [0, 1, 0]
    assert stores[1]["hot_bytes"] > 0
    assert 0 < stores[1]["hot_limit_bytes"] < stores[1]["limit_bytes"]
    c.nodes[0].process.kill()  # the copy is as good as what it is of
    assert c.nodes[1].get("/hot").source == "hit"


def test_auto_copies_what_a_crowd_waits_for(make_cluster, origin):
    """Its copy answers all of them: without it each would ask the peer."""
    c = make_cluster(2, placement="auto", peer_timeout="10s", lease_wait="10s")
    c.origin_url = origin.url
    c.start()
    c.wait_settled()
    until(lambda: c.nodes[1].peer_status("n1")["leases"], what="n1 says so")
    body = b"L" * 400000
    came = threading.Event()

    def page(_request, connection):
        came.set()
        time.sleep(.5 * SLOW)
        connection.sendall(servers.response(200, PAGES, body))
        return b""
    origin.pages["/crowd"] = page
    answers = []
    threads = [threading.Thread(
        target=lambda n=n: answers.append(n.get("/crowd").body == body))
        for n in [c.nodes[0]] + [c.nodes[1]] * 12]
    threads[0].start()
    assert came.wait(10)
    for t in threads[1:]:
        t.start()
    for t in threads:
        t.join()
    assert answers == [True] * 13 and origin.count("/crowd") == 1
    # one, or, where none of the others came in time, one more
    assert c.nodes[0].counters()["peer_served"] <= 2


def test_auto_asks_the_owner_before_the_origin(make_cluster, origin):
    """No digest shows what was fetched: the owners know."""
    c = make_cluster(3, placement="auto", publish_min="1h", publish_max="1h",
                     peer_timeout="10s", lease_wait="10s")
    c.origin_url = origin.url
    c.start()
    c.wait_settled()
    until(lambda: c.nodes[0].peer_status("n2")["leases"], what="n2 says so")
    pages = [f"/p{i}" for i in range(24)]
    for page in pages:
        origin.set(page, fields=PAGES, body=b"p")
    sources = [[n.get(p).source for p in pages] for n in c.nodes]
    assert sources == [["origin"] * 24] + [["peer"] * 24] * 2
    assert origin.count() == 24
    assert total(c, "peer_queries") == 0 < total(c, "lease_queries")


def test_auto_does_without_an_owner_that_has_ended(placed, origin):
    c = placed("auto", lease_wait="10s")
    c.nodes[2].process.kill()
    for i in range(30):
        origin.set(f"/p{i}", fields=PAGES, body=b"p")
        began = time.monotonic()
        assert c.nodes[0].get(f"/p{i}").source == "origin"
        assert time.monotonic() - began < 5  # half of lease_wait
    assert origin.count() == 30
    counters = c.nodes[0].counters()
    assert 0 < counters["peer_errors"] <= 6  # then it is left alone
    assert counters["lease_queries"] > counters["peer_errors"]


def test_auto_hardly_waits_for_an_owner_that_hangs(placed, origin):
    c = placed("auto", peer_timeout=None)  # by its distance
    origin.set("/a", fields=PAGES, body=b"a")
    assert ask(c, "/a", 2, 0) == ["origin", "peer"]  # so it is near
    owner = c.nodes[2].process
    owner.pause()
    try:
        began = time.monotonic()
        for i in range(30):  # it owns some ten of them
            origin.set(f"/p{i}", fields=PAGES, body=b"p")
            assert c.nodes[0].get(f"/p{i}").source == "origin"
        assert time.monotonic() - began < 2 * SLOW  # of lease_wait it is 1 s
    finally:
        owner.signal(signal.SIGCONT)
    assert c.nodes[0].counters()["peer_errors"] >= 3

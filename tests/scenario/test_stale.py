"""Stale objects that are served all the same: while they are fetched again."""

import threading
import time

import pytest

import servers
from cluster import until

RENEWED = {"Cache-Control": "max-age=60", "ETag": '"2"'}
STALE = {"Cache-Control": "max-age=0, stale-while-revalidate=60",
         "ETag": '"1"'}


class Slow:
    """A page that is stale at once, and slow to be asked about."""

    def __init__(self, answer):
        self.answer, self.go = answer, threading.Event()
        self.asked = []

    def __call__(self, request, _):
        if request.get("If-None-Match") != '"1"':
            return servers.response(200, STALE, b"old")
        self.asked.append(request)
        self.go.wait(10)
        return self.answer


def test_stale_while_revalidate(node, origin):
    page = Slow(servers.response(200, RENEWED, b"new"))
    origin.pages["/a"] = page
    node.get("/a")
    # all are served at once, and the origin is asked once meanwhile
    for headers in ({}, {"Range": "bytes=0-1"}, {}):
        began = time.monotonic()
        r = node.get("/a", headers=headers)
        assert r.body == (b"ol" if headers else b"old")
        assert r.source == "hit" and time.monotonic() - began < 5
    until(lambda: page.asked)
    assert page.asked[0].get("Range") is None
    page.go.set()
    until(lambda: node.get("/a").body == b"new")
    assert len(page.asked) == 1 and origin.count() == 2
    assert node.counters()["stale_served"] >= 3


def test_stale_while_revalidate_is_confirmed(node, origin):
    page = Slow(servers.response(304, {"ETag": '"1"',
                                       "Cache-Control": "max-age=60"}))
    page.go.set()
    origin.pages["/a"] = page
    node.get("/a")
    assert node.get("/a", method="HEAD").source == "hit"
    until(lambda: node.counters()["revalidated"] == 1)
    r = node.get("/a")
    assert (r.source, r.body, r.get("Cache-Control")) == ("hit", b"old",
                                                          "max-age=60")


def stale_and_asked(node, page, count):
    """Who comes while the origin is still asked starts no new question."""
    assert node.get("/a").body == b"old"
    return len(page.asked) >= count


def test_stale_while_the_origin_fails(node, origin):
    page = Slow(servers.response(503))
    page.go.set()
    origin.pages["/a"] = page
    node.get("/a")
    for count in (1, 2, 3):
        until(lambda: stale_and_asked(node, page, count))


def test_not_stale_where_nobody_may_ask(node, origin):
    origin.set("/a", fields=STALE, body=b"old")
    node.get("/a")
    only = {"Cache-Control": "only-if-cached"}
    assert node.get("/a", headers=only).body == b"old"
    time.sleep(0.2)
    assert origin.count() == 1
    assert "fwd=" in node.get("/a", headers={"Cache-Control": "no-cache"}) \
        .get("Cache-Status")


def test_peer_is_not_given_stale_objects(make_cluster, origin):
    c = make_cluster(2)
    c.origin_url = origin.url
    a, b = c.start().nodes
    origin.set("/a", fields=STALE, body=b"old")
    a.get("/a")
    until(lambda: b.knows(a))
    assert b.get("/a").source == "origin"


def hang_up(_, __):
    return None


def serve_stale_copy_of_peer(make_cluster, origin, cc, **options):
    """Two nodes, of which the first has /a, stale; knows the second."""
    c = make_cluster(2, **options)
    c.origin_url = origin.url
    a, b = c.start().nodes
    origin.set("/a", fields={"Cache-Control": cc, "ETag": '"1"'}, body=b"old")
    assert a.get("/a").body == b"old"
    until(lambda: b.knows(a))
    return a, b


@pytest.mark.parametrize("cc, on_error, on_disconnect", [
    ("max-age=0, stale-if-error=60", True, True),
    ("max-age=0", False, True),
    ("max-age=0, must-revalidate, stale-if-error=60", False, False)])
def test_a_peer_gives_its_stale_copy_when_the_origin_fails(
        make_cluster, origin, cc, on_error, on_disconnect):
    a, b = serve_stale_copy_of_peer(make_cluster, origin, cc)
    # as long as the origin answers, nobody gets it, nor asks for it
    assert b.get("/a", headers={"X-First": "1"}).source == "origin"
    queries = b.counters()["peer_queries"]
    origin.set("/b", fields={"Cache-Control": cc}, body=b"old")
    a.get("/b")
    until(lambda: b.knows(a))
    origin.set("/b", status=503, body=b"out of order")
    r = b.get("/b")
    assert (r.status, r.body) == ((200, b"old") if on_error else
                                  (503, b"out of order"))
    # that is one question more, and only where the answer would do
    assert b.counters()["peer_queries"] - queries == 1 + on_error
    assert b.counters()["stale_from_peers"] == on_error
    if on_error:
        assert "detail=\"peer=n1\"" in r.get("Cache-Status")
        assert int(r.get("Age")) >= 0
    origin.set("/c", fields={"Cache-Control": cc}, body=b"old")
    a.get("/c")
    until(lambda: b.knows(a))
    origin.pages["/c"] = hang_up
    assert b.get("/c").status == (200 if on_disconnect else 502)


def test_a_peer_gives_stale_copies_in_an_outage(make_cluster, origin):
    """While the origin is known to be out, it is asked for pages that only the
    peer has as seldom as for those that are here."""
    c = make_cluster(2)
    c.origin_url = origin.url
    a, b = c.start().nodes
    paths = [f"/{i}" for i in range(20)]
    for path in paths:
        origin.set(path, fields={"Cache-Control": "max-age=0"}, body=b"old")
        a.get(path)
    until(lambda: b.knows(a))
    before = origin.count()
    for path in paths:
        origin.pages[path] = hang_up
    began = time.monotonic()
    for _ in range(2):
        for path in paths:
            assert b.get(path).body == b"old"
    seconds = time.monotonic() - began
    assert b.counters()["stale_from_peers"] >= len(paths)
    # one that finds it out, and one a second after that
    assert origin.count() - before <= 3 + 2 * seconds
    # an answer ends it
    for path in paths:
        origin.set(path, fields={"Cache-Control": "max-age=60"}, body=b"new")
    until(lambda: b.get(paths[0]).body == b"new")


def break_off(_, connection):
    connection.sendall(servers.response(200, {"Cache-Control": "max-age=60"},
                                        b"half", length=9))


@pytest.mark.parametrize("cc, limit, status", [
    ("max-age=0", "1h", 200),
    ("max-age=0", "0s", 502),
    ("max-age=0, stale-if-error=0", "1h", 502),
    ("max-age=0, stale-if-error=60", "0s", 200),
    ("max-age=0, must-revalidate", "1h", 502),
    ("max-age=0, proxy-revalidate", "1h", 502),
    ("s-maxage=0", "1h", 502),
    ("max-age=60, no-cache", "1h", 502)])
def test_stale_on_disconnect(make_cluster, origin, cc, limit, status):
    c = make_cluster(1, stale_on_disconnect=limit)
    c.origin_url = origin.url
    node = c.start().nodes[0]
    paths = {"/hangs": hang_up, "/breaks": break_off}
    for path, fails in paths.items():
        origin.set(path, fields={"Cache-Control": cc, "ETag": '"1"'},
                   body=b"old")
        assert node.get(path).body == b"old"
        origin.pages[path] = fails
        r = node.get(path)
        assert r.status == status, (path, r.status)
        assert "; hit" not in r.get("Cache-Status")
    # an answer is one, whatever it says
    origin.set("/hangs", status=503)
    allowed = "stale-if-error=60" in cc
    assert node.get("/hangs").status == (200 if allowed else 503)


class Hangs:
    """A page that is stale at once, whose origin stops answering until `go`."""

    def __init__(self):
        self.go, self.hung, self.confirmed = threading.Event(), 0, 0

    def __call__(self, request, _):
        fields = {"Cache-Control": "max-age=0", "ETag": '"1"'}
        if request.get("If-None-Match") != '"1"':
            return servers.response(200, fields, b"old")
        if self.go.is_set():
            self.confirmed += 1
            return servers.response(304, fields)
        self.hung += 1
        self.go.wait(20)
        return None


def timed(node, headers=None):
    began = time.monotonic()
    r = node.get("/a", headers=headers or {})
    return r, time.monotonic() - began


def test_nobody_waits_for_an_origin_that_hangs(make_cluster, origin):
    """But the first one, for stale_wait; one request a second finds out when
    it is back."""
    c = make_cluster(1, stale_wait="700ms")
    c.origin_url = origin.url
    node = c.start().nodes[0]
    origin.pages["/a"] = page = Hangs()
    try:
        assert node.get("/a").body == b"old"
        r, took = timed(node)
        assert (r.status, r.body) == (200, b"old") and took >= 0.7
        assert 'fwd=stale' in r.get("Cache-Status")
        assert 'detail="origin-late"' in r.get("Cache-Status")
        began = time.monotonic()
        for _ in range(200):
            r = node.get("/a")
            assert r.body == b"old"
            assert '; hit' in r.get("Cache-Status")
            assert 'detail="origin-out"' in r.get("Cache-Status")
        # none of them waited for 700 ms
        assert time.monotonic() - began < 100
        assert page.hung <= 2 + (time.monotonic() - began)
        assert node.counters()["stale_late"] == 1
        assert node.counters()["stale_outage"] == 200
    finally:
        page.go.set()
    until(lambda: 'fwd-status=304' in node.get("/a").get("Cache-Status"))
    assert "detail" not in node.get("/a").get("Cache-Status")


def test_who_joined_waits_no_longer(make_cluster, origin):
    """Many at once: one asks the origin, and all get what is stale in time."""
    c = make_cluster(1, stale_wait="700ms")
    c.origin_url = origin.url
    node = c.start().nodes[0]
    origin.pages["/a"] = page = Hangs()
    answers = []
    try:
        node.get("/a")
        clients = [threading.Thread(target=lambda: answers.append(timed(node)))
                   for _ in range(8)]
        for client in clients:
            client.start()
        for client in clients:
            client.join()
        assert [r.body for r, _ in answers] == 8 * [b"old"]
        assert page.hung <= 2
    finally:
        page.go.set()


def test_the_wait_of_a_site(make_cluster, origin):
    """It counts in place of the node's, under which nobody gets an answer."""
    c = make_cluster(1, stale_wait="1h", origin_timeout="1h")
    c.origin_url = origin.url
    c.nodes[0].lines = ['site "*" { rule "/a" { stale_wait = 300ms } }']
    node = c.start().nodes[0]
    origin.pages["/a"] = page = Hangs()
    try:
        assert node.get("/a").body == b"old"
        r, took = timed(node)
        assert r.body == b"old" and took >= 0.3
        assert 'detail="origin-late"' in r.get("Cache-Status")
    finally:
        page.go.set()

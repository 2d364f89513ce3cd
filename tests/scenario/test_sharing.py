"""Whom a stored response, or one under way, is for: nobody gets what another
client's request was answered with, unless HTTP allows it."""

import threading
import time

import pytest

import servers
from cluster import until

AUTH = {"Authorization": "Basic eDp5"}
FRESH = {"Cache-Control": "max-age=60"}


class Counted:
    """Answers with the number of the request, after a moment."""

    def __init__(self, delay=0, **fields):
        self.asked, self.delay, self.lock = 0, delay, threading.Lock()
        self.fields = {**FRESH, **{k.replace("_", "-"): v
                                   for k, v in fields.items()}}

    def __call__(self, request, _):
        with self.lock:
            self.asked += 1
            body = b"%d" % self.asked
        time.sleep(self.delay)
        return servers.response(200, self.fields, body)


def together(node, requests, path="/a"):
    """Their bodies, in the order of the requests, which overlap."""
    found = [None] * len(requests)

    def ask(i):
        found[i] = node.get(path, **requests[i]).body
    threads = [threading.Thread(target=ask, args=(i,))
               for i in range(len(requests))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return found


@pytest.mark.parametrize("one, other", [
    ({"headers": AUTH}, {}),
    ({}, {"headers": AUTH}),
    ({"headers": AUTH}, {"headers": AUTH}),
    ({"body": b"x"}, {}),
    ({"headers": {"Cache-Control": "no-store"}}, {}),
    ({"headers": {"X-HTTP-Method-Override": "DELETE"}}, {})])
def test_these_are_not_answered_together(node, origin, one, other):
    page = origin.pages["/a"] = Counted(0.1)
    assert sorted(together(node, [one, other])) == [b"1", b"2"]
    assert page.asked == 2


def test_a_range_is_answered_with_the_whole(node, origin):
    page = origin.pages["/a"] = Counted(0.1)
    assert together(node, [{"headers": {"Range": "bytes=0-0"}}, {}]) \
        == [b"1", b"1"]
    assert page.asked == 1


@pytest.mark.parametrize("request_, fields, stored", [
    (AUTH, {}, False),
    (AUTH, {"Cache-Control": "max-age=60, proxy-revalidate"}, False),
    (AUTH, {"Cache-Control": "max-age=60, public"}, True),
    (AUTH, {"Cache-Control": "max-age=60, must-revalidate"}, True),
    (AUTH, {"Cache-Control": "s-maxage=60"}, True),
    ({"X-HTTP-Method-Override": "HEAD"}, {}, False),
    ({"x-method-override": "PUT"}, {}, False),
    ({"Cookie": "a=b"}, {"Vary": "Cookie"}, False),
    ({"Origin": "http://a"}, {"Vary": "Origin"}, False)])
def test_what_others_get_of_it(node, origin, request_, fields, stored):
    origin.pages["/a"] = Counted(**fields)
    assert node.get("/a", headers=request_).body == b"1"
    assert node.get("/a").body == (b"1" if stored else b"2")
    assert node.get("/a").source == "hit"


@pytest.mark.parametrize("disk", [False, True])
def test_a_304_that_varies(make_cluster, origin, tmp_path, disk):
    """Whoever sends something else does not get what is confirmed."""
    c = make_cluster(1, **({"disk_path": str(tmp_path)} if disk else {}))
    c.origin_url = origin.url
    node = c.start().nodes[0]

    def page(request, _):
        if request.get("If-None-Match"):
            return servers.response(304, {**FRESH, "ETag": '"1"',
                                          "Vary": "Accept-Language"})
        return servers.response(200, {**FRESH, "Vary": "Accept-Language"},
                                request.get("Accept-Language", "").encode())
    origin.set("/a", fields={"Cache-Control": "max-age=0", "ETag": '"1"'},
               body=b"de")
    german = {"Accept-Language": "de"}
    assert node.get("/a", headers=german).body == b"de"
    if disk:
        until(lambda: node.status()["disk"]["objects"] == 1)
    origin.pages["/a"] = page
    assert node.get("/a", headers=german).body == b"de"
    assert node.get("/a", headers={"Accept-Language": "en"}).body == b"en"
    r = node.get("/a", headers=german)
    assert (r.source, r.body) == ("hit", b"de")


def test_a_304_to_one_user_leaves_what_others_have(node, origin):
    origin.set("/a", fields={"Cache-Control": "max-age=0", "ETag": '"1"'},
               body=b"ours")
    node.get("/a")
    origin.set("/a", status=304, fields={**FRESH, "ETag": '"1"'})
    assert node.get("/a", headers=AUTH).body == b"ours"
    assert node.status()["store"]["objects"] == 1
    assert "fwd=stale" in node.get("/a").get("Cache-Status")


def test_an_answer_that_nobody_asked_for(node, origin):
    """Bytes behind a response are not the next one's."""
    def two(request, connection):
        return servers.response(200, {}, b"mine") + \
            servers.response(200, FRESH, b"yours")
    origin.pages["/a"] = two
    origin.set("/b", fields=FRESH, body=b"right")
    for method in ("GET", "HEAD", "POST"):
        node.get("/a", method=method)
        assert node.get("/b?" + method).body == b"right"

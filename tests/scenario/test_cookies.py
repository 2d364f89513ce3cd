"""Set-Cookie goes to the client whose request it answers, and to nobody else,
unless the operator wants it otherwise."""

import threading
import time

import pytest

import servers
from cluster import until


class Cookies:
    """A page whose every answer sets another cookie."""

    def __init__(self, size=4, **fields):
        self.asked, self.size, self.lock = 0, size, threading.Lock()
        self.fields = {k.replace("_", "-"): v for k, v in fields.items()}

    def __call__(self, request, connection):
        with self.lock:
            self.asked += 1
            fields = {**self.fields, "Set-Cookie": f"id={self.asked}"}
        if request.get("If-None-Match"):
            fields["Cache-Control"] = "max-age=60"
            return servers.response(304, fields)
        connection.sendall(servers.response(200, fields, length=self.size))
        if self.size > 4:
            time.sleep(0.2)
        return b"x" * self.size


@pytest.fixture
def node(make_cluster, origin):
    """One with a host for each way."""
    c = make_cluster(1)
    c.origin_url = origin.url
    n = c.nodes[0]
    n.lines = [f'origin "{how}" {{ url = "{origin.url}" '
               f'set_cookie = {how} }}' for how in ("strip", "allow")]
    return c.start().nodes[0]


def ask(node, path="/a", host="www.example.com", **args):
    """(source, cookie) of an answer."""
    r = node.get(path, host=host, **args)
    assert r.status in (200, 304), r.status
    return r.source, r.get("Set-Cookie")


def crowd(node, path, count=5):
    found, threads = [], []
    for _ in range(count):
        threads.append(threading.Thread(
            target=lambda: found.append(ask(node, path))))
        threads[-1].start()
    for t in threads:
        t.join()
    return [cookie for _, cookie in found]


@pytest.mark.parametrize("fields", [
    {"Cache_Control": "max-age=60"},
    {"Cache_Control": "public, s-maxage=60"},
    {"Last_Modified": "Sun, 06 Nov 1994 08:49:37 GMT"},
    {"ETag": '"x"', "Cache_Control": 'max-age=60, private="x, vary"'}])
def test_what_has_one_is_not_stored(node, origin, fields):
    origin.pages["/a"] = Cookies(**fields)
    assert [ask(node) for _ in range(3)] == \
        [("origin", f"id={n}") for n in (1, 2, 3)]
    assert node.status()["store"]["objects"] == 0


def test_strip(node, origin):
    origin.pages["/a"] = Cookies(Cache_Control="max-age=60")
    origin.pages["/own"] = Cookies(Cache_Control="private")
    assert ask(node, host="strip") == ("origin", None)
    assert ask(node, host="strip") == ("hit", None)
    # what is for one client only has it still
    assert ask(node, "/own", host="strip") == ("origin", "id=1")
    assert ask(node, host="strip", method="POST") == ("origin", "id=2")


def test_allow(node, origin):
    origin.pages["/a"] = Cookies(Cache_Control="max-age=60")
    assert ask(node, host="allow") == ("origin", "id=1")
    assert ask(node, host="allow") == ("hit", "id=1")


def test_what_was_allowed_once_is_not_replayed(node, origin):
    origin.pages["/a"] = Cookies(Cache_Control="max-age=60")
    ask(node, host="allow")
    node.lines = [f'origin "allow" {{ url = "{origin.url}" }}']
    node.write()
    node.process.signal(1)
    until(lambda: ask(node, host="allow") == ("hit", None))


@pytest.mark.parametrize("directive", ["no-cache", "private"])
@pytest.mark.parametrize("size", [4, 300_000])
def test_named_in_a_directive(node, origin, directive, size):
    page = Cookies(size=size, Cache_Control=f'max-age=60, '
                   f'{directive}="Set-Cookie, X"', X="mine", Y="ours")
    origin.pages["/a"] = page
    # whoever asked gets it, large or small, and who waits or comes later not
    assert sorted(map(str, crowd(node, "/a"))) == ["None"] * 4 + ["id=1"]
    r = node.get("/a")
    assert (r.source, r.get("Set-Cookie")) == ("hit", None)
    assert (r.get("X"), r.get("Y")) == (None, "ours")
    assert page.asked == 1


def test_who_waits_does_not_get_it(node, origin):
    page = Cookies(size=100_000, Cache_Control="max-age=60")
    origin.pages["/a"] = page
    assert sorted(crowd(node, "/a")) == [f"id={n}" for n in range(1, 6)]


@pytest.mark.parametrize("host, first, later", [
    ("www.example.com", "id=1", None),
    ("strip", None, None),
    ("allow", "id=1", "id=1")])
def test_of_a_304(node, origin, host, first, later):
    page = Cookies(ETag='"x"')
    origin.set("/a", fields={"ETag": '"x"', "Cache-Control": "max-age=0"},
               body=b"body")
    assert ask(node, host=host) == ("origin", None)
    origin.pages["/a"] = page
    assert ask(node, host=host) == ("origin", first)
    assert ask(node, host=host) == ("hit", later)
    assert page.asked == 1


def test_of_a_304_to_a_client_with_a_condition(node, origin):
    origin.set("/a", fields={"ETag": '"x"', "Cache-Control": "max-age=0"})
    ask(node)
    origin.pages["/a"] = Cookies(ETag='"x"')
    r = node.get("/a", headers={"If-None-Match": '"x"'})
    assert (r.status, r.get("Set-Cookie")) == (304, "id=1")


def test_a_peer_that_allows_it(make_cluster, origin):
    c = make_cluster(2, publish_min="10ms", publish_max="20ms")
    c.origin_url = origin.url
    here, there = c.nodes
    there.options["set_cookie"] = "allow"
    c.start()
    origin.pages["/a"] = Cookies(Cache_Control="max-age=60")
    assert ask(there) == ("origin", "id=1")
    until(lambda: here.knows(there))
    assert ask(here) == ("origin", "id=2")
    counters = here.counters()
    assert counters["peer_queries"] == counters["stale_hits"] == 1

"""Squids that have a node as a sibling: played ones, and a real one."""

import os
import shutil
import time
from email.utils import formatdate, parsedate_to_datetime

import pytest

import cluster as scd
import servers
import squids
from cluster import until
from squids import HEADER_BYTES, NHASH, STORE_DIGEST, holds

EXAMPLE = os.path.join(os.path.dirname(__file__), "..", "..", "docs",
                       "examples", "squid-sibling.conf")
OBJECTS = 300


def page(asked, _):
    return servers.response(200, {
        "Cache-Control": "max-age=600", "Date": formatdate(usegmt=True)},
        b"page " + asked.target.encode())


def request(port, target, **args):
    """A request with the Host of its target."""
    if target.startswith("http://"):
        args["host"] = target.split("/")[2]
    return scd.request(port, target, **args)


def url(origin, i):
    return f"http://127.0.0.1:{origin.port}/{i}"


@pytest.fixture
def sibling(make_cluster, origin):
    """sibling(**options): a node with objects, and a digest of all of them."""
    def make(objects=OBJECTS, **options):
        c = make_cluster(1, squid_period="1s", **{
            "squid_peers": "127.0.0.1", **options})
        c.origin_url = origin.url
        node = c.start().nodes[0]
        for i in range(objects):
            origin.pages[f"/{i}"] = page
            assert node.get(f"/{i}", host=f"127.0.0.1:{origin.port}"
                            ).status == 200
        until(lambda: node.status()["squid"]["keys"] == objects,
              what="a digest of them")
        return node
    return make


def test_the_digest_is_as_squids_are(sibling, origin):
    node = sibling()
    r = request(node.peer, STORE_DIGEST)
    assert r.status == 200
    assert r.get("Content-Type") == "application/cache-digest"
    assert int(r.get("Content-Length")) == len(r.body)
    assert r.body[:4] == bytes([0, 5, 0, 3])
    assert int.from_bytes(r.body[16:20], "big") == len(r.body) - HEADER_BYTES
    assert r.body[21] == NHASH
    assert all(holds(r.body, url(origin, i)) for i in range(OBJECTS))
    others = [holds(r.body, url(origin, i)) for i in range(1000, 3000)]
    assert sum(others) < len(others) * .03
    left = parsedate_to_datetime(r.get("Expires")).timestamp() - time.time()
    assert -2 < left < 3
    # as a Squid asks that has it, and by the URL that Squids ask for
    again = request(node.peer, f"http://127.0.0.1:{node.peer}{STORE_DIGEST}",
                    headers={"If-Modified-Since": r.get("Last-Modified")})
    assert (again.status, again.body) == (304, b"")
    head = request(node.peer, STORE_DIGEST, method="HEAD")
    assert head.get("Content-Length") == r.get("Content-Length")
    assert request(node.peer, STORE_DIGEST, method="POST").status == 405
    count = node.status()["squid"]
    assert (count["sent"], count["not_modified"]) == (2, 1)
    # what is gone is not in the next one, but for false positives
    gone = [url(origin, i) for i in range(10)]
    assert all(request(node.admin, uri, method="PURGE").status == 200
               for uri in gone)
    until(lambda: node.status()["squid"]["keys"] == OBJECTS - len(gone),
          what="next")
    body = request(node.peer, STORE_DIGEST).body
    assert sum(holds(body, uri) for uri in gone) < 4


def test_what_a_squid_may_ask(sibling, origin):
    node = sibling(1)
    asked = origin.count()
    told = {"Cache-Control": "max-age=259200, only-if-cached"}
    here = request(node.peer, url(origin, 0), headers=told)
    assert (here.status, here.body) == (200, b"page /0")
    assert int(here.get("Age")) >= 0
    origin.pages["/1"] = page
    # nothing but 504, which alone has a Squid ask the origin
    assert request(node.peer, url(origin, 1), headers=told).status == 504
    assert request(node.peer, url(origin, 0), headers={
        **told, "Authorization": "Basic eDp5"}).status in (200, 504)
    assert origin.count() == asked
    # what is a node's alone
    lease = request(node.peer, url(origin, 1), headers={
        **told, "Scd-Lease": f"for={1:016x}"})
    assert (lease.status, lease.get("Scd-Lease")) == (504, None)
    for method, target, status in (
            ("GET", "/scd/v1/digest", 401), ("PURGE", url(origin, 0), 407),
            ("POST", url(origin, 0), 407), ("GET", "/other", 401)):
        assert request(node.peer, target, method=method).status == status
    assert request(node.peer, url(origin, 0), headers=told).status == 200


def test_others_may_not(sibling, origin):
    node = sibling(1, squid_peers="192.0.2.0/24")
    assert request(node.peer, STORE_DIGEST).status == 401
    assert request(node.peer, url(origin, 0)).status == 407


def test_without_the_option_there_is_none(make_cluster, origin):
    c = make_cluster(1)
    c.origin_url = origin.url
    node = c.start().nodes[0]
    assert request(node.peer, STORE_DIGEST).status == 401
    assert node.status()["squid"] is None


def configuration(squid, node):
    """The example, with this machine's ports."""
    with open(EXAMPLE, encoding="ascii") as f:
        text = f.read()
    for old, new in (("http_port 3128", f"http_port 127.0.0.1:{squid.port}"),
                     ("cache_peer 192.0.2.2 sibling 8082 ",
                      f"cache_peer 127.0.0.1 sibling {node.peer} ")):
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


@pytest.fixture
def real_squid():
    """real_squid(node): a Squid by the example."""
    squid = squids.Squid()

    def start(node):
        squid.configure(configuration(squid, node))
        return squid.start()

    yield start
    squid.remove()


def ways(squid):
    """What became of its requests, by their paths."""
    return {"/" + row.url.rsplit("/", 1)[1]: row.way for row in squid.rows()
            if row.way != "HIER_NONE"}


@pytest.mark.skipif(not shutil.which("squid"),
                    reason="squid is not installed")
def test_a_real_squid_finds_what_is_offered(sibling, origin, real_squid):
    node = sibling()
    for i in range(OBJECTS, OBJECTS + 20):
        origin.pages[f"/{i}"] = page
    squid = real_squid(node)
    port = squid.port
    # the first request has it fetch the digest, and goes to the origin
    assert request(port, url(origin, OBJECTS)).status == 200
    until(lambda: squid.digests() == [True], 20, what="the digest")
    fetched = origin.count()
    for i in range(OBJECTS):
        r = request(port, url(origin, i))
        assert (r.status, r.body) == (200, b"page /%d" % i)
    for i in range(OBJECTS + 1, OBJECTS + 20):
        assert request(port, url(origin, i)).status == 200
    until(lambda: len(ways(squid)) == OBJECTS + 20, what="its log")
    found = ways(squid)
    hits = [found[f"/{i}"] for i in range(OBJECTS)].count("CD_SIBLING_HIT")
    assert hits >= OBJECTS * .99, (hits, found)
    assert origin.count() - fetched <= OBJECTS * .01 + 19
    assert node.counters()["peer_served"] >= hits
    # what is gone since is asked for in vain, which no client sees
    assert request(node.admin, url(origin, 0), method="PURGE").status == 200
    r = request(port, url(origin, 0))
    assert (r.status, r.body) == (200, b"page /0")

"""The digest follows the number of objects: up, down, and its peers with it."""

import http.client
import signal

import cluster as scd
import servers
from cluster import request, until
from digests import Digest, derive, key

TOKEN = "Bearer " + derive(scd.KEY, "token").hex()

# A small filter at first.
OPTIONS = {"peer_check": "0", "filter_min": "1K", "expected_objects": "1",
           "bits_per_object": "32"}


def pages(origin):
    """As many objects as anybody asks for, /o?NUMBER."""
    def page(r, _):
        return servers.response(200, {"Cache-Control": "max-age=600",
                                      "X-Room": "taken" * 40},
                                r.target.encode())
    origin.pages["/o"] = page


def start(make_cluster, origin, count=2, **options):
    pages(origin)
    c = make_cluster(count, **{**OPTIONS, **options})
    c.origin_url = origin.url
    return c.start()


def get_all(node, numbers):
    """The objects one by one; how many came from where."""
    sources = {}
    connection = http.client.HTTPConnection("127.0.0.1", node.data, timeout=10)
    for i in numbers:
        connection.request("GET", f"/o?{i}", headers={"Host": "o.test"})
        r = connection.getresponse()
        assert (r.status, r.read()) == (200, f"/o?{i}".encode())
        source = scd.Response(r.status, r.getheaders(), b"").source
        sources[source] = sources.get(source, 0) + 1
    connection.close()
    return sources


def bits(node):
    return node.status()["digest"]["bits"]


def published(node):
    return Digest.decode(request(node.peer, "/scd/v1/digest",
                                 headers={"Authorization": TOKEN}).body)


def missing(node, numbers):
    """Objects that the node holds, and does not say so."""
    digest = published(node)
    uris = [f"http://o.test/o?{i}" for i in numbers]
    return [uri for uri in uris if key(scd.KEY, uri) not in digest
            and request(node.peer, uri, headers={
                "Proxy-Authorization": TOKEN}).status == 200]


def reload(node, **options):
    before = node.process.logged().count("reload: done")
    node.options.update(options)
    node.write()
    node.process.signal(signal.SIGHUP)
    until(lambda: node.process.logged().count("reload: done") > before)


def held(node, other):
    """What a node holds of another; it must never be nothing, or doubted."""
    p = node.peer_status(other.name)
    assert p["digest"] and p["health"] == "good"
    assert p["unfit"] == 0
    return p


def test_digest_grows_with_the_objects(make_cluster, origin):
    a, b = start(make_cluster, origin).nodes
    until(lambda: b.knows(a))
    assert bits(a) == 8192
    for first in range(0, 3000, 600):
        get_all(a, range(first, first + 600))
        until(lambda: not a.status()["digest"]["unpublished_changes"])
        assert missing(a, range(first + 600)) == []
        held(b, a)
    until(lambda: bits(a) == 131072 and b.knows(a))
    digest = a.status()["digest"]
    assert digest["keys"] == 3000 and digest["false_positive_rate"] < .002
    assert 1 <= digest["grown"] <= 4 and digest["shrunk"] == 0
    assert held(b, a)["digest"]["bits"] == 131072
    assert "the digest has grown from" in a.process.logged()
    assert get_all(b, range(3000)) == {"peer": 3000}
    assert origin.count() == 3000


def test_change_of_size_costs_one_full_digest(make_cluster, origin):
    a, b = start(make_cluster, origin).nodes
    get_all(a, range(200))
    until(lambda: b.knows(a))
    for size in ("64K", "512K", "32K"):
        before, generation = held(b, a), a.status()["digest"]["generation"]
        expected = int(size[:-1]) << (13 if size[-1] == "K" else 23)
        reload(a, filter_min=size, filter_max=size)
        until(lambda: bits(a) == expected)
        until(lambda: a.status()["digest"]["generation"] == generation + 1)
        until(lambda: b.knows(a))
        after = held(b, a)
        assert after["digest"]["bits"] == expected
        assert after["full_received"] == before["full_received"] + 1
        assert after["delta_received"] == before["delta_received"]
        assert after["fetch_failed"] == before["fetch_failed"]
        assert missing(a, range(200)) == []
    # and a delta is enough again
    get_all(a, range(200, 201))
    until(lambda: b.knows(a))
    assert held(b, a)["delta_received"] == after["delta_received"] + 1


def test_digest_shrinks_when_objects_have_gone(make_cluster, origin):
    a, b, c = start(make_cluster, origin, 3, filter_shrink_after="1s").nodes
    get_all(a, range(2000))
    until(lambda: bits(a) == 65536 and b.knows(a))
    reload(a, cache_size="64K")
    assert a.status()["store"]["keys"] < 200
    until(lambda: bits(a) == 8192 and b.knows(a), 20)
    digest = a.status()["digest"]
    assert digest["shrunk"] >= 1
    assert held(b, a)["digest"]["bits"] == 8192
    assert missing(a, range(2000)) == []
    # what is left is found, and what is gone is asked for in vain hardly ever
    until(lambda: c.knows(a))
    assert get_all(c, range(2000))["peer"] == digest["keys"]
    assert held(c, a)["false_hits"] < 20
    metrics = request(a.admin, "/metrics").body.decode()
    assert "\ndigestd_digest_filter_bytes 1024\n" in metrics
    assert f"\ndigestd_digest_shrunk_total {digest['shrunk']}\n" in metrics
    assert f"\ndigestd_digest_grown_total {digest['grown']}\n" in metrics


def test_size_stays_within_what_is_configured(make_cluster, origin):
    a, b = start(make_cluster, origin, filter_max="2K").nodes
    get_all(a, range(1500))
    until(lambda: bits(a) == 16384 and b.knows(a))
    until(lambda: "raise filter_max" in a.process.logged())
    assert a.status()["digest"]["grown"] == 1
    reload(a, filter_max="512M")
    until(lambda: bits(a) == 65536 and b.knows(a))


def test_fixed_size_stays(make_cluster, origin):
    a, b = start(make_cluster, origin, filter_resize=False).nodes
    get_all(a, range(1000))
    until(lambda: b.knows(a))
    until(lambda: "raise expected_objects" in a.process.logged())
    assert bits(a) == 8192 and a.status()["digest"]["grown"] == 0
    reload(a, expected_objects="2000")
    until(lambda: bits(a) == 65536 and b.knows(a))
    assert missing(a, range(1000)) == []


def test_size_follows_the_number_of_peers(make_cluster, origin):
    """1 % of false positives are for all peers together: more peers, more
    bits an object, unless they are set."""
    c = make_cluster(1, expected_objects="1000", filter_resize=False,
                     filter_min="1K", digest_form="array")
    c.origin_url = origin.url
    node = c.nodes[0]
    node.peers = [("p0", 1)]
    c.start()
    assert bits(node) == 1 << 14  # 13 each
    node.peers = [(f"p{i}", i + 1) for i in range(15)]
    reload(node)
    until(lambda: bits(node) == 1 << 16)  # 33 each
    reload(node, bits_per_object="8")
    until(lambda: bits(node) == 1 << 13)

"""A Squid as a peer: its digest is followed, and what is in it asked for; one
that is played, and a real one, where it is installed."""

import shutil
from email.utils import formatdate

import pytest

import servers
import squids
from cluster import request, until
from squids import HEADER_BYTES, NHASH, STORE_DIGEST, positions

NBITS = 1 << 14
MODIFIED = "Sun, 06 Nov 1994 08:49:37 GMT"
LATER = "Sun, 06 Nov 1994 08:49:38 GMT"


def squid_digest(urls):
    """What a Squid that holds these publishes."""
    mask = bytearray(NBITS // 8)
    for target in urls:
        for at in positions(target, NBITS):
            mask[at >> 3] |= 1 << (at & 7)
    header = bytearray(HEADER_BYTES)
    header[0:4] = bytes([0, 5, 0, 3])  # this version, readers' at least
    header[4:8] = (NBITS // 8).to_bytes(4, "big")  # entries of 8 bits
    header[8:12] = len(urls).to_bytes(4, "big")
    header[16:20] = len(mask).to_bytes(4, "big")
    header[20:22] = bytes([8, NHASH])
    return bytes(header + mask)


class Squid:
    """Publishes the digest of some URLs, and holds those, or not all."""

    def __init__(self, serve, urls):
        self.urls, self.holds, self.modified = urls, set(urls), MODIFIED
        self.queries, self.asked = [], []
        self.url = serve(self.answer).url

    def publish(self):
        return squid_digest(self.urls)

    def answer(self, request, _connection):
        if request.target == STORE_DIGEST:
            self.queries.append(request)
            if request.get("If-Modified-Since") == self.modified:
                return servers.response(304)
            return servers.response(200, {
                "Content-Type": "application/cache-digest",
                "Last-Modified": self.modified}, self.publish())
        self.asked.append(request)
        if request.target not in self.holds:
            return servers.response(504, {"X-Squid-Error": "ERR_ONLY_IF_CACHED"
                                          "_MISS 0"}, b"no")
        return servers.response(200, {"Cache-Control": "max-age=600"},
                                b"squid's " + request.target.encode())


def url(path):
    return "http://www.example.com" + path


def start(make_cluster, origin, squid, **options):
    c = make_cluster(1, poll="100ms", **options)
    c.origin_url = origin.url
    node = c.nodes[0]
    node.lines = [f'peer "squid" {{ url = "{squid.url}" '
                  'kind = "squid" }']
    c.start()
    until(lambda: node.peer_status("squid")["digest"], what="digest")
    return node


def pages(origin, paths):
    for path in paths:
        origin.set(path, fields={"Cache-Control": "max-age=600",
                                 "Date": formatdate(usegmt=True)},
                   body=b"origin's")


def test_what_a_squid_holds_comes_from_it(make_cluster, origin, serve):
    paths = [f"/p{i}" for i in range(20)]
    pages(origin, paths)
    squid = Squid(serve, [url(p) for p in paths[:15]])
    squid.holds -= {url(p) for p in paths[:5]}
    node = start(make_cluster, origin, squid)
    got = {p: node.get(p) for p in paths}
    for p in paths[:5] + paths[15:]:
        assert (got[p].status, got[p].body) == (200, b"origin's")
    for p in paths[5:15]:
        assert got[p].source == "peer"
        assert got[p].body == b"squid's " + url(p).encode()
    n = node.counters()
    assert (n["remote_hits"], n["false_hits"]) == (10, 5)
    assert n["origin_fetches"] == 10
    for r in squid.asked:
        assert r.get("Cache-Control") == "only-if-cached"
        assert r.target.startswith("http://www.example.com/")


def test_a_squid_is_given_no_secret_and_no_purge(make_cluster, origin, serve):
    pages(origin, ["/a"])
    squid = Squid(serve, [url("/a")])
    node = start(make_cluster, origin, squid)
    assert node.get("/a").source == "peer"
    answer = request(node.admin, url("/a"), method="PURGE",
                     headers={"Host": "www.example.com"})
    assert answer.status == 200
    assert b"squid" not in answer.body
    for r in squid.queries + squid.asked:
        assert r.method == "GET"
        assert r.get("Authorization") is None
        assert r.get("Proxy-Authorization") is None


def test_a_squids_digest_is_asked_for_again(make_cluster, origin, serve):
    pages(origin, ["/a"])
    squid = Squid(serve, [])
    node = start(make_cluster, origin, squid)
    until(lambda: node.peer_status("squid")["unchanged"] > 2, what="304s")
    assert node.get("/a").source != "peer"
    squid.urls, squid.holds = [url("/b")], {url("/b")}
    squid.modified = LATER
    until(lambda: node.peer_status("squid")["full_received"] == 2,
          what="the next digest")
    assert node.get("/b").source == "peer"
    assert all(q.get("If-Modified-Since") for q in squid.queries[1:])


def changed(digest, at, data):
    return digest[:at] + data + digest[at + len(data):]


@pytest.mark.parametrize("spoil, cause, reason", [
    (lambda d: changed(d, 2, b"\0\6"), "version", "unknown version or coding"),
    (lambda d: changed(d, 21, b"\5"), "version", "unknown version or coding"),
    (lambda d: changed(d, 16, b"\0\0\1\0"), "bad-digest", "malformed input"),
    (lambda d: d + b"x", "bad-digest", "malformed input"),
    (lambda d: changed(d, 16, b"\x7f\xff\xff\xff"),
     "too-full", "input exceeds the limits"),
    (lambda d: d[:HEADER_BYTES] + b"\xff" * (len(d) - HEADER_BYTES),
     "too-full", "input exceeds the limits"),
    (lambda d: d[:-1], "bad-digest", "input ends too early"),
    (lambda d: d[:9], "bad-digest", "input ends too early"),
], ids=["version", "hashes", "mask-size", "longer", "oversize", "full", "cut",
        "header-cut"])
def test_a_spoilt_squid_digest_is_refused(make_cluster, origin, serve, spoil,
                                          cause, reason):
    """The log says why, the digest before it stays, and so do answers."""
    pages(origin, ["/a", "/b"])
    squid = Squid(serve, [url("/a")])
    node = start(make_cluster, origin, squid)
    squid.publish = lambda: spoil(squid_digest(squid.urls))
    squid.modified = LATER
    line = f"peer=squid cause={cause} "
    until(lambda: line in node.process.logged(), what=line)
    assert f'detail="digest refused: {reason}"' in node.process.logged()
    assert node.get("/a").source == "peer"
    assert node.get("/b").body == b"origin's"


@pytest.mark.skipif(not shutil.which("squid"),
                    reason="squid is not installed")
def test_what_a_real_squid_holds(make_cluster, origin):
    paths = [f"/p{i}" for i in range(50)]
    pages(origin, paths)
    squid = squids.Squid()
    try:
        squid.configure(squids.STORE + squids.ORIGIN, origin=origin.port)
        squid.make_store()
        squid.start()
        for p in paths[:25]:
            assert squid.get(url(p)).status == 200
        # an early digest may have no more than its icons
        until(lambda: squid.claims(map(url, paths[:25])), 30,
              what="a digest of them")
        node = start(make_cluster, origin, squid, peer_timeout="5s",
                     peer_budget="5s")
        fetched = origin.count()
        sources = [node.get(p).source for p in paths]
        assert sources[:25] == ["peer"] * 25
        # the Squid itself has asked the origin for nothing more
        assert origin.count() == fetched + 25 == 50
        assert node.counters()["remote_hits"] == 25
    finally:
        squid.remove()

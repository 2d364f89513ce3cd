"""Large objects, which are stored in slices and fetched in ranges."""

import hashlib
import http.client
import re
import signal
import threading
import time

import servers
from cluster import request, until

MIB = 1 << 20


class Video:
    """A large object of an origin, each MiB of which says which it is, and of
    which version."""

    def __init__(self, origin, path="/v", mib=64, extra=1234, **fields):
        self.size, self.version, self.asked = mib * MIB + extra, 1, []
        self.fields = {"Cache-Control": "max-age=600",
                       "Accept-Ranges": "bytes", **fields}
        self.lock = threading.Lock()
        self.gate = None
        origin.pages[path] = self.answer

    def part(self, first, end, version=None):
        """Bytes first up to end."""
        version = version or self.version
        seed = hashlib.sha256(b"%d" % version).digest()
        out = []
        for n in range(first // MIB, (end + MIB - 1) // MIB):
            block = b"%08d" % n + seed * (MIB // 32 - 1) + seed[:24]
            out.append(block[max(first - n * MIB, 0):end - n * MIB])
        return b"".join(out)

    def tag(self):
        return f'"{self.version}"'

    def answer(self, request, connection):
        if self.gate:
            self.gate(request)
        first, end, status = 0, self.size, 200
        m = re.fullmatch(r"bytes=(\d+)-(\d+)", request.get("Range", ""))
        if m and request.get("If-Range", self.tag()) == self.tag():
            first, end = int(m[1]), min(int(m[2]) + 1, self.size)
            status = 206
        with self.lock:
            self.asked.append((status, first, end))
        if request.get("If-None-Match") == self.tag():
            return servers.response(304, {"ETag": self.tag(), **self.fields})
        fields = {**self.fields, "ETag": self.tag()}
        if status == 206:
            fields["Content-Range"] = f"bytes {first}-{end - 1}/{self.size}"
        body = self.part(first, end)
        return servers.response(status, fields, body)

    def slices_asked(self):
        """How often each slice came in a part."""
        with self.lock:
            return [sum(first <= n * MIB < end for s, first, end in self.asked
                        if s == 206)
                    for n in range(self.size // MIB + 1)]


def ranged(first, end, **fields):
    return {"Range": f"bytes={first}-{end - 1}", **fields}


def get(node, first, end, path="/v", **fields):
    return node.get(path, headers=ranged(first, end, **fields))


def test_two_rounds_of_four_ranges_are_one_fetch(node, origin):
    """Of an object that is no larger than a slice; of a larger one each byte
    is fetched once."""
    for kib in (100, 900, 3000):
        video = Video(origin, f"/{kib}", mib=0, extra=kib * 1024)
        part = video.size // 4
        sources = []
        for first in 2 * [n * part for n in range(4)]:
            r = get(node, first, first + part, f"/{kib}")
            assert (r.status, r.body) == (
                206, video.part(first, first + part)), (kib, first)
            sources.append(r.source)
        assert sources[4:] == ["hit"] * 4
        assert sum(end - first for _, first, end in video.asked) == video.size
        # who comes before all of it is here shares the fetch
        if kib < 1024:
            assert len(video.asked) == 1, sources


def test_whole_is_fetched_once(node, origin):
    video = Video(origin, mib=20)
    r = node.get("/v")
    assert (r.status, r.source) == (200, "origin")
    assert r.body == video.part(0, video.size)
    r = node.get("/v")
    assert (r.status, r.source) == (200, "hit")
    assert r.body == video.part(0, video.size)
    # a client that was slow has the rest in ranges
    assert max(video.slices_asked()) <= 1
    assert sum(end - first for s, first, end in video.asked
               if s == 206) < video.size
    r = node.get("/v", method="HEAD")
    assert r.get("Content-Length") == str(video.size)
    assert r.get("Accept-Ranges") == "bytes"
    assert not [n for n, _ in r.fields if n.startswith(":")]
    r = node.get("/v", headers={"If-None-Match": '"1"'})
    assert r.status == 304


def test_one_fetch_a_slice_for_several_clients(node, origin):
    video = Video(origin)
    parts = [(n * 3 * MIB + 77, n * 3 * MIB + 77 + 2 * MIB)
             for n in range(10)] * 4
    wrong = []

    def client(mine):
        for first, end in mine:
            r = get(node, first, end)
            if (r.status, r.body) != (206, video.part(first, end)):
                wrong.append((first, r.status, len(r.body)))

    clients = [threading.Thread(target=client, args=(parts[n:] + parts[:n],))
               for n in range(0, 40, 5)]
    for c in clients:
        c.start()
    for c in clients:
        c.join()
    assert not wrong
    assert max(video.slices_asked()) == 1
    assert sum(video.slices_asked()) == 30  # no more than was wanted
    assert {s for s, _, _ in video.asked} == {206}
    r = get(node, 100, 200)
    assert r.source == "hit" and r.get("Content-Range") == \
        f"bytes 100-199/{video.size}"


def test_shapes_of_ranges(node, origin):
    video = Video(origin, mib=4)
    size = video.size
    for value, first, end in (("bytes=5-9", 5, 10),
                              (f"bytes={4 * MIB - 5}-", 4 * MIB - 5, size),
                              ("bytes=-7", size - 7, size),
                              (f"bytes={MIB - 1}-{MIB}", MIB - 1, MIB + 1),
                              (f"bytes=0-{size * 2}", 0, size)):
        r = node.get("/v", headers={"Range": value})
        assert (r.status, r.body) == (206, video.part(first, end)), value
        assert r.get("Content-Range") == f"bytes {first}-{end - 1}/{size}"
    r = node.get("/v", headers={"Range": f"bytes={size}-"})
    assert (r.status, r.get("Content-Range")) == (416, f"bytes */{size}")
    for headers in ({"Range": "bytes=0-1,5-6"},
                    ranged(0, 5, **{"If-Range": '"2"'})):
        r = node.get("/v", headers=headers)
        assert (r.status, r.body) == (200, video.part(0, size))
    assert max(video.slices_asked()) == 1


def test_an_origin_whose_parts_do_not_fit_costs_one_reply(node, origin):
    """It says that it has ranges, and then says them in a way that is of no
    use: what was begun is given up, and the next client gets all of it."""
    video = Video(origin, mib=10)
    whole = video.answer

    def lengthless(request, connection):
        return whole(request, connection).replace(
            b"/%d\r\n" % video.size, b"/*\r\n")

    origin.pages["/v"] = lengthless
    for _ in range(2):
        try:
            node.get("/v", headers={"Range": "bytes=-7"})
        except http.client.IncompleteRead:
            pass  # its beginning came, and the rest is asked for in parts
        r = node.get("/v")
        assert (r.status, r.body) == (200, video.part(0, video.size))


def test_what_cannot_be_sliced_is_asked_as_it_is(node, origin):
    video = Video(origin, mib=3)
    video.tag = lambda: 'W/"1"'
    for _ in range(2):
        r = get(node, 10, 20)
        assert (r.status, r.body, r.source) == (206, video.part(10, 20),
                                                "origin")
    assert video.asked[1] == (206, 10, 20)
    assert node.counters()["slices_begun"] == 0


def test_another_version_ends_the_reply(node, origin):
    video = Video(origin)
    assert get(node, 0, MIB).status == 206
    old = video.part(0, video.size)

    def change(_):  # with the second run
        if len(video.asked) == 2:
            video.version = 2
    video.gate = change
    try:
        body = node.get("/v").body
        assert len(body) < video.size
    except Exception as e:  # http.client.IncompleteRead
        body = e.partial
    assert len(body) < video.size and old.startswith(body)
    video.gate = None
    r = node.get("/v")
    assert (r.status, r.get("ETag")) == (200, '"2"')
    assert r.body == video.part(0, video.size)


def test_purged_slices_do_not_come_back(node, origin):
    video = Video(origin, mib=4)
    get(node, 0, 2 * MIB)
    r = request(node.admin, "http://www.example.com/v", method="PURGE")
    video.part = lambda first, end: b"x" * (end - first)  # by the same tag
    r = get(node, 0, 2 * MIB)
    assert (r.status, r.source) == (206, "origin")
    assert r.body == b"x" * 2 * MIB


def test_validation_is_of_the_head(node, origin):
    video = Video(origin, mib=4, **{"Cache-Control": "max-age=1"})
    get(node, 0, 2 * MIB)
    time.sleep(2.1)
    video.asked.clear()
    r = get(node, 0, 2 * MIB)
    assert r.body == video.part(0, 2 * MIB)
    assert "fwd=stale; fwd-status=304" in r.get("Cache-Status")
    assert len(video.asked) == 1


def test_slices_outlive_a_restart(make_cluster, origin, tmp_path):
    c = make_cluster(1, disk_path=str(tmp_path / "disk"), disk_size="200M",
                     cache_size="4M")
    c.origin_url = origin.url
    node = c.start().nodes[0]
    video = Video(origin, mib=24)
    node.get("/v")
    until(lambda: node.status()["disk"]["writes"] >= 26, what="writes")
    node.process.signal(signal.SIGTERM)
    node.process.wait()
    node.start()
    video.asked.clear()
    r = node.get("/v")
    assert (r.status, r.source) == (200, "hit")
    assert r.body == video.part(0, video.size)
    assert not video.asked


def test_slices_of_a_peer(make_cluster, origin):
    c = make_cluster(2)
    c.origin_url = origin.url
    one, other = c.start().nodes
    video = Video(origin, mib=16)
    get(one, 2 * MIB, 12 * MIB)
    c.wait_settled()
    video.asked.clear()
    r = get(other, 3 * MIB + 5, 5 * MIB)
    assert (r.status, r.source) == (206, "peer")
    assert r.body == video.part(3 * MIB + 5, 5 * MIB)
    r = get(other, 3 * MIB + 5, 11 * MIB)
    assert r.body == video.part(3 * MIB + 5, 11 * MIB)
    assert not video.asked
    # what it does not have is no false hit, and is the origin's
    r = get(other, 0, 14 * MIB)
    assert r.body == video.part(0, 14 * MIB)
    assert sum(video.slices_asked()) <= 6
    n = other.counters()
    assert n["false_hits"] == n["peer_errors"] == 0
    assert n["variant_misses"] > 0


def test_slices_are_purged_by_their_source(make_cluster, origin):
    """Also those of an object whose head is from the origin."""
    c = make_cluster(2, placement="keep")
    c.origin_url = origin.url
    one, other = c.start().nodes
    video = Video(origin, mib=8)
    get(other, 0, MIB)
    get(one, 4 * MIB, 6 * MIB)
    c.wait_settled()
    video.asked.clear()
    assert get(other, 4 * MIB, 6 * MIB).body == video.part(4 * MIB, 6 * MIB)
    assert not video.asked
    one.process.end()
    purged = request(other.admin, "/", method="PURGE",
                     headers={"Purge-Tag": ":n1"})
    assert purged.status == 200
    assert get(other, 0, MIB).source == "hit"
    assert get(other, 4 * MIB, 6 * MIB).body == video.part(4 * MIB, 6 * MIB)
    again = [n for n, times in enumerate(video.slices_asked()) if times]
    assert again[:2] == [4, 5]


def test_what_nobody_gets_any_more_costs_one_reply(node, origin):
    """Its head goes with the first range that is refused, and not when it is
    stale: the next client hears why."""
    video = Video(origin, mib=10)
    assert get(node, 0, 10).status == 206
    origin.pages["/v"] = lambda request, connection: servers.response(
        403, {"Cache-Control": "no-store"}, b"no\n")
    try:
        r = get(node, 5 * MIB, 6 * MIB)
        assert not r.body
    except http.client.IncompleteRead as e:
        assert not e.partial
    for value in (f"bytes={5 * MIB}-{6 * MIB}", "bytes=-7", None):
        r = node.get("/v", headers={"Range": value} if value else {})
        assert (r.status, r.body, r.source) == (403, b"no\n", "origin"), value


def test_a_head_outlasts_its_own_slices(make_cluster, origin):
    """Four times as much as the cache holds: what comes last is there, and
    known to be of this object."""
    for eviction in ("sieve", "lru", "s3fifo"):
        cluster = make_cluster(1, cache_size="16M", eviction=eviction)
        cluster.origin_url = origin.url
        cluster.start()
        (node,) = cluster.nodes
        video = Video(origin, path=f"/{eviction}", mib=64)
        r = node.get(f"/{eviction}")
        assert r.body == video.part(0, video.size)
        r = get(node, video.size - 100, video.size, path=f"/{eviction}")
        assert (r.status, r.source) == (206, "hit"), eviction
        assert node.counters()["slices_begun"] == 1

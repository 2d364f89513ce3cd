"""A Squid as a peer: its digest is followed, and what is in it asked for; one
that is played, and a real one, where it is installed."""

import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile
from email.utils import formatdate

import pytest

import cluster as scd
import servers
from cluster import request, until

HEADER_BYTES, NBITS, NHASH = 128, 1 << 14, 4
MODIFIED = "Sun, 06 Nov 1994 08:49:37 GMT"
LATER = "Sun, 06 Nov 1994 08:49:38 GMT"
STORE_DIGEST = "/squid-internal-periodic/store_digest"


def positions(target, nbits):
    """The bits of a URL in a digest of so many."""
    key = hashlib.md5(b"\x01" + target.encode()).digest()  # 1: GET
    return [int.from_bytes(key[4 * i:4 * i + 4], "big") % nbits
            for i in range(NHASH)]


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
        self.server = serve(self.answer)

    def answer(self, request, _connection):
        if request.target == STORE_DIGEST:
            self.queries.append(request)
            if request.get("If-Modified-Since") == self.modified:
                return servers.response(304)
            return servers.response(200, {
                "Content-Type": "application/cache-digest",
                "Last-Modified": self.modified}, squid_digest(self.urls))
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
    node.lines = [f'peer "squid" {{ url = "{squid.server.url}" '
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


CONFIGURATION = """\
http_port 127.0.0.1:{port}
http_access allow all
visible_hostname squid
pid_filename {folder}/pid
cache_log {folder}/log
access_log none
coredump_dir {folder}
cache_dir ufs {folder}/cache 20 16 256
digest_rebuild_period 1 seconds
digest_rewrite_period 1 seconds
digest_rebuild_chunk_percentage 100
memory_cache_shared off
pinger_enable off
shutdown_lifetime 0
refresh_pattern . 0 20% 4320
cache_peer 127.0.0.1 parent {origin} 0 no-query no-digest originserver
never_direct allow all
"""


@pytest.mark.skipif(not shutil.which("squid"),
                    reason="squid is not installed")
def test_what_a_real_squid_holds(make_cluster, origin):
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)  # it does not stay root
        real_squid(make_cluster, origin, pathlib.Path(folder))


def claims(port, paths):
    """Whether all of them are in the digest that a Squid publishes now."""
    r = request(port, STORE_DIGEST)
    mask = r.body[HEADER_BYTES:]
    return r.status == 200 and all(
        mask[at >> 3] >> (at & 7) & 1
        for p in paths for at in positions(url(p), 8 * len(mask)))


def real_squid(make_cluster, origin, folder):
    port = scd.free_port()
    path = folder / "squid.conf"
    path.write_text(CONFIGURATION.format(port=port, folder=folder,
                                         origin=origin.port))
    paths = [f"/p{i}" for i in range(50)]
    pages(origin, paths)
    command = ["squid", "-N", "-n", f"scd{port}", "-f", str(path)]
    subprocess.run([*command, "-z"], check=True, timeout=60,
                   stderr=subprocess.DEVNULL)
    (folder / "pid").unlink(missing_ok=True)
    squid = scd.Process(command, str(folder / "out"))
    try:
        until(lambda: scd.connectable(port), 20, what="squid")
        for p in paths[:25]:
            assert request(port, url(p)).status == 200
        # an early digest may have no more than its icons
        until(lambda: claims(port, paths[:25]), 30, what="a digest of them")
        c = make_cluster(1, peer_timeout="5s", peer_budget="5s")
        c.origin_url = origin.url
        node = c.nodes[0]
        node.lines = [f'peer "squid" {{ url = "http://127.0.0.1:{port}" '
                      'kind = "squid" }']
        c.start()
        until(lambda: node.peer_status("squid")["digest"], 30, what="digest")
        fetched = origin.count()
        sources = [node.get(p).source for p in paths]
        assert sources[:25] == ["peer"] * 25
        # the Squid itself has asked the origin for nothing more
        assert origin.count() == fetched + 25 == 50
        assert node.counters()["remote_hits"] == 25
    finally:
        squid.end()

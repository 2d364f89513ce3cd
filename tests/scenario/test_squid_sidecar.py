"""Squids that publish no digest, with a digestd beside each that squid-feed
tells by their logs what they hold: by docs/examples/squid-sidecar.conf."""

import http.client
import os
import random
import shutil
import socket
import sys
import time
from email.utils import formatdate

import pytest

import beside
import cluster as scd
import servers
import squids
from beside import HOST, PlayedFeed
from cluster import until

EXAMPLES = os.path.join(os.path.dirname(__file__), "..", "..", "docs",
                        "examples")
LONG = bool(os.environ.get("SCD_TEST_LONG"))

pytestmark = pytest.mark.skipif(not shutil.which("squid"),
                                reason="squid is not installed")


class Squid(squids.Squid, beside.Asked):
    """The example, with this machine's paths and ports."""

    def __init__(self, data, memory="256 MB", more=""):
        super().__init__()
        self.inner, self.follower = scd.free_port(), None
        self.log = str(self.folder / "digestd.log")
        self.feed = str(self.folder / "feed")
        with open(os.path.join(EXAMPLES, "squid-sidecar.conf"),
                  encoding="ascii") as f:
            text = f.read()
        text = text[text.index("http_port 3128"):]
        for old, new in (
                ("http_port 3128", f"http_port 127.0.0.1:{self.port}"),
                ("127.0.0.1:8084 ", f"127.0.0.1:{self.inner} "),
                ("cache_mem 256 MB", f"cache_mem {memory}"),
                ("/var/log/squid/digestd.log", self.log),
                ("parent 8081 ", f"parent {data} ")):
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        self.configure(text.replace("{", "{{").replace("}", "}}") + more)

    def follow(self, *options):
        self.follower = scd.Process(
            [sys.executable, os.path.join(EXAMPLES, "squid-feed"),
             *(options or ("--access", self.log, "-s", "256M")), self.feed],
            str(self.folder / "follower.log"))
        return self

    def stop(self):
        if self.follower:
            assert self.follower.end() == 0, self.follower.logged()
        self.remove()

    def restart(self):
        self.process.kill()
        self.process.wait()
        (self.folder / "pid").unlink(missing_ok=True)
        self.start()

    def fetch(self, path, host=HOST, **args):
        return self.get(f"http://{host}{path}", host=host, **args)



def page(origin, path, age=0):
    def answer(request, _):
        return servers.response(200, {
            "Cache-Control": "max-age=60", "Age": str(age),
            "Date": formatdate(usegmt=True)},
            b"page " + request.target.encode())
    origin.pages[path] = answer


class Pairs(beside.Pairs):
    def __init__(self, make_cluster, origin):
        self.origin = origin
        self.cluster = make_cluster(2, squid_peers="127.0.0.1",
                                    squid_period="1s")
        self.cluster.origin_url = origin.url
        self.nodes = self.cluster.nodes
        self.squids = [Squid(node.data) for node in self.nodes]
        for node, squid in zip(self.nodes, self.squids):
            node.options.update(sidecar=f"http://127.0.0.1:{squid.inner}",
                                sidecar_feed=squid.feed)

    def start(self):
        # a parent that is not there at first is tried again after a while
        self.cluster.start()
        for squid in self.squids:
            squid.start().follow()
        self.cluster.wait_settled()
        self.cluster.wait_heard()

    def get(self, i, path):
        """How often the origin is asked for what a machine answers."""
        asked = self.origin.count(path)
        # by a name that a Squid without its parent can find
        r = self.squids[i].fetch(path, f"127.0.0.1:{self.origin.port}")
        assert (r.status, r.body) == (200, b"page " + path.encode()), path
        return self.origin.count(path) - asked

    def fill(self, i, n, *paths, **how):
        """It has these, which are n with what it had, and all know it."""
        for path in paths:
            page(self.origin, path, **how)
            assert self.get(i, path) == 1
        self.wait_keys(i, n)


@pytest.fixture
def pairs(make_cluster, origin):
    p = Pairs(make_cluster, origin)
    try:
        p.start()
        yield p
    finally:
        for squid in p.squids:
            squid.stop()


def test_squids_without_a_digest_find_what_others_have(pairs, origin):
    p = pairs
    p.fill(0, 5, "/a", "/b", "/c", "/d", "/e")
    p.fill(1, 1, "/f")
    assert [p.get(1, "/a"), p.get(1, "/b"), p.get(0, "/f")] == [0, 0, 0]
    assert [n.counters()["remote_hits"] for n in p.nodes] == [1, 2]
    assert p.get(1, "/a") == 0  # it is kept
    assert p.nodes[1].counters()["remote_hits"] == 2
    # purged, and stale
    until(lambda: p.keys(0) == 6, what="/f")
    assert p.squids[0].fetch("/c", f"127.0.0.1:{origin.port}",
                             method="PURGE").status == 200
    assert p.get(1, "/c") == 1
    p.fill(0, 6, "/old", age=57)
    time.sleep(3.5)
    page(origin, "/old")
    assert p.get(1, "/old") == 1
    assert all(r.get("Cache-Control") != "only-if-cached"
               for r in origin.requests)
    # a Squid starts anew, with nothing: false hits are the origin's
    p.squids[0].restart()
    assert p.get(1, "/d") == 1
    # digestd ends, and is there again
    p.nodes[1].process.kill()
    page(origin, "/alone")
    assert p.get(1, "/alone") == 1
    p.nodes[1].start()
    until(lambda: p.keys(1) >= 6, 20, what="it is told what is held")


def test_another_squid_finds_it_by_its_digest(pairs, origin):
    """What a Squid without a digest holds, published for it."""
    p = pairs
    paths = [f"/{i}" for i in range(40)]
    p.fill(0, 40, *paths)
    node, other = p.nodes[0], squids.Squid()
    until(lambda: node.status()["squid"]["keys"] == 40, what="a digest")
    other.configure(squids.ORIGIN + """
http_port 127.0.0.1:{port}
http_access allow all
minimum_direct_rtt 0
minimum_direct_hops 0
cache_peer 127.0.0.1 sibling {holder} 0 no-query no-netdb-exchange \
proxy-only digest-url=http://127.0.0.1:{node}/squid-internal-periodic/\
store_digest
""", origin=origin.port, holder=p.squids[0].port, node=node.peer)
    try:
        other.start()
        page(origin, "/first")
        host = f"127.0.0.1:{origin.port}"
        assert other.get(f"http://{host}/first", host=host).status == 200
        until(lambda: any(other.digests()), 20, what="the digest")
        for path in paths:
            assert other.get(f"http://{host}{path}",
                             host=host).status == 200
        # its own requests, for digests, are in the log as well
        paths = [f"http://{host}{path}" for path in paths]
        until(lambda: set(paths) <= {row.url for row in other.rows()},
              what="its log")
        hits = [row for row in other.rows() if row.way == "CD_SIBLING_HIT"]
        assert len(hits) >= 40 * .99
    finally:
        other.remove()


@pytest.mark.parametrize("kind", ("memory", "ufs"))
def test_no_false_negative_under_evictions(serve, kind):
    count = 10000 if LONG else 2000

    def answer(_, __):
        return servers.response(200, {
            "Cache-Control": "max-age=600", "Date": formatdate(usegmt=True)},
            b"x" * 3000)
    more = ""
    if kind == "ufs":
        more = ("cache_dir ufs {folder}/cache 4 1 16\n"
                "cache_swap_low 50\ncache_swap_high 60\n")
    # what has no room in the cache_dir may be in memory, and is in no store.log
    squid = Squid(serve(answer).port, "0 MB" if more else "4 MB", more)
    feed = PlayedFeed(squid.feed)
    try:
        if kind == "ufs":
            squid.make_store()
            squid.start().follow("--store", str(squid.folder / "store"))
        else:
            squid.start().follow("--access", squid.log, "-s", "4M")
        chance = random.Random(1)
        c = http.client.HTTPConnection("127.0.0.1", squid.port, timeout=20)
        for i in range(count):
            for n in (i, chance.randrange(i + 1)):
                c.request("GET", f"http://{HOST}/{n}")
                r = c.getresponse()
                r.read()
                assert r.status == 200
        c.close()
        squid.fetch("/0", method="PURGE")
        has = set()

        def is_known():
            nonlocal has
            has = {f"http://{HOST}{t}" for t in squid.has(
                f"/{i}" for i in range(count))}
            return has <= feed.held
        try:
            until(is_known, 20, 1, "all known")
        finally:
            print(f"{len(has)} held, {len(has - feed.held)} not known, "
                  f"{len(feed.held - has)} known and not held")
        assert count / 20 < len(has) < count
        assert feed.resets == 1
    finally:
        squid.stop()
        feed.close()


def tell(path, n):
    """That URLs 0 to n-1 are held."""
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(300)
        s.connect(path)
        for first in range(0, n, 20000):
            s.sendall("".join(
                f"insert http://{HOST}/{i}\n"
                for i in range(first, min(n, first + 20000))).encode())
        s.sendall(b"ack x\n")
        assert s.recv(100) == f"ack x held {n} refused 0\n".encode()


@pytest.mark.parametrize("keys", (60, 16000) + (
    (1600000, 16000000) if LONG else ()))
def test_masks_are_received_whole(make_cluster, origin, serve, tmp_path, keys):
    """Of 0.1 KB, 24 KB, 2.4 MB and 24 MB."""
    c = make_cluster(1, squid_peers="127.0.0.1", squid_period="1s",
                     sidecar_objects=str(keys))
    c.origin_url = origin.url

    def beside(_, __):
        return servers.response(200, {"Cache-Control": "max-age=60"}, b"held")
    feed = str(tmp_path / "feed")
    c.nodes[0].options.update(sidecar=serve(beside).url, sidecar_feed=feed)
    node = c.start().nodes[0]
    tell(feed, keys)
    until(lambda: node.status()["squid"]["keys"] == keys, 100, .1,
          "a digest for Squids")
    squid = squids.Squid()
    squid.configure(squids.ORIGIN + """
http_port 127.0.0.1:{port}
http_access allow all
minimum_direct_rtt 0
minimum_direct_hops 0
cache_peer 127.0.0.1 sibling {node} 0 no-query no-netdb-exchange proxy-only
""", origin=origin.port, node=node.peer)
    try:
        squid.start()
        page(origin, "/first")
        assert squid.get(f"http://{HOST}/first", host=HOST).status == 200
        until(lambda: any(squid.digests()), 60, what="the digest")
        asked = range(0, keys, max(1, keys // 200))
        for i in asked:
            r = squid.get(f"http://{HOST}/{i}", host=HOST)
            assert (r.status, r.body) == (200, b"held"), i

        def ways():
            return [row.way for row in squid.rows()]
        # its own requests, for digests, are in the log as well
        until(lambda: ways().count("CD_SIBLING_HIT") >= len(asked),
              what="its log")
        assert ways().count("CD_SIBLING_HIT") == len(asked)
    finally:
        squid.remove()


def test_lines_of_the_logs(tmp_path):
    """Without a Squid: what each line says."""
    log, feed = tmp_path / "log", PlayedFeed(str(tmp_path / "feed"))
    head = f"{time.time():.3f} GET "
    url = f"http://{HOST}"

    def wait(*paths):
        want = {url + path for path in paths}
        until(lambda: feed.held == want, what=f"{want}, not {feed.held}")

    def follow(*options):
        return scd.Process([sys.executable,
                            os.path.join(EXAMPLES, "squid-feed"), *options,
                            feed.listener.getsockname()],
                           str(tmp_path / "out"))
    rows = [("/a", "TCP_MISS 200 500", "max-age=60"),
            ("/hit", "TCP_MEM_HIT 200 500", "max-age=60"),
            ("/private", "TCP_MISS 200 500", "private, max-age=60"),
            ("/no", "TCP_MISS 200 500", "max-age=60, no-store"),
            ("/stale", "TCP_MISS 200 500", "max-age=0"),
            ("/cut", "TCP_MISS_ABORTED 200 500", "max-age=60"),
            ("/error", "TCP_MISS 500 500", "max-age=60"),
            ("/large", "TCP_MISS 200 900000", "max-age=60")]
    log.write_text("".join(f"{head}{what} {url}{path} |-|-|-|{control}\n"
                           for path, what, control in rows) + "nothing\n")
    process = follow("--access", str(log), "-s", "12K")
    try:
        wait("/a", "/hit")
        now, later = (formatdate(time.time() + s, usegmt=True).replace(
            " ", "%20") for s in (0, 60))
        with open(log, "a", encoding="ascii") as f:
            f.write(f"{head}TCP_MISS 200 500 {url}/expires |-|{now}|{later}|-"
                    "\n")
        wait("/a", "/hit", "/expires")
        with open(log, "a", encoding="ascii") as f:
            # /a is newer than /hit, which makes room
            f.write(f"{head}TCP_HIT 200 500 {url}/a |-|-|-|max-age=60\n"
                    f"{head}TCP_MISS 200 500 {url}/b |-|-|-|max-age=60\n")
        wait("/a", "/b", "/expires")
        os.rename(log, tmp_path / "log.0")
        log.write_text(f"{head}TCP_MISS 504 300 {url}/a |-|-|-|-\n")
        wait("/b", "/expires")
    finally:
        assert process.end() == 0, process.logged()
    store = tmp_path / "store"
    row = "1 {} 00 {} 0123 200 1 -1 {} text/plain 7/7 GET {}{}\n"
    store.write_text(
        row.format("SWAPOUT", "00000001", -1, url, "/x")
        + row.format("SWAPOUT", "00000002", int(time.time()) + 60, url, "/y")
        + row.format("SWAPOUT", "00000003", 5, url, "/expired")
        + row.format("RELEASE", "FFFFFFFF", -1, url, "/y")
        + row.format("RELEASE", "00000001", -1, url, "/x") + "nothing\n")
    process = follow("--store", str(store))
    try:
        wait("/y")
    finally:
        assert process.end() == 0, process.logged()
        feed.close()

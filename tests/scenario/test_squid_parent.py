"""Squids that have a node beside them as a parent, by the example: the Squids
keep the objects, the nodes find them at each other's Squid."""

import os
import shutil
from email.utils import formatdate

import pytest

import servers
import squids
from cluster import request, until

EXAMPLE = os.path.join(os.path.dirname(__file__), "..", "..", "docs",
                       "examples", "squid-parent.conf")
OBJECTS = 20

pytestmark = pytest.mark.skipif(not shutil.which("squid"),
                                reason="squid is not installed")


def page(asked, _):
    age = 1 if asked.target.startswith("/short") else 600
    return servers.response(200, {
        "Cache-Control": f"max-age={age}", "Date": formatdate(usegmt=True)},
        b"page " + asked.target.encode())


def configuration(squid, node):
    """The example, with this machine's paths and ports."""
    with open(EXAMPLE, encoding="ascii") as f:
        text = f.read()
    text = text[text.index("http_port"):]
    for old, new in (("http_port 3128", f"http_port 127.0.0.1:{squid.port}"),
                     ("parent 8081 ", f"parent {node.data} "),
                     ("ufs /var/spool/squid 10000 ",
                      f"ufs {squid.folder}/cache 20 "),
                     ("rebuild_period 60 ", "rebuild_period 1 "),
                     ("rewrite_period 60 ", "rewrite_period 1 ")):
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


class Pairs:
    """Two machines, each with a Squid and a node, whose peer is the other
    Squid."""

    def __init__(self, make_cluster, origin):
        self.origin = origin
        cluster = make_cluster(2, cooperate=False, cache_size="64M")
        cluster.origin_url = origin.url
        self.nodes = cluster.nodes
        self.squids = [squids.Squid(), squids.Squid()]
        for node, own, other in zip(self.nodes, self.squids,
                                    reversed(self.squids)):
            # asked once, and when a test starts it anew: digests grow old
            node.options["poll"] = "1h"
            node.lines = [f'peer "other" {{ url = "{other.url}" '
                          'kind = "squid" }']
            own.configure(configuration(own, node))
            own.make_store()
        origin.answer = origin.serve = page

    @staticmethod
    def paths():
        return [f"/{i}" for i in range(OBJECTS)]

    def url(self, path):
        return f"http://127.0.0.1:{self.origin.port}{path}"

    def start(self):
        for i in range(2):
            self.nodes[i].start()
            self.squids[i].start()
        for i in range(2):
            self.wait_asked(i)

    def get(self, i, path):
        """It is answered, and rightly; returns which way it went."""
        squid = self.squids[i]
        before = len(squid.rows())
        r = squid.get(self.url(path), host=f"127.0.0.1:{self.origin.port}")
        assert (r.status, r.body) == (200, b"page " + path.encode())

        def own():
            return [row for row in squid.rows()[before:]
                    if row.url == self.url(path)
                    and (row.port or row.way == "HIER_NONE")]
        return until(own, what="its log")[-1]

    def wait_asked(self, i):
        """A Squid has found out that its node is there."""
        until(lambda: self.get(i, f"/new{self.origin.count()}").port
              == self.nodes[i].data, 20, what="the node is asked")

    def renew_digest(self, i):
        """A node is started anew, and has the other Squid's digest."""
        until(lambda: self.squids[1 - i].claims(
            self.squids[1 - i].stored()), 20, what="all is in a digest")
        self.nodes[i].process.end()
        self.nodes[i].start()
        until(lambda: self.nodes[i].peer_status("other")["digest"],
              what="its digest")


@pytest.fixture
def pairs(make_cluster, origin):
    p = Pairs(make_cluster, origin)
    try:
        p.start()
        yield p
    finally:
        for squid in p.squids:
            squid.remove()


def test_a_squid_finds_what_another_one_holds(pairs):
    one = pairs.squids[0]
    asked = pairs.origin.count()
    # cold misses, by way of the node; then the Squid has them
    for path in pairs.paths():
        assert pairs.get(0, path).port == pairs.nodes[0].data
    assert pairs.get(0, "/0").way == "HIER_NONE"
    assert pairs.origin.count() == asked + OBJECTS
    until(lambda: one.stored() >= set(map(pairs.url, pairs.paths())),
          what="all is on its disk")

    # what is stale is asked for again
    pairs.get(0, "/short")
    until(lambda: pairs.get(0, "/short").way != "HIER_NONE"
          and pairs.origin.count("/short") >= 2, what="the origin is asked")

    # a purge is the node's: its Squid has the object still
    asked = pairs.origin.count()
    r = request(pairs.nodes[0].admin, pairs.url("/1"), method="PURGE",
                host=f"127.0.0.1:{pairs.origin.port}")
    assert (r.status, b'"purged": 1' in r.body) == (200, True), r.body
    assert pairs.get(0, "/1").way == "HIER_NONE"
    assert pairs.origin.count() == asked

    # a node is stopped: its Squid asks the origin, and the node once it is back
    pairs.nodes[1].process.end()
    assert pairs.get(1, "/0").port == pairs.origin.port
    assert pairs.get(1, "/1").port == pairs.origin.port
    node = pairs.nodes[1]
    node.start()
    pairs.renew_digest(1)
    pairs.wait_asked(1)

    # what the other Squid has
    asked = pairs.origin.count()
    for i in range(2, 10):
        assert pairs.get(1, f"/{i}").port == node.data
    assert pairs.origin.count() == asked
    assert node.counters()["remote_hits"] == 8

    # that Squid's store is wiped: its digest promises what it has no more
    one.process.kill()
    shutil.rmtree(one.folder / "cache")
    one.make_store()
    one.start()
    false_hits = node.counters()["false_hits"]
    assert pairs.get(1, "/10").port == node.data
    assert node.counters()["false_hits"] == false_hits + 1
    assert pairs.origin.count("/10") == 2
    # what it had is its node's, or the other Squid's, or the origin's
    assert pairs.get(0, "/2").status == "200"

    # and it is not there at all
    one.process.kill()
    assert pairs.get(1, "/11").port == node.data
    assert pairs.origin.count("/11") == 2

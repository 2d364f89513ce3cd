"""Which nodes of a cluster keep an object."""

import pytest

PAGES = {"Cache-Control": "max-age=600"}


@pytest.fixture
def placed(make_cluster, origin):
    """placed(placement, count): nodes that follow each other."""
    def make(placement, count=3, **options):
        c = make_cluster(count, placement=placement, publish_min="10ms",
                         publish_max="20ms", peer_budget="10s",
                         peer_timeout="10s", **options)
        c.origin_url = origin.url
        c.start()
        c.wait_settled()
        return c
    return make


def ask(cluster, target, *numbers):
    """Where the answers of these nodes come from, one after the other."""
    sources = []
    for n in numbers:
        r = cluster.nodes[n].get(target)
        assert r.status == 200
        sources.append(r.source)
        cluster.wait_settled()
    return sources


def holders(cluster):
    return [n.status()["store"]["objects"] for n in cluster.nodes]


def test_keep_copies_at_once(placed, origin):
    c = placed("keep")
    origin.set("/a", fields=PAGES, body=b"a")
    assert ask(c, "/a", 0, 1, 1, 2) == ["origin", "peer", "hit", "peer"]
    assert holders(c) == [1, 1, 1]


def test_second_copies_at_the_second_request(placed, origin):
    c = placed("second")
    origin.set("/a", fields=PAGES, body=b"a")
    assert ask(c, "/a", 0, 1, 1, 1, 2) == ["origin", "peer", "peer", "hit",
                                           "peer"]
    assert holders(c) == [1, 1, 0]
    origin.set("/big", fields=PAGES, body=b"a" * 500000)  # streamed
    assert ask(c, "/big", 0, 1, 1, 1) == ["origin", "peer", "peer", "hit"]
    assert origin.count() == 2


def test_single_is_one_copy(placed, origin):
    c = placed("single")
    origin.set("/a", fields=PAGES, body=b"a")
    assert ask(c, "/a", 0, 1, 1, 2, 2, 0) == ["origin"] + ["peer"] * 4 + \
        ["hit"]
    assert holders(c) == [1, 0, 0]
    c.nodes[0].process.end()  # the copy is lost, and made anew
    assert c.nodes[1].get("/a").source == "origin"
    assert c.nodes[1].get("/a").source == "hit"


def test_single_seen_remembers_by_itself(placed, origin):
    c = placed("single-seen")
    origin.set("/a", fields=PAGES, body=b"a")
    assert ask(c, "/a", 0, 1, 0, 1, 1) == ["origin", "origin", "origin",
                                           "peer", "peer"]
    assert holders(c) == [1, 0, 0]


def test_stale_copies_are_renewed_where_they_are(placed, origin):
    c = placed("single", 2)
    origin.set("/a", fields={"Cache-Control": "max-age=0, must-revalidate",
                             "ETag": '"1"'}, body=b"a")
    assert ask(c, "/a", 0, 0) == ["origin", "origin"]
    assert holders(c) == [1, 0]

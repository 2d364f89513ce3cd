"""A peer that stands still: the origin is asked beside it, and clients do not
wait for its timeout."""

import signal
import time

from cluster import SLOW, until

PAGES = {"Cache-Control": "max-age=600"}
OBJECTS = 40
TIMEOUT = 5 * SLOW  # of a peer [s]


def test_a_peer_that_hangs(make_cluster, origin):
    c = make_cluster(2, peer_hedges="5", peer_timeout=f"{TIMEOUT:.0f}s",
                     peer_budget=f"{TIMEOUT:.0f}s", placement="keep")
    c.origin_url = origin.url
    c.start()
    holder, node = c.nodes
    for i in range(OBJECTS):
        origin.set(f"/{i}", fields=PAGES, body=b"x" * 1000)
        holder.get(f"/{i}")
    until(lambda: node.knows(holder), what="digest")
    assert node.get("/0").source == "peer"
    holder.process.pause()
    took, hedged = [], 0
    try:
        for i in range(1, OBJECTS):
            began = time.monotonic()
            answer = node.get(f"/{i}")
            took.append(time.monotonic() - began)
            assert answer.status == 200
            hedged += 'detail="hedge"' in answer.get("Cache-Status")
        counters = node.counters()
    finally:
        holder.process.signal(signal.SIGCONT)
    # a few, and then it is not asked while it owes their answers
    assert max(took) < TIMEOUT / 2, took
    assert 1 <= hedged == counters["hedges_won"] == counters["hedges"] <= 6
    assert counters["peer_queries"] <= 1 + hedged
    assert counters["errors"] == 0
    # which come at last
    until(lambda: node.get("/0").source == "hit")
    origin.set("/again", fields=PAGES, body=b"y")
    holder.get("/again")
    until(lambda: node.knows(holder), what="digest")
    assert node.get("/again").source == "peer"

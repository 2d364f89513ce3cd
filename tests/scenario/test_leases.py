"""One fetch for the cluster: crowds, ends of freshness, and what is not for
all."""

import threading
import time

import servers
from cluster import until

NODES = 6


def start(make_cluster, origin, **options):
    c = make_cluster(NODES, leases=True, **options)
    c.origin_url = origin.url
    c.start()
    origin.set("/warm", fields={"Cache-Control": "max-age=60"}, body=b"w")
    for node in c.nodes:  # each has a digest, and is known by it
        node.get("/warm")
    c.wait_settled()
    return c


def at_once(nodes, target):
    """What each node answers to a request at the same moment."""
    answers = [None] * len(nodes)

    def ask(i):
        answers[i] = nodes[i].get(target)
    threads = [threading.Thread(target=ask, args=(i,))
               for i in range(len(nodes))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return answers


def slow(body, seconds, **fields):
    def page(_request, connection):
        time.sleep(seconds)
        connection.sendall(servers.response(
            200, {k.replace("_", "-"): v for k, v in fields.items()}, body))
        return b""
    return page


def test_a_crowd_is_one_fetch(make_cluster, origin):
    c = start(make_cluster, origin)
    for i, body in enumerate((b"small", b"L" * 400000)):
        target = f"/crowd{i}"
        origin.pages[target] = slow(body, .3, Cache_Control="max-age=60")
        answers = at_once(c.nodes * 3, target)
        assert [(a.status, a.body == body) for a in answers] \
            == [(200, True)] * len(answers)
        assert origin.count(target) == 1
        for a in answers:  # only who had it is named as its source
            if "peer=" in a.get("Cache-Status"):
                assert len(a.all("Cache-Status")) > 1


def test_the_end_of_freshness_is_one_fetch(make_cluster, origin):
    """As often as it comes, and whoever asks first."""
    c = start(make_cluster, origin, placement="keep")
    origin.set("/page", fields={"Cache-Control": "max-age=1",
                                "ETag": '"v1"'}, body=b"page")
    for turn in range(2):
        for node in c.nodes[turn:] + c.nodes[:turn]:
            answer = node.get("/page")
            assert answer.body == b"page" and int(answer.get("Age", 0)) <= 1
        time.sleep(2.1)
    assert origin.count("/page") <= 3  # 2, and one that a second may end in


def test_what_is_for_one_request_only(make_cluster, origin):
    """Nobody waits for it in line, and it is asked for like that once."""
    c = start(make_cluster, origin)
    origin.pages["/own"] = slow(b"own", .2, Cache_Control="no-store")
    at_once(c.nodes, "/own")
    began = time.monotonic()
    queries = sum(n.counters()["lease_queries"] for n in c.nodes)
    assert all(a.body == b"own" for a in at_once(c.nodes, "/own"))
    assert time.monotonic() - began < .2 * 5
    assert sum(n.counters()["lease_queries"] for n in c.nodes) == queries
    assert origin.count("/own") == 2 * NODES


def test_a_node_that_has_ended_is_waited_for_no_more(make_cluster, origin):
    c = start(make_cluster, origin)
    for i in range(30):
        origin.set(f"/p{i}", fields={"Cache-Control": "max-age=60"}, body=b"p")
    c.nodes[-1].process.kill()
    for i in range(30):
        began = time.monotonic()
        assert c.nodes[i % (NODES - 1)].get(f"/p{i}").status == 200
        assert time.monotonic() - began < 2
    until(lambda: not c.nodes[0].peer_status(f"n{NODES}")["usable"])

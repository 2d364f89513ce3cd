"""One fetch for the cluster: crowds, ends of freshness, and what is not for
all."""

import threading
import time

import pytest
import servers
from cluster import until

NODES = 6


def start(make_cluster, origin, leases=True, **options):
    c = make_cluster(NODES, leases=leases, **options)
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
    # who waits for a second goes on to the origin: not enough on a busy machine
    c = start(make_cluster, origin, lease_wait="20s")
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


@pytest.mark.parametrize("leases", [False, True])
def test_the_end_of_freshness_is_one_fetch(make_cluster, origin, leases):
    """As often as it comes, and whoever asks first; or one after the other."""
    c = start(make_cluster, origin, leases=leases, placement="keep")

    def page(request, _connection):
        confirms = request.get("If-None-Match") == '"v1"'
        return servers.response(304 if confirms else 200, fields,
                                b"" if confirms else b"page")
    fields = {"Cache-Control": "max-age=2", "ETag": '"v1"'}
    origin.pages["/page"] = page
    c.nodes[0].get("/page")
    c.wait_settled()
    for node in c.nodes:
        node.get("/page")
    c.wait_settled()
    for ask in (at_once, lambda nodes, target: [n.get(target) for n in nodes]):
        time.sleep(3.1)
        before, began = origin.count("/page"), time.monotonic()
        answers = ask(c.nodes, "/page")
        ends = int((time.monotonic() - began) / 2)  # again, if this took long
        for answer in answers:
            assert answer.body == b"page" and int(answer.get("Age", 0)) <= 2
        # a second may end meanwhile; nodes agree on who asks as far as they
        # hear of each other's questions in time
        assert origin.count("/page") - before <= 2 + ends
    counters = [n.counters() for n in c.nodes]
    assert sum(n["revalidated_by_peers"] for n in counters) >= NODES
    # the way on which it came does not grow
    answer = c.nodes[0].get("/page")
    assert len(answer.all("Cache-Status")) <= 2, answer.fields


def test_what_is_for_one_request_only(make_cluster, origin):
    """Nobody waits for it in line, and it is asked for like that once."""
    c = start(make_cluster, origin)
    origin.pages["/own"] = slow(b"own", .2, Cache_Control="no-store")
    at_once(c.nodes, "/own")
    queries = sum(n.counters()["lease_queries"] for n in c.nodes)
    # the origin answers nobody before all have asked
    asked, answer = threading.Barrier(NODES), origin.pages["/own"]

    def when_all_have(request, connection):
        asked.wait(20)
        return answer(request, connection)
    origin.pages["/own"] = when_all_have
    assert all(a.body == b"own" for a in at_once(c.nodes, "/own"))
    assert not asked.broken
    assert sum(n.counters()["lease_queries"] for n in c.nodes) == queries
    assert origin.count("/own") == 2 * NODES


def test_a_node_that_has_ended_is_waited_for_no_more(make_cluster, origin):
    c = start(make_cluster, origin, lease_wait="20s")
    for i in range(30):
        origin.set(f"/p{i}", fields={"Cache-Control": "max-age=60"}, body=b"p")
    c.nodes[-1].process.kill()
    for i in range(30):
        began = time.monotonic()
        assert c.nodes[i % (NODES - 1)].get(f"/p{i}").status == 200
        assert time.monotonic() - began < 10  # half of lease_wait
    until(lambda: not c.nodes[0].peer_status(f"n{NODES}")["usable"])


def test_a_node_without_leases_is_named(make_cluster, origin):
    """In the status and the log of those that have them, and its own."""
    c = make_cluster(3, leases=True, placement="second")
    c.origin_url = origin.url
    odd = c.nodes[2]
    odd.options["leases"] = False
    c.start()
    first = c.nodes[0]
    until(lambda: first.peer_status("n3")["leases"] is False, what="n3 says so")
    until(lambda: first.peer_status("n2")["leases"] is True, what="n2, too")
    until(lambda: odd.peer_status("n1")["leases"] is True, what="n1, too")
    assert "peer n3: leases are off there and on here" \
        in first.process.logged()
    assert "peer n2: leases" not in first.process.logged()
    assert "peer n1: leases are on there and off here" in odd.process.logged()
    odd.options["leases"] = True
    odd.write()
    odd.process.signal(1)
    origin.set("/x", fields={"Cache-Control": "max-age=60"}, body=b"x")
    odd.get("/x")  # there is something new to hear of
    until(lambda: first.peer_status("n3")["leases"] is True,
          what="the other way round")
    assert "peer n3: leases are on there, too, now" in first.process.logged()

"""digestd beside Apache Traffic Server: that keeps the objects, digestd finds
them."""

import os
import shutil
import time
from email.utils import formatdate

import pytest

import servers
import trafficservers
from beside import HOST, PlayedFeed
from cluster import until

needs_it = pytest.mark.skipif(not shutil.which("traffic_server"),
                              reason="trafficserver is not installed")


def follow(tmp_path, store="64M", **args):
    """A Traffic Server whose feed goes to the test; both."""
    port = args.get("port", 1)  # the parent is the origin, too
    cache = trafficservers.TrafficServer(str(tmp_path / "ts"), port,
                                         port, store)
    feed = PlayedFeed(cache.feed)
    return cache, feed


@needs_it
def test_what_the_real_one_holds(serve, tmp_path):
    """What its log says, and what it answers to only-if-cached."""
    asked = []

    def answer(request, _):
        asked.append(request.target)
        return servers.response(200, {"Cache-Control": "max-age=600"}, b"x")
    cache, feed = follow(tmp_path, port=serve(answer).port)

    def wait(*targets):
        want = {f"http://{HOST}{t}" for t in targets}
        until(lambda: feed.held == want, what=f"{want}, not {feed.held}")
    try:
        cache.start().follow()
        for target in ("/a", "/b", "/c", "/d", "/a"):
            assert cache.get(target).status == 200
        wait("/a", "/b", "/c", "/d")
        assert asked == ["/a", "/b", "/c", "/d"]
        assert cache.has(["/a", "/none"]) == {"/a"}
        assert cache.get("/b", method="PURGE").status == 200
        assert cache.get("/c", method="POST", headers={
            "Content-Length": "0"}).status == 200
        wait("/a", "/d")
        assert "/none" not in asked
        # its store is wiped
        cache.wipe()
        cache.start()
        assert not cache.has(["/a", "/b"])
        wait("/d")
    finally:
        cache.stop_follower()
        cache.stop()
        feed.close()


@pytest.fixture
def pairs(make_cluster, origin, tmp_path):
    p = trafficservers.Pairs(make_cluster, origin, tmp_path, 2)
    try:
        yield p.start()
    finally:
        p.stop()


def page(origin, path, age=0):
    """A page that is fresh for a minute, made so long ago."""
    def answer(request, _):
        return servers.response(200, {
            "Cache-Control": "max-age=60", "Age": str(age),
            "Date": formatdate(usegmt=True)},
            b"page " + request.target.encode())
    origin.pages[path] = answer


def get(p, origin, i, path):
    """How often the origin is asked for a page that a machine answers with."""
    asked = origin.count(path)
    r = p.caches[i].get(path)
    assert (r.status, r.body) == (200, b"page " + path.encode()), path
    return origin.count(path) - asked


def fill(p, origin, i, *paths, **how):
    keys = p.keys(i)
    for path in paths:
        page(origin, path, **how)
        assert get(p, origin, i, path) == 1
    p.wait_keys(i, keys + len(paths))


@needs_it
def test_two_of_them_find_what_the_other_has(pairs, origin):
    p = pairs
    fill(p, origin, 0, "/a", "/b", "/c", "/d")
    fill(p, origin, 1, "/e", "/f", "/g")
    assert [get(p, origin, 1, path) for path in ("/a", "/b")] == [0, 0]
    assert [get(p, origin, 0, path) for path in ("/e", "/f")] == [0, 0]
    assert [n.counters()["remote_hits"] for n in p.nodes] == [2, 2]
    p.wait_keys(0, 6)
    # what comes from a peer is kept
    assert get(p, origin, 1, "/a") == 0
    assert p.nodes[1].counters()["remote_hits"] == 2
    # purged at one, whose log says so a second later: a false hit until then
    assert p.caches[0].get("/c", method="PURGE").status == 200
    assert get(p, origin, 1, "/c") == 1
    assert p.nodes[1].counters()["false_hits"] == 1
    p.wait_keys(0, 5)
    # stale: what is asked for comes back to its digestd, which refuses it
    fill(p, origin, 0, "/old", age=57)
    time.sleep(3.5)
    page(origin, "/old")
    assert get(p, origin, 1, "/old") == 1
    assert all(r.get("Cache-Control") != "only-if-cached"
               for r in origin.requests)


@needs_it
def test_each_side_of_them_may_end(pairs, origin):
    p = pairs
    fill(p, origin, 0, "/a", "/b", "/c", "/d", "/e")
    # digestd ends, and is there again: it is told what is held
    p.nodes[1].process.kill()
    assert get(p, origin, 1, "/a") == 1
    p.nodes[1].start()
    p.cluster.wait_settled()
    p.wait_keys(1, 1)
    until(lambda: p.nodes[1].knows(p.nodes[0]), what="a digest")
    time.sleep(2.2)  # until its parent is tried again
    assert get(p, origin, 1, "/b") == 0
    # Traffic Server ends, and loses what it has not written to its directory
    # yet, which it does once a minute: false hits are the origin's
    p.caches[0].stop()
    assert get(p, origin, 1, "/c") == 1
    p.caches[0].start()
    until(lambda: p.nodes[1].peer_status("n1")["usable"], 20,
          what="the peer may be asked")
    get(p, origin, 1, "/d")
    page(origin, "/new")
    assert get(p, origin, 0, "/new") == 1
    until(lambda: get(p, origin, 0, "/new") == 0, what="it is stored")
    # the store is wiped
    p.caches[0].wipe()
    p.caches[0].start()
    assert get(p, origin, 1, "/e") == 1
    # what the other one has is found there, once the log has the last ones
    until(lambda: p.keys(1) == 5, what="all of them")
    fill(p, origin, 1, "/other")
    assert get(p, origin, 0, "/other") == 0


def line(target, result="TCP_MISS", write="FIN", method="GET", status=200,
         age="-", expires="-", control="max-age=60", scheme="http", body=100):
    return (f"{time.time():.3f} {method} {result} {write} {status} {body} 100 "
            f"{scheme}://{HOST}{target} |{age}|{formatdate(usegmt=True)}|"
            f"{expires}|{control}\n")


def test_lines_of_the_log(tmp_path):
    """Without Traffic Server: what each line says."""
    cache, feed = follow(tmp_path)
    later = formatdate(time.time() + 60, usegmt=True)

    def wait(*targets):
        want = {f"http://{HOST}{t}" for t in targets}
        until(lambda: feed.held == want, what=f"{want}, not {feed.held}")

    def write(*lines):
        with open(cache.log, "a", encoding="ascii") as f:
            f.write("".join(lines))
    try:
        cache.follow()
        write(line("/a"), line("/tls", scheme="https"),
              line("/expires", expires=later, control="public"),
              line("/expired", expires="0", control="-"),
              line("/old", age="60"), line("/old", control="s-maxage=0, "
                                           "max-age=9"),
              line("/unstored", write="-"), line("/broken", write="ERR"),
              line("/found", result="TCP_MEM_HIT", write="-"),
              line("/for-ever", control="-"), "nothing\n", line("/b")[:-9])
        wait("/a", "/tls", "/expires", "/found", "/for-ever")
        write(line("/b")[-9:])
        wait("/a", "/tls", "/expires", "/found", "/for-ever", "/b")
        # rolled, and cut
        os.rename(cache.log, cache.log + "_host.now.old")
        write(line("/a", "ERR_READ_TIMEOUT", "-", status=504),
              line("/tls", "TCP_MEM_HIT", "-", "PURGE"),
              line("/expires", "TCP_MISS", "-", "PURGE", 404),
              line("/found", "ERR_CLIENT_ABORT", "-", status=0),
              line("/for-ever", "TCP_REFRESH_MISS", "-", "POST"),
              line("/b", "TCP_REFRESH_HIT", "-", control="max-age=1"))
        wait("/expires", "/found", "/b")
        with open(cache.log, "w", encoding="ascii") as f:
            f.write(line("/c"))
        wait("/expires", "/found", "/c")
        # as much again as the store has, of which 4M are unsure, in blocks
        write(*[line(f"/{i}", body=(1 << 20) - 2250) for i in range(70)])
        wait(*[f"/{i}" for i in range(9, 70)])
        assert cache.follower.logged().count("not a line") == 1
    finally:
        cache.stop_follower()
        feed.close()

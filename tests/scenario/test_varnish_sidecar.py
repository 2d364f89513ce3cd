"""digestd beside Varnish: that keeps the objects, digestd finds them."""

import http.client
import os
import random
import shutil
import signal
import time
from email.utils import formatdate

import pytest

import cluster as scd
import servers
import varnishes
from beside import HOST, PlayedFeed
from cluster import until

pytestmark = pytest.mark.skipif(
    not (shutil.which("varnishd") and shutil.which("varnishlog")),
    reason="varnish is not installed")
LONG = bool(os.environ.get("SCD_TEST_LONG"))


@pytest.fixture
def pairs(make_cluster, origin, tmp_path):
    """pairs(count, **options): that many, started."""
    made = []

    def make(count, **options):
        p = varnishes.Pairs(make_cluster, origin, tmp_path, count, **options)
        made.append(p)
        page(origin, "/is-followed")
        return p.start()

    yield make
    for p in made:
        p.stop()


def page(origin, path, age=0, max_age=60, **fields):
    """A page, made so long ago."""
    def answer(request, _):
        return servers.response(200, {
            "Cache-Control": f"max-age={max_age}",
            "Date": formatdate(time.time() - age, usegmt=True),
            **({"Age": str(age)} if age else {}),
            **fields}, b"page " + request.target.encode())
    origin.pages[path] = answer


def breaks_off(_, connection):
    """Half of a page that may be stored."""
    connection.sendall(servers.response(
        200, {"Cache-Control": "max-age=60"}, b"x" * 300000, length=600000))
    connection.close()


def test_what_a_varnish_has_is_found_and_what_it_has_not_is_not(pairs, origin):
    p = pairs(2)
    one, other = p.varnish
    # a miss, and a hit at the other, which keeps the age
    long = "/long/" + "x" * 3000
    for path in ("/a", long):
        page(origin, path, age=20)
        assert one.get(path).get("X-Cache") == "MISS"
    assert one.get("/a").get("X-Cache") == "HIT"
    p.wait_keys(0, 3)
    for path in ("/a", long):
        got = other.get(path)
        assert (got.status, got.source) == (200, "peer")
        assert got.body == b"page " + path.encode()
        assert 20 <= int(got.get("Age")) < 30
    assert origin.count("/a") == origin.count(long) == 1
    p.wait_keys(1, 3)

    # nothing is fetched for digestd: not what is unknown, nor what is stale
    for path in ("/none", "/nothing"):
        assert scd.request(one.inner, path).status == 504
    assert scd.request(one.inner, "/a", method="POST").status == 504
    asked = origin.count()
    page(origin, "/stale", age=57)
    assert one.get("/stale").status == 200
    until(lambda: p.keys(0) == 4, 2, what="it is known")
    until(lambda: not one.has(["/stale"]), what="it is stale")
    until(lambda: p.keys(0) == 3, 5, what="it is not offered in its grace")
    assert origin.count() == asked + 1

    # variants count as one
    page(origin, "/v", Vary="Accept-Language")
    for language in ("de", "fr"):
        one.get("/v", headers={"Accept-Language": language})
    p.wait_keys(0, 4)

    # purged, banned, failed on its way, not to be stored
    assert one.get("/v", method="PURGE").status == 200
    p.wait_keys(0, 3)
    assert other.get("/v").source == "origin"
    one.ban("/a")
    assert origin.count("/a") == 1
    assert one.get("/a").source == "peer"  # the other's
    p.wait_keys(0, 3)
    one.ban("/a")
    assert scd.request(one.inner, "/a").status == 504
    p.wait_keys(0, 2)
    origin.pages["/short"] = breaks_off
    try:
        assert one.get("/short").status >= 500
    except http.client.IncompleteRead:
        pass  # it had begun to send it
    page(origin, "/private", **{"Set-Cookie": "a=b"})
    assert one.get("/private").status == 200
    page(origin, "/last")
    one.get("/last")
    p.wait_keys(0, 3)
    assert one.has(["/long/" + "x" * 3000, "/is-followed", "/last"]) == \
        {long, "/is-followed", "/last"}

    # a false hit goes on to the origin
    page(origin, "/false")
    one.get("/false")
    p.wait_keys(0, 4)
    one.follower.pause()
    one.get("/false", method="PURGE")
    got = other.get("/false")
    assert (got.status, got.source) == (200, "origin")
    assert p.nodes[1].counters()["false_hits"] == 1
    one.follower.signal(signal.SIGCONT)
    p.wait_keys(0, 3)
    # only-if-cached has reached nobody who could fetch
    assert all(r.get("Cache-Control") != "only-if-cached"
               for r in origin.requests)
    # and nobody's own digestd has stored anything
    assert [n.status()["store"]["objects"] for n in p.nodes] == [0] * 2


def test_each_of_them_may_restart(pairs, origin):
    p = pairs(2)
    one, other = p.varnish
    for i in range(40):
        page(origin, f"/{i}")
    for i in range(10):
        assert one.get(f"/{i}").status == 200
    p.wait_keys(0, 11)
    # digestd: Varnish asks the origin itself meanwhile, at once
    p.nodes[0].process.end()
    for i in range(10, 20):
        assert one.get(f"/{i}").body == f"page /{i}".encode()
    assert origin.count("/10") == 1
    assert one.get("/3", method="PURGE").status == 200
    p.nodes[0].start()
    p.wait_keys(0, 20)
    assert other.get("/15").source == "peer"
    # varnish-feed: the log has what came before it, too
    one.stop_follower()
    assert one.get("/4", method="PURGE").status == 200
    one.get("/20")
    one.follow()
    p.wait_keys(0, 20)
    # varnishd: it holds nothing then
    one.stop()
    p.wait_keys(0, 0)
    assert other.get("/5").source == "origin"
    one.start()
    # once digestd is known to be there
    until(lambda: one.get("/5").source == "peer" or
          one.get("/5", method="PURGE").status != 200, what="the peer's")
    p.wait_keys(0, 1)
    assert other.get("/30").source == "origin"


def fill_the_log(varnish):
    """More than its megabyte."""
    for _ in range(350):
        varnish.get("/x", headers={"Pad": "p" * 4000})


def test_a_hit_makes_an_object_known_of_which_the_log_has_nothing(origin,
                                                                  tmp_path):
    varnish = varnishes.Varnish(tmp_path, 1, 1, origin.port,
                                more=("-p", "vsl_space=1m"))
    page(origin, "/old")
    page(origin, "/x")
    old = f"http://{HOST}/old"
    feed = PlayedFeed(varnish.feed)
    try:
        # its records are overwritten when varnish-feed starts
        varnish.start()
        varnish.get("/old")
        fill_the_log(varnish)
        varnish.follow()
        until(lambda: f"http://{HOST}/x" in feed.held, what="the log is read")
        assert old not in feed.held
        varnish.get("/old")
        until(lambda: old in feed.held, what="it is known")
        # varnishlog is too slow
        log = varnish.log_reader()
        os.kill(log, signal.SIGSTOP)
        fill_the_log(varnish)
        os.kill(log, signal.SIGCONT)
        until(lambda: old not in feed.held, what="nothing is certain")
        until(lambda: varnish.get("/old").status == 200 and old in feed.held,
              what="it is known again")
        assert "the log has a gap" in varnish.follower.logged()
        varnish.get("/old", method="PURGE")
        until(lambda: old not in feed.held, what="it is gone")
        assert origin.count("/old") == 1
    finally:
        varnish.stop_follower()
        varnish.stop()
        feed.close()


def ask_at_random(varnish, count, chance):
    """Requests, of which some remove; returns when each URL was answered."""
    c = http.client.HTTPConnection("127.0.0.1", varnish.port, timeout=20)
    done = {}
    for i in range(count):
        c.request("GET", f"/{i}", headers={"Host": HOST})
        assert c.getresponse().read()
        done[f"http://{HOST}/{i}"] = time.monotonic()
        if chance.random() < .05:
            c.request("PURGE", f"/{chance.randrange(i + 1)}",
                      headers={"Host": HOST})
            c.getresponse().read()
        if chance.random() < .005:
            varnish.ban(f"/{chance.randrange(i + 1)}")
    c.close()
    return done


def test_no_false_negative_under_evictions(serve, tmp_path):
    """Inserts, most of which are evicted for room, and purges, bans and objects
    that go stale between them."""
    count = 10000 if LONG else 2000

    def answer(request, _):
        stale = request.target.endswith("7")
        return servers.response(200, {
            "Cache-Control": f"max-age={1 if stale else 600}"}, b"x" * 2000)
    varnish = varnishes.Varnish(tmp_path, 1, 1, serve(answer).port, size="2m",
                                more=("-p", "shortlived=0"))
    feed = PlayedFeed(varnish.feed)
    try:
        varnish.start().follow()
        varnish.get("/followed")
        until(lambda: feed.held, what="the log is followed")
        varnish.get("/followed", method="PURGE")
        done = ask_at_random(varnish, count, random.Random(1))
        time.sleep(1.1)  # what is to go stale has
        has = varnish.has(f"/{i}" for i in range(count))
        assert count / 20 < len(has) < count / 2
        has = {f"http://{HOST}{target}" for target in has}
        until(lambda: feed.held == has, 5,
              what=f"{len(has - feed.held)} false negatives, "
                   f"{len(feed.held - has)} false hits")
        lag = sorted(feed.at[u] - done[u] for u in done if u in feed.at)
        assert len(lag) > .95 * count
        print(f"lag p50 {1e3 * lag[len(lag) // 2]:.1f} ms, "
              f"p99 {1e3 * lag[len(lag) * 99 // 100]:.1f} ms")
        assert lag[len(lag) * 99 // 100] < 1
        assert feed.resets == 1
    finally:
        varnish.stop_follower()
        varnish.stop()
        feed.close()

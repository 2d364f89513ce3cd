"""The modules of nginx and Varnish: each finds by itself what its peers have,
in the table that the digestd beside it shares."""

import os
import shutil
import threading
import time
from email.utils import formatdate

import pytest

import modules
import servers
from cluster import until

KINDS = [
    pytest.param(modules.Nginx, marks=pytest.mark.skipif(
        not (shutil.which("nginx") and os.path.exists(modules.NGINX_MODULE)),
        reason="nginx, or its module, is not there")),
    pytest.param(modules.Varnish, marks=pytest.mark.skipif(
        not (shutil.which("varnishd") and os.path.exists(modules.VMOD)),
        reason="varnish, or its module, is not there")),
]


@pytest.fixture(params=KINDS, ids=("nginx", "varnish"))
def machines(request, make_cluster, origin, serve, tmp_path):
    m = modules.Machines(make_cluster, origin, serve, tmp_path, request.param)
    try:
        follow(m.start(), origin)
        yield m
    finally:
        for proxy in m.proxies:
            if hasattr(proxy, "stop_follower"):
                proxy.stop_follower()
        m.stop()


def follow(m, origin):
    """Whoever has a follower of its log: that it follows is known by an
    object."""
    followed = [p for p in m.proxies if hasattr(p, "follow")]
    for proxy in followed:
        proxy.follow()
    for i, proxy in enumerate(followed):
        page(origin, f"/followed/{i}")
        proxy.get(f"/followed/{i}")
        m.wait_claims(i, f"/followed/{i}")


def page(origin, path, age=0, max_age=60):
    def answer(request, _):
        return servers.response(200, {
            "Cache-Control": f"max-age={max_age}",
            "Date": formatdate(time.time() - age, usegmt=True),
            **({"Age": str(age)} if age else {})},
            b"page " + request.target.encode())
    origin.pages[path] = answer


def fill(m, origin, i, targets, **how):
    """A machine has these, and the other one knows it."""
    for target in targets:
        page(origin, target, **how)
        assert m.proxies[i].get(target).body == b"page " + target.encode()
    for target in targets:
        m.wait_claims(i, target)


def claim(m, targets):
    """The cache that is played is known to have these, which it has not."""
    m.played.claim(targets)
    for target in targets:
        m.wait_claims(2, target)


def get(m, origin, i, target):
    """What a machine answers: X-Cache, and whether the origin was asked."""
    asked = origin.count(target)
    r = m.proxies[i].get(target)
    assert (r.status, r.body) == (200, b"page " + target.encode()), target
    return r.get("X-Cache"), origin.count(target) - asked


def check_peers(m, origin):
    """They are asked for what they have."""
    fill(m, origin, 0, ["/a"])
    assert get(m, origin, 1, "/a") == ("MISS", 0)
    assert get(m, origin, 1, "/a") == ("HIT", 0)
    # nobody claims it
    page(origin, "/b")
    asked = m.played.asked()
    assert get(m, origin, 1, "/b") == ("MISS", 1)
    assert m.played.asked() == asked
    # a false hit: the origin's is kept under the same key
    page(origin, "/c")
    claim(m, ["/c"])
    assert get(m, origin, 1, "/c") == ("MISS", 1)
    assert m.played.asked() == asked + 1
    assert get(m, origin, 1, "/c") == ("HIT", 0)
    # two candidates, of which the first is wrong now and then
    both = [f"/d/{i}" for i in range(12)]
    fill(m, origin, 0, both)
    claim(m, both)
    assert [get(m, origin, 1, t) for t in both] == [("MISS", 0)] * 12
    assert asked + 1 < m.played.asked() < asked + 13
    # the origin has heard of none of that
    assert all(r.get("Cache-Control") != "only-if-cached"
               for r in origin.requests)


def check_other_requests(m, origin):
    """What is no GET, or names a user, is not for peers."""
    fill(m, origin, 0, ["/e"])
    for how in ({"method": "POST", "body": b"x"},
                {"headers": {"Authorization": "Basic eDp5"}}):
        before = origin.count("/e")
        m.proxies[1].get("/e", **how)
        assert origin.count("/e") == before + 1


def check_growth(m, origin):
    """The table grows while it is asked."""
    end, wrong, asked = threading.Event(), [], [0]
    files = m.share(1)["files"]
    for i in range(50):
        page(origin, f"/none/{i}")

    def ask():
        while not end.is_set():
            for target in ("/a", f"/none/{asked[0] % 50}"):
                r = m.proxies[1].get(target)
                if r.status != 200:
                    wrong.append((target, r.status))
            asked[0] += 1

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        for first in range(0, 20000, 4000):
            m.played.claim(f"/x/{i}" for i in range(first, first + 4000))
        until(lambda: m.share(1)["entries"] > 20000, 20, what="all of them")
        until(lambda: asked[0] > 20, what="requests")
    finally:
        end.set()
        thread.join()
    assert not wrong
    assert m.share(1)["files"] > files
    time.sleep(.1)  # within which the last file is found
    fill(m, origin, 0, ["/grown"])
    assert get(m, origin, 1, "/grown") == ("MISS", 0)


def test_what_peers_have_is_found(machines, origin):
    check_peers(machines, origin)
    check_other_requests(machines, origin)
    check_growth(machines, origin)


def check_removals(m, origin):
    """What is gone, or was wiped, is no peer's any more."""
    fill(m, origin, 0, ["/r/1", "/r/2", "/r/4"])
    m.proxies[0].remove("/r/1")
    until(lambda: not m.is_claimed(0, "/r/1"), 20, what="it is gone")
    page(origin, "/r/1")
    assert get(m, origin, 1, "/r/1")[1] == 1
    assert get(m, origin, 1, "/r/2")[1] == 0
    m.proxies[0].wipe()
    assert get(m, origin, 1, "/r/4")[1] == 1
    fill(m, origin, 1, ["/r/3"])
    assert get(m, origin, 0, "/r/2")[1] == 0  # it is the other one's now
    assert get(m, origin, 0, "/r/3")[1] == 0


def check_digestd(m, origin):
    """digestd ends, and is there again."""
    targets = [f"/s/{i}" for i in range(4)]
    fill(m, origin, 0, targets)
    m.nodes[1].process.kill()
    assert get(m, origin, 1, targets[0]) == ("MISS", 0)  # for 2 s
    time.sleep(2.6)
    assert get(m, origin, 1, targets[1]) == ("MISS", 1)
    m.nodes[1].start()
    m.wait_share(1, peers=2)
    m.wait_claims(0, targets[2])
    time.sleep(.3)  # within which the new file is found
    assert get(m, origin, 1, targets[2]) == ("MISS", 0)
    # and so does the proxy itself
    m.proxies[1].stop()
    m.proxies[1].start()
    assert get(m, origin, 1, targets[3]) == ("MISS", 0)


def check_bad_peers(m, origin):
    """They cost no client an error, whatever they answer."""
    fill(m, origin, 0, ["/f"])
    m.proxies[0].stop()
    # the connection is refused, before digests say that nothing is there
    assert get(m, origin, 1, "/f") == ("MISS", 1)
    # nginx takes what is no HTTP for HTTP/0.9, from peers and origins alike
    for answer in (servers.error, servers.reset, servers.hang):
        target = f"/g/{answer.__name__}"
        page(origin, target)
        claim(m, [target])
        m.played.server.serve = answer
        assert get(m, origin, 1, target)[1] == 1


def test_what_fails_costs_no_client_an_error(machines, origin):
    check_removals(machines, origin)
    check_digestd(machines, origin)
    check_bad_peers(machines, origin)


def test_what_comes_from_a_peer_is_stale_when_it_is_there(machines, origin):
    m, began = machines, time.monotonic()
    fill(m, origin, 0, ["/old"], max_age=m.least_offered_s)
    assert get(m, origin, 1, "/old") == ("MISS", 0)
    assert get(m, origin, 1, "/old") == ("HIT", 0)
    # nginx counts in whole seconds, and Varnish fetches it behind its answer
    time.sleep(began + m.least_offered_s + 2 - time.monotonic())
    get(m, origin, 1, "/old")
    until(lambda: origin.count("/old") == 2, what="a request at the origin")

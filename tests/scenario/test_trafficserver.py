"""digestd beside Apache Traffic Server: that keeps the objects, digestd finds
them."""

import os
import shutil
import time
from email.utils import formatdate

import pytest

import servers
import trafficservers
from cluster import until
from trafficservers import HOST
from varnishes import PlayedFeed

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

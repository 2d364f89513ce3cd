"""digestd beside nginx: each nginx keeps the objects, digestd finds them."""

import os
import random
import re
import shutil
import socket
import subprocess
import time
from email.utils import formatdate

import pytest

import cluster as scd
import servers
import sidecars
import squids
from cluster import until

needs_nginx = pytest.mark.skipif(not shutil.which("nginx"),
                                 reason="nginx is not installed")
HOST = "http://www.example.com"


@pytest.fixture
def pairs(make_cluster, origin, tmp_path):
    """pairs(count, **options): that many, started."""
    made = []

    def make(count, **options):
        p = sidecars.Pairs(make_cluster, origin, tmp_path, count, **options)
        made.append(p)
        return p.start()

    yield make
    for p in made:
        p.stop()


def page(origin, path, age=0, **fields):
    """A page that is fresh for a minute, made so long ago."""
    def answer(request, _):
        return servers.response(200, {
            "Cache-Control": "max-age=60",
            "Date": formatdate(time.time() - age, usegmt=True),
            **fields}, b"page " + request.target.encode())
    origin.pages[path] = answer


@needs_nginx
def test_a_miss_is_found_at_another_nginx(pairs, origin):
    p = pairs(3)
    page(origin, "/a", age=20)
    first = p.nginx[0].get("/a")
    assert (first.status, first.get("X-Cache")) == (200, "MISS")
    assert p.nginx[0].get("/a").get("X-Cache") == "HIT"
    p.wait_keys(0, 1)
    other = p.nginx[1].get("/a")
    assert (other.body, other.get("X-Cache")) == (b"page /a", "MISS")
    assert other.source == "peer"
    assert other.get("X-Accel-Expires") is None  # nginx has taken it
    assert origin.count() == 1
    # what it keeps is stale when the origin said, not a minute from now
    header = sidecars.read(p.nginx[1].file_of("/a"), 16)
    valid_s = int.from_bytes(header[8:], "little")
    assert 30 < valid_s - time.time() <= 40
    p.wait_keys(1, 1)
    assert p.nginx[2].get("/a").source == "peer"
    assert origin.count() == 1
    served = [n.counters() for n in p.nodes]
    assert sum(c["peer_served"] for c in served) == 2
    assert sum(c["remote_hits"] for c in served) == 2
    # nobody's own digestd has stored anything
    assert [n.status()["store"]["objects"] for n in p.nodes] == [0] * 3


@needs_nginx
def test_a_false_hit_goes_on_to_the_origin(pairs, origin):
    p = pairs(2, publish_min="2s", publish_max="2s")
    for path in ("/a", "/b"):
        page(origin, path)
        p.nginx[0].get(path)
    p.wait_keys(0, 2)
    os.unlink(p.nginx[0].file_of("/a"))  # the digest has it for 2 s more
    answer = p.nginx[1].get("/a")
    assert (answer.status, answer.body) == (200, b"page /a")
    assert answer.source == "origin"
    assert p.nodes[1].counters()["false_hits"] == 1
    assert p.nginx[1].get("/b").source == "peer"
    # only-if-cached has reached nobody who could fetch
    assert all(r.get("Cache-Control") != "only-if-cached"
               for r in origin.requests)
    assert origin.count("/a") == 2 and origin.count("/b") == 1


@needs_nginx
def test_what_is_not_there_is_504_to_a_peer(pairs, origin):
    p = pairs(2)
    page(origin, "/a")
    p.nginx[0].get("/a")
    inner = scd.request(p.nginx[0].inner, "/b")
    assert inner.status == 504
    inner = scd.request(p.nginx[0].inner, "/a")
    assert (inner.status, inner.body) == (200, b"page /a")
    assert origin.count() == 1


@needs_nginx
def test_stale_objects_are_not_offered(pairs, origin):
    p = pairs(2)
    page(origin, "/a", age=56)
    assert p.nginx[0].get("/a").status == 200
    p.wait_keys(0, 1)
    until(lambda: p.keys(0) == 0, 15, what="it has gone stale")
    assert p.nginx[0].files()  # and it is there
    assert p.nodes[0].status()["sidecar"]["nginx"]["expired"] == 1
    p.cluster.wait_settled()
    page(origin, "/a")
    assert p.nginx[1].get("/a").source == "origin"
    # what nginx has confirmed is offered again
    origin.pages["/v"] = lambda request, _: servers.response(
        304 if request.get("If-None-Match") else 200,
        {"ETag": '"1"', "Cache-Control": "max-age=2"},
        b"" if request.get("If-None-Match") else b"v")
    made = time.time()
    assert p.nginx[0].get("/v").body == b"v"
    p.wait_keys(0, 1)
    until(lambda: p.keys(0) == 0, 15, what="it has gone stale")
    until(lambda: time.time() > made + 3, what="nginx's clock, too")
    again = p.nginx[0].get("/v")
    assert (again.status, again.body) == (200, b"v")
    assert again.get("X-Cache") == "REVALIDATED"
    assert origin.last().get("If-None-Match") == '"1"'
    until(lambda: p.keys(0) == 1, what="it is fresh again")


@needs_nginx
def test_variants_count_as_one(pairs, origin):
    p = pairs(2)

    def varies(request, _):
        return servers.response(200, {
            "Cache-Control": "max-age=60", "Vary": "Accept-Language"},
            request.get("Accept-Language", "none").encode())
    origin.pages["/v"] = varies
    for language in ("de", "fr"):
        r = p.nginx[0].get("/v", headers={"Accept-Language": language})
        assert r.body == language.encode()
    until(lambda: len(p.nginx[0].files()) == 2, what="two files")
    p.wait_keys(0, 1)
    for left in (1, 0):
        os.unlink(p.nginx[0].files()[0])
        p.wait_keys(0, left)


@needs_nginx
def test_a_purge_is_final_at_the_others(pairs, origin):
    p = pairs(2, squid_peers="127.0.0.1")
    page(origin, "/a")
    assert p.nginx[0].get("/a").status == 200
    p.wait_keys(0, 1)
    answer = scd.request(p.nodes[1].admin, HOST + "/a", method="PURGE")
    assert answer.status == 200
    # the first nginx has it yet: nobody takes it from there
    assert p.nginx[1].get("/a").source == "origin"
    assert origin.count() == 2
    # nor does a Squid, which knows of no purges
    assert scd.request(p.nodes[0].peer, HOST + "/a").status == 504
    # and it is gone there, too, once its file is removed
    os.unlink(p.nginx[0].file_of("/a"))
    assert p.nginx[0].get("/a").get("X-Cache") == "MISS"


@needs_nginx
def test_either_side_may_restart(pairs, origin):
    p = pairs(2)
    for i in range(20):
        page(origin, f"/{i}")
        p.nginx[0].get(f"/{i}")
    p.wait_keys(0, 20)
    # digestd: nginx asks the origin itself meanwhile
    p.nodes[0].process.end()
    for i in range(20, 30):
        page(origin, f"/{i}")
        assert p.nginx[0].get(f"/{i}").status == 200
    os.unlink(p.nginx[0].file_of("/0"))
    p.nodes[0].start()
    p.wait_keys(0, 29)
    assert p.nginx[1].get("/1").source == "peer"
    # nginx: what it holds is asked for in vain, and the origin has it
    p.nginx[0].stop()
    assert p.nginx[1].get("/2").status == 200
    p.nginx[0].start()
    assert p.nginx[0].get("/3").get("X-Cache") == "HIT"
    assert p.nginx[1].get("/3").source in ("peer", "origin")
    assert p.nodes[0].counters()["sidecar_errors"] > 0


@needs_nginx
def test_a_cache_is_wiped_under_digestd(pairs, origin):
    p = pairs(2, nginx_rescan="1h")
    for i in range(20):
        page(origin, f"/{i}")
        p.nginx[0].get(f"/{i}")
    p.wait_keys(0, 20)
    for name in os.listdir(p.nginx[0].cache):
        shutil.rmtree(os.path.join(p.nginx[0].cache, name))
    p.wait_keys(0, 0)
    p.nginx[0].get("/5")
    p.wait_keys(0, 1)
    # all of it, and its folder
    p.nginx[0].stop()
    shutil.rmtree(p.nginx[0].cache)
    p.wait_keys(0, 0)
    p.nginx[0].start()
    p.nginx[0].get("/6")
    p.wait_keys(0, 1)
    assert p.nodes[0].status()["sidecar"]["nginx"]["drift"] == 0


# The feed

def connect(path):
    s = socket.socket(socket.AF_UNIX)
    s.connect(path)
    return s, s.makefile("r")


def ask(s, answers, text):
    s.sendall(f"ack {text}\n".encode())
    return answers.readline().split()


@pytest.fixture
def fed(make_cluster, origin, serve, tmp_path):
    """A node beside a cache that is played, and one that asks it; fed.path."""
    c = make_cluster(2, expected_objects="20000")
    c.origin_url = origin.url
    c.held = set()

    def beside(request, _):
        assert request.get("Cache-Control") == "only-if-cached"
        if request.target not in c.held:
            return servers.response(504, {}, b"")
        return servers.response(200, {"Cache-Control": "max-age=600"},
                                b"held")
    c.path = str(tmp_path / "feed")
    c.nodes[0].options.update(sidecar=serve(beside).url, sidecar_feed=c.path)
    c.start().wait_heard()
    return c


def test_the_feed_says_what_is_held(fed, origin):
    node, other = fed.nodes
    s, answers = connect(fed.path)
    s.sendall(b"insert http://www.example.com/a\n"
              b"insert HTTP://WWW.example.com:80/b\r\n\n"
              b"insert http://www.example.com/a\n")
    assert ask(s, answers, "x y") == "ack x y held 2 refused 0".split()
    s.sendall(b"evict http://www.example.com/b\nevict http://no/\n")
    assert ask(s, answers, "") == "ack held 1 refused 0".split()
    for line, fault in (("insert /a", "error 9: not an http or https URL"),
                        ("purge", "error 10: not insert, evict, reset or ack"),
                        ("reset now", "error 11: reset has no argument"),
                        ("insert http://h/" + "x" * 99999,
                         "error 12: too long")):
        s.sendall(line.encode() + b"\n")
        assert answers.readline().rstrip() == fault
    assert ask(s, answers, "still").count("1")
    fed.held = {"/a"}
    fed.wait_settled()
    origin.set("/a", fields={"Cache-Control": "max-age=600"}, body=b"origin")
    assert other.get("/a").body == b"held"
    s.sendall(b"reset\n")
    assert ask(s, answers, "0")[-3] == "0"
    fed.wait_settled()
    assert node.status()["sidecar"]["evicted"] == 2


def test_the_feed_over_http(fed):
    node = fed.nodes[0]

    def post(body, method="POST"):
        r = scd.request(node.admin, "/v1/held", method=method,
                        body=body.encode())
        return r.status, r.body.decode().rstrip()
    assert post("insert http://a/1\ninsert http://a/2\n") == \
        (200, "ack post held 2 refused 0")
    assert post("evict http://a/1\ninsert nothing\n") == \
        (400, "error 2: not an http or https URL")
    assert post("evict http://a/1") == (200, "ack post held 1 refused 0")
    assert post("reset") == (200, "ack post held 0 refused 0")
    assert post("x" * (2 << 20))[0] == 413
    assert post("", "PUT")[0] == 405
    assert scd.request(fed.nodes[1].admin, "/v1/held", method="POST",
                       body=b"reset").status == 409


def test_garbage_on_the_feed_is_named_and_nothing_is_lost(fed, origin):
    node, other = fed.nodes
    s, answers = connect(fed.path)
    lines, faults = [], []
    noise = random.Random(1)
    for i in range(200):
        lines += [f"insert {HOST}/{i}".encode(),
                  noise.randbytes(noise.randrange(1, 40)).replace(b"\n", b"\r")
                  + b"\x00"]
        faults.append(f"error {len(lines)}: not insert, evict, reset or ack")
    # who sends it all before it reads the first answer
    s.sendall(b"\n".join(lines) + b"\n")
    assert [answers.readline().rstrip() for _ in faults] == faults
    assert ask(s, answers, "a") == "ack a held 200 refused 0".split()
    # others leave in the middle of a line, of one without an end, and of
    # their answers
    for text in (b"reset", b"\xff" * 200000, b"?\n" * 50000,
                 b"insert http://h/", b"evict " + lines[0][7:]):
        t, _ = connect(fed.path)
        t.settimeout(.05)
        try:
            t.sendall(text)
        except OSError:
            pass
        t.close()
    assert ask(s, answers, "b") == "ack b held 200 refused 0".split()
    # over HTTP, all of it or nothing
    for body in (b"\x00" * 1000, b"\n".join(lines), b"reset\n\xff"):
        r = scd.request(node.admin, "/v1/held", method="POST", body=body)
        number = 1 if body[0] == 0 else 2
        assert r.status == 400
        assert r.body.startswith(b"error %d: " % number)
    assert ask(s, answers, "c") == "ack c held 200 refused 0".split()
    fed.held = {"/7"}
    fed.wait_settled()
    page(origin, "/7")
    assert other.get("/7").body == b"held"


def test_many_resets_in_one_body(fed):
    node = fed.nodes[0]
    s, answers = connect(fed.path)
    s.sendall(b"".join(b"insert http://a/%d\n" % i for i in range(20000)))
    assert ask(s, answers, "a") == "ack a held 20000 refused 0".split()
    # a table that is empty costs no walk
    began = time.monotonic()
    r = scd.request(node.admin, "/v1/held", method="POST",
                    body=b"reset\n" * 170000)
    assert r.body == b"ack post held 0 refused 0\n"
    assert time.monotonic() - began < 2 * scd.SLOW


def test_no_false_negative_at_full_speed(fed):
    node, other = fed.nodes
    s, answers = connect(fed.path)
    n = 10000
    for first in (0, n):
        s.sendall("".join(f"insert http://a/{first + i}\n"
                          for i in range(n)).encode())
        if first:
            s.sendall("".join(f"evict http://a/{i}\n"
                              for i in range(n)).encode())
        assert ask(s, answers, "end") == f"ack end held {n} refused 0".split()
    fed.wait_settled()
    assert other.peer_status("n1")["digest"]["keys"] == n
    # by the other's own lookups: it asks for what the digest has
    fed.held = {f"/{i}" for i in range(2 * n)}
    asked = range(n, 2 * n, 50)
    for i in asked:
        assert other.get(f"/{i}", host="a").body == b"held"
    assert other.counters()["remote_hits"] == len(asked)
    gone = [other.get(f"/{i}", host="a").status for i in range(0, n, 50)]
    assert gone.count(404) > len(gone) * .9


def test_more_than_there_is_room_for(make_cluster, origin, serve, tmp_path):
    c = make_cluster(1, sidecar_objects="10")
    c.origin_url = origin.url
    path = str(tmp_path / "feed")
    c.nodes[0].options.update(sidecar=serve(servers.lie).url,
                              sidecar_feed=path)
    c.start()
    s, answers = connect(path)
    for i in range(15):
        s.sendall(f"insert http://a/{i}\n".encode())
    assert ask(s, answers, "a") == "ack a held 10 refused 5".split()
    status = c.nodes[0].status()["sidecar"]
    assert (status["keys"], status["refused"]) == (10, 5)


def test_a_peer_asks_the_cache_beside_and_nobody_else(fed, origin):
    node, other = fed.nodes
    s, answers = connect(fed.path)
    s.sendall(b"insert http://www.example.com/a\n")
    ask(s, answers, "a")
    fed.wait_settled()
    page(origin, "/a")
    asked = origin.count()
    assert other.get("/a").body == b"page /a"  # a false hit
    assert other.counters()["false_hits"] == 1
    assert origin.count() == asked + 1  # and not one by the peer
    assert node.counters()["origin_fetches"] == 0
    assert node.counters()["sidecar_queries"] == 1


def test_a_cache_that_asks_this_node_after_all(fed, origin, serve):
    """Its misses come back here for a peer: they are refused."""
    node, other = fed.nodes
    refused = []

    def sends_on(request, _):
        r = node.get(request.target, headers=dict(request.fields))
        refused.append(r.status)
        return servers.response(r.status, {}, r.body)
    node.process.end()
    node.options["sidecar"] = serve(sends_on).url
    node.start()
    fed.wait_settled()
    s, answers = connect(fed.path)
    s.sendall(b"insert http://www.example.com/a\n")
    ask(s, answers, "a")
    fed.wait_settled()
    page(origin, "/a")
    assert other.get("/a").source == "origin"
    assert refused == [508]
    assert origin.count() == 1


def test_squids_find_what_is_beside(make_cluster, origin, serve, tmp_path):
    path = str(tmp_path / "feed")
    c = make_cluster(1, squid_peers="127.0.0.1", squid_period="1s")
    c.origin_url = origin.url

    def beside(request, _):
        return servers.response(200, {"Cache-Control": "max-age=60"}, b"held")
    c.nodes[0].options.update(sidecar=serve(beside).url, sidecar_feed=path)
    node = c.start().nodes[0]
    s, answers = connect(path)
    for i in range(100):
        s.sendall(f"insert {HOST}/{i}\n".encode())
    s.sendall(f"evict {HOST}/0\n".encode())
    assert ask(s, answers, "a") == "ack a held 99 refused 0".split()
    until(lambda: node.status()["squid"]["keys"] == 99, what="a digest of it")
    digest = scd.request(node.peer, squids.STORE_DIGEST).body
    found = [squids.holds(digest, f"{HOST}/{i}") for i in range(100)]
    assert found == [False] + [True] * 99
    assert scd.request(node.peer, HOST + "/1").body == b"held"


def test_its_metrics_are_those_listed(make_cluster, origin, serve, tmp_path):
    c = make_cluster(1, squid_peers="127.0.0.1",
                     nginx_cache=str(tmp_path / "none"))
    c.origin_url = origin.url
    c.nodes[0].options["sidecar"] = serve(servers.lie).url
    node = c.start().nodes[0]
    listed = subprocess.run([scd.DIGESTD, "--metrics"], check=True, text=True,
                            stdout=subprocess.PIPE).stdout
    served = scd.request(node.admin, "/metrics").body.decode()
    names = re.findall(r"^(digestd_(?:sidecar|nginx|squid)_\w+)", listed, re.M)
    assert len(names) > 15
    assert names == re.findall(
        r"^# HELP (digestd_(?:sidecar|nginx|squid)_\w+)", served, re.M)
    # the folder is not there: no error, and looked for
    assert node.status()["sidecar"]["nginx"]["follows"] is False

"""What operators purge, through the admin listener."""

import json
import signal
import socket
import threading
import time

import pytest

import servers
from cluster import request, until

HOST = "www.example.com"


def purge(node, target="/", expect=200, **fields):
    headers = {k.replace("_", "-"): v for k, v in fields.items()}
    r = request(node.admin, target, method="PURGE", headers=headers,
                timeout=30)
    assert r.status == expect, r.status
    if r.status != 200:
        return None
    told = json.loads(r.body)
    return (told["purged"], told["peers"]) if "peers" in told \
        else told["purged"]


def fill(node, origin, pages):
    for path, fields in pages.items():
        origin.set(path, fields={"Cache-Control": "max-age=60", **fields},
                   body=path.encode())
        node.get(path)
        assert node.get(path).source == "hit"


def held(node, pages):
    return {path for path in pages
            if node.get(path, headers={"Cache-Control": "only-if-cached"})
            .status == 200}


def test_one_uri_with_its_variants(node, origin):
    fill(node, origin, {"/a": {"Vary": "A"}, "/a/": {}, "/a?x": {}})
    node.get("/a", headers={"A": "1"})
    assert purge(node, "/a") == 2
    assert held(node, ["/a", "/a/", "/a?x"]) == {"/a/", "/a?x"}
    assert purge(node, "http://WWW.example.com:80/a?x") == 1
    assert purge(node, "/a?x") == 0
    assert node.get("/a").source == "origin"


def test_prefix(node, origin):
    pages = {f"/{d}/{n}": {} for d in ("a", "ab", "b") for n in range(40)}
    fill(node, origin, pages)
    assert purge(node, Purge_Prefix=f"http://{HOST}/a/") == 40
    assert held(node, pages) == {p for p in pages if not p.startswith("/a/")}
    assert purge(node, Purge_Prefix=f"http://{HOST.upper()}:80/a") == 40
    assert purge(node, Purge_Prefix="http://other.example.com/") == 0
    assert purge(node, Purge_Prefix=f"http://{HOST}") == 40
    assert node.status()["store"]["objects"] == 0


def test_tags(node, origin):
    pages = {"/1": {"Cache-Tag": "news, sport"},
             "/2": {"Surrogate-Key": "sport home"},
             "/3": {"Cache-Groups": '"news"'},
             "/4": {}}
    fill(node, origin, pages)
    assert purge(node, Purge_Tag="none") == 0
    assert purge(node, Purge_Tag="sport, other") == 2
    assert held(node, pages) == {"/3", "/4"}
    assert purge(node, Purge_Tag='"news"') == 1


def test_an_idle_node_has_its_memory_back(node, origin):
    """Though no worker has anything to do."""
    fill(node, origin, {f"/{n}": {} for n in range(10)})
    origin.set("/large", fields={"Cache-Control": "max-age=60"},
               body=bytes(500_000))
    node.get("/large")
    assert node.status()["memory"]["objects"] > 500_000
    time.sleep(0.2)  # until its workers wait
    assert purge(node, Purge_Prefix=f"http://{HOST}/large") == 1
    until(lambda: node.status()["memory"]["objects"] < 100_000, seconds=1,
          what="memory that is free again")


def test_what_is_no_purge(node):
    purge(node, Purge_Prefix="/a", expect=400)
    purge(node, Purge_Prefix="", expect=400)
    purge(node, "*", expect=400)
    r = request(node.admin, "/a", method="PURGE", headers={"Purge-Tag": "x"})
    assert r.body == b"with Purge-Tag the target must be /\n"
    assert r.get("Content-Type") == "text/plain"
    # clients cannot
    assert request(node.data, "/metrics", method="PURGE").status != 200


def test_what_is_under_way_is_not_stored(node, origin):
    seen, go = threading.Event(), threading.Event()

    def page(_, __):
        seen.set()
        go.wait(10)
        return servers.response(200, {"Cache-Control": "max-age=60"}, b"old")

    origin.pages["/a"] = page
    client = threading.Thread(target=node.get, args=("/a",))
    client.start()
    assert seen.wait(10)
    assert purge(node, "/a") == 0
    go.set()
    client.join()
    until(lambda: node.get("/a").source == "origin")
    assert node.get("/a").source == "hit"


def three(make_cluster, origin, **options):
    """Three nodes that hold two pages each."""
    c = make_cluster(3, peer_tries="0", **options)
    c.origin_url = origin.url
    c.start()
    c.wait_heard()
    for n in c.nodes:
        fill(n, origin, {"/a": {"Cache-Tag": "x"}, "/b": {}})
    return c.nodes


def test_peers_are_told(make_cluster, origin):
    nodes = three(make_cluster, origin, purge_peers=True)
    a, b, c = nodes
    assert purge(a, "/a") == (1, {"n2": 1, "n3": 1})
    assert all(held(n, ["/a", "/b"]) == {"/b"} for n in nodes)
    assert purge(b, "/a") == (0, {"n1": 0, "n3": 0})
    for n in nodes:
        fill(n, origin, {"/a": {"Cache-Tag": "x"}})
    assert purge(c, Purge_Tag="x") == (1, {"n1": 1, "n2": 1})
    assert all(held(n, ["/a", "/b"]) == {"/b"} for n in nodes)
    assert purge(c, Purge_Prefix=f"http://{HOST}/") == (1, {"n1": 1, "n2": 1})
    assert not any(held(n, ["/a", "/b"]) for n in nodes)


def test_peers_are_told_in_their_streams(make_cluster, origin):
    """By no connection more, and it is counted."""
    nodes = three(make_cluster, origin, purge_peers=True)
    a = nodes[0]

    def told():
        purges = a.status()["purges"]
        return purges["told"], purges["streamed"]

    def both_in_streams():
        before = told()
        assert purge(a, "/a")[1].keys() == {"n2", "n3"}
        return [now - b for now, b in zip(told(), before)] == [2, 2]
    until(both_in_streams, what="streams both ways")
    assert purge(a, "/b") == (1, {"n2": 1, "n3": 1})
    nodes[2].process.pause()  # so that its stream is silent
    assert purge(a, "/a") == (0, {"n2": 0, "n3": None})
    nodes[2].process.signal(signal.SIGCONT)
    until(lambda: purge(a, "/a") == (0, {"n2": 0, "n3": 0}),
          what="told by a request")


def test_peers_that_do_not_purge(make_cluster, origin):
    """One that is not there, and one that takes no purges from peers."""
    nodes = three(make_cluster, origin, purge_peers=True)
    nodes[1].process.end()
    nodes[2].options["purge_peers"] = False
    nodes[2].write()
    nodes[2].process.signal(signal.SIGHUP)
    until(lambda: "reload: done" in nodes[2].process.logged())
    until(lambda: purge(nodes[0], "/none")[1] == {"n2": None, "n3": None},
          what="refused")
    assert purge(nodes[0], "/a") == (1, {"n2": None, "n3": None})
    assert held(nodes[2], ["/a"]) == {"/a"}
    log = nodes[0].process.logged()
    assert "peer n2 did not answer the purge" in log
    assert "peer n3 refused the purge (403): it has purge_peers off" in log
    assert f"purge: http://{HOST}/a: 1 object removed, asked by 127" in log


def test_only_peers_may_purge(make_cluster, origin):
    a = three(make_cluster, origin, purge_peers=True)[0]
    uri = f"http://{HOST}/a"
    assert request(a.peer, uri, method="PURGE").status == 407
    assert request(a.peer, "/a", method="PURGE").status == 401
    assert held(a, ["/a"]) == {"/a"}


class Versions:
    """A page of 100 KB that takes a moment; each fetch gets the next one."""

    def __init__(self):
        self.asked = 0

    def __call__(self, _, connection):
        self.asked += 1
        body = bytes([self.asked]) * 100_000
        connection.sendall(servers.response(
            200, {"Cache-Control": "max-age=60", "Cache-Tag": "x"},
            body[:50_000], length=len(body)))
        time.sleep(0.2)
        return body[50_000:]


def change(node, how):
    if how == "unsafe":
        assert node.get("/a", method="POST").status == 200
    else:
        purge(node, "/" if how else "/a", **how)


@pytest.mark.parametrize("how", [
    {}, {"Purge_Prefix": f"http://{HOST}/"}, {"Purge_Tag": "x"}, "unsafe"])
def test_who_comes_after_does_not_join_what_began_before(node, origin, how):
    page = Versions()
    origin.pages["/a"] = lambda r, c: servers.response() \
        if r.method == "POST" else page(r, c)
    early = [threading.Thread(target=node.get, args=("/a",))
             for _ in range(2)]
    for t in early:
        t.start()
        until(lambda: page.asked)
    change(node, how)
    later = []
    late = [threading.Thread(target=lambda: later.append(node.get("/a")))
            for _ in range(3)]
    for t in late:
        t.start()
    for t in early + late:
        t.join()
    assert [r.body[:1] for r in later] == [b"\2"] * 3
    assert page.asked == 2  # those who came later share one fetch
    assert node.get("/a").body[:1] == b"\2"
    assert node.get("/a").source == "hit"


def client_purge(node, address, target="/a", host=HOST, **fields):
    """From an address: the status, and the answer's text."""
    lines = "".join(f"{k.replace('_', '-')}: {v}\r\n"
                    for k, v in fields.items())
    with socket.create_connection(("127.0.0.1", node.data), 10,
                                  (address, 0)) as s:
        s.sendall(f"PURGE {target} HTTP/1.1\r\nHost: {host}\r\n{lines}"
                  "Connection: close\r\n\r\n".encode())
        text = b"".join(iter(lambda: s.recv(65536), b"")).decode()
    head, _, body = text.partition("\r\n\r\n")
    return int(head.split()[1]), body if body.startswith("{") else head + body


def test_clients_that_may(make_cluster, origin, tmp_path):
    """They purge the cluster; others get 403; and without a list, as a reload
    brings, the method is the origin's."""
    log = tmp_path / "access.log"
    c = make_cluster(2, purge_addresses="127.0.0.2, 10.0.0.0/8",
                     access_log=str(log),
                     access_log_format="%{method} %{status} %{source} "
                                       "%{reason}")
    c.origin_url = origin.url
    a, b = c.start().nodes
    c.wait_settled()
    c.wait_heard()
    fill(a, origin, {"/a": {"Cache-Tag": "t"}, "/p/1": {}, "/p/2": {}})
    assert b.get("/a").status == 200
    asked = origin.count()
    status, text = client_purge(a, "127.0.0.1")
    assert status == 403 and 'detail="purge"' in text
    assert client_purge(a, "127.0.0.1", "/", Purge_Tag="t")[0] == 403
    assert held(a, ["/a"]) == {"/a"}
    status, text = client_purge(a, "127.0.0.2")
    assert status == 200
    told = json.loads(text)
    # which has a copy of its own or not
    assert told["purged"] == 1 and told["peers"][b.name] in (0, 1)
    assert held(a, ["/a", "/p/1"]) == {"/p/1"}
    assert held(b, ["/a"]) == set()
    assert json.loads(client_purge(
        a, "127.0.0.2", "/", Purge_Prefix=f"http://{HOST}/p/")[1])[
            "purged"] == 2
    status, text = client_purge(a, "127.0.0.2", "/x", Purge_Tag="t")
    assert status == 400 and "the target must be /" in text
    assert a.counters()["client_purges"] == 3
    assert a.status()["refusals"]["forbidden"] == 2
    assert origin.count() == asked
    assert "asked by 127.0.0.2" in a.process.logged()
    until(lambda: "PURGE 403 node purge" in log.read_text()
          and "PURGE 200 node -" in log.read_text(), what="logged")
    a.options["purge_addresses"] = ""
    a.write()
    a.process.signal(signal.SIGHUP)
    until(lambda: client_purge(a, "127.0.0.1")[0] == 200, what="reloaded")
    assert origin.count() > asked


def test_clients_that_may_of_a_site(make_cluster, origin):
    """A list of a site, or of its rule, takes the place of the node's."""
    c = make_cluster(1, purge_addresses="127.0.0.2")
    c.origin_url = origin.url
    origin.set("/a", body=b"x")
    node = c.nodes[0]
    node.lines = ['site "own" { purge_addresses = "127.0.0.3"\n'
                  'rule "/deep/**" { purge_addresses = "127.0.0.4" } }\n'
                  'site "none" { purge_addresses = "" }\n'
                  'site "other" { pass = false }']
    c.start()

    def status(host, last, target="/a", **fields):
        return client_purge(node, f"127.0.0.{last}", target, host, **fields)[0]

    assert [status("own", n) for n in (2, 3, 4)] == [403, 200, 403]
    assert [status("own", n, "/deep/a") for n in (2, 3, 4)] == [403, 403, 200]
    assert [status("other", n) for n in (2, 3)] == [200, 403]
    asked = origin.count()
    assert status("none", 9) == 200 and origin.count() == asked + 1
    # what begins so may be of the rule, too; and tags are of all sites
    prefixes = [[status("own", n, "/", Purge_Prefix=f"http://{host}/")
                 for n in (2, 3, 4)] for host in ("own", "other")]
    assert prefixes == [[403, 403, 403], [200, 403, 403]]
    assert [status("own", n, "/", Purge_Tag="t") for n in (2, 3)] == [200, 403]
    assert origin.count() == asked + 1

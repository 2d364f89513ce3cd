"""What operators purge, through the admin listener."""

import json
import threading

import servers
from cluster import request, until

HOST = "www.example.com"


def purge(node, target="/", expect=200, **fields):
    headers = {k.replace("_", "-"): v for k, v in fields.items()}
    r = request(node.admin, target, method="PURGE", headers=headers)
    assert r.status == expect, r.status
    return json.loads(r.body)["purged"] if r.status == 200 else None


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


def test_what_is_no_purge(node):
    purge(node, Purge_Prefix="/a", expect=400)
    purge(node, Purge_Prefix="", expect=400)
    purge(node, "*", expect=400)
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

"""A URI is purged in whatever form it is named: a site's rules for keys, and
what RFC 3986 makes one, count for purges as they do for requests."""

import json
import signal

import pytest

import certificates
from cluster import request, until
from control import ctl, ctl_json, with_sockets

HOST = "www.example.com"
SITE = """site "www.example.com" "*.example.com" {
	key {
		drop = "utm_*", "gclid"
		sort = true
		encodings = true
		cookies = "lang"
	}
	rule "/keep" { key { keep = "id" } }
}"""

# Forms of one URI, each with the one that is stored.
FORMS = (
    ("http://www.example.com/a?a=1&b=2", "/a?a=1&b=2"),
    ("http://www.example.com/a?b=2&a=1", "/a?a=1&b=2"),
    ("http://www.example.com/a?utm_source=x&b=2&gclid=1&a=1", "/a?a=1&b=2"),
    ("HTTP://WWW.Example.COM:80/a?b=2&a=1", "/a?a=1&b=2"),
    ("https://www.example.com:443/a?b=2&a=1", "/a?a=1&b=2"),
    ("http://www.example.com.:/a?b=2&a=1", "/a?a=1&b=2"),
    ("http://www.example.com/a?utm_source=x", "/a"),
    ("http://www.example.com/keep?b=1&id=7&utm_id=2", "/keep?id=7"),
    ("http://WWW.example.com?b&a", "/?a&b"),
)
# What servers may tell apart is another URI, under the same rules.
OTHERS = (
    ("http://www.example.com/%61?b=2&a=1", "/%61?a=1&b=2"),
    ("http://www.example.com/x/../a?b=2&a=1", "/x/../a?a=1&b=2"),
    ("http://www.example.com/a?b=2&%61=1", "/a?%61=1&b=2"),
)
FRESH = {"Cache-Control": "max-age=600"}


@pytest.fixture
def nodes(make_cluster, origin):
    """Two with the same rules."""
    c = with_sockets(make_cluster(2, peer_tries="0",
                                  purge_addresses="127.0.0.1"))
    c.origin_url = origin.url
    for node in c.nodes:
        node.lines = [SITE]
    c.start().wait_heard()
    for path in ("/", "/a", "/keep", "/%61", "/x/../a", "/p/a", "/p/b"):
        origin.set(path, fields=FRESH, body=path.encode())
    return c.nodes


def hold(nodes, *targets):
    for target in targets:
        for node in nodes:
            assert node.get(target).status == 200
            assert node.get(target).source == "hit", target


def held(node, target):
    return node.get(target, headers={"Cache-Control": "only-if-cached"}
                    ).status == 200


def purge(node, target, **fields):
    r = request(node.admin, target, method="PURGE", timeout=30,
                headers={k.replace("_", "-"): v for k, v in fields.items()})
    assert r.status == 200, (target, r.status, r.body)
    told = json.loads(r.body)
    return told["purged"], told["peers"]


def test_any_form(nodes):
    """At the node and at its peer; nothing else goes."""
    a, b = nodes
    stored = {s for _, s in FORMS + OTHERS}
    hold(nodes, *stored)
    for form, target in FORMS + OTHERS:
        assert purge(a, form) == (1, {"n2": 1}), form
        assert {s for s in stored if not held(a, s)} == {target}, form
        assert not held(b, target), form
        hold(nodes, target)
    line = "purge: http://www.example.com/a?a=1&b=2: 1 object removed"
    assert a.process.logged().count(line) == 5
    # in origin-form, and what a client may be given is not what is stored
    assert purge(b, "/a?gclid=1&b=2&a=1", Host="WWW.EXAMPLE.com:80") \
        == (1, {"n1": 1})
    assert purge(a, "/a?utm_a=1&b=2", Host=HOST) == (0, {"n2": 0})
    assert purge(a, "/a?utm_a=1", Host="www.example.org") == (0, {"n2": 0})


def test_by_a_client(nodes):
    """Who may, in the form that it would ask for."""
    a, b = nodes
    hold(nodes, "/a?a=1&b=2")
    r = request(a.data, "/a?utm_id=7&b=2&a=1", method="PURGE",
                headers={"Host": "WWW.example.com"})
    assert (r.status, json.loads(r.body)) == (
        200, {"purged": 1, "peers": {"n2": 1}})
    assert not held(b, "/a?a=1&b=2")


def test_by_an_operator_and_by_a_peer(nodes):
    a, b = nodes
    form = "http://WWW.example.com./a?utm_source=x&b=1&a=2"
    hold(nodes, "/a?a=2&b=1")
    told = ctl_json(a, "purge", form.replace("WWW", "user@WWW") + "#part")
    assert (told["purged"], told["peers"]) == (1, {"n2": 1})
    hold(nodes, "/a?a=2&b=1")
    token = ctl(a, "token")[1].strip()
    for uri, count in ((form, 1), (form, 0)):
        r = request(a.peer, uri, method="PURGE", headers={
            "Proxy-Authorization": f"Bearer {token}"})
        assert (r.status, json.loads(r.body)) == (200, {"purged": count})
    assert held(b, "/a?a=2&b=1")  # it is passed on to nobody


def test_by_tls(make_cluster, origin, tmp_path):
    """The port of https is no part of a host, of a site no more than of a
    URI."""
    ca = certificates.Authority(tmp_path)
    pem, key = ca.issue("localhost")
    c = make_cluster(1, tls_data_certificate=pem, tls_data_key=key)
    c.origin_url = origin.url
    node = c.nodes[0]
    node.lines = [SITE]
    c.start()
    origin.set("/a", fields=FRESH, body=b"x")
    client = ca.client()
    client.check_hostname = False
    for host in (HOST, HOST + ":443"):
        for source in ("origin", "hit"):
            assert request(node.data, "/a?utm_a=1&b=2", tls=client,
                           headers={"Host": host}).source == source, host
        assert origin.last().target == "/a?b=2"
        r = request(node.admin, "/a?b=2&gclid=1", method="PURGE")
        assert json.loads(r.body) == {"purged": 1}
    assert node.status()["store"]["objects"] == 0


def test_all_variants(nodes, origin):
    """Fields and cookies are no part of a key: they tell its variants apart."""
    a, b = nodes
    origin.set("/a", fields={**FRESH, "Vary": "Accept-Encoding, Cookie"},
               body=b"x")
    kinds = [{"Accept-Encoding": e, "Cookie": c}
             for e in ("gzip", "br", "identity")
             for c in ("lang=de; id=1", "lang=en; id=2")]
    for kind in kinds:
        for node in nodes:
            node.get("/a?a=1&b=2", headers=kind)
            assert node.get("/a?b=2&a=1", headers=kind).source == "hit"
    assert purge(b, "http://www.example.com/a?b=2&utm_a=1&a=1") \
        == (6, {"n1": 6})
    for kind in kinds:
        assert not held(a, "/a?a=1&b=2")
        assert a.get("/a?a=1&b=2", headers=kind).source == "origin"


def test_unsafe_methods(nodes, origin):
    """The target, and what the answer names, in forms of their own."""
    origin.set("/moves", fields={"Location": "/a?b=2&utm_x&a=1"})
    origin.set("/names", fields={
        "Content-Location": "HTTP://WWW.example.com:80/a?gclid=1&b=2&a=1#x"})
    for target in ("/a?utm_source=x&b=2&a=1", "/moves", "/names"):
        for method in ("POST", "PUT", "DELETE"):
            hold(nodes, "/a?a=1&b=2", "/a")
            assert nodes[0].get(target, method=method).status == 200
            for node in nodes:
                assert not held(node, "/a?a=1&b=2"), (target, method)
                assert held(node, "/a")


def test_prefix(nodes):
    """Of URIs as they are stored: sorted, without what is dropped."""
    a, _ = nodes
    stored = {"/a", "/a?a=1&b=2", "/a?b=2"}
    for prefix, gone in (("/a", stored), ("/a?", {"/a?a=1&b=2", "/a?b=2"}),
                         ("/a?b=2", {"/a?b=2"}), ("/a?a=1", {"/a?a=1&b=2"}),
                         ("/a?b=2&a=1", set()), ("/a?utm_", set())):
        hold(nodes, *stored)
        n = len(gone)
        assert purge(a, "/", Purge_Prefix=f"HTTP://{HOST}:80{prefix}") \
            == (n, {"n2": n}), prefix
        assert {s for s in stored if not held(a, s)} == gone, prefix


def test_other_rules(nodes):
    """Those that are in force when it is purged count, at either door."""
    a, b = nodes
    hold(nodes, "/a?a=1&b=2")
    token = ctl(a, "token")[1].strip()
    for node in nodes:
        node.lines = [SITE.replace("gclid", "fbclid")]
        node.write()
        node.process.signal(signal.SIGHUP)
        until(lambda: "reload: done" in node.process.logged())
    form = "http://www.example.com/a?b=2&fbclid=1&a=1"
    assert purge(a, "http://www.example.com/a?b=2&gclid=1&a=1") \
        == (0, {"n2": 0})
    assert purge(a, form) == (1, {"n2": 1})
    hold(nodes, "/a?a=1&b=2")
    r = request(b.peer, form, method="PURGE", headers={
        "Proxy-Authorization": f"Bearer {token}"})
    assert json.loads(r.body) == {"purged": 1}

"""The front door: what clients may say of themselves."""

from cluster import request
from test_tls import MAXAGE

CLAIMS = {
    "X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https",
    "X-Forwarded-For": "192.0.2.7", "X-Forwarded": "a", "Forwarded":
    "host=evil.example;proto=https", "X-Original-URL": "/evil",
    "X-Rewrite-URL": "/evil", "X_Forwarded_Host": "evil.example",
    "x-forwarded-port": "1", "X-Real-IP": "192.0.2.7",
    "X-HOST": "evil.example",
}


def behind(make_cluster, origin, **options):
    c = make_cluster(1, **options)
    c.origin_url = origin.url
    return c.start().nodes[0]


def test_clients_do_not_choose_what_others_get(make_cluster, origin):
    """An origin that redirects to https, and makes links of what it is told."""
    node = behind(make_cluster, origin)
    origin.set("/", fields=MAXAGE, body=b"x")
    node.get("/", headers=dict(CLAIMS, X_Other="stays"))
    seen = origin.last()
    assert [n for n, _ in seen.fields
            if n.lower().replace("_", "-").startswith(("x-", "f"))] \
        == ["X_Other", "X-Forwarded-For"]
    assert seen.get("X-Forwarded-For") == "127.0.0.1"


def test_claims_do_not_select_variants(make_cluster, origin):
    node = behind(make_cluster, origin)
    origin.set("/", fields=dict(MAXAGE, Vary="X-Forwarded-Proto"), body=b"x")
    for scheme in ("https", "gopher", "http"):
        node.get("/", headers={"X-Forwarded-Proto": scheme})
    assert origin.count("/") == 1


def test_the_scheme_is_in_the_key(make_cluster, origin):
    """That of a trusted proxy, as X-Forwarded-Proto or as Forwarded."""
    node = behind(make_cluster, origin, trusted_proxies="10.0.0.0/8 127.0.0.1",
                  forwarded="x-forwarded")
    origin.set("/", fields=MAXAGE, body=b"x")
    for fields, scheme, count in (
            ({"X-Forwarded-Proto": "http"}, "http", 1),
            ({}, "http", 1),
            ({"X-Forwarded-Proto": "gopher"}, "http", 1),
            ({"X-Forwarded-Proto": "HTTPS"}, "https", 2),
            ({"X-Forwarded-Proto": "http, https"}, "https", 2),
            ({"Forwarded": "for=a;proto=http, for=b; Proto=\"https\""},
             "https", 2)):
        r = node.get("/", headers=fields)
        assert (r.status, origin.count("/")) == (200, count), fields
        assert origin.last().get("X-Forwarded-Proto") == scheme


def test_a_purge_is_for_both_schemes(make_cluster, origin):
    node = behind(make_cluster, origin, trusted_proxies="127.0.0.1")
    origin.set("/a", fields=MAXAGE, body=b"x")

    def fill():
        for scheme in ("http", "https"):
            node.get("/a", headers={"X-Forwarded-Proto": scheme})
    for headers in ({}, {"Purge-Prefix": "http://www.example.com/"},
                    {"Purge-Prefix": "https://www.example.com/a"}):
        fill()
        r = request(node.admin, "/a", method="PURGE", headers=headers)
        assert b'"purged": 2' in r.body, (headers, r.body)

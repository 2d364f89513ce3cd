"""Sites and their rules, each setting against a real node."""

import json
import pathlib
import re
import subprocess
import threading
import time

import pytest

import servers
from cluster import DIGESTD, until
from control import ctl, ctl_json, with_sockets

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "docs" / "examples"


@pytest.fixture
def site(make_cluster, origin):
    """A node with one site of everything, whose rules are these."""
    def make(rules, names='"*"', **options):
        c = make_cluster(1, **options)
        c.origin_url = origin.url
        c.nodes[0].lines = [f"site {names} {{\n{rules}\n}}"]
        return c.start().nodes[0]
    return make


def twice(node, path, **args):
    """The sources of two requests for a page."""
    return [node.get(path, **args).source for _ in range(2)]


def test_lifetimes(site, origin):
    node = site('fresh_default = 1h\nrule "/least/*" { fresh_least = 1h }\n'
                'rule "/most/**" { fresh_most = 0s }\n'
                "rule status 404 { fresh_default = 1h }\n"
                'rule type "video/*" { fresh_most = 0s }')
    for path, fields in (("/none", {}),
                         ("/least/a", {"Cache-Control": "max-age=0"}),
                         ("/least/a/b", {"Cache-Control": "max-age=60"}),
                         ("/video", {"Content-Type": "Video/MP4; a=b"})):
        origin.set(path, fields=fields, body=b"x")
    for path in ("/most/a/b", "/least/c/d"):
        origin.set(path, fields={"Cache-Control": "max-age=60",
                                 "ETag": '"1"'}, body=b"x")
    origin.set("/film", fields={"Content-Type": "video/mp4"}, body=b"x")
    origin.set("/error", status=500, fields={}, body=b"x")
    origin.set("/absent", status=404, fields={}, body=b"x")
    for path in ("/none", "/least/a", "/least/a/b", "/least/c/d", "/absent"):
        assert twice(node, path) == ["origin", "hit"], path
    for path in ("/most/a/b", "/film", "/error"):
        assert "hit" not in twice(node, path), path


def test_lifetimes_without_a_rule_of_the_status(site, origin):
    node = site("fresh_default = 1h\nfresh_least = 1h")
    for path, status in (("/gone", 404), ("/moved", 302), ("/error", 503)):
        origin.set(path, status=status, fields={}, body=b"x")
        assert "hit" not in twice(node, path), path


def test_the_last_rule_wins(site, origin):
    node = site('rule "/**" { pass = true\nset_cookie = allow }\n'
                'rule "/a/**" { pass = false }\n')
    fields = {"Cache-Control": "max-age=60", "Set-Cookie": "a=b"}
    for path in ("/a/b", "/b/a"):
        origin.set(path, fields=fields, body=b"x")
    assert twice(node, "/a/b") == ["origin", "hit"]
    assert node.get("/a/b").get("Set-Cookie") == "a=b"
    assert "hit" not in twice(node, "/b/a")
    assert origin.count("/b/a") == 2


def test_names(site, origin):
    """The exact name, the longest suffix, the star; each with its origin."""
    fields = {"Cache-Control": "max-age=60"}
    with_name = ('field_set = "X-Site: exact"\n}\n'
                 'site "*.example.org" { field_set = "X-Site: suffix" }\n'
                 'site "*.b.example.org" { field_set = "X-Site: longest" }\n'
                 'site "*" { field_set = "X-Site: star"')
    node = site(with_name, '"www.Example.ORG:80" "other.example"')
    origin.set("/", fields=fields, body=b"x")
    for host, name in (("www.example.org", "exact"),
                       ("other.example", "exact"),
                       ("a.example.org", "suffix"),
                       ("www.a.example.org", "suffix"),
                       ("a.b.example.org", "longest"),
                       ("b.example.org", "suffix"),
                       ("example.org", "star"),
                       ("xexample.org", "star")):
        assert node.get("/", host=host).get("X-Site") == name, host


def test_origin_of_a_site(make_cluster, origin, serve):
    other = serve(lambda request, _: servers.response(200, body=b"other"))
    c = make_cluster(1)
    c.origin_url = origin.url
    c.nodes[0].lines = ['site "www.example.org" "*.other" {\n'
                        f'\torigin "a" {{ url = "http://127.0.0.1:{other.port}"'
                        " }\n}"]
    node = c.start().nodes[0]
    origin.set("/", body=b"default")
    for host, body in (("www.example.org", b"other"), ("a.other", b"other"),
                       ("example.org", b"default")):
        assert node.get("/", host=host).body == body


def test_several_origins_of_a_site(make_cluster, origin, serve):
    """Nobody listens at the first; requests go on to the other one."""
    other = serve(lambda request, _: servers.response(200, body=b"other"))
    c = make_cluster(1)
    c.origin_url = origin.url
    c.nodes[0].lines = ['site "www.example.org" {\n\torigin "both" { url = '
                        f'"http://127.0.0.1:9", "http://127.0.0.1:{other.port}"'
                        " }\n}"]
    node = c.start().nodes[0]
    # which of the two is asked first is random
    for i in range(100):
        r = node.get(f"/{i}", host="www.example.org")
        assert (r.status, r.body) == (200, b"other")
        if node.counters()["origin_retries"] > 0:
            return
    raise AssertionError("the origin that does not listen was never asked")


def test_key(site, origin):
    node = site('key { drop = "utm_*", "gclid"\nsort = true }\n'
                'rule "/keep" { key { keep = "id" } }\n'
                'rule "/pass" { pass = true }')
    for path in ("/a", "/keep"):
        origin.set(path, fields={"Cache-Control": "max-age=60"}, body=b"x")
    for query in ("b=2&utm_source=x&a=1&b=1", "a=1&b=2&b=1",
                  "gclid=1&b=2&b=1&a=1&utm_=2"):
        assert node.get(f"/a?{query}").body == b"x", query
    for query in ("x=1&id=7&y", "id=7", "utm_a=1&id=7"):
        assert node.get(f"/keep?{query}").body == b"x", query
    assert [r.target for r in origin.requests] == ["/a?a=1&b=2&b=1",
                                                   "/keep?id=7"]
    # what may change something goes on as it came
    node.get("/a?utm_source=x&a=1", method="POST", body=b"x")
    assert origin.last().target == "/a?utm_source=x&a=1"
    node.get("/pass?utm_source=x&a=1")
    assert origin.last().target == "/pass?utm_source=x&a=1"


def test_clients_that_differ_in_nothing_that_counts(site, origin):
    node = site('key { encodings = true\ncookies = "lang" }\n'
                'rule "/none" { key { cookies = "" } }')
    for path in ("/a", "/none"):
        origin.set(path, fields={"Cache-Control": "max-age=60",
                                 "Vary": "Accept-Encoding, Cookie"}, body=b"x")
    for accepted, cookies in (("gzip, deflate, br, zstd", "id=1; lang=de"),
                              ("br;q=1.0, gzip;q=0.8", "lang=de; x=y"),
                              ("gzip,br", "lang=de")):
        node.get("/a", headers={"Accept-Encoding": accepted,
                                "Cookie": cookies})
    assert origin.count("/a") == 1
    assert origin.last().get("Accept-Encoding") == "br, gzip"
    assert origin.last().get("Cookie") == "lang=de"
    node.get("/a", headers={"Accept-Encoding": "br", "Cookie": "lang=en"})
    assert origin.count("/a") == 2
    for cookies in ("id=1", "id=2; lang=de"):
        node.get("/none", headers={"Cookie": cookies})
    assert origin.count("/none") == 1
    assert origin.last().get("Cookie") is None


def test_changes_reach_what_is_stored(site, origin):
    """However the URI was spelt."""
    node = site('key { drop = "utm_*"\nsort = true }')
    origin.set("/a", fields={"Cache-Control": "max-age=60"}, body=b"x")
    origin.set("/b", fields={"Location": "/a?b=2&utm_x&a=1"})
    for path in ("/a?utm_source=x&b=2&a=1", "/b"):
        assert twice(node, "/a?a=1&b=2") == ["origin", "hit"], path
        node.get(path, method="POST", body=b"x")
    assert node.get("/a?a=1&b=2").source == "origin"


def test_an_answer_to_a_post(site, origin):
    """It is stored where a GET for the same URI finds it, or not at all."""
    node = site('key { drop = "utm_*" }\nrule "/pass" { pass = true }')
    for target, objects in (("/a?utm_x=1&b=2", 0), ("/pass", 0), ("/a?b=2", 1)):
        origin.set(target.split("?")[0], body=b"x", fields={
            "Cache-Control": "max-age=60", "Content-Location": target})
        assert node.get(target, method="POST", body=b"x").status == 200
        assert node.status()["store"]["objects"] == objects, target
    assert node.get("/a?utm_y=2&b=2").source == "hit"


def test_stale_while_the_origin_is_down(site, origin):
    """What was ever fresh is served, with s-maxage too."""
    node = site('stale_on_error = 1d\nrule "/short" { stale_on_error = 0s }',
                stale_on_disconnect="1s")
    for path, value in (("/a", "s-maxage=1"), ("/short", "max-age=1"),
                        ("/must", "max-age=1, must-revalidate")):
        origin.set(path, fields={"Cache-Control": value}, body=b"old")
        node.get(path)
    origin.close()
    time.sleep(2.1)
    assert node.get("/a").body == b"old"
    assert node.get("/short").status == node.get("/must").status == 502


def test_stale_while_revalidate(site, origin):
    node = site("stale_while_revalidate = 1h")
    origin.set("/a", fields={"Cache-Control": "max-age=1", "ETag": '"1"'},
               body=b"old")
    node.get("/a")
    time.sleep(1.1)
    origin.set("/a", fields={"Cache-Control": "max-age=60"}, body=b"new")
    assert node.get("/a").body == b"old"
    until(lambda: node.get("/a").body == b"new")


def reload_for(node, path, seconds, headers):
    """Some clients that hold down the key; how many answers they got."""
    got, end = [], time.monotonic() + seconds

    def hold():
        while time.monotonic() < end:
            got.append(node.get(path, headers=headers).status)
    threads = [threading.Thread(target=hold) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert set(got) == {200}
    return len(got)


@pytest.mark.parametrize("headers", ({"Cache-Control": "no-cache"},
                                     {"Cache-Control": "max-age=0"},
                                     {"Pragma": "no-cache"}))
def test_clients_that_reload(site, origin, headers):
    """Cost the origin one validation a second; or none, or all."""
    node = site('rule "/ignore" { client_no_cache = ignore }\n'
                'rule "/obey" { client_no_cache = obey }\n'
                'rule "/validate" { client_no_cache = validate }')
    fields = {"Cache-Control": "max-age=60", "ETag": '"1"'}
    for path in ("/a", "/ignore", "/obey", "/validate"):
        origin.set(path, fields=fields, body=b"x")
        node.get(path)
    before = origin.count("/a")
    assert reload_for(node, "/a", 1.5, headers) > 20
    assert 1 <= origin.count("/a") - before <= 3
    for path, least, most in (("/ignore", 1, 1), ("/obey", 11, 11),
                              ("/validate", 2, 4)):
        for _ in range(10):
            node.get(path, headers=headers)
        assert least <= origin.count(path) <= most, path


def test_a_validation_brings_what_is_new(site, origin):
    node = site("fresh_least = 1h")
    origin.set("/a", fields={}, body=b"old")
    node.get("/a")
    origin.set("/a", fields={}, body=b"new")
    assert node.get("/a").body == b"old"
    r = node.get("/a", headers={"Cache-Control": "no-cache"})
    assert (r.body, r.source) == (b"new", "origin")
    assert node.get("/a").body == b"new"


def test_set_cookie(site, origin):
    node = site("set_cookie = strip\n"
                'rule type "text/*" { set_cookie = allow }')
    fields = {"Cache-Control": "max-age=60", "Set-Cookie": "a=b"}
    origin.set("/a", fields={**fields, "Content-Type": "text/html"}, body=b"x")
    origin.set("/i", fields={**fields, "Content-Type": "image/png"}, body=b"x")
    assert twice(node, "/a") == twice(node, "/i") == ["origin", "hit"]
    assert node.get("/a").get("Set-Cookie") == "a=b"
    assert node.get("/i").get("Set-Cookie") is None


def test_max_object_size(site, origin):
    node = site("max_object_size = 1K\n"
                'rule type "video/*" { max_object_size = 8K }\n'
                'rule "/none/**" { max_object_size = 1 }', slice_size="0")
    fields = {"Cache-Control": "max-age=60"}
    origin.set("/a", fields=fields, body=b"x" * 1024)
    origin.set("/b", fields=fields, body=b"x" * 1025)
    origin.set("/none/a", fields=fields, body=b"xx")
    origin.set("/v", fields={**fields, "Content-Type": "video/mp4"},
               body=b"x" * 8000)
    for path in ("/a", "/v"):
        assert twice(node, path) == ["origin", "hit"], path
    for path in ("/b", "/none/a"):
        assert "hit" not in twice(node, path), path


def test_fields(site, origin):
    """Also on a hit, and after the origin has confirmed the object."""
    node = site('field_drop = "X-Powered-By", "Cache-Control"\n'
                'field_set = "Server: none", "X-Frame-Options: DENY"\n'
                'rule type "text/*" { field_set = "X-Text: yes" }\n'
                'rule "/short" { fresh_default = 1s }\nfresh_default = 1h')
    fields = {"Cache-Control": "max-age=1", "X-Powered-By": "x",
              "Server": "apache", "ETag": '"1"'}
    origin.set("/a", fields=fields, body=b"x")
    origin.set("/short", fields=fields, body=b"x")
    origin.set("/t", fields={**fields, "Content-Type": "text/html"}, body=b"x")
    for _ in range(2):
        r = node.get("/a")
        assert (r.get("Server"), r.get("X-Frame-Options")) == ("none", "DENY")
        assert r.get("X-Powered-By") is r.get("Cache-Control") is None
        assert node.get("/t").get("X-Text") == "yes"
    assert r.source == "hit"
    node.get("/short")
    time.sleep(1.1)
    r = node.get("/short")
    assert (r.source, r.get("Server")) == ("origin", "none")
    assert r.get("X-Powered-By") is None


def test_peers_have_the_same_key(make_cluster, origin):
    """What one node has is found by the other, however it is asked for."""
    c = make_cluster(2)
    c.origin_url = origin.url
    for n in c.nodes:
        n.lines = ['site "*" { key { drop = "utm_*" }\nfresh_least = 1h }']
    c.start()
    c.wait_settled()
    origin.set("/a", fields={}, body=b"x")
    c.nodes[0].get("/a?utm_source=a&id=1")
    until(lambda: c.nodes[1].knows(c.nodes[0]))
    assert c.nodes[1].get("/a?id=1&utm_source=b").body == b"x"
    assert origin.count() == 1


def test_ranges_fill_the_store(site, origin):
    """A range of a large object is stored in slices."""
    node = site("fresh_default = 1h", slice_size="64K", cache_size="64M")
    body = bytes(range(256)) * 1024

    def ranged(request, _):
        found = re.match(r"bytes=(\d+)-(\d+)$", request.get("Range", ""))
        fields = {"ETag": '"1"', "Accept-Ranges": "bytes"}
        if not found:
            return servers.response(200, fields, body)
        first, last = int(found[1]), min(int(found[2]), len(body) - 1)
        fields["Content-Range"] = f"bytes {first}-{last}/{len(body)}"
        return servers.response(206, fields, body[first:last + 1])

    origin.pages["/a"] = ranged
    for first in (100, 200):
        r = node.get("/a", headers={"Range": f"bytes={first}-{first + 9}"})
        assert (r.status, r.body) == (206, body[first:first + 10])
    assert origin.count() == 1 and r.source == "hit"


def test_reload_of_rules(site, origin):
    node = site("pass = true")
    origin.set("/a", fields={"Cache-Control": "max-age=60"}, body=b"x")
    assert "hit" not in twice(node, "/a")
    node.lines = ['site "*" { pass = false }']
    node.write()
    node.process.signal(1)
    until(lambda: "reload: done" in node.process.logged())
    assert twice(node, "/a") == ["origin", "hit"]


# What is told without a node

def explain(url):
    """What is printed for the example."""
    return subprocess.run([DIGESTD, "-t", "-c", str(EXAMPLES / "sites.conf"),
                           "--explain", url], stdout=subprocess.PIPE,
                          check=True, universal_newlines=True).stdout


def test_explain_an_example():
    text = explain("http://WWW.example.com/static/a?b=1&utm_x=2&a=3")

    path = EXAMPLES / "sites.conf"
    lines = path.read_text().splitlines()

    def says(name, value, begins=None):
        number = next((n for n, line in enumerate(lines, 1)
                       if begins and line.strip().startswith(begins)), 0)
        where = f"{path}:{number}" if number else "default"
        assert re.search(rf"^{name} +{re.escape(value)} +{re.escape(where)}$",
                         text, re.M), (name, text)
    says("site", "www.example.com", 'site "www')
    says("origin", "http://192.0.2.10:80", 'site "www')
    says("fresh_least", "1d", "fresh_least")
    says("client_no_cache", "ignore", "client_no_cache = ignore")
    says("stale_on_error", "7d", "stale_on_error")
    says("set_cookie", "refuse")
    says("key drop", "utm_*, gclid, fbclid", "drop")
    assert re.search(r"^key +http://www.example.com/static/a\?a=3&b=1$", text,
                     re.M)
    assert re.search(r"^status 404: fresh_default +10s ", text, re.M)
    text = explain("http://elsewhere.example/")
    says("site", "*", 'site "*"')
    says("fresh_most", "1h", "fresh_most")
    says("client_no_cache", "validate")


def test_explain_at_a_running_node(make_cluster, origin):
    """What digestd -t --explain says, of the URI that is looked up."""
    c = with_sockets(make_cluster(1))
    c.origin_url = origin.url
    node = c.nodes[0]
    node.lines = ["""site "www.example.com" "*.example.com" {
\tfresh_default = 1h
\tkey { drop = "utm_*"
\t\tsort = true }
\trule "/a/**" { fresh_least = 2h }
\trule "/a/pass" { pass = true }
\trule status 404 { fresh_default = 5m }
}"""]
    c.start()
    lines = pathlib.Path(node.path).read_text().splitlines()

    def at(begins):
        number = next(n for n, line in enumerate(lines, 1)
                      if line.strip().startswith(begins))
        return f"{node.path}:{number}"
    origin.set("/a/b", fields={"Vary": "Accept"}, body=b"x")
    for accept in ("a/b", "a/c"):
        node.get("/a/b?b=2&a=1", headers={"Accept": accept})
    url = "http://WWW.example.com:80/a/b?b=2&utm_a=1&a=1"
    code, text, _ = ctl(node, "explain", url)
    assert code == 0 and text.startswith(
        "url      http://www.example.com/a/b?b=2&utm_a=1&a=1\n"
        "key      http://www.example.com/a/b?a=1&b=2\n"
        f"site     www.example.com ({at('site')})\n"
        f"origin   {origin.url} (default_origin)\n"
        f"rules    fresh_default = 1h ({at('fresh_default')})\n"
        f"         fresh_least = 2h ({at('rule')}, rule /a/**)\n"
        f"         key drop = utm_* ({at('key')})\n"
        f"         key sort = true ({at('sort')})\n"
        f"         status 404: fresh_default = 5m ({at('rule status')})\n"
        "here     2 variants in memory, 0 on disk\n"
        "here     in memory: 200, 1 bytes, from the origin, "), text
    e = ctl_json(node, "explain", url)["explain"]
    assert e["key"] == "http://www.example.com/a/b?a=1&b=2"
    assert e["site"] == {"name": "www.example.com", "from": at("site")}
    assert e["origin"] == {"url": origin.url, "from": "default_origin"}
    assert {v["by"] for v in e["stored"]["variants"]} \
        == {"fresh_default of its site"}
    assert e["answers"] == [{"name": "fresh_default", "value": "5m",
                             "from": at("rule status"), "rule": "status 404"}]
    found = {s["name"]: s for s in e["settings"]}
    assert found["fresh_least"] == {
        "name": "fresh_least", "value": "2h", "from": at("rule"),
        "rule": "/a/**"}
    assert found["set_cookie"] == {"name": "set_cookie", "value": "refuse",
                                   "from": None, "rule": None}
    # settings, values and lines are those of the other program
    printed = subprocess.run([DIGESTD, "-t", "-c", node.path, "--explain", url],
                             stdout=subprocess.PIPE, check=True, text=True)
    for s in e["settings"]:
        assert re.search(rf"^{s['name']} +{re.escape(s['value'] or '-')} +"
                         rf"{re.escape(s['from'] or 'default')}$",
                         printed.stdout, re.M), s
    text = ctl(node, "explain", "http://www.example.com/a/pass")[1]
    where = at('rule "/a/pass')
    assert f"pass = true ({where}, rule /a/pass)" in text
    assert "\nkey      none: requests pass\n" in text
    text = ctl(node, "explain", "http://www.example.org/a?utm_a=1")[1]
    assert "\nkey      http://www.example.org/a?utm_a=1\n" \
        "site     no site: the general options count\n" \
        f"origin   {origin.url} (default_origin)\nhere " in text


def test_explain_without_a_site(make_cluster, origin):
    """And where an origin has a setting of its own."""
    c = with_sockets(make_cluster(1))
    node = c.nodes[0]
    node.lines = [f'origin "www.example.com" {{ url = "{origin.url}"\n'
                  '\tset_cookie = strip }']
    c.start()
    where = f"{node.path}:" + str(next(
        n for n, line in enumerate(open(node.path, encoding="utf-8"), 1)
        if line.startswith("origin")))
    text = ctl(node, "explain", "http://www.example.com/a")[1]
    assert f"\norigin   {origin.url} ({where})\n" \
        f"rules    set_cookie = strip ({where})\nhere " in text
    text = ctl(node, "explain", "http://other.example/a")[1]
    assert "\norigin   none: it is refused with 421\nhere " in text
    e = ctl(node, "explain", "http://other.example/a", "--json")[1]
    e = json.loads(e)["explain"]
    assert (e["site"], e["origin"]["url"]) == (None, None)


def test_explain_wants_a_url(node):
    for url in ("/a", "ftp://h/", "www.example.com"):
        done = subprocess.run([DIGESTD, "-t", "-c", node.path,
                               "--explain", url], stderr=subprocess.PIPE,
                              check=False, universal_newlines=True)
        assert done.returncode == 1
        assert f'"{url}" is not a URL' in done.stderr

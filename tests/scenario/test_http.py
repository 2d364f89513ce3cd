"""One node and its origin: what a shared cache owes to both sides."""

import re
import signal
import socket
import threading
import time

import cluster as scd
import servers
from cluster import request, until


def fresh(body=b"body", **fields):
    fields = {k.replace("_", "-"): v for k, v in fields.items()}
    return {"fields": {"Cache-Control": "max-age=60", **fields}, "body": body}


def test_miss_then_hit(node, origin):
    origin.set("/a", **fresh(b"hello", ETag='"1"'))
    first, second = node.get("/a"), node.get("/a")
    assert (first.status, first.body, first.source) == (200, b"hello", "origin")
    assert (second.status, second.body, second.source) == (200, b"hello", "hit")
    assert second.get("Age") is not None
    assert origin.count() == 1


def test_query_and_path_tell_objects_apart(node, origin):
    origin.set("/a", **fresh(b"a"))
    origin.set("/A", **fresh(b"A"))
    assert node.get("/a").body == b"a"
    assert node.get("/A").body == b"A"
    assert node.get("/a?x").source == "origin"
    assert node.get("/a?x").source == "hit"


def test_head_is_answered_from_the_store(node, origin):
    origin.set("/a", **fresh(b"hello"))
    node.get("/a")
    r = node.get("/a", method="HEAD")
    assert (r.status, r.body, r.get("Content-Length")) == (200, b"", "5")
    assert r.source == "hit" and origin.count() == 1


def test_head_that_differs_invalidates(node, origin):
    """A 200 to HEAD in place of a 304 (RFC 9111, 4.3.5)."""
    for body in (b"old", b"newer"):
        origin.set("/a", **fresh(body, ETag=f'"{len(body)}"'))
        r = node.get("/a", method="HEAD",
                     headers={"Cache-Control": "no-cache"})
        assert r.get("Content-Length") == str(len(body))
        assert node.get("/a").body == body
        assert node.get("/a").source == "hit"


def test_head_that_is_the_same_leaves_it(node, origin):
    """Of an origin that does not look at conditions of HEAD."""
    origin.set("/a", **fresh(b"hello", ETag='"1"'))
    node.get("/a")
    r = node.get("/a", method="HEAD", headers={"Cache-Control": "no-cache"})
    assert r.status == 200 and origin.count() == 2
    assert node.get("/a").source == "hit" and origin.count() == 2


def test_hits_in_a_row_differ_where_they_must(node, origin):
    """The third one and on are answered with what the second has left."""
    origin.set("/a", **fresh(b"hello", ETag='"1"', Vary="X-V"))
    node.get("/a")
    end, ages = time.monotonic() + 2.5, set()
    while time.monotonic() < end:
        r = node.get("/a")
        assert (r.status, r.body, r.source) == (200, b"hello", "hit")
        ttl = int(r.get("Cache-Status").split("ttl=")[1].split(";")[0])
        assert ttl + int(r.get("Age")) == 60
        ages.add(int(r.get("Age")))
        for fields, status, body in (({"If-None-Match": '"1"'}, 304, b""),
                                     ({"if-none-match": '"2"'}, 200, b"hello"),
                                     ({"range": "bytes=1-2"}, 206, b"el"),
                                     ({"Range": "bytes=9-"}, 416, None)):
            r = node.get("/a", headers=fields)
            assert r.status == status and body in (None, r.body)
        r = node.get("/a", method="HEAD")
        assert (r.body, r.get("Content-Length")) == (b"", "5")
    assert len(ages) >= 2 and origin.count() == 1
    assert node.get("/a", headers={"X-V": "1"}).source == "origin"


def test_hits_in_a_row_end_with_the_object(node, origin):
    for i in range(20):
        origin.set("/a", **fresh(b"%d" % i))
        origin.set("/b", **fresh(b"b", Cache_Control="max-age=1"))
        assert node.get("/a").source == "origin"
        for _ in range(4):
            r = node.get("/a")
            assert (r.source, r.body) == ("hit", b"%d" % i)
        assert node.get("/a", method="DELETE").status < 500
    node.get("/b")
    until(lambda: node.get("/b").source == "origin")


def test_large_hits_in_a_row(node, origin):
    """After some the body is sent from a file."""
    body = bytes(range(251)) * 400
    origin.set("/a", **fresh(body))
    node.get("/a")
    for _ in range(12):
        r = node.get("/a")
        assert (r.status, r.body, r.source) == (200, body, "hit")
    r = node.get("/a", method="HEAD")
    assert (r.body, r.get("Content-Length")) == (b"", str(len(body)))
    r = node.get("/a", headers={"Range": "bytes=300-399"})
    assert (r.status, r.body) == (206, body[300:400])


def test_conditional_request_gets_304(node, origin):
    origin.set("/a", **fresh(b"x", ETag='"v1"'))
    node.get("/a")
    r = node.get("/a", headers={"If-None-Match": '"v0", W/"v1"'})
    assert (r.status, r.body, r.get("ETag")) == (304, b"", '"v1"')
    assert origin.count() == 1
    assert node.get("/a", headers={"If-None-Match": '"v2"'}).status == 200


def test_stale_is_revalidated(node, origin):
    def page(request, _):
        if request.get("If-None-Match") == '"1"':
            return servers.response(304, {"ETag": '"1"',
                                          "Cache-Control": "max-age=60"})
        return servers.response(200, {"ETag": '"1"',
                                      "Cache-Control": "max-age=0"}, b"x")
    origin.pages["/a"] = page
    node.get("/a")
    r = node.get("/a")
    assert (r.status, r.body) == (200, b"x")
    assert "fwd=stale" in r.get("Cache-Status")
    assert origin.count() == 2
    assert node.get("/a").source == "hit"  # the 304 made it fresh again
    assert node.counters()["revalidated"] == 1


def test_what_must_not_be_stored_is_not(node, origin):
    for path, fields in (("/ns", {"Cache-Control": "no-store, max-age=60"}),
                         ("/pr", {"Cache-Control": "private, max-age=60"}),
                         ("/va", {"Cache-Control": "max-age=60", "Vary": "*"}),
                         ("/no", {})):
        origin.set(path, fields=fields, body=b"x")
        assert node.get(path).source == "origin"
        assert node.get(path).source == "origin"
        assert origin.count(path) == 2


def test_targeted_cache_control(node, origin):
    kept = {"Cache-Control": "no-store", "CDN-Cache-Control": "max-age=60"}
    origin.set("/kept", fields=kept, body=b"x")
    for path, name in (("/mine", node.name), ("/other", "other")):
        origin.set(path, body=b"x", fields={
            "Cache-Control": "no-store",
            "Surrogate-Control": f"max-age=60;{name}"})
    for path, source in (("/kept", "hit"), ("/mine", "hit"),
                         ("/other", "origin")):
        assert node.get(path).source == "origin"
        assert node.get(path).source == source, path
    assert node.get("/kept").get("Cache-Control") == "no-store"
    assert origin.last().get("Surrogate-Capability") == \
        f'{node.name}="Surrogate/1.0"'


def test_forward_proxy_reads_no_targeted_field(make_cluster, origin):
    c = make_cluster(1, default_origin=None, forward=True,
                     forward_private=True)
    c.nodes[0].lines = ['origin "elsewhere" { url = "http://127.0.0.1:1" }']
    node = c.start().nodes[0]
    host = f"127.0.0.1:{origin.port}"
    origin.set("/a", body=b"x", fields={"Cache-Control": "no-store",
                                        "CDN-Cache-Control": "max-age=60"})
    for _ in range(2):
        assert node.get(origin.url + "/a", host=host).source == "origin"
    assert origin.last().get("Surrogate-Capability") is None


def test_answer_to_a_post_that_is_the_page_itself(node, origin):
    for path, fields, source in (
            ("/a", {"Content-Location": "/a"}, "hit"),
            ("/b", {"Content-Location": "/a"}, "origin"),
            ("/c", {}, "origin")):
        origin.set(path, body=b"new", fields={"Cache-Control": "max-age=60",
                                              "ETag": '"1"', **fields})
        r = node.get(path, method="POST", body=b"x",
                     headers={"If-None-Match": '"1"'})
        assert (r.status, r.body) == (200, b"new")
        assert node.get(path).source == source, path


def test_304_that_forbids_to_store(node, origin):
    def page(request, _):
        fields = {"ETag": '"1"', "Cache-Control": "max-age=0"}
        if not request.get("If-None-Match"):
            return servers.response(200, fields, b"x")
        return servers.response(304, {**fields, "Cache-Control": "no-store"})
    origin.pages["/a"] = page
    node.get("/a")
    r = node.get("/a")
    assert (r.status, r.body, r.get("Cache-Control")) == (200, b"x", "no-store")
    node.get("/a")
    assert origin.last().get("If-None-Match") is None


def test_authorization_is_for_one_user(node, origin):
    origin.set("/a", **fresh(b"mine"))
    origin.set("/b", fields={"Cache-Control": "public, max-age=60"}, body=b"b")
    auth = {"Authorization": "Basic abc"}
    assert node.get("/a", headers=auth).source == "origin"
    assert node.get("/a").source == "origin"
    assert node.get("/b", headers=auth).source == "origin"
    assert node.get("/b").source == "hit"


def in_its_language(request, _):
    language = request.get("Accept-Language", "none")
    return servers.response(200, {"Cache-Control": "max-age=60",
                                  "Vary": "Accept-Language"},
                            language.encode())


def test_vary_keeps_variants(node, origin):
    origin.pages["/a"] = in_its_language
    for language in ("de", "en", "de", "en"):
        r = node.get("/a", headers={"Accept-Language": language})
        assert r.body == language.encode()
    assert node.get("/a").body == b"none"
    assert origin.count() == 3


def test_vary_does_not_fill_the_store(node, origin):
    # a client with another language each time: the default limit holds
    origin.pages["/a"] = in_its_language
    origin.set("/b", **fresh(b"kept"))
    node.get("/b")
    for i in range(100):
        node.get("/a", headers={"Accept-Language": f"x-{i}"})
    store = node.status()["store"]
    assert (store["keys"], store["objects"]) == (2, 1 + 32)
    assert store["variants_dropped"] == 100 - 32
    assert b"digestd_store_variants_dropped_total 68" in \
        request(node.admin, "/metrics").body
    asked = origin.count()
    for i in range(99, 67, -1):  # the newest are there, a hit changes nothing
        node.get("/a", headers={"Accept-Language": f"x-{i}"})
    assert node.get("/b").source == "hit"
    assert origin.count() == asked
    node.get("/a", headers={"Accept-Language": "x-67"})
    assert origin.count() == asked + 1


def test_vary_limit_is_reloaded(node, origin):
    origin.pages["/a"] = in_its_language
    for i in range(10):
        node.get("/a", headers={"Accept-Language": f"x-{i}"})
    node.options["vary_limit"] = "3"
    node.write()
    node.process.signal(signal.SIGHUP)
    until(lambda: "reload: done" in node.process.logged())
    assert node.status()["store"]["objects"] == 10
    node.get("/a", headers={"Accept-Language": "x-10"})
    assert node.status()["store"]["objects"] == 3


def test_unsafe_methods_pass_and_invalidate(node, origin):
    origin.set("/a", **fresh(b"old"))
    node.get("/a")
    seen = []

    def page(request, _):
        if request.method == "POST":
            seen.append(request.body)
            return servers.response(200, {}, b"posted")
        return servers.response(200, {"Cache-Control": "max-age=60"}, b"new")
    origin.pages["/a"] = page
    r = node.get("/a", method="POST", body=b"data" * 1000)
    assert (r.status, r.body) == (200, b"posted")
    assert seen == [b"data" * 1000]
    assert node.get("/a").body == b"new"


def test_chunked_upload_passes(node, origin):
    origin.pages["/up"] = lambda r, _: servers.response(200, {}, r.body)
    r = node.get("/up", method="PUT",
                 headers={"Transfer-Encoding": "chunked"},
                 body=b"3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n")
    assert r.body == b"abcdefg"


def test_concurrent_misses_are_fetched_once(node, origin):
    def slow(request, _):
        time.sleep(0.3)
        return servers.response(200, {"Cache-Control": "max-age=60"},
                                b"x" * 999)
    origin.pages["/a"] = slow
    bodies = []
    threads = [threading.Thread(
        target=lambda: bodies.append(node.get("/a").body)) for _ in range(20)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert bodies == [b"x" * 999] * 20
    assert origin.count() == 1


def test_truncated_body_is_never_whole(node, origin):
    def cut(request, connection):
        connection.sendall(servers.response(
            200, {"Cache-Control": "max-age=60"}, b"x" * 5000, length=9000))
    origin.pages["/a"] = cut
    for _ in range(2):
        try:
            r = node.get("/a")
            assert r.status >= 500
        except (OSError, scd.http.client.HTTPException):
            pass
    assert origin.count() >= 2
    assert node.counters()["stored"] == 0
    origin.set("/a", **fresh(b"whole"))
    assert node.get("/a").body == b"whole"


def test_body_without_a_length_is_not_stored(node, origin):
    def unframed(request, connection):
        connection.sendall(b"HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n"
                           b"Connection: close\r\n\r\nsome")
    origin.pages["/a"] = unframed
    assert node.get("/a").body == b"some"
    assert node.get("/a").body == b"some"
    assert origin.count() == 2


def test_a_small_body_that_trickles_flows(node, origin):
    """What is not stored waits for its end, but not for long."""
    seen = threading.Event()

    def trickle(request, connection):
        connection.sendall(servers.response(
            200, {"Cache-Control": "no-store"}, b"first", length=10))
        assert seen.wait(20)
        return b"after"

    origin.pages["/a"] = trickle
    with socket.create_connection(("127.0.0.1", node.data), 20) as s:
        s.sendall(b"GET /a HTTP/1.1\r\nHost: www.example.com\r\n\r\n")
        got = b""
        while not got.endswith(b"first"):
            got += s.recv(1000)
        seen.set()
        while not got.endswith(b"\r\n\r\nfirstafter"):
            got += s.recv(1000)
    origin.pages["/b"] = servers.response(200, {"Cache-Control": "no-store"},
                                          b"short", length=10)[:-2]
    origin.serve = lambda request, connection: (
        connection.sendall(origin.answer(request, connection)))
    assert node.get("/b").status == 502


def test_a_length_without_a_body(node, origin):
    """HEAD and 304: what Content-Length announces does not come."""
    origin.pages["/a"] = servers.response(
        200, {"Cache-Control": "no-store"}, b"12345")
    origin.pages["/b"] = (b"HTTP/1.1 304 X\r\nCache-Control: no-store\r\n"
                          b"Content-Length: 5\r\n\r\n")
    r = node.get("/a", method="HEAD")
    assert (r.status, r.get("Content-Length")) == (200, "5")
    r = node.get("/b", headers={"If-None-Match": '"x"',
                                "Range": "bytes=0-1"})
    assert (r.status, r.get("Content-Length")) == (304, "5")


def test_large_body_streams_with_back_pressure(make_cluster, origin):
    size = 200 << 20
    sent = []

    def large(request, connection):
        connection.sendall(b"HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n"
                           b"Content-Length: %d\r\n\r\n" % size)
        block = b"y" * 65536
        for _ in range(size // len(block)):
            connection.sendall(block)
            sent.append(len(block))
        return b""
    origin.pages["/big"] = large
    c = make_cluster(1, client_min_rate="0")
    c.origin_url = origin.url
    node = c.start().nodes[0]
    with socket.create_connection(("127.0.0.1", node.data)) as s:
        s.sendall(b"GET /big HTTP/1.1\r\nHost: www.example.com\r\n\r\n")
        time.sleep(1.5)  # a client that does not read holds the origin back
        assert sum(sent) < size / 4
        got, head = 0, s.recv(65536)
        got += len(head) - head.index(b"\r\n\r\n") - 4
        while got < size:
            data = s.recv(1 << 20)
            assert data
            got += len(data)
    assert got == size
    assert node.counters()["stored"] == 0


def test_origin_that_fails_gives_502_or_stale(node, origin):
    origin.set("/a", fields={"Cache-Control": "max-age=0, stale-if-error=60",
                             "ETag": '"1"'}, body=b"old")
    assert node.get("/a").body == b"old"
    origin.pages["/a"] = origin.pages["/b"] = servers.reset
    assert (node.get("/a").status, node.get("/a").body) == (200, b"old")
    assert node.get("/b").status == 502
    assert node.process.logged().count(
        f"origin=http://127.0.0.1:{origin.port} cause=reset count=1 ") == 1


def test_hop_by_hop_fields_end_here(node, origin):
    origin.set("/a", **fresh(b"x", Connection="X-Hop", X_Hop="1",
                             Keep_Alive="timeout=5", X_End="2"))
    r = node.get("/a", headers={"Connection": "X-Mine, close", "X-Mine": "1",
                                "Proxy-Authorization": "Basic x",
                                "X-Keep": "1"})
    seen = origin.last()
    assert seen.get("X-Mine") is None and seen.get("X-Keep") == "1"
    assert seen.get("Proxy-Authorization") is None
    assert seen.get("Host") == "www.example.com"
    assert "n1" in seen.get("Via") and seen.get("CDN-Loop") == "n1"
    assert r.get("X-Hop") is None and r.get("X-End") == "2"


def test_origins_are_told_who_asks(make_cluster, origin):
    """forwarded, and what the client says of itself: word, fields."""
    sent = {"X-Forwarded-For": "192.0.2.7", "X-Forwarded-Proto": "gopher"}
    for word, trusted, expected in (
            (None, "127.0.0.1",
             ("192.0.2.7, 127.0.0.1", "gopher", None, None)),
            (None, None, ("127.0.0.1", None, None, None)),
            ("none", "127.0.0.0/8", ("192.0.2.7", "gopher", None, None)),
            ("none", "127.0.0.2, ::1", (None, None, None, None)),
            ("x-forwarded", "127.0.0.1", ("192.0.2.7, 127.0.0.1", "http",
                                          "www.example.com", None)),
            ("x-forwarded", None, ("127.0.0.1", "http", "www.example.com",
                                   None)),
            ("forwarded", "127.0.0.1",
             ("192.0.2.7", "gopher", None,
              "for=127.0.0.1;host=www.example.com;proto=http"))):
        c = make_cluster(1, forwarded=word, trusted_proxies=trusted)
        c.origin_url = origin.url
        node = c.start().nodes[0]
        # what a client calls hop-by-hop does not take it away
        assert node.get("/a", headers=dict(
            sent, Connection="X-Forwarded-Host")).status == 404
        assert tuple(origin.last().get(name) for name in (
            "X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host",
            "Forwarded")) == expected, word


def test_forward_proxy_tells_nobody_who_asks(make_cluster, origin):
    for options, told in (({}, None), ({"forwarded": "for"}, "127.0.0.1")):
        node = make_cluster(1, forward=True, forward_private=True,
                            default_origin=None, **options).start().nodes[0]
        node.get(origin.url + "/a", host=f"127.0.0.1:{origin.port}")
        assert origin.last().get("X-Forwarded-For") == told


def test_malformed_requests_are_refused(node, origin):
    good = b"Host: www.example.com\r\n"
    shapes = {
        "no host": b"GET / HTTP/1.1\r\n\r\n",
        "two hosts": b"GET / HTTP/1.1\r\n" + good + good + b"\r\n",
        "length and coding": b"POST / HTTP/1.1\r\n" + good +
        b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "two lengths": b"POST / HTTP/1.1\r\n" + good +
        b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
        "unknown coding": b"POST / HTTP/1.1\r\n" + good +
        b"Transfer-Encoding: gzip\r\n\r\n",
        "space before colon": b"GET / HTTP/1.1\r\n" + good + b"X : y\r\n\r\n",
        "bad name": b"GET / HTTP/1.1\r\n" + good + b"X(y: z\r\n\r\n",
        "control byte": b"GET / HTTP/1.1\r\n" + good + b"X: a\x01b\r\n\r\n",
        "fragment": b"GET /a#b HTTP/1.1\r\n" + good + b"\r\n",
        "8-bit target": b"GET /\xe4 HTTP/1.1\r\n" + good + b"\r\n",
        "host is no authority": b"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
        "hosts differ": b"GET http://other/ HTTP/1.1\r\n" + good + b"\r\n",
        "connect": b"CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n",
    }
    for name, text in shapes.items():
        with socket.create_connection(("127.0.0.1", node.data), 5) as s:
            s.sendall(text)
            answer = s.recv(4096)
        assert answer[:9] == b"HTTP/1.1 " and answer[9:10] in b"45", \
            f"{name}: {answer[:60]}"
    assert origin.count() == 0


def test_what_headers_fit(node, origin):
    """Targets of 8000 bytes (RFC 9110, 4.1), cookies and replies of 4 KiB."""
    target = "/" + "a" * 7999
    cookies = {"Cookie": "; ".join(f"c{i}={'x' * 88}" for i in range(45))}
    origin.set(target, **fresh(b"far"))
    origin.set("/a", **fresh(b"near", **{f"X_{i}": "v" * 100
                                         for i in range(40)}))
    for source in ("origin", "hit"):
        r = node.get(target, headers={"User-Agent": "u" * 200})
        assert (r.status, r.body, r.source) == (200, b"far", source)
        r = node.get("/a", headers=cookies)
        assert (r.status, r.get("X-39"), r.source) == (200, "v" * 100, source)
    assert node.get("/a" * 20000).status == 414
    assert node.get("/a", headers={"X-Long": "x" * 20000}).status == 431


def test_forward_proxy_is_off_until_switched_on(make_cluster, origin):
    origin.set("/a", **fresh(b"x"))
    target = origin.url + "/a"
    host = f"127.0.0.1:{origin.port}"
    for options, status in (({}, 403), ({"forward": True}, None),
                            ({"forward": True, "forward_private": True}, 200)):
        c = make_cluster(1, default_origin=None, **options)
        c.nodes[0].lines = ['origin "elsewhere" { url = "http://127.0.0.1:1" }']
        node = c.start().nodes[0]
        r = node.get(target, host=host)
        # loopback is not a place for a forward proxy unless it is allowed
        if status:
            assert r.status == status
        else:
            assert 400 <= r.status < 600
    assert origin.count() == 1


def test_origins_by_host(make_cluster, origin, serve):
    other = serve(lambda r, _: servers.response(200, {}, b"other"))
    origin.set("/a", **fresh(b"first"))
    c = make_cluster(1, default_origin=None)
    c.nodes[0].lines = [f'origin "one.example" {{ url = "{origin.url}" }}',
                        f'origin "TWO.example:80" {{ url = "{other.url}" }}']
    node = c.start().nodes[0]
    assert node.get("/a", host="one.example").body == b"first"
    assert node.get("/a", host="Two.Example").body == b"other"
    assert node.get("/a", host="three.example").status == 421


def test_128_and_256_busy_connections_do_not_stall(node, origin):
    origin.set("/a", **fresh(b"x" * 100))
    node.get("/a")
    ask = b"GET /a HTTP/1.1\r\nHost: www.example.com\r\n\r\n"
    for count in (127, 128, 256):
        many = [socket.create_connection(("127.0.0.1", node.data))
                for _ in range(count)]
        began = time.monotonic()
        for _ in range(5):
            for s in many:
                s.sendall(ask)
            for s in many:
                data = b""
                while not data.endswith(b"x" * 100):
                    part = s.recv(4096)
                    assert part
                    data += part
        assert time.monotonic() - began < 10 * scd.SLOW
        for s in many:
            s.close()


def test_cache_status_says_what_happened(node, origin):
    """RFC 9211: hit, why and with what it was forwarded, whether stored."""
    def member(path, **args):
        value = node.get(path, **args).get("Cache-Status")
        return re.sub(r"; ttl=-?\d+", "", value.split(", ")[-1])

    def page(status=200, body=b"body", **fields):
        return servers.response(status, {k.replace("_", "-"): v
                                for k, v in fields.items()}, body)

    fresh, stale = {"Cache_Control": "max-age=60"}, \
        {"Cache_Control": "max-age=0, stale-if-error=60", "ETag": '"a"'}
    miss = "n1; fwd=uri-miss; fwd-status="
    for label, pages, expected in (
            ("fresh", [page(**fresh)], [miss + "200; stored", "n1; hit"]),
            ("not stored", [page(Cache_Control="no-store")] * 2,
             [miss + "200"] * 2),
            ("error", [page(404, **fresh)], [miss + "404; stored", "n1; hit"]),
            ("confirmed", [page(**stale), page(304, ETag='"a"')],
             [miss + "200; stored",
              "n1; fwd=stale; fwd-status=304; stored"]),
            ("changed", [page(**stale), page(body=b"new", **stale)],
             [miss + "200; stored", "n1; fwd=stale; fwd-status=200; stored"]),
            ("now private", [page(**stale), page(Cache_Control="private")],
             [miss + "200; stored", "n1; fwd=stale; fwd-status=200"]),
            ("confirmed, not to be kept",
             [page(**stale), page(304, Cache_Control="no-store")],
             [miss + "200; stored", "n1; fwd=stale; fwd-status=304"]),
            ("failing", [page(**stale), page(503)],
             [miss + "200; stored", "n1; fwd=stale; fwd-status=503"]),
            ("hanging up", [page(**stale), None],
             [miss + "200; stored", "n1; fwd=stale"]),
            ("hanging up at first", [None],
             ['n1; fwd=uri-miss; detail="origin"'])):
        left = list(pages)
        # one that hangs up may be asked again
        origin.pages["/a"] = lambda _, __: left.pop(0) if left else None
        path = "/a?" + label.replace(" ", "+")
        assert [member(path) for _ in expected] == expected, label
        assert not left, label
    origin.set("/a", body=b"x")
    assert member("/a", method="POST", body=b"x") == \
        "n1; fwd=method; fwd-status=200"
    assert member("/a", headers={"Via": "1.1 n1"}) == 'n1; detail="loop"'
    assert member("/b", headers={"Cache-Control": "only-if-cached"}) == \
        'n1; fwd=uri-miss; detail="only-if-cached"'

"""Parts of stored objects, and of those that are not."""

import servers

BODY = b"0123456789"
FRESH = {"Cache-Control": "max-age=60", "ETag": '"1"'}


def ranged(value, **headers):
    return {"Range": value, **{k.replace("_", "-"): v
                               for k, v in headers.items()}}


def test_part_of_a_stored_object(node, origin):
    origin.set("/a", fields=FRESH, body=BODY)
    node.get("/a")
    for value, text, body in (("bytes=2-4", "bytes 2-4/10", b"234"),
                              ("bytes=7-", "bytes 7-9/10", b"789"),
                              ("bytes=-2", "bytes 8-9/10", b"89")):
        r = node.get("/a", headers=ranged(value))
        assert (r.status, r.body, r.source) == (206, body, "hit")
        assert r.get("Content-Range") == text
        assert r.get("Content-Length") == str(len(body))
        assert r.get("ETag") == '"1"' and r.get("Age") is not None
    assert origin.count() == 1


def test_whole_where_a_part_is_not_due(node, origin):
    origin.set("/a", fields=FRESH, body=BODY)
    node.get("/a")
    for headers in (ranged("bytes=0-1,4-5"), ranged("lines=1-2"),
                    ranged("bytes=0-1", If_Range='"2"')):
        r = node.get("/a", headers=headers)
        assert (r.status, r.body, r.source) == (200, BODY, "hit")
    r = node.get("/a", method="HEAD", headers=ranged("bytes=0-1"))
    assert (r.status, r.get("Content-Length")) == (200, "10")
    r = node.get("/a", headers=ranged("bytes=0-1", If_None_Match='"1"'))
    assert r.status == 304
    assert origin.count() == 1


def test_part_that_is_not_there(node, origin):
    origin.set("/a", fields=FRESH, body=BODY)
    node.get("/a")
    r = node.get("/a", headers=ranged("bytes=10-"))
    assert (r.status, r.get("Content-Range")) == (416, "bytes */10")
    assert r.source == "hit" and r.get("ETag") is None


def origin_with_ranges(request, _):
    """Its object changes with each second request that it sees whole."""
    if request.get("If-None-Match") == '"1"':
        return servers.response(304, {"ETag": '"1"'})
    if request.get("Range") and request.get("If-Range", '"1"') == '"1"':
        return servers.response(206, {
            "Cache-Control": "max-age=60", "ETag": '"1"',
            "Content-Range": "bytes 2-4/10"}, BODY[2:5])
    return servers.response(200, {"Cache-Control": "max-age=0",
                                  "ETag": '"1"'}, BODY)


def test_part_of_a_stale_object_is_validated(node, origin):
    origin.pages["/a"] = origin_with_ranges
    node.get("/a")
    r = node.get("/a", headers=ranged("bytes=2-4", If_Range='"1"'))
    assert (r.status, r.body) == (206, b"234")
    assert "fwd=stale; fwd-status=304" in r.get("Cache-Status")
    sent = origin.last()
    assert (sent.get("Range"), sent.get("If-Range"),
            sent.get("If-None-Match")) == ("bytes=2-4", '"1"', '"1"')


def test_part_of_an_object_that_has_changed(node, origin):
    origin.set("/a", fields={"Cache-Control": "max-age=0", "ETag": '"old"'},
               body=b"old")
    node.get("/a")
    origin.pages["/a"] = origin_with_ranges
    r = node.get("/a", headers=ranged("bytes=2-4"))
    assert (r.status, r.body) == (206, b"234")
    assert r.get("Content-Range") == "bytes 2-4/10"


def test_part_from_the_origin_is_not_stored(node, origin):
    origin.pages["/a"] = origin_with_ranges
    r = node.get("/a", headers=ranged("bytes=2-4"))
    assert (r.status, r.body, r.source) == (206, b"234", "origin")
    r = node.get("/a")
    assert (r.status, r.body, r.source) == (200, BODY, "origin")


def test_whole_that_came_for_a_part_is_stored(node, origin):
    origin.set("/a", fields=FRESH, body=BODY)  # knows no ranges
    r = node.get("/a", headers=ranged("bytes=2-4"))
    assert (r.status, r.body) == (206, b"234")
    assert node.get("/a").source == "hit"
    origin.set("/e", status=416, fields={"Cache-Control": "max-age=60"})
    assert node.get("/e", headers=ranged("bytes=99-")).status == 416
    assert node.get("/e", headers=ranged("bytes=99-")).source == "origin"

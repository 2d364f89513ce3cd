"""Digests as lists of fingerprints: nodes follow each other by frames, also
after a pause, beside nodes that publish arrays, and whatever damages what is on
its way. Nobody ever says no for what a peer has published."""

import http.client
import os
import signal
import time

import pytest

import cluster as scd
import digests
import servers
from cluster import request, until

FRESH = {"Cache-Control": "max-age=600"}
LIST = "application/scd-list"
LONG = bool(os.environ.get("SCD_TEST_LONG"))


def bearer(**more):
    return {"Authorization": "Bearer "
            + digests.derive(scd.KEY, "token").hex(), **more}


def fetch(node, **fields):
    return request(node.peer, "/scd/v1/digest",
                   headers=bearer(**fields))


def pages(origin, names):
    for name in names:
        origin.set(f"/{name}", fields=FRESH, body=b"x" * 500)


def fill(node, names):
    for name in names:
        assert node.get(f"/{name}").status == 200


def start(make_cluster, origin, count=2, **options):
    c = make_cluster(count, **options)
    c.origin_url = origin.url
    return c


def peer_of(node, other):
    return node.peer_status(other.name)


def check_hits(node, names):
    """Each comes from a peer."""
    names = list(names)
    assert {n: node.get(f"/{n}").source for n in names} \
        == {n: "peer" for n in names}


def test_frames(make_cluster, origin):
    c = start(make_cluster, origin, 3).start()
    a, b, _ = c.nodes
    pages(origin, (f"o{i}" for i in range(300)))
    for i in range(300):
        fill(a, [f"o{i}"])
        if i % 100 == 99:
            c.wait_settled()
    p = peer_of(b, a)
    assert p["digest"]["form"] == "list"
    assert p["digest"]["keys"] == 300
    assert p["digest"]["hash_functions"] == 1
    assert p["full_received"] == 1 and p["delta_received"] >= 3
    assert p["unfit"] == 0
    check_hits(b, (f"o{i}" for i in range(0, 300, 10)))
    assert a.status()["digest"]["list_width"] > 15


def test_resource(make_cluster, origin):
    """What HTTP has of it: who does not name lists gets arrays, tags are of one
    form, and a frame is an immutable resource."""
    c = start(make_cluster, origin, 1).start()
    node, = c.nodes
    pages(origin, "abcd")
    fill(node, "ab")
    until(lambda: not node.status()["digest"]["unpublished_changes"])
    assert node.status()["digest"]["bits"] == 0
    array = fetch(node)  # which is made now, and published
    assert node.status()["digest"]["bits"] > 0
    full = fetch(node, Accept=f"{LIST}, application/scd-digest;q=0.5")
    assert full.status == array.status == 200
    assert full.get("Content-Type") == LIST and full.body[4] == 4
    assert array.get("Content-Type") == "application/scd-digest"
    assert array.body[4] == 0
    assert full.get("Vary") == array.get("Vary") == "Accept, A-IM"
    etag = full.get("ETag")
    assert etag == array.get("ETag")[:-1] + '-list"'
    assert fetch(node, **{"If-None-Match": etag, "Accept": LIST}).status == 304
    assert fetch(node, **{"If-None-Match": etag}).status == 200
    fill(node, "cd")
    until(lambda: not node.status()["digest"]["unpublished_changes"])
    no_frames = fetch(node, **{"If-None-Match": etag, "Accept": LIST})
    assert no_frames.status == 200 and no_frames.get("Content-Type") == LIST
    delta = fetch(node, **{"If-None-Match": etag, "Accept": LIST,
                           "A-IM": "scd-frames"})
    assert delta.status == 226 and delta.get("IM") == "scd-frames"
    assert delta.get("Delta-Base") == etag
    assert len(delta.body) < 60
    instance, base, _ = etag.strip('"').split("-")
    newest = delta.get("ETag").split("-")[1]
    name = f"/scd/v1/delta/{instance}/{base}-{newest}-list"
    named = request(node.peer, name, headers=bearer())
    assert named.status == 200 and named.body == delta.body
    assert "immutable" in named.get("Cache-Control")
    link = delta.get("Link")
    assert link.startswith(f"</scd/v1/delta/{instance}/")
    assert f'-{newest}-list>; rel="scd-delta"' in link


class Stream:
    """A follower by hand: a request for the frames behind a list."""

    def __init__(self, node, etag):
        self.connection = http.client.HTTPConnection(
            "127.0.0.1", node.peer, timeout=20)
        self.connection.request("GET", "/scd/v1/digest", headers=bearer(**{
            "If-None-Match": etag, "Accept": LIST, "Prefer": "wait=30",
            "A-IM": "scd-stream, scd-frames"}))
        self.response = self.connection.getresponse()

    def read(self):
        return self.response.read1(65536)

    def close(self):
        self.connection.close()


def test_stream(make_cluster, origin):
    """Frames come as they are published, by one response, until the node has
    something else to say; a follower takes them so."""
    c = start(make_cluster, origin).start()
    a, b = c.nodes
    pages(origin, "abcdefg")
    fill(a, "a")
    c.wait_settled()
    etag = fetch(a, Accept=LIST).get("ETag")
    stream = Stream(a, etag)
    try:
        assert stream.response.status == 226
        assert stream.response.getheader("IM") == "scd-stream"
        assert stream.response.getheader("Delta-Base") == etag
        instance, base, _ = etag.strip('"').split("-")
        for name in "bcd":
            fill(a, [name])
            frame, base = stream.read(), int(base)
            named = request(
                a.peer, f"/scd/v1/delta/{instance}/{base}-{base + 1}-list",
                headers=bearer())
            assert named.body == frame
            base += 1
        c.wait_settled()
        p = peer_of(b, a)
        assert p["delta_received"] >= 3 and p["full_received"] == 1
        assert a.status()["digest"]["streams"] == 2  # b, and this
        fill(b, "e")
        c.wait_settled()
        check_hits(b, "bcd")
        a.process.signal(signal.SIGTERM)
        while stream.read():
            pass  # to a whole end, as it drains
    finally:
        stream.close()


def test_ages(make_cluster, origin):
    """A peer of a node that evicts asks for the ages of its objects, once, and
    follows by frames that name what goes by its age."""
    c = start(make_cluster, origin, placement="keep", cache_size="1M").start()
    a, b = c.nodes
    names = [f"o{i}" for i in range(4000)]
    pages(origin, names)
    for at in range(0, 4000, 20):
        fill(a, names[at:at + 20])
        if at >= 2000 and peer_of(b, a)["digest"]["ages"]:
            break
    c.wait_settled()
    before = peer_of(b, a)
    assert before["digest"]["ages"], before
    etag = fetch(a, Accept=LIST).get("ETag")
    fill(a, names[at + 20:at + 60])
    c.wait_settled()
    after = peer_of(b, a)
    assert after["digest"]["ages"] and after["unfit"] == 0
    assert after["full_received"] == before["full_received"]
    tag = {"If-None-Match": etag, "Accept": LIST}
    aged = fetch(a, **tag, **{"A-IM": "scd-frames, scd-aged"})
    frames = fetch(a, **tag, **{"A-IM": "scd-frames"})
    assert aged.get("IM") == "scd-aged" and frames.get("IM") == "scd-frames"
    assert aged.get("ETag") == frames.get("ETag")
    assert len(aged.body) < len(frames.body)
    tag["If-None-Match"] = fetch(a, Accept=LIST).get("ETag")
    ages = fetch(a, **tag, **{"A-IM": "scd-frames, scd-ages"})
    assert ages.status == 226 and ages.get("IM") == "scd-ages"
    assert ages.body[0] == 5
    check_hits(b, names[at:at + 60:10])


def test_pause(make_cluster, origin):
    """A node that stands still for a while gets the frames that it has missed,
    and no full digest."""
    # no owners: a would wait for the one that stands still
    c = start(make_cluster, origin, placement="keep").start()
    a, b = c.nodes
    names = [f"o{i}" for i in range(400)]
    pages(origin, names)
    fill(a, names[:200])
    c.wait_settled()
    before = peer_of(b, a)
    b.process.pause()
    end = time.monotonic() + (10 if LONG else 2)
    first = a.status()["digest"]["generation"]
    while time.monotonic() < end:
        for name in names[200:]:
            fill(a, [name])
            time.sleep(0.01)
    assert a.status()["digest"]["generation"] > first + 3
    b.process.signal(signal.SIGCONT)
    c.wait_settled()
    after = peer_of(b, a)
    assert after["full_received"] == before["full_received"]
    assert after["delta_received"] <= before["delta_received"] + 4
    assert after["unfit"] == 0
    check_hits(b, names[::20])


def test_arrays_and_lists(make_cluster, origin):
    """Nodes that publish arrays, by what they are told or as older ones do,
    find what the others hold, and are found."""
    c = start(make_cluster, origin, 3)
    a, b, d = c.nodes
    b.options["digest_form"] = "array"
    d.options["bits_per_object"] = "16"
    c.start()
    for node in c.nodes:
        names = [f"{node.name}-{i}" for i in range(50)]
        pages(origin, names)
        fill(node, names)
    c.wait_settled()
    assert peer_of(a, b)["digest"]["form"] == "array"
    assert peer_of(a, d)["digest"]["form"] == "array"
    assert peer_of(b, a)["digest"]["form"] == "list"
    assert peer_of(d, a)["digest"]["form"] == "list"
    for node in c.nodes:
        for other in c.nodes:
            if other is not node:
                i = c.nodes.index(node)
                check_hits(node, (f"{other.name}-{j}"
                                  for j in range(i, 50, 10)))
    for node in c.nodes:
        assert all(p["unfit"] == 0 for p in node.status()["peers"])


class Relay:
    """Passes requests for digests on to a node, and its answers back, changed
    by what is in `change`, once each."""

    def __init__(self, node):
        self.node, self.change, self.changed = node, None, 0
        self.server = servers.Server(self.answer)
        self.port = self.server.port

    def answer(self, r, connection):
        fields = {n: v for n, v in r.fields if n.lower() != "host"}
        fields["Via"] = "1.1 relay"  # it collects what it passes on
        got = request(self.node.peer, r.target, r.method, fields, timeout=60)
        body = got.body
        if self.change and r.target == "/scd/v1/digest":
            changed = self.change(got, body)
            if changed is not None:
                self.change, body = None, changed
                self.changed += 1
        keep = {n: v for n, v in got.fields
                if n.lower() not in ("content-length", "connection", "date")}
        return servers.response(got.status, keep, body)

    def close(self):
        self.server.close()


def flip_frame(got, body):
    if got.status != 226:
        return None
    return body[:-1] + bytes([body[-1] ^ 0x40])


def cut_frame(got, body):
    return body[:-1] if got.status == 226 else None


def no_frame(got, body):
    return b"" if got.status == 226 else None


def twice(got, body):
    """The second is for another base than there is then."""
    return body + body if got.status == 226 else None


def other_frames(got, body):
    return b"\x01\xff\xff\xff\xff\xff\xff\xff\xff\x7f" + body \
        if got.status == 226 else None


@pytest.mark.parametrize("change", [flip_frame, cut_frame, no_frame, twice,
                                    other_frames])
def test_damage(make_cluster, origin, change):
    """What is damaged on its way is found, and a full digest follows."""
    c = start(make_cluster, origin)
    a, b = c.nodes
    relay = Relay(a)
    try:
        b.peers = [(a.name, relay.port)]
        c.start()
        names = [f"o{i}" for i in range(60)]
        pages(origin, names)
        fill(a, names[:50])
        until(lambda: b.knows(a), what="the digest is known")
        before = peer_of(b, a)
        assert before["digest"]["form"] == "list"
        relay.change = change
        fill(a, names[50:])
        until(lambda: relay.changed and b.knows(a),
              what="the digest is known again")
        after = peer_of(b, a)
        assert after["unfit"] == before["unfit"] + 1
        assert after["full_received"] == before["full_received"] + 1
        assert after["digest"]["keys"] == 60
    finally:
        relay.close()


def test_damaged_list(make_cluster, origin):
    """A full list that is damaged is refused, and fetched again."""
    c = start(make_cluster, origin)
    a, b = c.nodes
    relay = Relay(a)
    try:
        a.start()
        pages(origin, "abc")
        fill(a, "abc")
        until(lambda: not a.status()["digest"]["unpublished_changes"])
        relay.change = lambda got, body: \
            body[:-1] + bytes([body[-1] ^ 1]) if got.status == 200 else None
        b.peers = [(a.name, relay.port)]
        b.start()
        until(lambda: b.knows(a), what="the digest is known")
        assert relay.changed == 1
        assert peer_of(b, a)["unfit"] == 1
        assert peer_of(b, a)["digest"]["keys"] == 3
    finally:
        relay.close()


def test_restarts(make_cluster, origin):
    """A peer that is another instance is known by its new list alone."""
    c = start(make_cluster, origin).start()
    a, b = c.nodes
    pages(origin, ["old", "new"])
    fill(a, ["old"])
    c.wait_settled()
    for _ in range(3):
        a.process.kill()
        a.start()
        fill(a, ["new"])
        until(lambda: b.knows(a), what="the digest is known")
        assert peer_of(b, a)["digest"]["keys"] == 1
    check_hits(b, ["new"])
    assert b.get("/old").source == "origin"

"""docs/examples/haproxy.cfg: digestd behind haproxy, and the origin for while
digestd is away."""

import os
import shutil
import signal

import pytest

import cluster as scd
from cluster import until

EXAMPLE = os.path.join(os.path.dirname(__file__), "..", "..", "docs",
                       "examples", "haproxy.cfg")
MAXAGE = {"Cache-Control": "max-age=600"}

pytestmark = pytest.mark.skipif(not shutil.which("haproxy"),
                                reason="haproxy is not installed")


class Haproxy(scd.Process):
    """The example, with this machine's ports."""

    def __init__(self, folder, node, origin):
        self.port = scd.free_port()
        with open(EXAMPLE, encoding="ascii") as f:
            text = f.read()
        text = text[text.index("global\n"):]
        for old, new in (
                ("bind :80", f"bind 127.0.0.1:{self.port}"),
                ("127.0.0.1:8081", f"127.0.0.1:{node.data}"),
                ("198.51.100.10:80", f"127.0.0.1:{origin.port}"),
                ("maxconn 10000", "maxconn 100"),
                # a busy machine takes longer than usual, and a check's time
                # is its interval unless told otherwise
                ("timeout connect 1s",
                 "timeout connect 20s\n\ttimeout check 20s"),
                ("default-server inter 1s", "default-server inter 100ms")):
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        path = os.path.join(str(folder), "haproxy.cfg")
        with open(path, "w", encoding="ascii") as f:
            f.write(text)
        super().__init__(["haproxy", "-db", "-f", path],
                         os.path.join(str(folder), "haproxy.log"))

    def get(self, target):
        """It is answered, and rightly. Returns the reply."""
        r = scd.request(self.port, target)
        assert (r.status, r.body) == (200, b"page " + target.encode())
        return r

    def wait_ready(self):
        def ready():
            assert self.alive(), self.logged()
            return scd.connectable(self.port)
        until(ready, 20, what="haproxy")

    def asks_node(self):
        """Whether digestd answers, which says so in a field of its own."""
        return self.get("/which").get("Cache-Status") is not None


@pytest.fixture
def site(make_cluster, origin, tmp_path):
    """Two nodes that follow each other, and haproxy in front of the second."""
    for target in ["/which"] + [f"/{i}" for i in range(10)]:
        origin.set(target, fields=MAXAGE, body=b"page " + target.encode())
    c = make_cluster(2, publish_min="50ms", publish_max="100ms", poll="100ms",
                     trusted_proxies="127.0.0.1", forwarded="x-forwarded",
                     health="/healthz")
    c.origin_url = origin.url
    c.start()
    haproxy = Haproxy(tmp_path, c.nodes[1], origin)
    try:
        haproxy.wait_ready()
        until(haproxy.asks_node, 20, what="digestd answers")
        yield c, haproxy
    finally:
        haproxy.end()


def test_digestd_behind_haproxy(site, origin):
    c, haproxy = site
    one, two = c.nodes

    # a cold miss, and then a hit
    source = haproxy.get("/0").source
    assert source == "origin", haproxy.logged()  # why it took a server out
    assert origin.last().get("X-Forwarded-For").startswith("127.0.0.1")
    assert haproxy.get("/0").get("Age") is not None
    assert origin.count("/0") == 1

    # what the other node has
    for i in range(1, 5):
        one.get(f"/{i}")
    c.wait_settled()
    assert haproxy.get("/1").source == "peer"
    assert origin.count("/1") == 1

    # what it has no more, and it is too early to say so
    one.options.update(publish_min="1h", publish_max="1h")
    one.write()
    one.process.signal(signal.SIGHUP)
    until(lambda: "reload: done" in one.process.logged())
    one.get("/2", method="DELETE")
    assert haproxy.get("/2").source == "origin"
    assert two.peer_status("n1")["false_hits"] == 1

    # a purge reaches what clients get: haproxy keeps nothing
    asked = origin.count("/0")
    assert scd.request(two.admin, "/0", method="PURGE").status == 200
    haproxy.get("/0")
    assert origin.count("/0") == asked + 1

    # what has gone stale is asked for again
    origin.set("/6", fields={"Cache-Control": "max-age=1"}, body=b"page /6")
    assert haproxy.get("/6").source == "origin"
    asked = origin.count("/6")
    until(lambda: haproxy.get("/6") and origin.count("/6") > asked, 10, .1,
          "a stale object is asked for again")

    # digestd is gone: the origin serves, and digestd again once it is back
    two.process.kill()
    for i in range(10):
        assert haproxy.get(f"/{i}").get("Cache-Status") is None
    two.start()
    until(haproxy.asks_node, 20, what="digestd answers again")
    # with an empty cache
    assert haproxy.get("/0").source in ("origin", "peer")
    assert haproxy.get("/0").get("Age") is not None

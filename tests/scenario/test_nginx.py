"""docs/examples/nginx.conf: nginx keeps what digestd finds worth it.

Counts what nginx wrote to its disk, with its cache large enough for all, and
which requests went to the origin.
"""

import os
import random
import shutil

import pytest

import cluster as scd
import servers
from cluster import until

EXAMPLE = os.path.join(os.path.dirname(__file__), "..", "..", "docs",
                       "examples", "nginx.conf")
REQUESTS = 1500


def trace():
    """Half of the requests are for objects that nobody else asks for; of the
    others, some are asked for very often. Three in four objects are used
    once."""
    source = random.Random(1)
    once = (f"/once/{i}" for i in range(REQUESTS))
    return [next(once) if source.random() < .5
            else f"/{int(400 * source.random() ** 3)}"
            for _ in range(REQUESTS)]


class Nginx(scd.Process):
    """The example, with this machine's paths and ports."""

    def __init__(self, folder, upstream):
        self.folder, self.port = str(folder), scd.free_port()
        self.cache = os.path.join(self.folder, "cache")
        os.makedirs(self.cache)
        with open(EXAMPLE, encoding="ascii") as f:
            text = f.read()
        for old, new in (
                ("listen 80;", f"listen 127.0.0.1:{self.port};"),
                ("server 127.0.0.1:8081;", f"server 127.0.0.1:{upstream};"),
                ("/var/cache/nginx/site", self.cache),
                ("/run/nginx.pid", f"{self.folder}/pid"),
                ("/var/log/nginx/error.log", f"{self.folder}/error.log"),
                ("worker_processes auto;", "worker_processes 1;"),
                ("access_log off;", "access_log off;" + "".join(
                    f"{kind}_temp_path {self.folder}/{kind};" for kind in (
                        "client_body", "proxy", "fastcgi", "uwsgi", "scgi")))):
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        if os.geteuid() == 0:
            text = "user root;\n" + text
        path = os.path.join(self.folder, "nginx.conf")
        with open(path, "w", encoding="ascii") as f:
            f.write(text)
        super().__init__(["nginx", "-c", path, "-p", self.folder, "-e",
                          f"{self.folder}/error.log", "-g", "daemon off;"],
                         os.path.join(self.folder, "log"))

    def wait_ready(self):
        def ready():
            assert self.alive(), self.logged()
            return scd.connectable(self.port)
        until(ready, 20, what="nginx")

    def files(self):
        """How many objects it has written, as none is ever removed."""
        return sum(len(names) for _, _, names in os.walk(self.cache))


@pytest.fixture
def replayed(make_cluster, origin, tmp_path):
    """replayed(options): what came of the trace, with digestd so."""
    def page(request, _):
        return servers.response(200, {"Cache-Control": "max-age=600"},
                                request.target.encode() * 50)

    for target in set(trace()):
        origin.pages[target] = page
    running = []

    def replay(name, **options):
        c = make_cluster(1, cooperate=False, **options)
        c.origin_url = origin.url
        node = c.start().nodes[0]
        os.mkdir(tmp_path / name)
        nginx = Nginx(tmp_path / name, node.data)
        running.append(nginx)
        nginx.wait_ready()
        asked, hits = origin.count(), 0
        for target in trace():
            r = scd.request(nginx.port, target)
            assert r.status == 200 and r.body == target.encode() * 50
            assert r.get("X-Accel-Expires") is None
            hits += r.get("X-Cache") == "HIT"
        return {"files": nginx.files(), "nginx_hits": hits,
                "origin": origin.count() - asked}

    yield replay
    for nginx in running:
        assert nginx.end() == 0, nginx.logged()


@pytest.mark.skipif(not shutil.which("nginx"), reason="nginx is not installed")
def test_nginx_writes_what_is_worth_it(replayed):
    asked = trace()
    objects = set(asked)
    twice = {x for x in objects if asked.count(x) > 1}
    none = replayed("none", admission_tell="nginx")
    aged = replayed("aged", admission="aged", admission_tell="nginx")
    waiting = replayed("waiting", admission="probation", admission_ram="0.9",
                       admission_tell="nginx", cache_size="64M")
    assert none == {"files": len(objects), "origin": len(objects),
                    "nginx_hits": REQUESTS - len(objects)}
    # all but what is used once, but for a filter's errors
    strangers = len(objects) // 50
    for some in (aged, waiting):
        assert len(twice) <= some["files"] <= len(twice) + strangers
        assert some["files"] < none["files"] * .3
        lost = none["nginx_hits"] - some["nginx_hits"]
        assert len(twice) - strangers <= lost <= len(twice)
    # what was not written is asked of the origin again, or waits in memory
    assert len(twice) - strangers <= aged["origin"] - len(objects) \
        <= len(twice)
    assert waiting["origin"] == len(objects)

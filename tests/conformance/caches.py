"""Caches to run the suite against: how each is set up before an origin."""

import os

import suite
from suite import cluster


class Digestd:
    """This tree's node, alone, as its manual sets it up."""

    name = "digestd"

    def __init__(self, origin_port, folder):
        self.port = cluster.free_port()
        path = os.path.join(folder, "digestd.conf")
        with open(path, "w", encoding="ascii") as f:
            f.write('node = "cache1"\n'
                    f'listen_data = "127.0.0.1:{self.port}"\n'
                    f'listen_peer = "127.0.0.1:{cluster.free_port()}"\n'
                    f'listen_admin = "127.0.0.1:{cluster.free_port()}"\n'
                    f'cluster_key = "{cluster.KEY}"\n'
                    f'default_origin = "http://127.0.0.1:{origin_port}"\n')
        self.process = cluster.Process([cluster.DIGESTD, "-c", path],
                                       os.path.join(folder, "digestd.log"))
        cluster.until(lambda: cluster.connectable(self.port), what=self.name)

    def end(self):
        if self.process.end():
            raise RuntimeError(f"{self.name} failed: {self.process.logged()}")


def measure(cache, root, folder):
    """Runs the whole suite against a kind of cache. Returns its results."""
    with Running(cache, root, folder) as base:
        return suite.run(root, base)


class Running:
    """A cache before the suite's origin; gives the URL to ask."""

    def __init__(self, cache, root, folder):
        self.cache, self.root, self.folder = cache, root, folder
        self.started = []

    def __enter__(self):
        try:
            origin = suite.Origin(self.root, self.folder)
            self.started.append(origin)
            cache = self.cache(origin.port, self.folder)
            self.started.append(cache)
        except Exception:
            self.__exit__(None, None, None)
            raise
        return f"http://localhost:{cache.port}"

    def __exit__(self, *_):
        while self.started:
            self.started.pop().end()

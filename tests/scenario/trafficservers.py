"""Apache Traffic Server with a digestd beside it, by
docs/examples/trafficserver-sidecar.txt and trafficserver-feed there."""

import os
import re
import sys

import beside
import cluster as scd
from cluster import until

EXAMPLES = os.path.join(os.path.dirname(__file__), "..", "..", "docs",
                        "examples")
# Where everything is: all of it in a folder.
RUNROOT = """\
prefix: {0}
exec_prefix: {0}
bindir: /usr/bin
sbindir: /usr/bin
sysconfdir: {0}/etc
datadir: {0}
includedir: {0}
libdir: {0}
libexecdir: {0}
localstatedir: {0}/run
runtimedir: {0}/run
logdir: {0}/log
cachedir: {0}/cache
"""
# Of a test: a port, no other user, few threads and little memory.
RECORDS = """\
CONFIG proxy.config.http.server_ports STRING {port}:ip-in=127.0.0.1
CONFIG proxy.config.admin.user_id STRING #-1
CONFIG proxy.config.exec_thread.autoconfig INT 0
CONFIG proxy.config.exec_thread.limit INT 1
CONFIG proxy.config.task_threads INT 1
CONFIG proxy.config.net.poll_timeout INT 1
CONFIG proxy.config.cache.threads_per_disk INT 1
CONFIG proxy.config.cache.ram_cache.size INT 1048576
CONFIG proxy.config.log.periodic_tasks_interval INT 1
"""


def example(name):
    """What the example has for a file."""
    with open(os.path.join(EXAMPLES, "trafficserver-sidecar.txt"),
              encoding="ascii") as f:
        text = f.read()
    part = text.split(f"\n## {name}\n")[1].split("\n## ")[0]
    lines = re.findall(r"^(?:    (.*)|)$", part, re.M)
    return "\n".join(lines).strip("\n") + "\n"


class TrafficServer(beside.Follower):
    """The example, with this machine's paths and ports."""

    def __init__(self, folder, data, origin_port, store="64M", records=""):
        super().__init__()
        self.folder, self.inner, self.store = str(folder), self.port, store
        self.log = os.path.join(self.folder, "log", "digestd.log")
        self.feed = os.path.join(self.folder, "feed")
        for name in ("etc", "run", "log", "cache"):
            os.makedirs(os.path.join(self.folder, name))
        self.put("runroot.yaml", RUNROOT.format(self.folder))
        self.put("etc/storage.config", f"{self.folder}/cache {store}\n")
        self.put("etc/plugin.config", "")
        self.put("etc/ip_allow.yaml", "ip_allow:\n  - apply: in\n    ip_addrs: "
                 "127.0.0.1\n    action: allow\n    methods: ALL\n")
        self.put("etc/logging.yaml", example("logging.yaml"))
        self.put("etc/records.config", example("records.config")
                 + RECORDS.format(port=self.port) + records)
        self.put("etc/remap.config", example("remap.config"), (
            # 127.0.0.1 would be asked without a parent
            ("198.51.100.10:80", f"localhost:{origin_port}"),))
        self.put("etc/parent.config", example("parent.config"), (
            ("127.0.0.1:8081", f"127.0.0.1:{data}"),
            ("198.51.100.10:80", f"127.0.0.1:{origin_port}")))

    def put(self, name, text, changes=()):
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new)
        with open(os.path.join(self.folder, name), "w", encoding="ascii") as f:
            f.write(text)

    def launch(self):
        self.process = scd.Process(
            ["traffic_server", f"--run-root={self.folder}/runroot.yaml"],
            os.path.join(self.folder, "out"))

    def start(self):
        if not self.process:
            self.launch()

        def ready():
            assert self.process.alive(), self.process.logged()
            return self.ready()
        until(ready, 20, what="Traffic Server")
        return self

    def ready(self):
        """It answers before its store is open, and stores nothing then."""
        try:
            with open(os.path.join(self.folder, "log", "diags.log"),
                      encoding="utf-8") as f:
                text = f.read()
        except FileNotFoundError:
            return False
        start = text.rfind("updated diags config")
        return "cache enabled" in text[start:] and scd.connectable(self.port)

    def follow(self):
        """Starts trafficserver-feed."""
        self.follower = scd.Process(
            [sys.executable, os.path.join(EXAMPLES, "trafficserver-feed"),
             "-s", self.store, self.log, self.feed],
            os.path.join(self.folder, "follower.log"))
        return self

    def wipe(self):
        """Ends it, and removes all that it holds."""
        self.stop()
        os.unlink(os.path.join(self.folder, "cache", "cache.db"))



class Pairs(beside.Pairs):
    """Some machines, each with a Traffic Server and a digestd beside it."""

    def __init__(self, make_cluster, origin, folder, count, **options):
        self.cluster = make_cluster(count, **options)
        self.cluster.origin_url = origin.url
        self.nodes, self.caches = self.cluster.nodes, []
        for node in self.nodes:
            cache = TrafficServer(os.path.join(str(folder), node.name),
                                  node.data, origin.port)
            node.options["sidecar"] = f"http://127.0.0.1:{cache.port}"
            node.options["sidecar_feed"] = cache.feed
            self.caches.append(cache)

    def start(self):
        for cache in self.caches:
            cache.launch()
        self.cluster.start()
        for cache in self.caches:
            cache.start().follow()
        self.cluster.wait_settled()
        self.cluster.wait_heard()
        return self

    def stop(self):
        for cache in self.caches:
            cache.stop_follower()
            cache.stop()

"""Varnish with a digestd beside it, by docs/examples/varnish-sidecar.vcl and
docs/examples/varnish-feed."""

import os
import subprocess
import sys

import beside
import cluster as scd
from cluster import until

EXAMPLES = os.path.join(os.path.dirname(__file__), "..", "..", "docs",
                        "examples")
# How VCL is compiled: its speed does not matter here, and that of gcc does.
CC = "cc_command=exec gcc -w -O0 -pthread -fPIC -shared -o %o %s"


def command(name):
    """The words after a program's name in the example's comment."""
    with open(os.path.join(EXAMPLES, "varnish-sidecar.vcl"),
              encoding="ascii") as f:
        text = f.read().replace("\\\n#", "")
    return text[text.index(f"#\t{name} "):].split("\n")[0].split()[2:]


class Varnish(beside.Follower):
    """The example, with this machine's paths and ports."""

    example = "varnish-sidecar.vcl"

    def __init__(self, folder, data, admin, origin_port, size="16m", more=()):
        super().__init__()
        self.folder, self.inner = str(folder), scd.free_port()
        self.work = os.path.join(self.folder, "work")
        self.feed = os.path.join(self.folder, "feed")
        self.more, self.origin_port = list(more), origin_port
        self.path = os.path.join(self.folder, "varnish.vcl")
        self.write((
            ('.port = "8081";', f'.port = "{data}";'),
            ('.port = "8083";', f'.port = "{admin}";'),
            ('.host = "198.51.100.10";\n\t.port = "80";',
             f'.host = "127.0.0.1";\n\t.port = "{origin_port}";'),
            # what the test of bans says it bans by
            ("sub vcl_miss {", 'sub vcl_backend_response {\n'
             '\tset beresp.http.X-Url = bereq.url;\n}\n\n'
             "sub vcl_miss {")))
        there = {"-f": self.path, "-a": None, "-s": f"malloc,{size}"}
        self.words = ["-a", f"127.0.0.1:{self.port}",
                      "-a", f"digestd=127.0.0.1:{self.inner}"]
        given = command("varnishd")
        for option, value in zip(given[::2], given[1::2]):
            if option != "-a":
                self.words += [option, there.get(option, value)]

    def write(self, changes):
        """Each change is of what stands there so many times, or once."""
        with open(os.path.join(EXAMPLES, self.example),
                  encoding="ascii") as f:
            text = f.read()
        for old, new, *times in changes:
            assert text.count(old) == (times or [1])[0], old
            text = text.replace(old, new)
        with open(self.path, "w", encoding="ascii") as f:
            f.write(text)

    def launch(self):
        self.process = scd.Process(
            ["varnishd", "-F", "-j", "none", "-n", self.work, *self.words,
             "-p", "ping_interval=1", "-p", CC, *self.more],
            os.path.join(self.folder, "log"))

    def start(self):
        if not self.process:
            self.launch()

        def ready():
            assert self.process.alive(), self.process.logged()
            return scd.connectable(self.port) and scd.connectable(self.inner)
        until(ready, 60, what="varnish")
        return self

    def follow(self):
        """Starts varnish-feed."""
        self.follower = scd.Process(
            [sys.executable, os.path.join(EXAMPLES, "varnish-feed"),
             "-n", self.work, self.feed],
            os.path.join(self.folder, "follower.log"))
        return self

    def log_reader(self):
        """The process of varnishlog that varnish-feed follows."""
        pid = self.follower.popen.pid
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
            return int(f.read().split()[0])

    def ban(self, target):
        subprocess.run(
            ["varnishadm", "-n", self.work, "ban", "obj.http.X-Url", "==",
             target], check=True, stdout=subprocess.DEVNULL)



class Pairs(beside.Pairs):
    """Some machines, each with a Varnish and a digestd beside it."""

    def __init__(self, make_cluster, origin, folder, count, size="16m",
                 **options):
        self.cluster = make_cluster(count, **options)
        self.cluster.origin_url = origin.url
        self.nodes, self.varnish = self.cluster.nodes, []
        for node in self.nodes:
            place = os.path.join(str(folder), node.name)
            os.mkdir(place)
            varnish = Varnish(place, node.data, node.admin, origin.port,
                              size)
            node.options["sidecar"] = f"http://127.0.0.1:{varnish.inner}"
            node.options["sidecar_feed"] = varnish.feed
            self.varnish.append(varnish)

    def start(self):
        for varnish in self.varnish:
            varnish.launch()
        self.cluster.start()
        for varnish in self.varnish:
            varnish.start().follow()
        for i, varnish in enumerate(self.varnish):
            # that it follows the log is known by an object
            varnish.get("/is-followed")
            self.wait_keys(i, 1)
        self.cluster.wait_heard()
        return self

    def stop(self):
        for varnish in self.varnish:
            varnish.stop_follower()
            varnish.stop()

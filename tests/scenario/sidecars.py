"""An nginx with a digestd beside it, by docs/examples/nginx-sidecar.conf."""

import os
import re

import beside
import cluster as scd
from cluster import until

EXAMPLE = os.path.join(os.path.dirname(__file__), "..", "..", "docs",
                       "examples", "nginx-sidecar.conf")


def read(path, n):
    """The beginning of a file."""
    with open(path, "rb") as f:
        return f.read(n)


def node_options():
    """What the example's comment has for digestd, but for the addresses."""
    with open(EXAMPLE, encoding="ascii") as f:
        given = dict(re.findall(r'^#\t(\w+) = "(.*)"$', f.read(), re.M))
    return {name: given[name] for name in ("nginx_key", "admission_tell")}


class Nginx(beside.Asked):
    """The example, with this machine's paths and ports."""

    example, first_word = EXAMPLE, "worker_processes"

    def __init__(self, folder, data, origin_port, size="100g"):
        self.folder, self.process = str(folder), None
        self.port, self.inner = scd.free_port(), scd.free_port()
        self.cache = os.path.join(self.folder, "cache")
        os.makedirs(self.cache, exist_ok=True)
        self.write(size, (
            ("server 127.0.0.1:8081 ", f"server 127.0.0.1:{data} "),
            ("server 198.51.100.10:80 ", f"server 127.0.0.1:{origin_port} "),
            ("listen 127.0.0.1:8084;", f"listen 127.0.0.1:{self.inner};")))

    def write(self, size, changes):
        none = scd.free_port()
        with open(self.example, encoding="ascii") as f:
            text = f.read()
        text = text[text.index(self.first_word):]
        for old, new in (
                *changes,
                ("listen 80;", f"listen 127.0.0.1:{self.port};"),
                ("http://127.0.0.1:8085;", f"http://127.0.0.1:{none};"),
                ("listen 127.0.0.1:8085;", f"listen 127.0.0.1:{none};"),
                ("/var/cache/nginx/site", self.cache),
                ("max_size=100g", f"max_size={size}"),
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
        self.path = os.path.join(self.folder, "nginx.conf")
        with open(self.path, "w", encoding="ascii") as f:
            f.write(text)

    def node_options(self):
        """Options of the node beside it."""
        return {**node_options(), "nginx_cache": self.cache,
                "sidecar": f"http://127.0.0.1:{self.inner}"}

    def start(self):
        self.process = scd.Process(
            ["nginx", "-c", self.path, "-p", self.folder, "-e",
             f"{self.folder}/error.log", "-g", "daemon off;"],
            os.path.join(self.folder, "log"))

        def ready():
            assert self.process.alive(), self.process.logged()
            return scd.connectable(self.port) and scd.connectable(self.inner)
        until(ready, 20, what="nginx")
        return self

    def stop(self):
        if self.process:
            assert self.process.end() == 0, self.process.logged()
        self.process = None

    def files(self):
        """The files of its cache, by their paths."""
        return [os.path.join(folder, name)
                for folder, _, names in os.walk(self.cache) for name in names
                if len(name) == 32]

    def file_of(self, target):
        """The one file of a target, once it is written."""
        def find():
            return [path for path in self.files()
                    if f"\nKEY: www.example.com{target}\n".encode()
                    in read(path, 1024)]
        return until(find, what=f"a file for {target}")[0]


class Pairs(beside.Pairs):
    """Some machines, each with an nginx and a digestd beside it."""

    def __init__(self, make_cluster, origin, folder, count, size="100g",
                 **options):
        self.cluster = make_cluster(count, **options)
        self.cluster.origin_url = origin.url
        self.nodes, self.nginx = self.cluster.nodes, []
        for node in self.nodes:
            place = os.path.join(str(folder), node.name)
            os.mkdir(place)
            nginx = Nginx(place, node.data, origin.port, size)
            node.options.update(nginx.node_options())
            self.nginx.append(nginx)

    def start(self):
        for nginx in self.nginx:
            nginx.start()
        self.cluster.start()
        for node in self.nodes:
            until(lambda n=node: n.status()["sidecar"]["nginx"]["follows"],
                  what="the folder is read")
        self.cluster.wait_settled()
        self.cluster.wait_heard()
        return self

    def stop(self):
        for nginx in self.nginx:
            nginx.stop()

"""nginx and Varnish with a module that finds peers in a table that digestd
shares, by docs/examples/nginx-module.conf and varnish-module.vcl. Two of them
with a digestd beside each, and a third node beside a cache that is played: it
holds what it is told, and claims what it is told."""

import ctypes
import mmap
import os
import socket
import subprocess
import time

import cluster as scd
import servers
import sidecars
import varnishes
from cluster import until

BUILD = os.environ.get("top_builddir", ".")
NGINX_MODULE = os.path.join(os.path.abspath(BUILD), "digestd", "modules",
                            "nginx", ".libs", "ngx_http_scd_module.so")
VMOD = os.path.join(os.path.abspath(BUILD), "digestd", "modules", "varnish",
                    ".libs", "libvmod_scd.so")
# Where the modules find libscd: as long as it is not installed, it is here.
os.environ["LD_LIBRARY_PATH"] = os.path.join(os.path.abspath(BUILD), "codec",
                                             ".libs")
EXAMPLES = os.path.dirname(sidecars.EXAMPLE)
HOST = "http://www.example.com"


def names(path, url):
    """The peers that may have a URL, as a table says it to any reader."""
    scd_ = ctypes.CDLL(os.path.join(os.environ["LD_LIBRARY_PATH"],
                                    "libscd.so.0"))
    table, key = (ctypes.c_uint64 * 8)(), (ctypes.c_uint64 * 2)()
    found, name = (ctypes.c_uint * 8)(), ctypes.create_string_buffer(128)
    with open(path, "rb") as f, mmap.mmap(
            f.fileno(), 0, access=mmap.ACCESS_COPY) as mapped:
        memory = ctypes.c_char.from_buffer(mapped)
        assert scd_.scd_shared_table_open(
            ctypes.byref(memory), ctypes.c_size_t(len(mapped)), table) == 0
        assert scd_.scd_shared_table_key(
            table, url.encode(), ctypes.c_size_t(len(url)), key) == 0
        n = scd_.scd_shared_table_lookup(
            table, key, ctypes.c_uint64(int(time.monotonic() * 1000)), found,
            ctypes.c_size_t(8))
        told = []
        for peer in found[:n]:
            scd_.scd_shared_table_name(table, peer, name)
            told.append(name.value.decode())
        del memory
    return told


class Nginx(sidecars.Nginx):
    example = os.path.join(EXAMPLES, "nginx-module.conf")
    first_word = "load_module"
    least_offered_s = 4

    def __init__(self, folder, origin_port):
        self.origin_port = origin_port
        super().__init__(folder, None, origin_port)

    def write(self, size, changes):
        """When the peers are known."""

    def connect(self, table, peers):
        """peers: a name and a port for each of two."""
        (a, a_port), (b, b_port) = peers
        super().write("100g", (
            ("modules/ngx_http_scd_module.so", NGINX_MODULE),
            ("/run/digestd/table", table),
            ("198.51.100.10:80", f"127.0.0.1:{self.origin_port}"),
            ("upstream cache2", f"upstream {a}"),
            ("upstream cache3", f"upstream {b}"),
            ("192.0.2.2:8084", f"127.0.0.1:{a_port}"),
            ("192.0.2.3:8084", f"127.0.0.1:{b_port}"),
            ("listen 8084;", f"listen 127.0.0.1:{self.inner};")))

    def remove(self, target):
        """As an operator purges it."""
        os.unlink(self.file_of(target))

    def wipe(self):
        for path in self.files():
            os.unlink(path)


class Varnish(varnishes.Varnish):
    example = "varnish-module.vcl"
    least_offered_s = 11  # what is fresh for less than 10 s is not offered

    def __init__(self, folder, origin_port):
        super().__init__(folder, None, None, origin_port)

    def write(self, changes):
        """When the peers are known."""

    def connect(self, table, peers):
        (a, a_port), (b, b_port) = peers
        super().write((
            ("import scd;", f'import scd from "{VMOD}";'),
            ("/run/digestd/table", table, 2),
            ('.host = "198.51.100.10";\n\t.port = "80";',
             f'.host = "127.0.0.1";\n\t.port = "{self.origin_port}";'),
            ('.host = "192.0.2.2";\n\t.port = "8084";',
             f'.host = "127.0.0.1";\n\t.port = "{a_port}";'),
            ('.host = "192.0.2.3";\n\t.port = "8084";',
             f'.host = "127.0.0.1";\n\t.port = "{b_port}";'),
            ('peers.add_peer("cache2"', f'peers.add_peer("{a}"'),
            ('peers.add_peer("cache3"', f'peers.add_peer("{b}"')))

    def node_options(self):
        return {"sidecar": f"http://127.0.0.1:{self.inner}",
                "sidecar_feed": self.feed}

    def remove(self, target):
        assert self.get(target, method="PURGE").status == 200

    def wipe(self):
        """The log says it of an object when a request meets the ban."""
        subprocess.run(["varnishadm", "-n", self.work, "ban", "obj.status",
                        "==", "200"], check=True, stdout=subprocess.DEVNULL)


class Played:
    """A cache that is played; which feeds its node."""

    def __init__(self, serve, path):
        self.held, self.path = {}, path
        self.server = serve(self.answer)
        self.port = int(self.server.url.rsplit(":", 1)[1])

    def answer(self, request, _):
        assert request.get("Cache-Control") == "only-if-cached"
        body = self.held.get(request.target)
        if body is None:
            return servers.response(504, {}, b"")
        return servers.response(200, {"Cache-Control": "max-age=60"}, body)

    def claim(self, targets):
        """Has its node say that it holds these."""
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(self.path)
            s.sendall("".join(f"insert {HOST}{t}\n" for t in targets).encode()
                      + b"ack x\n")
            assert b"refused 0" in s.recv(100)

    def asked(self):
        return self.server.count()


class Machines:
    """Two of them with a module, of a class above, and the played one."""

    def __init__(self, make_cluster, origin, serve, folder, kind):
        self.cluster = make_cluster(3, poll="50ms", publish_min="20ms",
                                    expected_objects="1000")
        self.cluster.origin_url = origin.url
        self.nodes, self.proxies = self.cluster.nodes, []
        self.least_offered_s = kind.least_offered_s
        self.played = Played(serve, os.path.join(str(folder), "feed"))
        self.nodes[2].options.update(sidecar=self.played.server.url,
                                     sidecar_feed=self.played.path)
        for node in self.nodes[:2]:
            place = os.path.join(str(folder), node.name)
            os.mkdir(place)
            proxy = kind(place, origin.port)
            node.options.update(proxy.node_options(),
                                share_table=os.path.join(place, "table"))
            self.proxies.append(proxy)
        for i, proxy in enumerate(self.proxies):
            proxy.connect(self.nodes[i].options["share_table"], (
                (self.nodes[1 - i].name, self.proxies[1 - i].inner),
                (self.nodes[2].name, self.played.port)))

    def start(self):
        for proxy in self.proxies:
            proxy.start()
        self.cluster.start()
        self.cluster.wait_settled()
        self.cluster.wait_heard()
        for i in range(2):
            self.wait_share(i, peers=2)
        return self

    def stop(self):
        for proxy in self.proxies:
            proxy.stop()

    def share(self, i):
        return self.nodes[i].status()["share"]

    def wait_share(self, i, **wanted):
        """A machine's table has so many peers, or entries."""
        until(lambda: all(self.share(i)[name] == value
                          for name, value in wanted.items()), 20,
              what=f"{wanted}, not {self.share(i)}")

    def is_claimed(self, whose, target):
        """Some table says that a node has a target."""
        return any(self.nodes[whose].name in names(
            node.options["share_table"], HOST + target)
            for i, node in enumerate(self.nodes[:2]) if i != whose)

    def wait_claims(self, whose, target):
        """All tables say that a node has a target."""
        for i, node in enumerate(self.nodes[:2]):
            if i != whose:
                until(lambda n=node: self.nodes[whose].name in names(
                    n.options["share_table"], HOST + target), 20,
                      what=f"{target} of {self.nodes[whose].name}")

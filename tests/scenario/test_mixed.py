"""Caches of all kinds in one mesh: Squids, nodes with a store of their own, and
an nginx, a Varnish, a Traffic Server and a Squid with a node beside each."""

import shutil
import signal
import types

import pytest

import cluster as scd
import sidecars
import squids
import test_squid_sidecar
import trafficservers
import varnishes
from cluster import until

HOST = "www.example.com"
TRACES = [f"gen:upisa,requests=200,seed={seed}" for seed in (5, 6)]


def keys_for_squids(node):
    return node.status()["squid"]["keys"]


def keys_offered(node):
    """What came from peers is for a node's own clients."""
    return node.status()["digest"]["keys"]


def keys_held(node):
    status = node.status()
    return (status["sidecar"] or {"keys": status["store"]["objects"]})["keys"]


class Mesh:
    """Two Squids, two nodes, and an nginx whose sidecar is the third node.
    Each follows all others."""

    def __init__(self, make_cluster, folder):
        self.cluster = make_cluster(3, poll="100ms", squid_period="1s",
                                    squid_peers="127.0.0.1")
        self.cluster.start_origin()
        self.nodes, self.beside = self.cluster.nodes, self.cluster.nodes[2]
        self.squids = [squids.Squid(), squids.Squid()]
        self.nginx = sidecars.Nginx(folder, self.beside.data,
                                    self.cluster.origin_port)
        self.beside.options.update(self.nginx.node_options())
        for node in self.nodes:
            node.lines = [f'peer "{name}" {{ url = "{squid.url}" '
                          'kind = "squid" }'
                          for name, squid in zip(("s1", "s2"), self.squids)]
        # who gets whose requests in a replay that is turned, see turned()
        self.order = [self.squids[0].port, self.nodes[0].data, self.nginx.port,
                      self.squids[1].port, self.nodes[1].data]

    def start(self):
        for squid in self.squids:
            self.configure(squid, self.siblings(squid)[0])
            squid.make_store()
            squid.start(wait=False)
        self.nginx.start()
        for squid in self.squids:
            squid.wait_ready()
        self.cluster.start()
        self.cluster.wait_settled()
        self.cluster.wait_heard()

    def stop(self):
        for squid in self.squids:
            squid.remove()
        self.nginx.stop()

    def siblings(self, squid):
        """The ports at which a Squid asks others."""
        return [other.port for other in self.squids if other is not squid] \
            + [node.peer for node in self.nodes]

    def configure(self, squid, first):
        """It fetches one digest a minute, the first one at once."""
        ports = sorted(self.siblings(squid), key=lambda port: port != first)
        squid.configure(
            squids.STORE + squids.ORIGIN + "".join(
                f"cache_peer 127.0.0.1 sibling {port} 0 no-query "
                f"no-netdb-exchange proxy-only name=port{port}\n"
                for port in ports), origin=self.cluster.origin_port)

    def restart(self, *firsts):
        """The Squids, with digests of these peers, which a miss makes them
        fetch."""
        for squid in self.squids:
            squid.process.signal(signal.SIGTERM)
        for squid, first in zip(self.squids, firsts):
            squid.process.wait()
            self.configure(squid, first)
            squid.start(wait=False)
        for squid in self.squids:
            squid.wait_ready()
        self.wait_digests()
        for squid, first in zip(self.squids, firsts):
            miss = f"http://www.example.com/{first}"
            assert squid.get(miss).status == 200
        for squid in self.squids:
            until(lambda s=squid: any(s.digests()), 20, what="a digest")

    def replay(self, trace, turns=0):
        """Each request goes to the cache so many places behind the one that
        had it first. All are answered, byte by byte."""
        order = self.order[turns:] + self.order[:turns]
        report, code = self.cluster.replay(
            trace, "--proxy", "--verify", "all", "--concurrency", "8",
            nodes=[types.SimpleNamespace(data=port) for port in order])
        assert report["total"]["errors"]["total"] == 0 and code == 0, report

    def wait_digests(self):
        """Everybody knows what everybody holds, but the Squids, see restart().
        """
        until(lambda: self.beside.status()["sidecar"]["keys"]
              == len(self.nginx.files()), what="nginx is followed")
        for squid in self.squids:
            until(lambda s=squid: s.claims(s.stored()), 20,
                  what="a Squid's digest")
        for node in self.nodes:
            self.wait_fetches(node)
            until(lambda n=node: keys_for_squids(n) == keys_offered(n),
                  what="a digest for Squids")
        self.cluster.wait_settled()

    @staticmethod
    def wait_fetches(node):
        """A node has fetched the Squids' digests, from now on."""
        def fetches(name):
            p = node.peer_status(name)
            return p["usable"] and p["unchanged"] + p["full_received"]
        for name in ("s1", "s2"):
            # one may be under way
            until(lambda n=name, end=fetches(name) + 2: fetches(n) >= end,
                  what="a digest of a Squid")

    def found(self):
        """How many hits each kind had at each other kind."""
        kinds = dict(zip(["s1", "n1", "nginx", "s2", "n2"],
                         ["squid", "node", "nginx", "squid", "node"]))
        count = {}

        def add(who, whom, hits):
            pair = kinds[who], kinds[whom]
            count[pair] = count.get(pair, 0) + hits
        for who, node in zip(("n1", "n2", "nginx"), self.nodes):
            for peer in node.status()["peers"]:
                add(who, peer["name"].replace("n3", "nginx"),
                    peer["remote_hits"])
        ports = {self.squids[0].port: "s1", self.squids[1].port: "s2",
                 self.nodes[0].peer: "n1", self.nodes[1].peer: "n2",
                 self.beside.peer: "nginx"}
        for who, squid in zip(("s1", "s2"), self.squids):
            for row in squid.rows():
                if row.way == "CD_SIBLING_HIT":
                    add(who, ports[row.port], row.status == "200")
        return count


@pytest.fixture
def mesh(make_cluster, tmp_path):
    m = Mesh(make_cluster, tmp_path)
    try:
        m.start()
        yield m
    finally:
        m.stop()


@pytest.mark.skipif(not (shutil.which("squid") and shutil.which("nginx")),
                    reason="squid or nginx is not installed")
def test_each_kind_finds_hits_at_each_other(mesh):
    for trace in TRACES:
        mesh.replay(trace)
    mesh.restart(mesh.nodes[1].peer, mesh.beside.peer)
    # a node asks a Squid, the nginx a node, a Squid the nginx, and a Squid a
    # node; then the nginx a Squid, and a node the nginx and another node
    for turns, trace in enumerate(TRACES, 1):
        mesh.replay(trace, turns)
    found = mesh.found()
    # of Squids among themselves nothing is promised: those up to 7 spoil the
    # digests that they send each other
    for pair in [("squid", "node"), ("squid", "nginx"), ("node", "squid"),
                 ("node", "nginx"), ("nginx", "squid"), ("nginx", "node"),
                 ("node", "node")]:
        assert found.get(pair, 0) >= 5, (pair, found)
    counters = [node.counters() for node in mesh.nodes]
    assert all(c["peer_served"] > 0 for c in counters)


class Whole:
    """A node of its own, one beside each kind of cache, and a plain Squid that
    has all of them as siblings; each node follows all others, and that Squid.
    """

    EACH = 20  # objects that each has before it asks others

    def __init__(self, make_cluster, origin, folder):
        self.cluster = make_cluster(5, poll="100ms", squid_period="1s",
                                    squid_peers="127.0.0.1")
        self.cluster.origin_url, self.origin = origin.url, origin
        self.nodes, self.plain = self.cluster.nodes, squids.Squid()
        for name in ("nginx", "varnish"):
            (folder / name).mkdir()
        _, nginx, varnish, server, squid = self.nodes
        self.nginx = sidecars.Nginx(folder / "nginx", nginx.data, origin.port)
        self.varnish = varnishes.Varnish(folder / "varnish", varnish.data,
                                         varnish.admin, origin.port)
        self.server = trafficservers.TrafficServer(folder / "ts", server.data,
                                                   origin.port)
        self.beside = test_squid_sidecar.Squid(squid.data)
        nginx.options.update(self.nginx.node_options())
        for node, port, feed in (
                (varnish, self.varnish.inner, self.varnish.feed),
                (server, self.server.port, self.server.feed),
                (squid, self.beside.inner, self.beside.feed)):
            node.options.update(sidecar=f"http://127.0.0.1:{port}",
                                sidecar_feed=feed)
        for node in self.nodes:
            node.lines = [f'peer "plain" {{ url = "{self.plain.url}" '
                          'kind = "squid" }']
        # a kind, and how a client of it asks
        self.kinds = {"node": self.nodes[0].data, "nginx": self.nginx.port,
                      "varnish": self.varnish.port, "ts": self.server.port,
                      "squid": self.beside.port, "plain": self.plain.port}

    def configure(self, first):
        """It fetches one digest a minute, the first one at once."""
        ports = sorted((node.peer for node in self.nodes),
                       key=lambda port: port != first)
        self.plain.configure(
            squids.STORE + squids.ORIGIN + "".join(
                f"cache_peer 127.0.0.1 sibling {port} 0 no-query "
                f"no-netdb-exchange proxy-only name=port{port}\n"
                for port in ports), origin=self.origin.port)

    def start(self):
        self.varnish.launch()
        self.server.launch()
        self.configure(self.nodes[0].peer)
        self.plain.make_store()
        self.plain.start(wait=False)
        self.cluster.start()
        self.nginx.start()
        self.varnish.start().follow()
        self.server.start().follow()
        self.beside.start().follow()
        self.plain.wait_ready()
        self.cluster.wait_heard()
        # that each log is followed is known by an object
        for i, kind in enumerate(self.kinds):
            self.get(kind, f"/followed/{i}")
        for node in self.nodes:
            until(lambda n=node: keys_held(n), 20, what="what is held")

    def stop(self):
        self.nginx.stop()
        self.varnish.stop_follower()
        self.varnish.stop()
        self.server.stop_follower()
        self.server.stop()
        self.beside.stop()
        self.plain.remove()

    def get(self, kind, path):
        """How often the origin is asked for what a cache answers."""
        if path not in self.origin.pages:
            test_squid_sidecar.page(self.origin, path)
        asked = self.origin.count(path)
        target = path if kind not in ("squid", "plain") \
            else f"http://{HOST}{path}"
        r = scd.request(self.kinds[kind], target, host=HOST)
        assert (r.status, r.body) == (200, b"page " + path.encode()), \
            (kind, path, r.status)
        return self.origin.count(path) - asked

    def know(self, objects):
        """All know what all hold, of which each has so many, at least."""
        for node in self.nodes:
            until(lambda n=node: keys_held(n) >= objects, 20,
                  what=f"{objects}, not {keys_held(node)}")
        until(lambda: self.plain.claims(
            f"http://{HOST}/plain/{i}" for i in range(self.EACH)), 20,
              what="the Squid's digest")
        self.cluster.wait_settled()
        for node in self.nodes:
            end = node.peer_status("plain")
            end = end["unchanged"] + end["full_received"] + 2
            until(lambda n=node, e=end: (lambda p: p["unchanged"]
                  + p["full_received"])(n.peer_status("plain")) >= e,
                  what="the Squid's digest is fetched")



@pytest.fixture
def whole(make_cluster, origin, tmp_path):
    m = Whole(make_cluster, origin, tmp_path)
    try:
        m.start()
        yield m
    finally:
        m.stop()


@pytest.mark.skipif(not all(shutil.which(program) for program in (
    "squid", "nginx", "varnishd", "varnishlog", "traffic_server")),
                    reason="one of the programs is not installed")
def test_all_kinds_consult_each_other(whole):
    m = whole
    for kind in m.kinds:
        for i in range(m.EACH):
            assert m.get(kind, f"/{kind}/{i}") == 1
    m.know(m.EACH)
    # each asks for what each other one has, no object twice; the plain Squid
    # has one of the digests alone, and has its turn below
    found = {}
    askers = [kind for kind in m.kinds if kind != "plain"]
    for n, who in enumerate(askers):
        for whom in m.kinds:
            if whom != who:
                found[who, whom] = sum(
                    not m.get(who, f"/{whom}/{3 * n + i}") for i in range(3))
    assert all(found.values()), found
    assert sum(found.values()) >= 3 * len(found) * .9, found
    # and it finds what each of them has, one digest after the other
    for i, (kind, node) in enumerate(zip(list(m.kinds)[1:], m.nodes[1:])):
        until(lambda n=node: keys_for_squids(n) >= keys_offered(n),
              what="a digest for Squids")
        m.plain.process.signal(signal.SIGTERM)
        m.plain.process.wait()
        m.configure(node.peer)
        m.plain.start()
        m.get("plain", f"/first/{i}")
        until(lambda: any(m.plain.digests()), 20, what="a digest")
        # of the last ones nobody else has a copy
        assert not all(m.get("plain", f"/{kind}/{n}")
                       for n in range(m.EACH - 4, m.EACH)), kind

"""Caches of three kinds in one mesh: Squids, an nginx with a node beside it,
and nodes with a store of their own."""

import shutil
import signal
import types

import pytest

import sidecars
import squids
from cluster import until

TRACES = [f"gen:upisa,requests=200,seed={seed}" for seed in (5, 6)]


def keys_for_squids(node):
    return node.status()["squid"]["keys"]


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
            until(lambda n=node: keys_for_squids(n) == keys_held(n),
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

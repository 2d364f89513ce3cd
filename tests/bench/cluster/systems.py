"""What is measured: some nodes of one size before one origin, and by what they
act as one cache. A row of all_rows() is a name, a sentence, and what starts it.

A system says where its clients connect, how much its processes had of the
processor, what went between them, and whether what its nodes count as fetched
is what the origin counts as served. Nodes may be lost and started again.
"""

import collections
import dataclasses
import os
import re
import subprocess
import tempfile

import caches
import cluster
import fronts
import measured


@dataclasses.dataclass(frozen=True)
class Plan:
    """Of a cluster: what is the same for all systems."""

    nodes: int
    cache_bytes: int  # of each
    origin_port: int
    options: tuple = ()  # of digestd, beside what it ships with
    disk_bytes: int = 0  # of each node of digestd; 0: it has none


class System:
    """Members are numbered; `lost` are those that do not run."""

    front = None  # what clients connect to, in place of members
    counts = False  # whether it has node_counts()

    def __init__(self, plan, folder):
        self.plan, self.folder = plan, folder
        self.lost = set()
        self.spent = collections.Counter()  # by those that have ended
        try:
            self.start()
        except BaseException:
            self.end()
            raise

    # A subclass has start(), end(), members() as (name, process),
    # member_port(i), end_member(i, kill) and start_member(i).

    def others(self):
        """Processes beside those of members."""
        return []

    def node_counts(self):
        """Bytes between nodes, and requests and bytes from the origin, as the
        nodes count them, with the requests that were given up as a peer
        answered first; None: they do not."""
        return None

    # What all have:

    def lose(self, i, kill=True):
        """Ends a member: at once, or as it is told to."""
        name, process = self.members()[i]
        self.spent[name] += measured.cpu_seconds(process.popen.pid)
        self.end_member(i, kill)
        self.lost.add(i)

    def bring_back(self, i):
        self.start_member(i)
        self.lost.discard(i)

    def doors(self):
        """Ports, of which a client always has the same: those of a member that
        is lost go to all others."""
        n = self.plan.nodes
        running = [i for i in range(n) if i not in self.lost]
        ports, turn = [], 0
        for _ in range(max(1, n - 1)):
            for i in range(n):
                if i in self.lost:
                    i = running[turn % len(running)]
                    turn += 1
                ports.append(self.member_port(i))
        return ports

    def cpu(self):
        """Seconds by process, with those that have ended."""
        total = collections.Counter(self.spent)
        running = [m for i, m in enumerate(self.members())
                   if i not in self.lost]
        for name, process in running + self.others():
            total[name] += measured.cpu_seconds(process.popen.pid)
        return total


class Digestd(System):
    """Nodes of digestd; their clients go to any."""

    cooperate, counts = True, True
    options = {}  # beside what it ships with

    def start(self):
        self.before = collections.Counter()  # of nodes that were ended
        self.door = None
        options = {**self.options, **dict(self.plan.options)}
        self.cluster = cluster.Cluster(
            self.plan.nodes, self.cooperate, log_level="warning",
            cache_size=str(self.plan.cache_bytes), **options)
        for node in self.cluster.nodes:
            if self.plan.disk_bytes:
                node.options["disk_path"] = os.path.join(self.folder, node.name)
                node.options["disk_size"] = str(self.plan.disk_bytes)
        self.cluster.origin_url = f"http://127.0.0.1:{self.plan.origin_port}"
        self.cluster.start()
        if self.cooperate and self.plan.nodes > 1:
            self.cluster.wait_settled()
        if self.front:
            self.door = self.front([n.data for n in self.cluster.nodes],
                                   self.folder)

    def members(self):
        return [(n.name, n.process) for n in self.cluster.nodes]

    def others(self):
        return [("front", self.door.process)] if self.door else []

    def member_port(self, i):
        return self.cluster.nodes[i].data

    def doors(self):
        return [self.door.port] if self.door else super().doors()

    def counts_of(self, node):
        s = node.status()
        c, d = s["counters"], s["digest"]
        return collections.Counter(
            between=c["peer_bytes"] + d["full_sent_bytes"]
            + d["delta_sent_bytes"],
            fetches=c["origin_fetches"],
            given_up=c["hedges"] - c["hedges_won"],
            bytes=c["origin_bytes"])

    def node_counts(self):
        total = collections.Counter(self.before)
        for i, node in enumerate(self.cluster.nodes):
            if i not in self.lost:
                total += self.counts_of(node)
        return total

    def end_member(self, i, kill):
        node = self.cluster.nodes[i]
        self.before += self.counts_of(node)
        if kill:
            node.process.kill()
        else:
            node.process.end()

    def start_member(self, i):
        self.cluster.nodes[i].start()

    def end(self):
        if self.door:
            self.door.end()
        self.cluster.stop()
        bad = [p.logged() for p in self.cluster.processes
               if p.popen.returncode not in (0, -9)]
        self.cluster.remove()
        if bad:
            raise RuntimeError("a node ended badly:\n" + bad[0])


class Plain(Digestd):
    """Nodes that do not know each other."""

    cooperate = False


class VarnishNodes(System):
    """Nodes of Varnish, each of which has what a consistent hash says is its
    own, and passes on the rest: clients go to any."""

    name = "varnish-nodes"

    class Node(fronts.Server):
        program = "varnishd"

        def __init__(self, system, i):
            self.system, self.name = system, f"n{i + 1}"
            super().__init__(system.plan.origin_port,
                             tempfile.mkdtemp(dir=system.folder))

        def start(self, origin_port):
            self.port = self.system.ports[int(self.name[1:]) - 1]
            vcl = self.write("node.vcl", self.system.vcl(self.name,
                                                         origin_port))
            return [self.installed(), "-F", "-a", f"127.0.0.1:{self.port}",
                    "-f", vcl, "-s", f"malloc,{self.system.plan.cache_bytes}b",
                    "-s", "Transient=malloc,64m",
                    "-p", "thread_pool_min=10", "-p", "default_grace=0",
                    "-n", os.path.join(self.folder, "varnish")]

    def vcl(self, own, origin_port):
        names = [f"n{i + 1}" for i in range(self.plan.nodes)]
        return ("vcl 4.1;\nimport directors;\n"
                + fronts.backend("origin", origin_port)
                + "".join(fronts.backend(n, p, "" if n == own else VCL_PROBE)
                          for n, p in zip(names, self.ports))
                + fronts.shards(names) + VCL_NODE.replace("OWN", own)
                + fronts.RETRY)

    def start(self):
        self.ports = [cluster.free_port() for _ in range(self.plan.nodes)]
        self.nodes = []
        for i in range(self.plan.nodes):
            self.nodes.append(self.Node(self, i))

    def members(self):
        return [(n.name, n.process) for n in self.nodes]

    def member_port(self, i):
        return self.ports[i]

    def end_member(self, i, kill):
        if kill:  # the child that serves dies with its manager
            for pid in measured.processes(self.nodes[i].process.popen.pid)[1:]:
                os.kill(pid, 9)
            self.nodes[i].process.kill()
        else:
            self.nodes[i].end()

    def start_member(self, i):
        self.nodes[i] = self.Node(self, i)

    def end(self):
        for i, node in enumerate(self.nodes):
            if i not in self.lost:
                node.end()


VCL_PROBE = """.probe = {{
        .request = "GET /probe HTTP/1.1" "Host: probe" "Connection: close";
        .expected_response = 204;
        .interval = 200ms; .timeout = 2s;
        .window = 2; .threshold = 1; .initial = 1;
    }}"""
# Cache-Status says what scd-replay reads: where an answer came from.
VCL_NODE = """
sub vcl_recv {
    if (req.http.Host == "probe") { return (synth(204)); }
    set req.backend_hint = nodes.backend(by=URL, resolve=NOW);
    if (req.backend_hint == OWN || req.http.X-Shard) {
        set req.backend_hint = origin;
        return (hash);
    }
    set req.http.X-Shard = "OWN";
    set req.http.X-Passed = "yes";
    return (pass);
}
sub vcl_backend_fetch {
    unset bereq.http.X-Passed;
    if (bereq.retries > 0) { set bereq.backend = origin; }
}
sub vcl_deliver {
    if (req.http.X-Passed) {
        if (resp.http.Cache-Status ~ "; hit") {
            set resp.http.Cache-Status = {"OWN; fwd=bypass; detail="peer=n""};
        } else {
            set resp.http.Cache-Status = "OWN; fwd=bypass";
        }
    } else if (obj.hits > 0) {
        set resp.http.Cache-Status = "OWN; hit";
    } else {
        set resp.http.Cache-Status = "OWN; fwd=uri-miss";
    }
}
"""


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    text: str
    make: type
    needs: type = None  # a program that must be installed

    @property
    def is_hash(self):
        """Others are compared with the first of these."""
        return issubclass(self.make, Plain) and self.make.front is not None


def placements():
    """Those that digestd has, as it says itself of one that it has not."""
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as f:
        f.write('placement = "?"\n')
        f.flush()
        done = subprocess.run([cluster.DIGESTD, "-t", "-c", f.name],
                              stdout=subprocess.PIPE, check=False,
                              stderr=subprocess.STDOUT, text=True)
    words = re.search(r'placement: "\?" is not (.*)', done.stdout)
    if not words:
        raise RuntimeError(f"digestd names no placements: {done.stdout}")
    return re.split(r", | or ", words[1].strip())


# Placements with more options than their own: name, options.
MORE = (("second-leases", {"placement": "second", "leases": True}),
        ("single-leases", {"placement": "single", "leases": True}))


def digests():
    """(name, options) of all rows of nodes with digests."""
    return [(p, {"placement": p}) for p in placements()] + list(MORE)


def behind(front, base):
    return type(f"{base.__name__}Behind{front.__name__}", (base,),
                {"front": front})


FRONTS = (fronts.Haproxy, fronts.Nginx, fronts.Varnish, fronts.TrafficServer)


def all_rows():
    """In the order of the table: hashes, digests, and what has neither."""
    rows = [Row(front.name, f"{front.name} with consistent hashing before "
                "nodes that know nothing of each other",
                behind(front, Plain), front) for front in FRONTS]
    rows.append(Row("varnish-nodes", "nodes of Varnish with its shard director",
                    VarnishNodes, fronts.Varnish))
    for name, options in digests():
        told = ", ".join(f"{k} = {v}".lower() for k, v in options.items())
        rows.append(Row(name, f"nodes with digests; clients go to any: {told}",
                        type("Digestd_" + name, (Digestd,),
                             {"options": options})))
    rows.append(Row("haproxy-digests", "haproxy with consistent hashing before "
                    "nodes with digests, as they ship",
                    behind(fronts.Haproxy, Digestd), fronts.Haproxy))
    rows.append(Row("alone", "nodes that know nothing of each other; clients "
                    "go to any", Plain))
    return rows

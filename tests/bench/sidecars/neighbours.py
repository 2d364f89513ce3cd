"""What is measured: some proxies of one size before one origin, alone, with a
digestd beside each, or with digests of their own. A row of ROWS is a name, a
sentence, and what starts it.

A system says where its clients connect, what it found at other machines, what
it was promised there in vain, and how large the digests were that went between
them. It can lose an object in a way that its digest does not show at once, so
that the time that this costs can be measured.
"""

import dataclasses
import hashlib
import http.client
import os
import shutil
import time
import types

import cluster
import sidecars
import squids
import varnishes
from cluster import until

DIGEST_PERIOD_S = 5  # of a Squid; 3,600 as it ships
SQUID_MEMORY_MB = 4
HALFWAY_S = 120  # in which a Squid has read its store anew
OFFERED_S = 1  # within which what is held is in the node's digest
# As it ships, Varnish ends an answer that 50 objects do not make room for.
VARNISH_MORE = ["-p", "nuke_limit=10000"]


@dataclasses.dataclass
class Found:
    """What came of digests so far."""

    remote_hits: int = 0
    false_hits: int = 0
    digest_bytes: int = 0

    def plus(self, other, sign=1):
        return Found(*(a + sign * b for a, b in zip(
            dataclasses.astuple(self), dataclasses.astuple(other))))

    def since(self, before):
        return self.plus(before, -1)


class System:
    """A subclass has start(), end() and member_port(i)."""

    front = None
    load = ()  # options of scd-replay
    digests = True  # whether there are any
    proxy = False  # whether requests name the whole URL

    def __init__(self, plan, folder):
        self.plan, self.folder = plan, folder
        # What the helpers of the scenarios want of an origin.
        self.origin = types.SimpleNamespace(
            port=plan.origin_port, url=f"http://127.0.0.1:{plan.origin_port}")
        try:
            self.start()
        except BaseException:
            self.end()
            raise

    def doors(self):
        return [self.member_port(i) for i in range(self.plan.nodes)]

    def place(self, i):
        place = os.path.join(self.folder, f"m{i}")
        os.mkdir(place)
        return place

    def size(self):
        """As nginx and Varnish write it."""
        return f"{self.plan.cache_bytes >> 10}k"

    def halfway(self):
        """Between the halves of the trace."""

    def found(self):
        return Found()

    def target(self, url):
        return url if self.proxy else "/" + url.split("/", 3)[3]

    def get(self, i, url):
        """What a machine answers on a connection of its own."""
        return cluster.request(self.member_port(i), self.target(url),
                               host=url.split("/")[2])

    def hold_for_probes(self, i, urls):
        """Has a machine hold these, and all others know it."""
        for url in urls:
            assert self.get(i, url).status == 200, url

    def forget(self, i, url):
        """Loses an object, as far as a machine can at once."""

    can_forget = False


class Beside(System):
    """With a digestd beside each, which the helpers of the scenarios start;
    self.pairs is theirs."""

    can_forget = True
    made = None

    def make_cluster(self, count, **options):
        self.made = cluster.Cluster(count, log_level="warning",
                                    **{**options, **dict(self.plan.options)})
        return self.made

    def nodes(self):
        return self.made.nodes

    def found(self):
        total = Found()
        for node in self.nodes():
            s = node.status()
            total.remote_hits += s["counters"]["remote_hits"]
            total.false_hits += s["counters"]["false_hits"]
            total.digest_bytes += sum(
                p["full_received_bytes"] + p["delta_received_bytes"]
                for p in s["peers"])
        return total

    def vain(self, i):
        return self.nodes()[i].counters()["false_hits"]

    def hold_for_probes(self, i, urls):
        """A full cache loses others for them, so that no count says when."""
        super().hold_for_probes(i, urls)
        time.sleep(OFFERED_S)
        self.made.wait_settled(20)

    def end_nodes(self):
        if self.made:
            self.made.stop()
            bad = [p.logged() for p in self.made.processes
                   if p.popen.returncode not in (0, -9)]
            self.made.remove()
            if bad:
                raise RuntimeError("a node ended badly:\n" + bad[0])


class Alone(System):
    """Proxies without digests; self.members are helpers of the scenarios."""

    digests = False

    def __init__(self, plan, folder):
        self.members = []
        super().__init__(plan, folder)

    def member_port(self, i):
        return self.members[i].port

    def end(self):
        for member in self.members:
            member.stop()


class Nginx(Alone):
    needs = ("nginx",)

    def start(self):
        for i in range(self.plan.nodes):
            nginx = sidecars.Nginx(self.place(i), self.plan.origin_port,
                                   self.plan.origin_port, self.size())
            self.members.append(nginx)
            nginx.start()


class NginxBeside(Beside):
    needs = ("nginx",)

    def start(self):
        self.pairs = None
        self.pairs = sidecars.Pairs(
            self.make_cluster, self.origin, self.folder, self.plan.nodes,
            self.size())
        self.pairs.start()

    def member_port(self, i):
        return self.pairs.nginx[i].port

    def forget(self, i, url):
        """By the file's name, levels=1:2: its lines would be read too late."""
        key = hashlib.md5(url.split("//")[1].encode()).hexdigest()
        os.unlink(os.path.join(self.pairs.nginx[i].cache, key[-1],
                               key[-3:-1], key))

    def end(self):
        if self.pairs:
            self.pairs.stop()
        self.end_nodes()


class Varnish(Alone):
    needs = ("varnishd", "varnishlog")

    def start(self):
        for i in range(self.plan.nodes):
            # no digestd answers its probe, so the origin is asked
            self.members.append(varnishes.Varnish(
                self.place(i), cluster.free_port(), cluster.free_port(),
                self.plan.origin_port, self.size(), VARNISH_MORE))
        for varnish in self.members:
            varnish.launch()
        for varnish in self.members:
            varnish.start()


class VarnishBeside(Beside):
    needs = ("varnishd", "varnishlog")

    def start(self):
        self.pairs = None
        self.pairs = varnishes.Pairs(
            self.make_cluster, self.origin, self.folder, self.plan.nodes,
            self.size())
        for varnish in self.pairs.varnish:
            varnish.more += VARNISH_MORE
        self.pairs.start()

    def member_port(self, i):
        return self.pairs.varnish[i].port

    def forget(self, i, url):
        """By a ban, which the log does not have before a request meets it."""
        self.pairs.varnish[i].ban(self.target(url))

    def end(self):
        if self.pairs:
            self.pairs.stop()
        self.end_nodes()


# Beside what a scenario's has: more in the log, purges, ways that pay nothing.
SQUID = """
http_port 127.0.0.1:{port}
acl purge method PURGE
http_access allow purge
http_access allow all
logformat ways %Ss/%03>Hs %<st %rm %ru %Sh
access_log stdio:{folder}/ways logformat=ways
cache_mem {memory_mb} MB
cache_dir ufs {folder}/cache {disk_mb} 16 256
digest_rebuild_period {period_s} seconds
digest_rewrite_period {period_s} seconds
digest_rebuild_chunk_percentage 100
minimum_direct_rtt 0
minimum_direct_hops 0
refresh_pattern . 0 20% 4320
# digests of siblings go no other way
acl digests urlpath_regex ^/squid-internal-periodic/
always_direct allow digests
never_direct allow !digests
"""


def parent(port):
    """Where its misses go: an origin, or what stands for one."""
    return (f"cache_peer 127.0.0.1 parent {port} 0 no-query no-digest "
            "originserver name=origin\n")


def sibling(port):
    """Another Squid whose digest it fetches, as its example has nodes."""
    return (f"cache_peer 127.0.0.1 sibling {port} 0 no-query "
            f"no-netdb-exchange proxy-only name=sibling{port}\n")


class OneSquid(squids.Squid):
    """With a cache_dir, without which it publishes no digest."""

    def prepare(self, peers, disk_mb):
        self.configure(SQUID + "".join(peers), disk_mb=disk_mb,
                       memory_mb=SQUID_MEMORY_MB, period_s=DIGEST_PERIOD_S)
        self.make_store()

    def ways(self):
        """(code/status, bytes, method, URL, by whom) of all that it was asked
        for."""
        rows = [line.split() for line in self.lines("ways")]
        return [row for row in rows if len(row) == 5]


class Squid(System):
    digests = False
    load = ("--proxy",)
    proxy = True
    needs = ("squid",)

    def start(self):
        self.prepare()
        for squid in self.squids:
            squid.start()

    def prepare(self):
        self.squids = [OneSquid() for _ in range(self.plan.nodes)]
        ports = [squid.port for squid in self.squids]
        for i, squid in enumerate(self.squids):
            squid.prepare(self.peers(i, ports),
                          max(1, self.plan.cache_bytes >> 20))

    def peers(self, _, __):
        return [parent(self.plan.origin_port)]

    def member_port(self, i):
        return self.squids[i].port

    def end(self):
        for squid in self.squids:
            squid.remove()


class SquidSiblings(Squid):
    """Each has the others as siblings, whose digests it fetches."""

    digests = True

    def peers(self, i, ports):
        return super().peers(i, ports) + [
            sibling(port) for n, port in enumerate(ports) if n != i]

    def halfway(self):
        """A Squid asks for a digest when it first needs it, and for the next
        five minutes after the one has expired: in the time of a replay it
        would know empty caches only. Started anew, it asks again. Of what it
        has fetched last a full one does not keep all."""
        held = [[url for code, _, _, url, by in s.ways()
                 if code == "TCP_MISS/200" and by == "FIRSTUP_PARENT"
                 and url in kept][-100:-50]
                for s, kept in ((s, s.stored()) for s in self.squids)]
        for squid in self.squids:
            squid.process.end()
        for squid in self.squids:
            squid.start()
        for squid, urls in zip(self.squids, held):
            until(lambda s=squid, u=urls: s.claims(u, .9), HALFWAY_S, .2,
                  "a digest of what it holds")

    def found(self):
        total = Found()
        for squid in self.squids:
            for code, size, _, url, by in squid.ways():
                if url.endswith(squids.STORE_DIGEST):
                    total.digest_bytes += int(size)
                elif code.endswith("/504"):
                    total.false_hits += 1
                elif by in ("CD_SIBLING_HIT", "SIBLING_HIT"):
                    total.remote_hits += 1
        return total

    def asked_in_vain(self):
        """URLs that a sibling was asked for and did not have."""
        return {url for squid in self.squids
                for code, _, _, url, _ in squid.ways()
                if code.endswith("/504")}


class SquidBeside(Squid, Beside):
    """Each sends its misses to a digestd that follows the digests of the
    others' Squids, and stores nothing; no Squid knows of another."""

    digests = True
    can_forget = True

    def start(self):
        self.squids = []
        c = self.make_cluster(self.plan.nodes, cooperate=False)
        c.origin_url = self.origin.url
        self.prepare()
        for i, node in enumerate(c.nodes):
            node.options["sidecar"] = f"http://127.0.0.1:{self.member_port(i)}"
            node.lines = [
                f'peer "squid{n}" {{ url = "http://127.0.0.1:{squid.port}" '
                'kind = "squid" }' for n, squid in enumerate(self.squids)
                if n != i]
        # Squid answers 502 for a while if its parent was not there at first
        c.start()
        for squid in self.squids:
            squid.start()
        for node in c.nodes:
            until(lambda n=node: all(p["digest"] for p in n.status()["peers"]),
                  30, what="digests of Squids")

    def peers(self, i, _):
        return [parent(self.nodes()[i].data)]

    def hold_for_probes(self, i, urls):
        System.hold_for_probes(self, i, urls)
        until(lambda: self.squids[i].claims(urls), 5 * DIGEST_PERIOD_S, .2,
              "probes in the digest")
        node = self.nodes()[1 - i]
        n = node.peer_status(f"squid{i}")["unchanged"]
        until(lambda: node.peer_status(f"squid{i}")["unchanged"] > n + 1, 20,
              what="digest is followed")

    def forget(self, i, url):
        assert cluster.request(self.member_port(i), url,
                               method="PURGE").status == 200

    def end(self):
        super().end()
        self.end_nodes()


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    text: str
    make: type

    def missing(self):
        """A program that it needs and that is not here."""
        return next((p for p in self.make.needs if not shutil.which(p)), None)


ROWS = (
    Row("nginx", "nginx that know nothing of each other", Nginx),
    Row("nginx-digestd", "the same with a digestd beside each, as "
        "docs/examples/nginx-sidecar.conf has it", NginxBeside),
    Row("squid", "Squids that know nothing of each other", Squid),
    Row("squid-digests", "Squids that are siblings by their own digests; "
        "started anew after half of the trace, as they ask for digests too "
        "seldom for a replay", SquidSiblings),
    Row("squid-digestd", "Squids that send their misses to a digestd beside "
        "each, which follows the digests of the others", SquidBeside),
    Row("varnish", "Varnishes that know nothing of each other", Varnish),
    Row("varnish-digestd", "the same with a digestd beside each, as "
        "docs/examples/varnish-sidecar.vcl has it", VarnishBeside),
)


def timed_get(connection, system, url):
    """Seconds until an object has come, on a connection that is kept."""
    start = time.perf_counter()
    connection.request("GET", system.target(url),
                       headers={"Host": url.split("/")[2]})
    r = connection.getresponse()
    r.read()
    assert r.status == 200, (url, r.status)
    return time.perf_counter() - start


def connect(system, i):
    return http.client.HTTPConnection("127.0.0.1", system.member_port(i),
                                      timeout=30)

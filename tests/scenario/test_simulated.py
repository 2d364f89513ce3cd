"""The simulator is right: a trace through real nodes, and simulated.

Requests come one after the other, and nodes publish after each slice of the
trace, so that neither side depends on how fast the machine is. The simulator
gets the nodes' keys for objects, and so asks peers in the nodes' order. What
differs is false positives, as their filters take the whole key, of which the
simulator has the lower half.
"""

import bisect
import functools
import json
import os
import random
import signal
import subprocess

import pytest

import cluster as scd
import digests
from cluster import until

CACHESIM = os.path.join(scd.BUILD, "cachesim", "cachesim")
NODES, OBJECTS = 4, 10000
LONG = bool(os.environ.get("SCD_TEST_LONG"))
SLICES = 100 if LONG else 21
SLICE = 1000  # requests
PERIOD = 10   # seconds of the trace that a slice takes
CACHE = 3_000_000  # bytes a node: an eighth of all objects
# Which strangers a filter takes for seen depends on it, some 100 of 13,000.
SECRET = "22112233445566778899aabbccddeeff"
NEVER = {"publish_min": "1h", "publish_max": "1h"}
NOW = {"publish_min": "10ms", "publish_max": "10ms"}


def requests():
    """Slices of (url, size): Zipf's popularity, lognormal sizes."""
    source = random.Random(1)
    sizes = [min(int(source.lognormvariate(8.5, 1)), 100_000)
             for _ in range(OBJECTS)]
    shares, total = [], 0.0
    for rank in range(OBJECTS):
        total += (rank + 1) ** -0.6
        shares.append(total)
    return [[(f"http://www.example.com/{rank:06}", sizes[rank])
             for rank in (bisect.bisect(shares, source.random() * total)
                          for _ in range(SLICE))]
            for _ in range(SLICES)]


def unmixed(x):
    """The number that scd__mix64 makes x of: it is a bijection."""
    x ^= x >> 31 ^ x >> 62
    x = x * pow(0x94d049bb133111eb, -1, 1 << 64) & digests.MASK
    x ^= x >> 27 ^ x >> 54
    x = x * pow(0xbf58476d1ce4e5b9, -1, 1 << 64) & digests.MASK
    return x ^ x >> 30 ^ x >> 60


@functools.lru_cache(maxsize=None)
def number(url):
    """An object's number, of which the simulator, which mixes numbers, makes
    the lower half of the key that nodes know the object by."""
    return unmixed(digests.key(scd.KEY, url)[0])


def write(path, slices, more=0, name=str):
    """A trace of which each slice has a time of its own."""
    with open(path, "w", encoding="ascii") as f:
        f.write("time,client,url,size\n")
        for i, one in enumerate(slices):
            for url, size in one:
                f.write(f"{10**9 + i * PERIOD},c,{name(url)},{size + more}\n")


def reload(node, options):
    done = "info reload: done"
    before = node.process.logged().count(done)
    node.options.update(options)
    node.write()
    node.process.signal(signal.SIGHUP)
    until(lambda: node.process.logged().count(done) > before, 10,
          what="reload")


def publish(cluster):
    """All nodes publish, and know what the others have published."""
    for node in cluster.nodes:
        reload(node, NOW)
    cluster.wait_settled(30)
    for node in cluster.nodes:
        reload(node, NEVER)


def replay(cluster, slices):
    path = os.path.join(cluster.dir, "slice.csv")
    for one in slices:
        write(path, [one])
        report, code = cluster.replay(path, "--partition", "round-robin",
                                      "--concurrency", "1")
        assert code == 0, report
        publish(cluster)


def counted(cluster):
    counters = [node.counters() for node in cluster.nodes]
    return {name: sum(c[name] for c in counters)
            for name in ("local_hits", "remote_hits", "false_hits",
                         "origin_fetches")}


def overhead(node, asked):
    """What an object weighs beside its body, in a node that holds all that it
    was asked for."""
    sizes = dict(asked)
    store = node.status()["store"]
    assert store["objects"] == len(sizes)
    return round((store["bytes"] - sum(sizes.values())) / len(sizes))


def run(*args):
    r = subprocess.run([CACHESIM, "run", "--json", "--quiet", "--counters",
                        *args], stdout=subprocess.PIPE, check=True,
                       timeout=300)
    return json.loads(r.stdout)["rows"][0]


def simulated(path, eviction, placement):
    row = run("--protocol", "compressed", "--proxies", str(NODES),
              "--partition", "round-robin", "--eviction", eviction,
              "--size", str(CACHE * NODES), "--bits", "64", "--hashes", "3",
              "--threshold", "0", "--period", f"{PERIOD}s", "--tries", "0",
              "--peer-use", "yes", "--placement", placement,
              "--trace-type-params", "obj-id-is-num=true", path)
    return {"local_hits": row["local_hits"], "remote_hits": row["remote_hits"],
            "false_hits": row["fetches"], "origin_fetches": row["origin"]}


def real_and_expected(make_cluster, slices, eviction, placement):
    """What four nodes have counted, and the simulator."""
    c = make_cluster(NODES, cache_size=str(CACHE), eviction=eviction,
                     bits_per_object="64", expected_objects="4000",
                     filter_resize=False, publish_share="1", peer_tries="3",
                     placement=placement, admission_window="100000",
                     peer_copies=True, **NEVER)  # as models have it
    path = os.path.join(c.dir, "trace.csv")
    write(path, slices)
    c.start_origin("--trace", path)
    c.start()
    replay(c, slices[:1])
    more = overhead(c.nodes[0], slices[0][::NODES])
    replay(c, slices[1:])
    real = counted(c)
    write(path, slices, more, number)
    return real, simulated(path, eviction, placement)


@pytest.mark.parametrize("eviction,placement",
                         (("lru", "keep"), ("sieve", "second")))
def test_simulator_and_cluster_agree(make_cluster, eviction, placement):
    """Nearly: what came from a peer has some more fields, and weighs more."""
    slices = requests()
    near = 0.01 if scd.SLOW == 1 else 0.02
    for _ in range(2):
        real, expected = real_and_expected(make_cluster, slices, eviction,
                                           placement)
        assert sum(real.values()) - real["false_hits"] == SLICES * SLICE
        assert min(expected.values()) >= 500
        if is_like(real, expected, near):
            return
        # The nodes of a busy machine seem to be at different distances, and
        # are asked in another order: once more.
    assert False, (expected, real)


def is_like(real, expected, near):
    """In 100 slices the caches drift apart, as copies from peers weigh more:
    false hits, the fewest, feel it most."""
    drift = {"false_hits": 3} if LONG else {}
    return all(real[name] == pytest.approx(expected[name],
                                           rel=near * drift.get(name, 1))
               for name in expected)


ADMISSION = {  # the node's options, and the simulator's spelling
    "aged": ({}, "aged:window=1500"),
    "probation": ({"admission_ram": "0.05"},
                  "probation:window=1500:ram=0.05"),
    "auto": ({"admission_ram": "0.05", "admission_write_cost": "0.02"},
             "auto:window=1500:ram=0.05:lambda=0.02"),
}


def replay_in_turn(cluster, slices, status_of):
    """All to the first of two nodes; the second has room for the first slice.
    Returns the path for a trace, and the first one's status."""
    path = os.path.join(cluster.dir, "trace.csv")
    write(path, slices)
    cluster.start_origin("--trace", path)
    cluster.start()
    for node, asked in zip(cluster.nodes, (slices, slices[:1])):
        write(path, asked)
        report, code = cluster.replay(path, "--concurrency", "1", nodes=[node])
        assert code == 0, report
    return path, status_of(cluster.nodes[0])


@pytest.mark.parametrize("admission", ADMISSION if scd.SLOW == 1 else ("auto",))
def test_admission_is_the_simulators(make_cluster, admission):
    options, spelling = ADMISSION[admission]
    slices = requests()[:16]
    c = make_cluster(2, cooperate=False)
    c.nodes[0].options.update(cache_size=str(CACHE), admission=admission,
                              admission_window="1500", cluster_key=SECRET,
                              **options)
    path, status = replay_in_turn(c, slices, scd.Node.status)
    write(path, slices, overhead(c.nodes[1], slices[0]))
    row = run("--eviction", "sieve", "--size", str(CACHE), "--proxies", "1",
              "--admission", spelling, path)
    real = {"hits": status["counters"]["local_hits"],
            "writes": status["admission"]["admitted"]}
    expected = {"hits": row["local_hits"], "writes": row["writes"]}
    assert min(expected.values()) >= 500
    assert real == pytest.approx(expected, rel=0.01), (expected, real)


DISK, FRONT = 2 * CACHE, CACHE // 4  # bytes of the disk, and of the memory
WAIT = 0.4  # share of the memory for what is on probation
SHARE = WAIT * FRONT / (DISK + WAIT * FRONT)  # the same of all in all
ON_DISK = {
    "none": ({}, "none"),
    "aged": ({}, "aged:window=1500"),
    "probation": ({"admission_ram": str(WAIT)},
                  f"probation:window=1500:ram={SHARE:.9f}"),
    "auto": ({"admission_ram": str(WAIT), "admission_write_cost": "0.02"},
             f"auto:window=1500:ram={SHARE:.9f}:lambda=0.02"),
}


def in_blocks(slices):
    """What an object takes of the disk is then what it takes of memory."""
    return [[(url, -(-size // 4096) * 4096) for url, size in one]
            for one in slices]


def on_disk(node):
    """Its status when nothing waits to be written any more."""
    seen = []

    def settled():
        seen.append(node.status())
        return len(seen) > 1 and seen[-1]["disk"] == seen[-2]["disk"]
    until(settled, every=0.3, what="all written")
    return seen[-1]


@pytest.mark.parametrize("admission", ON_DISK if LONG else ("none", "auto"))
def test_hits_and_disk_writes_are_the_simulators(make_cluster, tmp_path,
                                                 admission):
    options, spelling = ON_DISK[admission]
    slices = in_blocks(requests()[:16 if LONG else 6])
    c = make_cluster(2, cooperate=False, cache_size=str(FRONT),
                     admission="none", cluster_key=SECRET,
                     admission_window="1500", disk_size="1G",
                     disk_path=str(tmp_path / "large"))
    c.nodes[0].options.update(disk_path=str(tmp_path / "disk"), **options,
                              disk_size=str(DISK * 8 // 7),  # with spare
                              admission=admission)
    path, status = replay_in_turn(c, slices, on_disk)
    sizes, all_of_it = dict(slices[0]), on_disk(c.nodes[1])["disk"]
    assert all_of_it["objects"] == len(sizes)
    more = (all_of_it["bytes"] - sum(sizes.values())) / len(sizes)
    write(path, slices, round(more))
    row = run("--eviction", "sieve", "--size", str(round(DISK / (1 - SHARE))
              if "ram=" in spelling else DISK), "--proxies", "1",
              "--admission", spelling, path)
    real = {"hits": status["counters"]["local_hits"],
            # what was evicted before its turn would have been written too
            "writes": status["disk"]["writes"] + status["disk"]["spared"]}
    expected = {"hits": row["local_hits"], "writes": row["writes"]}
    assert min(expected.values()) >= 500
    assert real == pytest.approx(expected, rel=0.01), (expected, real)

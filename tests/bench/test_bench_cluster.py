#!/usr/bin/env python3
"""`make bench-cluster` builds and runs, for few requests to two nodes: what
clients got, what nodes count and what the origin counts add up, while nodes
come and go. TAP.
"""

import json
import os
import random
import subprocess
import sys
import tempfile

SOURCE = os.path.abspath(os.environ.get("top_srcdir", "."))
BUILD = os.path.abspath(os.environ.get("top_builddir", "."))
MAKE = os.environ.get("MAKE", "make")
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(SOURCE, "tests", *folder)
                for folder in (("tool",), ("bench", "cluster"))]

import bench_cluster  # noqa: E402
import events  # noqa: E402
import fronts  # noqa: E402
import systems  # noqa: E402
from taprun import run  # noqa: E402

REQUESTS, OBJECTS = 400, 101  # odd: each is asked for at both nodes by turns
ZIPF, WEIGHT = 4000, 270  # requests; of an object in a node beside its body
RATE = 500 / float(os.environ.get("SCD_TEST_SLOW", "1"))


def bench(arguments, trace=None, nodes=2):
    """What it printed: a dictionary for each event and system."""
    few = (f"--json --nodes {nodes} --trace {trace or TRACE} --rate {RATE} "
           "--concurrency 4 --cache-size 4M --partition round-robin ")
    # Not the job server of the make that runs this.
    env = {**os.environ, "MAKEFLAGS": "", "MFLAGS": "", "MAKELEVEL": ""}
    r = subprocess.run([MAKE, "-s", "bench-cluster", f"ARGS={few}{arguments}"],
                       cwd=BUILD, check=False, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True, env=env)
    assert r.returncode == 0, r.stdout
    return [json.loads(line) for line in r.stdout.splitlines()
            if line.startswith("{")]  # make says what it builds


def write_trace(f):
    f.write("time,client,url,size\n")
    for i in range(REQUESTS):
        n = i % OBJECTS
        f.write(f"{i},c,http://a.example/{n},{1000 + n}\n")
    f.flush()


def adds_up(r, requests):
    assert r["requests"] == r["verified"] == requests, r
    assert sum(r["by_" + kind] for kind in events.KINDS) == requests, r
    assert r["errors"] == r["unaccounted_requests"] == 0, r
    # a request that waited for a slow peer may be at the origin, too
    assert 0 < r["by_origin"] <= r["origin_requests"], r
    assert abs(r["hit_ratio"] - 1 + r["origin_requests"] / requests) < 1e-9, r
    assert r["cpu_us"] >= r["busiest_us"] > 0, r


def nodes_that_are_restarted_lose_what_they_held():
    found = bench("--row keep --event trace --event restart "
                  "--option publish_min=10ms --option publish_max=10ms")
    usual, restarted = found
    assert [r["event"] for r in found] == ["trace", "restart"], found
    adds_up(usual, REQUESTS)
    adds_up(restarted, REQUESTS // 2)
    assert usual["by_local"] > OBJECTS / 2 and usual["by_remote"] > 10, usual
    assert abs(usual["local"] - usual["by_local"] / REQUESTS) < 1e-9, usual
    assert usual["between_bytes"] > 1000 * usual["by_remote"], usual
    assert restarted["lost"] > 1, found


def nodes_with_a_disk_find_it_again():
    usual, restarted = bench("--row alone --event trace --event restart "
                             "--disk 64M")
    adds_up(restarted, REQUESTS // 2)
    # but for what came to other nodes meanwhile
    assert restarted["by_local"] > 0.9 * usual["last_hit_ratio"] \
        * REQUESTS / 2, (usual, restarted)
    assert restarted["lost"] < 5, restarted


def a_front_has_no_hits_of_its_own():
    if not fronts.Haproxy.installed():
        return "haproxy is missing"
    r, = bench("--row haproxy --event trace")
    adds_up(r, REQUESTS)
    assert r["origin_requests"] == r["by_origin"] == OBJECTS, r
    assert r["unaccounted_bytes"] == 0, r
    assert r["local"] == 0 < r["by_local"] and r["cpu_ratio"] == 1, r
    assert r["between_bytes"] > r["origin_bytes"], r
    return None


def write_zipf(path, count, more=0):
    source = random.Random(1)
    sizes = [min(int(source.lognormvariate(8.5, 1)), 100_000)
             for _ in range(count // 3)]
    shares = [(rank + 1) ** -.8 for rank in range(len(sizes))]
    with open(path, "w", encoding="ascii") as f:
        f.write("time,client,url,size\n")
        for i, n in enumerate(source.choices(range(len(sizes)), shares,
                                             k=count)):
            f.write(f"{i},c,http://a.example/{n},{sizes[n] + more}\n")


def models_agree_with_a_front():
    """To 2 %, and what chance makes of counts of that size: rings of real
    fronts give other nodes other objects."""
    if not fronts.Haproxy.installed():
        return "haproxy is missing"
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "zipf.csv")
        write_zipf(path, ZIPF)
        r, = bench("--row haproxy --event trace --rate 0 --cache-size 512K",
                   path, 4)
        write_zipf(path, ZIPF, WEIGHT)
        done = subprocess.run(
            [events.CACHESIM, "run", "-j", "-q", "-k", "hash", "-p", "4", "-s",
             "2M", "-e", "sieve", "--counters", path], check=True,
            stdout=subprocess.PIPE)
    row, = json.loads(done.stdout)["rows"]
    found, expected = r["origin_requests"], row["origin"]
    noise = 3 * (found + expected) ** .5
    assert 1000 < expected < ZIPF - 1000, expected
    assert abs(found - expected) < .02 * expected + noise, (found, expected)
    return None


class Fake(systems.System):
    def start(self):
        pass

    def member_port(self, i):
        return i


def clients_of_a_lost_node_go_to_all_others():
    """... and all others stay where they are, wherever their hash leads."""
    s = Fake(systems.Plan(4, 1 << 20, 0), None)
    before = s.doors()
    s.lost = {2}
    after = s.doors()
    for client in range(1000):
        was = before[client % len(before)]
        now = after[client % len(after)]
        assert was == client % 4 and (was == now or was == 2), client
    moved = [now for was, now in zip(before, after) if was == 2]
    assert sorted(moved) == [0, 1, 3], moved


def placements_are_the_nodes():
    names = [name for name, _ in systems.digests()]
    assert names[:2] == ["keep", "second"] and "single-shared" in names, names
    rows = [row.name for row in systems.all_rows()]
    assert len(set(rows)) == len(rows) and set(names) <= set(rows), rows


def what_is_missing_is_named():
    class None_(fronts.Haproxy):
        program = "no-such-program"
    row = systems.Row("a", "", systems.behind(None_, systems.Plain), None_)
    other = systems.Row("b", "", systems.Plain)
    assert list(bench_cluster.installed([row, other])) == [other]
    assert row.is_hash and not other.is_hash


def steps_have_all_requests():
    """Each of the half that counts once, and none of them twice."""
    load = events.Load([(f"c{i}", f"http://a/{i % 7}", 9) for i in range(103)],
                       hot=5, crowds=2)
    for event in events.EVENTS[:3]:
        steps = event.steps(load, 4)
        assert [r for s in steps for r in s.requests] == \
            events.timed(load.requests), event.name
    hot = [s for s in events.steps_of_hot(load, 4) if s.counts]
    assert [len(s.requests) for s in hot] == [5]
    flash, = events.steps_of_flash(load, 4)
    assert len({r[2] for r in flash.requests}) == 2 and \
        len(flash.requests) == 2 * 4 * 8


def fetches_that_are_given_up_explain_what_they_can():
    def differ(fetches, received, given_up):
        return events.unexplained(
            {"fetches": fetches, "bytes": received, "given_up": given_up},
            {"requests": 10, "bytes": 1000})
    assert differ(10, 1000, 0) == (0, 0)
    assert differ(11, 1000, 0) == (1, 0) and differ(11, 900, 1) == (0, 0)
    assert differ(13, 1000, 2) == (1, 0)
    assert differ(9, 900, 5) == (1, 0) and differ(10, 900, 0) == (0, 100)
    assert differ(10, 1001, 5) == (0, 1)


def medians_are_of_numbers():
    rounds = [{"row": "a", "n": n, "late": late, "cpu_ratio": None}
              for n, late in ((1, False), (9, True), (2, False))]
    assert bench_cluster.median_of(rounds) == {
        "row": "a", "n": 2, "late": True, "cpu_ratio": None}


if __name__ == "__main__":
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as trace:
        TRACE = trace.name
        write_trace(trace)
        run((placements_are_the_nodes, what_is_missing_is_named,
             clients_of_a_lost_node_go_to_all_others, steps_have_all_requests,
             fetches_that_are_given_up_explain_what_they_can,
             medians_are_of_numbers, a_front_has_no_hits_of_its_own,
             nodes_that_are_restarted_lose_what_they_held,
             nodes_with_a_disk_find_it_again,
             models_agree_with_a_front))

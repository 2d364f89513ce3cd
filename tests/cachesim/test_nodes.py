#!/usr/bin/env python3
"""cachesim --nodes daemon: whole nodes in virtual time. They are the daemon's
objects, a seed means the same each time, and what time changes is seen."""

import os
import re
import subprocess

from harness import SOURCE, cachesim, folder_of, rows, run
from program import BUILD

def asked(i):
    """Few objects are asked for often, and many now and then."""
    return i * i % 997 % (1 + i * i % 211)


LOG = "".join(f"1000,c{i % 5},http://a/{asked(i)},{9000 + asked(i)}\n"
              for i in range(2000))
# Twenty objects, each of which four clients of each of 16 nodes ask for within
# a second.
CROWDS = "0,c,http://a/first,1000\n" + "".join(
    f"{3 + i // 64},c{i % 64},http://a/{i // 64},9000\n"
    for i in range(20 * 64))
HEADER = "time,client,url,size\n"
FOLDER = folder_of({"crowds.csv": (HEADER + CROWDS).encode(),
                    "t.csv": (HEADER + LOG).encode(),
                    "late.conf": b"publish_min = 1h\npublish_max = 1h\n",
                    "hasty.conf": b"peer_timeout = 100ms\n"
                                  b"peer_budget = 140ms\n",
                    "odd.conf": b"publish_mim = 1h\n"})
AT = FOLDER.name
TRACE = os.path.join(AT, "t.csv")
DIGESTS = "--placement", "second"  # no leases, by which nodes know more


def nodes(*args):
    return rows("run", "--nodes", "daemon", "--counters", TRACE, "--rate",
                "200", "-s", "30%", *args)


def whole():
    """Whether this cachesim has nodes."""
    code, _, err = cachesim("run", "--nodes", "daemon", TRACE, "--rate", "99",
                            "-s", "10M")
    assert code == 0 or "was built without the daemon" in err, err
    return code == 0


def every_request_is_answered():
    row = nodes()[0]
    assert row["requests"] == 2000
    assert row["requests"] == (row["local_hits"] + row["remote_hits"] +
                               row["origin"] + row["collapsed"])
    assert min(row["local_hits"], row["remote_hits"], row["origin"],
               row["published"], row["update_bytes"]) > 50, row


def more_nodes_than_a_word_has_bits():
    """They count in sums, where rows are of the first 64."""
    args = ("run", "--nodes", "daemon", "--counters", TRACE, "--rate", "2000",
            "-p", "70", "--partition", "round-robin", "-s", "20M")
    row = rows(*args)[0]
    assert row["requests"] == 2000
    assert row["requests"] == (row["local_hits"] + row["remote_hits"] +
                               row["origin"] + row["collapsed"])
    # each object is at one node, or at two of which one was asked first
    assert row["origin"] < 300 < 1000 < row["remote_hits"], row
    assert len(rows(*args, "--per-proxy")) == 1 + 64


def a_crowd_at_sixteen_nodes_is_one_fetch():
    """As nodes ship, from an origin that takes 200 ms."""
    row = rows("run", "--nodes", "daemon", "--counters", "-p", "16", "-s", "1G",
               "--partition", "round-robin", "--origin-delay", "100",
               os.path.join(AT, "crowds.csv"))[0]
    assert row["requests"] == 20 * 64 + 1 and row["origin"] == 21, row


def a_seed_means_the_same():
    tail = "--peer-delay", "1-5+20", "--client-delay", "1+1"
    assert nodes(*tail) == nodes(*tail)
    assert nodes(*tail) != nodes(*tail, "--seed", "2")


def unpublished_objects_are_missed():
    """What nobody publishes nobody is asked for."""
    row = nodes("--node-options", os.path.join(AT, "late.conf"), *DIGESTS)[0]
    assert row["remote_hits"] == 0 and row["false_misses"] > 100, row


def faster_requests_find_less():
    """Digests are late by a time, not by a number of requests."""
    slow, fast = (nodes("--rate", rate, *DIGESTS)[0]
                  for rate in ("100", "20000"))
    assert fast["remote_hits"] < slow["remote_hits"] * 0.7, (slow, fast)
    assert fast["published"] < slow["published"]


def delays_are_waited_for():
    near, far = (nodes("--origin-delay", ms)[0]["mean_latency"]
                 for ms in ("0", "100"))
    assert near < 0.01 and far > 0.09, (near, far)


def peers_that_are_too_far_are_not_asked():
    """... but digests come: they have more time. Where the origin is farther,
    peers are asked, unless peer_timeout says that they have less time."""
    row = nodes("--peer-delay", "60")[0]
    assert row["remote_hits"] < 20 and row["update_bytes"] > 0, row
    far = "--origin-delay", "150"
    assert nodes("--peer-delay", "60", *far)[0]["remote_hits"] > 50
    row = nodes("--peer-delay", "60", *far, "--node-options",
                os.path.join(AT, "hasty.conf"))[0]
    assert row["remote_hits"] == 0 and row["fetches"] > 0, row


def those_elsewhere_are_asked_by_price():
    """Two nodes, each at a location of its own: where the way from one to the
    other is longer than to the origin, few requests take it, to measure."""
    apart = "-p", "2", "--locations", "2"
    near = nodes(*apart, "--far-delay", "5", "--origin-delay", "50")[0]
    far = nodes(*apart, "--far-delay", "60", "--origin-delay", "5")[0]
    assert near["remote_hits"] > 100 and near["candidates"] > 100, near
    assert far["candidates"] < 40, far


def behind_a_front_each_object_has_a_node():
    """Nobody has what another one has, and nodes know of nobody; what they hit
    is what models hit, but for what an object weighs in a node."""
    row = nodes("-k", "hash", "-p", "4")[0]
    assert row["remote_hits"] == row["published"] == row["duplicates"] == 0
    told = rows("run", "--counters", TRACE, "-s", "30%", "-k", "hash", "-p",
                "4", "-e", "sieve")[0]
    assert abs(row["local_hits"] + row["collapsed"] - told["local_hits"]) < \
        .05 * told["local_hits"] > 10, (row, told)
    code, _, err = cachesim("run", "--nodes", "daemon", TRACE, "--rate", "9",
                            "-k", "hash", "-p", "257")
    assert code == 2 and "256 at most" in err, err


def those_elsewhere_tell_of_sectors():
    """At two locations nodes tell each other less, and still find what the
    other one has."""
    tail = "-p", "4", "--far-delay", "5", "--origin-delay", "50"
    one = nodes(*tail)[0]
    two = nodes(*tail, "--locations", "2")[0]
    assert two["update_bytes"] < one["update_bytes"] * .8
    assert one["peer_memory"] > 0 and two["peer_memory"] > 0
    assert two["remote_hits"] > one["remote_hits"] * .4, (one, two)


def alone_there_are_no_peers():
    row = nodes("-k", "none", "-p", "4")[0]
    assert "remote_hit_ratio" not in row or not row["remote_hit_ratio"]
    assert row["published"] == 0 and row["local_hits"] > 100


def objects_of_another_version_are_fetched():
    changed = FOLDER.name + "/changed.csv"
    with open(changed, "w", encoding="ascii") as f:
        f.write("time,client,url,size\n")
        for i in range(400):
            f.write(f"1000,c,http://a/x,{100 + i // 100}\n")
    args = ("run", "--nodes", "daemon", "--rate", "100", "--counters",
            "-s", "1M", "-k", "none", changed)
    assert rows(*args)[0]["origin"] == 4
    assert rows(*args, "--keep-changed")[0]["origin"] == 1


def old_versions_take_no_room():
    """Beside ten versions of a large object there is room for a small one."""
    changed = FOLDER.name + "/versions.csv"
    with open(changed, "w", encoding="ascii") as f:
        f.write("time,client,url,size\n")
        f.write("1000,c,http://a/small,100\n")
        for i in range(10):
            f.write(f"1000,c,http://a/large,{60000 + i}\n")
        f.write("1000,c,http://a/small,100\n")
    row = rows("run", "--nodes", "daemon", "--rate", "100", "--counters",
               "-p", "1", "-s", "100K", "-k", "none", changed)[0]
    assert (row["origin"], row["evicted"]) == (11, 0)


def what_may_not_be_stored_passes():
    log = FOLDER.name + "/some.log"
    with open(log, "w", encoding="ascii") as f:
        for i in range(200):
            f.write("10.0.0.1 - - [09/Jul/1995:01:00:01 -0400] "
                    f'"GET /a HTTP/1.0" {404 if i % 4 == 0 else 200} 100\n')
    row = rows("run", "--nodes", "daemon", "--rate", "100", "--counters",
               "-s", "1M", log)[0]
    assert row["requests"] == 200
    assert row["uncacheable"] == 50 and row["origin"] == 51


def symbols(path, kinds):
    """Names of an object's symbols of some kinds of nm."""
    out = subprocess.run(["nm", path], check=True, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL).stdout.decode()
    return {name for kind, name in re.findall(r" ([A-Za-z]) (\w+)$", out, re.M)
            if kind in kinds}


def functions(archives):
    """What the archives of the build define, but for what the world has in
    its own way."""
    found = set()
    for archive in archives:
        found |= symbols(os.path.join(BUILD, archive), "T")
    return found


PARTS = [f"digestd/{folder}/lib{folder}.a"
         for folder in ("proxy", "peers", "cache")] + [
             "digestd/libservice.a"]
CORE = "digestd/libcore.a"  # some of it only the edges need


def nodes_are_the_daemons_objects():
    """All that decides in digestd is in cachesim, out of the same archives; no
    source of the daemon is compiled for cachesim, and none of cachesim defines
    what those archives do."""
    mine = symbols(os.path.join(BUILD, "cachesim", "cachesim"), "Tt")
    real = symbols(os.path.join(BUILD, "digestd", "digestd"), "Tt")
    ours = functions(PARTS)
    assert len(ours & real) > 200, len(ours & real)
    missing = (ours & real) - mine
    assert not missing, missing
    with open(os.path.join(BUILD, "Makefile"), encoding="utf-8") as f:
        built = re.search(r"^am_cachesim_cachesim_OBJECTS =(.*?[^\\])\n",
                          f.read(), re.M | re.S)[1]
    assert "digestd/" not in built, built
    folder = os.path.join(BUILD, "cachesim")
    ours |= functions([CORE])
    twins = [(name, path) for path in objects(folder)
             for name in symbols(path, "T") & ours]
    assert not twins, twins


def objects(folder):
    for base, _, names in os.walk(folder):
        for name in names:
            if name.endswith(".o") and ".libs" not in base \
                    and "drive_none" not in name:
                yield os.path.join(base, name)


def example_of_the_document():
    """The commands of SIMULATOR.md do what it says, with fewer requests."""
    with open(os.path.join(SOURCE, "docs", "SIMULATOR.md"),
              encoding="utf-8") as f:
        section = f.read().split("## Whole nodes")[1].split("\n## ")[0]
    section = re.sub(r"\\\n +", "", section)
    section = re.sub(r"requests=\d{6,}", "requests=10000", section)
    commands = re.findall(r"^    (cachesim .*)$", section, re.M)
    assert len(commands) >= 3, commands
    for command in commands:
        code, _, err = cachesim(*command.split()[1:], cwd=AT)
        assert code == 0, (command, err)


DAEMON = [every_request_is_answered, more_nodes_than_a_word_has_bits,
          a_crowd_at_sixteen_nodes_is_one_fetch, a_seed_means_the_same,
          unpublished_objects_are_missed, faster_requests_find_less,
          delays_are_waited_for, peers_that_are_too_far_are_not_asked,
          those_elsewhere_are_asked_by_price,
          behind_a_front_each_object_has_a_node,
          those_elsewhere_tell_of_sectors, alone_there_are_no_peers,
          objects_of_another_version_are_fetched, old_versions_take_no_room,
          what_may_not_be_stored_passes, nodes_are_the_daemons_objects,
          example_of_the_document]


def refused(label, *args, err, code=2, program="run"):
    return (label, (program, "t.csv", *args), b"", code, b"", err)


WITH_NODES = "--nodes", "daemon", "--rate", "100", "-s", "10M"
ROWS = [
    refused("rate without nodes", "--rate", "5", err="for --nodes daemon"),
    refused("locations without nodes", "--locations", "2",
            err="for --nodes daemon"),
    refused("no such nodes", "--nodes", "x", err="model or daemon"),
    refused("odd delay", *WITH_NODES, "--peer-delay", "3-1",
            err='--peer-delay: "3-1" is not a time'),
    refused("delay below zero", *WITH_NODES, "--peer-delay", "-1",
            err='"-1" is not a time'),
    refused("option of models", *WITH_NODES, "--loss", "1%",
            err="--loss: is of models"),
]
DAEMON_ROWS = [
    refused("unknown option of nodes", *WITH_NODES, "--node-options",
            "odd.conf", err="publish_mim"),
    refused("no file of options", *WITH_NODES, "--node-options", "none", code=3,
            err="none: No such file"),
    refused("other protocol", *WITH_NODES, "-k", "icp", err="hash or none"),
    refused("no times", "--nodes", "daemon", "-s", "10M", err="--rate says"),
]

if __name__ == "__main__":
    has = whole()
    run((DAEMON if has else []) +
        [cachesim.row_test(row, AT)
         for row in ROWS + (DAEMON_ROWS if has else [])])

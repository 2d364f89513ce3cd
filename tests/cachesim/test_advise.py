#!/usr/bin/env python3
"""cachesim advise: what it compares, and that digestd takes the configuration
that it gives."""

import os
import re
import subprocess

from harness import SLOW, SOURCE, cachesim, folder_of, rows, run
from program import BUILD

DIGESTD = os.path.join(BUILD, "digestd", "digestd")
CLF = b"".join(
    b'h%d - - [01/Jan/2000:00:%02d:%02d +0000] "GET /%d HTTP/1.0" 200 %d\n'
    % (i % 7, i // 60 % 60, i % 60, i * i % 97, 500 + i * i % 97)
    for i in range(3000))
FOLDER = folder_of({
    "t.csv": cachesim("generate", "upisa,requests=8000")[1],
    "access.log": CLF,
    "keys": b"".join(b"%d\n" % (i * i % 331) for i in range(2000)),
    "one": b"http://a.example/\n",
    "cluster.key": b"5ca1ab1e0ddba11c0ffee00d15ea5e01\n",
})
AT = FOLDER.name
os.chmod(os.path.join(AT, "cluster.key"), 0o600)


def systems(*args):
    return {r["system"]: r for r in rows("advise", *args, cwd=AT)}


def digests_lie_between():
    got = systems("-l", "t.csv", "-p", "4")
    alone, digests = got["each alone"], got["digests"]
    perfect = got["perfect knowledge"]
    assert alone["hit_ratio"] < digests["hit_ratio"] <= perfect["hit_ratio"]
    assert alone["saved_requests"] == 0 < digests["saved_requests"]
    want = 1 - digests["origin_requests"] / alone["origin_requests"]
    assert abs(digests["saved_requests"] - want) < 1e-9
    assert digests["saved_requests"] > .7 * perfect["saved_requests"]
    assert 0 < digests["update_bytes"] and digests["summary_memory"]


def a_hash_in_front_is_an_answer():
    """Nearly as one large cache, for any number of nodes."""
    got = systems("-l", "t.csv", "-p", "8")
    front, one = got["hash in front"], got["one large cache"]
    assert got["each alone"]["hit_ratio"] < front["hit_ratio"]
    assert front["remote_hit_ratio"] == 0 == front["false_hit_ratio"]
    assert abs(front["hit_ratio"] - one["hit_ratio"]) < .05, (front, one)
    for peers in ("257", "1024"):
        args = ("-l", "t.csv", "-p", peers, "-s", "64K")
        got = systems(*args)
        alone, digests = got["each alone"], got["digests"]
        assert got["hash in front"]["hit_ratio"] > 2 * alone["hit_ratio"]
        assert 2 * alone["hit_ratio"] < digests["hit_ratio"] <= \
            got["perfect knowledge"]["hit_ratio"]
    told = cachesim("advise", *args, cwd=AT)[1].decode()
    assert 'url = "http://198.18.4.0:8081"' in told, told


def each_node_has_that_size():
    got = cachesim("advise", "-l", "t.csv", "-p", "3", "-s", "5M", cwd=AT)[1]
    assert b'cache_size = "%d"' % (5 << 20) in got


def few_clients_are_warned_of():
    """Behind a proxy all requests are of one: nodes beside it get none."""
    few = "clients in it: 7, nodes: 8"
    for peers, expected in (("7", False), ("8", True)):
        told = cachesim("advise", "-l", "access.log", "-p", peers, "-s", "64K",
                        cwd=AT)[2]
        assert (few in told) == expected, told


def configuration_is_valid():
    """Of every sort of log, small ones too; and it has all the nodes."""
    for name, peers in (("t.csv", 2), ("t.csv", 16), ("access.log", 3),
                        ("keys", 4), ("one", 64)):
        code, out, err = cachesim("advise", "--log", name, "--peers",
                                  str(peers), "-C", "digestd.conf", cwd=AT)
        guessed = name in ("keys", "one")  # which nothing proves
        assert code == 0 and ("taken for keys" in err) == guessed, err
        assert err.count("\n") == guessed, err
        with open(os.path.join(AT, "digestd.conf"), encoding="ascii") as f:
            text = f.read()
        told = cachesim("advise", "--log", name, "--peers", str(peers),
                        cwd=AT)[1].decode()
        assert told == out.decode() + \
            "\nThe configuration for digests:\n\n" + text
        assert len(re.findall(r"^peer ", text, re.M)) == peers - 1
        if not os.path.exists(DIGESTD):  # --disable-daemon
            continue
        with open(os.path.join(AT, "digestd.conf"), "w",
                  encoding="ascii") as f:
            f.write(text.replace("/etc/digestd.key", "cluster.key"))
        r = subprocess.run([DIGESTD, "-t", "-c", "digestd.conf"], cwd=AT,
                           check=False, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT)
        assert r.returncode == 0, r.stdout


def nodes_find_the_placement():
    """The best of the rows, and the configuration says so."""
    args = ("advise", "-l", "t.csv", "-n", "3000", "-p", "3", "--nodes",
            "daemon", "--rate", "300")
    code, out, err = cachesim(*args, cwd=AT)
    if "built without the daemon" in err:
        return
    assert code == 0, err
    got = {r["system"]: r for r in rows(*args, cwd=AT)}
    tried = {name[7:]: row["origin_bytes"] + row["update_bytes"] +
             row["false_hit_ratio"] * 3000 * 1000
             for name, row in got.items() if name.startswith("nodes: ")}
    best = tried.pop("advised")
    assert len(tried) == 6 and best <= min(tried.values()) + 1, tried
    placement = re.search(r'^placement = "(.*)"$', out.decode(), re.M)[1]
    assert tried[placement] == min(tried.values()), (placement, tried)
    assert got["nodes: keep"]["hit_ratio"] > got["each alone"]["hit_ratio"]
    assert got["nodes: advised"]["mean_latency"] > 0
    assert "publish_max" not in out.decode()


def readme_shows_what_comes_out():
    code, out, _ = cachesim("advise", "--log", "gen:upisa,scale=0.01",
                            "--peers", "4")
    told = out.decode().split("\n\n")[1]
    with open(os.path.join(SOURCE, "README.md"), encoding="utf-8") as f:
        assert code == 0 and "\n".join(
            "    " + line for line in told.splitlines()) in f.read()


ROWS = [
    # label, arguments, input, code, stdout, stderr
    ("no log", ("advise", "-p", "3"), b"", 2, b"", "--log is needed"),
    ("no peers", ("advise", "-l", "t.csv"), b"", 2, b"", "--peers is"),
    ("one peer", ("advise", "-l", "t.csv", "-p", "1"), b"", 2, b"",
     "2 to 1024"),
    ("1025", ("advise", "-l", "t.csv", "-p", "1025"), b"", 2, b"", "2 to 1024"),
    ("too many nodes", ("advise", "-l", "t.csv", "-p", "257", "--nodes",
                        "daemon"), b"", 2, b"", "2 to 256"),
    ("bad size", ("advise", "-l", "t.csv", "-p", "2", "-s", "x"), b"", 2, b"",
     "not a size"),
    ("rate without nodes", ("advise", "-l", "t.csv", "-p", "2", "--rate", "5"),
     b"", 2, b"", "for --nodes daemon"),
    ("no file", ("advise", "-l", "none", "-p", "2"), b"", 3, b"", "none: No"),
    ("no place", ("advise", "-l", "access.log", "-p", "2", "-C", "/none/x",
                  "-o", "out.csv"), b"", 3, b"", "/none/x"),
]

TESTS = [digests_lie_between, a_hash_in_front_is_an_answer,
         few_clients_are_warned_of, each_node_has_that_size,
         nodes_find_the_placement]
if not SLOW:
    TESTS += [configuration_is_valid, readme_shows_what_comes_out]
TESTS += [cachesim.row_test(row, AT) for row in ROWS]

if __name__ == "__main__":
    run(TESTS)

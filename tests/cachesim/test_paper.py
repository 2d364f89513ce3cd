#!/usr/bin/env python3
"""cachesim paper: what it compares, on a small trace; that its rows are what
cachesim run says of the same; and that the papers' figures stand beside."""

from harness import cachesim, folder_of, rows, run

TRACE = "gen:ucb,requests=30000"
ROWS = rows("paper", TRACE)
CSV = cachesim("generate", "ucb,requests=3000")[1]
FOLDER = folder_of({"t.csv": CSV})
AT = FOLDER.name


def named(protocol, **more):
    return [r for r in ROWS if r["protocol"] == protocol
            and all(r.get(k) == v for k, v in more.items())]


def studies_are_complete():
    assert len(named("icp")) == len(named("none")) == 1
    delays = [0, .001, .01, .02, .05, .1]
    assert [r["threshold"] for r in named("directory")] == delays
    for bits in (8, 16, 32):
        told = [r["threshold"] for r in named("bloom", bits=bits)]
        assert told == delays[1:], bits
    assert len(named("servernames")) == 1
    assert len(named("compressed")) == 6 * 3
    assert all(r["proxies"] == 8 for r in ROWS)


def without_delay_no_hit_is_lost():
    icp, = named("icp")
    exact, = named("directory", threshold=0)
    assert exact["hit_ratio"] == icp["hit_ratio"] and exact["hits_lost"] == 0
    late, = named("directory", threshold=.1)
    assert 0 < late["hits_lost"] < .1
    alone, = named("none")
    assert alone["hits_lost"] > .2


def figures_agree_with_each_other():
    icp, = named("icp")
    for r in ROWS:
        if "fewer_messages" in r:
            want = icp["messages_and_replies_per_request"] / \
                r["messages_and_replies_per_request"]
            assert abs(r["fewer_messages"] - want) < 1e-9 * want
    falses = [named("bloom", bits=b, threshold=.01)[0]["false_hit_ratio"]
              for b in (8, 16, 32)]
    assert falses[0] > falses[1] > falses[2]
    assert named("servernames")[0]["false_hit_ratio"] > falses[0]
    for bits in (8, 14, 92):
        full, xor, conditional = (
            named("compressed", bits=bits, form=f)[0]
            for f in ("full", "xor", "conditional"))
        assert full["hit_ratio"] == xor["hit_ratio"]
        assert full["update_bytes_per_request"] > \
            xor["update_bytes_per_request"]
        assert conditional["hit_ratio"] == xor["hit_ratio"]


def papers_figures_stand_beside():
    assert named("directory", threshold=.01)[0]["paper_hits_lost"] == "0.2 %"
    for r in named("bloom", threshold=.01):
        assert r["paper_fewer_messages"] == "25 to 60"
        assert r["paper_bytes_saved"] == "over 50 %"
    assert "paper_hits_lost" not in named("directory", threshold=.1)[0]


def rows_are_runs():
    """The user's own trace, by clients, with the limit that the paper has."""
    mine = rows("paper", "t.csv", "-p", "3", cwd=AT)
    for r in mine:
        if r["protocol"] == "icp":
            got = rows("run", "t.csv", "-k", "icp", "-p", "3",
                       "--size-limit", "250K", cwd=AT)[0]
            for name in ("hit_ratio", "message_bytes_per_request"):
                assert got[name] == r[name]
            return
    assert False


CASES = [
    # label, arguments, input, code, stdout, stderr
    ("no file", ("paper", "none"), b"", 3, b"", "none: No such file"),
    ("no proxies", ("paper", "-p", "0", "t.csv"), b"", 2, b"", "--proxies"),
    ("bad size", ("paper", "-s", "x", "t.csv"), b"", 2, b"", "not a size"),
]

TESTS = [studies_are_complete, without_delay_no_hit_is_lost,
         figures_agree_with_each_other, papers_figures_stand_beside,
         rows_are_runs]
TESTS += [cachesim.row_test(row, AT) for row in CASES]

if __name__ == "__main__":
    run(TESTS)

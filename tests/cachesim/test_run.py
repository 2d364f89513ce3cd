#!/usr/bin/env python3
"""cachesim run and sweep: against a cache in a few lines of Python, with any
number of threads, and with what makes no sense."""

import collections
import csv
import io
import os

from harness import SLOW, SOURCE, cachesim, folder_of, rows, run

TRACE = cachesim("generate", "upisa,requests=20000,seed=5")[1]
FOLDER = folder_of({"t.csv": TRACE})
AT = FOLDER.name


with open(os.path.join(AT, "mixed.log"), "w") as log:
    for n in range(6000):
        method, status = [("GET", 200), ("POST", 200), ("GET", 404),
                          ("GET", 500), ("GET", 200), ("HEAD", 200)][n % 6]
        path = ("/%d" % (n % 7) if status != 200 else
                "/f" if method == "POST" else "/%d" % (n % 9))
        log.write("10.0.0.%d - - [09/Jul/1995:01:00:01 -0400] "
                  '"%s %s HTTP/1.0" %d 100\n'
                  % (n % 11, method, path, status))


def requests():
    return [(r["url"], int(r["size"]))
            for r in csv.DictReader(io.StringIO(TRACE.decode()))]


def lru_hits(capacity):
    """The dumbest LRU there is."""
    cache, used, hits = collections.OrderedDict(), 0, 0
    for url, size in requests():
        if url in cache:
            hits += 1
            cache.move_to_end(url)
            continue
        if size > capacity:
            continue
        while used + size > capacity:
            used -= cache.popitem(last=False)[1]
        cache[url] = size
        used += size
    return hits


def lru_is_an_lru():
    for capacity in (100000, 3 << 20, 1 << 30):
        row = rows("run", "t.csv", "-s", str(capacity), cwd=AT)[0]
        assert row["local_hits"] == lru_hits(capacity), capacity
        assert row["capacity"] == capacity


def spelled_as_with_libcachesim():
    want = rows("run", "t.csv", "-e", "lru", "-s", "1M", cwd=AT)[0]
    for args in (("run", "t.csv", "csv", "LRU", "1MB"),
                 ("t.csv", "csv", "lru", "1MiB"),
                 ("./t.csv", "csv", "lru", "1024K", "--num-thread", "1")):
        row = rows(*args, cwd=AT)[0]
        assert row["hit_ratio"] == want["hit_ratio"], args
    by_count = rows("t.csv", "csv", "lru", "500", "--ignore-obj-size",
                    cwd=AT)[0]
    assert by_count["held"] == by_count["held_bytes"] == 500


def what_may_not_be_stored_passes():
    """2,000 of 6,000 requests are cacheable, for 9 objects at most; whatever
    simulates them and wherever they come from."""
    cachesim("convert", "mixed.log", "-o", "mixed.compact", cwd=AT)
    cachesim("convert", "mixed.log", "-T", "csv", "-o", "mixed.csv", cwd=AT)
    for trace in ("mixed.log", "mixed.compact", "mixed.csv"):
        for args in (("-p", "1"), ("-p", "3"), ("-p", "1", "-w", "10%"),
                     ("-p", "3", "-k", "compressed", "--epoch", "7")):
            got = rows("run", trace, "-s", "1M", "--per-proxy", *args,
                       cwd=AT)
            told, parts = got[0], got[1:]
            share = .9 if "-w" in args else 1
            assert told["requests"] == 6000 * share, (args, told)
            assert told["uncacheable"] == 4000 * share
            assert told["uncacheable_bytes"] == 400000 * share
            assert .3 < told["hit_ratio"] < .3334, told
            for name in ("requests", "uncacheable", "bytes", "origin"):
                assert told[name] == sum(r[name] for r in parts), name
        curve = rows("mrc", trace, "-s", "1M", cwd=AT)[0]
        alone = rows("run", trace, "-s", "1M", "-p", "1", cwd=AT)[0]
        for name in ("hit_ratio", "byte_hit_ratio"):
            assert curve[name] == alone[name], name
        told = rows("info", trace, cwd=AT)[0]
        assert told["requests"] == 6000 and told["uncacheable"] == 4000
        first = rows("info", trace, "-n", "1000", cwd=AT)[0]
        assert first["requests"] == 1000, first
        assert first["uncacheable"] == 667
    told = rows("run", "mixed.log", "--all-cacheable", "-p", "1", "-s", "1M",
                cwd=AT)[0]
    assert told["uncacheable"] == 0 and told["hit_ratio"] > .99, told
    code, _, err = cachesim("info", "mixed.compact", "--all-cacheable",
                            cwd=AT)
    assert code == 1 and "--all-cacheable" in err, err
    _, out, err = cachesim("convert", "mixed.log", "-T", "keys", cwd=AT)
    assert out.count(b"\n") == 2000 and "4000 uncacheable" in err, err


def unsafe_requests_invalidate():
    log = FOLDER.name + "/unsafe.csv"
    with open(log, "w") as to:
        to.write("method,url,status,size\n" + "GET,a,200,10\n" * 3 +
                 "POST,a,200,1\nGET,a,200,10\nPUT,a,500,1\n" +
                 "GET,a,200,10\n")
    for proxies in ("1", "2"):
        told = rows("run", log, "-s", "1000", "-p", proxies, "-k", "global")[0]
        assert told["local_hits"] + told["remote_hits"] == 3, told
        assert told["local_stale"] == 1 and told["origin"] == 4


SWEEP = ("sweep", "t.csv", "-k", "none,icp,directory", "-p", "2,5",
         "-T", "1%,10%", "-e", "lru,fifo", "-s", "1%,5%")


def sweep_has_all_combinations_once():
    got = rows(*SWEEP, cwd=AT)
    # what a threshold does matters to the directory only
    assert len(got) == (1 + 1 + 2) * 2 * 2 * 2
    keys = {(r["protocol"], r["proxies"], r.get("threshold"), r["eviction"],
             r["size"]) for r in got}
    assert len(keys) == len(got)


def sweep_is_the_same_with_any_threads():
    alone = cachesim(*SWEEP, "--csv", "-N", "1", cwd=AT)
    assert alone[0] == 0
    for threads in ("2", "3", "7", "100"):
        assert cachesim(*SWEEP, "--csv", "-N", threads, cwd=AT) == alone


def row_of_a_sweep_is_a_run():
    for row in rows(*SWEEP, cwd=AT)[::5]:
        more = ("-T", str(row["threshold"])) if "threshold" in row else ()
        alone = rows("run", "t.csv", "-k", row["protocol"], "-p",
                     str(row["proxies"]), "-e", row["eviction"], "-s",
                     row["size"], *more, cwd=AT)
        assert alone == [row]


def proxies_add_up():
    got = rows("run", "t.csv", "-k", "icp", "-p", "3", "--per-proxy", cwd=AT)
    assert [r["proxy"] for r in got] == ["all", "0", "1", "2"]
    for name in ("requests", "local_hits", "remote_hits", "queries", "held"):
        assert got[0][name] == sum(r[name] for r in got[1:]), name


def tables_show_counters_when_asked():
    assert b"remote stale" in cachesim("run", "t.csv", "-k", "icp", cwd=AT)[1]
    out = cachesim("run", "t.csv", "-k", "icp", cwd=AT)[1]
    assert b"query bytes" not in out
    out = cachesim("run", "t.csv", "-k", "icp", "--counters", cwd=AT)[1]
    assert b"query bytes" in out


def cluster_of_one_is_a_cache():
    """Single caches are simulated by themselves, clusters of one as clusters;
    all counters are the same."""
    for policy in ("lru", "sieve", "gdsf"):
        plain = rows("run", "t.csv", "-e", policy, "-s", "5%", cwd=AT)[0]
        cluster = rows("run", "t.csv", "-e", policy, "-s", "5%", "-k", "icp",
                       "-p", "1", cwd=AT)[0]
        for name, value in plain.items():
            assert name == "protocol" or cluster[name] == value, name


CHANGED = b"time,url,size\n1,a,10\n2,a,20\n3,a,20\n4,b,5\n5,a,20\n"


def changed_objects():
    """A miss, or as libCacheSim has it a hit of what was there."""
    for options, hits in (((), 2), (("--keep-changed",), 3)):
        row = rows("run", "-", "-s", "100", *options, data=CHANGED)[0]
        assert row["local_hits"] == hits, options
    code, _, err = cachesim("run", "-", "--keep-changed", "-k", "icp",
                            data=CHANGED)
    assert code == 2 and "single caches only" in err


def versions_of_objects():
    """A column of times of modification tells what the sizes do not."""
    text = (b"time,url,size,last-modified\n1,a,10,Mon\n2,a,10,Tue\n"
            b"3,a,10,Tue\n4,a,10,-\n5,a,10,Tue\n6,a,10,Mon\n")
    row = rows("run", "-", "-s", "100", data=text)[0]
    assert (row["local_hits"], row["local_stale"]) == (3, 2)


def objects_change_with_time():
    """Of requests that are a minute apart all copies are old after one."""
    text = b"".join(b"%d,http://u/,5\n" % (60 * i) for i in range(1, 41))
    for every, hits in (("60s", 0), ("1m", 0), ("600", 36), ("7d", 39)):
        row = rows("run", "-", "-s", "100", "--modify-every", every,
                   data=text)[0]
        assert abs(row["local_hits"] - hits) <= (hits > 0), every
        assert row["local_hits"] + row["local_stale"] == 39, every
    stale = rows("run", "t.csv", "-k", "icp", "--modify-every", "10m",
                 cwd=AT)[0]["remote_stale"]
    assert stale > rows("run", "t.csv", "-k", "icp", cwd=AT)[0]["remote_stale"]
    code, _, err = cachesim("run", "-", "--modify-every", "5s", data=b"a\nb\n")
    assert code == 1 and "no times" in err


def warmup_by_time():
    """As libCacheSim spells it; the later of both ends it."""
    text = b"".join(b"%d,http://u/,5\n" % i for i in range(100, 200))
    for options, counted in ((("--warmup-sec", "30"), 70),
                             (("--warmup-sec=1m", "-w", "10%"), 40),
                             (("--warmup-sec=5s", "-w", "10%"), 90)):
        row = rows("run", "-", "-s", "100", *options, data=text)[0]
        assert row["requests"] == row["local_hits"] == counted, options
        row = rows("mrc", "-", "-s", "100", *options, data=text)[0]
        assert row["hit_ratio"] == 1, options
    assert rows("mrc", "-", "-s", "100", data=text)[0]["hit_ratio"] == .99
    for command in ("run", "mrc"):
        code, _, err = cachesim(command, "-", "--warmup-sec", "1",
                                data=b"a\nb\n")
        assert code == 1 and "no times" in err, command


TRACES = os.environ.get("SCD_TRACES", os.path.join(
    SOURCE, os.pardir, "shared", "traces"))
NAMES = {"web07": ("cache2k-web07.i32le.zst", "i32le"),
         "w60": ("cloudphysics-w60.oracleGeneral.bin.zst", "oracleGeneral")}


def miss_ratios_are_libcachesims():
    """Of real traces, where these are at hand: to the last digit it tells."""
    table = os.path.join(TRACES, "reference.tsv")
    if not os.path.exists(table):
        print("# SKIP: no traces beside the checkout")
        return
    with open(table, encoding="ascii") as f:
        told = list(csv.DictReader(f, delimiter="\t"))
    for want in told:
        if want["trace"] not in NAMES or \
                want["policy"] not in ("LRU", "FIFO", "Sieve"):
            continue
        name, kind = NAMES[want["trace"]]
        row = rows(os.path.join(TRACES, name), kind, want["policy"],
                   want["cache_size"], "--keep-changed")[0]
        assert f"{row['miss_ratio']:.4f}" == want["miss_ratio"], want


def servers_come_from_urls():
    got = rows("sweep", "t.csv", "-k", "directory,servernames", cwd=AT)
    assert got[1]["false_hits"] > got[0]["false_hits"]
    assert got[1]["hit_ratio"] >= got[0]["hit_ratio"]
    code, _, err = cachesim("run", "-", "-k", "servernames", data=b"1\n2\n")
    assert code == 1 and "servers" in err


def admission_saves_writes():
    got = rows("sweep", "t.csv", "-a",
               "none,exact,exact:min-uses=3,probation:ram=0.1", cwd=AT)
    writes = [r["writes"] for r in got]
    assert writes[0] > writes[1] > writes[2] and writes[3] < writes[0]
    assert got[1]["admission"] == "exact"


def admission_is_measured():
    got = rows("sweep", "t.csv", "-a", "exact,pair:false-seen=0.05,size",
               "--measure", "-s", "5%", cwd=AT)
    assert got[0]["false_seen_ratio"] == 0
    assert 0 < got[1]["false_seen_ratio"] < .1
    assert 1 < got[1]["admission_bytes_per_key"] < 10
    assert "false_seen_ratio" not in rows("run", "t.csv", "-a", "exact",
                                          cwd=AT)[0]


def value_of(label, option, text, why):
    return (label, ("run", option, text, "t.csv"), b"", 2, b"", why)


ROWS = [
    # label, arguments, input, code, stdout, stderr
    value_of("no policy", "-e", "x", '--eviction: "x" is not lru'),
    value_of("no protocol", "-k", "x", '--protocol: "x" is not none'),
    value_of("no size", "-s", "x", '--size: "x" is not a size'),
    value_of("size 0", "-s", "0", "is not a size"),
    value_of("size too large", "-s", "101%", "is not a share"),
    value_of("odd unit", "-s", "5X", "is not a size"),
    value_of("no proxies", "-p", "0", "is not 1 to 1024"),
    value_of("many proxies", "-p", "1025",
             '--proxies: "1025" is not 1 to 1024'),
    value_of("many tries", "--tries", "1025", "is more than 1024"),
    value_of("no admission", "-a", "x", "is not none, exact"),
    value_of("its option", "-a", "aged:x=1", "has an option that"),
    value_of("its range", "-a", "exact:min-uses=99", "or out of range"),
    value_of("no placement", "--placement", "x", "keep, second"),
    value_of("no partition", "--partition", "", "client, number"),
    value_of("odd time", "--modify-every", "5x", '"5x" is not a time'),
    value_of("no bits", "--bits", "0", "is not a number of bits"),
    value_of("no hashes", "--hashes", "0", "is not more than 0"),
    value_of("no false positives", "--fp", "0", "is not more than 0"),
    value_of("nothing is expected", "--expected", "0", "is not more than 0"),
    value_of("no epoch", "--epoch", "0", "is not more than 0"),
    value_of("no time", "--modify-every", "0", "less than a second"),
    value_of("list", "-s", "1%,2%", "for cachesim sweep"),
    value_of("empty value", "-s", "", '--size: ""'),
    ("two operands", ("run", "t.csv", "csv"), b"", 2, b"", "not 2 arg"),
    ("unknown type", ("run", "-f", "x", "t.csv"), b"", 2, b"",
     "--trace-type is one of: clf, squid, csv,"),
    ("no trace", ("run", "none"), b"", 3, b"", "none: No such"),
    ("no combinations", ("sweep", "t.csv", "-S", ",".join("1" * 400), "-p",
                         ",".join("1" * 400)), b"", 2, b"", "too many"),
]

GOLDEN = (
    (("-k", "compressed", "-B", "14", "-H", "2"),
     (4588, 7247, 5704, 144, 10434)),
    (("-k", "compressed"), (4588, 7679, 388, 144, 10434)),
    (("-k", "lists"), (4588, 7682, 252, 144, 10434)),
    (("-k", "lists", "-B", "32"), (4588, 7106, 6621, 142, 10434)),
)


def forms_of_digests_stay_what_they_are():
    """Counters of a seeded trace, whatever is done for speed."""
    trace = "gen:dec,requests=40000,seed=1"
    counters = ("local_hits", "remote_hits", "false_hits", "false_misses",
                "published")
    for args, want in GOLDEN:
        got = rows("run", trace, "-p", "8", *args, cwd=AT)[0]
        coded = rows("run", trace, "-p", "8", "--sizes", "coded", *args,
                     cwd=AT)[0]
        assert tuple(got[c] for c in counters) == want, (args, got)
        assert tuple(coded[c] for c in counters) == want, (args, coded)
        exact = coded["conditional_coded"]
        most = .005 * exact + 6 * coded["published"]
        assert abs(got["conditional_coded"] - exact) <= most, (args, exact)


TESTS = [lru_is_an_lru, forms_of_digests_stay_what_they_are,
         what_may_not_be_stored_passes,
         unsafe_requests_invalidate, spelled_as_with_libcachesim,
         sweep_is_the_same_with_any_threads, changed_objects,
         objects_change_with_time, proxies_add_up,
         tables_show_counters_when_asked]
if not SLOW:
    TESTS += [sweep_has_all_combinations_once, cluster_of_one_is_a_cache,
              servers_come_from_urls, versions_of_objects, warmup_by_time,
              miss_ratios_are_libcachesims, admission_saves_writes,
              admission_is_measured, row_of_a_sweep_is_a_run]
TESTS += [cachesim.row_test(row, AT) for row in ROWS]

if __name__ == "__main__":
    run(TESTS)

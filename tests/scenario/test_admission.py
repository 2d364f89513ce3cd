"""What is worth keeping: in a node's own store, and for other caches that ask
/v1/admit."""

import json
import os
import signal
import threading
import urllib.parse

import pytest

import servers
from cluster import KEY, request, until
from digests import derive

SITE = "http://www.example.com"


@pytest.fixture
def admitting(make_cluster, origin):
    """admitting(**options): one node with these options."""
    def make(**options):
        c = make_cluster(1, cooperate=False, **options)
        c.origin_url = origin.url
        return c.start().nodes[0]
    return make


def ask(node, uri, expect=200, **more):
    query = urllib.parse.urlencode({"uri": uri, **more})
    r = request(node.admin, f"/v1/admit?{query}")
    assert r.status == expect, (r.status, r.body)
    assert r.get("Cache-Control") == "no-store"
    return r.body.decode().rstrip("\n")


def ask_many(node, lines, expect=200, end="\n"):
    r = request(node.admin, "/v1/admit", "POST",
                body="".join(x + end for x in lines).encode())
    assert r.status == expect, (r.status, r.body)
    return r.body.decode().splitlines()


def test_the_second_use_is_worth_a_write(admitting):
    node = admitting(admission="aged")
    assert ask(node, f"{SITE}/a", note="no") == "no"
    assert ask(node, f"{SITE}/a") == "no"
    assert ask(node, f"{SITE}/a", note="no") == "disk"
    assert ask(node, f"{SITE}/a") == "disk"
    assert ask(node, "HTTP://WWW.example.com:80/a", size=1) == "disk"
    assert ask(node, f"{SITE}/?b=1&c=%2F") == "no"
    assert ask(node, f"{SITE}/?b=1&c=%2F") == "disk"
    assert ask(node, f"{SITE}/?b=1&c=/") == "no"


def test_words_of_each_mode(admitting):
    for mode, words in (("none", ["disk", "disk"]),
                        ("probation", ["ram", "disk"]),
                        ("auto", ["disk", "disk"])):
        node = admitting(admission=mode)
        assert [ask(node, f"{SITE}/a") for _ in words] == words, mode


def test_many_at_once(admitting):
    node = admitting(admission="aged")
    lines = [f"{SITE}/{i} {i}" for i in range(10000)]
    assert ask_many(node, lines).count("no") >= 9900
    assert ask_many(node, lines) == ["disk"] * 10000
    assert ask_many(node, [f"{SITE}/x", f"{SITE}/1\t5"], end="\r\n") == \
        ["no", "disk"]
    assert ask_many(node, []) == []
    assert request(node.admin, "/v1/admit", "POST").status == 200
    # chunked, and without an end of the last line
    r = request(node.admin, "/v1/admit", "POST",
                headers={"Transfer-Encoding": "chunked"},
                body=b"18\r\nhttp://www.example.com/2\r\n0\r\n\r\n")
    assert (r.status, r.body) == (200, b"disk\n")


def test_what_is_refused_has_counted_nothing(admitting):
    node = admitting(admission="aged")
    long = f"{SITE}/" + "x" * 8192
    assert "line 2: not URI" in ask_many(node, [f"{SITE}/a", "b"], 400)[0]
    assert "line 2: URI too" in ask_many(node, [f"{SITE}/a", long], 413)[0]
    assert "line 10001" in ask_many(node, [f"{SITE}/a"] * 10001, 413)[0]
    for headers, body in (
            ({"Content-Length": "1048577"}, None),
            ({"Transfer-Encoding": "chunked"},
             b"100001\r\n" + b"x" * 0x100001 + b"\r\n0\r\n\r\n")):
        r = request(node.admin, "/v1/admit", "POST", headers, body)
        assert (r.status, r.body) == (413, b"more than 1 MiB\n")
    assert ask(node, f"{SITE}/a", note="no") == "no"
    for query in ("", "?", "?uri=", "?uri=a", "?size=1", "?uri=http://a&x=1",
                  "?uri=http://a&size=x", "?uri=http://a/%zz"):
        assert request(node.admin, "/v1/admit" + query).status == 400, query
    ask(node, long, expect=414)
    assert request(node.admin, "/v1/admit?uri=http://a", "POST",
                   body=b"").status == 400
    for method in ("PUT", "DELETE", "HEAD"):
        r = request(node.admin, "/v1/admit?uri=http://a", method)
        assert (r.status, r.get("Allow")) == (405, "GET, POST")
    assert request(node.admin, "/v1/admitted").status == 404
    status = node.status()["admission"]
    assert status["questions"] == 1
    assert status["admitted"] == status["refused"] == 0


def test_the_cap_is_a_cap(admitting):
    node = admitting(admission_max_rate="100K")
    assert ask(node, f"{SITE}/a", size=10**9) == "disk"
    assert ask_many(node, [f"{SITE}/{i} 1" for i in range(100)]) == \
        ["no"] * 100
    status = node.status()["admission"]
    assert (status["admitted"], status["capped"]) == (1, 100)
    assert status["admitted_bytes"] == 10**9
    metrics = request(node.admin, "/metrics").body.decode()
    assert "digestd_admission_capped_total 100\n" in metrics
    assert "digestd_admission_admits_all 1\n" in metrics


def sources(node, target, n):
    return [node.get(target).source for _ in range(n)]


def page(origin, path, size=100, **fields):
    fields = {k.replace("_", "-"): v for k, v in fields.items()}
    origin.set(path, fields={"Cache-Control": "max-age=60", **fields},
               body=b"x" * size)


def test_stored_at_the_second_use(admitting, origin):
    node = admitting(admission="aged")
    page(origin, "/a")
    answers = [node.get("/a") for _ in range(3)]
    assert [a.source for a in answers] == ["origin", "origin", "hit"]
    assert ["; stored" in a.get("Cache-Status") for a in answers[:2]] == \
        [False, True]
    assert ask(node, f"{SITE}/b") == "no"  # seen by others is seen
    page(origin, "/b")
    assert sources(node, "/b", 2) == ["origin", "hit"]
    status = node.status()
    assert status["counters"]["stored"] == status["store"]["objects"] == 2
    assert (status["admission"]["refused"], status["admission"]["admitted"]) \
        == (2, 2)


def test_probation(admitting, origin):
    node = admitting(admission="probation", cache_size="1M",
                     admission_ram="0.1")
    for i in range(20):
        page(origin, f"/{i}", size=10000)
    assert sources(node, "/0", 3) == ["origin", "hit", "hit"]
    for i in range(1, 20):  # more than there is room for
        node.get(f"/{i}")
    assert node.get("/1").source == "origin"  # and now it is kept
    assert node.get("/19").source == "hit"
    for i in range(2, 20):
        node.get(f"/{i}")
    assert [sources(node, f"/{i}", 1) for i in (0, 1, 19)] == [["hit"]] * 3
    admission = node.status()["admission"]
    assert admission["on_probation"] == 20
    page(origin, "/0", size=10000, Vary="A")
    r = request(node.admin, "/", "PURGE", headers={"Purge-Prefix": SITE})
    assert r.status == 200 and node.status()["store"]["objects"] == 0
    assert node.status()["digest"]["keys"] == 0


def test_variants_in_both_tiers(admitting, origin):
    node = admitting(admission="probation", admission_window="100")
    page(origin, "/a", Vary="A")
    assert sources(node, "/a", 2) == ["origin", "hit"]
    for i in range(300):  # until its key is forgotten
        ask(node, f"{SITE}/{i}")
    assert node.get("/a", headers={"A": "1"}).source == "origin"
    assert node.get("/a", headers={"A": "1"}).source == "hit"
    assert node.get("/a").source == "hit"
    digest, store = node.status()["digest"], node.status()["store"]
    assert (digest["keys"], store["objects"]) == (1, 2)
    r = request(node.admin, "/a", "PURGE", headers={"Host": "www.example.com"})
    assert json.loads(r.body)["purged"] == 2
    assert node.status()["digest"]["keys"] == 0


def test_who_waits_is_a_second_use(admitting, origin):
    node = admitting(admission="aged")
    go = threading.Event()

    def slow(_, __):
        go.wait(20)
        return servers.response(200, {"Cache-Control": "max-age=60"}, b"a")

    origin.pages["/a"] = slow
    clients = [threading.Thread(target=node.get, args=("/a",))
               for _ in range(5)]
    for c in clients:
        c.start()
    until(lambda: node.counters()["requests"] == 5)
    go.set()
    for c in clients:
        c.join()
    assert origin.count("/a") == 1
    assert node.get("/a").source == "hit"


def test_what_is_renewed_stays(admitting, origin):
    node = admitting(admission="aged", admission_window="24")
    page(origin, "/a", Cache_Control="max-age=0, must-revalidate", ETag='"1"')
    assert sources(node, "/a", 3) == ["origin"] * 3
    for i in range(100):
        ask(node, f"{SITE}/{i}")
    page(origin, "/a")  # its key is forgotten, but it is here
    assert sources(node, "/a", 2) == ["origin", "hit"]


def test_auto_fills_the_cache_first(admitting, origin):
    node = admitting(admission="auto")
    page(origin, "/a")
    assert sources(node, "/a", 2) == ["origin", "hit"]
    assert node.status()["admission"]["admits_all"] is True


def restart(node):
    assert node.process.end() == 0
    node.start()


def test_what_was_seen_outlives_a_restart(admitting, tmp_path):
    path = tmp_path / "seen"
    node = admitting(admission="aged", admission_file=str(path))
    assert ask(node, f"{SITE}/a") == "no"
    restart(node)
    assert ask(node, f"{SITE}/a") == "disk"
    node.process.end()
    assert [p.name for p in tmp_path.iterdir()] == ["seen"]
    good = path.read_bytes()
    for words, image in (("damaged", good[:-1] + bytes([good[-1] ^ 1])),
                         ("damaged", good[:20]), ("damaged", b""),
                         ("damaged", good + b"x"),
                         ("damaged", 2 * good),
                         ("another cluster key", b"x" + good[1:])):
        path.write_bytes(image)
        node.start()
        assert f"{path}: " in node.process.logged()
        assert words in node.process.logged().rsplit("admission: ", 1)[1]
        assert ask(node, f"{SITE}/a", note="no") == "no"
        node.process.end()
    assert len(path.read_bytes()) == len(good)
    path.write_bytes(good)
    node.options["admission_window"] = "1000"
    node.start()
    assert "of another window" in node.process.logged()


def test_a_file_that_cannot_be_written_is_logged(admitting, tmp_path):
    (tmp_path / "a").mkdir()
    node = admitting(admission="aged", admission_file=str(tmp_path / "a/b"))
    ask(node, f"{SITE}/a")
    (tmp_path / "a").rmdir()
    assert node.process.end() == 0
    assert "error admission: writing" in node.process.logged()


def test_a_file_that_is_a_pipe_holds_nothing_up(admitting, tmp_path):
    path = tmp_path / "seen"
    node = admitting(admission="aged", admission_file=str(path))
    os.mkfifo(f"{path}.new")
    assert node.process.end() == 0
    assert [p.name for p in tmp_path.iterdir()] == ["seen"]
    path.unlink()
    for make in os.mkfifo, os.mkdir:
        make(path)
        node.start(wait=False)
        assert node.process.wait(10) == 1
        node.cluster.processes.remove(node.process)
        assert f"admission_file = {path}: not a regular file" in \
            node.process.logged()
        (path.rmdir if path.is_dir() else path.unlink)()


def test_cap_and_cost_are_reloaded(admitting):
    node = admitting(admission="auto")
    assert ask(node, f"{SITE}/a", size=10**9) == "disk"
    node.options.update(admission_max_rate="1K", admission_write_cost="0.5")
    node.write()
    node.process.signal(signal.SIGHUP)
    until(lambda: "reload: done" in node.process.logged())
    assert "takes effect" not in node.process.logged()
    assert [ask(node, f"{SITE}/{i}", size=10**9) for i in range(2)] == \
        ["disk", "ram"]


def test_the_window_follows_what_the_cache_holds(admitting, origin, tmp_path):
    """1.5 times the objects: of 4K each to begin with, then as they are."""
    def window(low, high):
        until(lambda: low < node.status()["admission"]["window"] < high)

    path = tmp_path / "seen"
    node = admitting(admission="auto", cache_size="64M",
                     admission_file=str(path))
    window(24575, 24600)
    for i in range(1100):
        page(origin, f"/{i}", size=20000)
        node.get(f"/{i}")
    window(4500, 5000)
    node.options["cache_size"] = "256M"
    node.write()
    node.process.signal(signal.SIGHUP)
    window(18000, 20000)
    # a restart takes the file as it is, before it can know better
    assert node.process.end() == 0
    node.start()
    window(18000, 20000)
    assert "without what was seen" not in node.process.logged()


def test_the_cache_in_front_is_told(admitting, origin):
    node = admitting(admission="probation", admission_tell="field")
    page(origin, "/a")
    origin.set("/b", fields={"Cache-Control": "private"}, body=b"b")
    told = [node.get(x).get("Scd-Admit") for x in ("/a", "/a", "/a", "/b")]
    assert told == ["ram", "disk", "disk", None]
    page(origin, "/c", size=200000)  # which is streamed
    assert [node.get("/c").get("Scd-Admit") for _ in "12"] == ["ram", "disk"]
    r = request(node.peer, f"{SITE}/a", headers={
        "Proxy-Authorization": "Bearer " + derive(KEY, "token").hex(),
        "Cache-Control": "only-if-cached"})
    assert (r.status, r.get("Scd-Admit")) == (200, None)


def test_nginx_is_told_how_old_it_is(admitting, origin):
    node = admitting(admission_tell="nginx")
    page(origin, "/a", Age="50")
    page(origin, "/b", Age="50", X_Accel_Expires="7")
    page(origin, "/c")
    assert 0 <= int(node.get("/a").get("X-Accel-Expires")) <= 10
    assert node.get("/b").get("X-Accel-Expires") == "7"
    assert node.get("/c").get("X-Accel-Expires") is None


@pytest.fixture
def with_disk(admitting, tmp_path):
    """with_disk(**options): a node with a disk."""
    return lambda **options: admitting(disk_path=str(tmp_path / "disk"),
                                       disk_size="64M", **options)


@pytest.mark.parametrize("mode,first", (("aged", "origin"),
                                        ("probation", "hit")))
def test_written_to_disk_at_the_second_use(with_disk, origin, mode, first):
    node = with_disk(admission=mode, admission_ram="0.5")
    for i in range(20):
        page(origin, f"/{i}", size=5000)
        assert node.get(f"/{i}").source == "origin"
    disk = node.status()["disk"]
    assert (disk["objects"], disk["writes"]) == (0, 0)
    assert sources(node, "/0", 2) == [first, "hit"]
    until(lambda: node.status()["disk"]["writes"] == 1)
    assert node.status()["disk"]["objects"] == 1
    # the window is the disk's: 64M / 16K * 1.5, in blocks of 24
    assert 6144 <= node.status()["admission"]["window"] < 6144 + 24
    assert node.process.end() == 0
    node.start()
    assert sources(node, "/0", 1) == ["hit"]
    assert sources(node, "/1", 1) == ["origin"]


def test_with_a_disk_it_is_automatic(with_disk, admitting):
    """A window says that keys are remembered; without a disk, none are."""
    status = with_disk().status()["admission"]
    assert status["window"] > 0 and status["admits_all"] is True
    status = admitting().status()["admission"]
    assert status["window"] == 0

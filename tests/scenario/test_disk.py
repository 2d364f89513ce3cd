"""The disk tier: what outlives memory, a restart, kill -9, and damage."""

import hashlib
import json
import os
import re
import resource
import signal
import socket

import pytest

import servers
from cluster import request, until

LARGE = 300_000


def body_of(path, size):
    """Bytes that tell which page they are of."""
    seed = hashlib.sha256(path.encode()).digest()
    return (seed * (size // len(seed) + 1))[:size]


def page(origin, path, size=2000, **fields):
    origin.set(path, fields={"Cache-Control": "max-age=600", "ETag": '"1"',
                             **{k.replace("_", "-"): v
                                for k, v in fields.items()}},
               body=body_of(path, size))


@pytest.fixture
def storing(make_cluster, origin, tmp_path):
    """storing(**options): a node with a disk tier, started."""
    def make(**options):
        options = {"disk_path": str(tmp_path / "disk"), "disk_size": "100M",
                   **options}
        c = make_cluster(1, **options)
        c.origin_url = origin.url
        return c.start().nodes[0]
    return make


def disk(node):
    return node.status()["disk"]


def written(node, count):
    until(lambda: disk(node)["writes"] >= count, what="writes")


def restart(node, how=signal.SIGTERM, meanwhile=lambda: None):
    node.process.signal(how)
    node.process.wait()
    meanwhile()
    node.start()


def files(tmp_path):
    """Of large bodies; the others are in segments."""
    return [os.path.join(folder, name)
            for folder, _, names in os.walk(os.path.join(tmp_path, "disk"))
            for name in names if not name.endswith(".log")]


def segments(tmp_path):
    folder = os.path.join(tmp_path, "disk")
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder))
            if name.endswith(".log")]


def check(node, origin, pages, source="hit"):
    asked = origin.count()
    for path, size in pages.items():
        r = node.get(path)
        assert (r.status, r.source) == (200, source), path
        assert r.body == body_of(path, size), path
        assert r.get("Age") is not None
    assert origin.count() - asked == (0 if source == "hit" else len(pages))


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_restart_keeps_hits_and_digest(storing, origin, how):
    node = storing(listen_peer=None)
    pages = {f"/{i}": 1 + 4000 * i for i in range(40)} | {"/large": LARGE}
    for path, size in pages.items():
        page(origin, path, size)
        node.get(path)
    node.get("/none")  # is not to be stored
    written(node, len(pages))
    restart(node, how)
    # before anything is asked for
    assert node.status()["store"]["keys"] == 0
    assert disk(node)["keys"] == len(pages)
    check(node, origin, pages)
    assert node.get("/none").source == "origin"
    assert disk(node)["hits"] == len(pages)
    check(node, origin, pages)
    # small ones are in memory again; large ones are sent from their files
    small = sum(size <= 65536 for size in pages.values())
    assert node.status()["store"]["keys"] == small
    assert disk(node)["hits"] == 2 * len(pages) - small


def test_a_peer_is_told_at_once(make_cluster, origin, tmp_path):
    c = make_cluster(2, disk_path=str(tmp_path / "a"))
    c.origin_url = origin.url
    a, b = c.nodes
    b.options["disk_path"] = None
    c.start()
    for i in range(20):
        page(origin, f"/{i}", 100 if i % 2 else LARGE)
        a.get(f"/{i}")
    written(a, 20)
    # a disk of whose node no peer has heard is asked about at the origin
    until(lambda: a.knows(b) and b.knows(a), what="each other")
    restart(a, signal.SIGKILL)
    until(lambda: b.peer_status("n1")["digest"]
          and b.peer_status("n1")["digest"]["keys"] == 20
          and b.peer_status("n1")["usable"] and b.knows(a),
          what="the digest")
    asked = origin.count()
    for i in range(20):
        r = b.get(f"/{i}")
        assert r.source == "peer", (i, r.get("Cache-Status"))
        assert r.body == body_of(f"/{i}", 100 if i % 2 else LARGE)
    assert origin.count() == asked


def test_more_than_memory(storing, origin):
    node = storing(cache_size="256K")
    pages = {f"/{i}": 20_000 for i in range(60)}
    for path, size in pages.items():
        page(origin, path, size)
        node.get(path)
        check(node, origin, {path: size})
    written(node, len(pages))
    check(node, origin, pages)
    check(node, origin, pages)
    assert node.status()["store"]["keys"] < len(pages)
    assert disk(node)["objects"] == len(pages)
    assert disk(node)["hits"] > len(pages)


def test_all_kinds_of_requests(storing, origin):
    node = storing()
    for path, size in (("/small", 3000), ("/large", LARGE), ("/empty", 0)):
        page(origin, path, size)
        node.get(path)
    page(origin, "/vary", Vary="A")
    for value in ("1", "2"):
        node.get("/vary", headers={"A": value})
    written(node, 5)
    restart(node)
    asked = origin.count()
    for path, size in (("/small", 3000), ("/large", LARGE)):
        body = body_of(path, size)
        for _ in range(2):
            r = node.get(path, method="HEAD")
            assert (r.status, r.body) == (200, b"")
            assert r.get("Content-Length") == str(size)
            r = node.get(path, headers={"Range": "bytes=1000-1999"})
            assert (r.status, r.body) == (206, body[1000:2000])
            r = node.get(path, headers={"Range": f"bytes={size}-"})
            assert r.status == 416
            r = node.get(path, headers={"If-None-Match": '"1"'})
            assert (r.status, r.body) == (304, b"")
            assert node.get(path).body == body
    assert node.get("/empty").body == b""
    assert node.get("/vary", headers={"A": "2"}).source == "hit"
    assert origin.count() == asked
    assert node.get("/vary", headers={"A": "3"}).source == "origin"


def test_the_newer_one_stays(storing, origin):
    """Replaced, confirmed with a 304, made invalid by a POST."""
    node = storing()
    for path in ("/replaced", "/confirmed", "/large", "/posted"):
        page(origin, path, LARGE if path == "/large" else 500)
        node.get(path)
    origin.set("/replaced", fields={"Cache-Control": "max-age=600"},
               body=b"new")
    confirmed = servers.response(304, {"Cache-Control": "max-age=600",
                                       "ETag": '"1"', "X-New": "yes"})
    again = {"Cache-Control": "no-cache"}
    written(node, 4)
    node.get("/replaced", headers=again)
    for path in ("/confirmed", "/large"):
        origin.pages[path] = confirmed
        assert "fwd-status=304" in node.get(path, headers=again).get(
            "Cache-Status")
    node.get("/posted", method="POST", body=b"")
    written(node, 5)
    restart(node)
    assert node.get("/replaced").body == b"new"
    for path in ("/confirmed", "/large"):
        r = node.get(path)
        assert (r.source, r.get("X-New")) == ("hit", "yes"), path
        assert r.body == body_of(path, 500 if path == "/confirmed" else LARGE)
    # confirmed while it is on disk only
    origin.pages["/large"] = confirmed.replace(b"yes", b"twice")
    node.get("/large", headers=again)
    until(lambda: node.get("/large").get("X-New") == "twice", what="renewal")
    assert node.get("/posted").source == "origin"


def purge(node, target="/", **fields):
    r = request(node.admin, target, method="PURGE",
                headers={k.replace("_", "-"): v for k, v in fields.items()})
    return json.loads(r.body)["purged"]


def test_purge(storing, origin):
    node = storing(cache_size="128K")
    pages = {f"/{d}/{i}": 9000 for d in "abc" for i in range(20)}
    for path in pages:
        page(origin, path, 9000, Cache_Tag="news" if path < "/b" else "old")
        node.get(path)
    written(node, len(pages))
    assert purge(node, "/c/1") == purge(node, "/c/2") == 1
    assert purge(node, Purge_Prefix="http://www.example.com/b/") == 20
    assert purge(node, Purge_Tag="news") == 20
    assert purge(node, Purge_Tag="news") == 0
    left = {p: s for p, s in pages.items()
            if p > "/c" and p not in ("/c/1", "/c/2")}
    assert disk(node)["objects"] == len(left)
    restart(node)
    check(node, origin, left)
    for path in pages.keys() - left.keys():
        assert node.get(path).source == "origin", path


def test_purged_for_good(storing, origin):
    """Killed as soon as the answer is there."""
    node = storing()
    page(origin, "/stays")
    node.get("/stays")
    written(node, 1)
    ways = ({"target": "/a"},
            {"Purge_Prefix": "http://www.example.com/a"})
    for i in range(4):
        page(origin, "/a")
        node.get("/a")
        if i % 2:
            written(node, 1)  # otherwise it is on its way
        assert purge(node, **ways[i // 2]) == 1
        restart(node, signal.SIGKILL)
        assert node.get("/a", headers={"Cache-Control": "only-if-cached"}
                        ).status == 504
        assert node.get("/stays").source == "hit"


def test_invalidated_for_good(storing, origin):
    """By a POST, and killed as soon as its answer is there."""
    node = storing()
    for i in range(4):
        page(origin, f"/{i}")
        node.get(f"/{i}")
        written(node, 1)
        assert node.get(f"/{i}", method="POST", body=b"").status == 200
        restart(node, signal.SIGKILL)
        assert node.get(f"/{i}", headers={"Cache-Control": "only-if-cached"}
                        ).status == 504


def damage_all(paths):
    """Each in another way; how many of them a start must find."""
    for i, path in enumerate(sorted(paths)):
        with open(path, "r+b") as f:
            size = os.path.getsize(path)
            if i % 3 == 0:
                f.seek(size // 2)
                byte = f.read(1)[0]
                f.seek(size // 2)
                f.write(bytes([byte ^ 1 << i % 8]))
            elif i % 3 == 1:
                f.truncate(size - 1)
        if i % 3 == 2:
            os.unlink(path)


def test_damage(storing, origin, tmp_path):
    node = storing()
    pages = {f"/{i}": LARGE + i % 2 * LARGE for i in range(30)}
    for path, size in pages.items():
        page(origin, path, size)
        node.get(path)
    written(node, 30)
    restart(node, meanwhile=lambda: damage_all(files(tmp_path)))
    assert disk(node)["lost"] == 10
    check(node, origin, pages, "origin")
    assert disk(node)["corrupt"] == 20
    check(node, origin, pages)
    # while it runs, too
    written(node, 30)
    restart(node)
    for path in files(tmp_path):
        os.unlink(path)
    check(node, origin, pages, "origin")
    assert disk(node)["read_errors"] == 30
    assert "reading object" in node.process.logged()


def flip(path, at):
    with open(path, "r+b") as f:
        f.seek(at)
        byte = f.read(1)[0]
        f.seek(at)
        f.write(bytes([byte ^ 1]))


def test_bits_that_flip_while_the_node_runs(storing, origin, tmp_path):
    """In files that were read before: what is wrong is never sent, whole or in
    part, and what a range does not touch does not matter to it."""
    node = storing(listen_peer=None)
    pages = {f"/{i}": LARGE + i for i in range(60)}
    for path, size in pages.items():
        page(origin, path, size)
        node.get(path)
    written(node, len(pages))
    restart(node)
    check(node, origin, pages)
    for path in files(tmp_path):
        flip(path, LARGE // 2)
    asked = origin.count()
    for path, size in pages.items():
        for first, last in ((0, 131071), (196608, size - 1)):
            r = node.get(path, headers={"Range": f"bytes={first}-{last}"})
            assert r.body == body_of(path, size)[first:last + 1]
    assert (origin.count(), disk(node)["corrupt"]) == (asked, 0)
    for i, (path, size) in enumerate(pages.items()):
        if i % 2:
            # this origin answers ranges with the whole
            r = node.get(path, headers={"Range": "bytes=131000-150000"})
            assert (r.status, r.body) == (200, body_of(path, size))
        else:
            assert node.get(path).body == body_of(path, size)
    assert disk(node)["corrupt"] == origin.count() - asked == len(pages)
    assert "reading object http://www.example.com/" in node.process.logged()


def test_a_bit_that_flips_while_it_is_sent(storing, origin, tmp_path):
    """Nothing of the block is sent: the reply breaks off, and the next one is
    the origin's."""
    node = storing(cache_size="16M")
    size = 12 << 20
    page(origin, "/large", size)
    node.get("/large")
    written(node, 1)
    restart(node)
    (path,) = files(tmp_path)
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.settimeout(20)
        s.connect(("127.0.0.1", node.data))
        s.sendall(b"GET /large HTTP/1.1\r\nHost: www.example.com\r\n\r\n")
        got = s.recv(1000)
        assert b" 200 " in got and b"; hit" in got
        flip(path, size - 70_000)
        try:
            while part := s.recv(1 << 20):
                got += part
        except ConnectionResetError:
            pass
    body = got[got.index(b"\r\n\r\n") + 4:]
    assert len(body) <= size - 70_000
    assert body == body_of("/large", size)[:len(body)]
    assert disk(node)["corrupt"] == 1
    check(node, origin, {"/large": size}, "origin")


def test_damaged_segments(storing, origin, tmp_path):
    """A flipped bit costs one object, also without tables; a segment that is
    nothing any more what it had."""
    node = storing(cache_size="64K")
    pages = {f"/{i}": 3000 for i in range(30)}
    for path, size in pages.items():
        page(origin, path, size)
        node.get(path)
    written(node, 30)
    for how, at in ((signal.SIGTERM, 5000), (signal.SIGKILL, 50_000)):
        restart(node, how, lambda: flip(segments(tmp_path)[0], at))
        assert disk(node)["objects"] >= 29
        asked = origin.count()
        for path, size in pages.items():
            assert node.get(path).body == body_of(path, size)
        assert origin.count() - asked <= 1
        written(node, 1)
    # a damaged record does not say whose it is: who has asked does
    logged = node.process.logged()
    assert re.search(r"reading object http://www.example.com/\d+ from \S+/"
                     r"\w+\.log: damaged", logged), logged
    assert "unknown name" not in logged

    def overwrite():
        for path in segments(tmp_path):
            with open(path, "r+b") as f:
                f.write(b"\xff" * os.path.getsize(path))
    restart(node, meanwhile=overwrite)
    assert disk(node)["objects"] == 0
    check(node, origin, {"/1": 3000}, "origin")
    written(node, 1)
    restart(node)
    check(node, origin, {"/1": 3000})


def test_a_folder_of_an_earlier_version(storing, origin, tmp_path):
    """It had an index of records: what it knew is discarded, and said so."""
    (tmp_path / "disk" / "07").mkdir(parents=True)
    (tmp_path / "disk" / "index.mdb").write_bytes(b"anything")
    (tmp_path / "disk" / "07" / "0000000000000007").write_bytes(b"body")
    node = storing()
    assert "is discarded" in node.process.logged()
    assert not files(tmp_path)
    page(origin, "/a")
    node.get("/a")
    written(node, 1)
    restart(node)
    check(node, origin, {"/a": 2000})


def size_of(path):
    """Of a segment, which may have made room meanwhile."""
    try:
        return os.path.getsize(path)
    except FileNotFoundError:
        return 0


def test_room_comes_back(storing, origin, tmp_path):
    """Much more is stored than the disk may have: it never has more."""
    node = storing(disk_size="2M", cache_size="64K")
    for i in range(600):
        page(origin, f"/{i}", 12_000)
        node.get(f"/{i}")
        if i % 100 == 99:
            assert sum(map(size_of, segments(tmp_path))) <= 2 << 20
    assert disk(node)["objects"] > 120
    restart(node)
    assert disk(node)["objects"] > 120
    asked = origin.count()
    for i in range(599, -1, -1):  # the newest are there
        assert node.get(f"/{i}").body == body_of(f"/{i}", 12_000)
    assert origin.count() - asked < 600


def test_a_disk_that_takes_nothing(storing, origin, tmp_path):
    node = storing()
    for name in os.listdir(tmp_path / "disk"):
        os.rmdir(tmp_path / "disk" / name)
    pages = {f"/{i}": LARGE for i in range(20)}
    for path in pages:
        page(origin, path, LARGE)
    check(node, origin, pages, "origin")
    until(lambda: disk(node)["write_errors"] == 20, what="errors")
    assert disk(node)["objects"] == 0
    name = f"writing object http://www\\.example\\.com/\\d+ to {tmp_path}" \
        "/disk/[0-9a-f]{2}/[0-9a-f]{16}: No such file or directory"
    assert re.search(name, node.process.logged())
    check(node, origin, pages)  # from memory


def limit_files(node, size):
    """The largest file that it may write from now on: more is an error, as on
    a full disk."""
    pid, kind = node.process.popen.pid, resource.RLIMIT_FSIZE
    resource.prlimit(pid, kind, (size, resource.prlimit(pid, kind)[1]))


def test_a_disk_that_is_full_for_a_while(storing, origin):
    node = storing(cache_size="1M")
    limit_files(node, LARGE // 2)
    pages = {f"/{i}": LARGE for i in range(20)}
    for path in pages:
        page(origin, path, LARGE)
    check(node, origin, pages, "origin")
    until(lambda: disk(node)["write_errors"] == 20, what="errors")
    assert disk(node)["objects"] == disk(node)["writes"] == 0
    logged = node.process.logged()
    assert "writing object" in logged and "File too large" in logged
    assert logged.count("writing object") < 20  # not one line each
    limit_files(node, resource.RLIM_INFINITY)
    check(node, origin, {"/19": LARGE})  # from memory, as before
    check(node, origin, {"/0": LARGE}, "origin")
    written(node, 1)
    restart(node, signal.SIGKILL)
    check(node, origin, {"/0": LARGE})


def test_a_full_disk_is_not_called_damaged(storing, origin):
    """Where a removal cannot be written, what it is in goes as a whole."""
    node = storing()
    for i in range(20):
        page(origin, f"/{i}", 1000)
        node.get(f"/{i}")
    written(node, 20)
    limit_files(node, 1)  # which is the end of the log, too
    assert request(node.admin, "http://www.example.com/3",
                   "PURGE").status == 200
    until(lambda: disk(node)["objects"] == 0, what="the segment is dropped")
    causes = {t["cause"] for t in node.status()["troubles"]}
    assert causes == {"disk-full"}


def test_a_folder_that_cannot_be_read_is_named(storing, tmp_path):
    node = storing()
    node.process.end()
    os.rmdir(tmp_path / "disk" / "00")
    (tmp_path / "disk" / "00").touch()
    node.start(wait=False)
    assert node.process.wait(60) == 1
    assert f"{tmp_path}/disk: what is stored there cannot be read: " \
        "Not a directory" in node.process.logged()
    node.cluster.processes.remove(node.process)


def test_two_nodes_and_one_folder(storing, make_cluster, origin, tmp_path):
    storing()
    c = make_cluster(1, disk_path=str(tmp_path / "disk"))
    c.origin_url = origin.url
    other = c.nodes[0].start(wait=False)
    assert other.process.wait(60) == 1
    assert f"{tmp_path}/disk: another process uses it" \
        in other.process.logged()
    c.processes.remove(other.process)


def test_sizes_change_at_a_reload(storing, origin, tmp_path):
    node = storing(disk_size="2M")
    for i in range(100):
        page(origin, f"/{i}", 10_000)
        node.get(f"/{i}")
    written(node, 100)
    many = disk(node)["objects"]
    assert many == 100
    node.options["disk_size"] = "1M"
    node.write()
    node.process.signal(signal.SIGHUP)
    until(lambda: disk(node)["objects"] < many, what="reload")
    assert disk(node)["bytes"] <= disk(node)["limit_bytes"] == 1 << 20
    until(lambda: sum(os.path.getsize(path) for path in segments(tmp_path))
          <= 1 << 20, what="segments removed")

"""The access log: what each line says, its formats, where it goes, and what
cannot hold a node up."""

import csv
import fcntl
import json
import os
import re
import resource
import signal
import socket
import subprocess
import time

import pytest

import cluster as scd
import servers
from cluster import until
from test_front import send

MAXAGE = {"Cache-Control": "max-age=600"}
CACHESIM = os.path.join(scd.BUILD, "cachesim", "cachesim")


@pytest.fixture
def logging(make_cluster, origin, tmp_path):
    """logging(format, **options): a node, and its access log as a function that
    waits for so many lines."""
    def make(text, count=1, **options):
        path = str(tmp_path / "access.log")
        c = make_cluster(count, **options)
        c.nodes[0].options.update(access_log=path, access_log_format=text)
        c.origin_url = origin.url
        c.start()

        def lines(n, where=path):
            def there():
                with open(where, encoding="ascii") as f:
                    got = f.read().splitlines()
                assert len(got) <= n, got
                return len(got) == n and got
            return until(there, what=f"{n} lines")
        return c.nodes[0], lines
    return make


def test_combined(logging, origin):
    node, lines = logging("combined")
    origin.set("/a", fields=MAXAGE, body=b"x" * 1234)
    node.get("/a", headers={"Referer": 'http://h/"\\',
                            "User-Agent": "t\xfft/1"})
    node.get("/a", method="HEAD")
    assert send(node.data, b"GET / HTTP/1.1\r\n\r\n")[9:12] == b"400"
    stamp = r"\[\d\d/[A-Z][a-z][a-z]/\d{4}:\d\d:\d\d:\d\d \+0000\]"
    first, second, third = lines(3)
    assert re.fullmatch(rf'127\.0\.0\.1 - - {stamp} "GET /a HTTP/1\.1" 200 '
                        r'1234 "http://h/\\x22\\x5c" "t\\xfft/1"', first), first
    assert re.fullmatch(rf'127\.0\.0\.1 - - {stamp} "HEAD /a HTTP/1\.1" 200 0 '
                        '"-" "-"', second), second
    assert re.fullmatch(rf'127\.0\.0\.1 - - {stamp} "- - HTTP/1\.1" 400 16 '
                        '"-" "-"', third), third


def test_where_replies_are_from(logging, origin, tmp_path):
    """In JSON: memory, disk, a peer, the origin, an error, and who has left."""
    node, lines = logging("json", 2, disk_path=None)
    other = node.cluster.nodes[1]
    for path in ("/a", "/b"):
        origin.set(path, fields=MAXAGE, body=b"x" * 10)
    other.get("/b")
    node.cluster.wait_settled()
    node.get("/a")
    node.get("/a")
    node.get("/b")
    node.get("/c?x=%22", headers={"Cache-Control": "only-if-cached"})
    origin.pages["/slow"] = lambda request, connection: time.sleep(.5)
    with socket.create_connection(("127.0.0.1", node.data)) as s:
        s.sendall(b"GET /slow HTTP/1.1\r\nHost: www.example.com\r\n\r\n")
        until(lambda: origin.count("/slow"), what="asked")
    rows = [json.loads(line) for line in lines(5)]
    assert [(r["digestd.source"], r["digestd.from"], r["digestd.reason"],
             r["http.response.status_code"], r["digestd.end"])
            for r in rows] == [
        ("origin", origin.url, "uri-miss", 200, "done"),
        ("memory", "", "", 200, "done"),
        ("peer", other.name, "uri-miss", 200, "done"),
        ("node", "", "only-if-cached", 504, "done"),
        ("nobody", "", "uri-miss", 0, "aborted")]
    assert rows[3]["url.full"] == "http://www.example.com/c?x=%22"
    for r in rows:
        assert abs(time.mktime(time.strptime(
            r["@timestamp"][:19], "%Y-%m-%dT%H:%M:%S")) - time.timezone
            - time.time()) < 60 * scd.SLOW
        assert 0 <= r["digestd.reply_ms"] <= r["digestd.duration_ms"]
        assert r["digestd.peer_ms"] + r["digestd.origin_ms"] <= \
            r["digestd.duration_ms"]


def test_how_long_each_leg_took(logging, origin):
    """A peer that has it no more, and the origin behind that; none of a hit."""
    node, lines = logging("%{peer_ms} %{origin_ms} %{duration_ms}", 2,
                          peer_timeout="10s", disk_path=None)
    peer = node.cluster.nodes[1]

    def slowly(request, connection):
        time.sleep(.3)
        return servers.response(200, MAXAGE, b"x")
    origin.set("/a", fields={"Cache-Control": "max-age=1"}, body=b"x")
    peer.get("/a")
    node.cluster.wait_settled()
    origin.pages["/a"] = slowly
    time.sleep(1.1)
    node.get("/a")
    node.get("/a")
    (asked, origins, all_of_it), hit = [
        [int(n) for n in line.split()] for line in lines(2)]
    assert origins >= 300 and asked + origins <= all_of_it
    assert hit[:2] == [0, 0]


def test_a_format_of_ones_own(logging, origin, tmp_path):
    node, lines = logging("%{source} %{bytes} %{end}|%{host}", cache_size="64K",
                          disk_path=str(tmp_path / "disk"), disk_size="100M")
    for i in range(30):
        origin.set(f"/{i}", fields=MAXAGE, body=b"x" * 5000)
        node.get(f"/{i}")
    until(lambda: node.status()["disk"]["writes"] == 30, what="writes")
    node.get("/0")
    origin.set("/large", fields=MAXAGE, body=b"x" * 300000)
    node.get("/large")
    assert lines(32)[29:] == ["origin 5000 done|www.example.com",
                              "disk 5000 done|www.example.com",
                              "origin 300000 done|www.example.com"]


def opened(node):
    """The files that it has open."""
    folder, found = f"/proc/{node.process.popen.pid}/fd", []
    for name in os.listdir(folder):
        try:
            found.append(os.readlink(os.path.join(folder, name)))
        except OSError:
            pass  # it has just been closed
    return found


def test_opened_anew(logging, origin, tmp_path):
    """By either signal, for who has renamed it; a reload may also end it, and
    nothing is lost meanwhile."""
    node, lines = logging("%{target}")
    path = str(tmp_path / "access.log")
    for i, number in enumerate((signal.SIGUSR1, signal.SIGHUP)):
        node.get(f"/{i}a")
        os.rename(path, f"{path}.{i}")
        node.get(f"/{i}b")
        node.process.signal(number)
        until(lambda: path in opened(node) and f"{path}.{i}" not in
              opened(node), what="another file")
        assert lines(2, f"{path}.{i}") == [f"/{i}a", f"/{i}b"]
    node.get("/2a")
    assert lines(1) == ["/2a"]
    loop = str(tmp_path / "loop")
    os.symlink(loop, loop)
    node.options["access_log"] = loop
    node.write()
    node.process.signal(signal.SIGHUP)
    until(lambda: f"error access: access_log: {loop}: Too many levels" in node
          .process.logged(), what="refused")
    until(lambda: "warning reload: done, but for the access log"
          in node.process.logged(), what="told")
    node.get("/2b")
    assert lines(2) == ["/2a", "/2b"]
    node.options["access_log"] = None
    node.write()
    node.process.signal(signal.SIGHUP)
    until(lambda: node.process.logged().count("reload: done") == 3)
    node.get("/2c")
    time.sleep(.1)
    assert lines(2) == ["/2a", "/2b"]
    assert node.status()["access_log"] == {"written": 6, "dropped": 0,
                                           "failed": 0}


def test_standard_output(make_cluster, origin):
    """Which is that of the log, in scenarios; and all is there at the end."""
    c = make_cluster(1, access_log="stdout", access_log_format="hit %{status}")
    c.origin_url = origin.url
    node = c.start().nodes[0]
    for _ in range(50):
        node.get("/a")
    node.process.end()
    assert node.process.logged().splitlines().count("hit 404") == 50


def test_who_does_not_read_holds_nobody_up(make_cluster, origin, tmp_path):
    """A pipe that is full: records are dropped and counted, and the node ends
    all the same."""
    path = str(tmp_path / "pipe")
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    c = make_cluster(1, access_log=path, max_header_size="16K")
    c.origin_url = origin.url
    node = c.start().nodes[0]
    origin.set("/a", fields=MAXAGE, body=b"x")
    long = {"User-Agent": "a" * 7000, "Referer": "b" * 7000}

    def dropped():
        for _ in range(20):
            assert node.get("/a", headers=long).status == 200
        return node.status()["access_log"]["dropped"]
    until(dropped, 30, every=0, what="dropped")
    node.process.signal(signal.SIGTERM)
    assert node.process.wait() == 0
    os.close(reader)


def test_from_a_pipe_that_nobody_reads_to_a_file(make_cluster, origin,
                                                 tmp_path):
    path, after = str(tmp_path / "pipe"), str(tmp_path / "access.log")
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 4096)
    c = make_cluster(1, access_log=path, access_log_format="%{target}")
    c.origin_url = origin.url
    node = c.start().nodes[0]
    for _ in range(5):
        node.get("/" + "a" * 2000)
    node.options["access_log"] = after
    node.write()
    node.process.signal(signal.SIGHUP)
    until(lambda: after in opened(node) and path not in opened(node),
          what="the pipe is left")
    node.get("/b")

    def last():
        with open(after, encoding="ascii") as f:
            return f.read().splitlines()[-1:] == ["/b"]
    until(last, what="a line in the file")
    os.close(reader)


def test_a_sample(logging, origin):
    """One in four, all errors, and of traces the same at every node."""
    node, lines = logging("%{status} %{trace_id}", access_log_sample="4")
    origin.set("/a", fields=MAXAGE, body=b"x")
    for _ in range(8):
        node.get("/a")
    for trace in ("1" * 19 + "0" * 13, "1" * 18 + "f" * 14):
        parent = f"00-{trace}-b7ad6b7169203331-01"
        node.get("/a", headers={"traceparent": parent})
    node.get("/none", headers={"traceparent": parent})
    assert origin.last().get("traceparent") == parent
    assert lines(4) == ["200 -"] * 2 + ["200 " + "1" * 19 + "0" * 13,
                                        "404 " + trace]


def test_a_full_disk(logging):
    """Costs the lines for which it has no room, and spoils no other."""
    node, lines = logging("%{target}")
    pid = node.process.popen.pid
    resource.prlimit(pid, resource.RLIMIT_FSIZE,
                     (25, resource.RLIM_INFINITY))
    for i in range(3):
        node.get(f"/{i}" + "a" * 18)
        until(lambda i=i: node.status()["access_log"]
              == {"written": min(i + 1, 1), "dropped": 0, "failed": i},
              what="counted")
    resource.prlimit(pid, resource.RLIMIT_FSIZE,
                     (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    node.get("/b")
    assert lines(3) == ["/0" + "a" * 18, "/1aa", "/b"]


def test_a_pipe_without_a_reader(make_cluster, tmp_path):
    path = str(tmp_path / "pipe")
    os.mkfifo(path)
    c = make_cluster(1, access_log=path)
    c.origin_url = "http://127.0.0.1:1"
    node = c.nodes[0].start(wait=False)
    assert node.process.wait() == 1
    assert f"access_log: {path}: No such device" in node.process.logged()
    c.processes.remove(node.process)


@pytest.mark.parametrize("text", ("common", "combined", "squid"))
def test_read_by_cachesim(logging, origin, tmp_path, text):
    node, lines = logging(text)
    for i in (0, 1, 0):
        origin.set(f"/{i}", fields=MAXAGE, body=b"x" * 1000)
        node.get(f"/{i}")
    lines(3)
    r = subprocess.run([CACHESIM, "info", "--csv", "--strict", "--base",
                        "http://www.example.com", str(tmp_path / "access.log")],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       check=False, text=True)
    assert r.returncode == 0, r.stderr
    (row,) = csv.DictReader(line for line in r.stdout.splitlines()
                            if line[0] != "#")
    assert (row["requests"], row["objects"], row["uncacheable"]) \
        == ("3", "2", "0"), row


def test_syslog(make_cluster, origin, tmp_path):
    """A message a line; also to a syslog that is started anew. One that takes
    nothing holds no client up."""
    path = str(tmp_path / "log")

    def listening():
        s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        s.bind(path)
        s.settimeout(20)
        return s

    log = listening()
    c = make_cluster(1, access_log=f"syslog:{path}",
                     access_log_format="%{target} %{status}")
    c.origin_url = origin.url
    node = c.start().nodes[0]
    origin.set("/a", fields=MAXAGE, body=b"x")
    for target in ("/a", "/a?" + "b" * 7000, "/a"):
        node.get(target)
    pid = node.process.popen.pid
    stamp = r"<30>[A-Z][a-z][a-z] [ \d]\d \d\d:\d\d:\d\d"
    got = [log.recv(65536).decode() for _ in range(3)]
    assert re.fullmatch(rf"{stamp} digestd\[{pid}\]: /a 200", got[0]), got[0]
    assert got[1].endswith("b" * 7000 + " 200")
    log.close()
    os.unlink(path)
    node.get("/a")
    until(lambda: "lines cannot be written: " in node.process.logged(),
          what="told")
    log = listening()
    node.get("/a")
    assert log.recv(65536).endswith(b"/a 200")
    # nobody reads now
    for _ in range(1500):
        assert node.get("/a").status == 200
    log.close()


def test_a_syslog_that_is_not_there(make_cluster, origin, tmp_path):
    c = make_cluster(1, access_log=f"syslog:{tmp_path}/none")
    c.origin_url = origin.url
    node = c.nodes[0]
    node.start(wait=False)
    assert node.process.wait() == 1
    assert "access_log: syslog:" in node.process.logged()
    c.processes.remove(node.process)

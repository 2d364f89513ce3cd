"""The control socket, and the commands of digestctl that ask a running node."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import socket
import stat
import struct
import subprocess
import sys
import termios
import threading
import time

import pytest

import cluster as scd
from cluster import request, until
from control import CTL, ctl, ctl_json, socket_of, with_sockets

HERE = os.path.dirname(os.path.abspath(__file__))
os.environ.setdefault("top_srcdir", os.path.join(HERE, os.pardir, os.pardir))
sys.path[1:1] = [os.path.join(HERE, os.pardir, "tool"),
                 os.path.join(HERE, os.pardir, "ctl")]

from harness import LIVE
from program import Program

MAXAGE = {"Cache-Control": "max-age=600"}


@pytest.fixture
def node(make_cluster, origin):
    c = with_sockets(make_cluster(1))
    c.origin_url = origin.url
    return c.start().nodes[0]


@pytest.fixture
def three(make_cluster, origin):
    c = with_sockets(make_cluster(3))
    c.origin_url = origin.url
    c.start().wait_settled()
    return c.nodes


def test_who_may(node):
    """Owner and group; and it goes with the node."""
    path = socket_of(node)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o660
    node.process.end()
    assert not os.path.exists(path)


def test_a_socket_that_was_left(node):
    """Is replaced; one at which a node listens is not."""
    path = socket_of(node)
    second = scd.Process([scd.DIGESTD, "-c", node.path], node.process.log)
    assert second.wait() == 1
    assert f"{path}: another process listens there" in node.process.logged() \
        or "listen_data" in node.process.logged()
    assert ctl(node, "status")[0] == 0
    node.process.kill()
    assert os.path.exists(path)
    assert ctl(node, "status")[0] == 3
    node.start()
    assert ctl(node, "status")[0] == 0


def test_another_nodes_socket(node, make_cluster):
    other = make_cluster(1)
    other.origin_url = node.cluster.origin_url
    other.nodes[0].options["control"] = socket_of(node)
    process = other.nodes[0].start(wait=False).process
    assert process.wait() == 1
    assert f"control: {socket_of(node)}: another process listens there" \
        in process.logged()
    assert ctl(node, "status")[0] == 0
    other.processes.remove(process)


def test_by_the_service_manager(make_cluster, origin):
    """Its folder is the default; "none" is none."""
    c = make_cluster(1)
    c.origin_url = origin.url
    n = c.nodes[0]
    os.environ["RUNTIME_DIRECTORY"] = c.dir + ":/nowhere"
    try:
        n.start()
        path = os.path.join(c.dir, "control")
        assert ctl(n, "status", path=path)[0] == 0
        n.process.end()
        n.options["control"] = "none"
        n.start()
        assert not os.path.exists(path)
    finally:
        del os.environ["RUNTIME_DIRECTORY"]


def test_what_is_wrong_without_a_node(node, tmp_path):
    """Each with what is to be done."""
    left = str(tmp_path / "left")
    s = socket.socket(socket.AF_UNIX)
    s.bind(left)
    for path, told in (
            ("/nowhere/control", "No such file or directory; is digestd "
             'running, and is this its "control"?'),
            (left, "Connection refused; is digestd running"),
            ("/" + "x" * 200, "too long")):
        code, out, err = ctl(node, "status", path=path)
        assert (code, out) == (3, "") and told in err and path in err, err
    if os.getuid():
        os.chmod(socket_of(node), 0)
        code, _, err = ctl(node, "status")
        assert code == 3 and "its owner and its group may" in err


def test_a_node_that_hangs_up(node, tmp_path):
    path = str(tmp_path / "s")
    s = socket.socket(socket.AF_UNIX)
    s.bind(path)
    s.listen()
    for answer, told in ((b"", "digestd has hung up"),
                         (b"HTTP/1.1 400 x\r\n", "no digestd of this version"),
                         (b'{"v": 2, "ok": true}\n', "no digestd of this")):
        p = subprocess.Popen([CTL, "status", "--control", path],
                             stderr=subprocess.PIPE, text=True)
        c = s.accept()[0]
        assert json.loads(c.recv(1000)) == {"v": 1, "command": "status"}
        c.sendall(answer)
        c.close()
        assert told in p.communicate()[1]
        assert p.returncode == 3


def test_the_environment_names_the_socket(node):
    r = subprocess.run([CTL, "peers"], stdout=subprocess.PIPE, check=False,
                       env={**os.environ, "DIGESTD_CONTROL": socket_of(node)})
    assert r.returncode == 0 and r.stdout.startswith(b"PEER")


def test_status(three, origin):
    origin.set("/a", fields=MAXAGE, body=b"x" * 5000)
    three[0].cluster.wait_heard()
    three[0].get("/a")
    three[0].get("/a")

    def both_say_the_same():
        told, shown = ctl_json(three[0], "status"), three[0].status()
        for s in (told, shown):
            for name in ("uptime_s", "memory", "digest"):
                del s[name]
            for p in s["peers"]:
                del p["digest"], p["unchanged"], p["round_trip_ms"]
            for t in s["troubles"]:
                del t["ago_s"]
        return told == shown
    # but for what peers are asked between the two
    until(both_say_the_same, what="the same status")
    code, out, _ = ctl(three[0], "status")
    assert code == 0
    for line in (r"node +n1", r"ready +yes", r"counters",
                 r"  local_hits +1", r"  bytes +\d+ \([\d.]+K\)",
                 r"started +\d+ \(2\d\d\d-.* UTC\)", r"n2 +good .*",
                 r"    duration +1, \d+\.\d ms on average",
                 r"  last_reload_success +\d+ \(2\d\d\d-.* UTC\)"):
        assert re.search(f"^{line}$", out, re.M), (line, out)
    for name in ("remote_hits", "collapsed", "cells", "bounds_s"):
        assert name not in out, out
    assert re.search("^  remote_hits +0$", ctl(three[0], "status", "-a")[1],
                     re.M)


def test_peers(three, origin):
    origin.set("/a", fields=MAXAGE, body=b"x" * 5000)
    three[1].get("/a")
    until(lambda: three[0].knows(three[1]), what="digest")
    assert three[0].get("/a").source == "peer"
    until(lambda: three[0].peer_status("n2")["remote_hits"] == 1)
    code, out, _ = ctl(three[0], "peers")
    head, *rows = out.splitlines()
    assert code == 0 and head.split() == ["PEER", "STATE", "AGE", "FILL",
                                          "FALSE", "seen/expected", "HITS",
                                          "BYTES", "RTT"]
    assert re.fullmatch(r"n2 +good +[\d.]+s +\d?[.e\d-]+ +0 / \S+ +1 "
                        r"+4\.9K +[\d.]+ms", rows[0]), rows
    assert re.fullmatch(r"n3 +good +[\d.]+s +0 +0 / 0 +0 +0 +--", rows[1]), rows
    assert [p["name"] for p in ctl_json(three[0], "peers")] == ["n2", "n3"]
    three[2].process.kill()
    until(lambda: re.search("n3 +unreachable", ctl(three[0], "peers")[1]),
          20, what="unreachable")


def test_top_once(three, origin):
    """A frame of what happens meanwhile."""
    origin.set("/a", fields=MAXAGE, body=b"x" * 1000)
    # What comes before all peers were heard of is not kept.
    until(lambda: three[0].get("/a").source == "hit", what="kept")
    p = subprocess.Popen([CTL, "top", "--once", "--json", "-d", "0.5",
                          "--control", socket_of(three[0])],
                         stdout=subprocess.PIPE, text=True)
    n = 0
    while p.poll() is None:
        three[0].get("/a")
        n += 1
    frame = json.loads(p.stdout.read())
    rate = frame["requests_per_s"]
    assert p.returncode == 0 and frame["node"] == "n1"
    # A request may be counted, and how it was answered not yet.
    assert abs(frame["local_hits_per_s"] - rate) * frame["seconds"] < 1.5
    assert rate > 0 and n >= rate * .5 - 1
    assert frame["seconds"] >= .5 and frame["misses_per_s"] == 0
    of = frame["first_byte"]
    assert set(of) == {"all", "memory"} and of["all"] == of["memory"]
    assert 0 < of["all"]["p50_s"] <= of["all"]["p99_s"] < frame["seconds"]
    hot, = frame["hottest"]
    assert hot["url"] == "http://www.example.com/a"
    assert hot["source"] == "memory"
    assert hot["requests_per_s"] == pytest.approx(rate, rel=.1)
    assert hot["bytes_per_s"] == pytest.approx(1000 * rate, rel=.1)
    code, out, _ = ctl(three[0], "top", "-d", "0.05")  # no terminal
    lines = out.splitlines()
    assert code == 0 and len(lines) in (7, 10)  # the last URL before it, too
    assert re.fullmatch(r"n1  up [\d.]+s  \d+ req/s  memory \S+/256M", lines[0])
    assert lines[1].startswith("hit 0.0 %  peers 0.0 %  origin 0.0 %  ")
    assert lines[2] == "first byte p50/p99"  # of nobody
    assert "HITS/s" in lines[4] and lines[5].startswith("n2 ")
    ctl(three[0], "drain")
    assert ctl(three[0], "top", "-d", "0.05")[1].startswith("n1  DRAINED  up")
    assert ctl(three[0], "top", "-d", "0.001")[0] == 2


def read_frame(stream):
    """The next object of a stream, which ends with a line of its own."""
    lines = iter(stream.readline, "}\n")
    return json.loads("".join(lines) + "}")


def test_top_hottest(node, origin):
    """What comes once is not hot, however much of that there is."""
    origin.set("/hot", fields=MAXAGE, body=b"x")
    origin.set("/warm", fields=MAXAGE, body=b"x")
    p = subprocess.Popen([CTL, "top", "--json", "-d", "1", "--control",
                          socket_of(node)], stdout=subprocess.PIPE, text=True)
    try:
        assert read_frame(p.stdout)["hottest"] == []
        for i in range(400):
            node.get(f"/once/{i}")
            if i % 10 == 0:
                node.get("/hot")
                node.get("/hot")
                node.get("/warm")
        rows = read_frame(p.stdout)["hottest"]
        while len(rows) < 2 or "once" in rows[1]["url"]:
            rows = read_frame(p.stdout)["hottest"]
    finally:
        p.terminate()
        p.wait()
    assert [r["url"].rsplit("/", 1)[1] for r in rows[:2]] == ["hot", "warm"]
    assert rows[0]["requests_per_s"] == \
        pytest.approx(2 * rows[1]["requests_per_s"], rel=.3)


def resize(terminal, rows, columns):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ,
                struct.pack("HHHH", rows, columns, 0, 0))


def read_until(terminal, text):
    seen, end = b"", time.monotonic() + 20
    while text not in seen and time.monotonic() < end:
        if select.select([terminal], [], [], .1)[0]:
            seen += os.read(terminal, 65536)
    assert text in seen, seen
    return seen


def test_top_live(three):
    """It fits the terminal, follows its size, and gives it back."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(CTL, [CTL, "top", "-d", "0.1", "--control",
                       socket_of(three[0])])
    try:
        resize(terminal, 24, 80)
        first = read_until(terminal, b"n3 ")
        assert first.startswith(b"\033[?1049h\033[?25l\033[H")
        resize(terminal, 2, 20)
        time.sleep(.3)
        while select.select([terminal], [], [], 0)[0]:
            os.read(terminal, 65536)
        small = read_until(terminal, b"\033[J")
        small += read_until(terminal, b"\033[J")
        frame = small.split(b"\033[J")[1]
        assert frame.count(b"\r\n") == 1 and b"PEER" not in frame
        for line in frame.replace(b"\033[H", b"").split(b"\r\n"):
            assert len(line.replace(b"\033[K", b"")) <= 20, frame
        os.write(terminal, b"xq")
        read_until(terminal, b"\033[?25h\033[?1049l")
        assert os.waitpid(pid, 0)[1] == 0
        pid = 0
    finally:
        if pid:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        os.close(terminal)


def test_purge(three, origin):
    """The cluster, as PURGE does; and what is wrong is said."""
    for path in ("/a", "/b/1", "/b/2", "/c"):
        origin.set(path, fields={**MAXAGE, "Cache-Tag": path[1]}, body=b"x")
        for n in three[:2]:
            n.get(path)
    three[0].cluster.wait_settled()
    three[0].cluster.wait_heard()
    for n in three[:2]:  # what came before all were heard of is not kept
        until(lambda n=n: all(n.get(path).source == "hit" for path in
                              ("/a", "/b/1", "/b/2", "/c")), what="all kept")
    site = "http://www.example.com"
    code, out, _ = ctl(three[0], "purge", site + "/a")
    assert code == 0 and out.splitlines()[0] == "1 object removed here"
    assert set(out.splitlines()[1:]) == {"peer n2: 1", "peer n3: 0"}
    assert ctl_json(three[0], "purge", "--prefix", site + "/b/")["purged"] == 2
    assert ctl_json(three[0], "purge", "--tag", "x, c")["purged"] == 1
    assert [n.status()["store"]["objects"] for n in three[:2]] == [0, 0]
    assert "asked by an operator" in three[0].process.logged()
    for args, code, told in ((["nonsense"], 1, "the target must be a URI"),
                             (["--prefix", "/b"], 1, "one whole http"),
                             (["--tag", ","], 1, "at least one tag"),
                             (["a", "b"], 2, "needs one URL"),
                             (["--tag", "a", "b"], 2, "needs one URL"),
                             ([], 2, "usage: digestctl purge")):
        got = ctl(three[0], "purge", *args)
        assert got[0] == code and not got[1] and told in got[2], got


def test_purge_without_a_peer(three, origin):
    """One that cannot be told is named; the node tells it later."""
    three[0].cluster.wait_heard()
    three[1].process.kill()
    answer = ctl_json(three[0], "purge", "http://www.example.com/a")
    assert answer["peers"] == {"n2": None, "n3": 0}
    out = ctl(three[0], "purge", "http://www.example.com/a")[1]
    assert "peer n2: has not acknowledged it yet" in out


def test_health_for_balancers(make_cluster, origin):
    """At the clients' listener, for any host; no request of a client's, nor
    what a site or another path has."""
    c = with_sockets(make_cluster(1))
    c.origin_url = origin.url
    node = c.nodes[0]
    node.options.update(health="/healthz", client_addresses="192.0.2.1")
    c.start()

    def ask(method="GET", target="/healthz"):
        r = request(node.data, target, method=method)
        return r.status, r.body
    until(lambda: ask() == (200, b"ready\n"), what="ready")
    assert ask("HEAD") == (200, b"")
    assert request(node.data, "/healthz").get("Cache-Control") == "no-store"
    ctl(node, "drain")
    assert ask() == (503, b"not ready\n")
    ctl(node, "undrain")
    assert ask() == (200, b"ready\n")
    assert node.status()["counters"]["requests"] == 0
    for method, target in (("POST", "/healthz"), ("GET", "/healthz?a"),
                           ("GET", "/healthzz")):
        assert ask(method, target)[0] == 403
    assert origin.count() == 0


def test_drain(node, origin):
    """For load balancers; clients and peers are served on."""
    origin.set("/a", fields=MAXAGE, body=b"x")
    for command, status, drained in (("drain", 503, True),
                                     ("drain", 503, True),
                                     ("undrain", 200, False),
                                     ("undrain", 200, False)):
        assert ctl_json(node, command)["drained"] == drained
        assert request(node.admin, "/readyz").status == status
        assert request(node.admin, "/healthz").status == 200
        assert node.status()["drained"] == drained
        assert node.get("/a").status == 200
    assert "drained" in ctl(node, "drain")[1]
    assert ctl(node, "undrain")[1] == "not drained\n"
    assert node.process.logged().count("drained by an operator") == 4
    ctl(node, "drain")
    node.process.end()
    node.start()  # it is not kept
    assert not node.status()["drained"]


def test_quarantine(three, origin):
    """A peer is left alone, and asked again."""
    n1, n2, _ = three
    for i in range(3):
        origin.set(f"/{i}", fields=MAXAGE, body=b"x")
        n2.get(f"/{i}")
    until(lambda: n1.knows(n2), what="digest")
    assert n1.get("/0").source == "peer"
    assert ctl(n1, "quarantine", "n2")[1] \
        == "peer n2: in quarantine until it is released\n"
    assert ctl(n1, "quarantine", "n2")[1] \
        == "peer n2: was in quarantine already\n"
    assert n1.get("/1").source == "origin"
    assert n1.peer_status("n2")["health"] == "quarantine"
    assert re.search("^n2 +quarantine ", ctl(n1, "peers")[1], re.M)
    assert ctl_json(n1, "reload")["reloaded"]  # is no release
    n2.process.end()
    n2.start()  # nor is another instance
    until(lambda: n1.knows(n2), what="digest of the other instance")
    assert n1.peer_status("n2")["health"] == "quarantine"
    assert ctl_json(n1, "release", "n2") == {"peer": "n2", "changed": True,
                                             "v": 1, "ok": True}
    assert ctl(n1, "release", "n2")[1] == "peer n2: was not in quarantine\n"
    origin.set("/new", fields=MAXAGE, body=b"x")
    n2.get("/new")
    until(lambda: n1.knows(n2), what="digest")
    assert n1.get("/new").source == "peer"
    for command in ("quarantine", "release"):
        code, out, err = ctl(n1, command, "n9")
        assert (code, out) == (1, "") and 'no peer "n9"' in err
        assert ctl(n1, command)[0] == 2


def test_reload(node):
    """It waits, and says what is wrong and what is to wait."""
    assert ctl(node, "reload") == (0, "reloaded\n", "")
    node.options.update(log_level="debug", threads="2")
    node.write()
    code, out, err = ctl(node, "reload")
    assert (code, out) == (0, "reloaded\n") and "threads" in err
    node.lines = ["nonsense = 1", 'cache_size = "many"']
    node.write()
    code, out, err = ctl(node, "reload")
    assert (code, out) == (1, "")
    assert f"{node.path}:" in err and "nonsense" in err
    assert err.endswith("the old configuration remains in effect\n")
    code, out, _ = ctl(node, "reload", "--json")
    assert code == 1 and not json.loads(out)["reloaded"]
    node.lines = []
    pipe = os.path.join(node.cluster.dir, "pipe")  # that nobody reads
    os.mkfifo(pipe)
    node.options["access_log"] = pipe
    node.write()
    code, _, err = ctl(node, "reload")
    assert code == 1 and f"access_log: {pipe} cannot be opened" in err


def test_token(node, make_cluster):
    """It opens the peer listener, and is in no log."""
    code, out, _ = ctl(node, "token")
    assert code == 0 and re.fullmatch(r"[0-9a-f]{32}\n", out)
    r = request(node.peer, "/scd/v1/digest",
                headers={"Authorization": "Bearer " + out.strip()})
    assert r.status == 200
    assert out.strip() not in node.process.logged()
    alone = with_sockets(make_cluster(1, cluster_key=None, listen_peer=None))
    alone.origin_url = node.cluster.origin_url
    alone.start()
    code, out, err = ctl(alone.nodes[0], "token")
    assert (code, out) == (1, "") and "no cluster key" in err


def test_log_level(node):
    assert ctl(node, "log-level", "error")[1] == "error (was info)\n"
    ctl(node, "drain")
    assert "drained" not in node.process.logged()
    assert ctl_json(node, "log-level", "debug")["was"] == "error"
    code, _, err = ctl(node, "log-level", "loud")
    assert code == 1 and '"loud" is not error, warning, info or debug' in err
    node.process.signal(signal.SIGHUP)
    until(lambda: ctl_json(node, "log-level", "debug")["was"] == "info",
          what="the configuration's")


def test_explain(three, origin):
    """What is stored, and by which rule; why not; who claims it, and what came
    of asking."""
    n1, n2, _ = three
    site, now = "http://www.example.com", time.time()
    date = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(now))
    later = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(now + 600))
    old = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(now - 86400))
    for path, fields, by, fresh in (
            ("/s", {"Cache-Control": "s-maxage=500, max-age=1"}, "s-maxage",
             500),
            ("/m", {"Cache-Control": "max-age=600"}, "max-age", 600),
            ("/t", {"CDN-Cache-Control": "max-age=300",
                    "Cache-Control": "no-store"}, "max-age", 300),
            ("/e", {"Date": date, "Expires": later}, "Expires", 600),
            ("/h", {"Date": date, "Last-Modified": old},
             "a tenth of the time since Last-Modified", 8640)):
        origin.set(path, fields=fields, body=b"x" * 1000)
        n1.get(path)
        e = ctl_json(n1, "explain", site + path)["explain"]
        (v,) = e["stored"]["variants"]
        assert (v["status"], v["bytes"], v["by"], v["peer"]) \
            == (200, 1000, by, None), v
        assert fresh - 30 <= v["fresh_s"] <= fresh and 0 <= v["age_s"] < 30
        assert e["not_stored"] is None and e["asked"] is None
    for path, fields, args, reason in (
            ("/1", {"Cache-Control": "no-store"}, {}, "no-store"),
            ("/2", {"Cache-Control": "private"}, {}, "private"),
            ("/3", {**MAXAGE, "Set-Cookie": "a=b"}, {}, "set-cookie"),
            ("/4", {}, {}, "no-lifetime"),
            ("/5", {**MAXAGE, "Vary": "*"}, {}, "vary"),
            ("/6", MAXAGE, {"Authorization": "x"}, "authorization")):
        origin.set(path, fields=fields, body=b"x")
        n1.get(path, headers=args)
        code, out, _ = ctl(n1, "explain", site + path, "--json")
        e = json.loads(out)["explain"]
        assert code == 1 and e["stored"]["in_memory"] == 0
        assert e["not_stored"]["reason"] == reason, e
        assert e["not_stored"]["source"] == "origin"
        assert f"was not stored: {reason} (" \
            in ctl(n1, "explain", site + path)[1]
    origin.set("/v", fields={**MAXAGE, "Vary": "Accept"}, body=b"x")
    n1.get("/v", headers={"Accept": "a/b"})
    n1.get("/v")
    found = ctl_json(n1, "explain", site + "/v")["explain"]["stored"]
    assert sorted(str(v["variant"]) for v in found["variants"]) \
        == ["{'Accept': 'a/b'}", "{'Accept': None}"], found
    until(lambda: n2.knows(n1), what="digest")
    told = ctl(n2, "explain", site + "/m")
    assert told[0] == 1 and re.search(r"^peers +n1 claims it \(digest \d+, "
                                      r"[\d.]+s old\)$", told[1], re.M), told
    assert n2.get("/m").source == "peer"
    until(lambda: ctl(n2, "explain", site + "/m")[1].count("asked    n1 "),
          what="an outcome")
    assert re.search(r"^asked    n1 [\d.]+s ago: hit$",
                     ctl(n2, "explain", site + "/m")[1], re.M)
    for path in ("/never", "/s"):
        assert ctl(n2, "explain", site + path)[0] == 1
    assert "nothing is stored" in ctl(n2, "explain", site + "/never")[1]
    code, _, err = ctl(n1, "explain", "/s")
    assert code == 1 and '"/s" is no whole http or https URL' in err


def test_explain_uses_nothing(make_cluster, origin):
    """Neither admission nor a peer hears of it; and what admission says."""
    c = with_sockets(make_cluster(1, admission="aged", admission_ram="0"))
    c.origin_url = origin.url
    n = c.start().nodes[0]
    origin.set("/a", fields=MAXAGE, body=b"x")
    url = "http://www.example.com/a"
    for _ in range(5):
        ctl(n, "explain", url)
    n.get("/a")
    assert origin.count("/a") == 1 and n.status()["counters"]["requests"] == 1
    assert "was not stored: admission (" in ctl(n, "explain", url)[1]
    n.get("/a")
    assert ctl(n, "explain", url)[0] == 0


def open_files(pid):
    """The files that a process has open, but for those just being closed."""
    folder = f"/proc/{pid}/fd"
    for f in os.listdir(folder):
        try:
            yield os.readlink(os.path.join(folder, f))
        except OSError:
            pass


def logged(node, *args, ask):
    """What `digestctl log` prints, which ends by itself, while ask() asks."""
    p = subprocess.Popen([CTL, "log", "--control", socket_of(node), *args],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         text=True)
    until(lambda: p.poll() is not None or any(
        "/memfd:access" in path for path in open_files(p.pid)), what="reads")
    time.sleep(.1 * scd.SLOW)
    end = time.monotonic() + 20 * scd.SLOW
    while p.poll() is None and time.monotonic() < end:
        ask()
    p.kill()
    out, err = p.communicate()
    assert p.returncode == 0, err
    return out.splitlines(), err


def test_log(three, origin):
    """Each filter, in text and as JSON, without an access log."""
    n1, n2, _ = three
    for path in ("/a", "/b"):
        origin.set(path, fields=MAXAGE, body=b"x" * 2000)
    origin.set("/bad", status=503, body=b"x")
    origin.pages["/slow"] = lambda request, connection: time.sleep(.1)
    n2.get("/b")
    until(lambda: n1.knows(n2), what="digest")

    def ask():
        for path in ("/a", "/bad", "/c"):
            n1.get(path)
    site = "http://www.example.com"
    time_, line = r"\d\d:\d\d:\d\d\.\d{3}", f"GET {site}"
    for args, want in (
            (["-n", "1", "-f", "peer"], rf"{time_} 200 peer:n2 \d+ms 2\.0K "
             rf"{line}/b \(uri-miss\)"),
            (["-n", "3", "-f", "memory"],
             rf"{time_} 200 memory \d+ms 2\.0K {line}/[ab]"),
            (["-n", "2", "-s", "503"], rf"{time_} 503 origin:{origin.url} "
             rf"\d+ms 1 {line}/bad \(uri-miss\)"),
            (["-n", "2", "-s", "4xx"], rf"{time_} 404 origin:.* {line}/c .*"),
            (["-n", "2", "-u", site + "/b"], rf".* {line}/bad.*"),
            (["-n", "2", "-u", "*/[c-z]*", "-s", "404"], rf".* {line}/c .*"),
            (["-n", "2", "-m", "0"], ".*")):
        both = (lambda: (n1.get("/b"), ask())) if "peer" in args else ask
        lines, err = logged(n1, *args, ask=both)
        assert not err and len(lines) == int(args[1])
        for got in lines:
            assert re.fullmatch(want, got), (args, got)
    lines, _ = logged(n1, "-n", "1", "-m", "90",
                      ask=lambda: n1.get("/slow", timeout=20))
    assert "/slow" in lines[0]
    lines, _ = logged(n1, "--json", "-n", "2", "-f", "memory", ask=ask)
    for row in map(json.loads, lines):
        assert row["url.full"] == site + "/a"
        assert row["digestd.source"] == "memory"
    assert n1.status()["access_log"] == {"written": 0, "dropped": 0,
                                         "failed": 0}
    for args, told in ((["-s", "40"], "a status, as 404"),
                       (["-f", "moon"], "memory"), (["x"], "no operands")):
        code, _, err = ctl(n1, "log", *args)
        assert code == 2 and told in err


def test_log_beside_a_file(make_cluster, origin, tmp_path):
    """Both have each request; the file goes on when the reader has left."""
    path = str(tmp_path / "access.log")
    c = with_sockets(make_cluster(1, access_log=path,
                                  access_log_format="%{target}"))
    c.origin_url = origin.url
    n = c.start().nodes[0]
    asked = []

    def ask():
        n.get(f"/{len(asked)}")
        asked.append(f"/{len(asked)}")
    lines, _ = logged(n, "-n", "5", "--json", ask=ask)
    live = [json.loads(line)["url.full"][len("http://www.example.com"):]
            for line in lines]
    assert len(live) == 5 and live == asked[asked.index(live[0]):][:5]
    ask()

    def written():
        with open(path, encoding="ascii") as f:
            return f.read().splitlines() == asked
    until(written, what="all in the file")


def test_a_reader_of_the_log_that_stands_still(make_cluster, origin):
    """Costs the node nothing, and is told how many it has missed."""
    c = with_sockets(make_cluster(1, max_header_size="32K"))
    c.origin_url = origin.url
    n = c.start().nodes[0]
    origin.set("/a", fields=MAXAGE, body=b"x")
    p = subprocess.Popen([CTL, "log", "-u", "*/end", "-n", "1", "--control",
                          socket_of(n)], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    until(lambda: any("/memfd:access" in path for path in open_files(p.pid)),
          what="reads")
    time.sleep(.1)
    p.send_signal(signal.SIGSTOP)
    long = {"User-Agent": "a" * 8000, "Referer": "b" * 8000}
    for _ in range(400):
        assert n.get("/a", headers=long).status == 200
    p.send_signal(signal.SIGCONT)
    while p.poll() is None:
        n.get("/end")
    out, err = p.communicate()
    assert p.returncode == 0 and out.count("\n") == 1 and "/end" in out
    assert re.fullmatch(r"(digestctl: \d+ records missed\n)+", err), err
    missed = sum(int(m) for m in re.findall(r"\d+", err))
    assert 100 < missed <= 410


def test_log_of_a_node_that_ends(node):
    p = subprocess.Popen([CTL, "log", "--control", socket_of(node)],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         text=True)
    until(lambda: any("/memfd:access" in path for path in open_files(p.pid)),
          what="reads")
    node.process.end()
    assert "digestd has ended" in p.communicate(timeout=20)[1]
    assert p.returncode == 3


def test_examples_of_the_manual(three, origin, tmp_path):
    """As they stand there, at a node whose peer is cache2."""
    program = Program("digestd", "ctl", "digestctl")
    n1 = three[0]
    n1.peers[0] = ("cache2", n1.peers[0][1])
    n1.write()
    assert ctl(n1, "reload")[0] == 0
    until(lambda: n1.peer_status("cache2")["digest"], what="digest")
    text = program.manual()
    program.manual = lambda: text.replace("127.0.0.1:8081",
                                          f"127.0.0.1:{n1.peer}")
    over = threading.Event()
    origin.set("/bad", status=503, body=b"x")

    def ask():  # what the log waits for
        while not over.wait(.02):
            n1.get("/bad")
    asker = threading.Thread(target=ask)
    asker.start()
    try:
        blocks, said = program.examples(str(tmp_path), "Running nodes",
                                        DIGESTD_CONTROL=socket_of(n1))
    finally:
        over.set()
        asker.join()
    for line in ("cache2", "0 objects removed here", "reloaded", "drained",
                 "debug (was info)", "peer cache2: released", "kind "):
        assert line in said, (line, said)
    used = set(re.findall(r"digestctl ([a-z-]+)", "".join(blocks)))
    assert used - {"info"} == set(LIVE)


def test_clients_that_hang(node, origin):
    """Cost the node nothing: it serves others, at the socket too."""
    origin.set("/a", fields=MAXAGE, body=b"x")
    hanging = []
    for i in range(15):
        s = socket.socket(socket.AF_UNIX)
        s.connect(socket_of(node))
        s.sendall((b"", b'{"v":', b'{"v":1,"command":"status"}\n' * 100)[i % 3])
        hanging.append(s)
    time.sleep(.1)
    for _ in range(20):
        assert node.get("/a").status == 200
        assert ctl(node, "status")[0] == 0
    more = []
    for _ in range(3):
        s = socket.socket(socket.AF_UNIX)
        s.connect(socket_of(node))
        more.append(s)
    code, _, err = ctl(node, "status")
    assert code == 1 and "too many clients" in err
    for s in hanging + more:
        s.close()
    until(lambda: ctl(node, "status")[0] == 0, what="room again")

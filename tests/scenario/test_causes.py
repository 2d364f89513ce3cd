"""What goes wrong with origins, peers and the node itself: each fault has one
line in the log, with whose it is, its cause in words and what to do, and one
metric with the same labels."""

import contextlib
import email.utils
import os
import re
import resource
import shutil
import signal
import socket
import threading
import time

import servers
from certificates import Authority
from cluster import free_port, request, until
from digests import Digest

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
LARGE = 1 << 19  # a file of its own on the disk


def troubles(node):
    """By whose they are and cause, as /metrics has them."""
    text = request(node.admin, "/metrics").body.decode()
    return {(whose, cause): int(n) for whose, cause, n in re.findall(
        r'^digestd_(?:upstream|node)_errors_total\{(?:kind="\w+",)?'
        r'(?:upstream|part)="(.*)",cause="([\w-]+)"\} ([1-9]\d*)$', text,
        re.M)}


def lines(node, whose, cause):
    return re.findall(
        rf'^\S+ warning trouble: (?:origin|peer|part)={re.escape(whose)} '
        rf'cause=(?:{cause}) count=\d+ what="[^"]+"(?: detail="[^"]*")? '
        r'do="[^"]{8,}"$', node.process.logged(), re.M)


def check(node, whose, cause, began):
    """One line in ten seconds, though it may have happened more often, and one
    metric."""
    found = [key for key in troubles(node)
             if key[0] == whose and re.fullmatch(cause, key[1])]
    assert len(found) == 1, (whose, cause, troubles(node))
    most = 1 + int((time.monotonic() - began) / 10)
    assert 1 <= len(lines(node, whose, cause)) <= most, (
        whose, cause, node.process.logged())


# Origins

def hang_up(_request, _connection):
    return None


def babble(_request, _connection):
    return b"220 smtp.example.com ready\r\n"


def break_off(_request, connection):
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx")


def wait(_request, connection):
    connection.recv(1)


def hour_behind(_request, _connection):
    past = email.utils.formatdate(time.time() - 3600, usegmt=True)
    return servers.response(200, {"Date": past,
                                  "Cache-Control": "max-age=60"}, b"x")


@contextlib.contextmanager
def without_tls():
    """A port of a server that does not wait for a whole request."""
    def answer():
        with contextlib.suppress(OSError):
            while True:
                connection, _ = s.accept()
                with connection:
                    connection.recv(4096)
                    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    with socket.create_server(("127.0.0.1", 0)) as s:
        thread = threading.Thread(target=answer)
        thread.start()
        yield s.getsockname()[1]
        s.shutdown(socket.SHUT_RDWR)
        thread.join()


@contextlib.contextmanager
def full_queue():
    """A port at which connections are never accepted, nor refused."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as s:
        port, waiting = s.getsockname()[1], []
        for _ in range(3):
            c = socket.socket()
            c.setblocking(False)
            c.connect_ex(("127.0.0.1", port))
            waiting.append(c)
        yield port
        for c in waiting:
            c.close()


def bad_origins(serve, folder):
    """[URL, cause], and the authority that is trusted."""
    nobody = free_port()
    rows = [
        (f"http://127.0.0.1:{nobody}", "refused"),
        ("http://nobody.invalid", "no-such-name|name-server"),
        ("http://255.255.255.255", "no-route"),
        (serve(hang_up).url, "reset"),
        (serve(babble).url, "bad-header"),
        (serve(break_off).url, "cut-body"),
        (serve(wait).url, "timeout-answer"),
        (serve(hour_behind).url, "clock-skew"),
    ]
    if not shutil.which("openssl"):
        return rows, None
    ours, other = Authority(folder), Authority(folder, "stranger")
    contexts = (
        ("tls-untrusted", other.server(other.issue("unknown"))),
        ("tls-name", ours.server(ours.issue(
            "elsewhere", names="subjectAltName=DNS:elsewhere.example"))),
        ("tls-expired", ours.server(ours.issue("old", days=-1))),
    )
    for cause, context in contexts:
        rows.append((serve(babble, tls=context).url, cause))
    return rows, ours.pem


def ask_each(node, rows):
    """Twice: the second time says nothing new."""
    for i in range(len(rows)):
        for _ in range(2):
            try:
                assert node.get(f"/{i}", host=f"h{i}").status >= 200
            except OSError:
                pass  # a reply that breaks off


# Peers

def digest_of(body, **fields):
    return lambda r, c: servers.response(200, fields, body)


def bad_peers(serve):
    """[name, cause, port]"""
    good = Digest.make([(i, i) for i in range(100)])
    squid = Digest.make([(i, i) for i in range(100)], nhash=4)
    squid.head["hashing"] = 1
    full = Digest.make([(i, i) for i in range(20000)])
    past = email.utils.formatdate(time.time() - 3600, usegmt=True)
    nobody = free_port()
    answers = (
        ("key", "wrong-key", lambda r, c: servers.response(401)),
        ("squid", "version", digest_of(squid.encode())),
        ("broken", "bad-digest", digest_of(good.encode()[:40] + bytes(60))),
        ("full", "too-full", digest_of(full.encode())),
        ("late", "clock-skew", digest_of(good.encode(), Date=past)),
        ("lost", "status", lambda r, c: servers.response(404)),
        ("mute", "reset", hang_up),
    )
    return [("gone", "refused", nobody)] + [
        (name, cause, serve(answer).port) for name, cause, answer in answers]


# The node

def fail_disk(node, origin, folder):
    """A disk that is full, then one whose folders are gone."""
    pid, kind = node.process.popen.pid, resource.RLIMIT_FSIZE
    unlimited = resource.prlimit(pid, kind)

    def store(path):
        origin.set(path, fields={"Cache-Control": "max-age=600"},
                   body=bytes(LARGE))
        before = node.status()["disk"]["write_errors"]
        assert node.get(path).status == 200
        until(lambda: node.status()["disk"]["write_errors"] > before,
              what="a failed write")
    resource.prlimit(pid, kind, (LARGE // 2, unlimited[1]))
    store("/full")
    resource.prlimit(pid, kind, unlimited)
    for name in os.listdir(folder):
        if os.path.isdir(folder / name):
            shutil.rmtree(folder / name)
    store("/gone")


def use_up_descriptors(node):
    """Until peers cannot be reached."""
    pid, kind = node.process.popen.pid, resource.RLIMIT_NOFILE
    before = resource.prlimit(pid, kind)
    resource.prlimit(pid, kind, (3, before[1]))
    until(lambda: "cause=descriptors" in node.process.logged())
    resource.prlimit(pid, kind, before)


def reload_badly(node):
    good = node.lines
    node.lines = good + ["threads = many"]
    node.write()
    node.process.signal(signal.SIGHUP)
    until(lambda: lines(node, "configuration", "configuration"))
    node.lines = good
    node.write()


def test_each_fault_has_a_line_and_a_metric(make_cluster, origin, serve,
                                            tmp_path):
    c = make_cluster(1, origin_timeout="600ms", origin_connect_timeout="300ms",
                     forward=True, disk_path=tmp_path / "disk",
                     disk_size="64M")
    c.origin_url = origin.url
    (tmp_path / "disk").mkdir()
    node = c.nodes[0]
    origins, authority = bad_origins(serve, tmp_path)
    peers = bad_peers(serve)
    with full_queue() as full, without_tls() as plain:
        origins += [(f"http://127.0.0.1:{full}", "timeout-connect"),
                    (f"https://127.0.0.1:{plain}", "tls-plain")]
        node.lines = [f'origin "h{i}" {{ url = "{url}" }}'
                      for i, (url, _) in enumerate(origins)]
        node.peers = [(name, port) for name, _, port in peers]
        node.options["tls_origin_ca"] = authority
        node.options["ready_wait"] = "0s"
        began = time.monotonic()
        c.start()
        ask_each(node, origins)
    private = f"127.0.0.1:{origin.port}"
    assert node.get(f"http://{private}/", host=private).status == 403
    until(lambda: {p for p, _ in troubles(node)} >= {p[0] for p in peers})
    fail_disk(node, origin, tmp_path / "disk")
    use_up_descriptors(node)
    reload_badly(node)
    faults = origins + [p[:2] for p in peers] + [
        ("disk", "disk-full"), ("disk", "disk-error"),
        ("configuration", "configuration")]
    assert len(faults) >= 20
    for whose, cause in faults:
        check(node, whose, cause, began)
    assert troubles(node)["other", "private-address"] == 1
    assert len(lines(node, "of-a-forward-proxy", "private-address")) == 1
    assert "descriptors" in {cause for _, cause in troubles(node)}
    assert troubles(node)[origins[0]] == 2
    # the status has the same, but for what goes on happening
    before = troubles(node)
    told = {(t["name"], t["cause"]): t for t in node.status()["troubles"]}
    after = troubles(node)
    assert told.keys() == after.keys()
    for key, t in told.items():
        assert before.get(key, 0) <= t["count"] <= after[key], key
    assert all(t["what"] and t["do"] and t["ago_s"] >= 0
               for t in told.values())


def test_the_manual_has_each_cause():
    with open(os.path.join(SOURCE, "digestd", "http", "trouble.h"),
              encoding="ascii") as f:
        labels = re.findall(r'^\tX\(\w+, "([\w-]+)"', f.read(), re.M)[1:]
    with open(os.path.join(SOURCE, "docs", "digestd.8"),
              encoding="ascii") as f:
        manual = f.read()
    assert len(labels) > 20
    for label in labels:
        assert f"\n.It Cm {label}\n" in manual, label


def test_a_line_says_how_often_it_was(make_cluster, serve):
    c = make_cluster(1)
    bad = serve(hang_up)
    node = c.nodes[0]
    node.options["default_origin"] = bad.url
    c.start()
    for _ in range(5):
        node.get("/")
    assert lines(node, bad.url, "reset")
    assert "cause=reset count=1 " in node.process.logged()
    assert troubles(node) == {(bad.url, "reset"): 5}

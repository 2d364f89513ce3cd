"""Several origins behind one name: one of three goes bad, and no client sees an
error, nor waits for a second."""

import os
import re
import signal
import subprocess
import threading

import pytest

from cluster import DIGESTD, Process, free_port, request, until
from replicas import Load, Replica

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
LONG = bool(os.environ.get("SCD_TEST_LONG"))
RATE, SECONDS = (1000, 30) if LONG else (200, 4)
BAD_AT, WELL_AT = (5, 12) if LONG else (0.5, 3.25)
# Who waited for an origin that hangs would wait for TIMEOUT_S. When another one
# is asked goes by what answers have taken, which on a busy machine is much.
TIMEOUT_S = 20
MOST_S = 1 if LONG else TIMEOUT_S / 2


@pytest.fixture
def three(make_cluster):
    """A node with three origins of the site www."""
    c = make_cluster(1, origin_slow_start="1s", origin_timeout=f"{TIMEOUT_S}s")
    c.replicas = [Replica(c.dir, name, free_port()) for name in "abc"]
    c.processes += c.replicas
    node = c.nodes[0]
    node.lines = [f'origin "www" {{ url = {urls(c.replicas)} }}']
    return c


def urls(replicas):
    return listed(r.url for r in replicas)


def listed(texts):
    return ", ".join(f'"{text}"' for text in texts)


def origins(node):
    """What is known of each, where it is used."""
    return {u["name"]: u["groups"][0] for u in node.status()["upstreams"]
            if u["kind"] == "origin" and "groups" in u}


def state(node, replica):
    return origins(node)[replica.url]["state"]


def metric(node, name):
    return {origin: float(n) for origin, n in re.findall(
        rf'^digestd_{name}\{{(?:kind="origin",)?upstream="(.*?)"\}} (\S+)$',
        request(node.admin, "/metrics").body.decode(), re.M)}


def replace(c, replica, status):
    """Another process in its place, on the same port."""
    replica.kill()
    other = Replica(c.dir, replica.name + str(status), replica.port, status)
    c.processes.append(other)
    return other


def revive(c, replica):
    c.processes.append(Replica(c.dir, replica.name, replica.port))


def check(load, victim):
    bad = load.bad()
    assert not bad, f"{len(bad)} of {len(load.seen)}: {bad[:5]}"
    assert load.longest() < MOST_S
    # each has its part; how much, goes by their times, which are the machine's
    assert set(load.between(0, BAD_AT)) == {"a", "b", "c"}
    during = load.between(BAD_AT + 1, WELL_AT)
    assert during.get(victim, 0) < 0.05 * sum(during.values()), during


def test_one_is_killed(three):
    c, victim = three, three.replicas[1]
    c.start()
    node = c.nodes[0]
    load = Load(node.data, RATE).run(SECONDS, {
        BAD_AT: victim.kill, WELL_AT: lambda: revive(c, victim)})
    check(load, "b")
    log = node.process.logged()
    out = re.findall(rf"warning origin: {victim.url} is taken out: it .*; "
                     r"2 of 3 are up", log)
    # by its last connections, or as it refuses others: which, is the machine's
    assert len(out) == 1 and \
        "start it, or correct its address and port" in log, log
    until(lambda: state(node, victim) != "out" or
          node.get("/again", host="www").status != 200, 40)
    if LONG:
        assert load.between(SECONDS - 5, SECONDS)["b"]
        assert f"{victim.url} is back after" in node.process.logged()


def test_one_hangs(three):
    c, victim = three, three.replicas[1]
    c.start()
    node = c.nodes[0]
    # it hangs to the end, longer than anybody may wait for it
    load = Load(node.data, RATE).run(SECONDS, {BAD_AT: victim.pause})
    victim.signal(signal.SIGCONT)
    check(load, "b")
    assert f"{victim.url} is taken out: an answer was so late" in \
        node.process.logged()
    assert node.counters()["origin_retries"] > 0


def test_one_answers_errors(three):
    c, victim = three, three.replicas[1]
    c.start()
    node = c.nodes[0]
    load = Load(node.data, RATE).run(SECONDS, {
        BAD_AT: lambda: replace(c, victim, 503)})
    assert not load.bad(), load.bad()[:5]
    assert load.longest() < MOST_S
    assert f"{victim.url} is taken out: " in node.process.logged()
    assert metric(node, "origin_up")[victim.url] == 0


def hosts_can_be_changed():
    """Whether this may have a /etc/hosts of its own."""
    return not subprocess.run(
        ["unshare", "-m", "mount", "--bind", "/etc/hostname", "/etc/hosts"],
        check=False, stderr=subprocess.DEVNULL).returncode


def start_with_hosts(c, node, hosts):
    """Starts a node that has the file `hosts` in place of /etc/hosts."""
    node.write()
    script = os.path.join(c.dir, "start")
    with open(script, "w", encoding="ascii") as f:
        f.write(f"#!/bin/sh\nmount --bind {hosts} /etc/hosts &&\n"
                f"exec {DIGESTD} -c {node.path}\n")
    os.chmod(script, 0o755)
    node.process = Process(["unshare", "-m", script],
                           os.path.join(c.dir, node.name + ".log"))
    c.processes.append(node.process)
    node.wait_ready()


def test_one_moves_in_dns(make_cluster):
    if not hosts_can_be_changed():
        pytest.skip("no /etc/hosts of its own")
    c = make_cluster(1, origin_lookup_interval="200ms",
                     origin_slow_start="1s")
    port = free_port()
    replicas = [Replica(c.dir, n, port, host=f"127.0.0.{i}")
                for i, n in ((2, "a"), (3, "b"), (4, "c"), (5, "d"))]
    c.processes += replicas
    hosts = os.path.join(c.dir, "hosts")

    def name(*ends):
        with open(hosts, "w", encoding="ascii") as f:
            f.write("".join(f"127.0.0.{i} many.test\n" for i in ends))
    name(2, 3, 4)
    node = c.nodes[0]
    node.lines = [f'origin "www" {{ url = "http://many.test:{port}" }}']
    start_with_hosts(c, node, hosts)
    label = f"http://many.test:{port}#127.0.0."
    until(lambda: set(origins(node)) == {f"{label}{i}" for i in (2, 3, 4)})
    load = Load(node.data, RATE).run(SECONDS, {
        BAD_AT: lambda: name(2, 5, 4),
        # the old one is still there, but nobody may ask it any more
        WELL_AT: replicas[1].kill})
    check(load, "b")
    assert not load.between(BAD_AT + 1, SECONDS).get("b")
    assert load.between(WELL_AT, SECONDS)["d"] > 0
    assert set(origins(node)) == {f"{label}{i}" for i in (2, 4, 5)}


def test_checks_find_it_first(three):
    c, victim = three, three.replicas[2]
    c.nodes[0].options.update(origin_check="/health",
                              origin_check_interval="100ms")
    bad = replace(c, victim, 500)
    c.start()
    node = c.nodes[0]
    until(lambda: state(node, victim) == "out")
    assert "its answer to a check was not origin_check_status" in \
        node.process.logged()
    metrics = request(node.admin, "/metrics").body.decode()
    assert re.search(rf'digestd_upstream_errors_total{{kind="origin",upstream="'
                     rf'{victim.url}",cause="failed-check"}} \d', metrics)
    for i in range(20):
        assert node.get(f"/{i}", host="www").get("X-Origin") in "ab"
    bad.kill()
    revive(c, victim)
    until(lambda: state(node, victim) == "starting")
    until(lambda: state(node, victim) == "up")
    assert re.search(rf"info origin: {victim.url} is back after \d+ s; 3 of 3",
                     node.process.logged())


def test_the_example(three):
    """As it stands there, with other addresses."""
    c, node = three, three.nodes[0]
    with open(os.path.join(ROOT, "docs", "examples", "origins.conf"),
              encoding="ascii") as f:
        text = f.read()
    for i, r in enumerate(c.replicas):
        text = text.replace(f"http://198.51.100.{10 + i}:80", r.url)
    assert "198.51" not in text
    text = text.replace(":8080", f":{node.data}")
    node.configuration = lambda: text.replace(":8082", f":{node.admin}")
    c.start()
    assert set(origins(node)) == {r.url for r in c.replicas}
    c.replicas[0].kill()
    for i in range(50):
        r = node.get(f"/{i}")
        assert (r.status, r.get("X-Origin") in "bc") == (200, True)
    until(lambda: state(node, c.replicas[0]) == "out")


def test_who_has_answered_is_told(three, tmp_path):
    c = three
    log = tmp_path / "access.log"
    c.nodes[0].options.update(access_log=str(log),
                              access_log_format="%{from} %{status}")
    c.start()
    node = c.nodes[0]
    replies = [node.get(f"/{i}", host="www") for i in range(30)]
    by_name = {r.name: r.url for r in c.replicas}
    until(lambda: len(log.read_text().splitlines()) == 30)
    assert sorted(log.read_text().split()[::2]) == sorted(
        by_name[r.get("X-Origin")] for r in replies)
    for r in replies:
        assert re.fullmatch(r"n1; fwd=uri-miss; fwd-status=200.*",
                            r.get("Cache-Status")), r.get("Cache-Status")
    counted = metric(node, "upstream_duration_seconds_count")
    assert {u: counted[u] for u in by_name.values()} == {
        u: sum(r.get("X-Origin") == n for r in replies)
        for n, u in by_name.items()}
    assert set(metric(node, "origin_outstanding").values()) == {0}


def test_what_is_unsafe_is_sent_once(make_cluster, serve):
    """To origins that read it and hang up."""
    seen, lock = [], threading.Lock()

    def hang_up(request, connection):
        with lock:
            seen.append((request.method, request.target))
        return None
    c = make_cluster(1)
    node = c.nodes[0]
    bad = [f"http://127.0.0.1:{serve(hang_up).port}" for _ in range(2)]
    node.lines = [f'origin "www" {{ url = {listed(bad)} }}']
    c.start()
    for i, method in enumerate(("POST", "PUT", "DELETE", "PATCH", "LOCK")):
        body = b"body" if method != "DELETE" else None
        r = node.get(f"/{i}", host="www", method=method, body=body)
        assert r.status == 502
        assert [t for _, t in seen].count(f"/{i}") == 1, seen
    assert node.get("/safe", host="www").status == 502
    assert [t for _, t in seen].count("/safe") == 2


def test_what_was_not_sent_goes_elsewhere(three):
    c = three
    c.start()
    node = c.nodes[0]
    for r in c.replicas[:2]:
        r.kill()
    for i in range(20):
        r = node.get(f"/{i}", host="www", method="POST", body=b"body")
        assert (r.status, r.get("X-Origin")) == (200, "c")
    with open(c.replicas[2].log, encoding="ascii") as f:
        assert f.read().count("POST") == 20


def test_a_page_that_is_broken_everywhere(three):
    """All origins answer it with an error: it is not they who are bad."""
    c = three
    for r in list(c.replicas):
        replace(c, r, 500)
    c.start()
    node = c.nodes[0]
    for i in range(30):
        assert node.get(f"/{i}", host="www").status == 500
    assert {o["state"] for o in origins(node).values()} == {"up"}


def test_a_reload_keeps_what_is_known(three):
    c = three
    c.start()
    node = c.nodes[0]
    victim = c.replicas[0]
    victim.kill()
    for i in range(40):
        assert node.get(f"/{i}", host="www").status == 200
    assert state(node, victim) == "out"
    node.options["origin_failures"] = "7"
    node.write()
    node.process.signal(signal.SIGHUP)
    until(lambda: "reload: done" in node.process.logged())
    assert state(node, victim) == "out"
    node.lines = [f'origin "www" {{ url = {urls(c.replicas[1:])} }}']
    node.write()
    node.process.signal(signal.SIGHUP)
    until(lambda: len(origins(node)) == 2)
    for i in range(10):
        assert node.get(f"/2{i}", host="www").status == 200

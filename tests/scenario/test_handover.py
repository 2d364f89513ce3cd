"""A node's process replaces itself while it serves: no request fails, what was
on disk is there, and what was purged stays purged."""

import http.client
import os
import signal
import socket
import subprocess
import threading
import time

import pytest

import cluster as scd
import servers
import succession
from cluster import request, until
from control import ctl_json, with_sockets

LONG = bool(os.environ.get("SCD_TEST_LONG"))
TIMES = 20 if LONG else 3
CLIENTS = 24 if LONG else 6
PAUSE_S = CLIENTS / (1300 if LONG else 300)
FRESH = {"Cache-Control": "max-age=600"}


@pytest.fixture(autouse=True)
def orphans():
    succession.adopt_orphans()


class Clients:
    """Half of them keep their connection as long as they may. What fails is
    kept: clients try nothing twice."""

    def __init__(self, port, targets):
        self.port, self.targets = port, targets
        self.over = threading.Event()
        self.done, self.failed = [0] * CLIENTS, []
        self.threads = [threading.Thread(target=self.run, args=(i,))
                        for i in range(CLIENTS)]

    def run(self, number):
        connection = None
        while not self.over.is_set():
            began = time.monotonic()
            try:
                if connection is None:
                    connection = http.client.HTTPConnection(
                        "127.0.0.1", self.port, timeout=20)
                target = self.targets[self.done[number] % len(self.targets)]
                connection.request("GET", target,
                                   headers={"Host": "www.example.com"})
                r = connection.getresponse()
                body = r.read()
                if r.status != 200 or body != body_of(target):
                    self.failed.append((number, target, r.status))
                if number % 2 or r.getheader("Connection") == "close":
                    connection.close()
                    connection = None
            except (OSError, http.client.HTTPException) as e:
                self.failed.append((number, repr(e)))
                connection = None
            self.done[number] += 1
            time.sleep(max(0, began + PAUSE_S - time.monotonic()))
        if connection:
            connection.close()

    def wait_done(self, count):
        """Until so many requests have been answered, or have failed."""
        until(lambda: sum(self.done) >= count, 60, what="clients go on")

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join()


def body_of(target):
    return (target * 400).encode()


def on_disk(node, count):
    until(lambda: node.status()["disk"]["objects"] >= count,
          what=f"{count} objects on disk")


@pytest.fixture
def stocked(make_cluster, origin, tmp_path):
    """A node with a hundred objects on disk."""
    targets = [f"/{i}" for i in range(100)]
    for target in targets:
        origin.set(target, body=body_of(target), fields=FRESH)
    c = make_cluster(1, threads="2", drain="10s", admission="none",
                     disk_path=str(tmp_path / "disk"), disk_size="64M")
    c.origin_url = origin.url
    node = c.start().nodes[0]
    for target in targets:
        assert node.get(target).status == 200
    on_disk(node, len(targets))
    node.targets = targets
    return node


class Manager:
    """Holds a node's listening socket, as systemd does of digestd.socket, and
    starts the node again and again."""

    def __init__(self, node, path=None):
        self.node, self.path = node, path
        if path:
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.bind(path)
            self.socket.listen()
        else:
            self.socket = socket.create_server(("127.0.0.1", node.data),
                                               backlog=4096)

    def start(self):
        env = {**os.environ, "LISTEN_FDS": "1", "LISTEN_FDNAMES": "data"}
        run = 'exec 3<&0 0</dev/null; LISTEN_PID=$$ exec "$0" -c "$1"'
        with open(self.node.process.log, "ab") as log:
            self.node.process.popen = subprocess.Popen(
                ["/bin/sh", "-c", run, scd.DIGESTD, self.node.path],
                stdin=self.socket, stdout=log, stderr=log, env=env)

    def end(self):
        self.node.wait_ready()  # or the signal ends it before it looks for it
        self.node.process.signal(signal.SIGTERM)
        return self.node.process.wait(30)


def test_no_request_fails_when_the_manager_restarts_it(stocked, origin):
    """With its socket: clients wait. What was on disk needs no origin."""
    stocked.process.end()
    asked = origin.count("/0")
    manager = Manager(stocked)
    manager.start()
    try:
        with Clients(stocked.data, stocked.targets) as clients:
            for _ in range(TIMES):
                time.sleep(0.3)
                assert manager.end() == 0
                manager.start()
            assert stocked.get("/0").status == 200
            until(lambda: min(clients.done) > TIMES, 60, what="all go on")
    finally:
        assert manager.end() == 0
        manager.socket.close()
    assert not clients.failed, (clients.failed[:3], len(clients.failed))
    assert origin.count("/0") == asked


def test_a_managers_socket_is_handed_over_by_its_name(stocked):
    """Which counts whatever listen_data says, for each successor as well."""
    stocked.process.end()
    manager = Manager(stocked)
    stocked.options["listen_data"] = f"127.0.0.1:{scd.free_port()}"
    stocked.write()
    manager.start()
    try:
        for _ in range(2):
            assert stocked.get("/1").source == "hit"
            succession.hand_over(stocked)
        assert stocked.get("/1").source == "hit"
        assert manager.end() == 0
        assert "not listened on any more" not in stocked.process.logged()
    finally:
        manager.socket.close()


def test_clients_at_a_unix_socket(stocked, tmp_path):
    """Which systemd opens; each successor has it, too."""
    def get(target):
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(manager.path)
            s.sendall(f"GET {target} HTTP/1.1\r\nHost: www.example.com\r\n"
                      "Connection: close\r\n\r\n".encode())
            return b"".join(iter(lambda: s.recv(65536), b""))
    stocked.process.end()
    manager = Manager(stocked, str(tmp_path / "clients"))
    manager.start()
    try:
        for _ in range(2):
            reply = get("/1")
            assert reply.startswith(b"HTTP/1.1 200 ") and b"; hit;" in reply
            assert reply.endswith(body_of("/1"))
            succession.hand_over(stocked)
        assert b"; hit;" in get("/1")
        assert manager.end() == 0
    finally:
        manager.socket.close()


def test_no_request_fails(stocked, origin):
    asked = origin.count("/0")
    with Clients(stocked.data, stocked.targets) as clients:
        for i in range(TIMES):
            clients.wait_done(100 * i + 50)
            succession.hand_over(stocked)
            clients.wait_done(100 * (i + 1))
    assert not clients.failed, clients.failed[:20]
    # what was on disk needs no origin, but where a process had left its disk
    assert origin.count("/0") - asked <= 2 * TIMES
    assert "error" not in stocked.process.logged()


def test_the_disk_is_warm(stocked, origin):
    before = len(origin.requests)
    succession.hand_over(stocked)
    stocked.wait_ready()
    assert [stocked.get(t).source for t in stocked.targets] == ["hit"] * 100
    assert len(origin.requests) == before
    assert stocked.status()["disk"]["lost"] == 0


def test_what_is_purged_at_the_old_process_stays_purged(stocked, origin):
    """A request that the old process has in hand when the new one serves is an
    unsafe one, and invalidates what the new one has."""
    def page(r, _):
        if r.method == "POST":
            until(lambda: succession.taken_over(stocked)[0] == 1,
                  what="taken over")
            return servers.response(204)
        return servers.response(200, FRESH, body_of("/7"))

    origin.pages["/7"] = page
    told, before = [], origin.count("/7")
    post = threading.Thread(target=lambda: told.append(
        stocked.get("/7", method="POST", body=b"x", timeout=30).status))
    post.start()
    until(lambda: origin.count("/7") > before, what="the POST")
    succession.hand_over(stocked)
    post.join()
    assert told == [204]
    assert stocked.get("/8").source == "hit"
    assert stocked.get("/7").source == "origin"


def test_what_is_purged_while_a_disk_is_left(make_cluster, origin, tmp_path):
    """A process before this one says it before it has left its disk, too, and
    goes on with more than its channel has room for."""
    c = make_cluster(1, admission="none", disk_path=str(tmp_path / "disk"),
                     disk_size="64M")
    c.origin_url = origin.url
    node = c.start().nodes[0]
    origin.set("/a", body=b"a", fields=FRESH)
    assert node.get("/a").status == 200
    on_disk(node, 1)
    assert node.process.end() == 0
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.settimeout(60)
    with theirs, open(node.process.log, "ab") as log:
        process = subprocess.Popen(
            [scd.DIGESTD, "-c", node.path], stderr=log,
            pass_fds=[theirs.fileno()],
            env={**os.environ, "LISTEN_FDS": "0",
                 "DIGESTD_HANDOVER": str(theirs.fileno())})
    nothing = f"0 0 {0:016x} {0:016x}"
    with ours, process:
        try:
            assert ours.recv(200).startswith(b"1 disk ")
            ours.send(f"1 purge {nothing}".encode())
            ours.send(f"1 disk {nothing}".encode())
            for i in range(1000):
                ours.send(f"1 purge 1 0 {i:016x} {1:016x}".encode())
            assert ours.recv(200).startswith(b"1 serves ")
            assert node.get("/a").source == "origin"
        finally:
            process.terminate()


def fails(node):
    """Asks it to replace itself, which it cannot. Returns what it says."""
    times = node.process.logged().count("the new process has ended")
    node.write()
    node.process.signal(signal.SIGUSR2)
    until(lambda: node.process.logged().count("the new process has ended")
          > times, what="the end of the new process")
    return node.process.logged()


def test_a_bad_configuration_hands_nothing_over(stocked):
    stocked.options["cache_size"] = "64Q"
    assert "disk: restart it" not in fails(stocked)
    assert stocked.get("/1").source == "hit"
    stocked.options["cache_size"] = "64M"
    stocked.write()
    succession.hand_over(stocked)
    assert stocked.get("/1").source == "hit"


@pytest.mark.parametrize("purge", (False, True))
def test_a_process_that_fails_later_takes_the_disk_with_it(stocked, serve,
                                                           purge):
    """The old one serves from memory; what is purged then is purged on the
    disk, too, which nobody has open."""
    taken = serve(servers.error).port
    stocked.options["listen_admin"] = f"127.0.0.1:{taken}"
    assert "without its disk: restart it" in fails(stocked)
    assert stocked.get("/1").source == "hit"
    del stocked.options["listen_admin"]
    if purge:
        assert request(stocked.admin, "/7", method="PURGE").status == 200
    stocked.process.signal(signal.SIGUSR2)
    until(lambda: "not now: this process has no disk" in
          stocked.process.logged())
    assert stocked.process.end() == 0
    stocked.start()
    assert stocked.get("/7").source == ("origin" if purge else "hit")


def test_the_control_socket(make_cluster, origin, serve):
    """It is the new process's, or the old one's again if the new one fails; and
    without a disk the next one may try."""
    c = with_sockets(make_cluster(1))
    c.origin_url = origin.url
    node = c.start().nodes[0]
    node.options["listen_admin"] = f"127.0.0.1:{serve(servers.error).port}"
    assert "this one goes on;" in fails(node)
    del node.options["listen_admin"]
    node.write()
    instance = ctl_json(node, "status")["instance"]
    succession.hand_over(node)
    assert ctl_json(node, "status")["instance"] != instance
    assert "listens there" not in node.process.logged()


def test_the_feed_of_a_sidecar(make_cluster, origin, serve, tmp_path):
    """As the control socket: whoever tells what is held connects anew."""
    path = str(tmp_path / "feed")

    def tell(line):
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(10)
            s.connect(path)
            s.sendall(line + b"\nack\n")
            return s.recv(100).split()[-4:]
    held = [b"held", b"1", b"refused", b"0"]
    c = make_cluster(1, sidecar=serve(servers.error).url, sidecar_feed=path)
    c.origin_url = origin.url
    node = c.start().nodes[0]
    node.options["listen_admin"] = f"127.0.0.1:{serve(servers.error).port}"
    assert "this one goes on;" in fails(node)
    del node.options["listen_admin"]
    node.write()
    assert tell(b"insert http://www.example.com/a") == held
    succession.hand_over(node)
    assert tell(b"insert http://www.example.com/b") == held
    assert node.status()["sidecar"]["keys"] == 1
    assert "sidecar_feed" not in node.process.logged()


def test_another_address_is_listened_on(stocked):
    """The old one is not any more; and there are as many threads as there were
    sockets."""
    old = stocked.admin
    stocked.admin = stocked.options["listen_admin"] = scd.free_port()
    stocked.options.update(listen_admin=f"127.0.0.1:{stocked.admin}",
                           threads="1")
    stocked.write()
    succession.hand_over(stocked)
    stocked.wait_ready()
    assert stocked.status()["threads"] == 2
    assert not scd.connectable(old)
    assert f"port {old} is not listened on any more" in stocked.process.logged()

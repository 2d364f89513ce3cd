"""Listeners at UNIX sockets: who may connect, what lists of addresses mean for
such clients, and what becomes of the file."""

import grp
import http.client
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import threading
import time

import pytest

import cluster as scd
import succession
from cluster import until
from test_proxy_protocol import CLIENT, Haproxy

FRESH = {"Cache-Control": "max-age=600"}
NGINX = """
pid {folder}/nginx.pid;
error_log stderr;
events {{ }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    upstream digestd {{
        server unix:{path};
        keepalive 4;
    }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://digestd;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host $http_host;
            proxy_set_header X-Forwarded-For $remote_addr;
            proxy_set_header X-Forwarded-Proto https;
        }}
    }}
}}
"""


class Connection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("www.example.com", timeout=20)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(20)
        self.sock.connect(self.path)


def ask(path, target, method="GET", headers=None):
    c = Connection(path)
    try:
        c.request(method, target, headers=headers or {})
        r = c.getresponse()
        return scd.Response(r.status, r.getheaders(), r.read())
    finally:
        c.close()


@pytest.fixture
def local(make_cluster, origin, tmp_path):
    """Makes a node whose clients come by a UNIX socket."""
    def make(suffix="", **options):
        c = make_cluster(1, threads="2", **options)
        c.origin_url = origin.url
        node = c.nodes[0]
        node.at = str(tmp_path / "data")
        node.options["listen_data"] = f"unix:{node.at}{suffix}"
        return node.start()
    return make


def test_workers_share_one_that_is_told(local, origin, tmp_path):
    log = str(tmp_path / "access")
    node = local(",mode=0606", access_log=log)
    origin.set("/a", body=b"a" * 3000, fields=FRESH)
    for _ in range(20):
        assert ask(node.at, "/a").body == b"a" * 3000
    assert origin.count("/a") == 1
    assert stat.S_IMODE(os.stat(node.at).st_mode) == 0o606
    assert {l["listener"]: l["address"] for l in
            node.status()["listeners"]} == {
                "data": f"unix:{node.at}", "peer": f"127.0.0.1:{node.peer}",
                "admin": f"127.0.0.1:{node.admin}"}
    assert f"data on unix:{node.at}" in node.process.logged()

    def lines():
        with open(log, encoding="ascii") as f:
            return f.read().splitlines()
    until(lambda: len(lines()) == 20, what="the access log")
    assert all(line.startswith("unix: - - [") for line in lines())


def test_the_admin_listener_has_one(local, origin, tmp_path):
    """Its list of addresses does not concern who comes by it."""
    at = str(tmp_path / "admin")
    node = local()
    node.process.end()
    node.options.update(listen_admin=f"unix:{at},mode=0600",
                        admin_addresses="192.0.2.1")
    node.start(wait=False)

    def ready():
        try:
            return ask(at, "/readyz").status == 200
        except OSError:  # it does not listen yet
            return False
    until(ready, what="ready")
    assert json.loads(ask(at, "/status.json").body)["node"] == node.name
    origin.set("/a", body=b"a", fields=FRESH)
    assert [ask(node.at, "/a").source for _ in range(2)] == ["origin", "hit"]
    assert ask(at, "/a", "PURGE").status == 200
    assert ask(node.at, "/a").source == "origin"


def test_lists_of_addresses(local, origin):
    """unix: is whoever comes by a socket, for what is more than an answer."""
    node = local(client_addresses="192.0.2.1", client_rate="1",
                 client_burst="1", client_connections="1",
                 purge_addresses="192.0.2.1", forwarded="x-forwarded")
    origin.set("/a", body=b"a", fields=FRESH)
    claim = {"X-Forwarded-For": "192.0.2.7", "X-Forwarded-Proto": "https"}
    with socket.socket(socket.AF_UNIX) as idle:
        idle.connect(node.at)
        assert [ask(node.at, "/a", headers=claim).source
                for _ in range(3)] == ["origin", "hit", "hit"]
    assert origin.last().get("X-Forwarded-For") is None
    assert origin.last().get("X-Forwarded-Proto") == "http"
    assert ask(node.at, "/a", "PURGE").status == 403

    node.options.update(purge_addresses="192.0.2.1 unix:",
                        trusted_proxies="unix:")
    node.write()
    node.process.signal(signal.SIGHUP)

    def believed():
        purged = ask(node.at, "/a", "PURGE").status == 200
        ask(node.at, "/a", headers=claim)
        last = origin.last()
        return purged and last.get("X-Forwarded-For") == "192.0.2.7" and \
            last.get("X-Forwarded-Proto") == "https"
    until(believed, what="both workers' new lists")


def test_behind_haproxy(local, origin, tmp_path, request):
    """Which says whose connections they are; the file says that it may."""
    if not shutil.which("haproxy"):
        pytest.skip("haproxy is missing")
    node = local(proxy_protocol_data=True, trusted_proxies="unix:",
                 client_addresses=CLIENT)
    origin.set("/a", body=b"a", fields=FRESH)
    haproxy = Haproxy(tmp_path, {"clients": (0, "send-proxy-v2", "")})
    haproxy.end()
    path = tmp_path / "haproxy.cfg"
    path.write_text(path.read_text(encoding="ascii").replace(
        "127.0.0.1:0", f"unix@{node.at}"), encoding="ascii")
    haproxy = scd.Process(["haproxy", "-q", "-db", "-f", str(path)],
                          str(tmp_path / "haproxy.log"))
    request.addfinalizer(haproxy.kill)
    port = int(path.read_text().split("bind 127.0.0.1:")[1].split()[0])
    until(lambda: scd.connectable(port), 20, what="haproxy")
    with socket.create_connection(("127.0.0.1", port), 10, (CLIENT, 0)) as s:
        s.sendall(b"GET /a HTTP/1.1\r\nHost: www.example.com\r\n\r\n")
        assert s.recv(65536).startswith(b"HTTP/1.1 200 ")
    assert origin.last().get("X-Forwarded-For") == CLIENT
    assert scd.request(port, "/a").status == 403
    # who sends no such header is told nothing
    with pytest.raises((OSError, http.client.HTTPException)):
        ask(node.at, "/a")
    assert "a connection from a local client is closed" in \
        node.process.logged()


def test_behind_nginx(local, origin, tmp_path):
    if not shutil.which("nginx"):
        pytest.skip("nginx is missing")
    node = local(trusted_proxies="unix:", forwarded="x-forwarded")
    origin.set("/a", body=b"a" * 9000, fields=FRESH)
    port = scd.free_port()
    path = tmp_path / "nginx.conf"
    path.write_text(NGINX.format(folder=tmp_path, path=node.at, port=port))
    node.cluster.processes.append(scd.Process(
        ["nginx", "-p", str(tmp_path), "-e", "stderr", "-c", str(path), "-g",
         "daemon off; master_process off;"], str(tmp_path / "nginx.log")))
    until(lambda: scd.connectable(port), 20, what="nginx")
    for source in ("origin", "hit"):
        r = scd.request(port, "/a")
        assert (r.body, r.source) == (b"a" * 9000, source)
    assert origin.last().get("X-Forwarded-Proto") == "https"


def test_it_outlives_reloads_and_processes(local, origin):
    """No client fails, and the file is the same; then it goes."""
    succession.adopt_orphans()
    node = local()
    origin.set("/a", body=b"a", fields=FRESH)
    assert ask(node.at, "/a").status == 200
    file, failed, over = os.stat(node.at).st_ino, [], threading.Event()

    def client():
        while not over.is_set():
            try:
                r = ask(node.at, "/a")
                if r.body != b"a":
                    failed.append(r.status)
            except (OSError, http.client.HTTPException) as e:
                failed.append(repr(e))
            time.sleep(0.01)
    clients = [threading.Thread(target=client) for _ in range(4)]
    for c in clients:
        c.start()
    try:
        node.options["listen_data"] += ",mode=0666"
        node.write()
        for _ in range(3):
            node.process.signal(signal.SIGHUP)
            succession.hand_over(node)
            time.sleep(0.1)
    finally:
        over.set()
        for c in clients:
            c.join()
    assert not failed, failed[:5]
    st = os.stat(node.at)
    assert (st.st_ino, stat.S_IMODE(st.st_mode)) == (file, 0o666)
    # a successor that fails leaves the file to the one that serves
    text = node.configuration()
    with open(node.path, "w", encoding="ascii") as f:
        f.write(text.replace(f"127.0.0.1:{node.admin}", "192.0.2.1:1"))
    node.process.signal(signal.SIGUSR2)
    until(lambda: "the new process has ended" in node.process.logged(),
          what="its end")
    assert ask(node.at, "/a").source == "hit"


def test_a_listener_that_is_gone_takes_its_file(local, origin, tmp_path):
    """By a hand-over, to a process that listens elsewhere."""
    succession.adopt_orphans()
    node = local()
    origin.set("/a", body=b"a", fields=FRESH)
    old, node.at = node.at, str(tmp_path / "other")
    node.options["listen_data"] = f"unix:{node.at}"
    node.write()
    succession.hand_over(node)
    assert ask(node.at, "/a").status == 200
    until(lambda: not os.path.exists(old), what="the old file's end")
    assert f"unix:{old} is not listened on any more" in node.process.logged()


def test_what_is_left_is_replaced(local, origin):
    """A process that was killed leaves it; one that lives keeps it."""
    node = local()
    origin.set("/a", body=b"a", fields=FRESH)
    node.process.kill()
    assert os.path.exists(node.at)
    node.start()
    assert ask(node.at, "/a").status == 200
    second = subprocess.run([scd.DIGESTD, "-c", "/dev/stdin"], check=False,
                            input=f'listen_data = "unix:{node.at}"\n'
                            'forward = true\n', text=True,
                            stderr=subprocess.PIPE, timeout=20)
    assert second.returncode == 1
    assert f"listen_data: unix:{node.at}: Address already in use" in \
        second.stderr
    assert ask(node.at, "/a").source == "hit"
    assert node.process.end() == 0
    assert not os.path.exists(node.at)


def test_a_group_may_be_given(local):
    """Which takes root, or a group of the daemon's."""
    if os.geteuid():
        pytest.skip("not root")
    group = grp.getgrall()[-1]
    node = local(f",group={group.gr_name}")
    st = os.stat(node.at)
    assert (st.st_gid, stat.S_IMODE(st.st_mode)) == (group.gr_gid, 0o660)


def test_what_is_wrong_is_said_before(tmp_path):
    (tmp_path / "file").touch()
    path = tmp_path / "d.conf"
    path.write_text(f'listen_data = "unix:{tmp_path}/file"\n'
                    'listen_peer = "unix:/a"\n'
                    f'listen_admin = "unix:{tmp_path}/file,group=nobodys"\n'
                    'forward = true\ntrusted_proxies = "unix"\n')
    r = subprocess.run([scd.DIGESTD, "-t", "-c", str(path)], check=False,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       text=True)
    assert r.returncode == 1
    assert f'{path}:2: listen_peer: "unix:/a" is not an address' in r.stdout
    assert f'{path}:5: trusted_proxies: "unix" is not' in r.stdout
    path.write_text(f'listen_data = "unix:{tmp_path}/file"\n'
                    f'listen_admin = "unix:{tmp_path}/file,group=nobodys"\n'
                    'forward = true\n'
                    'control = "/nowhere/control"\n')
    r = subprocess.run([scd.DIGESTD, "-t", "-c", str(path)], check=False,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       text=True)
    assert r.returncode == 1
    for said in ("1: listen_data: something that is no socket is there",
                 "2: listen_admin: something that is no socket is there",
                 "2: listen_admin: there is no group nobodys",
                 f'2: listen_admin: "unix:{tmp_path}/file,group=nobodys" is '
                 'the path of listen_data',
                 "4: control: there is no folder /nowhere"):
        assert f"{path}:{said}" in r.stdout, r.stdout

"""Behind haproxy, which tells clients' addresses by the PROXY protocol."""

import http.client
import os
import shutil
import socket

import pytest

import cluster as scd
from certificates import Authority
from cluster import until

CLIENT = "127.0.0.9"
CONF = """
defaults
    mode tcp
    timeout connect 5s
    timeout client 10s
    timeout server 10s
"""
FRONT = """
listen {name}
    bind 127.0.0.1:{port}{bind}
    server node 127.0.0.1:{to} {send}
"""


class Haproxy(scd.Process):
    """fronts: name: (node's port, options of its server line, of bind)."""

    def __init__(self, folder, fronts):
        path = os.path.join(str(folder), "haproxy.cfg")
        self.ports = {name: scd.free_port() for name in fronts}
        with open(path, "w", encoding="ascii") as f:
            f.write(CONF)
            for name, (to, send, bind) in fronts.items():
                f.write(FRONT.format(name=name, port=self.ports[name], to=to,
                                     send=send, bind=bind))
        super().__init__(["haproxy", "-q", "-db", "-f", path],
                         os.path.join(str(folder), "haproxy.log"))

    def wait_ready(self):
        def ready():
            assert self.alive(), self.logged()
            return all(map(scd.connectable, self.ports.values()))
        until(ready, 20, what="haproxy")

    def get(self, name, target, tls=None, **fields):
        """From CLIENT. Returns the status and the body."""
        with socket.create_connection(("127.0.0.1", self.ports[name]), 10,
                                      (CLIENT, 0)) as s:
            if tls:
                s = tls.wrap_socket(s, server_hostname="127.0.0.1")
            lines = [f"GET {target} HTTP/1.1", "Host: www.example.com"]
            lines += [f"{k.replace('_', '-')}: {v}" for k, v in fields.items()]
            s.sendall("\r\n".join(lines + ["", ""]).encode())
            r = http.client.HTTPResponse(s)
            r.begin()
            return r.status, r.read()


@pytest.fixture
def ca(tmp_path):
    for program in ("haproxy", "openssl"):
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed")
    a = Authority(tmp_path)
    a.node = a.issue("node")
    a.both = os.path.join(a.folder, "both.pem")
    with open(a.both, "w", encoding="ascii") as to:
        for name in a.node:
            with open(name, encoding="ascii") as part:
                to.write(part.read())
    return a


@pytest.fixture
def balance(tmp_path):
    """balance(fronts): haproxy, see there."""
    running = []

    def start(fronts):
        running.append(Haproxy(tmp_path, fronts))
        running[-1].wait_ready()
        return running[-1]

    yield start
    for haproxy in running:
        haproxy.end()


def test_behind_haproxy(make_cluster, origin, ca, balance):
    c = make_cluster(2, cooperate=False, proxy_protocol_data=True,
                     trusted_proxies="127.0.0.1", client_connections=20,
                     forwarded="x-forwarded")
    c.nodes[1].options.update(tls_data_certificate=ca.node[0],
                              tls_data_key=ca.node[1])
    c.origin_url = origin.url
    node, secure = c.start().nodes
    haproxy = balance({
        "v1": (node.data, "send-proxy", ""),
        "v2": (node.data, "send-proxy-v2 check inter 50ms", ""),
        "offloads": (node.data, "send-proxy-v2-ssl", f" ssl crt {ca.both}"),
        "passes": (secure.data, "send-proxy-v2", ""),
    })
    for front, scheme in (("v1", "http"), ("v2", "http"),
                          ("offloads", "https"), ("passes", "https")):
        tls = ca.client() if scheme == "https" else None
        origin.set("/" + front, body=front.encode())
        assert haproxy.get(front, "/" + front, tls, X_Forwarded_For="evil",
                           X_Forwarded_Proto="gopher") \
            == (200, front.encode())
        seen = origin.last()
        assert seen.get("X-Forwarded-For") == CLIENT
        assert seen.get("X-Forwarded-Proto") == scheme
    assert haproxy.get("v1", "/", X="x" * 9000)[0] == 431
    assert f"431 to {CLIENT}:" in node.process.logged()
    # haproxy's own connections were no fault; this one is
    assert node.counters()["proxy_refused"] == 0
    with pytest.raises(OSError):
        node.get("/v1")
    assert node.counters()["proxy_refused"] == 1
    assert "no header of the PROXY protocol" in node.process.logged()


def test_a_reload_may_take_the_balancer_away(make_cluster, origin):
    """Who is listed no more, is closed; the listener stays as it is."""
    c = make_cluster(1, proxy_protocol_data=True,
                     trusted_proxies="127.0.0.1")
    c.origin_url = origin.url
    node = c.start().nodes[0]
    origin.set("/", body=b"x")

    def get():
        with socket.create_connection(("127.0.0.1", node.data), 10) as s:
            s.sendall(b"PROXY TCP4 192.0.2.7 192.0.2.1 4000 80\r\n"
                      b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            try:
                return s.recv(12)
            except ConnectionResetError:
                return b""
    assert get() == b"HTTP/1.1 200"
    assert origin.last().get("X-Forwarded-For") == "192.0.2.7"
    node.options["trusted_proxies"] = "10.0.0.0/8"
    node.write()
    node.process.signal(scd.signal.SIGHUP)
    until(lambda: get() == b"")
    assert "not one of trusted_proxies" in node.process.logged()

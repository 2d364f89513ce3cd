"""Who is refused, and who is not asked: each is counted by its reason, and the
log has a line."""

import re
import signal
import socket
import subprocess

import pytest

import control
from cluster import free_port, request, until
from test_front import behind, send

HOST = b"Host: www.example.com\r\n"


def refusals(node):
    """By their reasons, as /metrics has them."""
    text = request(node.admin, "/metrics").body.decode()
    found = dict(re.findall(
        r'^digestd_requests_refused_total\{reason="(\w+)"\} (\d+)$',
        text, re.M))
    assert {k: int(v) for k, v in found.items()} == node.status()["refusals"]
    return {k: int(v) for k, v in found.items() if v != "0"}


@pytest.mark.parametrize("reason,status,message,line", (
    ("malformed", 400, b"GET / HTTP/1.1\r\n" + HOST + HOST + b"\r\n",
     "400 to 127.0.0.1: repeated Host"),
    ("version", 505, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
     "505 to 127.0.0.1: HTTP/2, which is not spoken there"),
    ("version", 505, b"GET / HTTP/3.1\r\n" + HOST + b"\r\n",
     "505 to 127.0.0.1: the version is not HTTP/1"),
    ("unsupported", 501, b"CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n",
     "501 to 127.0.0.1: a method that is not served"),
    ("target_size", 414, b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\n\r\n",
     "414 to 127.0.0.1: the header is larger"),
    ("header_size", 431, b"GET / HTTP/1.1\r\n" + 120 * b"A: b\r\n" + b"\r\n",
     "431 to 127.0.0.1: the header is larger"),
    ("expectation", 417, b"POST / HTTP/1.1\r\n" + HOST
     + b"Expect: miracles\r\nContent-Length: 1\r\n\r\n", "417 to 127.0.0.1"),
    ("malformed", 400, b"POST / HTTP/1.1\r\n" + HOST
     + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n",
     "400 to 127.0.0.1: invalid chunk size"),
))
def test_by_the_server(make_cluster, origin, reason, status, message, line):
    node = behind(make_cluster, origin)
    assert send(node.data, message).startswith(b"HTTP/1.1 %d" % status)
    assert refusals(node) == {reason: 1}
    assert f"warning server: port {node.data}: {line}" \
        in node.process.logged()


def test_by_the_door(make_cluster):
    """Without an origin for them, or with too large a body."""
    c = make_cluster(1, max_upload_size="10")
    node = c.nodes[0]
    node.lines = ['origin "www.example.com" { url = "http://127.0.0.1:1" }']
    c.start()
    loop = {"Via": f"1.1 {node.name}"}
    for status, args in ((421, {"host": "other"}), (413, {"body": b"x" * 11}),
                         (508, {"headers": loop})):
        assert node.get("/", **args).status == status
    assert node.get("http://other/", host="other").status == 403
    assert refusals(node) == {"host": 1, "body_size": 1, "forbidden": 1,
                              "loop": 1}


def ask_from(address, node, message=b"GET / HTTP/1.1\r\n" + HOST + b"\r\n"):
    with socket.create_connection(("127.0.0.1", node.data), 10,
                                  (address, 0)) as s:
        s.sendall(message)
        return s.recv(4096)


def test_clients_that_are_not_listed(make_cluster, origin, tmp_path):
    """Neither from the store nor otherwise; a reload lists others."""
    log = tmp_path / "access.log"
    origin.set("/", fields={"Cache-Control": "max-age=100"}, body=b"x")
    node = behind(make_cluster, origin, client_addresses="127.0.0.2, ::1",
                  access_log=str(log), access_log_format="%{reason} %{client}")
    assert ask_from("127.0.0.2", node).startswith(b"HTTP/1.1 200")
    for message in (b"GET / HTTP/1.1\r\n" + HOST + b"\r\n",
                    b"GET /other HTTP/1.1\r\n" + HOST +
                    b"X-Forwarded-For: 127.0.0.2\r\n\r\n",
                    b"OPTIONS * HTTP/1.1\r\n" + HOST + b"\r\n",
                    b"POST / HTTP/1.1\r\n" + HOST +
                    b"Content-Length: 1\r\n\r\nx"):
        answer = ask_from("127.0.0.1", node, message)
        assert answer.startswith(b"HTTP/1.1 403")
        assert b'detail="client"' in answer
    assert refusals(node) == {"forbidden": 4}
    assert origin.count() == 1
    until(lambda: log.read_text().count("client 127.0.0.1\n") == 4,
          what="logged")
    with socket.create_connection(("127.0.0.1", node.data), 10) as s:
        node.options["client_addresses"] = "127.0.0.1"
        node.write()
        node.process.signal(signal.SIGHUP)

        def status():
            s.sendall(b"HEAD / HTTP/1.1\r\n" + HOST + b"\r\n")
            return s.recv(4096)[:12]
        until(lambda: status() == b"HTTP/1.1 200", what="reloaded")
    assert ask_from("127.0.0.2", node).startswith(b"HTTP/1.1 403")


def test_clients_that_are_not_listed_by_http2(make_cluster, origin):
    if "HTTP2" not in subprocess.run(
            ["curl", "-V"], stdout=subprocess.PIPE, check=True,
            text=True).stdout:
        pytest.skip("there is no curl with HTTP/2")
    node = behind(make_cluster, origin, client_addresses="127.0.0.2",
                  http2_plain=True)
    origin.set("/", body=b"x")
    for address, status in (("127.0.0.1", "2 403"), ("127.0.0.2", "2 200")):
        assert subprocess.run(
            ["curl", "-sS", "-o", "/dev/null", "--http2-prior-knowledge",
             "--interface", address, "-w", "%{http_version} %{http_code}",
             f"http://127.0.0.1:{node.data}/"], stdout=subprocess.PIPE,
            check=True, text=True).stdout == status
    assert refusals(node) == {"forbidden": 1}


def test_clients_behind_a_load_balancer_that_are_not_listed(make_cluster,
                                                            origin):
    """It is the client that is meant, not the balancer."""
    node = behind(make_cluster, origin, client_addresses="192.0.2.0/24",
                  proxy_protocol_data=True, trusted_proxies="127.0.0.1")
    origin.set("/", body=b"x")
    for header, status in ((b"TCP4 192.0.2.7 192.0.2.1 4000 80", b"200"),
                           (b"TCP4 198.51.100.7 192.0.2.1 4000 80", b"403"),
                           (b"TCP6 2001:db8::1 2001:db8::2 4000 80", b"403"),
                           (b"UNKNOWN", b"403")):
        answer = ask_from("127.0.0.1", node, b"PROXY " + header + b"\r\n"
                          b"GET / HTTP/1.1\r\n" + HOST + b"\r\n")
        assert answer[9:12] == status, header


def test_clients_that_ask_too_often(make_cluster, origin):
    """Of each address; with all its connections together; until a reload."""
    origin.set("/", fields={"Cache-Control": "max-age=100"}, body=b"x")
    node = behind(make_cluster, origin, client_rate="1", client_burst="20",
                  threads=4, proxy_protocol_data=True,
                  trusted_proxies="127.0.0.0/8")

    def ask(client):
        return ask_from("127.0.0.1", node, b"PROXY TCP6 " + client
                        + b" 2001:db8::2 4000 80\r\nGET / HTTP/1.1\r\n"
                        + HOST + b"\r\n")
    # of one subscriber
    answers = [ask(b"2001:db8::%x" % n) for n in range(40)]
    late = [a for a in answers if a.startswith(b"HTTP/1.1 429")]
    assert all(a.startswith(b"HTTP/1.1 200") for a in answers[:20])
    assert len(late) >= 15
    for answer in late:
        assert b"\r\nRetry-After: 1\r\n" in answer
        assert b'detail="rate"' in answer
    assert refusals(node) == {"rate": len(late)}
    assert "429 to 2001:db8::" in node.process.logged()
    assert ask(b"2001:db8:0:1::1").startswith(b"HTTP/1.1 200")
    reloaded(node, client_rate="0")
    until(lambda: ask(b"2001:db8::1").startswith(b"HTTP/1.1 200")
          and ask(b"2001:db8::1").startswith(b"HTTP/1.1 200")
          and ask(b"2001:db8::1").startswith(b"HTTP/1.1 200"),
          what="reloaded")


def test_an_open_forward_proxy_is_told(make_cluster, origin):
    line = "forward: everybody who reaches listen_data can use this proxy"
    for options, told in (({}, True), ({"client_addresses": "::/0"}, False)):
        c = make_cluster(1, forward=True, **options)
        c.nodes[0].options["listen_data"] = f":{c.nodes[0].data}"
        c.origin_url = origin.url
        node = c.start().nodes[0]
        assert (line in node.process.logged()) is told


def closed(port, address):
    """Whether a connection from there is closed without an answer."""
    try:
        with socket.create_connection(("127.0.0.1", port), 10,
                                      (address, 0)) as s:
            s.sendall(b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n")
            return not s.recv(4096)
    except ConnectionResetError:
        return True


def reloaded(node, **options):
    node.options.update(options)
    node.write()
    node.process.signal(signal.SIGHUP)


@pytest.mark.parametrize("listener", ("admin", "peer"))
def test_who_may_connect(make_cluster, listener):
    """A reload lists others, and ends connections of those that are not."""
    name = f"{listener}_addresses"
    c = control.with_sockets(
        make_cluster(2, default_origin="http://127.0.0.1:1"))
    node = c.nodes[0]
    node.options[name] = "127.0.0.1, 10.0.0.0/8"
    c.start()
    port = getattr(node, listener)
    c.wait_settled()
    assert not closed(port, "127.0.0.1")
    assert refusals(node) == {}
    assert closed(port, "127.0.0.2")
    assert refusals(node) == {"forbidden": 1}
    line = f"port {port}: a connection from 127.0.0.%d is closed: its " \
           f"address is not in {name}"
    assert line % 2 in node.process.logged()
    with socket.create_connection(("127.0.0.1", port), 10) as s:
        s.sendall(b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n")
        assert s.recv(4096).startswith(b"HTTP/1.1 ")
        reloaded(node, **{name: "127.0.0.2"})
        assert s.recv(4096) == b""
    assert closed(port, "127.0.0.1")
    assert not closed(port, "127.0.0.2")
    until(lambda: line % 1 in node.process.logged(), what="logged")
    # the control socket is no network's
    assert control.ctl(node, "status")[0] == 0
    reloaded(node, **{name: ""})
    until(lambda: not closed(port, "127.0.0.3"), what="open to all")


def test_connections_of_an_address(make_cluster, origin):
    node = behind(make_cluster, origin, client_connections="2")
    kept = [socket.create_connection(("127.0.0.1", node.data))
            for _ in range(2)]
    with socket.create_connection(("127.0.0.1", node.data)) as s:
        assert not s.recv(1)
    assert node.counters()["surplus"] == 1
    assert "a connection from 127.0.0.1 is closed: its address has " \
        "client_connections already" in node.process.logged()
    for s in kept:
        s.close()


def test_a_peer_that_is_not_there(make_cluster):
    """It is no good one: nobody knows."""
    c = make_cluster(2)
    one, other = c.nodes
    one.options["poll"] = "100ms"
    c.origin_url = "http://127.0.0.1:1"
    one.start()

    def health():
        return one.peer_status(other.name)["health"]
    until(lambda: health() == "unreachable", 20, what="unreachable")
    assert f"peer {other.name}: unreachable" in one.process.logged()
    assert not one.peer_status(other.name)["usable"]
    other.start()
    until(lambda: health() == "good", 20, what="reachable")
    log = one.process.logged()
    assert log.count(f"info follower: peer {other.name}: reachable again: "
                     "it is asked\n") == 1
    assert log.count("reachable again") == 1


def test_leases_without_peers_to_ask(make_cluster, origin):
    node = behind(make_cluster, origin, leases=True, peer_tries="0")
    assert re.search(r"\.conf:\d+: leases: has no effect, as peer_tries = 0",
                     node.process.logged())

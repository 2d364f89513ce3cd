"""TLS: on each listener, with peers and origins, and new certificates."""

import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import time

import pytest

import cluster as scd
import servers
from certificates import Authority
from cluster import request, until
from digests import derive

MAXAGE = {"Cache-Control": "max-age=600"}


@pytest.fixture(scope="module")
def ca(tmp_path_factory):
    """An authority with a certificate for a node and one for a client."""
    if not shutil.which("openssl"):
        pytest.skip("openssl is not installed")
    a = Authority(tmp_path_factory.mktemp("tls"))
    a.node, a.guest = a.issue("node"), a.issue("guest")
    return a


@pytest.fixture(scope="module")
def stranger(ca, tmp_path_factory):
    """Another authority, with a certificate of its own."""
    a = Authority(tmp_path_factory.mktemp("other"), "other")
    a.node = a.issue("node")
    return a


def listener(name, pair, authority=None):
    """The options for one listener."""
    options = {f"tls_{name}_certificate": pair[0], f"tls_{name}_key": pair[1]}
    if authority:
        options[f"tls_{name}_ca"] = authority.pem
    return options


def fails(port, context, target="/"):
    """Whether there is no HTTP over such a connection: refused in the
    handshake, which with TLS 1.3 shows when something is read."""
    try:
        request(port, target, tls=context)
    except (OSError, ssl.SSLError):
        return True
    return False


def metric(node, name, **args):
    text = request(node.admin, "/metrics", **args).body.decode()
    return next(float(line.split()[-1]) for line in text.splitlines()
                if line.startswith("digestd_" + name))


def test_hits_over_tls(make_cluster, origin, ca):
    origin.set("/page", fields=MAXAGE, body=b"x" * 100000)
    c = make_cluster(1, forwarded="x-forwarded", **listener("data", ca.node))
    c.origin_url = origin.url
    n = c.start().nodes[0]
    for tls in (ca.client(), ca.client(oldest=ssl.TLSVersion.TLSv1_3)):
        for _ in range(2):
            r = n.get("/page", tls=tls)
            assert (r.status, r.body) == (200, b"x" * 100000)
    assert r.source == "hit" and origin.count("/page") == 1
    assert origin.last().get("X-Forwarded-Proto") == "https"
    # the same object to peers, by its scheme
    token = derive(scd.KEY, "token").hex()
    for scheme, status in (("https", 200), ("http", 504)):
        assert request(n.peer, f"{scheme}://www.example.com/page", headers={
            "Proxy-Authorization": f"Bearer {token}"}).status == status
    assert fails(n.data, ssl.create_default_context())


def test_uploads_and_large_bodies_over_tls(make_cluster, origin, ca):
    body = os.urandom(3 << 20)
    c = make_cluster(1, max_object_size="1M", **listener("data", ca.node))
    origin.pages["/echo"] = lambda r, _: servers.response(
        200, {"Cache-Control": "no-store"}, r.body)
    c.origin_url = origin.url
    n = c.start().nodes[0]
    r = n.get("/echo", method="POST", body=body, tls=ca.client())
    assert r.status == 200 and r.body == body


def test_hits_of_the_disk_over_tls(make_cluster, origin, ca, tmp_path):
    """Files too, which without TLS the kernel sends by itself."""
    body = os.urandom(2 << 20)
    origin.set("/page", fields=MAXAGE, body=body)
    c = make_cluster(1, disk_path=str(tmp_path / "disk"),
                     **listener("data", ca.node))
    c.origin_url = origin.url
    n, tls = c.start().nodes[0], ca.client()
    n.get("/page", tls=tls)
    until(lambda: n.status()["disk"]["writes"] == 1, what="written")
    n.process.end()
    n.start()
    r = n.get("/page", tls=tls)
    assert (r.source, r.body) == ("hit", body)
    r = n.get("/page", tls=tls, headers={"Range": "bytes=1000-99999"})
    assert (r.status, r.body) == (206, body[1000:100000])
    assert origin.count("/page") == 1


def test_alpn_and_versions(make_cluster, origin, ca):
    c = make_cluster(1, tls_oldest="1.3", **listener("data", ca.node))
    c.origin_url = origin.url
    n = c.start().nodes[0]
    context = ca.client()
    context.set_alpn_protocols(["h2", "http/1.1"])
    with socket.create_connection(("127.0.0.1", n.data), 5) as raw, \
            context.wrap_socket(raw, server_hostname="localhost") as s:
        assert s.selected_alpn_protocol() == "h2"
        assert s.version() == "TLSv1.3"
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    assert fails(n.data, context)


def test_each_speaks_only_its_own(make_cluster, origin, ca):
    """Plain HTTP to a TLS port, and TLS to a plain one: an end, no crash."""
    origin.set("/page", fields=MAXAGE, body=b"page")
    c = make_cluster(1, **listener("data", ca.node))
    c.origin_url = origin.url
    n = c.start().nodes[0]
    with pytest.raises((OSError, scd.http.client.HTTPException)):
        request(n.data, "/page")
    assert fails(n.admin, ca.client())
    assert n.get("/page", tls=ca.client()).status == 200
    until(lambda: metric(n, "tls_data_failed_total") == 1, what="counted")
    assert "handshake with 127.0.0.1 failed" in n.process.logged()


def test_peers_show_certificates(make_cluster, origin, ca):
    origin.set("/page", fields=MAXAGE, body=b"page")
    c = make_cluster(2, **listener("peer", ca.node, ca))
    c.origin_url = origin.url
    for n in c.nodes:
        n.peer_scheme = "https"
    a, b = c.start().nodes
    a.get("/page")
    c.wait_settled()
    r = b.get("/page")
    assert (r.status, r.body, r.source) == (200, b"page", "peer")


def test_peer_listener_refuses_others(make_cluster, origin, ca, stranger):
    c = make_cluster(1, **listener("peer", ca.node, ca))
    c.origin_url = origin.url
    n = c.start().nodes[0]
    late = ca.issue("late", days=-1)
    assert request(n.peer, "/scd/v1/digest",
                   tls=ca.client(ca.guest)).status == 401
    assert fails(n.peer, ca.client())
    assert fails(n.peer, ca.client(stranger.node))
    assert fails(n.peer, ca.client(late))
    only_server = ca.issue("server", extra="extendedKeyUsage=serverAuth")
    assert fails(n.peer, ca.client(only_server))
    until(lambda: metric(n, "tls_peer_failed_total") == 4, what="counted")
    log = n.process.logged()
    assert "unknown" in log and "expired" in log, log


def test_peer_of_the_wrong_authority(make_cluster, origin, ca, stranger):
    """A peer that cannot show who it is is not asked; the origin answers."""
    origin.set("/page", fields=MAXAGE, body=b"page")
    c = make_cluster(2)
    c.origin_url = origin.url
    a, b = c.nodes
    a.options.update(listener("peer", ca.node))
    b.options.update(listener("peer", stranger.node), tls_peer_ca=stranger.pem)
    a.peer_scheme = b.peer_scheme = "https"
    b.start()  # before there is anything to connect to, which it says
    until(lambda: "peer=n1 cause=refused" in b.process.logged(),
          what="alone")
    a.start()
    a.get("/page")
    until(lambda: "cause=tls-untrusted" in b.process.logged(), what="refused")
    assert b.peer_status("n1")["digest"] is None
    assert b.get("/page").source == "origin"


def test_origins_are_verified(make_cluster, ca, stranger):
    with_tls = servers.Origin(tls=ca.server(ca.node, clients=True))
    with_tls.set("/page", fields=MAXAGE, body=b"page")
    try:
        c = make_cluster(1)
        c.origin_url = with_tls.url
        n = c.nodes[0]
        c.start()
        for options, status in (
                ({}, 502),  # what the system trusts
                ({"tls_origin_ca": stranger.pem}, 502),
                ({"tls_origin_ca": ca.pem}, 502),  # shows no certificate
                (listener("origin", ca.guest, ca), 200)):
            n.options.update(options)
            reload(n)
            until(lambda s=status: n.get(f"/page?{s}").status == s,
                  what=str(options))
        assert n.counters()["origin_untrusted"] >= 2
        assert "cause=tls-untrusted" in n.process.logged()
    finally:
        with_tls.close()


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2,
                                     ssl.TLSVersion.TLSv1_3])
def test_what_an_origin_must_show(make_cluster, ca, stranger, version):
    """On every way a request can go: new connections and kept ones."""
    made = (
        (ca.node, 200),
        (ca.issue("local", names="subjectAltName=IP:127.0.0.1"), 200),
        (ca.issue("other", names="subjectAltName=DNS:other.example"), 502),
        (ca.issue("number", names="subjectAltName=IP:127.0.0.2"), 502),
        (ca.issue("late", days=-1), 502),
        (ca.issue("client", extra="extendedKeyUsage=clientAuth"), 502),
        (stranger.node, 502),
        ((stranger.pem, stranger.key), 502))
    servers_of = []
    try:
        c = make_cluster(1, tls_origin_ca=ca.pem)
        n = c.nodes[0]
        for i, (pair, _) in enumerate(made):
            context = ca.server(pair)
            context.maximum_version = version
            o = servers.Origin(tls=context)
            o.set("/page", fields={"Cache-Control": "no-store"}, body=b"page")
            servers_of.append(o)
            n.lines.append(f'origin "o{i}" {{ url = "{o.url}" }}')
        c.origin_url = servers_of[0].url.replace("127.0.0.1", "localhost")
        c.start()
        for _ in range(3):
            for i, (pair, status) in enumerate(made):
                assert n.get("/page", host=f"o{i}").status == status, pair
                assert n.get("/page", host=f"o{i}", method="POST",
                             body=b"x").status == status, pair
        assert n.get("/page").status == 200  # by its name
        for o, (_, status) in zip(servers_of, made):
            assert (o.count() == 0) == (status == 502)  # not even asked
        n.options["tls_origin_ca"] = stranger.pem
        reload(n)
        until(lambda: n.get("/page", host="o0").status == 502, what="refused")
        assert n.get("/page", host="o6").status == 200
    finally:
        for o in servers_of:
            o.close()


def test_bodies_to_origins_over_tls(make_cluster, ca):
    """Of all sizes both ways, on connections that are kept."""
    with_tls = servers.Origin(tls=ca.server(ca.node))
    with_tls.pages["/echo"] = lambda r, _: servers.response(
        200, {"Cache-Control": "no-store"}, r.body)
    try:
        c = make_cluster(1, tls_origin_ca=ca.pem)
        c.origin_url = with_tls.url
        n = c.start().nodes[0]
        for size in (1, 16384, 16385, 100000, 3 << 20):
            body = os.urandom(size)
            for method in ("POST", "PUT"):
                r = n.get("/echo", method=method, body=body)
                assert r.status == 200 and r.body == body
    finally:
        with_tls.close()


def test_origins_by_another_name(make_cluster, ca):
    """The certificate must be for the host of the URL."""
    other = ca.issue("other", names="subjectAltName=DNS:other.example")
    with_tls = servers.Origin(tls=ca.server(other))
    with_tls.set("/page", body=b"page")
    try:
        c = make_cluster(1, tls_origin_ca=ca.pem)
        c.origin_url = with_tls.url
        n = c.start().nodes[0]
        assert n.get("/page").status == 502
        assert n.counters()["origin_untrusted"] == 1
        n.options["tls_origin_verify"] = False
        reload(n)
        until(lambda: n.get("/page").status == 200, what="not verified")
    finally:
        with_tls.close()


def reload(node, word="reload: done"):
    """New configuration, and wait until it was taken or refused; the workers
    have it soon after."""
    before = node.process.logged().count(word)
    node.write()
    node.process.signal(signal.SIGHUP)
    until(lambda: node.process.logged().count(word) > before, what=word)


def serial(port, context):
    with socket.create_connection(("127.0.0.1", port), 5) as raw, \
            context.wrap_socket(raw, server_hostname="localhost") as s:
        return s.getpeercert()["serialNumber"]


def copy_pair(pair, to):
    for source, target in zip(pair, to):
        shutil.copy(source, target)


def test_reload_under_load(make_cluster, origin, ca, tmp_path):
    """New certificates, again and again, and no request fails."""
    rounds = 100 if os.environ.get("SCD_TEST_LONG") else 6
    origin.set("/page", fields=MAXAGE, body=b"page")
    used = (str(tmp_path / "used.pem"), str(tmp_path / "used.key"))
    pairs = [ca.issue("one"), ca.issue("two")]
    copy_pair(pairs[0], used)
    c = make_cluster(1, **listener("data", used))
    c.origin_url = origin.url
    n = c.start().nodes[0]
    bad, stop, served = [], threading.Event(), [0, 0]

    def load(number, keep):
        context = ca.client()
        connection = None
        while not stop.is_set():
            try:
                if connection is None or not keep:
                    connection = scd.http.client.HTTPSConnection(
                        "127.0.0.1", n.data, timeout=20, context=context)
                connection.request("GET", "/page")
                if connection.getresponse().read() != b"page":
                    bad.append("body")
                served[number] += 1
                if not keep:
                    connection.close()
            except (OSError, scd.http.client.HTTPException) as e:
                bad.append(repr(e))
                return

    threads = [threading.Thread(target=load, args=(i, i == 0))
               for i in range(2)]
    for t in threads:
        t.start()
    seen = serial(n.data, ca.client())
    for i in range(1, rounds + 1):
        copy_pair(pairs[i % 2], used)
        reload(n)
        until(lambda s=seen: serial(n.data, ca.client()) != s, what="changed")
        seen = serial(n.data, ca.client())
    until(lambda: min(served) > 20 or bad, what="requests")
    stop.set()
    for t in threads:
        t.join()
    assert not bad


def test_bad_certificate_is_refused(make_cluster, origin, ca, tmp_path):
    used = (str(tmp_path / "used.pem"), str(tmp_path / "used.key"))
    copy_pair(ca.node, used)
    c = make_cluster(1, **listener("data", used))
    c.origin_url = origin.url
    n = c.start().nodes[0]
    before = serial(n.data, ca.client())
    shutil.copy(ca.guest[1], used[1])
    reload(n, "the old configuration remains")
    assert f"tls_data_key: {used[1]}: is not the key of {used[0]}" in \
        n.process.logged()
    assert serial(n.data, ca.client()) == before
    copy_pair(ca.guest, used)
    reload(n)
    until(lambda: serial(n.data, ca.client()) != before, what="changed")


def names_of(port, context, asked):
    """The DNS names of the certificate for who asks for a name, or for none."""
    context.check_hostname = False
    with socket.create_connection(("127.0.0.1", port), 5) as raw, \
            context.wrap_socket(raw, server_hostname=asked) as s:
        return {name for kind, name in s.getpeercert()["subjectAltName"]
                if kind == "DNS"}


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2,
                                     ssl.TLSVersion.TLSv1_3])
def test_sessions_are_resumed(make_cluster, origin, ca, tmp_path, version):
    """By any worker, and after a reload with another certificate."""
    origin.set("/page", fields=MAXAGE, body=b"page")
    used = (str(tmp_path / "used.pem"), str(tmp_path / "used.key"))
    copy_pair(ca.node, used)
    c = make_cluster(1, threads=2, **listener("data", used))
    c.origin_url = origin.url
    n = c.start().nodes[0]
    context = ca.client(oldest=version)
    context.maximum_version = version

    def visit(session=None):
        with socket.create_connection(("127.0.0.1", n.data), 5) as raw, \
                context.wrap_socket(raw, server_hostname="localhost",
                                    session=session) as s:
            s.sendall(b"GET /page HTTP/1.1\r\nHost: www.example.com\r\n"
                      b"Connection: close\r\n\r\n")
            assert b"".join(iter(lambda: s.recv(4096), b"")).endswith(b"page")
            return s.session, s.session_reused

    session, reused = visit()
    assert not reused
    assert all(visit(session)[1] for _ in range(12))
    before = serial(n.data, ca.client())
    copy_pair(ca.issue("renewed"), used)
    reload(n)
    until(lambda: serial(n.data, ca.client()) != before, what="changed")
    assert visit(session)[1]


def test_certificates_by_name(make_cluster, origin, ca, tmp_path):
    """Of several pairs the one that is asked for; a reload takes all or none,
    and connections that run go on."""
    def issue(name, *names):
        pair = ca.issue(name, names="subjectAltName="
                        + ",".join("DNS:" + n for n in names))
        used = tuple(str(tmp_path / os.path.basename(p)) for p in pair)
        copy_pair(pair, used)
        return used

    def pairs(*of):
        return [f"tls_data_{kind} = {{ "
                + ", ".join(f'"{pair[i]}"' for pair in of) + " }"
                for i, kind in enumerate(("certificate", "key"))]

    def gets(asked):
        return names_of(n.data, ca.client(), asked)

    first, wild, www = (issue("first", "first.example"),
                        issue("wild", "*.example.com"),
                        issue("www", "www.example.com"))
    origin.set("/page", fields=MAXAGE, body=b"page")
    c = make_cluster(1)
    c.origin_url = origin.url
    n = c.nodes[0]
    n.lines = pairs(first, wild, www)
    c.start()
    for asked, names in ((None, "first.example"), ("first.example",) * 2,
                         ("other.example", "first.example"),
                         ("www.example.com",) * 2,
                         ("a.example.com", "*.example.com"),
                         ("a.b.example.com", "first.example")):
        assert gets(asked) == {names}, asked
    with socket.create_connection(("127.0.0.1", n.data), 5) as raw, \
            ca.client().wrap_socket(raw,
                                    server_hostname="www.example.com") as kept:
        # the last pair is spoilt, and the first has changed: all stay
        other = ca.issue("other", names="subjectAltName=DNS:other.example")
        copy_pair(other, first)
        shutil.copy(ca.guest[1], www[1])
        reload(n, "the old configuration remains")
        assert f"tls_data_key: {www[1]}: is not the key of {www[0]}" in \
            n.process.logged()
        assert gets(None) == {"first.example"}
        assert gets("www.example.com") == {"www.example.com"}
        # without it, the change counts
        n.lines = pairs(first, wild)
        reload(n)
        until(lambda: gets(None) == {"other.example"}, what="changed")
        assert gets("www.example.com") == {"*.example.com"}
        kept.sendall(b"GET /page HTTP/1.1\r\nHost: www.example.com\r\n"
                     b"Connection: close\r\n\r\n")
        text = b"".join(iter(lambda: kept.recv(4096), b""))
        assert text.endswith(b"page")


def test_peers_get_new_authorities(make_cluster, origin, ca, stranger):
    """Another authority after a reload: its nodes may come, others not."""
    c = make_cluster(1, **listener("peer", ca.node, ca))
    c.origin_url = origin.url
    n = c.start().nodes[0]
    assert not fails(n.peer, ca.client(ca.guest))
    n.options["tls_peer_ca"] = stranger.pem
    reload(n)
    until(lambda: fails(n.peer, ca.client(ca.guest)), what="refused")
    assert not fails(n.peer, ca.client(stranger.node))


def test_configuration_names_what_is_wrong(ca, tmp_path):
    path = tmp_path / "d.conf"
    good = 'node = "a"\nlisten_data = ":0"\ndefault_origin = "http://o"\n'
    empty = tmp_path / "empty"
    empty.write_text("")
    late = ca.issue("late", days=-1)
    soon = ca.issue("soon", days=3)

    def check(certificate, key, *more):
        path.write_text(good + f'tls_data_certificate = "{certificate}"\n'
                        + (f'tls_data_key = "{key}"\n' if key else "")
                        + "".join(m + "\n" for m in more))
        r = subprocess.run([scd.DIGESTD, "-t", "-c", str(path)], check=False,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           text=True)
        return r.returncode, r.stderr

    pem, key = ca.node
    assert check(pem, key) == (0, "")
    assert check(*late) == (0, f"{path}:4: tls_data_certificate: {late[0]}: "
                            "has expired\n")
    assert check(*soon) == (0, f"{path}:4: tls_data_certificate: {soon[0]}: "
                            "expires within 3 days\n")
    for args, words in (
            (("/none", key), f"{path}:4: tls_data_certificate: /none: No such"),
            ((pem, "/none"), f"{path}:5: tls_data_key: /none: No such file"),
            ((pem, ca.guest[1]), f"{path}:5: tls_data_key: {ca.guest[1]}: is "
             f"not the key of {pem}"),
            ((empty, key), f"{path}:4: tls_data_certificate: {empty}: "),
            ((pem, empty), f"{path}:5: tls_data_key: {empty}: "),
            ((pem, None),
             f"{path}:4: tls_data_certificate: needs tls_data_key"),
            ((pem, key, f'tls_data_certificate += "{ca.guest[0]}"'),
             f"{path}:5: tls_data_key: has 1 files, but there are 2"),
            ((pem, key, f'tls_data_certificate += "{ca.guest[0]}"',
              f'tls_data_key += "{key}"'),
             f"{path}:7: tls_data_key: {key}: is not the key of "
             f"{ca.guest[0]}"),
            ((pem, key, f'tls_data_certificate += "{ca.pem}"',
              f'tls_data_key += "{ca.key}"'),
             f"{path}:6: tls_data_certificate: {ca.pem}: has no DNS name"),
            ((pem, key, f'tls_data_ca = "{empty}"'),
             f"{path}:6: tls_data_ca: {empty}: has no certificate"),
            ((pem, key, f'tls_origin_ca = "{key}"'),
             f"{path}:6: tls_origin_ca: {key}: has no certificate"),
            ((pem, key, f'tls_admin_ca = "{pem}"'),
             f"{path}:6: tls_admin_ca: needs tls_admin_certificate"),
            ((pem, key, 'tls_oldest = "1.1"'), f"{path}:6: tls_oldest")):
        code, text = check(*args)
        assert code == 1 and words in text, text


def test_example_of_the_readme(make_cluster, origin, ca, tmp_path):
    """Its commands make certificates with which two nodes know each other."""
    origin.set("/page", fields=MAXAGE, body=b"page")
    root = os.path.join(os.path.dirname(__file__), "..", "..")
    with open(os.path.join(root, "README.md"), encoding="utf-8") as f:
        text = f.read()
    shell, first = re.search(r"One for each address:\n\n```sh\n(.*?)```\n\n"
                             r"and on the first of them\n\n```\n(.*?)```",
                             text, re.S).groups()
    c = make_cluster(2)
    c.origin_url = origin.url
    second = c.nodes[1]

    def here(text):
        for old, new in (("192.0.2.11", "127.0.0.1"),
                         ("192.0.2.12", "127.0.0.2"),
                         ("/etc/digestd", str(tmp_path)), ("cache2", "n2"),
                         ("8081", str(second.peer))):
            text = text.replace(old, new)
        return text
    subprocess.run(["sh", "-e", "-c", here(shell)], check=True, cwd=tmp_path,
                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    c.nodes[0].peers = []
    c.nodes[0].lines = [here(first)]
    second.peer_scheme = "https"
    second.options = {name: f"{tmp_path}/{path}" for name, path in (
        ("tls_peer_certificate", "127.0.0.2.pem"),
        ("tls_peer_key", "127.0.0.2.key"), ("tls_peer_ca", "ca.pem"))}
    second.options["listen_peer"] = f"127.0.0.2:{second.peer}"
    c.start()
    until(lambda: c.nodes[0].knows(second) and second.knows(c.nodes[0]),
          what="digests known")
    second.get("/page")
    until(lambda: c.nodes[0].knows(second), what="digest known")
    assert c.nodes[0].get("/page").source == "peer"


def test_expiry_is_a_metric(make_cluster, origin, ca):
    c = make_cluster(1, **listener("data", ca.node))
    c.origin_url = origin.url
    n = c.start().nodes[0]
    end = ssl.cert_time_to_seconds(openssl_end(ca.node[0]))
    assert metric(n, "certificate_expiry_timestamp_seconds") == end
    assert n.status()["certificates"] == [{"listener": "data", "expires": end}]


def openssl_end(path):
    text = subprocess.run(["openssl", "x509", "-in", path, "-noout",
                           "-enddate"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    return text.strip().split("=")[1]


class States:
    """Connections that stop where they are, in every state that there is."""

    def __init__(self, port, context, hello):
        self.raw = []
        self.tls = []
        for sent in (0, 3, 100, len(hello)):
            s = socket.create_connection(("127.0.0.1", port), 20)
            s.sendall(hello[:sent])
            self.raw.append(s)
        ask = b"GET /big HTTP/1.1\r\nHost: www.example.com\r\n\r\n"
        for sent in (0, 10, len(ask)):
            s = socket.socket()
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.settimeout(20)
            s.connect(("127.0.0.1", port))
            s = context.wrap_socket(s, server_hostname="localhost")
            s.sendall(ask[:sent])
            self.tls.append(s)
        self.rest = ask[10:]
        assert self.tls[-1].recv(12) == b"HTTP/1.1 200"

    def close(self):
        for s in self.raw + self.tls:
            s.close()


def client_hello(context):
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with pytest.raises(ssl.SSLWantReadError):
        context.wrap_bio(incoming, outgoing,
                         server_hostname="localhost").do_handshake()
    return outgoing.read()


def cpu_seconds(process):
    with open(f"/proc/{process.popen.pid}/stat", encoding="ascii") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_who_waits_costs_nothing(make_cluster, origin, ca):
    """The library would ask again and again for the rest of a handshake."""
    origin.set("/big", fields=MAXAGE, body=b"y" * (8 << 20))
    c = make_cluster(1, **listener("data", ca.node))
    c.origin_url = origin.url
    n = c.start().nodes[0]
    n.get("/big", tls=ca.client())
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        context = ca.client(oldest=version)
        context.maximum_version = version
        states = States(n.data, context, client_hello(context))
        time.sleep(0.2)
        before = cpu_seconds(n.process)
        time.sleep(0.5)
        assert cpu_seconds(n.process) - before < 0.05 * scd.SLOW
        states.tls[1].sendall(states.rest)
        assert states.tls[1].recv(12) == b"HTTP/1.1 200"
        states.close()
    assert n.get("/big", tls=ca.client()).source == "hit"


def test_draining_ends_who_only_waits(make_cluster, origin, ca):
    origin.set("/big", fields=MAXAGE, body=b"y" * (8 << 20))
    c = make_cluster(1, drain="1h", header_timeout="1h", idle_timeout="1h",
                     **listener("data", ca.node))
    c.origin_url = origin.url
    n = c.start().nodes[0]
    n.get("/big", tls=ca.client())
    states = States(n.data, ca.client(), client_hello(ca.client()))
    n.process.signal(signal.SIGTERM)
    until(lambda: "draining" in n.process.logged(), what="draining")
    states.tls.pop().close()  # the only one that is being served
    until(lambda: not n.process.alive(), 30, what="the end")
    assert n.process.popen.returncode == 0
    states.close()


def test_slow_handshakes_are_cut_off(make_cluster, origin, ca):
    """A byte at a time, in the hello or before the end of the handshake."""
    c = make_cluster(1, header_timeout="1s", **listener("data", ca.node))
    c.origin_url = origin.url
    n = c.start().nodes[0]
    hello = client_hello(ca.client())
    for s, rest in [(socket.create_connection(("127.0.0.1", n.data), 20), r)
                    for r in (hello, hello[-1:] * 1000)]:
        with s:
            if rest is not hello:
                s.sendall(hello)

            def is_over(s=s, rest=iter(rest)):
                try:
                    s.send(bytes([next(rest)]))
                except OSError:
                    return True
                return False
            until(is_over, 20, every=0.05, what="closed")

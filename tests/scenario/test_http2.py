"""HTTP/2 for clients, by curl: with TLS and without, and beside HTTP/1.1."""

import shutil
import subprocess

import pytest

from certificates import Authority
from cluster import request, until

MAXAGE = {"Cache-Control": "max-age=600", "ETag": '"v"'}


@pytest.fixture(scope="module", autouse=True)
def curl():
    """One that speaks HTTP/2."""
    if not shutil.which("curl") or "HTTP2" not in subprocess.run(
            ["curl", "--version"], stdout=subprocess.PIPE, text=True,
            check=True).stdout:
        pytest.skip("there is no curl with HTTP/2")


@pytest.fixture(scope="module")
def ca(tmp_path_factory):
    if not shutil.which("openssl"):
        pytest.skip("openssl is not installed")
    a = Authority(tmp_path_factory.mktemp("tls"))
    a.node = a.issue("node")
    return a


def metrics(node):
    """Counters by their names in /metrics, without digestd_."""
    lines = request(node.admin, "/metrics").body.decode().splitlines()
    return {line.split()[0][8:]: float(line.split()[-1])
            for line in lines if line.startswith("digestd_")}


def ask(node, target, *options, scheme="http", data=None):
    """The answer's header and body; None: there is none."""
    done = subprocess.run(
        ["curl", "-sS", "-i", "--max-time", "20", *options,
         "-H", "Host: www.example.com",
         f"{scheme}://localhost:{node.data}{target}"],
        input=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        check=False)
    if done.returncode:
        return None
    while done.stdout.split(b" ")[1][:1] == b"1":
        done.stdout = done.stdout.split(b"\r\n\r\n", 1)[1]
    header, body = done.stdout.split(b"\r\n\r\n", 1)
    return header.decode().lower(), body


def start(make_cluster, origin, **options):
    c = make_cluster(1, **options)
    c.origin_url = origin.url
    return c.start().nodes[0]


def with_tls(make_cluster, origin, ca, **options):
    return start(make_cluster, origin, tls_data_certificate=ca.node[0],
                 tls_data_key=ca.node[1], **options)


def test_by_alpn(make_cluster, origin, ca):
    """Who wants HTTP/2 gets it, the others HTTP/1.1, of one store."""
    origin.set("/page", fields=MAXAGE, body=b"x" * 300000)
    n = with_tls(make_cluster, origin, ca)
    trust = ("--cacert", ca.pem)
    for version, how in (("http/2 200", "--http2"),
                         ("http/1.1 200", "--http1.1")):
        header, body = ask(n, "/page", how, *trust, scheme="https")
        assert header.startswith(version) and body == b"x" * 300000
    assert origin.count("/page") == 1
    assert origin.last().get("Via") == f"2.0 {n.name}"
    header, body = ask(n, "/page", "--http2", *trust, "-r", "5-9",
                       scheme="https")
    assert header.startswith("http/2 206") and body == b"xxxxx"
    header, body = ask(n, "/page", "--http2", *trust, "-H",
                       'If-None-Match: "v"', scheme="https")
    assert header.startswith("http/2 304") and not body
    header, body = ask(n, "/page", "--http2", "-I", *trust, scheme="https")
    assert "content-length: 300000" in header and not body
    assert metrics(n)["http2_requests_total"] == 4
    assert metrics(n)["requests_total"] == 5


def test_not_where_it_is_off(make_cluster, origin, ca):
    n = with_tls(make_cluster, origin, ca, http2=False, http2_plain=True)
    header, _ = ask(n, "/page", "--http2", "--cacert", ca.pem, scheme="https")
    assert header.startswith("http/1.1 404")


def test_not_without_tls(make_cluster, origin):
    """Unless it is allowed; what asks for an upgrade stays with HTTP/1.1."""
    n = start(make_cluster, origin)
    assert not ask(n, "/page", "--http2-prior-knowledge")
    header, _ = ask(n, "/page", "--http2")
    assert header.startswith("http/1.1 404")


def test_bodies(make_cluster, origin):
    """Of requests, with their length or without."""
    def take(request, connection):
        return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%d" % (
            len(str(len(request.body))), len(request.body))
    origin.pages["/up"] = take
    n = start(make_cluster, origin, http2_plain=True)
    prior = "--http2-prior-knowledge"
    for size in (1, 70000, 3000000):
        for how in (("--data-binary", "@-"), ("-T", "-", "-X", "POST")):
            header, body = ask(n, "/up", prior, *how, data=b"u" * size)
            assert header.startswith("http/2 200")
            assert body == b"%d" % size


def test_many_on_one_connection(make_cluster, origin, ca):
    """Misses, hits and errors beside each other. Over TLS: curl 7.88 does not
    use a connection again on which it did not have to ask for HTTP/2."""
    for i in range(40):
        origin.set(f"/{i}", fields=MAXAGE, body=b"%d" % i * 5000)
    n = with_tls(make_cluster, origin, ca)
    for _ in range(2):
        done = subprocess.run(
            ["curl", "-sS", "--max-time", "20", "--parallel",
             "--parallel-max", "50", "--http2", "--cacert", ca.pem,
             "-H", "Host: www.example.com",
             "-w", "%{stderr}%{http_code} %{http_version}\n",
             f"https://localhost:{n.data}/[0-49]"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
        answers = done.stderr.decode()  # with words about its progress
        assert answers.count("200 2\n") == 40
        assert answers.count("404 2\n") == 10
    assert sum(origin.count(f"/{i}") for i in range(40)) == 40
    until(lambda: metrics(n)["http2_requests_total"] == 100, what="counted")

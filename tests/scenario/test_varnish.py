"""The VCL of digestd(8): Varnish keeps what digestd finds worth it."""

import os
import re
import shutil

import pytest

import cluster as scd
from cluster import until

MANUAL = os.path.join(os.path.dirname(__file__), "..", "..", "docs",
                      "digestd.8")


def vcl(upstream):
    """What the manual has, with a backend before it."""
    with open(MANUAL, encoding="ascii") as f:
        lines = re.search(r"^sub vcl_backend_response \{\n.*?^\}\n", f.read(),
                          re.M | re.S)[0]
    return ('vcl 4.1;\nbackend default { .host = "127.0.0.1"; '
            f'.port = "{upstream}"; }}\n{lines}')


@pytest.mark.skipif(not shutil.which("varnishd"),
                    reason="varnish is not installed")
def test_varnish_keeps_what_is_worth_it(make_cluster, origin, tmp_path):
    c = make_cluster(1, cooperate=False, admission="aged",
                     admission_tell="field")
    c.origin_url = origin.url
    node = c.start().nodes[0]
    origin.set("/a", fields={"Cache-Control": "max-age=600"}, body=b"a")
    path, port = tmp_path / "a.vcl", scd.free_port()
    path.write_text(vcl(node.data))
    varnish = scd.Process(
        ["varnishd", "-F", "-n", str(tmp_path / "work"), "-f", str(path),
         "-a", f"127.0.0.1:{port}", "-s", "malloc,16m", "-j", "none"],
        str(tmp_path / "log"))

    def ready():
        assert varnish.alive(), varnish.logged()
        return scd.connectable(port)
    try:
        until(ready, 60, what="varnish")
        answers = [scd.request(port, "/a", timeout=60) for _ in range(4)]
    finally:
        varnish.end()
    assert [(a.status, a.body, a.get("Scd-Admit")) for a in answers] == \
        [(200, b"a", None)] * 4
    # the second time it is found worth it, and Varnish has it from then on
    assert node.counters()["requests"] == origin.count() == 2

"""The dashboard and the alerts of docs/monitoring: promtool has no complaint,
and a Prometheus that has scraped a real cluster has an answer to each question
of the dashboard, and to the metrics of each alert."""

import json
import math
import os
import re
import shutil
import subprocess
import threading
import urllib.parse

import pytest

import servers
from cluster import Process, connectable, free_port, request, until

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..",
                      "docs", "monitoring")

# What a cluster without TLS has no value of.
NOT_THERE = {"digestd_certificate_expiry_timestamp_seconds"}


def promtool(*args):
    if not shutil.which("promtool"):
        pytest.skip("promtool is not installed")
    done = subprocess.run(["promtool", *args], cwd=FOLDER, check=False,
                          text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout
    return done.stdout


def alerts():
    with open(os.path.join(FOLDER, "digestd-alerts.yml"),
              encoding="utf-8") as f:
        return f.read()


def test_alerts_fire_when_they_should():
    rules = len(re.findall("^ +- alert: ", alerts(), re.M))
    assert f"SUCCESS: {rules} rules found" in promtool("check", "rules",
                                                       "digestd-alerts.yml")
    promtool("check", "config", "prometheus.yml")
    promtool("test", "rules", "digestd-alerts-test.yml")
    with open(os.path.join(FOLDER, "digestd-alerts-test.yml"),
              encoding="utf-8") as f:
        tested = set(re.findall('alertname="([A-Za-z]+)"', f.read()))
    assert tested == set(re.findall("alert: ([A-Za-z]+)", alerts()))


def questions():
    """[(title, expression)] of the dashboard, as Grafana would ask them."""
    with open(os.path.join(FOLDER, "digestd-dashboard.json"),
              encoding="utf-8") as f:
        panels = json.load(f)["panels"]
    assert len({p["id"] for p in panels}) == len(panels) > 20
    return [(p["title"], t["expr"].replace("$__rate_interval", "6s")
             .replace("$instance", ".*"))
            for p in panels for t in p["targets"]]


class Prometheus:
    def __init__(self, nodes, folder):
        self.port = free_port()
        path = os.path.join(folder, "prometheus.yml")
        targets = ", ".join(f'"127.0.0.1:{n.admin}"' for n in nodes)
        with open(path, "w", encoding="ascii") as f:
            f.write("global: {scrape_interval: 500ms}\n"
                    "scrape_configs: [{job_name: digestd, static_configs: "
                    f"[{{targets: [{targets}]}}]}}]\n")
        self.process = Process(
            ["prometheus", f"--config.file={path}",
             f"--storage.tsdb.path={folder}/data",
             f"--web.listen-address=127.0.0.1:{self.port}"],
            os.path.join(folder, "prometheus.log"))
        until(lambda: connectable(self.port) and request(
            self.port, "/-/ready").status == 200, 20, what="Prometheus")

    def ask(self, expression):
        """The values; what is no number is none."""
        answer = request(self.port, "/api/v1/query?query=" +
                         urllib.parse.quote(expression))
        found = json.loads(answer.body)
        assert found["status"] == "success", (expression, found)
        return [r for r in found["data"]["result"]
                if not math.isnan(float(r["value"][1]))]


def keep_asking(nodes, over):
    """Hits here and at peers, misses, what is not stored, and an origin that
    fails."""
    i = 0
    while not over.wait(0.01):
        i += 1
        for n, node in enumerate(nodes):
            node.get(f"/p{i % 40}")
            node.get(f"/n{n}-{i}")
        nodes[0].get("/private")
        nodes[0].get("/", host="gone.example")


def cluster_under_load(make_cluster, serve, tmp_path):
    def answer(r, _connection):
        control = "private" if r.target == "/private" else "max-age=600"
        return servers.response(200, {"Cache-Control": control}, b"x" * 3000)
    c = make_cluster(2)
    c.origin_url = serve(answer).url
    c.nodes[0].options.update(disk_path=tmp_path / "disk", disk_size="64M")
    c.nodes[0].lines = [f'origin "gone.example" {{ url = '
                        f'"http://127.0.0.1:{free_port()}" }}']
    c.start()
    c.wait_settled()
    return c


def test_each_question_has_an_answer(make_cluster, serve, tmp_path):
    if not shutil.which("prometheus"):
        pytest.skip("prometheus is not installed")
    c = cluster_under_load(make_cluster, serve, tmp_path)
    over = threading.Event()
    thread = threading.Thread(target=keep_asking, args=(c.nodes, over))
    thread.start()
    prometheus = Prometheus(c.nodes, str(tmp_path))
    try:
        for title, expression in questions():
            until(lambda: prometheus.ask(expression), 15, 0.3,
                  what=f"{title}: {expression}")
        for name in set(re.findall(r"\bdigestd_\w+", alerts())) - NOT_THERE:
            if "|" not in name and not name.endswith("_"):
                until(lambda: prometheus.ask(name), 15, what=name)
    finally:
        over.set()
        thread.join()
        prometheus.process.end()

"""What an operator does: check, reload, stop, watch."""

import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import threading
import time

import pytest

import cluster as scd
import servers
from cluster import request, until
from digests import derive

LONG = bool(os.environ.get("SCD_TEST_LONG"))
RELOADS = 100 if LONG else 20
ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))


def check(path):
    return subprocess.run([scd.DIGESTD, "-t", "-c", path], check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True)


def test_a_wrong_command_line_says_what_is_wrong():
    for args, wrong in (([], "needs -c FILE"), (["-t"], "needs -c FILE"),
                        (["-c", "x", "y"], "takes no operands"),
                        (["-c", "x", "--explain", "http://a/"],
                         "--explain needs -t")):
        done = subprocess.run([scd.DIGESTD, *args], check=False, text=True,
                              stderr=subprocess.PIPE)
        assert done.returncode == 2
        assert done.stderr.startswith(f"digestd: {wrong}\nusage: "), args


def test_check_mode_names_file_line_and_option(tmp_path):
    good = 'node = "a"\nlisten_data = ":0"\ndefault_origin = "http://o"\n'
    path = tmp_path / "d.conf"
    path.write_text(good)
    r = check(str(path))
    assert (r.returncode, r.stdout) == (0, f"{path}: ok\n")
    for line, words in (
            ('cache_size = "64Q"', "cache_size"),
            ('threads = "0"', "threads"),
            ('publish_share = "2"', "publish_share"),
            ('nonsense = "1"', "nonsense"),
            ('peer "b" { url = "b:80/x" }', "url"),
            ('listen_peer = "here"', "listen_peer"),
            ('set_cookie = "maybe"', "set_cookie"),
            ('origin "b" { url = "http://o" set_cookie = no }',
             'set_cookie: "no" is not refuse, strip or allow'),
            ('peer "b" { set_cookie = "strip" }', "set_cookie"),
            ('eviction = "random"', "eviction"),
            ('admission = "maybe"', "admission"),
            ('admission_write_cost = "2"', "admission_write_cost"),
            ('admission_window = "-1"', "admission_window")):
        path.write_text(good + line + "\n")
        r = check(str(path))
        assert r.returncode == 1
        assert f"{path}:4:" in r.stderr and words in r.stderr, r.stderr
    for text, words in (
            ("", "listen_data: not given"),
            (good + 'peer "b" { url = "http://b:1" }\n', "cluster_key"),
            (good + 'cluster_key = "xyz"\n', "cluster_key"),
            (good + 'admission_ram = "1"\n', "admission_ram"),
            (good + 'cache_size = "64M"\nmemory_limit = "95M"\n',
             "memory_limit"),
            (good + 'filter_min = "2M"\nfilter_max = "1M"\n', "filter_max"),
            (good + 'origin "a/b" { url = "http://o" }\n', "not a host"),
            (good + f'cluster_key = "{scd.KEY}"\n'
             'members = "file:members"\n', "members"),
            (good + 'cluster_key_file = "/nonexistent"\n', "/nonexistent")):
        path.write_text(text)
        r = check(str(path))
        assert r.returncode == 1 and words in r.stderr, r.stderr
    assert check(str(tmp_path / "none.conf")).returncode == 1


def beyond(limit):
    """The next value, of a number or of a time."""
    number, unit = re.fullmatch(r"([0-9]+)([a-z]*)", limit).groups()
    ms = {"": 0, "ms": 1, "s": 1000, "m": 60000, "h": 3600000}[unit]
    return f"{int(number) * ms // 1000 + 1}s" if ms else str(int(number) + 1)


def test_the_manual_has_the_limits_that_hold(tmp_path):
    with open(os.path.join(os.environ["top_builddir"], "docs",
                           "digestd.conf.5"), encoding="utf-8") as f:
        entries = re.findall(r"^\.It Ic (\w+) = .*\n((?:(?!\.It).*\n)*)",
                             f.read(), re.M)
    ranges = {name: re.search(r"^from \w+ to (\w+)\.$", text, re.M)
              for name, text in entries}
    limits = {name: found[1] for name, found in ranges.items() if found}
    assert len(limits) > 25 and limits["ready_wait"] == "1h", limits
    assert limits["peer_tries"] == "8", limits
    path = tmp_path / "d.conf"
    for name, limit in limits.items():
        for value, refused in ((limit, False), (beyond(limit), True)):
            path.write_text(f'{name} = "{value}"\n')
            told = check(str(path)).stderr
            assert (f"{name}: \"{value}\" is not" in told) == refused, told


def test_examples_are_right():
    for name in ("minimal", "forward"):
        r = check(os.path.join(ROOT, "docs", "examples", name + ".conf"))
        assert (r.returncode, r.stderr) == (0, ""), name


def test_the_readme_makes_a_cluster(tmp_path):
    """Its commands as they stand there, with another folder than /etc."""
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as f:
        part = f.read().split("## A cluster of your own")[1]
    lines = [line.split("  #")[0].strip() for line in part.splitlines()
             if line.startswith("    ")][:4]
    path = tmp_path / "digestd.conf"
    assert lines[-1] == "digestd -c /etc/digestd.conf"
    path = tmp_path / "digestd.conf"
    make, copy, test = (line.replace("/etc/", f"{tmp_path}/")
                        for line in lines[:3])
    where = f"sed -i 's|/etc/digestd.key|{tmp_path}/digestd.key|' {path}"
    r = subprocess.run(["sh", "-ec", "\n".join([make, copy, where, test])],
                       cwd=ROOT, check=False, text=True,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       env=dict(os.environ, PATH=os.path.dirname(scd.DIGESTD)
                                + os.pathsep + os.environ["PATH"]))
    assert (r.returncode, r.stdout) == (0, f"{path}: ok\n")


def test_a_key_that_others_can_read_is_refused(tmp_path):
    path, key = tmp_path / "d.conf", tmp_path / "key"
    path.write_text('node = "a"\nlisten_data = ":0"\n'
                    'default_origin = "http://o"\n'
                    f'cluster_key_file = "{key}"\n')
    key.write_text("0123456789abcdef" * 2 + "\n")
    own = os.getuid() == 0  # root's may be readable by its group
    for mode, right in ((0o600, True), (0o400, True), (0o640, own),
                        (0o644, False), (0o604, False), (0o660, False),
                        (0o602, False), (0o666, False)):
        key.chmod(mode)
        r = check(str(path))
        assert r.returncode == (0 if right else 1), (oct(mode), r.stderr)
        if not right:
            assert r.stderr.startswith(f"{path}:4: cluster_key_file: {key}: "
                                       f"mode {mode:04o}"), r.stderr
            assert f"chmod 600 {key}" in r.stderr
    key.chmod(0o600)
    for text, words in (("", ": has no key"),
                        ("xyz\n", ":1: not 32 hexadecimal")):
        key.write_text(text)
        r = check(str(path))
        assert r.returncode == 1 and r.stderr.count("\n") == 1
        assert f":4: cluster_key_file: {key}{words}" in r.stderr


def test_a_published_key_is_refused(tmp_path):
    path, key = tmp_path / "d.conf", tmp_path / "key"
    old = "00112233445566778899aAbBcCdDeEfF"
    good = 'node = "a"\nlisten_data = ":0"\ndefault_origin = "http://o"\n'
    key.write_text(old + "\n")
    key.chmod(0o600)
    for line in (f'cluster_key = "{old}"', f'cluster_key_file = "{key}"'):
        path.write_text(good + line + "\n")
        r = check(str(path))
        assert r.returncode == 1
        assert f":4: {line.split()[0]}: " in r.stderr
        assert old.lower() in r.stderr and "openssl rand -hex 16" in r.stderr


@pytest.mark.parametrize("one,other,shared", [
    (":8080", ":8080", True), (":8080", "127.0.0.1:8080", True),
    ("127.0.0.1:8080", ":8080", True), ("0.0.0.0:80", "127.0.0.1:80", True),
    ("[::]:80", "[::1]:80", True), ("[::1]:80", ":80", True),
    ("[::1]:80", "[0:0::1]:080", True),
    ("0.0.0.0:80", "[::]:80", False), ("127.0.0.1:80", "[::1]:80", False),
    ("127.0.0.1:80", "127.0.0.2:80", False), (":80", ":81", False),
    (":0", ":0", False)])
def test_listeners_that_share_a_port_are_refused(tmp_path, one, other, shared):
    path = tmp_path / "d.conf"
    path.write_text(f'node = "a"\nlisten_data = "{one}"\n'
                    'default_origin = "http://o"\n'
                    f'listen_admin = "{other}"\n')
    r = check(str(path))
    assert r.returncode == (1 if shared else 0), r.stderr
    if shared:
        assert r.stderr == (f'{path}:4: listen_admin: "{other}" is the port '
                            f'of listen_data ("{one}", line 2)\n')


def test_a_port_in_use_is_refused(make_cluster):
    """Another daemon's, whichever of its listeners that is; and free again as
    soon as it drains."""
    c = make_cluster(2, cooperate=False, threads="2",
                     default_origin="http://127.0.0.1:1")
    a, b = c.nodes
    a.start()
    for mine in ("data", "peer", "admin"):
        kept = getattr(b, mine)
        for theirs in (a.data, a.admin):
            setattr(b, mine, theirs)
            b.start(wait=False)
            assert b.process.wait() == 1
            assert f"service: listen_{mine}: 127.0.0.1:{theirs}: " \
                "Address already in use" in b.process.logged()
            c.processes.remove(b.process)
        setattr(b, mine, kept)
    assert all(request(a.data, "/metrics").status != 200 for _ in range(5))
    a.process.signal(signal.SIGTERM)
    a.process.wait()
    b.data = a.data
    b.start()


def test_manual_has_every_option():
    options = subprocess.run([scd.DIGESTD, "--options"], check=True, text=True,
                             stdout=subprocess.PIPE).stdout
    with open(os.path.join(scd.BUILD, "docs", "digestd.conf.5"),
              encoding="ascii") as f:
        manual = f.read()
    for line in options.splitlines():
        name, default = line.split()[:2]
        entry = f".It Ic {name}"
        assert entry in manual, name
        if default != "-":
            text = manual[manual.index(entry):].split(".It Ic ")[1]
            assert default in text, f"{name}: default {default}"


def test_every_eviction_policy_of_the_manual_is_one(tmp_path):
    with open(os.path.join(scd.BUILD, "docs", "digestd.conf.5"),
              encoding="ascii") as f:
        entry = f.read().split(".It Ic eviction")[1].split(".It Ic ")[0]
    names = re.findall(r"^\.It Cm (\w+)$", entry, re.M)
    with open(os.path.join(ROOT, "digestd", "store", "eviction_policy.h"),
              encoding="ascii") as f:
        assert set(names) == set(re.findall(r"^\tX\((\w+)\)", f.read(), re.M))
    for name in names:
        path = tmp_path / "digestd.conf"
        path.write_text('node = "a"\nlisten_data = ":0"\n'
                        'default_origin = "http://o"\n'
                        f'eviction = "{name}"\n')
        r = check(str(path))
        assert r.returncode == 0, r.stderr


def manual_examples():
    """The literal blocks of EXAMPLES of digestd(8)."""
    path = os.path.join(ROOT, "docs", "digestd.8")
    with open(path, encoding="ascii") as f:
        text = f.read().split(".Sh EXAMPLES")[1]
    blocks = re.findall(r"\.Bd -literal[^\n]*\n(.*?)\.Ed", text, re.S)
    return [block.replace("\\e\n", "\\\n") for block in blocks]


def test_examples_of_the_manual_say_what_it_says(make_cluster, origin):
    """A line behind "$ " is typed; those below it are what it prints."""
    if not shutil.which("curl"):
        pytest.skip("curl is missing")
    c = make_cluster(1, admission="aged")
    c.origin_url = origin.url
    node = c.start().nodes[0]
    typed = 0
    for block in manual_examples():
        block = block.replace(":8082/", f":{node.admin}/")
        dialog = re.findall(r"^\$ (.*)\n((?:[^$].*\n)*)", block, re.M)
        for command, printed in dialog or [(block, None)]:
            r = subprocess.run(["sh", "-ec", command], check=False, text=True,
                               stdout=subprocess.PIPE)
            assert r.returncode == 0, command
            assert printed in (None, r.stdout), (command, r.stdout)
            assert printed or '"purged"' in r.stdout, r.stdout
            typed += 1
    assert typed == 3


def test_health_and_readiness(node):
    assert request(node.admin, "/healthz").status == 200
    assert request(node.admin, "/readyz").status == 200
    assert request(node.admin, "/other").status == 404
    assert request(node.admin, "/healthz", "POST").status == 405
    status = node.status()
    assert status["node"] == "n1" and status["ready"] is True


def test_listed_metrics_are_those_served(make_cluster, origin):
    """Those of a node without a disk, without certificates, not beside another
    cache (test_sidecar.py), and that shares no table with modules."""
    c = make_cluster(2, placement="single-shared", members="command:true")
    c.origin_url = origin.url
    c.start()
    metrics = request(c.nodes[0].admin, "/metrics").body.decode()
    listed = subprocess.run([scd.DIGESTD, "--metrics"], check=True, text=True,
                            stdout=subprocess.PIPE).stdout
    listed = re.findall(r"^(\w+) +(\w+) +(.*)$", listed, re.M)
    served = re.findall(r"^# HELP (\w+) (.*)\n# TYPE \w+ (\w+)$", metrics,
                        re.M)
    assert len(served) > 90
    for name, _, text in listed:  # each is read alone
        assert not re.search(r"\b(it|they|them)\b|^(its|their|of)\b",
                             text), (name, text)
    other = re.compile("digestd_(disk|certificate|sidecar|nginx|squid|share)_")
    assert {row for row in served if not other.match(row[0])} == {
        (name, text, kind) for name, kind, text in listed
        if not other.match(name)}


def test_metrics_pass_promtool(make_cluster, origin):
    if not shutil.which("promtool"):
        pytest.skip("promtool is not installed")
    c = make_cluster(2)
    c.origin_url = origin.url
    c.start()
    c.wait_settled()
    origin.set("/a", fields={"Cache-Control": "max-age=600"}, body=b"x")
    for path in ("/a", "/a", "/missing"):
        c.nodes[0].get(path)
    until(lambda: sum(c.nodes[0].status()["responses"].values()) == 3,
          what="the last reply is counted")
    metrics = request(c.nodes[0].admin, "/metrics")
    assert metrics.get("Content-Type").startswith("text/plain; version=0.0.4")
    r = subprocess.run(["promtool", "check", "metrics"], input=metrics.body,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       check=False)
    assert r.returncode == 0, r.stdout.decode()
    text = metrics.body.decode()
    for line in ('peer_usable{peer="n2"} 1',
                 'request_duration_seconds_count{source="memory"} 1',
                 'request_duration_seconds_count{source="origin"} 2',
                 'time_to_first_byte_seconds_count{source="origin"} 2',
                 'time_to_first_byte_seconds_bucket{source="memory",'
                 'le="+Inf"} 1',
                 f'upstream_duration_seconds_count{{kind="origin",'
                 f'upstream="{origin.url}"}} 2',
                 'responses_total{class="2xx"} 2',
                 'responses_total{class="4xx"} 1',
                 'config_last_reload_successful 1', 'threads 1'):
        assert f"\ndigestd_{line}\n" in text, line
    assert re.search('^digestd_build_info{version="[0-9.]+[^"]*"} 1$', text,
                     re.M)


def test_more_than_fifty_names_are_other(make_cluster, serve):
    """Origins and peers beyond that are one."""
    page = serve(lambda r, c: servers.response(200, {}, b"page"))
    c = make_cluster(1, ready_wait="0s")
    node = c.nodes[0]
    node.lines = [f'origin "o{i}" {{ url = "http://127.0.0.{i + 1}:'
                  f'{page.port}" }}' for i in range(52)]
    node.lines += [f'peer "p{i}" {{ url = "http://127.0.0.{i + 1}:'
                   f'{page.port}" }}' for i in range(52)]
    c.start()
    for i in range(52):
        node.get("/", host=f"o{i}")
    text = request(node.admin, "/metrics").body.decode()
    origins = re.findall(r'^digestd_upstream_received_bytes_total\{kind='
                         r'"origin",upstream="(.*?)"', text, re.M)
    assert len(origins) == 51 and origins[-1] == "other"
    assert 'kind="origin",upstream="other",cause="refused"} 2\n' in text
    peers = re.findall(r'^digestd_peer_lookups_total\{peer="(.*?)"', text,
                       re.M)
    assert len(peers) == 51 and peers[-1] == "other"


def reload_as(node, number):
    """Every tenth is bad, others change what requests go by."""
    done = "the old configuration remains" if number % 10 == 9 \
        else "reload: done"
    before = node.process.logged().count(done)
    node.options["cache_size"] = f"{number % 3 + 1}M"
    node.options["max_object_size"] = "9Q" if number % 10 == 9 \
        else f"{number + 1}M"
    node.peers = [("other", 9)][number % 2:]  # nobody listens there
    node.write()
    node.process.signal(signal.SIGHUP)
    until(lambda: node.process.logged().count(done) > before, what=done)


@pytest.mark.parametrize("threads", (1, 2) if LONG else (2,))
def test_reloads_under_load(make_cluster, threads):
    """At 1,000 requests a second, hits and misses: none fails."""
    c = make_cluster(1, threads=str(threads))
    path = os.path.join(c.dir, "load.csv")
    with open(path, "w", encoding="ascii") as f:
        f.write("time,client,url,size\n")
        for i in range(RELOADS * 100):
            f.write(f"{1e9 + i / 1000:.3f},c{i % 9},"
                    f"http://www.example.com/{i * i % 997},{i % 3 * 5000}\n")
    c.start_origin("--trace", path)
    node = c.start().nodes[0]
    report = []
    load = threading.Thread(target=lambda: report.append(c.replay(
        path, "--speed", "1", "--verify", "all")))
    load.start()
    reloads = 0
    while load.is_alive() or reloads < RELOADS:
        reload_as(node, reloads)
        reloads += 1
        time.sleep(0.06)
    load.join()
    total = report[0][0]["total"]
    assert total["errors"]["total"] == 0, total
    assert total["2xx"] == total["verified"] == RELOADS * 100, total
    logged = node.process.logged()
    assert logged.count(f"{node.path}:") == logged.count(
        "max_object_size: ") == reloads // 10


def test_request_that_waits_for_another_outlives_a_reload(node, origin):
    """It goes to the origin that it was resolved to before the reload."""
    def slow(r, _):
        time.sleep(0.5)
        return servers.response(200, {"Cache-Control": "no-store"}, b"one")
    origin.pages["/slow"] = slow
    answers = []
    threads = [threading.Thread(
        target=lambda: answers.append(node.get("/slow").body))
        for _ in range(3)]
    for t in threads:
        t.start()
    until(lambda: origin.count("/slow"))
    for _ in range(3):
        node.process.signal(signal.SIGHUP)
        time.sleep(0.05)
    for t in threads:
        t.join()
    assert answers == [b"one"] * 3


def test_reload_keeps_the_old_configuration_when_the_new_is_bad(node, origin):
    origin.set("/a", fields={"Cache-Control": "max-age=60"}, body=b"x")
    with open(node.path, "a", encoding="ascii") as f:
        f.write('cache_size = "much"\n')
    lines = node.configuration().count("\n") + 1
    node.process.signal(signal.SIGHUP)
    until(lambda: "the old configuration remains" in node.process.logged())
    assert f"{node.path}:{lines}: cache_size" in node.process.logged()
    assert node.get("/a").status == 200


def test_reload_of_what_cannot_be_read(node, origin):
    """The log says why, and the node goes on."""
    origin.set("/a", fields={"Cache-Control": "max-age=60"}, body=b"x")
    os.rename(node.path, node.path + ".kept")
    for make, why in ((lambda: None, "No such file or directory"),
                      (lambda: os.mkdir(node.path), "Is a directory"),
                      (lambda: os.symlink("/proc/self/mem", node.path),
                       "Input/output error"),
                      (lambda: os.symlink("/dev/zero", node.path),
                       "has a NUL byte")):
        make()
        assert check(node.path).stderr == f"{node.path}: {why}\n"
        node.process.signal(signal.SIGHUP)
        until(lambda: f"reload: {node.path}: {why}" in node.process.logged())
        assert node.get("/a").status == 200
        if os.path.lexists(node.path):
            (os.unlink if os.path.islink(node.path) else os.rmdir)(node.path)


def test_reload_changes_origins_and_peers(make_cluster, origin):
    c = make_cluster(2, cooperate=False)
    c.origin_url = origin.url
    c.start()
    a, b = c.nodes
    origin.set("/a", fields={"Cache-Control": "max-age=60"}, body=b"x")
    b.get("/a")
    a.peers = [(b.name, b.peer)]
    a.write()
    a.process.signal(signal.SIGHUP)
    until(lambda: a.status()["peers"] and a.knows(b))
    assert a.get("/a").source == "peer"
    a.peers, a.options["default_origin"] = [], "http://127.0.0.1:1"
    a.write()
    a.process.signal(signal.SIGHUP)
    until(lambda: not a.status()["peers"])
    assert a.get("/b").status == 502


def test_reload_keeps_what_only_a_start_changes(make_cluster, origin):
    """The log names each such option that differs from what the node runs by,
    not from what the file said before; the status goes by the former."""
    c = make_cluster(1)
    c.origin_url = origin.url
    node = c.start().nodes[0]
    end = " takes effect only at the next start"
    changed = {"disk_queue": "1M", "eviction": "lru", "threads": "2",
               "node": "other", "max_connections": "77"}

    def reload():
        before = node.process.logged()
        node.write()
        node.process.signal(signal.SIGHUP)
        until(lambda: node.process.logged().count("reload: done")
              > before.count("reload: done"))
        return sorted(re.findall(f"reload: (\\w+){end}",
                                 node.process.logged()[len(before):]))
    old = dict(node.options)
    for _ in range(2):
        node.options.update(changed)
        assert reload() == sorted(changed)
        assert node.status()["node"] == node.name
    node.options = old
    assert reload() == []


def test_reload_refuses_another_cluster_key(make_cluster, origin):
    """What is stored is under the old key: it stays in force for requests,
    purges, peers and the admission API alike, and the log says so."""
    c = make_cluster(1)
    c.origin_url = origin.url
    node = c.nodes[0]
    path = node.path + ".key"

    def write_key(key):
        with open(path, "w", encoding="ascii") as f:
            f.write(key + "\n")
        os.chmod(path, 0o600)

    def token(key):
        return {"Authorization": "Bearer " + derive(key, "token").hex()}

    def peer_status(key):
        return request(node.peer, "/scd/v1/digest", headers=token(key)).status
    write_key(scd.KEY)
    node.options.update(cluster_key=None, cluster_key_file=path)
    c.start()
    origin.set("/a", fields={"Cache-Control": "max-age=60"}, body=b"x")
    node.get("/a")
    assert node.get("/a").source == "hit"
    write_key("f" * 32)
    node.process.signal(signal.SIGHUP)
    until(lambda: "reload: done" in node.process.logged())
    assert "takes effect only at the next start" in node.process.logged()
    assert "warning reload: done, but for the cluster key" \
        in node.process.logged()
    assert node.get("/a").source == "hit"
    assert (peer_status(scd.KEY), peer_status("f" * 32)) == (200, 401)
    r = request(node.admin, "/a", "PURGE", headers={"Host": "www.example.com"})
    assert b'"purged": 1' in r.body
    assert node.get("/a").source == "origin"


def test_sigterm_drains(node, origin):
    def slow(r, _):
        time.sleep(0.8)
        return servers.response(200, {}, b"late")
    origin.pages["/slow"] = slow
    answers = []
    t = threading.Thread(target=lambda: answers.append(node.get("/slow")))
    t.start()
    until(lambda: origin.count("/slow"))
    node.process.signal(signal.SIGTERM)
    time.sleep(0.2)
    assert not scd.connectable(node.data)
    t.join()
    assert answers[0].body == b"late"
    assert node.process.wait(10) == 0


def test_second_signal_ends_at_once(make_cluster, origin):
    c = make_cluster(1)
    c.origin_url = origin.url
    node = c.start().nodes[0]
    origin.pages["/hang"] = servers.hang

    def ask():
        try:
            node.get("/hang")
        except (OSError, scd.http.client.HTTPException):
            pass
    t = threading.Thread(target=ask)
    t.start()
    until(lambda: origin.count("/hang"))
    node.process.signal(signal.SIGTERM)
    time.sleep(0.3)
    assert node.process.alive()
    node.process.signal(signal.SIGINT)
    assert node.process.wait(5) == 0
    t.join()


def test_secrets_are_not_logged(make_cluster, origin):
    c = make_cluster(2, log_level="debug")
    c.origin_url = origin.url
    c.start()
    c.wait_settled()
    for node in c.nodes:
        assert scd.KEY not in node.process.logged()


def test_several_threads_share_one_cache(make_cluster, origin):
    c = make_cluster(1, threads="3")
    c.origin_url = origin.url
    node = c.start().nodes[0]
    origin.set("/a", fields={"Cache-Control": "max-age=60"}, body=b"x")
    for _ in range(30):
        assert node.get("/a").status == 200
    assert origin.count() == 1 and node.status()["threads"] == 3


def descriptors(process):
    return len(os.listdir(f"/proc/{process.popen.pid}/fd"))


def test_running_out_of_descriptors_ends_with_their_release(node, origin):
    limit = 60
    origin.set("/a", fields={"Cache-Control": "max-age=60"}, body=b"x")
    resource.prlimit(node.process.popen.pid, resource.RLIMIT_NOFILE,
                     (limit, limit))
    clients = [socket.create_connection(("127.0.0.1", node.data), 5)
               for _ in range(100)]
    try:
        # A connection to another listener may end later than that.
        until(lambda: descriptors(node.process) >= limit - 3)
        node.process.pause()  # so that all close at once
    finally:
        for c in clients:
            c.close()
        node.process.signal(signal.SIGCONT)
    for path in ("/a", "/a?miss"):
        assert request(node.data, path, timeout=5 * scd.SLOW).status == 200


def test_no_descriptors_for_origins(node, origin):
    """Each client has an answer, good or bad; then all is as before."""
    enough = threading.Event()

    def slow(r, _):
        enough.wait(60)
        return servers.response(200, {"Cache-Control": "max-age=60"}, b"s")
    origin.pages["/slow"] = slow
    resource.prlimit(node.process.popen.pid, resource.RLIMIT_NOFILE, (60, 60))
    answers = []

    def ask(i):
        try:
            answers.append(node.get(f"/slow?{i}", timeout=60).status)
        except OSError:  # refused before its request was there
            answers.append(503)
    clients = [threading.Thread(target=ask, args=(i,)) for i in range(80)]
    for c in clients:
        c.start()
    # who comes when there is none for a client, or for long, is refused
    until(lambda: answers or descriptors(node.process) >= 58, 20,
          what="no descriptor left")
    enough.set()
    for c in clients:
        c.join()
    assert len(answers) == 80 and set(answers) <= {200, 502, 503}, answers
    assert 200 in answers
    assert node.counters()["origin_errors"] == answers.count(502)
    for i in range(80):
        assert node.get(f"/slow?{i}").status == 200


def test_soft_limit_of_descriptors_is_raised_to_the_hard_one(make_cluster,
                                                             origin):
    c = make_cluster(1)
    c.origin_url = origin.url
    mine = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert mine[1] > 200
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, mine[1]))
    try:
        node = c.start().nodes[0]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, mine)
    raised = resource.prlimit(node.process.popen.pid, resource.RLIMIT_NOFILE)
    assert raised == (mine[1], mine[1])

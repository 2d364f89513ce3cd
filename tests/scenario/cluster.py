"""Real processes on loopback: digestd nodes, scd-origin, and their ends.

Used by the scenario tests and by the demonstration (demo.py). Every process
that is started here is ended here, by its own id.
"""

import http.client
import json
import os
import random
import signal
import socket
import subprocess
import tempfile
import time

KEY = "5ca1ab1e0ddba11c0ffee00d15ea5e01"
BUILD = os.environ.get("top_builddir") or os.getcwd()
DIGESTD = os.path.join(BUILD, "digestd", "digestd")
ORIGIN = os.path.join(BUILD, "cachesim", "live", "scd-origin")
REPLAY = os.path.join(BUILD, "cachesim", "live", "scd-replay")

# Sanitizers cost speed: what is measured in time gets so many times more of it.
SLOW = float(os.environ.get("SCD_TEST_SLOW", "1"))

# How long nodes wait for peers in scenarios, and where slow ones are the point:
# as if not configured.
PATIENT = {"peer_connect_timeout": "10s", "peer_timeout": "10s",
           "peer_budget": "10s", "peer_hedges": "0"}
IMPATIENT = dict.fromkeys(PATIENT)


BLOCK = 100  # ports that a program of scenarios has for itself
keepers = []  # a socket for each block, as long as the program runs
ports = []


def claim_block():
    """A block of ports that no other program of scenarios has."""
    while True:
        first = random.randrange(10000, 32000, BLOCK)
        keeper = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            keeper.bind(f"\0scd-ports-{first}")
        except OSError:
            keeper.close()
            continue
        keepers.append(keeper)
        return list(range(first, first + BLOCK))


def free_port():
    """A free port below those that the kernel gives to connections: nobody
    takes it between now and the time that a node listens there."""
    while True:
        if not ports:
            ports.extend(claim_block())
        port = ports.pop()
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


def until(check, seconds=10.0, every=0.02, what="condition"):
    """Waits until check() is true, and gives what it gave."""
    end = time.monotonic() + seconds * SLOW
    while True:
        value = check()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {seconds * SLOW} s")
        time.sleep(every)


def connectable(port):
    try:
        socket.create_connection(("127.0.0.1", port), 0.2).close()
        return True
    except OSError:
        return False


class Process:
    """A program with its log in a file."""

    def __init__(self, argv, log, env=None):
        self.log = log
        with open(log, "ab") as out:
            self.popen = subprocess.Popen(
                argv, stdout=out, stderr=out, stdin=subprocess.DEVNULL,
                env=env)

    def signal(self, number):
        self.popen.send_signal(number)

    def pause(self):
        """Stops it, all of its threads, until SIGCONT."""
        self.signal(signal.SIGSTOP)
        tasks = f"/proc/{self.popen.pid}/task"

        def stands():
            for task in os.listdir(tasks):
                with open(f"{tasks}/{task}/stat", encoding="ascii") as f:
                    if f.read().rsplit(")", 1)[1].split()[0] != "T":
                        return False
            return True
        until(stands, what="the process stands still")

    def wait(self, seconds=20):
        return self.popen.wait(seconds)

    def alive(self):
        return self.popen.poll() is None

    def end(self, seconds=20):
        """Asks it to end, then makes it. Returns its exit code."""
        if self.alive():
            self.signal(signal.SIGTERM)
        try:
            return self.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            return self.wait()

    def kill(self):
        if self.alive():
            self.signal(signal.SIGKILL)
        self.popen.wait()

    def logged(self):
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return f.read()


class Response:
    def __init__(self, status, fields, body):
        self.status, self.fields, self.body = status, fields, body

    def get(self, name, default=None):
        """All lines of a field, joined; default when there is none."""
        found = [v for n, v in self.fields if n.lower() == name.lower()]
        return ", ".join(found) if found else default

    def all(self, name):
        return [v for n, v in self.fields if n.lower() == name.lower()]

    @property
    def source(self):
        """What the last member of Cache-Status says: hit, peer, origin."""
        value = self.get("Cache-Status", "")
        last = value.split(",")[-1]
        if "; hit" in last:
            return "hit"
        if 'detail="peer=' in last:
            return "peer"
        return "origin" if "fwd=" in last else ""


def request(port, target, method="GET", headers=None, body=None, timeout=30,
            host="www.example.com", tls=None):
    """One request on a connection of its own; tls: its ssl.SSLContext. A node
    may wait for peers for 10 s (PATIENT) before it asks the origin."""
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout) \
        if tls is None else http.client.HTTPSConnection(
            "127.0.0.1", port, timeout=timeout, context=tls)
    try:
        c.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
        given = {k.lower() for k in (headers or {})}
        if host and "host" not in given:
            c.putheader("Host", host)
        for name, value in (headers or {}).items():
            for v in value if isinstance(value, list) else [value]:
                c.putheader(name, v)
        if body is not None and "transfer-encoding" not in given \
                and "content-length" not in given:
            c.putheader("Content-Length", str(len(body)))
        c.endheaders(body)
        r = c.getresponse()
        return Response(r.status, r.getheaders(), r.read())
    finally:
        c.close()


class Node:
    """A digestd with its configuration."""

    def __init__(self, cluster, name):
        self.cluster, self.name = cluster, name
        self.data, self.peer, self.admin = free_port(), free_port(), free_port()
        self.options, self.lines, self.peers = {}, [], []
        self.peer_scheme = "http"
        self.path = os.path.join(cluster.dir, name + ".conf")
        self.process = None

    def configuration(self):
        options = {
            "node": self.name,
            "cluster_key": KEY,
            "listen_data": f"127.0.0.1:{self.data}",
            "listen_peer": f"127.0.0.1:{self.peer}",
            "listen_admin": f"127.0.0.1:{self.admin}",
            # the same wherever it runs; some tests have more
            "threads": "1",
        }
        if self.cluster.origin_url:
            options["default_origin"] = self.cluster.origin_url
        options.update(self.options)
        lines = [f'{k} = "{v}"' if not isinstance(v, bool)
                 else f"{k} = {str(v).lower()}"
                 for k, v in options.items() if v is not None]
        lines += [f'peer "{name}" {{ url = '
                  f'"{self.peer_scheme}://127.0.0.1:{port}" }}'
                  for name, port in self.peers]
        return "\n".join(lines + self.lines) + "\n"

    def write(self):
        with open(self.path, "w", encoding="ascii") as f:
            f.write(self.configuration())

    def start(self, wait=True):
        self.write()
        self.process = Process([DIGESTD, "-c", self.path],
                               os.path.join(self.cluster.dir,
                                            self.name + ".log"))
        self.cluster.processes.append(self.process)
        if wait:
            self.wait_ready()
        return self

    def wait_ready(self, seconds=20):
        def ready():
            if not self.process.alive():
                raise AssertionError(f"{self.name} has ended:\n"
                                     + self.process.logged())
            try:
                return request(self.admin, "/readyz").status == 200
            except OSError:
                return False
        until(ready, seconds, what=f"{self.name} ready")

    def get(self, target, **args):
        return request(self.data, target, **args)

    def status(self):
        return json.loads(request(self.admin, "/status.json").body)

    def counters(self):
        return self.status()["counters"]

    def peer_status(self, name):
        return next(p for p in self.status()["peers"] if p["name"] == name)

    def knows(self, other):
        """Whether it holds the digest that `other` publishes now."""
        theirs = other.status()
        if theirs["digest"]["unpublished_changes"]:
            return False
        mine = self.peer_status(other.name)["digest"]
        return (mine is not None
                and mine["instance"] == theirs["instance"]
                and mine["generation"] == theirs["digest"]["generation"])


class Cluster:
    """Some nodes that follow each other, in a folder of their own."""

    def __init__(self, count=3, cooperate=True, **options):
        self.dir = tempfile.mkdtemp(prefix="scd-")
        self.processes, self.origin_url = [], None
        self.nodes = [Node(self, f"n{i + 1}") for i in range(count)]
        for node in self.nodes:
            node.options.update(options)
            if cooperate:
                node.peers = [(n.name, n.peer) for n in self.nodes
                              if n is not node]

    def start_origin(self, *args):
        """Starts scd-origin; nodes started later use it."""
        port_file = os.path.join(self.dir, "origin.port")
        if os.path.exists(port_file):
            os.unlink(port_file)
        process = Process([ORIGIN, "--listen", "127.0.0.1:0", "--port-file",
                           port_file, *args],
                          os.path.join(self.dir, "origin.log"))
        self.processes.append(process)

        def port():
            if not process.alive():
                raise AssertionError("scd-origin has ended:\n"
                                     + process.logged())
            try:
                with open(port_file, encoding="ascii") as f:
                    return int(f.read() or 0)
            except (OSError, ValueError):
                return 0
        self.origin_port = until(port, 60, what="scd-origin's port")
        self.origin_url = f"http://127.0.0.1:{self.origin_port}"
        return process

    def origin_stats(self):
        return json.loads(request(self.origin_port, "/__origin/stats").body)

    def start(self):
        for node in self.nodes:
            node.start(wait=False)
        for node in self.nodes:
            node.wait_ready()
        return self

    def settled(self):
        """Whether every node holds the current digest of every other."""
        return all(a.knows(b) for a in self.nodes for b in self.nodes
                   if a is not b and a.peers)

    def wait_settled(self, seconds=10):
        until(self.settled, seconds, what="all digests known")

    def wait_heard(self):
        """Nobody failed to ask a peer last time for what that has purged: those
        that started a moment later have been found by now."""
        until(lambda: not any(p["failing"] for n in self.nodes
                              for p in n.status()["purges"]["peers"]),
              what="all peers found")

    def replay(self, trace, *args, nodes=None, timeout=300):
        """Runs scd-replay; returns its report and its exit code."""
        urls = []
        for node in nodes or self.nodes:
            urls += ["--node", f"http://127.0.0.1:{node.data}"]
        r = subprocess.run([REPLAY, "--json", "--quiet", *urls, *args, trace],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           timeout=timeout, check=False)
        try:
            return json.loads(r.stdout), r.returncode
        except ValueError:
            raise AssertionError("scd-replay: "
                                 + r.stderr.decode(errors="replace")) from None

    def stop(self):
        for process in self.processes:
            if process.alive():
                process.signal(signal.SIGTERM)
        for process in self.processes:
            process.end()

    def remove(self):
        """Removes the folder, with configurations and logs."""
        for name in os.listdir(self.dir):
            os.unlink(os.path.join(self.dir, name))
        os.rmdir(self.dir)

"""The npm package http-cache-tests: its origin, its client, its results.

The origin binds every address, so as root all of it runs in a network
namespace of its own; others get a free port. A test passes when it and all
that it depends on pass.
"""

import fcntl
import json
import os
import shutil
import socket
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "tool"))
sys.dont_write_bytecode = True  # the source may be read-only

import caches  # noqa: E402
from caches import Missing, cluster  # noqa: E402

VERSION = "0.4.5"
HERE = os.path.dirname(os.path.abspath(__file__))
KINDS = ("required", "optimal", "check")
RUN_S = 250  # a whole run takes some 25 s; less, where nothing hangs


class Digestd(caches.Digestd):
    """Three required tests want Set-Cookie to be stored."""

    extra = "set_cookie = allow\n"


def enter_namespace():
    """Goes on in a network namespace of its own, where that is allowed."""
    if os.environ.get("SCD_NETNS"):
        raise_loopback()
        return
    if os.geteuid() or not shutil.which("unshare"):
        return
    works = subprocess.run(["unshare", "--net", "true"], check=False,
                           stderr=subprocess.DEVNULL).returncode == 0
    if works:
        env = dict(os.environ, SCD_NETNS="1")
        os.execvpe("unshare", ["unshare", "--net", sys.executable, *sys.argv],
                   env)


def raise_loopback():
    """Brings lo up, which is down in a new namespace (SIOCSIFFLAGS)."""
    get, put, up = 0x8913, 0x8914, 1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(s, get, request))[1]
        fcntl.ioctl(s, put, struct.pack("16sh14x", b"lo", flags | up))


def package(folder):
    """The package's folder; npm installs it there if it is not."""
    root = os.path.join(folder, "node_modules", "http-cache-tests")
    if installed(root) == VERSION:
        return root
    if not shutil.which("npm"):
        raise Missing("npm is not installed")
    os.makedirs(folder, exist_ok=True)
    # a package.json of its own: npm does not look for one further up
    with open(os.path.join(folder, "package.json"), "w",
              encoding="ascii") as f:
        f.write('{"private": true}\n')
    try:
        done = subprocess.run(
            ["npm", "install", "--no-audit", "--no-fund", "--no-save",
             "--ignore-scripts", f"http-cache-tests@{VERSION}"],
            cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, timeout=120, check=False)
    except subprocess.TimeoutExpired as e:
        raise Missing("npm does not come to an end") from e
    if installed(root) != VERSION:
        raise Missing(f"npm cannot install it: {done.stdout.strip()}")
    return root


def installed(root):
    try:
        with open(os.path.join(root, "package.json"), encoding="utf-8") as f:
            return json.load(f)["version"]
    except (OSError, ValueError):
        return None


class Origin:
    """The suite's origin; up when this returns."""

    def __init__(self, root, folder):
        self.port = cluster.free_port()
        env = dict(os.environ, npm_config_protocol="http",
                   npm_config_port=str(self.port),
                   npm_config_pidfile=os.path.join(folder, "origin.pid"))
        self.process = cluster.Process(
            ["node", os.path.join(root, "server", "server.mjs")],
            os.path.join(folder, "origin.log"), env)
        cluster.until(lambda: cluster.connectable(self.port),
                      what="the suite's origin")

    def end(self):
        self.process.end()


class Running:
    """A cache before the suite's origin; gives the URL to ask."""

    def __init__(self, cache, root, folder):
        self.cache, self.root, self.folder = cache, root, folder
        self.started = []

    def __enter__(self):
        try:
            origin = Origin(self.root, self.folder)
            self.started.append(origin)
            cache = self.cache(origin.port, self.folder)
            self.started.append(cache)
        except Exception:
            self.__exit__(None, None, None)
            raise
        return f"http://localhost:{cache.port}"

    def __exit__(self, *_):
        while self.started:
            self.started.pop().end()


def run(root, base, tests=()):
    """Runs the suite, or some tests. Returns {id: test}, see client.mjs."""
    done = subprocess.run(
        ["node", "--no-warnings", os.path.join(HERE, "client.mjs"), root, base,
         *tests], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        timeout=RUN_S * cluster.SLOW, check=False)
    if done.returncode:
        raise RuntimeError(f"the suite's client failed: {done.stderr}")
    # a test may print above the results
    return {t["id"]: t for t in json.loads(done.stdout.splitlines()[-1])}


def run_twice(root, base, but=()):
    """The whole suite, and once more what fails: it waits for seconds to pass,
    and a busy machine may lose one. `but`: failures that are expected."""
    results = run(root, base)
    again = [name for name, test in results.items()
             if test["kind"] != "check" and test["result"] is not True
             and name not in but]
    if again:
        results.update(run(root, base, again))
    return results


def passes(results, name):
    """Whether a test, and all that it depends on, passed."""
    test = results[name]
    return test["result"] is True and \
        all(passes(results, other) for other in test["depends"])


def failures(results, kind=None):
    """The ids of a kind's tests (None: all that count) that do not pass."""
    kinds = (kind,) if kind else ("required", "optimal")
    return [name for name, test in results.items()
            if test["kind"] in kinds and not passes(results, name)]


def why(results, name):
    """One line: how it failed."""
    test = results[name]
    if test["result"] is not True:
        return " ".join(test["result"][1].split())
    bad = [o for o in test["depends"] if not passes(results, o)]
    return f"depends on {', '.join(bad)}"


def score(results, kind):
    """(passed, all) of a kind."""
    count = sum(t["kind"] == kind for t in results.values())
    return count - len(failures(results, kind)), count

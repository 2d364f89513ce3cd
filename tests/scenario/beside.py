"""What tests of caches with a digestd beside them have in common."""

import http.client
import socket
import threading
import time

import cluster as scd
from cluster import until

HOST = "www.example.com"


class Asked:
    """A cache that clients ask at self.port, and digestd at self.inner."""

    def get(self, target, **args):
        return scd.request(self.port, target, **args)

    def has(self, targets):
        """Those that it has for digestd."""
        c = http.client.HTTPConnection("127.0.0.1", self.inner, timeout=20)
        found = set()
        for target in targets:
            c.request("GET", target, headers={
                "Host": HOST, "Cache-Control": "only-if-cached"})
            r = c.getresponse()
            r.read()
            assert r.status in (200, 504)
            if r.status == 200:
                found.add(target)
        c.close()
        return found


class Follower(Asked):
    """A cache with a program that follows its log, and tells digestd what it
    holds."""

    def __init__(self):
        self.port = scd.free_port()
        self.process = self.follower = None

    def stop(self):
        if self.process:
            self.process.end()
        self.process = None

    def stop_follower(self):
        if self.follower:
            assert self.follower.end() == 0, self.follower.logged()
        self.follower = None


class Pairs:
    """self.nodes of self.cluster, each beside a cache."""

    def keys(self, i):
        return self.nodes[i].status()["sidecar"]["keys"]

    def wait_keys(self, i, n):
        """The node has n keys of its cache, and all others have its digest."""
        until(lambda: self.keys(i) == n, 20,
              what=f"{n} keys, not {self.keys(i)}")
        self.cluster.wait_settled()


class PlayedFeed:
    """digestd's socket: what it has been told, and when."""

    def __init__(self, path):
        self.held, self.at, self.resets = set(), {}, 0
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(1)
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while True:
            try:
                s, _ = self.listener.accept()
            except OSError:
                return
            try:
                with s, s.makefile("rw", encoding="ascii") as stream:
                    for line in stream:
                        self.take(line.rstrip("\n"), stream)
            except OSError:
                pass  # it has ended, and asked before; the next one may come

    def take(self, line, stream):
        word, _, rest = line.partition(" ")
        if word == "insert":
            self.held.add(rest)
            self.at.setdefault(rest, time.monotonic())
        elif word == "evict":
            self.held.discard(rest)
        elif word == "reset":
            self.held.clear()
            self.resets += 1
        else:
            assert word == "ack", line
            stream.write(f"ack {rest} held {len(self.held)} refused 0\n")
            stream.flush()

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

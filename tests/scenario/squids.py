"""Squid's digests, as a Squid reads them; and Squids."""

import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import cluster as scd
from cluster import until

HEADER_BYTES, NHASH = 128, 4
STORE_DIGEST = "/squid-internal-periodic/store_digest"


def positions(target, nbits):
    """The bits of a URL in a digest of so many."""
    key = hashlib.md5(b"\x01" + target.encode()).digest()  # 1: GET
    return [int.from_bytes(key[4 * i:4 * i + 4], "big") % nbits
            for i in range(NHASH)]


def holds(digest, target):
    """Whether a Squid would find a URL in it."""
    mask = digest[HEADER_BYTES:]
    return all(mask[at >> 3] >> (at & 7) & 1
               for at in positions(target, 8 * len(mask)))


# Real ones

# What each of them needs on one machine with others.
MACHINE = """
visible_hostname squid{port}
pid_filename {folder}/pid
cache_log {folder}/log
logformat way %Ss %Sh %<p %>Hs %ru
access_log stdio:{folder}/access way
cache_store_log stdio:{folder}/store
coredump_dir {folder}
memory_cache_shared off
pinger_enable off
shutdown_lifetime 0
"""

# A store whose digest is always new.
STORE = """
http_port 127.0.0.1:{port}
http_access allow all
cache_dir ufs {folder}/cache 20 16 256
digest_rebuild_period 1 seconds
digest_rewrite_period 1 seconds
digest_rebuild_chunk_percentage 100
refresh_pattern . 0 20% 4320
"""

# Misses go to siblings, or to this origin; a digest comes from its own peer,
# as a Squid that may ask nobody directly would ask the origin for it.
ORIGIN = """
cache_peer 127.0.0.1 parent {origin} 0 no-query no-digest originserver name=o
acl digest urlpath_regex ^/squid-internal-periodic/
always_direct allow digest
never_direct deny digest
never_direct allow all
"""


class Row:
    """What became of a request: its way and the port of who has answered."""

    def __init__(self, line):
        self.result, self.way, port, self.status, self.url = line.split(" ", 4)
        self.port = int(port) if port.isdigit() else None


class Squid:
    """A real one in a folder of its own, which remove() removes."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="scd-squid-"))
        os.chmod(self.folder, 0o777)  # it does not stay root
        self.port, self.process = scd.free_port(), None
        self.url = f"http://127.0.0.1:{self.port}"

    def configure(self, text, **values):
        """Its configuration, which may name {port}, {folder} and values."""
        (self.folder / "squid.conf").write_text((text + MACHINE).format(
            port=self.port, folder=self.folder, **values))

    def command(self, *args):
        return ["squid", "-N", "-n", f"scd{self.port}", "-f",
                str(self.folder / "squid.conf"), *args]

    def make_store(self):
        subprocess.run(self.command("-z"), check=True, timeout=60,
                       stderr=subprocess.DEVNULL)
        (self.folder / "pid").unlink(missing_ok=True)

    def start(self, wait=True):
        self.process = scd.Process(self.command(), str(self.folder / "out"))
        if wait:
            self.wait_ready()
        return self

    def wait_ready(self):
        def ready():
            assert self.process.alive(), self.process.logged()
            return scd.connectable(self.port)
        until(ready, 20, what="squid")

    def remove(self):
        if self.process:
            self.process.kill()  # its own end takes two seconds
        shutil.rmtree(self.folder)

    def get(self, target, **args):
        return scd.request(self.port, target, **args)

    def lines(self, name):
        path = self.folder / name
        return path.read_text().splitlines() if path.exists() else []

    def rows(self):
        """What became of requests so far."""
        return [Row(line) for line in self.lines("access")]

    def stored(self):
        """The URLs that it has written to its store, of those it was asked
        for: not all that it may store, and only those are in its digest."""
        urls = set()
        for line in self.lines("store"):
            _, what, _, file, *_, target = line.split()
            if what == "SWAPOUT" and STORE_DIGEST not in target:
                urls.add(target)
            elif what == "RELEASE" and file != "FFFFFFFF":
                urls.discard(target)
        return urls

    def claims(self, urls, share=1):
        """Whether such a share of them is in the digest that it publishes
        now."""
        urls, r = list(urls), self.get(STORE_DIGEST)
        return r.status == 200 and \
            sum(holds(r.body, url) for url in urls) >= share * len(urls)

    def digests(self):
        """Of which of its peers it has a digest, in their order."""
        r = self.get("/squid-internal-mgr/peer_select",
                     host=f"127.0.0.1:{self.port}")
        parts = re.split("^(?:No )?peer digest from .*$", r.body.decode(),
                         flags=re.M)[1:]
        return ["usable: yes" in " ".join(part.split()) for part in parts]

"""The rows of the table: a load, this tree's server first among those that take
turns under it, and what is to be reached beside the next one."""

import dataclasses

import measured

MANY = 300000  # objects
NEW = "/miss/{}/"  # every round has other URLs


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    text: str
    servers: tuple
    goal: float  # the second server's processor time over the first one's
    path: str = ""  # one URL, or
    prefix: str = ""  # many below this one, as load.lua's environment says
    env: tuple = ()
    clients: int = 64  # a worker
    threads: int = 1  # of wrk
    stored: int = 0  # objects before it begins
    warm_s: int = 1
    rewarm: bool = False  # before each round, too
    seconds: int = 0  # of a round, if not as the command line says
    asks: float = -1  # share of requests that reach the origin; < 0: any
    memory_mb: int = measured.MEMORY_MB


def hits(name, text, servers, goal, path="/1k", **more):
    return Row(name, text, servers, goal, path, asks=0, **more)


def misses(name, text, servers, goal, prefix=NEW, env=(), **more):
    return Row(name, text, servers, goal, prefix=prefix, asks=1,
               env=(("FIRST", "0"), *env), **more)


# On a connection to an origin that was idle for a second nobody sends a POST.
POST = {"env": (("METHOD", "POST"),), "rewarm": True}
TLS = (measured.DigestdTls, measured.FilesTls)
TLS_ORIGIN = (measured.DigestdTlsOrigin, measured.ForwarderTlsOrigin)
WORKERS = (measured.DigestdWorkers, measured.DigestdPair,
           measured.DigestdWorker)

ROWS = (
    hits("hits-one", "hits of 1 KiB, one URL",
         (measured.Digestd, measured.Responder, measured.Files,
          measured.Haproxy), .9),
    Row("hits-many", f"hits of 1 KiB, {MANY:,} URLs",
        (measured.Digestd, measured.Haproxy), 1.63, prefix="/miss/many/",
        env=(("RANDOM", str(MANY)),), stored=MANY, asks=0, memory_mb=1024),
    misses("misses", "stored misses of 1 KiB",
           (measured.Digestd, measured.TrafficServer, measured.Haproxy), 2),
    misses("pass", "1 KiB that may not be stored",
           (measured.Digestd, measured.Forwarder), 1, "/pass/{}/"),
    misses("post", "POSTs of 100 bytes for 1 KiB",
           (measured.Digestd, measured.Forwarder), .83, "/post/{}/", **POST),
    hits("hits-64k", "hits of 64 KiB", (measured.Digestd, measured.Files), 1,
         "/64k"),
    hits("hits-256k", "hits of 256 KiB", (measured.Digestd, measured.Files), 1,
         "/256k"),
    hits("hits-1m", "hits of 1 MiB", (measured.Digestd, measured.Files), 1,
         "/1m"),
    hits("tls-hits", "hits of 1 KiB over TLS", TLS, 1),
    hits("tls-handshakes", "a handshake for each hit of 1 KiB", TLS, 1,
         env=(("CLOSE", "1"),), clients=16),
    misses("tls-get", "GETs from an https origin", TLS_ORIGIN, 1,
           "/pass/{}/"),
    misses("tls-post", "POSTs to an https origin", TLS_ORIGIN, .83,
           "/post/{}/", **POST),
    Row("zipf", "half hits: Zipf 0.9 over 400,000 URLs, in 32 MiB",
        (measured.Digestd, measured.Haproxy), 1, prefix="/miss/zipf/",
        env=(("RANDOM", "400000"), ("ZIPF", ".9")), warm_s=3, memory_mb=32),
    Row("nodes", "20,000 requests to cold nodes, Zipf 0.9 over 20,000 URLs",
        (measured.DigestdNodes, measured.DigestdNode), .8, prefix=NEW,
        env=(("RANDOM", "20000"), ("ZIPF", ".9"), ("COUNT", "5000")),
        threads=4, seconds=2),
    hits("workers-hits", "hits of 1 KiB, what two workers cost each other",
         WORKERS, .97, threads=2),
    misses("workers-misses", "stored misses, what two workers cost each other",
           WORKERS, .97, threads=2),
)

"""What is measured: each on one processor, with one worker, before the same
origin, with enough memory for what the benchmark stores."""

import os
import time

import caches
import certificates
import cluster

CPUS = sorted(os.sched_getaffinity(0))
SERVER_CPU, CLIENT_CPU = str(CPUS[0]), str(CPUS[-1])
MEMORY_MB = 256
FILES = {"1k": 1 << 10, "64k": 64 << 10, "256k": 256 << 10, "1m": 1 << 20}
RESPONDER = os.path.join(cluster.BUILD, "tests", "bench", "http", "responder")
CPU_CLOCK_SCHEDULER = 2  # of the kernel's clocks of a process, the exact one


def processes(pid):
    """A process and all below it."""
    found = [pid]
    for parent in found:
        path = f"/proc/{parent}/task/{parent}/children"
        try:
            with open(path, encoding="ascii") as f:
                found += [int(child) for child in f.read().split()]
        except FileNotFoundError:
            pass  # it has just ended
    return found


def cpu_seconds(pid):
    """That a process and all below it have had; exact, with what threads that
    have ended had."""
    total = 0
    for each in processes(pid):
        try:
            total += time.clock_gettime(~each << 3 | CPU_CLOCK_SCHEDULER)
        except OSError:
            pass  # it has just ended
    return total


def memory_bytes(pid):
    """Of a process and all below it; what they share counts once."""
    total = 0
    for each in processes(pid):
        with open(f"/proc/{each}/smaps_rollup", encoding="ascii") as f:
            total += sum(int(line.split()[1]) << 10 for line in f
                         if line.startswith("Pss:"))
    return total


def on_cpu(number):
    return ("taskset", "-c", number)


class Certificates:
    """An authority, and the certificate of all servers."""

    def __init__(self, folder):
        authority = certificates.Authority(folder)
        self.ca = authority.pem
        self.pair = authority.issue("localhost")


class Measured:
    """A server on its processor. A row says how much memory it has."""

    prefix = on_cpu(SERVER_CPU)
    scheme, memory_mb, threads = "http", MEMORY_MB, 1
    origin_scheme = "http"

    def __init__(self, origin, folder, memory_mb=MEMORY_MB):
        self.memory_mb, self.tls = memory_mb, origin.tls
        super().__init__(origin.port if self.origin_scheme == "http"
                         else origin.tls_port, folder)

    @property
    def ports(self):
        return [self.port]

    def cpu_seconds(self):
        return cpu_seconds(self.process.popen.pid)

    def memory_bytes(self):
        return memory_bytes(self.process.popen.pid)


class Digestd(Measured, caches.Digestd):
    lines = ""

    @property
    def extra(self):
        return (f"threads = {self.threads}\ncache_size = {self.memory_mb}M\n"
                + self.lines.format(ca=self.tls.ca, pair=self.tls.pair))


BOTH_CPUS = on_cpu(f"{SERVER_CPU},{CLIENT_CPU}")


class DigestdWorkers(Digestd):
    """With two workers, on both processors: wrk has what they leave."""

    name, threads, prefix = "digestd, two workers", 2, BOTH_CPUS


class DigestdHalf(Digestd):
    prefix = BOTH_CPUS


class DigestdPair:
    """Two with one worker each, that share nothing but the machine: what two
    workers take more than these is what they cost each other."""

    name, scheme, threads = "two of digestd", "http", 2

    def __init__(self, origin, folder, memory_mb=MEMORY_MB):
        self.halves = []
        for name in "ab":
            half = os.path.join(folder, name)
            os.makedirs(half)
            self.halves.append(DigestdHalf(origin, half, memory_mb))

    @property
    def ports(self):
        return [half.port for half in self.halves]

    def cpu_seconds(self):
        return sum(half.cpu_seconds() for half in self.halves)

    def end(self):
        for half in self.halves:
            half.end()


class DigestdWorker(DigestdWorkers):
    """With one, which may move as two do."""

    name, threads = "digestd, one worker", 1


class DigestdTls(Digestd):
    scheme = "https"
    lines = ('tls_data_certificate = "{pair[0]}"\n'
             'tls_data_key = "{pair[1]}"\n')


class DigestdTlsOrigin(Digestd):
    origin_scheme = "https"
    lines = 'tls_origin_ca = "{ca}"\n'


class DigestdNodes:
    """Nodes that follow each other, all on one processor."""

    scheme, threads, count = "http", 1, 4
    name = "digestd, four nodes"

    def __init__(self, origin, _, memory_mb=MEMORY_MB):
        self.cluster = cluster.Cluster(self.count, threads="1",
                                       cache_size=f"{memory_mb}M")
        self.cluster.origin_url = f"http://127.0.0.1:{origin.port}"
        self.cluster.start()
        for pid in self.pids():
            for thread in os.listdir(f"/proc/{pid}/task"):
                os.sched_setaffinity(int(thread), {int(SERVER_CPU)})

    def pids(self):
        return [p.popen.pid for p in self.cluster.processes]

    @property
    def ports(self):
        return [node.data for node in self.cluster.nodes]

    def cpu_seconds(self):
        return sum(map(cpu_seconds, self.pids()))

    def end(self):
        self.cluster.stop()
        self.cluster.remove()


class DigestdNode(DigestdNodes):
    name, count = "digestd, one node", 1


class Nginx(Measured, caches.Nginx):
    """As its manual wants it before an origin that keeps connections."""

    name = "nginx proxy_cache"
    origin = "origin"
    location_extra = """
            proxy_http_version 1.1;
            proxy_set_header Connection "";"""

    def start(self, origin_port):
        self.http_extra = f"""
    sendfile on;
    keepalive_requests 1000000000;
    upstream origin {{
        server 127.0.0.1:{origin_port};
        keepalive 256;
        keepalive_requests 1000000000;
    }}"""
        return super().start(origin_port)


class Forwarder(Measured, caches.Other):
    """nginx without a cache."""

    name, program, version_option = "nginx, no cache", "nginx", "-v"

    def start(self, origin_port):
        config = self.write("nginx.conf", f"""
daemon off;
pid {self.folder}/nginx.pid;
error_log stderr error;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    keepalive_requests 1000000000;
    proxy_temp_path {self.folder}/temp;
    client_body_temp_path {self.folder}/body;
    upstream origin {{
        server 127.0.0.1:{origin_port};
        keepalive 256;
        keepalive_requests 1000000000;
    }}
    server {{
        listen 127.0.0.1:{self.port} backlog=4096;
        location / {{
            proxy_pass {self.origin_scheme}://origin;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_ssl_verify on;
            proxy_ssl_name localhost;
            proxy_ssl_protocols TLSv1.3;
            proxy_ssl_trusted_certificate {self.tls.ca};
        }}
    }}
}}
""")
        return [self.installed(), "-c", config, "-e", "stderr"]


class ForwarderTlsOrigin(Forwarder):
    origin_scheme = "https"


class Squid(Measured, caches.Squid):
    pass


class Varnish(Measured, caches.Varnish):
    pass


class TrafficServer(Measured, caches.TrafficServer):
    @property
    def extra(self):
        return f"""
CONFIG proxy.config.exec_thread.autoconfig INT 0
CONFIG proxy.config.exec_thread.limit INT 1
CONFIG proxy.config.cache.ram_cache.size INT {self.memory_mb << 20}
CONFIG proxy.config.http.keep_alive_no_activity_timeout_in INT 600
"""


class Haproxy(Measured, caches.Other):
    name, program, version_option = "haproxy cache", "haproxy", "-v"

    def start(self, origin_port):
        config = self.write("haproxy.cfg", f"""
global
    nbthread 1
    maxconn 4096
defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s
cache a
    total-max-size {self.memory_mb}
    max-object-size 100000
    max-age 3600
frontend f
    bind 127.0.0.1:{self.port}
    http-request cache-use a
    http-response cache-store a
    default_backend o
backend o
    http-reuse always
    server o 127.0.0.1:{origin_port}
""")
        return [self.installed(), "-db", "-f", config]


class Responder(Measured, caches.Other):
    """One answer of 1 KiB to everything, see responder.c."""

    name, program = "bare responder", RESPONDER

    def start(self, _):
        return [RESPONDER, str(self.port), str(FILES["1k"])]


class Files(Measured, caches.Other):
    """nginx without a cache: files, and the same 1 KiB for any URL under
    /miss/, and under /pass/ and /post/, where nobody may store it; by TLS, too.
    The origin of all, and the yardstick of hits."""

    name, program, version_option = "nginx, static file", "nginx", "-v"
    listens = ""  # how, beside where

    def start(self, _):
        os.makedirs(os.path.join(self.folder, "files"))
        for name, size in FILES.items():
            self.write("files/" + name, "x" * size)
        self.tls_port = cluster.free_port()
        # nobody, who nginx would be, may not read below root's own folder
        user = "" if os.geteuid() else "user root;"
        config = self.write("nginx.conf", f"""
{user}
daemon off;
pid {self.folder}/nginx.pid;
error_log stderr error;
worker_rlimit_nofile 8192;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    sendfile on;
    keepalive_requests 1000000000;
    client_body_temp_path {self.folder}/body;
    server {{
        listen 127.0.0.1:{self.port} backlog=4096{self.listens};
        listen 127.0.0.1:{self.tls_port} ssl backlog=4096;
        ssl_certificate {self.tls.pair[0]};
        ssl_certificate_key {self.tls.pair[1]};
        ssl_protocols TLSv1.3;
        root {self.folder}/files;
        add_header Cache-Control max-age=86400;
        open_file_cache max=100;
        location = /count {{ stub_status; }}
        location /miss/ {{ return 200 "{'x' * FILES['1k']}"; }}
        location ~ ^/(pass|post)/ {{
            add_header Cache-Control no-store;
            return 200 "{'x' * FILES['1k']}";
        }}
    }}
}}
""")
        return [self.installed(), "-c", config, "-e", "stderr"]

    def served(self):
        """How many requests it has had, with this one."""
        text = cluster.request(self.port, "/count").body.decode()
        return int(text.split("\n")[2].split()[2])


class FilesTls(Files):
    scheme = "https"

    @property
    def ports(self):
        return [self.tls_port]


class Origin(Files):
    prefix = on_cpu(CLIENT_CPU)

    def __init__(self, tls, folder):
        self.tls = tls
        caches.Other.__init__(self, None, folder)


OTHERS = (Haproxy, Nginx, TrafficServer, Squid, Varnish)

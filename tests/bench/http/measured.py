"""What is measured: each on one processor, with one worker, before the same
origin, with enough memory for what the benchmark stores."""

import os

import caches
import cluster

CPUS = sorted(os.sched_getaffinity(0))
SERVER_CPU, CLIENT_CPU = str(CPUS[0]), str(CPUS[-1])
MEMORY_MB = 256
FILES = {"1k": 1 << 10, "64k": 64 << 10}


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
    """That a process and all below it have had, with what has ended there."""
    ticks = 0
    for each in processes(pid):
        with open(f"/proc/{each}/stat", encoding="ascii") as f:
            ticks += sum(map(int, f.read().rsplit(")", 1)[1].split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


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


class Pinned:
    prefix = on_cpu(SERVER_CPU)
    memory_mb = MEMORY_MB


class Digestd(Pinned, caches.Digestd):
    extra = f"threads = 1\ncache_size = {MEMORY_MB}M\n"


class Digestd2(Digestd):
    """With two workers, on both processors: wrk has what they leave. What a
    request takes of them says what two cost each other."""

    name = "digestd, two workers"
    prefix = on_cpu(f"{SERVER_CPU},{CLIENT_CPU}")
    extra = f"threads = 2\ncache_size = {MEMORY_MB}M\n"


class Nginx(Pinned, caches.Nginx):
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


class Squid(Pinned, caches.Squid):
    pass


class Varnish(Pinned, caches.Varnish):
    pass


class TrafficServer(Pinned, caches.TrafficServer):
    extra = f"""
CONFIG proxy.config.exec_thread.autoconfig INT 0
CONFIG proxy.config.exec_thread.limit INT 1
CONFIG proxy.config.cache.ram_cache.size INT {MEMORY_MB << 20}
CONFIG proxy.config.http.keep_alive_no_activity_timeout_in INT 600
"""


class Haproxy(Pinned, caches.Other):
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
    total-max-size {MEMORY_MB}
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


class Files(Pinned, caches.Other):
    """nginx without a cache: files of 1 and 64 KiB, and the same 1 KiB for any
    URL under /miss/, and under /pass/ and /post/, where nobody may store it.
    The origin of all, and the yardstick of hits."""

    name, program, version_option = "nginx, static file", "nginx", "-v"

    def start(self, _):
        os.makedirs(os.path.join(self.folder, "files"))
        for name, size in FILES.items():
            self.write("files/" + name, "x" * size)
        config = self.write("nginx.conf", f"""
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
        listen 127.0.0.1:{self.port} backlog=4096;
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


class Origin(Files):
    prefix = on_cpu(CLIENT_CPU)


OTHERS = (Haproxy, Nginx, TrafficServer, Squid, Varnish)

"""What stands in front of nodes and sends each request to the node that a
consistent hash of its URL names. None of them caches.
"""

import os
import shutil

import caches


class Server(caches.Other):
    """One that does not stay behind if it does not come up."""

    def __init__(self, to, folder):
        self.process = None
        try:
            super().__init__(to, folder)
        except AssertionError as e:
            self.process.kill()
            raise RuntimeError(f"{e}\n{self.process.logged()}") from None


class Front(Server):
    """start(ports) gets those of the nodes."""


class Haproxy(Front):
    name, program = "haproxy", "haproxy"

    def start(self, ports):
        servers = "\n".join(
            f"    server n{i} 127.0.0.1:{port} check inter 200ms fall 2 rise 1"
            for i, port in enumerate(ports, 1))
        config = self.write("haproxy.cfg", f"""
global
    nbthread 1
    maxconn 4096
defaults
    mode http
    retries 3
    retry-on conn-failure empty-response
    option redispatch 1
    timeout connect 5s
    timeout client 60s
    timeout server 60s
frontend f
    bind 127.0.0.1:{self.port}
    default_backend nodes
backend nodes
    balance uri whole
    hash-type consistent
    http-reuse always
{servers}
""")
        return [self.installed(), "-db", "-f", config]


class Nginx(Front):
    name, program = "nginx", "nginx"

    def start(self, ports):
        servers = "\n".join(f"        server 127.0.0.1:{port} max_fails=1 "
                            "fail_timeout=1s;" for port in ports)
        config = self.write("nginx.conf", f"""
daemon off;
pid {self.folder}/nginx.pid;
error_log stderr crit;
worker_processes 1;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    keepalive_requests 1000000000;
    proxy_temp_path {self.folder}/temp;
    client_body_temp_path {self.folder}/body;
    upstream nodes {{
        hash $http_host$request_uri consistent;
{servers}
        keepalive 256;
        keepalive_requests 1000000000;
    }}
    server {{
        listen 127.0.0.1:{self.port} backlog=4096;
        location / {{
            proxy_pass http://nodes;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host $http_host;
            proxy_max_temp_file_size 0;
        }}
    }}
}}
""")
        return [self.installed(), "-c", config, "-e", "stderr"]


# A node has no such page, and asks nobody for it.
PROBE = """.probe = {{
        .request = "GET /probe HTTP/1.1" "Host: probe"
            "Cache-Control: only-if-cached" "Connection: close";
        .expected_response = 504;
        .interval = 200ms; .timeout = 2s;
        .window = 2; .threshold = 1; .initial = 1;
    }}"""


def backend(name, port, probe=""):
    return (f'backend {name} {{ .host = "127.0.0.1"; .port = "{port}"; '
            f"{probe.format()} }}\n")


def shards(names):
    """A director of them, to which bereq.backend or req.backend_hint is set."""
    lines = "".join(f"    nodes.add_backend({name});\n" for name in names)
    return ("sub vcl_init {\n    new nodes = directors.shard();\n"
            f"{lines}    nodes.reconfigure(replicas = 100);\n}}\n")


# A node that has just gone is not known to be.
RETRY = """
sub vcl_backend_error {
    if (bereq.retries < 2) { return (retry); }
}
"""


class Varnish(Front):
    name, program = "varnish", "varnishd"

    def start(self, ports):
        names = [f"n{i + 1}" for i in range(len(ports))]
        vcl = self.write("front.vcl", "vcl 4.1;\nimport directors;\n" + "".join(
            backend(n, p, PROBE) for n, p in zip(names, ports))
            + shards(names) + """
sub vcl_recv { return (pass); }
sub vcl_backend_fetch {
    set bereq.backend = nodes.backend(by=URL, alt=bereq.retries);
}
""" + RETRY)
        return [self.installed(), "-F", "-a", f"127.0.0.1:{self.port}", "-f",
                vcl, "-s", "malloc,16m",
                "-n", os.path.join(self.folder, "varnish")]


class TrafficServer(Front):
    name, program = "trafficserver", "traffic_server"

    def start(self, ports):
        config = os.path.join(self.folder, "ats")
        shutil.copytree("/etc/trafficserver", config)
        for name in ("log", "run"):
            os.makedirs(os.path.join(self.folder, "ats-" + name))
        self.write("ats/records.config", f"""
CONFIG proxy.config.http.server_ports STRING {self.port}
CONFIG proxy.config.url_remap.remap_required INT 1
CONFIG proxy.config.url_remap.pristine_host_hdr INT 1
CONFIG proxy.config.body_factory.template_sets_dir STRING {config}/body_factory
CONFIG proxy.config.http.cache.http INT 0
CONFIG proxy.config.http.no_dns_just_forward_to_parent INT 1
CONFIG proxy.config.http.parent_proxy.self_detect INT 0
CONFIG proxy.config.http.parent_proxy.fail_threshold INT 1
CONFIG proxy.config.http.parent_proxy.retry_time INT 1
CONFIG proxy.config.exec_thread.autoconfig INT 0
CONFIG proxy.config.exec_thread.limit INT 1
CONFIG proxy.config.admin.user_id STRING #-1
CONFIG proxy.config.log.logging_enabled INT 0
CONFIG proxy.config.local_state_dir STRING {self.folder}/ats-run
CONFIG proxy.config.log.logfile_dir STRING {self.folder}/ats-log
""")
        self.write("ats/remap.config", "map / http://nodes.invalid/\n")
        # The text behind & is hashed; without, it would be the address alone.
        parents = ";".join(f"127.0.0.1:{port}|1.0&n{i}"
                           for i, port in enumerate(ports, 1))
        self.write("ats/parent.config",
                   f'dest_domain=. parent="{parents}" '
                   "round_robin=consistent_hash go_direct=false "
                   "parent_is_proxy=false\n")
        self.env["PROXY_CONFIG_CONFIG_DIR"] = config
        return [self.installed()]

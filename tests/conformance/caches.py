"""Caches to run the suite against: how each is set up before an origin."""

import os
import re
import shutil
import subprocess

import suite
from suite import cluster


class Digestd:
    """This tree's node, alone, as its manual sets it up."""

    name = "digestd"

    def __init__(self, origin_port, folder):
        self.port = cluster.free_port()
        path = os.path.join(folder, "digestd.conf")
        with open(path, "w", encoding="ascii") as f:
            f.write('node = "cache1"\n'
                    f'listen_data = "127.0.0.1:{self.port}"\n'
                    f'listen_peer = "127.0.0.1:{cluster.free_port()}"\n'
                    f'listen_admin = "127.0.0.1:{cluster.free_port()}"\n'
                    f'cluster_key = "{cluster.KEY}"\n'
                    f'default_origin = "http://127.0.0.1:{origin_port}"\n')
        self.process = cluster.Process([cluster.DIGESTD, "-c", path],
                                       os.path.join(folder, "digestd.log"))
        cluster.until(lambda: cluster.connectable(self.port), what=self.name)

    def end(self):
        if self.process.end():
            raise RuntimeError(f"{self.name} failed: {self.process.logged()}")


class Other:
    """A cache of Debian's, with the least configuration that makes it one.

    A subclass has name, program, and start(origin_port), which writes what it
    needs into the folder and returns the command; it stays in the foreground.
    """

    def __init__(self, origin_port, folder):
        if not self.installed():
            raise suite.Missing(f"{self.program} is not installed")
        self.folder, self.port = folder, cluster.free_port()
        self.env = dict(os.environ)
        os.chmod(folder, 0o777)  # some change their user
        argv = self.start(origin_port)
        self.process = cluster.Process(argv, os.path.join(
            folder, self.name + ".log"), self.env)
        cluster.until(lambda: cluster.connectable(self.port), 20,
                      what=self.name)

    @classmethod
    def installed(cls):
        return shutil.which(cls.program, path="/usr/sbin:/usr/bin")

    @classmethod
    def version(cls):
        done = subprocess.run([cls.installed(), cls.version_option],
                              stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        return re.search(r"\d+\.\d+(\.\d+)?", done.stdout)[0]

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="ascii") as f:
            f.write(text)
        return path

    def end(self):
        self.process.end()


class Nginx(Other):
    name, program, version_option = "nginx", "nginx", "-v"

    def start(self, origin_port):
        config = self.write("nginx.conf", f"""
daemon off;
pid {self.folder}/nginx.pid;
error_log stderr error;
events {{ }}
http {{
    access_log off;
    proxy_cache_path {self.folder}/nginx keys_zone=a:8m max_size=100m;
    proxy_temp_path {self.folder}/nginx-temp;
    client_body_temp_path {self.folder}/nginx-body;
    server {{
        listen 127.0.0.1:{self.port};
        location / {{
            proxy_pass http://127.0.0.1:{origin_port};
            proxy_cache a;
            proxy_cache_revalidate on;
        }}
    }}
}}
""")
        return [self.installed(), "-c", config, "-e", "stderr"]


class Squid(Other):
    name, program, version_option = "Squid", "squid", "-v"

    def start(self, origin_port):
        config = self.write("squid.conf", f"""
http_port 127.0.0.1:{self.port} accel defaultsite=localhost no-vhost
cache_peer 127.0.0.1 parent {origin_port} 0 no-query no-digest originserver
http_access allow all
cache_mem 64 MB
access_log none
cache_log {self.folder}/squid-cache.log
pid_filename {self.folder}/squid.pid
pinger_enable off
shutdown_lifetime 0 seconds
""")
        return [self.installed(), "--foreground", "-f", config]


class Varnish(Other):
    name, program, version_option = "Varnish", "varnishd", "-V"

    def start(self, origin_port):
        return [self.installed(), "-F", "-a", f"127.0.0.1:{self.port}",
                "-b", f"127.0.0.1:{origin_port}", "-s", "malloc,64m",
                # what responses do not say, it would make up
                "-p", "default_ttl=0", "-p", "default_grace=0",
                "-p", "default_keep=3600",
                "-n", os.path.join(self.folder, "varnish")]


class TrafficServer(Other):
    name, program = "Traffic Server", "traffic_server"
    version_option = "-V"

    def start(self, origin_port):
        config = os.path.join(self.folder, "ats")
        shutil.copytree("/etc/trafficserver", config)
        for name in ("log", "run", "cache"):
            os.makedirs(os.path.join(self.folder, "ats-" + name))
        self.write("ats/records.config", f"""
CONFIG proxy.config.http.server_ports STRING {self.port}
CONFIG proxy.config.url_remap.remap_required INT 1
CONFIG proxy.config.url_remap.pristine_host_hdr INT 1
CONFIG proxy.config.http.cache.http INT 1
CONFIG proxy.config.admin.user_id STRING #-1
CONFIG proxy.config.log.logging_enabled INT 0
CONFIG proxy.config.local_state_dir STRING {self.folder}/ats-run
CONFIG proxy.config.log.logfile_dir STRING {self.folder}/ats-log
""")
        self.write("ats/remap.config",
                   f"map / http://127.0.0.1:{origin_port}/\n")
        self.write("ats/storage.config", f"{self.folder}/ats-cache 64M\n")
        self.env["PROXY_CONFIG_CONFIG_DIR"] = config
        return [self.installed()]


OTHERS = (Nginx, Squid, Varnish, TrafficServer)


def measure(cache, root, folder):
    """Runs the whole suite against a kind of cache. Returns its results."""
    with Running(cache, root, folder) as base:
        return suite.run_twice(root, base)


class Running:
    """A cache before the suite's origin; gives the URL to ask."""

    def __init__(self, cache, root, folder):
        self.cache, self.root, self.folder = cache, root, folder
        self.started = []

    def __enter__(self):
        try:
            origin = suite.Origin(self.root, self.folder)
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

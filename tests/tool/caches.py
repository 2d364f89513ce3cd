"""Caches to compare digestd with: how each is set up before an origin.

The configurations are the least that makes them caches; what a benchmark wants
beside it, subclasses add.
"""

import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "scenario"))

import cluster


class Missing(Exception):
    """Something that is needed is not here; says what."""


class Digestd:
    """This tree's node, alone, as its manual sets it up."""

    name = "digestd"
    extra = ""  # lines of the configuration
    prefix = ()  # of the command
    origin_scheme = "http"

    def __init__(self, origin_port, folder):
        self.port = cluster.free_port()
        path = os.path.join(folder, "digestd.conf")
        with open(path, "w", encoding="ascii") as f:
            f.write('node = "cache1"\n'
                    f'listen_data = "127.0.0.1:{self.port}"\n'
                    f'listen_peer = "127.0.0.1:{cluster.free_port()}"\n'
                    f'listen_admin = "127.0.0.1:{cluster.free_port()}"\n'
                    f'cluster_key = "{cluster.KEY}"\n'
                    f'default_origin = "{self.origin_scheme}://127.0.0.1:'
                    f'{origin_port}"\n'
                    + self.extra)
        self.process = cluster.Process(
            [*self.prefix, cluster.DIGESTD, "-c", path],
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

    prefix = ()  # of the command

    def __init__(self, origin_port, folder):
        if not self.installed():
            raise Missing(f"{self.program} is not installed")
        self.folder, self.port = folder, cluster.free_port()
        self.env = dict(os.environ)
        os.chmod(folder, 0o777)  # some change their user
        argv = [*self.prefix, *self.start(origin_port)]
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
    location_extra, http_extra, origin = "", "", "127.0.0.1:{}"

    def start(self, origin_port):
        config = self.write("nginx.conf", f"""
daemon off;
pid {self.folder}/nginx.pid;
error_log stderr error;
events {{ }}
http {{
    access_log off;{self.http_extra}
    proxy_cache_path {self.folder}/nginx keys_zone=a:8m max_size=100m;
    proxy_temp_path {self.folder}/nginx-temp;
    client_body_temp_path {self.folder}/nginx-body;
    server {{
        listen 127.0.0.1:{self.port};
        location / {{
            proxy_pass http://{self.origin.format(origin_port)};
            proxy_cache a;
            proxy_cache_revalidate on;{self.location_extra}
        }}
    }}
}}
""")
        return [self.installed(), "-c", config, "-e", "stderr"]


class Squid(Other):
    name, program, version_option = "Squid", "squid", "-v"
    memory_mb = 64

    def start(self, origin_port):
        config = self.write("squid.conf", f"""
http_port 127.0.0.1:{self.port} accel defaultsite=localhost no-vhost
cache_peer 127.0.0.1 parent {origin_port} 0 no-query no-digest originserver
http_access allow all
cache_mem {self.memory_mb} MB
access_log none
cache_log {self.folder}/squid-cache.log
pid_filename {self.folder}/squid.pid
pinger_enable off
shutdown_lifetime 0 seconds
""")
        return [self.installed(), "--foreground", "-f", config]


class Varnish(Other):
    name, program, version_option = "Varnish", "varnishd", "-V"
    memory_mb = 64

    def start(self, origin_port):
        return [self.installed(), "-F", "-a", f"127.0.0.1:{self.port}",
                "-b", f"127.0.0.1:{origin_port}",
                "-s", f"malloc,{self.memory_mb}m",
                # what responses do not say, it would make up
                "-p", "default_ttl=0", "-p", "default_grace=0",
                "-p", "default_keep=3600",
                "-n", os.path.join(self.folder, "varnish")]


class TrafficServer(Other):
    name, program = "Traffic Server", "traffic_server"
    version_option = "-V"
    memory_mb, extra = 64, ""

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
{self.extra}""")
        self.write("ats/remap.config",
                   f"map / http://127.0.0.1:{origin_port}/\n")
        self.write("ats/storage.config",
                   f"{self.folder}/ats-cache {self.memory_mb}M\n")
        self.env["PROXY_CONFIG_CONFIG_DIR"] = config
        return [self.installed()]


OTHERS = (Nginx, Squid, Varnish, TrafficServer)

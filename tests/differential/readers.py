"""Other programs that read requests, each as a server on a port of loopback:
libmicrohttpd (answer_mhd.c), and nginx and haproxy with that behind them. What
they have read comes back in a field of each response.
"""

import contextlib
import os
import pathlib
import re
import select
import shutil
import socket
import subprocess
import time

os.environ["PATH"] += ":/usr/sbin:/sbin"  # where servers are
BUILD = pathlib.Path(os.environ.get("top_builddir", "."))
PATIENCE_S = 1  # then it is told that nothing more comes
TIMEOUT_S = 20

NGINX = """
worker_processes 1;
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log crit;
events {{ worker_connections 512; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    client_header_buffer_size 16k;
    large_client_header_buffers 8 16k;
    underscores_in_headers on;
    ignore_invalid_headers off;
    keepalive_requests 1000000;
    map $http_host $host_or_none {{ "" none; default $http_host; }}
    upstream origin {{ server 127.0.0.1:{origin}; keepalive 8; }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://origin;
            proxy_http_version 1.1;
            proxy_set_header Host $host_or_none;
            proxy_set_header Connection "";
            proxy_buffer_size 256k;
            proxy_buffers 4 256k;
            proxy_busy_buffers_size 256k;
        }}
    }}
}}
"""

HAPROXY = """
global
    maxconn 512
    tune.bufsize 262144
    tune.maxrewrite 16384
defaults
    mode http
    timeout connect 5s
    timeout client 5s
    timeout server 5s
    timeout http-request 5s
    http-reuse always
frontend clients
    bind 127.0.0.1:{port}
    default_backend origin
backend origin
    http-request set-header Host none if !{{ req.hdr(host) -m found }}
    server origin 127.0.0.1:{origin}
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Reader:
    """A program that listens on a port."""

    def __init__(self, name, command, port=None):
        self.name = name
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL)
        self.port = port or int(self.process.stdout.readline())
        self.await_port()

    def await_port(self):
        for _ in range(100):
            try:
                self.connect().close()
                return
            except ConnectionRefusedError:
                time.sleep(.05)
        raise RuntimeError(f"{self.name} does not listen")

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), TIMEOUT_S)

    def end(self):
        self.process.stdin.close()
        if self.name != "libmicrohttpd":
            self.process.terminate()
        return self.process.wait()


def start(folder):
    """All readers that are installed, and the names of those that are not."""
    origin = Reader("libmicrohttpd",
                    [BUILD / "tests" / "differential" / "answer_mhd"])
    readers, missing = [origin], []
    for name, program, text, options in (
            ("nginx", shutil.which("nginx"), NGINX, ("-p", folder, "-c")),
            ("haproxy", shutil.which("haproxy"), HAPROXY, ("-q", "-db", "-f"))):
        port = free_port()
        if not program:
            missing.append(name)
            continue
        path = pathlib.Path(folder, name + ".conf")
        path.write_text(text.format(folder=folder, port=port,
                                    origin=origin.port))
        readers.append(Reader(name, [program, *options, path], port))
    return readers, missing


def receive(s):
    """What has come; nothing when the server has closed."""
    try:
        return s.recv(65536)
    except ConnectionResetError:
        return b""


def send(readers, data):
    """All that each sends back until it closes, when it gets these bytes. They
    read at the same time; those that wait for more are told that none comes."""
    answers = {reader.connect(): b"" for reader in readers}
    waiting, told = list(answers), False
    for s in waiting:
        with contextlib.suppress(ConnectionResetError):
            s.sendall(data)
    while waiting:
        ready, _, _ = select.select(waiting, [], [],
                                    TIMEOUT_S if told else PATIENCE_S)
        if not ready and told:
            raise TimeoutError("a reader does not close")
        if not ready:
            told = True
            for s in waiting:
                with contextlib.suppress(OSError):  # it has closed just now
                    s.shutdown(socket.SHUT_WR)
        for s in ready:
            piece = receive(s)
            answers[s] += piece
            if not piece:
                waiting.remove(s)
    for s in answers:
        s.close()
    return list(answers.values())


class Reading:
    """A request as a reader has read it; or the status of a refusal."""

    def __init__(self, status, read):
        self.status = status
        if read is None:
            self.method = self.target = self.body = None
            self.fields = []
            return
        head, self.body = read.split(b"\n= ", 1)
        first, *lines = head.split(b"\n")
        self.method, self.target, _ = first.split(b" ")
        self.fields = [tuple(line[2:].split(b": ", 1)) for line in lines]


def content_length(head):
    match = re.search(rb"(?i)\ncontent-length: *(\d+)", head)
    return int(match[1]) if match else 0


def readings(answer, methods):
    """The responses to requests with these methods, one after the other."""
    found = []
    while answer:
        head, separator, answer = answer.partition(b"\r\n\r\n")
        status = re.match(rb"HTTP/1\.[01] (\d+)", head)
        if not separator or not status:
            found.append(Reading(0, None))
            break
        if status[1].startswith(b"1"):
            continue
        method = methods[len(found)] if len(found) < len(methods) else b""
        if method != b"HEAD":
            answer = answer[content_length(head):]
        read = re.search(rb"(?i)\nx-read: *([0-9a-f]*)", head)
        found.append(Reading(int(status[1]),
                             bytes.fromhex(read[1].decode()) if read else
                             None))
        if not read and (method == b"HEAD" or re.search(
                rb"(?i)\nconnection: *close", head)):
            break  # it read no further; a page may follow all the same
    return found

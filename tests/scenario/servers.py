"""Servers with any behaviour, good or bad, each in threads of this process."""

import socket
import socketserver
import sys
import threading
import time
import traceback


class Request:
    def __init__(self, method, target, fields, body):
        self.method, self.target = method, target
        self.fields, self.body = fields, body

    def get(self, name, default=None):
        found = [v for n, v in self.fields if n.lower() == name.lower()]
        return ", ".join(found) if found else default


def read_request(stream):
    """One request, or None at the end of the connection."""
    line = stream.readline()
    if not line:
        return None
    method, target, _ = line.decode("latin-1").split(" ", 2)
    fields, length = [], 0
    while True:
        line = stream.readline().decode("latin-1").rstrip("\r\n")
        if not line:
            break
        name, value = line.split(":", 1)
        fields.append((name, value.strip()))
        if name.lower() == "content-length":
            length = int(value)
    chunked = any(n.lower() == "transfer-encoding" for n, _ in fields)
    body = read_chunks(stream) if chunked else stream.read(length)
    return Request(method, target, fields, body)


def read_chunks(stream):
    body = b""
    while True:
        size = int(stream.readline().split(b";")[0], 16)
        body += stream.read(size)
        stream.readline()
        if not size:
            return body


def response(status=200, fields=None, body=b"", length=None):
    """A whole response as bytes; length None: the right one."""
    lines = [f"HTTP/1.1 {status} X"]
    for name, value in (fields or {}).items():
        for v in value if isinstance(value, list) else [value]:
            lines.append(f"{name}: {v}")
    if status not in (204, 304):
        lines.append("Content-Length: "
                     f"{len(body) if length is None else length}")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


class Server:
    """Calls serve(request, connection) for each request in a thread.

    What it returns is sent; None closes the connection. What it raises, but
    for what a bad client or a bad end brings, fails the test in close().
    """

    def __init__(self, serve, port=0, tls=None, host="127.0.0.1"):
        outer = self
        self.serve, self.requests, self.lock = serve, [], threading.Lock()
        self.open, self.failed = set(), []

        class Handler(socketserver.StreamRequestHandler):
            disable_nagle_algorithm = True

            def setup(self):
                if tls:  # an ssl.SSLContext
                    self.request = tls.wrap_socket(self.request,
                                                   server_side=True)
                super().setup()

            def handle(self):
                with outer.lock:
                    outer.open.add(self.connection)
                try:
                    outer.converse(self.rfile, self.connection)
                except (OSError, ValueError):
                    pass
                finally:
                    with outer.lock:
                        outer.open.discard(self.connection)

        class Threads(socketserver.ThreadingTCPServer):
            allow_reuse_address = True
            daemon_threads = True
            request_queue_size = 256

            def handle_error(self, request, client_address):
                if not isinstance(sys.exc_info()[1], (OSError, ValueError)):
                    outer.failed.append(traceback.format_exc())

        self.server = Threads((host, port), Handler)
        self.port = self.server.server_address[1]
        self.url = f"{'https' if tls else 'http'}://{host}:{self.port}"
        self.thread = threading.Thread(target=self.server.serve_forever,
                                       args=(0.05,), daemon=True)
        self.thread.start()

    def converse(self, stream, connection):
        while True:
            request = read_request(stream)
            if request is None:
                return
            with self.lock:
                self.requests.append(request)
            answer = self.serve(request, connection)
            if answer is None:
                return
            connection.sendall(answer)

    def count(self, target=None):
        with self.lock:
            return sum(target is None or r.target == target
                       for r in self.requests)

    def last(self):
        with self.lock:
            return self.requests[-1]

    def was_sent(self, body):
        """Whether a request had this body; others may have ended since."""
        with self.lock:
            return any(r.body == body for r in self.requests)

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        with self.lock:
            for connection in self.open:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
        assert not self.failed, self.failed[0]


class Origin(Server):
    """An origin whose answers are set by path: bytes, or a function."""

    def __init__(self, tls=None):
        self.pages = {}
        super().__init__(self.answer, tls=tls)

    def set(self, path, **args):
        self.pages[path] = response(**args)

    def answer(self, request, connection):
        page = self.pages.get(request.target.split("?")[0])
        if page is None:
            return response(404, {"Cache-Control": "no-store"}, b"none")
        if callable(page):
            return page(request, connection)
        if request.method == "HEAD":
            return page[:page.index(b"\r\n\r\n") + 4]
        return page


# Ways for a peer to be bad at answering for an object.

def hang(request, connection):
    time.sleep(60)


def reset(request, connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                          b"\1\0\0\0\0\0\0\0")
    connection.close()


def drip(request, connection):
    for byte in response(200, {"Cache-Control": "max-age=60"}, b"x" * 1000):
        connection.sendall(bytes([byte]))
        time.sleep(1)


def garbage(request, connection):
    connection.sendall(b"\x00\x01\x02 this is not HTTP \xff\r\n\r\n" * 20)


def too_short(request, connection):
    connection.sendall(response(200, {"Cache-Control": "max-age=60"},
                                b"half", length=1000))


def error(request, connection):
    return response(503, {}, b"sorry")


def lie(request, connection):
    return response(504, {}, b"")

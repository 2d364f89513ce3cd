"""Messages of attackers: bytes as they are, by HTTP/1 and HTTP/2."""

import re
import socket

import cluster as scd


class Sent:
    """A message to another port, or one that is not all that was announced."""

    def __init__(self, text, port="data", cut=False):
        self.text, self.port, self.cut = text, port, cut

    def bytes(self, path, host):
        return self.text.replace("PATH", path).replace("HOST", host).encode(
            "latin-1")


class Http2(Sent):
    """A request by HTTP/2: fields in their order, and data."""

    def __init__(self, *fields, data="", **pseudo):
        super().__init__("")
        names = {"method": "GET", "scheme": "http", "path": "PATH",
                 "authority": "HOST", **pseudo}
        self.fields = [(":" + n, v) for n, v in names.items()] + list(fields)
        self.data = data

    @staticmethod
    def frame(kind, flags, payload, stream=1):
        return (len(payload).to_bytes(3, "big") + bytes([kind, flags])
                + stream.to_bytes(4, "big") + payload)

    def bytes(self, path, host):
        block = b""
        for field in self.fields:
            block += b"\0"  # a literal, its name too, that is not indexed
            for text in field:
                text = text.replace("PATH", path).replace("HOST", host)
                block += bytes([len(text)]) + text.encode("latin-1")
        data = self.data.replace("HOST", host).encode()
        return (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
                + self.frame(4, 0, b"", 0)
                + self.frame(1, 4 if data else 5, block)
                + (self.frame(0, 1, data) if data else b""))


def is_answer(got):
    """Whether that is one, whole."""
    head, end, body = got.partition(b"\r\n\r\n")
    length = re.search(rb"\r\nContent-Length: (\d+)", head)
    return end and (not length or len(body) >= int(length[1]))


def send(node, message, path, host):
    """Sends it, and reads the answer; or what comes back until there is
    silence, if there may be more than one."""
    if isinstance(message, str):
        message = Sent(message)
    data = message.bytes(path, host)
    single = data.count(b" HTTP/1.") == 1 and data.count(b"\n\r\n") == 1
    with socket.create_connection(
            ("127.0.0.1", getattr(node, message.port)), 10) as s:
        s.sendall(data)
        s.settimeout(0.05 if message.cut else 10)
        got = b""
        try:
            while part := s.recv(65536):
                got += part
                if single and is_answer(got):
                    break
                s.settimeout(0.01 * scd.SLOW)
        except (TimeoutError, ConnectionError):
            pass
    return got

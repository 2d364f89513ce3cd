"""An origin that reads requests as each page wants it: as those do that take a
part of one request for another."""

import re
import select

import servers

HIDDEN = "smuggled"  # the page that no client asks for in the open


class Reader:
    """Bytes of a connection, as they come."""

    def __init__(self, connection):
        self.connection, self.left = connection, b""

    def fill(self):
        part = self.connection.recv(65536)
        self.left += part
        return part

    def take(self, count):
        while len(self.left) < count and self.fill():
            pass
        taken, self.left = self.left[:count], self.left[count:]
        return taken

    def line(self):
        """One that ends with LF, or with CR LF; None: there is none."""
        while b"\n" not in self.left:
            if not self.fill():
                return None
        line, self.left = self.left.split(b"\n", 1)
        return line.decode("latin-1").rstrip("\r")

    def wait(self, seconds):
        """Until there is more, or not."""
        return self.left or select.select([self.connection], [], [],
                                          seconds)[0]


class Cut(bytes):
    """What is sent of an answer, before the origin hangs up."""


def spell(name):
    """As programs see it that get fields by CGI."""
    return name.strip().lower().replace("_", "-")


class Request(servers.Request):
    def claim(self, name):
        found = [v for n, v in self.fields if spell(n) == spell(name)]
        return found[-1] if found else None


def read_fields(reader):
    """Leniently: folded lines, blanks before colons."""
    fields = []
    while line := reader.line():
        if line[0] in " \t" and fields:
            name, value = fields.pop()
            line = f"{name}: {value} {line.strip()}"
        name, _, value = line.partition(":")
        fields.append((name, value.strip()))
    return fields


def number(text, base=10):
    """What atoi() makes of it."""
    found = re.match(r"[0-9a-f]+" if base == 16 else r"[+]?[0-9]+",
                     text.lower())
    return int(found[0], base) if found else 0


def read_chunked(reader):
    body = b""
    while (line := reader.line()) is not None and (n := number(line, 16)):
        body += reader.take(n)
        reader.line()
    read_fields(reader)
    return body


def read_body(reader, fields, dialect):
    """"chunks": a word that looks like the coding counts, more than lengths;
    "first", "last": that length, and no coding; "none": there is no body."""
    lengths = [v for n, v in fields if spell(n) == "content-length"]
    chunked = any("chunked" in v.lower() for n, v in fields
                  if spell(n) == "transfer-encoding")
    if dialect == "none" or (not lengths and not chunked):
        return b""
    if chunked and (dialect == "chunks" or not lengths):
        return read_chunked(reader)
    length = lengths[0 if dialect == "first" else -1]
    return reader.take(number(length))


class Origin(servers.Server):
    """Answers by the name in a target, ~name: pages[name] is what answers a
    request, and dialects[name] how it is read."""

    def __init__(self):
        self.pages, self.dialects, self.hidden = {}, {}, 0
        super().__init__(None)

    def converse(self, stream, connection):
        reader = Reader(connection)
        while (line := reader.line()) is not None:
            if not line:
                continue
            words = line.split() + ["", ""]
            found = re.search(r"~([a-z0-9-]+)", words[1].lower())
            name = found[1] if found else None
            fields = read_fields(reader)
            body = read_body(reader, fields, self.dialects.get(name, "chunks"))
            request = Request(words[0], words[1], fields, body)
            with self.lock:
                self.requests.append(request)
            if name == HIDDEN:
                answer = self.answer_hidden(reader)
            elif name in self.pages:
                answer = self.pages[name](request)
            else:
                answer = servers.response(404, {"Cache-Control": "no-store"})
            if isinstance(answer, Cut):
                connection.sendall(answer)
                return
            if request.method == "HEAD":
                answer = answer[:answer.index(b"\r\n\r\n") + 4]
            connection.sendall(answer)

    def answer_hidden(self, reader):
        """When it does most harm: as the answer to what comes next."""
        self.hidden += 1
        reader.wait(0.1)
        return servers.response(200, {"Cache-Control": "max-age=60"}, b"evil")

"""Several origins that serve the same pages, each a process of its own, and
clients that ask at a steady rate."""

import asyncio
import os
import signal
import socket
import sys
import time

from cluster import Process, until

BODY = b"x" * 512


class Replica(Process):
    """One origin. Answers every path with its name; /health, too."""

    def __init__(self, folder, name, port, status=200, host="127.0.0.1",
                 delay_ms=0):
        self.name, self.port, self.host = name, port, host
        super().__init__(
            [sys.executable, os.path.abspath(__file__), host, str(port), name,
             str(status), str(delay_ms)],
            os.path.join(folder, f"{name}.log"))
        until(self.is_there, 20, what=name)

    def is_there(self):
        try:
            socket.create_connection((self.host, self.port), 1).close()
        except OSError:
            return False
        return True

    @property
    def url(self):
        return f"http://{self.host}:{self.port}"


class Serving(asyncio.Protocol):
    def __init__(self, answer, delay_s):
        self.answer, self.delay_s, self.held = answer, delay_s, b""

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.held += data
        while b"\r\n\r\n" in self.held:
            head, self.held = self.held.split(b"\r\n\r\n", 1)
            # a line for each that has a body, so that a test can count them
            if b"POST " in head:
                print("POST", flush=True)
                self.held = b""
            asyncio.get_running_loop().call_later(
                self.delay_s, self.transport.write, self.answer)


async def serve(host, port, name, status, delay_ms):
    answer = (f"HTTP/1.1 {status} X\r\nCache-Control: no-store\r\n"
              f"X-Origin: {name}\r\nContent-Length: {len(BODY)}\r\n\r\n"
              ).encode() + BODY
    server = await asyncio.get_running_loop().create_server(
        lambda: Serving(answer, int(delay_ms) / 1e3), host, int(port),
        backlog=1024)
    await server.serve_forever()


class Load:
    """Requests at a steady rate: when each was sent, what came of it, after how
    long, and from which origin."""

    def __init__(self, port, rate, clients=50):
        self.port, self.rate, self.clients = port, rate, clients
        self.seen = []

    async def client(self, queue):
        reader = writer = None
        while True:
            due = await queue.get()
            if due is None:
                break
            try:
                if writer is None:
                    reader, writer = await asyncio.open_connection(
                        "127.0.0.1", self.port)
                due = time.monotonic()  # what this program takes is its own
                writer.write(b"GET /%d HTTP/1.1\r\nHost: www\r\n\r\n"
                             % len(self.seen))
                head = await reader.readuntil(b"\r\n\r\n")
                fields = dict(line.split(b": ", 1)
                              for line in head.split(b"\r\n")[1:-2])
                await reader.readexactly(int(fields[b"Content-Length"]))
                status = int(head.split(b" ", 2)[1])
                name = fields.get(b"X-Origin", b"-").decode()
            except (OSError, asyncio.IncompleteReadError):
                status, name, writer = 0, "-", None
            self.seen.append((due, status, time.monotonic() - due, name))
        if writer:
            writer.close()

    async def go(self, seconds, deeds):
        """deeds: {second: what is done then}, in a thread."""
        loop, queue = asyncio.get_running_loop(), asyncio.Queue()
        clients = [asyncio.ensure_future(self.client(queue))
                   for _ in range(self.clients)]
        begin, deeds = time.monotonic(), dict(deeds)
        for i in range(int(seconds * self.rate)):
            due = begin + i / self.rate
            await asyncio.sleep(max(0, due - time.monotonic()))
            for second in [s for s in deeds if due >= begin + s]:
                loop.run_in_executor(None, deeds.pop(second))
            queue.put_nowait(time.monotonic())
        for _ in clients:
            queue.put_nowait(None)
        await asyncio.gather(*clients)
        self.begin = begin

    def run(self, seconds, deeds=()):
        asyncio.run(self.go(seconds, deeds))
        return self

    def bad(self):
        return [s for s in self.seen if s[1] != 200]

    def longest(self):
        return max(s[2] for s in self.seen)

    def between(self, from_s, to_s):
        """How many each origin has answered of those sent then."""
        counts = {}
        for due, _, _, name in self.seen:
            if from_s <= due - self.begin < to_s:
                counts[name] = counts.get(name, 0) + 1
        return counts


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    asyncio.run(serve(*sys.argv[1:]))

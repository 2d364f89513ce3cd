"""A peer that was good, and goes bad in one of many ways.

Its digest claims every page of a load, and was taken. Then it gets its fault:
what it does with its listener, with requests for objects, and with requests
for its digest.
"""

import socket
import subprocess
import time

import cluster as scd
import servers

DIGESTCTL = scd.BUILD + "/digestd/ctl/digestctl"
FRESH = {"Cache-Control": "max-age=600"}
JUNK = bytes(range(256)) * 40


def claim(urls):
    """A digest of URLs, in bytes."""
    return subprocess.run(
        [DIGESTCTL, "build", "--quiet", "--key", scd.KEY, "--objects",
         str(len(urls))], input="\n".join(urls).encode(), check=True,
        stdout=subprocess.PIPE).stdout


# Ways to answer for an object, beside those of servers.py.

def real(r):
    """What the origin would answer, and the length of its body."""
    path = "/" + r.target.split("/", 3)[3]
    page = scd.request(r.origin_port, path, host=r.get("Host"))
    whole = servers.response(200, {"ETag": page.get("ETag"), **FRESH},
                             page.body)
    return whole, len(page.body)


def begin(r, connection):
    """The first half of it."""
    whole, size = real(r)
    connection.sendall(whole[:-(size // 2 + 1)])


def reset_in_the_middle(r, connection):
    begin(r, connection)
    time.sleep(0.02)  # so that it arrives before the reset
    return servers.reset(r, connection)


def stop_in_the_middle(r, connection):
    begin(r, connection)
    return servers.hang(r, connection)


def two_lengths(r, connection):
    return servers.response(200, {**FRESH, "Content-Length": "9"}, b"x" * 20)


def chunks_that_break(r, connection):
    head = servers.response(200, {**FRESH, "Transfer-Encoding": "chunked"})
    head = head.replace(b"Content-Length: 0\r\n", b"")
    return head + b"400\r\n" + b"x" * 0x400 + b"\r\nzz\r\n"


def say_nothing(r, connection):
    return None


class Peer:
    """Serves digests, and whatever its fault makes of objects.

    digests: what it says its digest is, in turn; None: one of nothing that is
    asked for. With one, it does not change."""

    def __init__(self, digests):
        self.digests = [d or claim(["http://nothing.example/"])
                        for d in digests]
        self.turn = 0
        self.objects, self.asked = servers.lie, 0
        self.server = servers.Server(self.answer)
        self.port, self.held = self.server.port, []
        self.origin_port = 0

    def answer(self, r, connection):
        if r.target == "/scd/v1/invalidations":
            return servers.response(404, {}, b"")
        if r.target != "/scd/v1/digest":
            self.asked += 1
            r.origin_port = self.origin_port
            return self.objects(r, connection)
        tag = f'"{7:016x}-{self.turn + 1}"'
        if r.get("If-None-Match") == tag:
            if len(self.digests) == 1:
                time.sleep(0.5)
                return servers.response(304, {"ETag": tag})
            self.turn += 1
            tag = f'"{7:016x}-{self.turn + 1}"'
        return servers.response(
            200, {"ETag": tag, "Content-Type": "application/scd-digest"},
            self.digests[self.turn % len(self.digests)])

    def stop_accepting(self):
        """Connections are the kernel's from now on, which soon takes no more:
        what a client sends then is lost."""
        self.server.server.shutdown()
        self.server.server.socket.listen(0)
        for _ in range(8):
            s = socket.socket()
            s.setblocking(False)
            s.connect_ex(("127.0.0.1", self.port))
            self.held.append(s)

    def stop_listening(self):
        """Connections are refused, those that are there end."""
        self.server.close()

    def close(self):
        for s in self.held:
            s.close()
        self.server.close()


class Fault:
    """objects: how it answers for them; listener: what becomes of that;
    digests: what it claims beside everything, one after the other; opens:
    whether the breaker must open, and stay open, since no answer is good."""

    def __init__(self, objects=servers.lie, listener=None, digests=(),
                 opens=True):
        self.objects, self.listener = objects, listener
        self.digests, self.opens = digests, opens

    def befall(self, peer):
        peer.objects = self.objects
        if self.listener:
            self.listener(peer)


FAULTS = {
    "refuses": Fault(listener=Peer.stop_listening),
    "accepts and hangs": Fault(servers.hang),
    "black hole": Fault(servers.hang, Peer.stop_accepting),
    "a byte a second": Fault(servers.drip),
    "resets": Fault(servers.reset),
    "resets in the middle": Fault(reset_in_the_middle),
    "stops in the middle": Fault(stop_in_the_middle),
    "breaks off": Fault(servers.too_short),
    "closes": Fault(say_nothing),
    "two lengths": Fault(two_lengths),
    "chunks that are none": Fault(chunks_that_break),
    "lies": Fault(servers.lie, opens=False),
    "garbage": Fault(servers.garbage),
    "errors": Fault(servers.error),
    "garbage for a digest": Fault(servers.lie, digests=(JUNK,), opens=False),
    "a digest that flips": Fault(servers.lie, digests=(None,), opens=False),
}

"""Nodes that are far from each other, and from the origin: relays of TCP that
hold everything back for a while."""

import asyncio
import threading
import time

import pytest

from cluster import IMPATIENT, SLOW, until

PAGES = {"Cache-Control": "max-age=600"}
OBJECTS = 16
WAY = 0.025 * SLOW  # to the peer, one way [s]


class Relay:
    """Passes connections on to a port; what comes takes `delay` s each way."""

    def __init__(self, port, delay):
        self.to, self.delay = port, delay
        self.made, self.writers = 0, []
        self.loop = asyncio.new_event_loop()
        self.server = self.loop.run_until_complete(
            asyncio.start_server(self.relay, "127.0.0.1", 0))
        self.port = self.server.sockets[0].getsockname()[1]
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()

    async def relay(self, reader, writer):
        try:
            there = await asyncio.open_connection("127.0.0.1", self.to)
        except OSError:  # it does not listen yet, or any more
            writer.close()
            return
        self.made += 1
        self.writers += [there[1], writer]
        await asyncio.gather(self.pump(reader, there[1]),
                             self.pump(there[0], writer))

    async def pump(self, reader, writer):
        try:
            while data := await reader.read(65536):
                self.loop.call_later(self.delay, writer.write, data)
        except OSError:
            pass
        self.loop.call_later(self.delay, writer.close)

    def cut(self):
        """Ends all connections."""
        for writer in self.writers:
            self.loop.call_soon_threadsafe(writer.transport.abort)
        self.writers = []

    async def end(self):
        self.server.close()
        for writer in self.writers:
            writer.transport.abort()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def close(self):
        asyncio.run_coroutine_threadsafe(self.end(), self.loop).result(10)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()


@pytest.fixture
def far(make_cluster, origin):
    """Two nodes; the second has a way to the first and one to the origin."""
    c = make_cluster(2, threads=1, placement="keep", publish_min="10ms",
                     publish_max="20ms", **IMPATIENT)
    c.origin_url = origin.url
    near, node = c.nodes
    near.peers = []
    ways = [Relay(near.peer, WAY), Relay(origin.port, 2 * WAY)]
    node.peers = [(near.name, ways[0].port)]
    node.options["default_origin"] = f"http://127.0.0.1:{ways[1].port}"
    for i in range(2 * OBJECTS):
        origin.set(f"/{i}", fields=PAGES, body=b"x" * 1000)
        origin.set(f"/own{i}", fields=PAGES, body=b"y")
    c.start()
    yield (near, node, *ways)
    for way in ways:
        way.close()


def ask_all(node, names):
    began = time.monotonic()
    for name in names:
        assert node.get(name).status == 200
    return time.monotonic() - began


def test_a_peer_is_asked_where_it_is_nearer(far):
    near, node, to_peer, to_origin = far
    pages = [f"/{i}" for i in range(2 * OBJECTS)]
    ask_all(near, pages)
    until(lambda: node.knows(near), what="digest")
    ask_all(node, [f"/own{i}" for i in range(8)])
    ask_all(node, pages[:OBJECTS])
    counters = node.counters()
    assert counters["remote_hits"] >= OBJECTS * 3 / 4, counters
    assert counters["peers_too_far"] == 0, counters

    # connections to it are open before they are needed
    made = to_peer.made
    to_peer.cut()
    # one for each of two, and one for the digest
    until(lambda: to_peer.made >= made + 3, what="new connections")
    assert node.counters()["peer_queries"] == counters["peer_queries"]

    # and where the origin is nearer, it is not asked any more
    to_origin.delay = 0
    ask_all(node, [f"/own{i}" for i in range(8, 24)])
    ask_all(node, pages[OBJECTS:])
    after = node.counters()
    assert after["peers_too_far"] == OBJECTS, after
    assert after["remote_hits"] == counters["remote_hits"], after

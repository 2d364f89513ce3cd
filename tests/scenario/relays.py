"""Links between nodes that a test can cut: a relay for each pair of nodes and
each direction, in threads of the test."""

import contextlib
import select
import socket
import threading


class Link:
    """Passes bytes from its port to another one, until it is cut: then what
    runs ends, and new connections get no answer."""

    def __init__(self, port):
        self.to, self.is_cut, self.ended = port, False, False
        self.lock, self.sockets = threading.Lock(), set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.accept, daemon=True)
        self.thread.start()

    def keep(self, *sockets):
        with self.lock:
            self.sockets.update(sockets)

    def drop(self, *sockets):
        with self.lock:
            self.sockets.difference_update(sockets)
        for s in sockets:
            s.close()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.keep(client)
            if not self.is_cut:
                threading.Thread(target=self.relay, args=(client,),
                                 daemon=True).start()

    def relay(self, client):
        try:
            server = socket.create_connection(("127.0.0.1", self.to), 5)
        except OSError:
            self.drop(client)
            return
        self.keep(server)
        other = {client: server, server: client}
        with contextlib.suppress(OSError, ValueError):
            while True:
                for s in select.select(list(other), [], [], 1)[0]:
                    data = s.recv(65536)
                    if not data or self.is_cut:
                        raise OSError
                    other[s].sendall(data)
        if not self.is_cut:  # else they stand still until the link is mended
            self.drop(client, server)

    def cut(self):
        self.is_cut = True

    def mend(self):
        self.is_cut = False
        with self.lock:
            sockets = list(self.sockets)
        for s in sockets:
            with contextlib.suppress(OSError):
                s.shutdown(socket.SHUT_RDWR)

    def end(self):
        self.ended = True
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.mend()


class Links:
    """Those of a cluster, whose nodes have not been started yet."""

    def __init__(self, nodes):
        self.at = {}
        for a in nodes:
            for b in nodes:
                if a is not b:
                    self.at[a.name, b.name] = Link(b.peer)
            a.peers = [(b.name, self.at[a.name, b.name].port) for b in nodes
                       if b is not a]

    def of(self, node):
        return [link for names, link in self.at.items() if node.name in names]

    def cut(self, node):
        """Nobody reaches the node, and it reaches nobody; but clients do, and
        it reaches its origin."""
        for link in self.of(node):
            link.cut()

    def mend(self, node):
        for link in self.of(node):
            link.mend()

    def end(self):
        for link in self.at.values():
            link.end()

"""Places that are far from each other: network namespaces, with links of delay
and loss between them, by the program `router`."""

import contextlib
import ctypes
import os
import subprocess

import pytest

from cluster import BUILD

ROUTER = os.path.join(BUILD, "tests", "scenario", "router")
CLONE_NEWNET = 0x40000000
SKIPPED = 77
LIBC = ctypes.CDLL(None, use_errno=True)


def enter(space):
    if LIBC.setns(space, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")


class Wan:
    """Places from 0 on; links: (from, to, ms one way, percent lost)."""

    def __init__(self, places, links):
        # pylint: disable=consider-using-with  # close() ends it
        self.router = subprocess.Popen(
            [ROUTER, str(places), *(f"{a}-{b}:{ms}:{percent}"
                                    for a, b, ms, percent in links)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        paths = [self.router.stdout.readline().decode().strip()
                 for _ in range(places)]
        if not all(paths):
            why = self.router.stderr.read().decode()
            if self.router.wait() == SKIPPED:
                pytest.skip(f"no places of its own: {why}")
            raise AssertionError(why)
        self.spaces = [os.open(path, os.O_RDONLY) for path in paths]

    @contextlib.contextmanager
    def inside(self, place):
        """What this thread starts, and the sockets that it makes, are there."""
        home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        try:
            enter(self.spaces[place])
            yield
        finally:
            enter(home)
            os.close(home)

    @staticmethod
    def address(place):
        return f"10.99.{place}.1"

    def close(self):
        for space in self.spaces:
            os.close(space)
        self.router.terminate()
        self.router.wait()
        self.router.stdout.close()
        self.router.stderr.close()

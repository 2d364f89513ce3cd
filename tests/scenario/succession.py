"""A node whose process replaces itself: who has taken over, as a process that
is ended and waited for as any other."""

import ctypes
import os
import re
import signal
import subprocess
import time

from cluster import until

PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans():
    """What the children of this process leave behind becomes its own."""
    if ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError("PR_SET_CHILD_SUBREAPER")


class Adopted:
    """As much of subprocess.Popen as scenarios need, by its id."""

    def __init__(self, pid):
        self.pid, self.returncode = pid, None

    def poll(self):
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout=60):
        end = time.monotonic() + timeout
        while self.poll() is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired(str(self.pid), timeout)
            time.sleep(0.01)
        return self.returncode

    def send_signal(self, number):
        if self.poll() is None:
            os.kill(self.pid, number)


def taken_over(node):
    """How often, and the id of the last process that has."""
    found = re.findall(r"handover: process (\d+) has taken over",
                       node.process.logged())
    return len(found), int(found[-1]) if found else None


def hand_over(node, seconds=20):
    """Has a node replace its process. Returns the old one, which has ended."""
    times = taken_over(node)[0]
    old = node.process.popen
    old.send_signal(signal.SIGUSR2)
    until(lambda: taken_over(node)[0] > times, seconds, what="taken over")
    assert old.wait(60) == 0, node.process.logged()
    node.process.popen = Adopted(taken_over(node)[1])
    assert node.process.alive(), node.process.logged()
    return old

"""What the tests of digestctl share: the program, and digests made with it."""

import os
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "tool"))

from program import SOURCE, Program, folder_of
from taprun import run

ctl = Program("digestd", "ctl", "digestctl")
CTL = ctl.path
KEY = "00112233445566778899aabbccddeeff"
on_a_terminal = ctl.on_a_terminal
row_test = ctl.row_test

# Commands that ask a running node: tests/scenario/test_control.py has them.
LIVE = ("status", "peers", "top", "log", "purge", "explain", "drain",
        "undrain", "quarantine", "release", "reload", "token", "log-level")


def urls(numbers):
    return b"".join(b"http://a.example/%d\n" % i for i in numbers)


def built(numbers, *options):
    """A digest of numbered URLs, of 64 Kbit unless the options say so."""
    code, digest, err = ctl("build", "-k", KEY, "-b", "64K", "-H", "3",
                            *options, data=urls(numbers))
    assert code == 0, err
    return digest

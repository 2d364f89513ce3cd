#!/usr/bin/env python3
"""The options of digestctl, its manual page and its completion."""

import os
import pty
import select
import shutil
import time

from harness import CTL, LIVE, ctl, run
from options import AT, COMPLETION, Options


class Digestctl(Options):
    after_commands = "summarizes"
    some_words = {"squid", "double", "scd"}
    without_files = ("tune", *LIVE)

    def tests(self):
        tests = super().tests()
        if self.completion_offers_files in tests:
            tests.append(self.completion_knows_operands)
        return tests

    def completion_knows_operands(self):
        """Those levels that the node has, see test_control.py."""
        assert self.complete("log-level", "") == ["error", "warning", "info",
                                                  "debug"]
        assert self.complete("log-level", "--json", "d") == ["debug"]
        assert self.complete("release", "") == []


class Shell:
    """A bash at a terminal."""

    def __init__(self):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(AT)
            env = {"PATH": os.path.dirname(CTL) + ":" + os.environ["PATH"],
                   "INPUTRC": "/dev/null", "PS1": "", "TERM": "dumb",
                   "HISTFILE": ""}
            os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"], env)

    def wait_for(self, text, seconds=20):
        """Reads until there is such a text."""
        seen, end = "", time.monotonic() + seconds
        while text not in seen and time.monotonic() < end:
            if select.select([self.terminal], [], [], 0.1)[0]:
                seen += os.read(self.terminal, 4096).decode()
        assert text in seen, seen
        return seen

    def type(self, text):
        os.write(self.terminal, text.encode())

    def close(self):
        os.close(self.terminal)
        os.waitpid(self.pid, 0)


def completion_at_a_terminal():
    """Readline takes what is offered, and quotes a file's blanks."""
    shell = Shell()
    try:
        shell.type(f"source '{COMPLETION}'; echo rea''dy\n")
        shell.wait_for("ready\r\n")
        # what digestctl gets, but for --help, which completion asks for
        shell.type("digestctl() { printf '<%s>' \"$@\"; echo; }\n")
        shell.type("digestctl conv\t--t\tsq\t--outp\tsome\t\n")
        shell.wait_for("<convert><--to><squid><--output><some file.scd>")
        shell.type("digestctl build --hashing=sq\toth\t\n")
        shell.wait_for("<build><--hashing=squid><other>")
    finally:
        shell.close()


TESTS = Digestctl(ctl).tests()
if shutil.which("bash"):
    TESTS.append(completion_at_a_terminal)

if __name__ == "__main__":
    run(TESTS)

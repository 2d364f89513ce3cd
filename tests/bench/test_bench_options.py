#!/usr/bin/env python3
"""The options of digestbench and its manual page, which is not installed: nor
is the completion for it."""

import tempfile

from benchmark import bench, run
from options import Options


class Digestbench(Options):
    after_commands = "summarizes"

    def tests(self):
        return [self.help_has_all_options, self.help_is_what_is_asked_for,
                self.manual_has_all_options, self.synopsis_has_all_commands,
                self.examples_of_the_manual]

    def examples_of_the_manual(self):
        with tempfile.TemporaryDirectory() as folder:
            blocks, said = bench.examples(folder)
        assert len(blocks) == 2
        for text in ("Table 6:", "zstd -1"):
            assert text in said, text


if __name__ == "__main__":
    run(Digestbench(bench).tests())

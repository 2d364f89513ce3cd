"""What the tests of digestbench share: the program."""

import os
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "tool"))

from program import SOURCE, Program
from taprun import run

bench = Program("digestd", "bench", "digestbench")
row_test = bench.row_test

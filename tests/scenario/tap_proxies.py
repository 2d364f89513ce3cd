#!/usr/bin/env python3
"""The scenarios of proxies with a node beside them, as TAP."""

import os
import sys

sys.dont_write_bytecode = True  # the source may be read-only
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import tap

tap.run(tap.files(tap.OF_PROXIES))

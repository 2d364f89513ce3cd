#!/usr/bin/env python3
"""Holds the tree to the rules of rules.py. TAP, one line a rule."""

import os
import sys

import rules
import source

HERE = os.path.dirname(os.path.abspath(__file__))
SHOWN = 200


def main():
    top = os.environ.get("top_srcdir", os.path.join(HERE, "..", ".."))
    files = source.read_tree(top)
    print(f"1..{len(rules.RULES)}")
    failed = 0
    for number, rule in enumerate(rules.RULES, 1):
        complaints = list(rule(files))
        word = "not ok" if complaints else "ok"
        failed += bool(complaints)
        print(f"{word} {number} - {rule.__doc__.splitlines()[0]}")
        for complaint in complaints[:SHOWN]:
            print("# " + complaint)
        if len(complaints) > SHOWN:
            print(f"# and {len(complaints) - SHOWN} more")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

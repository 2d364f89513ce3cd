#!/usr/bin/env python3
"""The suite against digestd and the caches that Debian has, as a table.

usage: compare.py FOLDER [NAME...]

FOLDER takes the package, the logs, and all results in NAME.json. Those that
are not installed are left out.
"""

import json
import os
import sys
import tempfile

import suite
import caches

KINDS = ("cache", "version", "required", "optimal")


def row(cache, root, folder):
    """One line of the table."""
    with tempfile.TemporaryDirectory(dir=folder) as logs:
        os.chmod(logs, 0o777)
        with suite.Running(cache, root, logs) as base:
            results = suite.run_twice(root, base)
    with open(os.path.join(folder, cache.name + ".json"), "w",
              encoding="utf-8") as f:
        json.dump(results, f, indent=1)
    version = getattr(cache, "version", lambda: "this tree")()
    scores = ["%d of %d" % suite.score(results, kind)
              for kind in ("required", "optimal")]
    return [cache.name, version, *scores]


def main():
    folder, names = os.path.abspath(sys.argv[1]), sys.argv[2:]
    try:
        root = suite.package(os.path.join(folder, "npm"))
    except suite.Missing as e:
        print(f"http-cache-tests {suite.VERSION}: {e}", file=sys.stderr)
        return 1
    suite.enter_namespace()
    print("|", " | ".join(KINDS), "|")
    print("|", " | ".join("-" * len(kind) for kind in KINDS), "|")
    for cache in (suite.Digestd, *caches.OTHERS):
        if names and cache.name not in names:
            continue
        try:
            print("|", " | ".join(row(cache, root, folder)), "|", flush=True)
        except suite.Missing as e:
            print(e, file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Proves that codec/ and the core of digestd/ keep no state and call no clock,
no I/O and no threads, and that the core computes the same on all processors;
and that the proof would find the opposite. TAP.
"""

import os
import shlex
import subprocess
import sys
import tempfile

import pure

BUILD = os.environ.get("top_builddir", ".")
ARCHIVES = ("codec/.libs/libscd_static.a", "codec/libkind.a",
            "digestd/libcore.a",
            "cachesim/admission/libadmission.a")

CORE = "digestd/libcore.a"

# What worlds run beside it, where a seed has to mean the same.
WORLD = tuple(f"digestd/{part}/lib{part}.a" for part in
              ("os", "disk", "server", "fetch", "cache", "peers", "proxy",
               "admin", "config")) + ("digestd/libservice.a",
                                      "cachesim/trace/libtrace.a")

POWER = """#include <math.h>
double f(double x); double f(double x) { return pow(x, x + .1); }"""

# Label, C code, the words that the complaint must have (none: no complaint).
PLANTED = (
    ("a counter", "static int n; int f(void); int f(void) { return ++n; }",
     "keeps n in .bss"),
    ("a counter in a function",
     "int f(void); int f(void) { static int m = 7; return ++m; }",
     "in .data"),  # gcc calls it m.0, clang f.m
    ("a global", "int g = 1;", "keeps g in .data"),
    ("a thread's own state", "_Thread_local int t;", "keeps t"),
    ("a table", "const char *const names[] = { \"a\", \"b\" };", ""),
    ("a clock", "#include <time.h>\n"
     "long f(void); long f(void) { return time(0); }", "calls time"),
    ("randomness", "#include <stdlib.h>\n"
     "int f(void); int f(void) { return rand(); }", "calls rand"),
    ("output", "#include <stdio.h>\n"
     "void f(int x); void f(int x) { printf(\"%d\", x); }", "printf"),
    ("a file", "#include <unistd.h>\n"
     "void f(int x); void f(int x) { close(x); }", "calls close"),
    ("a lock", "#include <pthread.h>\n"
     "void f(pthread_mutex_t *m); void f(pthread_mutex_t *m)\n"
     "{ pthread_mutex_lock(m); }", "calls pthread_mutex_lock"),
    ("a last error", "#include <errno.h>\n"
     "int f(void); int f(void) { return errno; }", "calls __errno_location"),
    ("memory", "#include <string.h>\n"
     "void f(char *p, unsigned n); void f(char *p, unsigned n)\n"
     "{ memset(p, 0, n); }", ""),
)


def compiled(code, folder):
    """An object made with the compiler and the flags of this build."""
    path = os.path.join(folder, "planted.c")
    with open(path, "w", encoding="ascii") as f:
        f.write(code + "\n")
    command = (shlex.split(os.environ.get("CC", "cc"))
               + shlex.split(os.environ.get("CFLAGS", "-O1"))
               + ["-fPIC", "-fno-lto", "-w", "-c", path, "-o", path + ".o"])
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    return path + ".o"


def checks():
    """(label, complaints that there should not be) of each."""
    built = [path for path in (os.path.join(BUILD, archive)
                               for archive in ARCHIVES)
             if os.path.exists(path)]
    for archive in ARCHIVES:
        path = os.path.join(BUILD, archive)
        others = [other for other in built if other != path]
        found = (list(pure.complaints(path, others)) if path in built
                 else ["it was not built"])
        yield f"{archive} is pure", found
    for archive in (CORE, *WORLD):
        path = os.path.join(BUILD, archive)
        if archive == CORE and not os.path.exists(path):
            yield f"{archive} is the same everywhere", ["it was not built"]
        elif os.path.exists(path):
            yield (f"{archive} is the same everywhere",
                   list(pure.inexact(path)))
    with tempfile.TemporaryDirectory(prefix="scd-lint-") as folder:
        found = list(pure.inexact(compiled(POWER, folder)))
    yield "planted: a power", [] if found else ["it was not found"]
    for label, code, words in PLANTED:
        with tempfile.TemporaryDirectory(prefix="scd-lint-") as folder:
            found = list(pure.complaints(compiled(code, folder)))
        good = any(words in f for f in found) if words else not found
        yield f"planted: {label}", [] if good else [f"found: {found}"]


def main():
    results = list(checks())
    print(f"1..{len(results)}")
    for number, (label, found) in enumerate(results, 1):
        print(f"{'not ok' if found else 'ok'} {number} - {label}")
        for complaint in found:
            print("# " + complaint)
    return 1 if any(found for _, found in results) else 0


if __name__ == "__main__":
    sys.exit(main())

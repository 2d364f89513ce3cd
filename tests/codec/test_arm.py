#!/usr/bin/env python3
"""The codec on 64-bit ARM: tests of its coder, compiled for that and run by an
emulator, with the engines for NEON. TAP.
"""

import glob
import os
import shutil
import subprocess
import tempfile

from test_manual import SOURCE, run

BUILD = os.path.abspath(os.environ.get("top_builddir", "."))
COMPILER = "aarch64-linux-gnu-gcc"
EMULATOR = "qemu-aarch64"
FOLDERS = ("codec", "codec/coder", "codec/filter", "codec/tune", "codec/wire")
NOT_HERE = ("codec/wire/squid.c",)  # wants libmd for that processor
FOLDER = tempfile.TemporaryDirectory(prefix="scd-arm-")
# What those of x86 are compiled with, and the headers of libxxhash, which are
# the same for all processors.
FLAGS = ("-std=gnu17", "-O2", "-Wall", "-Wextra", "-Wshadow", "-Werror",
         "-I", os.path.join(SOURCE, "tests/codec/emulated"),
         "-I", SOURCE, "-I", BUILD, "-idirafter", "/usr/include")


def missing():
    for program in (COMPILER, EMULATOR):
        if not shutil.which(program):
            return f"{program} is missing"
    return None


def sources(*folders):
    return [path for folder in folders
            for path in sorted(glob.glob(f"{folder}/*.c",
                                         root_dir=SOURCE))
            if path not in NOT_HERE]


def output(*command, **env):
    r = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False,
                       stderr=subprocess.STDOUT, cwd=FOLDER.name,
                       env={**os.environ, **env})
    assert r.returncode == 0, (command, r.stdout)
    return r.stdout


def compiled(*paths):
    """Their objects."""
    output(COMPILER, *FLAGS, "-c", *(os.path.join(SOURCE, path)
                                     for path in paths))
    return [os.path.join(FOLDER.name, os.path.basename(path)[:-1] + "o")
            for path in paths]


def ran(test, slow="1"):
    """What a test says there, with as many rounds as it needs."""
    output(COMPILER, "-static", "-o", test, *CODEC,
           *compiled(f"tests/codec/{test}.c"), "-lm", "-lpthread")
    return output(EMULATOR, f"./{test}", SCD_TEST_SLOW=slow,
                  top_srcdir=os.path.abspath(SOURCE))


def coder():
    """Each engine against the slow ones, on what is whole and what is not."""
    if missing():
        return missing()
    CODEC.extend(compiled(*sources(*FOLDERS), *sources_of_slow()))
    said = ran("test_engines")
    assert said.count("ok - ") == 6, said
    return None


def dense():
    """The engine for NEON is there, and is as good as the portable one."""
    if missing():
        return missing()
    said = ran("test_dense", slow="4")
    assert said.count("ok - engines_agree") == 2, said
    symbols = output("aarch64-linux-gnu-nm", "test_dense").split()
    assert "scd__dense_neon" in symbols
    return None


def others():
    """What has no engine for that processor, either."""
    if missing():
        return missing()
    for test in ("test_coder", "test_list", "test_sparse"):
        assert "ok - " in ran(test)
    return None


def sources_of_slow():
    return [path for path in sources("tests/codec")
            if os.path.basename(path).startswith("slow_")]


CODEC = []

if __name__ == "__main__":
    run((coder, dense, others) if os.environ.get("SCD_TEST_LONG")
        else (coder, dense))

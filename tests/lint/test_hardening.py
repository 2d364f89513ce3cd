#!/usr/bin/env python3
"""The programs and the library have what configure's hardening asks for, by
what readelf says of them; and it asks for all of it by default. TAP.
"""

import os
import re
import shlex
import subprocess
import sys

BUILD = os.environ.get("top_builddir", ".")
SOURCE = os.environ.get("top_srcdir", ".")
sys.path.insert(0, os.path.join(SOURCE, "tests", "tool"))

from taprun import run  # noqa: E402

FILES = ("digestd/digestd", "digestd/ctl/digestctl", "cachesim/cachesim",
         "codec/.libs/libscd.so")

# A flag, what readelf is asked, and what it says of a file that was built so.
TRAITS = {
    "-fstack-protector-strong": ("-sW", r" __stack_chk_fail"),
    "-D_FORTIFY_SOURCE=[23]": ("-sW", r" __\w+_chk\b"),
    "-Wl,-z,relro": ("-lW", r"\bGNU_RELRO\b"),
    "-Wl,-z,now": ("-dW", r"\bBIND_NOW\b|Flags:.*\bNOW\b"),
    "-Wl,-z,noexecstack": ("-lW", r"\bGNU_STACK .* RW "),
}
# What a program has only if the C library's own objects do, too.
ARCHIVE = "codec/.libs/libscd_static.a"
OF_OBJECTS = {"-fcf-protection": ("-nW", r"x86 feature:.*IBT.*SHSTK")}
# No trait of its own in a file: the stack is probed in functions that need it.
UNSEEN = {"-fstack-clash-protection"}


def setting(name):
    """A variable of the Makefile, as a list of words."""
    with open(os.path.join(BUILD, "Makefile"), encoding="utf-8") as f:
        found = re.search(rf"^{name} =(.*)$", f.read(), re.M)
        return shlex.split(found[1] if found else "")


def flags():
    return setting("HARDEN_CFLAGS") + setting("HARDEN_LDFLAGS")


def asked_for(pattern):
    return any(re.fullmatch(pattern, flag) for flag in flags())


def built():
    paths = [os.path.join(BUILD, name) for name in FILES]
    there = [path for path in paths if os.path.exists(path)]
    assert len(there) >= 2, paths
    return there


def has(path, trait):
    option, wanted = trait
    said = subprocess.run(["readelf", option, path], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    return re.search(wanted, said) is not None


def configured_with(word):
    """Whether configure was called with an argument that begins so."""
    with open(os.path.join(BUILD, "config.log"), encoding="utf-8") as f:
        call = re.search(r"^  \$ (.*)$", f.read(), re.M)[1]
    return any(w.strip("'").startswith(word) for w in call.split())


def default_is_all_of_it():
    """Where no option is against it, the compiler is gcc or clang, and the
    processor knows it."""
    off = (configured_with("--disable-hardening")
           or configured_with("--enable-hardening=no")
           or configured_with("--with-sanitizer"))
    if off:
        assert not flags(), flags()
        return
    optimised = any(re.match(r"-O[1-9sg]", f) for f in setting("CFLAGS"))
    for pattern in (*TRAITS, *OF_OBJECTS, *UNSEEN):
        if (("FORTIFY" in pattern and not optimised)
                or ("cf-prot" in pattern and os.uname().machine != "x86_64")):
            continue
        assert asked_for(pattern), (pattern, flags())


def files_have_what_is_asked_for():
    for pattern, trait in TRAITS.items():
        if asked_for(pattern):
            for path in built():
                assert has(path, trait), (path, pattern)
    for pattern, trait in OF_OBJECTS.items():
        if asked_for(pattern):
            assert has(os.path.join(BUILD, ARCHIVE), trait), pattern


def programs_can_be_loaded_anywhere():
    if not flags():
        return
    for path in built():
        said = subprocess.run(["readelf", "-hW", path], check=True, text=True,
                              stdout=subprocess.PIPE).stdout
        assert re.search(r"Type: +DYN", said), (path, said)


def what_is_not_asked_for_is_missed():
    """Without it symbols are bound when they are used, as readelf says."""
    if not flags():
        now = TRAITS["-Wl,-z,now"]
        assert not any(has(path, now) for path in built())


TESTS = (default_is_all_of_it, files_have_what_is_asked_for,
         programs_can_be_loaded_anywhere, what_is_not_asked_for_is_missed)


if __name__ == "__main__":
    run(TESTS)

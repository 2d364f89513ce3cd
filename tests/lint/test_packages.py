#!/usr/bin/env python3
"""The packages of bootstrap are those that configure and the tests ask for,
and those that the README names. TAP.
"""

import os
import re
import sys

SOURCE = os.environ.get("top_srcdir", ".")
sys.path.insert(0, os.path.join(SOURCE, "tests", "tool"))

from taprun import run  # noqa: E402

# What is asked for, and the package that has it; None: the build can do
# without, and so can the tests.
MODULES = {
    "zlib": "zlib1g-dev",
    "libxxhash": "libxxhash-dev",
    "libmd": "libmd-dev",
    "libzstd": "libzstd-dev",
    "liblzma": "liblzma-dev",
    "jansson": "libjansson-dev",
    "libmicrohttpd": "libmicrohttpd-dev",
    "libnghttp2": "libnghttp2-dev",
    "libcurl": "libcurl4-gnutls-dev",
    "gnutls": "libgnutls28-dev",
    "jemalloc": "libjemalloc-dev",
    "cmocka": "libcmocka-dev",
    "ompi-c": "libopenmpi-dev",
}
PROGRAMS = {
    "curl": "curl",
    "gnuplot": "gnuplot-nox",
    "mandoc": "mandoc",
    "haproxy": "haproxy",
    "hitch": "hitch",
    "nginx": "nginx",
    "traffic_server": "trafficserver",
    "varnishd": "varnish",
    "varnishlog": "varnish",
    "openssl": "openssl",
    "chromium": "chromium",
    "promtool": "prometheus",
    "prometheus": "prometheus",
    "shellcheck": "shellcheck",
    "fish": "fish",
    "squid": "squid",
    "systemd-analyze": "systemd",
    "systemd-socket-activate": "systemd",
    "clang": "clang",
    "wrk": "wrk",
    "npm": None,  # Debian's, or one that is there already: bootstrap
    "mpirun": "openmpi-bin",
    "unshare": None,
    "bash": None,  # everywhere
}


def text_of(*path):
    with open(os.path.join(SOURCE, *path), encoding="utf-8") as f:
        return f.read()


def packages(name):
    """A list of bootstrap's."""
    words = re.search(rf'^{name}="(.*?)"$', text_of("bootstrap"),
                      re.M | re.S)[1]
    return words.split()


def modules():
    """What configure looks for."""
    text = text_of("configure.ac")
    found = re.findall(r"PKG_CHECK_MODULES\(\[\w+\], \[([\w-]+)", text)
    assert len(found) > 6, found
    return set(found)


def programs():
    """What the tests and the rules of make look for."""
    found = {"shellcheck", "clang"}
    for folder, _, names in os.walk(os.path.join(SOURCE, "tests")):
        for name in names:
            if name.endswith(".py"):
                found |= set(re.findall(r'which\("([a-z_-]+)"\)',
                                        text_of(os.path.relpath(
                                            os.path.join(folder, name),
                                            SOURCE))))
    if re.search(r"^\t+gnuplot ", text_of("docs", "Makefile.inc"), re.M):
        found.add("gnuplot")
    return found


def modules_have_packages():
    there = packages("build_packages") + packages("test_packages")
    assert modules() == set(MODULES), modules() ^ set(MODULES)
    for module in modules():
        assert MODULES[module] in there, module


def programs_have_packages():
    there = packages("build_packages") + packages("test_packages")
    assert programs() == set(PROGRAMS), programs() ^ set(PROGRAMS)
    for program in programs():
        assert PROGRAMS[program] in (None, *there), program


def no_package_is_named_twice():
    there = packages("build_packages") + packages("test_packages")
    assert len(set(there)) == len(there)


def readme_has_the_packages():
    """By hand: what the build needs, and what the tests need beside it."""
    text = text_of("README.md")
    named = re.findall(r"^    apt-get install ((?:.*\\\n)*.*)$", text, re.M)
    lists = [n.replace("\\", " ").split() for n in named]
    assert lists == [packages("build_packages"),
                     packages("test_packages")], lists


TESTS = (modules_have_packages, programs_have_packages,
         no_package_is_named_twice, readme_has_the_packages)


if __name__ == "__main__":
    run(TESTS)

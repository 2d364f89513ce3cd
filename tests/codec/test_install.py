#!/usr/bin/env python3
"""libscd as it is installed: headers, library, pkg-config file and manual; the
symbols of the library; and programs that are built with them, the examples of
scd(3) and of the README, as they stand there. TAP.
"""

import os
import re
import shlex
import shutil
import subprocess
import tempfile

import test_manual as manual

BUILD = os.path.abspath(os.environ.get("top_builddir", "."))
MAKE = os.environ.get("MAKE", "make")
FOLDER = tempfile.TemporaryDirectory(prefix="scd-install-")
ROOT = os.path.join(FOLDER.name, "root")
TARGETS = ("install-libLTLIBRARIES", "install-scdincludeHEADERS",
           "install-nodist_scdincludeHEADERS", "install-pkgconfigDATA",
           "install-man3")


def output(*command, env=None, cwd=FOLDER.name):
    r = subprocess.run(command, stdout=subprocess.PIPE, check=False, text=True,
                       stderr=subprocess.STDOUT, cwd=cwd,
                       env={**os.environ, **(env or {})})
    assert r.returncode == 0, (command, r.stdout)
    return r.stdout


def installed():
    """Path by path: the end of it, as it is told here."""
    found = {}
    for folder, _, names in os.walk(ROOT):
        for name in names:
            path = os.path.join(folder, name)
            found["/".join(path.split("/")[-3:])] = path
    return found


def all_is_installed():
    """And no header that is not for others."""
    output(MAKE, "-s", *TARGETS, f"DESTDIR={ROOT}", cwd=BUILD,
           env={"MAKEFLAGS": "", "MFLAGS": "", "MAKELEVEL": ""})
    paths = installed()
    wanted = {f"include/scd/{header}" for header in manual.headers()}
    assert {p for p in paths if p.endswith(".h")} == wanted, paths
    for wanted in ("man/man3/scd.3", "lib/pkgconfig/libscd.pc"):
        assert any(p.endswith(wanted) for p in paths), (wanted, paths)


def path_of(name):
    return next((path for short, path in sorted(installed().items())
                 if short.endswith("/" + name)), None)


def pkg_config(*args):
    path = os.path.dirname(path_of("libscd.pc"))
    return output("pkg-config", *args, "libscd", env={
        "PKG_CONFIG_PATH": path, "PKG_CONFIG_SYSROOT_DIR": ROOT,
        "PKG_CONFIG_ALLOW_SYSTEM_CFLAGS": "1",
        "PKG_CONFIG_ALLOW_SYSTEM_LIBS": "1"})


def compiler():
    return (shlex.split(os.environ.get("CC", "cc"))
            + shlex.split(os.environ.get("CFLAGS", "-O1")))


def headers_stand_alone():
    """Each of them, in C and in C++."""
    flags = shlex.split(pkg_config("--cflags"))
    for header in manual.headers():
        for language, standard in (("c", "c11"), ("c++", "c++17")):
            path = os.path.join(FOLDER.name, "alone")
            with open(path, "w", encoding="ascii") as f:
                f.write(f"#include <scd/{header}>\n")
            output(*compiler(), "-x", language, f"-std={standard}",
                   "-pedantic", "-Wall", "-Wextra", "-Werror", *flags,
                   "-fsyntax-only", path)


def symbols(path):
    """Name by name, the version of it; "": none."""
    rows = output("nm", "-D", "--defined-only", "--with-symbol-versions",
                  path).splitlines()
    # A profiler or sanitizer has symbols of its own in all that it builds.
    rows = [row for row in rows
            if row.split()[1] != "A"
            and not re.match(r"_|asan|ubsan|tsan", row.split()[2])]
    return dict((row.split()[2].replace("@@", "@") + "@").split("@")[:2]
                for row in rows)


def listed_symbols():
    """The same as codec/libscd.map lists them."""
    path = os.path.join(manual.SOURCE, "codec", "libscd.map")
    found = {}
    for version, names in re.findall(r"^(LIBSCD_\S+) \{\nglobal:\n(.*?)\n\S",
                                     manual.text_of(path), re.M | re.S):
        found.update((name, version)
                     for name in re.findall(r"^\t(\w+);$", names, re.M))
    return found


def headers_declare_what_is_listed():
    """All functions but inline ones, so that a change of what the library
    offers is one of codec/libscd.map."""
    inline = {"scd_digest_is_delta", "scd_fingerprint"}
    wanted = {manual.name_of(p) for p in manual.declared()} - inline
    told = listed_symbols()
    assert len(told) > 70 and set(told) == wanted, set(told) ^ wanted
    assert list(told) == sorted(told)


def makefile_has(pattern):
    with open(os.path.join(BUILD, "Makefile"), encoding="ascii") as f:
        return bool(re.search(pattern, f.read(), re.M))


def symbols_are_those_listed():
    """No more, nothing internal, and no fewer; each with its version, where
    configure has found that the linker knows versions."""
    shared = path_of("libscd.so")
    if shared is None:
        return "no shared library was built"
    wanted, found = listed_symbols(), symbols(shared)
    if makefile_has(r"^VERSION_SCRIPT_TRUE = #"):
        wanted = dict.fromkeys(wanted, "")
    assert found == wanted, found.items() ^ wanted.items()
    return None


def version_is_the_packages():
    """In configure.ac, the macros, the library, and the pkg-config file."""
    text = manual.text_of(os.path.join(manual.SOURCE, "configure.ac"))
    version = re.search(r"^AC_INIT\(\[summary-cache\], \[(.*)\]\)", text,
                        re.M)[1]
    major, minor, patch = map(int, version.split("."))
    number = 10000 * major + 100 * minor + patch
    assert pkg_config("--modversion").strip() == version
    said = built(f"""#include <scd/scd.h>
#include <stdio.h>
#if SCD_VERSION_NUMBER != {number}
#error "another number"
#endif
int main(void)
{{
	printf("%s %s %u\\n", SCD_VERSION, scd_version(),
	       scd_version_number());
	return 0;
}}
""", dynamic())
    assert said == f"{version} {version} {number}\n", said


def built(source, libs):
    """What a program says that is built from a source."""
    path = os.path.join(FOLDER.name, "program.c")
    with open(path, "w", encoding="ascii") as f:
        f.write(source)
    return ran(compiler(), path, libs)


def ran(compilers, source, libs, *args):
    """The same of a file, with the words that call a compiler."""
    path = os.path.join(FOLDER.name, "program")
    output(*compilers, "-Wall", "-Wextra", "-Werror", source, "-o", path,
           *shlex.split(pkg_config("--cflags")), *libs)
    shared = path_of("libscd.so") or path_of("libscd.a")
    return output(path, *args,
                  env={"LD_LIBRARY_PATH": os.path.dirname(shared)})


def compiler_of_cpp():
    """The companion of the C compiler: what it builds can be linked with what
    that has built. None: it is not there."""
    words = compiler()
    number = next(i for i, word in enumerate(words)
                  if re.search(r"(gcc|clang|cc)(-\d+)?$", word))
    words[number] = re.sub(
        r"(gcc|clang|cc)((-\d+)?)$",
        lambda m: {"gcc": "g++", "clang": "clang++", "cc": "c++"}[m[1]] + m[2],
        words[number])
    return words if shutil.which(words[number]) else None


def dynamic():
    return shlex.split(pkg_config("--libs"))


def static():
    """The archive, and what the file says that it needs."""
    libs = shlex.split(pkg_config("--libs", "--static"))
    return [path_of("libscd.a") if lib == "-lscd" else lib for lib in libs]


def examples():
    """The programs of the manual."""
    text = manual.manual().split(".Sh EXAMPLES")[1]
    blocks = re.findall(r"\.Bd -literal[^\n]*\n(.*?)\.Ed", text, re.S)
    return [block.replace(r"\e", "\\") for block in blocks]


def examples_of_the_manual():
    wanted = ("before: logo 1, news 0\ngeneration 2: logo 0, news 1\n",
              "peer 1 may have it\n",
              "http://example.com/logo.png: pass on\n"
              "http://example.com/news: pass on\n"
              "http://example.com/logo.png: write\n")
    assert tuple(built(e, dynamic()) for e in examples()) == wanted


def static_library():
    """A program has all that it needs; or there is none, where configure was
    told --disable-static."""
    with open(os.path.join(BUILD, "libtool"), encoding="ascii") as f:
        wanted = re.search(r"^build_old_libs=(\w+)$", f.read(), re.M)[1]
    assert (path_of("libscd.a") is not None) == (wanted == "yes")
    if wanted == "yes":
        assert built(examples()[0], static()).startswith("before: logo 1")


def ways_to_link():
    """With the shared library, and with the archive if there is one."""
    return [dynamic()] + ([static()] if path_of("libscd.a") else [])


def example_in_c():
    source = os.path.join(manual.SOURCE, "docs", "examples", "siblings.c")
    wanted = ("south knows 1000 of 1000 objects\n"
              "damaged: refused\n"
              "south knows 10 of 10 new objects\n"
              "the delta is small\n")
    for libs in ways_to_link():
        assert ran(compiler(), source, libs) == wanted, libs


def example_in_cpp():
    if not compiler_of_cpp():
        return "there is no C++ compiler"
    source = os.path.join(manual.SOURCE, "docs", "examples", "squidpeer.cc")
    digestctl = os.path.join(BUILD, "digestd", "ctl", "digestctl")
    with open(os.path.join(FOLDER.name, "urls"), "w", encoding="ascii") as f:
        f.write("http://a.example/1\nhttp://a.example/2\n")
    output(digestctl, "build", "--hashing", "squid", "-b", "8000", "-o",
           "ours.scd", "urls")
    output(digestctl, "convert", "-c", "1000", "-o", "store_digest",
           "ours.scd")
    wanted = ("room for 1000 objects, false positives 0.0000\n"
              "HTTP://A.example/2: maybe\nhttp://a.example/3: no\n")
    for libs in ways_to_link():
        found = ran(compiler_of_cpp(), source, libs, "store_digest",
                    "HTTP://A.example/2", "http://a.example/3")
        assert found == wanted, found
    return None


def readme():
    """Its program, with the command that is printed below it."""
    text = manual.text_of(os.path.join(manual.SOURCE, "README.md"))
    source, after = re.search(r"```c\n(.*?)```(.*)", text, re.S).groups()
    assert len(source.split("int main")[1].splitlines()) <= 24
    words = re.search(r"^    cc (\S+\.c) \$\((pkg-config .*)\)$", after, re.M)
    assert words[2] == "pkg-config --cflags --libs libscd"
    said = re.search(r"^    (\d+ bytes: yes)$", after, re.M)[1]
    output_is = built(source, dynamic())
    assert output_is == said + "\n", output_is


if __name__ == "__main__":
    manual.run((all_is_installed, headers_stand_alone,
                headers_declare_what_is_listed, symbols_are_those_listed,
                version_is_the_packages, examples_of_the_manual,
                static_library, example_in_c, example_in_cpp,
                readme))

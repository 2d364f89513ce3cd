#!/usr/bin/env python3
"""scd(3) and the installed headers say the same: each function's prototype,
under the header that has it, each error, and nothing else. TAP.
"""

import os
import re
import shutil
import subprocess
import sys

SOURCE = os.environ.get("top_srcdir", ".")
sys.path.insert(0, os.path.join(SOURCE, "tests", "tool"))

from taprun import run  # noqa: E402
MANUAL = os.path.join(SOURCE, "docs", "scd.3")


def text_of(path):
    with open(path, encoding="ascii") as f:
        return f.read()


def headers():
    """Those that are installed: the one for all, and what it brings in."""
    listed = text_of(os.path.join(SOURCE, "codec", "Makefile.inc"))
    listed = listed[listed.index("\nscdinclude_HEADERS"):].split("\n\n")[0]
    return re.findall(r"codec/(\w+\.h)", listed)


def path_of(header):
    """Its source: configure makes one of them."""
    path = os.path.join(SOURCE, "codec", header)
    return path + ".in" if os.path.exists(path + ".in") else path


def code_of(header):
    """Without comments, directives and what is between braces."""
    text = text_of(path_of(header))
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = text.replace('extern "C" {', " ")
    text = re.sub(r"^#(.*\\\n)*.*$", " ", text, flags=re.M)
    while re.search(r"\{[^{}]*\}", text):
        text = re.sub(r"\{[^{}]*\}", ";", text)
    return text


def tidy(words):
    words = re.sub(r"\b(static|inline|extern)\b|[{}]", " ", words)
    return re.sub(r"\* ", "*", " ".join(words.split()))


def declared():
    """Prototype by prototype, and the header that it stands in."""
    found = {}
    for header in headers():
        for words in code_of(header).split(";"):
            m = re.search(r"\b(scd_\w+)\(([^()]*)\)\s*$", words)
            if m and words[:m.start()].strip() and "(*" not in words:
                found[tidy(words)] = header
    return found


def manual():
    return text_of(MANUAL)


def synopsis():
    text = manual()
    return text[text.index(".Sh SYNOPSIS"):text.index(".Sh DESCRIPTION")]


def arguments(line):
    return [a or b for a, b in re.findall(r'"([^"]*)"|(\S+)', line)]


def documented():
    """The same of the manual."""
    found, header, returns, name, args = {}, None, None, None, []
    for line in synopsis().splitlines():
        macro, _, rest = line.partition(" ")
        if macro == ".In":
            header = rest.removeprefix("scd/")
        elif macro == ".Ft":
            returns = rest
        elif macro == ".Fo":
            name, args = rest, []
        elif macro == ".Fa":
            args += arguments(rest)
        elif macro == ".Fn":
            name, *args = arguments(rest)
        if macro in (".Fn", ".Fc"):
            found[tidy(f"{returns} {name}({', '.join(args)})")] = header
    return found


def prototypes_are_the_headers():
    told, there = documented(), declared()
    assert len(there) > 80
    assert set(told) == set(there), set(told) ^ set(there)
    assert told == there, [t for t in told if told[t] != there[t]]


def name_of(prototype):
    return re.search(r"(scd_\w+)\(", prototype)[1]


def text_has_every_function():
    told = re.findall(r"^\.Fn (scd_\w+)", manual().split(".Sh DESC")[1], re.M)
    names = {name_of(p) for p in declared()}
    assert set(told) == names, set(told) ^ names


def elsewhere_are_no_other_names():
    """What looks like a function or an error is one."""
    text = manual()
    told = set(re.findall(r"\.Fn (scd_\w+)", text))
    assert told <= {name_of(p) for p in declared()}
    told = set(re.findall(r"\b(SCD_E[A-Z]+)", text))
    assert told == errors()


def errors():
    text = text_of(os.path.join(SOURCE, "codec", "error.h"))
    return set(re.findall(r"^\t(SCD_E\w+) = -", text, re.M))


def errors_are_the_headers():
    text = manual().split(".Sh ERRORS")[1]
    told = re.findall(r"^\.It Er (\w+)", text, re.M)
    assert set(told) == errors() and len(told) == len(errors()) > 10


def mandoc_finds_nothing():
    """In this and all other manuals."""
    if not shutil.which("mandoc"):
        return "mandoc is missing"
    folder = os.path.join(SOURCE, "docs")
    pages = [os.path.join(folder, name) for name in sorted(os.listdir(folder))
             if re.fullmatch(r"[\w.-]+\.[1-9]", name)]
    r = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", *pages],
                       stdout=subprocess.PIPE, check=False, text=True)
    assert len(pages) > 4 and not r.stdout and not r.returncode, r.stdout
    return None


TESTS = (prototypes_are_the_headers, text_has_every_function,
         elsewhere_are_no_other_names, errors_are_the_headers,
         mandoc_finds_nothing)


if __name__ == "__main__":
    run(TESTS)

#!/usr/bin/env python3
"""The manual pages say, rendered, what their sources mean: quotes and literal
text arrive on paper. mandoc's own complaints: tests/codec/test_manual.py. TAP.
"""

import json
import os
import re
import shutil
import subprocess
import sys

SOURCE = os.environ.get("top_srcdir", ".")
sys.path.insert(0, os.path.join(SOURCE, "tests", "tool"))

from taprun import run  # noqa: E402

# Some pages are made, see docs/Makefile.inc.
DOCS = {os.path.join(top, "docs")
        for top in (SOURCE, os.environ.get("top_builddir", "."))}
# Lines of macros that may have quotes: they hold arguments with blanks
# together.
GROUPING = re.compile(r"\.(Fa|Fn|Fo|Ft|In|Nd|Sh|Ss|Sx|It|%\w|Bl|Bd|El)\b")


def pages():
    """Path and source of each manual page."""
    for folder in sorted(DOCS):
        for name in sorted(os.listdir(folder)):
            if re.fullmatch(r"[\w.-]+\.[1-9]", name):
                path = os.path.join(folder, name)
                with open(path, encoding="ascii") as f:
                    yield path, f.read()


def rendered(source):
    """A page as a terminal shows it, in plain characters."""
    text = subprocess.run(["mandoc", "-Tutf8", "-Owidth=78"], input=source,
                          check=True, text=True, stdout=subprocess.PIPE).stdout
    return re.sub(".\b", "", text)


def faults_of_source(source):
    """A quote that begins a word of a macro is lost; so is the end of what one
    quotes, where several words are meant and a comma stands between them."""
    literal = False
    for number, line in enumerate(source.splitlines(), 1):
        literal = line.startswith(".Bd -literal") or (
            literal and not line.startswith(".Ed"))
        if literal or not re.match(r"\.[A-Z%]", line):
            continue
        if ' "' in line and not GROUPING.match(line):
            yield f"{number}: quotes are lost: {line}"
        if re.search(r"\bQl \S+ [,;] ", line):
            yield f"{number}: one pair of quotes for several: {line}"


def faults_of_page(source):
    """Quotes inside quotes, and lines of literal text that are not there."""
    text = rendered(source)
    for fault in re.findall("‘[^’]{0,80}‘|’’", text):
        yield f"quotes in quotes: {fault}"
    for block in re.findall(r"^\.Bd -literal[^\n]*\n(.*?)^\.Ed", source,
                            re.M | re.S):
        for line in block.splitlines():
            line = line.replace("\\e", "\\").replace("\\(dq", '"')
            line = line.replace("\\&", "").expandtabs().strip()
            if line not in text.expandtabs():
                yield f"not in the page: {line}"


def faults_of_display(source):
    """A display of one line that is broken into two."""
    text = rendered(source)
    for line in re.findall(r"^\.Dl (.*)$", source, re.M):
        line = re.sub(r"\\\(dq", '"', line).replace("\\e", "\\")
        line = re.sub(r"^(Nm|Ic|Cm) ", "", line)
        if line not in text:
            yield f"not on one line: {line}"


def faults_of_heading(source):
    """A word at the beginning of a heading that is a macro: ".Ss In process"
    becomes "<process>"."""
    lines = [line.strip() for line in rendered(source).splitlines()]
    for heading in re.findall(r"^\.S[hs] (.*)$", source, re.M):
        if heading.replace("\\&", "") not in lines:
            yield f"another heading in the page: {heading}"


CHECKS = (faults_of_source, faults_of_page, faults_of_display,
          faults_of_heading)


def all_pages_are_right():
    if not shutil.which("mandoc"):
        return "mandoc is missing"
    found = [f"{os.path.basename(path)}: {fault}" for path, source in pages()
             for check in CHECKS for fault in check(source)]
    assert not found, "\n# ".join(found)
    return None


PAGE = (".Dd November 22, 2026\n.Dt PAGE 1\n.Os\n.Sh NAME\n.Nm page\n"
        ".Nd a page\n.Sh DESCRIPTION\n")


def planted_faults_are_found():
    if not shutil.which("mandoc"):
        return "mandoc is missing"
    for line, check in (
            ('.Dl {"a": 1, "b": null}', faults_of_source),
            ('.Dl {"a": 1, "b": null}', faults_of_display),
            (".Ql 64K , 64M , 64G .", faults_of_source),
            (".Pq Ql http No or Ql https", faults_of_page),
            (".Bd -literal\na \\ b\n.Ed", faults_of_page),
            (".Dl " + "word " * 30, faults_of_display),
            (".Ss In process", faults_of_heading)):
        assert list(check(PAGE + line + "\n")), line
    good = (".Dl {\\(dqa\\(dq: 1}\n.Ql 64K ,\n.Ql a=\"b\" .\n"
            ".Bd -literal\n\ta \\e\n.Ed\n.Ss \\&In process\n")
    for check in CHECKS:
        assert not list(check(PAGE + good)), list(check(PAGE + good))
    return None


def examples_of_json_are_json():
    """What stands in braces and quotes on a line of its own."""
    if not shutil.which("mandoc"):
        return "mandoc is missing"
    found = 0
    for _, source in pages():
        for line in rendered(source).splitlines():
            if re.fullmatch(r'\s*\{"?\w.*\}', line):
                json.loads(line)
                found += 1
    assert found
    return None


TESTS = (all_pages_are_right, planted_faults_are_found,
         examples_of_json_are_json)


if __name__ == "__main__":
    run(TESTS)

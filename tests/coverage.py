#!/usr/bin/env python3
"""What the C tests execute of the sources: lines and branches, by folder.

    make coverage                     # the table
    make coverage ARGS=digestd/cache  # its files, and the branches not taken

The target builds everything with --coverage in a folder of its own, runs the
C tests there and calls this program in it, which adds up what gcov says. It
fails with the table if a folder has less than 90 % of its branches, other than
those that are tried from Python (PROGRAMS).

A line counts once, however many programs have compiled it, and so does each
side of a branch; the copies of a function that is always inlined, some of which
have constants for arguments, count as one. What no test can take is left out:
the branches of assertions; the side that a switch without default has for none
of its cases, where these are all constants of an enum; and the code for another
processor than this one, which the last line names.
"""

import argparse
import collections
import json
import os
import re
import subprocess
import sys

SOURCE = os.path.realpath(os.environ.get("top_srcdir", "."))
PARTS = ("codec", "digestd", "cachesim")
FILES_AT_ONCE = 40
WANTED = 90  # percent of a folder's branches
# Tried as users try them, from Python, as HACKING.md says.
PROGRAMS = ("cachesim", "cachesim/live", "digestd", "digestd/bench",
            "digestd/ctl", "digestd/tool")
# With those that Varnish has for its modules.
ASSERTION = re.compile(r"\b(?:(?:_Static_)?assert|AN|CHECK_OBJ_NOTNULL)\s*\(")
SWITCH = re.compile(r"\bswitch\s*\(")
CASE = re.compile(r"\b(case\s[^:]*|default\s*):")
ENUMERATOR = re.compile(r"case\s+[A-Z][A-Z0-9_]*")
COPIED = re.compile(r"^INLINE [^;]*?\{$.*?^\}$", re.M | re.S)
STATEMENT = re.compile(r"[^;{}]*(?:;.*)?")  # or what is left of it
CONDITION = re.compile(r"\b(?:if|for|while)\b|&&|\|\||\?")
VARIANT = re.compile(r"_(avx\w+)\.c$")  # for processors with that


class Source:
    """A source file: how often its lines ran, and each side of a branch."""

    def __init__(self, path):
        self.path = path
        self.lines = collections.Counter()
        self.branches = collections.Counter()  # by line and number
        text = open_text(os.path.join(SOURCE, path))
        self.assertions = assertion_lines(text)
        self.switches = closed_switches(text)
        self.copied = copied_sides(text)

    def add(self, lines):
        for line in lines:
            number = line["line_number"]
            self.lines[number] += line["count"]
            if number in self.assertions:
                continue
            branches = line["branches"]
            if number in self.switches:
                branches = branches[:-1]  # gcov has the default last
            sides = self.copied.get(number, len(branches))
            for side, branch in enumerate(branches if sides else ()):
                self.branches[number, side % sides] += branch["count"]

    def untaken(self):
        """The lines that have branches of which a side was never taken."""
        return sorted({line for (line, _), n in self.branches.items() if not n})


def open_text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def closed_switches(text):
    """The numbers of the lines where a switch begins that has no default, and
    constants of an enum as cases."""
    found = set()
    for m in SWITCH.finditer(text):
        opens = text.index("{", end_of(text, m.end()))
        cases = own_cases(text[opens + 1:end_of(text, opens + 1, "{}") - 1])
        if cases and all(map(ENUMERATOR.fullmatch, cases)):
            found.add(line_of(text, m.start()))
    return found


def own_cases(body):
    """What the body of a switch has as labels, without those of others in
    it."""
    inner = SWITCH.search(body)
    while inner:
        opens = body.index("{", end_of(body, inner.end()))
        body = (body[:inner.start()]
                + body[end_of(body, opens + 1, "{}"):])
        inner = SWITCH.search(body)
    return [m[1].strip() for m in CASE.finditer(body)]


def copied_sides(text):
    """The lines of functions that are always inlined, and how many sides the
    branches have in one copy: none where what is inlined into them has some."""
    found = {}
    for function in COPIED.finditer(text):
        lines = function[0].split("\n")
        first = line_of(text, function.start())
        for at in range(len(lines)):
            statement = STATEMENT.match("\n".join(lines[at:]))[0]
            found[first + at] = 2 * len(CONDITION.findall(statement))
    return found


def assertion_lines(text):
    """The numbers of the lines that an assertion stands on."""
    found = set()
    for m in ASSERTION.finditer(text):
        first = line_of(text, m.start())
        last = first + text.count("\n", m.start(), end_of(text, m.end()))
        found.update(range(first, last + 1))
    return found


def end_of(text, at, pair="()"):
    """Behind the parenthesis that closes the one before `at`."""
    depth = 1
    while depth:
        depth += {pair[0]: 1, pair[1]: -1}.get(text[at], 0)
        at += 1
    return at


def notes(folder):
    """What the compiler noted of each object, its program run or not."""
    for at, _, names in os.walk(folder):
        for name in names:
            if name.endswith(".gcno"):
                yield os.path.join(at, name)


def reports(paths):
    """gcov's reports of these objects."""
    for i in range(0, len(paths), FILES_AT_ONCE):
        r = subprocess.run(["gcov", "--branch-probabilities",
                            "--branch-counts", "--json-format",
                            "--stdout", *paths[i:i + FILES_AT_ONCE]],
                           check=True, stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL)
        for line in r.stdout.splitlines():
            if line.startswith(b"{"):
                yield json.loads(line)


def gather(folder):
    """All sources of the product, by path, from one build folder."""
    sources = {}
    for report in reports(sorted(notes(folder))):
        top = report["current_working_directory"]
        for file in report["files"]:
            path = os.path.relpath(
                os.path.realpath(os.path.join(top, file["file"])), SOURCE)
            if path.split("/")[0] not in PARTS or not file["lines"]:
                continue
            if path not in sources:
                sources[path] = Source(path)
            sources[path].add(file["lines"])
    return sources


def without_variants(sources):
    """The sources that this processor can run, and the names of the others."""
    flags = open_text("/proc/cpuinfo").replace("avx512f", "avx512").split()
    others = {path for path in sources
              if VARIANT.search(path) and VARIANT.search(path)[1] not in flags}
    return ({p: s for p, s in sources.items() if p not in others},
            sorted(others))


def share(counter):
    """ "90.0", of how many; nothing at all is all of it."""
    taken = sum(1 for n in counter if n)
    return 100 * taken / len(counter) if counter else 100


def branches_of(sources):
    return [n for s in sources for n in s.branches.values()]


def row(name, sources):
    lines = [n for s in sources for n in s.lines.values()]
    branches = branches_of(sources)
    return (f"{name:28} {len(lines):6} {share(lines):6.1f} "
            f"{len(branches):8} {share(branches):6.1f}")


def by_folder(sources):
    folders = collections.defaultdict(list)
    for path in sorted(sources):
        folders[os.path.dirname(path)].append(sources[path])
    return folders


def print_table(sources):
    print(f"{'folder':28} {'lines':>6} {'%':>6} {'branches':>8} {'%':>6}")
    for folder, inside in by_folder(sources).items():
        print(row(folder, inside))
    print(row("all", list(sources.values())))


def wanting(sources):
    """The folders that C tests should take more branches of."""
    return [folder for folder, inside in by_folder(sources).items()
            if folder not in PROGRAMS and share(branches_of(inside)) < WANTED]


def print_files(sources, prefix):
    """The files that begin so, and where sides of branches are missing."""
    for path in sorted(sources):
        if not path.startswith(prefix):
            continue
        s = sources[path]
        print(row(path, [s]))
        if s.untaken():
            print("  ", *s.untaken())


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("prefix", nargs="?",
                        help="a folder or file, to see its branches")
    parser.add_argument("--build", default=".", help="the build folder")
    args = parser.parse_args(argv)
    sources, others = without_variants(gather(args.build))
    if args.prefix:
        print_files(sources, args.prefix)
    else:
        print_table(sources)
    if others:
        print("for other processors:", *others)
    few = [] if args.prefix else wanting(sources)
    if few:
        print(f"less than {WANTED} % of the branches:", *few)
    return 0 if sources and not few else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

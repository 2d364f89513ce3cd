"""The C sources of a tree as the lint rules see them.

A file is its path from the top and its lines. Functions are found by the
style that this tree keeps to: a body opens and ends with a brace in the first
column. What does not keep to it is a fault of its own (rules.py).
"""

import os
import re

FOLDERS = ("codec", "digestd", "cachesim", "docs", "tests")
GENERATED = {"aclocal.m4"}
TAB = 8

COMMENT = re.compile(r"/\*.*?\*/", re.S)
INCLUDE = re.compile(r'\s*#\s*include\s+(["<])([^">]+)[">]')
# a line that begins a declaration of a function, its type maybe before it
DECLARATION = re.compile(r"(?!typedef|static|return|else|enum\b[^(]*$)"
                         r"[a-z_][\w \t*]*?\w+\(")


class File:
    def __init__(self, path, text):
        self.path, self.text = path, text
        self.lines = text.split("\n")
        if self.lines[-1] == "":
            self.lines.pop()
        self.folder, self.name = os.path.split(path)

    def is_c(self):
        return self.name.endswith((".c", ".h"))

    def includes(self):
        """(line number, whether quoted, name) of each include."""
        for number, line in enumerate(self.lines, 1):
            found = INCLUDE.match(line)
            if found:
                yield number, found[1] == '"', found[2]

    def comments(self):
        """(line number, text) of each comment of a C file."""
        for found in COMMENT.finditer(self.text):
            yield self.text.count("\n", 0, found.start()) + 1, found[0]

    def code(self):
        """The text; of a C file, without its comments."""
        return COMMENT.sub(" ", self.text) if self.is_c() else self.text

    def functions(self):
        """(name, first line, last line) of each body, braces included."""
        start = None
        for number, line in enumerate(self.lines, 1):
            if line == "{":
                start = number
            elif line.startswith("}") and start:
                yield self.name_above(start), start, number
                start = None

    def name_above(self, number):
        """The name of the function whose body opens in this line."""
        for line in reversed(self.lines[:number - 1]):
            found = re.match(r"(?:[a-z_].*?[ *])?([a-z_]\w*)\(", line, re.I)
            if found:
                return found[1]
        return "?"

    def is_static(self, number):
        """Whether the function whose body opens in this line is static."""
        for line in reversed(self.lines[:number - 1]):
            if not line or line.startswith(("}", "#")):
                return False
            if re.match(r"(\w+ )*(static|INLINE)\b", line):
                return True
        return False

    def prototypes(self):
        """(line number, name) of each function that a header declares."""
        for number, line in enumerate(self.lines, 1):
            if DECLARATION.match(line) and not self.is_macro(number):
                statement = self.statement(number)
                if statement.endswith(";"):
                    yield number, re.search(r"(\w+)\(", statement)[1]

    def is_macro(self, number):
        return number > 1 and self.lines[number - 2].endswith("\\")

    def statement(self, number):
        """The text from this line to the line that ends it."""
        text = ""
        for line in self.lines[number - 1:]:
            text += line
            if line.rstrip().endswith((";", "{", "}")):
                break
        return text

    def paragraph(self, number):
        """The lines from the last blank line down to this one."""
        first = number
        while first > 1 and self.lines[first - 2].strip():
            first -= 1
        return self.lines[first - 1:number]


def width(line):
    """Columns that a line takes."""
    columns = 0
    for c in line:
        columns += TAB - columns % TAB if c == "\t" else 1
    return columns


def is_text(name):
    return (name.endswith((".c", ".h", ".py", ".sh", ".inc", ".am", ".ac",
                           ".m4", ".md", ".def", ".awk"))
            or name == "bootstrap")


def read_file(top, path):
    with open(os.path.join(top, path), encoding="utf-8") as f:
        return File(path, f.read())


def read_tree(top):
    """All texts of the tree; what a build leaves in it is not looked at."""
    paths = [name for name in os.listdir(top)
             if is_text(name) and name not in GENERATED
             and os.path.isfile(os.path.join(top, name))]
    for folder in FOLDERS:
        for place, folders, names in os.walk(os.path.join(top, folder)):
            folders[:] = [f for f in folders if not f.startswith(".")]
            paths += [os.path.relpath(os.path.join(place, name), top)
                      for name in names if is_text(name)]
    return [read_file(top, path) for path in sorted(paths)]

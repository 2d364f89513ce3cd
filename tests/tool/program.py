"""What the tests of command-line programs share: running one.

A case is a function, or a row of a table: (label, arguments, input, code,
what stdout has, what stderr has).
"""

import os
import re
import subprocess
import tempfile

BUILD = os.path.abspath(os.environ.get("top_builddir", "."))
SOURCE = os.path.abspath(os.environ.get("top_srcdir", "."))


class Program:
    """A program of the build folder, by its path there."""

    def __init__(self, *path):
        self.path = os.path.join(BUILD, *path)
        self.name = path[-1]

    def __call__(self, *args, data=b"", cwd=None):
        """The exit code, standard output (bytes) and standard error (text)."""
        r = subprocess.run([self.path, *args], input=data, check=False,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           cwd=cwd)
        return r.returncode, r.stdout, r.stderr.decode()

    def on_a_terminal(self, *args, cwd=None):
        """Exit code and standard error when standard output is a terminal."""
        terminal, side = os.openpty()
        try:
            r = subprocess.run([self.path, *args], stdin=subprocess.DEVNULL,
                               stdout=side, stderr=subprocess.PIPE,
                               check=False, cwd=cwd)
        finally:
            os.close(terminal)
            os.close(side)
        return r.returncode, r.stderr.decode()

    def commands(self):
        """Name by name, as the program lists them."""
        return re.findall(r"^  ([a-z-]+) +\w", self("--help")[1].decode(),
                          re.M)

    def manual(self):
        path = os.path.join(SOURCE, "docs", self.name + ".1")
        with open(path, encoding="ascii") as f:
            return f.read()

    def row_test(self, row, cwd):
        """A test function of a row of a table."""
        label, args, data, code, out, err = row

        def test():
            got = self(*args, data=data, cwd=cwd)
            assert got[0] == code, got
            assert (out in got[1]) if out else not got[1], got
            assert (err in got[2]) if err else not got[2], got
        test.__name__ = label
        return test

    def examples(self, folder, title=None, **environment):
        """Runs every literal block of EXAMPLES of the manual in a shell, as a
        user would, in a folder: those before its parts, or of a part. Returns
        the blocks, and what they said."""
        text = self.manual().split(".Sh EXAMPLES")[1].split("\n.Sh ")[0]
        parts = text.split("\n.Ss ")
        text = parts[0] if title is None else next(
            p for p in parts if p.startswith(title + "\n"))
        blocks = re.findall(r"\.Bd -literal[^\n]*\n(.*?)\.Ed", text, re.S)
        path = os.path.dirname(self.path) + ":" + os.environ["PATH"]
        said = ""
        for block in blocks:
            script = "set -e\n" + block.replace(r"\e", "\\")
            r = subprocess.run(["sh", "-c", script], cwd=folder, check=False,
                               stdout=subprocess.PIPE, text=True,
                               env={**os.environ, "PATH": path,
                                    **environment})
            assert r.returncode == 0, block
            said += r.stdout
        return blocks, said


def folder_of(contents):
    """A folder with these files, name by name; it goes with the object."""
    folder = tempfile.TemporaryDirectory()
    for name, content in contents.items():
        with open(os.path.join(folder.name, name), "wb") as f:
            f.write(content)
    return folder

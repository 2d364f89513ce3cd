"""What the tests of digestctl share: running it, and telling TAP how it went.

A case is a function, or a row of a table: (label, arguments, input, code,
what stdout has, what stderr has).
"""

import os
import subprocess
import sys
import tempfile

BUILD = os.path.abspath(os.environ.get("top_builddir", "."))
SOURCE = os.path.abspath(os.environ.get("top_srcdir", "."))
CTL = os.path.join(BUILD, "digestd", "ctl", "digestctl")
KEY = "00112233445566778899aabbccddeeff"


def ctl(*args, data=b"", cwd=None):
    """The exit code, standard output (bytes) and standard error (text)."""
    r = subprocess.run([CTL, *args], input=data, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, check=False, cwd=cwd)
    return r.returncode, r.stdout, r.stderr.decode()


def on_a_terminal(*args, cwd=None):
    """Exit code and standard error when standard output is a terminal."""
    terminal, side = os.openpty()
    try:
        r = subprocess.run([CTL, *args], stdin=subprocess.DEVNULL, stdout=side,
                           stderr=subprocess.PIPE, check=False, cwd=cwd)
    finally:
        os.close(terminal)
        os.close(side)
    return r.returncode, r.stderr.decode()


def urls(numbers):
    return b"".join(b"http://a.example/%d\n" % i for i in numbers)


def built(numbers, *options):
    """A digest of numbered URLs, of 64 Kbit unless the options say so."""
    code, digest, err = ctl("build", "-k", KEY, "-b", "64K", "-H", "3",
                            *options, data=urls(numbers))
    assert code == 0, err
    return digest


def folder_of(contents):
    """A folder with these files, name by name; it goes with the object."""
    folder = tempfile.TemporaryDirectory()
    for name, content in contents.items():
        with open(os.path.join(folder.name, name), "wb") as f:
            f.write(content)
    return folder


def row_test(row, cwd):
    """A test function of a row of a table."""
    label, args, data, code, out, err = row

    def test():
        got = ctl(*args, data=data, cwd=cwd)
        assert got[0] == code, got
        assert (out in got[1]) if out else not got[1], got
        assert (err in got[2]) if err else not got[2], got
    test.__name__ = label
    return test


def run(tests):
    failed = False
    print(f"1..{len(tests)}")
    for number, test in enumerate(tests, 1):
        try:
            test()
            print(f"ok {number} - {test.__name__}")
        except Exception as e:  # any fault is this test's failure
            failed = True
            print(f"not ok {number} - {test.__name__}\n# {e!r}")
    sys.exit(failed)

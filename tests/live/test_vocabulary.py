#!/usr/bin/env python3
"""scd-replay, scd-origin and cachesim name the same options the same way, in
--help and in their manuals; names of earlier versions are still taken."""

import os
import re
import shutil
import subprocess
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, "tool"))

from program import SOURCE, Program, folder_of
from taprun import run

CACHESIM = Program("cachesim", "cachesim")
LIVE = [Program("cachesim", "live", name)
        for name in ("scd-replay", "scd-origin")]
LOG = "".join(f'c - - [10/Oct/2000:13:55:36 -0700] "{line} 10\n' for line in (
    'GET /a HTTP/1.1" 200', 'GET /a HTTP/1.1" 200', 'GET /a HTTP/1.1" 200',
    'POST /a HTTP/1.1" 200', 'GET /b HTTP/1.1" 404', 'GET /b HTTP/1.1" 500'))
FOLDER = folder_of({"t.csv": b"1;a;5\n2;a;5\n3;b;6\n",
                    "access.log": LOG.encode()})
AT = FOLDER.name

SHARED = {
    "scd-replay": {"trace-type", "trace-type-params", "base", "num-req",
                   "strict", "json", "quiet", "partition"},
    "scd-origin": {"trace-type", "trace-type-params", "base", "num-thread"},
}


def options(program, *command):
    """Letter by name, as --help has them."""
    text = program(*command, "--help")[1].decode()
    found = re.findall(r"^  +(?:-(\w), +)?--([a-z-]+)", text, re.M)
    return {name: letter for letter, name in found}


def same_names_and_letters():
    theirs = options(CACHESIM, "run")
    letters = {letter: name for name, letter in theirs.items() if letter}
    for program in LIVE:
        ours = options(program)
        shared = SHARED[program.name]
        assert shared <= set(ours) and shared <= set(theirs), ours
        for name, letter in ours.items():
            if letter and name in theirs:
                assert letter == theirs[name], (program.name, name)
            elif letter:
                assert letter not in letters, (program.name, name, letter)
        for old in ("format", "columns", "requests", "round-robin",
                    "threads"):
            assert old not in ours, (program.name, old)


def manuals_have_the_options():
    for program in LIVE:
        manual = program.manual()
        for name, letter in options(program).items():
            item = f".It Fl {letter} , Fl -{name}" if letter \
                else f".It Fl -{name}"
            assert re.search("^" + re.escape(item) + r"\b", manual,
                             re.M), (program.name, name, letter)


def completion_offers_the_options():
    if not shutil.which("bash"):
        return
    for program in LIVE:
        words = subprocess.run(
            ["bash", "-c", 'source "$1"; COMP_WORDS=("$2" --); COMP_CWORD=1; '
             '_digestctl_live "$2"; printf "%s\\n" "${COMPREPLY[@]}"', "bash",
             os.path.join(SOURCE, "docs", "completion", "digestctl.bash"),
             program.path], stdout=subprocess.PIPE, check=True).stdout
        want = {f"--{name}" for name in options(program)}
        assert want <= set(words.decode().split()), words


def info(*args):
    code, out, err = LIVE[0]("--info", *args, cwd=AT)
    assert code == 0, err
    return out


def names_of_earlier_versions():
    want = info("--trace-type", "csv", "--trace-type-params",
                "time,url,size,delimiter=;", "t.csv")
    assert b"requests         3" in want, want
    assert want == info("-f", "csv", "-t", "time,url,size,delimiter=;",
                        "t.csv")
    assert want == info("--format", "csv", "--columns",
                        "time,url,size,delimiter=;", "t.csv")
    node = "http://127.0.0.1:1"
    # nothing answers at port 1, but the command line is right
    for args in (("--requests", "1", "-n", node, "--round-robin"),
                 ("-n", "1", "--node", node, "--partition", "round-robin"),
                 ("-n", "1", "--node", node, "-c", "2", "-q")):
        code, out, err = LIVE[0](*args, "t.csv", cwd=AT)
        assert code == 1 and b"requests" in out, (args, err)
    for args in (("--partition", "prefix"), ("-n", "x"), ("--num-req", "0")):
        code, _, err = LIVE[0]("--node", node, *args, "t.csv", cwd=AT)
        assert code == 2 and args[1] in err, (args, err)
    for args in (("--threads", "0"), ("-N", "0")):
        code, _, err = LIVE[1](*args, cwd=AT)
        assert code == 2 and '--num-thread: "0" is not a whole number of 1 ' \
            in err, (args, err)


def wrong_values_are_named():
    for program, args, words in (
            (0, ("--node", "x"),
             '--node: "x" is not a URL such as http://host:port'),
            (0, ("--verify", "x"), '--verify: "x" is not auto, all or none'),
            (0, ("--speed", "-1"), '--speed: "-1" is not a number of 1e-09 '),
            (0, ("t.csv",), "scd-replay: --node is needed"),
            (0, ("--node", "http://a"), "scd-replay: one trace is needed"),
            (1, ("--lie", "2"), '--lie: "2" is not a number of 0 to 1'),
            (1, ("--listen", "here"), '--listen: "here" is not an address'),
            (1, ("t.csv",), "scd-origin: takes no operands")):
        code, out, err = LIVE[program](*args, cwd=AT)
        assert (code, out) == (2, b"") and words in err, (args, err)


def info_counts_what_may_be_stored():
    """As cachesim info does."""
    text = info("access.log").decode()
    found = dict(re.split("  +", line) for line in text.splitlines())
    assert (found["requests"], found["uncacheable"]) == ("6", "3"), text
    assert (found["objects"], found["max hit ratio"]) == ("1", "0.3333"), text
    assert found["max byte hits"] == "0.3333", text


TESTS = [same_names_and_letters, manuals_have_the_options,
         completion_offers_the_options,
         names_of_earlier_versions, wrong_values_are_named,
         info_counts_what_may_be_stored]

if __name__ == "__main__":
    run(TESTS)

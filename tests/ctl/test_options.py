#!/usr/bin/env python3
"""The options that digestctl takes are those that --help, the manual page and
the completion of bash name: for each command, what getopt_long() knows is
found out by asking it for every letter.
"""

import os
import pty
import re
import select
import shutil
import string
import subprocess
import time

from harness import CTL, SOURCE, ctl, folder_of, run

COMPLETION = os.path.join(SOURCE, "docs", "completion", "digestctl.bash")
FOLDER = folder_of({"some file.scd": b"", "other": b""})
AT = FOLDER.name


def commands():
    """Name by name, as the tool lists them."""
    out = ctl("--help")[1].decode()
    return re.findall(r"^  ([a-z-]+) +\w", out, re.M)


def ask(command, *args):
    """What the tool says on stderr, without input and out of the way."""
    return ctl(command, *args, cwd=AT)[2]


def names_known(command):
    """The long options of a command, by the errors of getopt_long()."""
    found = set()
    for letter in string.ascii_lowercase:
        err = ask(command, f"--{letter}=\1")
        if "unrecognized option" in err:
            continue
        if "is ambiguous" in err:
            found |= set(re.findall(r"'--([a-z-]+)'", err))
            continue
        if "doesn't allow an argument" not in err:
            err = ask(command, f"--{letter}")
            assert "requires an argument" in err, (command, letter, err)
        found |= set(re.findall(r"'--([a-z-]+)'", err))
    return {n for n in found if len(n) > 1}


def wants_value(command, name):
    return "doesn't allow an argument" not in ask(command, f"--{name}=\1")


def short_wants_value(command, letter):
    """None for what is no option. What follows a flag is none either, so that
    nothing begins to work."""
    err = ask(command, f"-{letter}\1")
    if f"invalid option -- '{letter}'" in err:
        return None
    return "invalid option -- '\1'" not in err


def help_of(command):
    """Long name: its letter or "", and what its value is called or ""."""
    out = ctl(command, "--help")[1].decode()
    rows = re.findall(r"^  (?:-(.), |    )--([a-z-]+)(?: ([A-Z]+))? +\S",
                      out, re.M)
    return {name: (letter, value) for letter, name, value in rows}


def help_has_all_options():
    for command in commands():
        told = help_of(command)
        assert set(told) == names_known(command), (command, told)
        for name, (letter, value) in told.items():
            assert wants_value(command, name) == bool(value), (command, name)
            if letter:
                assert (short_wants_value(command, letter)
                        == bool(value)), (command, name)
        letters = {letter for letter, _ in told.values()}
        for letter in set(string.ascii_letters) - letters - {"h"}:
            assert short_wants_value(command, letter) is None, (command,
                                                                letter)


def help_is_what_is_asked_for():
    """As the first argument of a command; the usage begins it, and is in the
    error of a command line without sense."""
    assert ctl("--help")[:2] == ctl("-h")[:2]
    for command in commands():
        code, text, err = ctl(command, "--help")
        assert (code, err) == (0, "") and ctl(command, "-h")[1] == text
        assert text.startswith(f"usage: digestctl {command} ".encode())
        assert all(len(line) < 80 for line in text.splitlines())
        assert ctl(command, "x", "--help")[1] == text
        assert ctl(command, "--", "--help", cwd=AT)[1] != text
    code, out, err = ctl("nonsense")
    assert code == 2 and not out and "usage: digestctl COMMAND" in err


def manual():
    with open(os.path.join(SOURCE, "docs", "digestctl.1"),
              encoding="ascii") as f:
        return f.read()


def manual_has_all_options():
    """In the description of each command its options, and no others."""
    text = manual()
    described = text[text.index(".Sh DESCRIPTION"):text.index(".Sh FILES")]
    parts = re.split(r"^\.It Cm ([a-z-]+)$", described, flags=re.M)
    sections = dict(zip(parts[1::2], parts[2::2]))
    assert set(commands()) <= set(sections)
    for command in commands():
        # what follows the last command is about all of them
        section = sections[command].split("summarizes")[0]
        section = re.sub(r"^\.Ql .*\n", "", section, flags=re.M)
        named = set(re.findall(r"Fl -([a-z][a-z-]+)", section))
        named |= set(re.findall(r"Fl . , -([a-z][a-z-]+)", section))
        assert named == set(help_of(command)), (command, named)
        for name, (letter, value) in help_of(command).items():
            item = re.search(rf"^\.(?:It|Pq) .*-{name}\b(.*)", section, re.M)
            has_value = re.match(r" (Ar|Cm) ", item[1])
            assert bool(value) == bool(has_value), (command, name)
            assert not letter or f"Fl {letter}" in section, (command, name)


def synopsis_has_all_commands():
    text = manual()
    synopsis = text[text.index(".Sh SYN"):text.index(".Sh DESC")]
    named = re.findall(r"^\.Cm ([a-z-]+)$", synopsis, re.M)
    assert set(named) == set(commands())


def complete(*words):
    """What completion offers for the last word, of a bash without readline."""
    script = ('source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
              '_digestctl "$1" "$COMP_WORD" 2>/dev/null; '
              'printf "%s\\n" "${COMPREPLY[@]}"')
    r = subprocess.run(["bash", "-c", script, COMPLETION, CTL, *words],
                       stdout=subprocess.PIPE, check=False, text=True, cwd=AT,
                       stderr=subprocess.PIPE)
    assert not r.stderr, r.stderr
    return [line for line in r.stdout.splitlines() if line]


def completion_offers_commands():
    assert set(complete("")) == {*commands(), "-h", "--help", "-V",
                                 "--version"}
    assert complete("ver") == ["verify"] and complete("x") == []


def completion_offers_options():
    for command in commands():
        told = help_of(command)
        expected = {f"--{name}" for name in told} | {"--help", "-h"}
        expected |= {f"-{letter}" for letter, _ in told.values() if letter}
        assert set(complete(command, "-")) == expected, command
        for name, (_, value) in told.items():
            assert f"--{name}" in complete(command, "--" + name[:2])


def files_or_words(command, option):
    """What is offered for the value of an option, also after a "="."""
    offered = complete(command, option, "")
    assert complete(command, option, "=") == offered
    assert complete(command, option, "=", "") == offered
    return offered


def completion_knows_values():
    """Words that it offers are those that the tool asks for; files where the
    help says FILE; nothing else for what else has a value."""
    with_words = set()
    for command in commands():
        for name, (letter, value) in help_of(command).items():
            if not value:
                continue
            offered = files_or_words(command, f"--{name}")
            if letter:
                assert complete(command, f"-{letter}", "") == offered
            if value == "FILE":
                assert "other" in offered, (command, name)
                continue
            told = ask(command, f"--{name}", "\1")
            words = re.search(r'" is not (?:one of )?([a-z, ]+)$', told,
                              re.M)
            listed = re.split(r", | or | ", words[1]) if words else []
            if listed == ["a", "number"]:
                listed = []
            assert sorted(offered) == sorted(listed), (command, name, told)
            with_words.update(offered)
    assert {"squid", "double", "scd"} <= with_words


def completion_offers_files():
    """Where operands are files, and not where there are none."""
    for command in commands():
        if command in ("tune", "tables", "bench"):
            assert complete(command, "o") == [], command
        else:
            assert complete(command, "o") == ["other"], command
    assert complete("build", "-j", "o") == ["other"]


class Shell:
    """A bash at a terminal."""

    def __init__(self):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(AT)
            env = {"PATH": os.path.dirname(CTL) + ":" + os.environ["PATH"],
                   "INPUTRC": "/dev/null", "PS1": "", "TERM": "dumb",
                   "HISTFILE": ""}
            os.execvpe("bash", ["bash", "--norc", "--noprofile", "-i"], env)

    def wait_for(self, text, seconds=20):
        """Reads until there is such a text."""
        seen, end = "", time.monotonic() + seconds
        while text not in seen and time.monotonic() < end:
            if select.select([self.terminal], [], [], 0.1)[0]:
                seen += os.read(self.terminal, 4096).decode()
        assert text in seen, seen
        return seen

    def type(self, text):
        os.write(self.terminal, text.encode())

    def close(self):
        os.close(self.terminal)
        os.waitpid(self.pid, 0)


def completion_at_a_terminal():
    """Readline takes what is offered, and quotes a file's blanks."""
    shell = Shell()
    try:
        shell.type(f"source '{COMPLETION}'; echo rea''dy\n")
        shell.wait_for("ready\r\n")
        # what digestctl gets, but for --help, which completion asks for
        shell.type("digestctl() { printf '<%s>' \"$@\"; echo; }\n")
        shell.type("digestctl conv\t--t\tsq\t--outp\tsome\t\n")
        shell.wait_for("<convert><--to><squid><--output><some file.scd>")
        shell.type("digestctl build --hashing=sq\toth\t\n")
        shell.wait_for("<build><--hashing=squid><other>")
    finally:
        shell.close()


TESTS = [help_has_all_options, help_is_what_is_asked_for,
         manual_has_all_options, synopsis_has_all_commands]
if shutil.which("bash"):
    TESTS += [completion_offers_commands, completion_offers_options,
              completion_knows_values, completion_offers_files,
              completion_at_a_terminal]

if __name__ == "__main__":
    run(TESTS)

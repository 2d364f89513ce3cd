"""The options that a program takes are those that --help, its manual page and
the completion of bash name. What getopt_long() knows is in its errors.
"""

import atexit
import functools
import os
import re
import shutil
import string
import subprocess
import tempfile

from program import BUILD, SOURCE, folder_of

COMPLETION = os.path.join(SOURCE, "docs", "completion", "digestctl.bash")
FISH = os.path.join(BUILD, "docs", "completion", "digestctl.fish")
FOLDER = folder_of({"some file.scd": b"", "other": b""})
AT = FOLDER.name

# Completes one line after the other: words, each of which ends in a separator.
# What the program says is asked for once, as it is the same for many lines.
SEPARATOR = "\x1f"
COMPLETE = r"""
source "$0"
declare -A said
command()
{
	printf '%s\n' "${said[$*]}"
}
while IFS=$'\x1f' read -r -a COMP_WORDS; do
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
	tool=${COMP_WORDS[0]} name=${COMP_WORDS[1]}
	for what in "$tool --help" "$tool $name --help"; do
		[ -n "${said[$what]+x}" ] || said[$what]=$($what 2>/dev/null)
	done
	_digestctl "$tool" 2>/dev/null
	printf '%s\x1f' "${COMPREPLY[@]}"
	echo
done
"""

# The same of a fish; the lines are its arguments.
COMPLETE_FISH = r"""
source $argv[1]
for line in $argv[2..]
    complete -C $line | string replace -r '\t.*' ''
    printf '\x1f'
end
"""


def part(text, title):
    """A part of the manual that sections refer to; nothing if it is none of
    these."""
    found = re.search(rf"^\.Ss {title}$(.*?)(?=^\.S[sh] |\Z)", text,
                      re.M | re.S)
    return found[1] if found else ""


class Options:
    """What is asked of every program with commands."""

    beside = ()           # operands with which no command begins to work
    after_commands = "\0"  # begins what the manual says of all commands
    some_words = set()    # that options take
    without_files = ()    # commands whose operands are no files

    def __init__(self, program):
        self.program = program
        self.help_of = functools.cache(self.ask_help_of)
        self.bash = None

    def tests(self):
        tests = [self.help_is_what_is_asked_for, self.synopsis_has_all_commands]
        # sanitizers have nothing to say of a manual or of a shell's script,
        # and some thousand runs of a program take long with them
        if float(os.environ.get("SCD_TEST_SLOW", "1")) > 1:
            return tests
        tests += [self.help_has_all_options, self.manual_has_all_options]
        if shutil.which("bash"):
            tests += [self.completion_offers_commands,
                      self.completion_offers_options,
                      self.completion_knows_values,
                      self.completion_offers_files]
            if shutil.which("fish"):
                tests.append(self.fish_offers_what_bash_does)
        return tests

    def ask(self, command, *args):
        """What the tool says on stderr, without input and out of the way."""
        return self.program(command, *self.beside, *args, cwd=AT)[2]

    def names_known(self, command):
        """The long options of a command: getopt_long() tells those that begin
        with a word, and all begin with none."""
        err = self.ask(command, "--=\1")
        if "is ambiguous" not in err:  # there is one
            assert "doesn't allow an argument" in err, (command, err)
        return set(re.findall(r"'--([a-z-]+)'", err))

    def wants_value(self, command, name):
        told = self.ask(command, f"--{name}=\1")
        return "doesn't allow an argument" not in told

    def short_wants_value(self, command, letter):
        """None for what is no option. What follows a flag is none either, so
        that nothing begins to work."""
        err = self.ask(command, f"-{letter}\1")
        if f"invalid option -- '{letter}'" in err:
            return None
        return "invalid option -- '\1'" not in err

    def ask_help_of(self, command):
        """Long name: its letter or "", and what its value is called or ""."""
        out = self.program(command, "--help")[1].decode()
        rows = re.findall(r"^  (?:-(.), |    )--([a-z-]+)(?: ([A-Z]+))?"
                          r"(?: +\S|$)", out, re.M)
        return {name: (letter, value) for letter, name, value in rows}

    def help_has_all_options(self):
        for command in self.program.commands():
            told = self.help_of(command)
            assert set(told) == self.names_known(command), (command, told)
            for name, (letter, value) in told.items():
                wants = {self.wants_value(command, name)}
                if letter:
                    wants.add(self.short_wants_value(command, letter))
                assert wants == {bool(value)}, (command, name)
            letters = {letter for letter, _ in told.values()}
            for letter in set(string.ascii_letters) - letters - {"h"}:
                wants = self.short_wants_value(command, letter)
                assert wants is None, (command, letter)

    def help_is_what_is_asked_for(self):
        """As the first argument of a command; the usage begins it, and is in
        the error of a command line without sense."""
        name = self.program.name
        assert self.program("--help")[:2] == self.program("-h")[:2]
        for command in self.program.commands():
            code, text, err = self.program(command, "--help")
            assert (code, err) == (0, "")
            assert self.program(command, "-h")[1] == text
            assert text.startswith(f"usage: {name} {command} ".encode())
            assert all(len(line) < 80 for line in text.splitlines())
            assert self.program(command, "x", "--help")[1] == text
            assert self.program(command, "--", "--help", cwd=AT)[1] != text
        code, out, err = self.program("nonsense")
        assert code == 2 and not out and f"usage: {name} COMMAND" in err

    def manual_has_all_options(self):
        """In the description of each command its options, and no others."""
        text = self.program.manual()
        described = text[text.index(".Sh DESCRIPTION"):text.index(".Sh FILES")]
        parts = re.split(r"^\.It Cm ([a-z-]+)$", described, flags=re.M)
        sections = dict(zip(parts[1::2], parts[2::2]))
        assert set(self.program.commands()) <= set(sections)
        for command in self.program.commands():
            section = sections[command].split(self.after_commands)[0]
            titles = re.findall(r"^\.Sx (\w.*?)(?: [.,])?$", section, re.M)
            section += "".join(part(described, t) for t in titles)
            section = re.sub(r"^\.Ql .*\n", "", section, flags=re.M)
            named = set(re.findall(r"Fl -([a-z][a-z-]+)", section))
            named |= set(re.findall(r"Fl . , -([a-z][a-z-]+)", section))
            assert named == set(self.help_of(command)), (command, named)
            for name, (letter, value) in self.help_of(command).items():
                item = re.search(rf"^\.(?:It|Pq) .*-{name}(?![\w-])(.*)",
                                 section, re.M)
                has_value = re.match(r" (Ar|Cm) ", item[1])
                assert bool(value) == bool(has_value), (command, name)
                assert not letter or f"Fl {letter}" in section, (command, name)

    def synopsis_has_all_commands(self):
        text = self.program.manual()
        synopsis = text[text.index(".Sh SYN"):text.index(".Sh DESC")]
        named = re.findall(r"^\.Cm ([a-z-]+)$", synopsis, re.M)
        assert set(named) == set(self.program.commands())

    def complete(self, *words):
        """What is offered for the last word, of a bash without readline."""
        if not self.bash:
            self.bash = subprocess.Popen(
                ["bash", "-c", COMPLETE, COMPLETION], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                bufsize=1, cwd=AT)
            atexit.register(self.bash.communicate)
        self.bash.stdin.write("".join(
            word + SEPARATOR for word in (self.program.path, *words)) + "\n")
        line = self.bash.stdout.readline()
        assert line.endswith(SEPARATOR + "\n"), line
        return [word for word in line[:-1].split(SEPARATOR) if word]

    def completion_offers_commands(self):
        commands = self.program.commands()
        assert set(self.complete("")) == {*commands, "-h", "--help", "-V",
                                          "--version"}
        assert self.complete(commands[-1][:3]) == [commands[-1]]
        assert self.complete("x") == []

    def completion_offers_options(self):
        for command in self.program.commands():
            told = self.help_of(command)
            expected = {f"--{name}" for name in told} | {"--help", "-h"}
            expected |= {f"-{letter}" for letter, _ in told.values() if letter}
            assert set(self.complete(command, "-")) == expected, command
            for name, (_, value) in told.items():
                assert f"--{name}" in self.complete(command, "--" + name[:2])

    def files_or_words(self, command, option):
        """What is offered for the value of an option, also after a "="."""
        offered = self.complete(command, option, "")
        assert self.complete(command, option, "=") == offered
        assert self.complete(command, option, "=", "") == offered
        return offered

    def completion_knows_values(self):
        """Words that it offers are those that the tool asks for; files where
        the help says FILE; nothing else for what else has a value."""
        with_words = set()
        for command in self.program.commands():
            for name, (letter, value) in self.help_of(command).items():
                if not value:
                    continue
                offered = self.files_or_words(command, f"--{name}")
                if letter:
                    assert self.complete(command, f"-{letter}", "") == offered
                if value == "FILE":
                    assert "other" in offered, (command, name)
                    continue
                told = self.ask(command, f"--{name}", "\1")
                words = re.search(r'" is not (?:one of )?([a-z][\w, -]+)$',
                                  told, re.M)
                listed = re.split(r", | or | ", words[1]) if words else []
                if listed[:1] == ["a"]:  # number, size
                    listed = []
                assert sorted(offered) == sorted(listed), (command, name, told)
                with_words.update(offered)
        assert self.some_words <= with_words

    def completion_offers_files(self):
        """Where operands are files, and not where there are none."""
        for command in self.program.commands():
            if command in self.without_files:
                assert self.complete(command, "o") == [], command
            else:
                assert self.complete(command, "o") == ["other"], command

    def fish_lines(self):
        """What is typed, the same as bash has it, and what fish repeats: of
        each command options and operands, and an option of each kind of value.
        """
        yield "", ("",), ""
        seen = {""}
        for command in self.program.commands():
            yield f"{command} -", (command, "-"), ""
            yield f"{command} oth", (command, "oth"), ""
            for name, (_, value) in self.help_of(command).items():
                if value in seen:
                    continue
                seen.add(value)
                words = (command, f"--{name}", "")
                yield f"{command} --{name} ", words, ""
                yield f"{command} --{name}=", words, f"--{name}="

    def fish_offers_what_bash_does(self):
        rows = list(self.fish_lines())
        folder, name = os.path.split(self.program.path)
        with tempfile.TemporaryDirectory() as home:
            said = subprocess.run(
                ["fish", "--no-config", "-c", COMPLETE_FISH, FISH,
                 *(f"{name} {line}" for line, _, _ in rows)],
                text=True, check=True, cwd=AT, stdout=subprocess.PIPE,
                env={**os.environ, "HOME": home,
                     "PATH": folder + ":" + os.environ["PATH"]}).stdout
        for row, offered in zip(rows, said.split(SEPARATOR)):
            got = [word.removeprefix(row[2]) for word in offered.splitlines()]
            want = self.complete(*row[1])
            # a bash without readline takes a blank in a file's name for two
            assert sorted(" ".join(got).split()) == sorted(want), (row, got)

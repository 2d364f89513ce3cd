"""Runs a program under the SystemCallFilter= of a unit, as systemd would, but
another system call ends it: seccomp.py CALL,CALL... PROGRAM ARGUMENTS...
"""

import ctypes
import os
import re
import struct
import subprocess
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
KILL_PROCESS, ALLOW = 0x80000000, 0x7fff0000
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06  # classic BPF


def groups():
    """systemd's groups of system calls: name by name, their members."""
    said = subprocess.run(["systemd-analyze", "syscall-filter", "--no-pager"],
                          check=True, text=True, stdout=subprocess.PIPE).stdout
    found, name = {}, None
    for line in said.splitlines():
        if re.match(r"@[a-z-]+$", line):
            name = line
            found[name] = []
        elif name and re.match(r" +@?[a-z0-9_-]+$", line):
            found[name].append(line.strip())
        elif not line.strip():
            name = None
    return found


def members(name, all_groups):
    if not name.startswith("@"):
        return {name}
    return set().union(*(members(m, all_groups) for m in all_groups[name]))


def allowed(settings):
    """What is left of these settings, each a list that allows or, behind a
    tilde, refuses; what starts a program is always there."""
    all_groups, left = groups(), set()
    for setting in settings:
        words = setting.lstrip("~").split()
        named = set().union(*(members(w, all_groups) for w in words))
        left = left - named if setting.startswith("~") else left | named
    return sorted(left | members("@default", all_groups) | {"execve"})


def numbers():
    """The numbers of system calls on this machine."""
    compiler = os.environ.get("CC", "cc").split()
    said = subprocess.run([*compiler, "-E", "-dM", "-include",
                           "asm/unistd.h", "-xc", "/dev/null"], check=True,
                          text=True, stdout=subprocess.PIPE).stdout
    return {name: int(number) for name, number
            in re.findall(r"#define __NR_(\w+) (\d+)$", said, re.M)}


def restrict(names):
    """No system call but these from here on, in all that is started too."""
    known = numbers()
    rows = [(LOAD, 0, 0, 0)]  # the number
    for name in names:
        if name in known:
            rows += [(JUMP_IF_EQUAL, 0, 1, known[name]), (RETURN, 0, 0, ALLOW)]
    rows.append((RETURN, 0, 0, KILL_PROCESS))
    code = b"".join(struct.pack("HBBI", *row) for row in rows)
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HxxxxxxP", len(rows), ctypes.addressof(buffer))
    if (libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
            or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program)):
        raise OSError(ctypes.get_errno(), "seccomp")


if __name__ == "__main__":
    restrict(sys.argv[1].split(","))
    os.execv(sys.argv[2], sys.argv[2:])

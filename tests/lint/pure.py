"""What lint asks of the objects of pure code, from what nm says about them.

Pure code keeps no state: nothing lies in writable sections but tables that
are constant after relocation. It calls no clock, no I/O, no threads: all that
it takes from outside is in MAY_CALL, a list that grows with a reason only.
"""

import re
import subprocess

# The C library as far as it is a function of its arguments, and memory, with
# advice on its pages; and what the processor can do, which never changes.
MAY_CALL = set("""
    malloc calloc realloc aligned_alloc madvise free strndup strdup
    memchr memcmp memcpy memmove memset bcmp
    strcasecmp strchr strcmp strcspn strlen strncasecmp strncmp strnlen
    strpbrk strrchr strspn strstr
    snprintf vsnprintf
    ceil exp exp2 expm1 floor fabs fma fmin fmax ldexp frexp lgamma_r log
    log1p log2 log10 nextafter pow round sqrt
    qsort bsearch
    MD5Init MD5Update MD5Final
    __assert_fail
    __cpu_model __cpu_features2
""".split())

# Of these, what gives other results on other processors. What decides for a
# node does without, so that a seed means the same everywhere.
INEXACT = set("""
    exp exp2 expm1 lgamma_r log log1p log2 log10 pow
""".split())

# What compilers put in by themselves.
COMPILER = re.compile(r"_GLOBAL_OFFSET_TABLE_|__stack_chk_fail|__popcount.i2"
                      r"|__(u?div|u?mod|mul|clz|ctz|ashl|lshr|ashr)\w*[dt]i\d"
                      r"|__(asan|ubsan|tsan|sanitizer|msan|lsan|sancov|gcov"
                      r"|llvm)_\w*|_Unwind_\w+|__gcc_personality_v0"
                      r"|DW\.ref\.__gcc_personality_v0")

# State that instrumentation keeps, none of ours.
INSTRUMENTS = re.compile(r"\.?L?ASAN|__odr_asan|_sub_[ID]_|asan\.|___asan"
                         r"|__asan|__gcov|\.?Lubsan|__tsan|__sanc|__llvm"
                         r"|__unnamed|\.L")

STATE = re.compile(r"\.(data(?!\.rel\.ro)|bss|tdata|tbss)|\*COM\*")


def nm(archive):
    """Rows (object, name, section) of an archive; section "" is not here."""
    text = subprocess.run(["nm", "-f", "sysv", archive], check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          universal_newlines=True).stdout
    member = archive
    for line in text.splitlines():
        begins = re.match(r"Symbols from (.*):$", line)
        if begins:
            member = begins[1]
        columns = [c.strip() for c in line.split("|")]
        if len(columns) == 7 and columns[0] != "Name":
            yield (member, columns[0], columns[6], columns[2])


def defined(archive):
    """The names that the objects of an archive define."""
    return {name for _, name, _, kind in nm(archive) if kind not in "Uw"}


def inexact(archive):
    """What in an archive, but for the codec's part, is not the same anywhere.

    The codec predicts sizes with it, and chooses codings, which every reader
    takes.
    """
    for member, name, _, kind in nm(archive):
        if (kind in "Uw" and name in INEXACT
                and "libscd" not in member):
            yield f"{member}: calls {name}"


def complaints(archive, others=()):
    """What is not pure in an archive of objects, which may call others."""
    rows = list(nm(archive))
    ours = set().union(*map(defined, (archive, *others)))
    for member, name, section, kind in rows:
        if kind in "Uw":
            plain = re.sub(r"^__(\w+)_chk$", r"\1", name)
            if not (name in ours or plain in MAY_CALL
                    or COMPILER.fullmatch(name)):
                yield f"{member}: calls {name}"
        elif STATE.match(section) and not INSTRUMENTS.match(name):
            yield f"{member}: keeps {name} in {section}"

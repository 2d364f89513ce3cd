#!/usr/bin/env python3
"""Plants a fault for every rule in a small tree: the rule must find it.

The tree without the fault must pass, so that a rule that complains about
everything does not pass for one that works. TAP, one line a fault.
"""

import os
import sys
import tempfile

import rules
import source

HEADER = """\
/*
 * A thing, for tests.
 */
#ifndef SCD_THING_H
#define SCD_THING_H

#define THING_TWO 2

/* Twice x. Cannot fail. */
int thing_twice(int x);

#endif
"""

BODY = """\
/*
 * A thing, for tests.
 */
#include "codec/thing.h"

#include <string.h>

int thing_twice(int x)
{
\treturn THING_TWO * x;
}
"""

# A tree that no rule complains about.
GOOD = {
    "codec/thing.h": HEADER,
    "codec/thing.c": BODY,
    "codec/all.h": HEADER.replace("THING", "ALL").replace(
        "/* Twice", '#include "thing.h"\n\n/* Twice').replace("twice", "all"),
    "digestd/mesh/node.c": BODY.replace("thing_", "node_"),
    "digestd/fetch/fetch_curl.c": BODY.replace("thing_", "fetch_").replace(
        "string.h", "curl/curl.h"),
    "digestd/os/loop.c": BODY.replace("thing_", "loop_").replace(
        "string.h", "sys/epoll.h"),
    "cachesim/live/replay.c": BODY.replace("thing_", "replay_").replace(
        "string.h", "curl/curl.h"),
    "digestd/disk/disk.c": BODY.replace("thing_", "disk_"),
    "digestd/disk/disk_none.c": BODY.replace("thing_", "disk_"),
    "codec/Makefile.inc": "SOURCES = codec/thing.h codec/all.h\n",
    "tests/codec/test_thing.c": BODY,
    "tests/codec/test_memory.c": (
        BODY + '\nx y[] = {\n\t{"scd_tested", z},\n};\n'),
}


def include(name):
    return BODY.replace("<string.h>", name)


def body_of(lines):
    return BODY.replace("\treturn", "\tx++;\n" * (lines - 3) + "\treturn")


def static_named(name):
    return BODY.replace("int thing_twice", f"static int {name}")


# rule, path, the text with the fault
FAULTS = (
    (rules.function_names, "codec/a.c", static_named("twice")),
    (rules.function_names, "codec/a.c",
     static_named("b_twice").replace("static int", "static int\n")),
    (rules.function_names, "digestd/mesh/a.c", BODY),
    (rules.function_names, "digestd/mesh/node_b.c", static_named("node_twice")),
    (rules.function_names, "cachesim/world/world_a.c", static_named("b_twice")),
    (rules.file_names, "digestd/store/node.c", BODY),
    (rules.file_names, "digestd/http/thing.h", HEADER),
    (rules.headers_are_listed, "digestd/http/unlisted.h", HEADER),
    (rules.file_names, "cachesim/together.c", BODY),
    (rules.include_arrows, "codec/a.c", include('"digestd/mesh/node.h"')),
    (rules.include_arrows, "codec/a.c", include('"codec/absent.h"')),
    (rules.include_arrows, "codec/a.c", include('"thing.h"')),
    (rules.include_arrows, "digestd/mesh/a.c", include('"digestd/proxy/x.h"')),
    (rules.include_arrows, "digestd/ctl/a.c", include('"digestd/mesh/x.h"')),
    (rules.include_arrows, "cachesim/trace/a.c", include('"digestd/os/x.h"')),
    (rules.include_arrows, "cachesim/trace/a.c",
     include('"cachesim/live/x.h"')),
    (rules.include_arrows, "digestd/proxy/a.c", include('"tests/x.h"')),
    (rules.include_arrows, "digestd/proxy/a.c", include('"cachesim/live/x.h"')),
    (rules.folders_have_layers, "digestd/new/a.c", BODY),
    (rules.library_headers, "digestd/proxy/a.c", include("<curl/curl.h>")),
    (rules.library_headers, "digestd/fetch/a.c", include("<microhttpd.h>")),
    (rules.library_headers, "digestd/server/a.c", include("<sys/epoll.h>")),
    (rules.library_headers, "digestd/main.c", include("<nghttp2/nghttp2.h>")),
    (rules.pure_headers, "codec/a.c", include("<time.h>")),
    (rules.pure_headers, "digestd/mesh/a.c", include("<pthread.h>")),
    (rules.pure_headers, "digestd/mesh/a.c", include("<sys/socket.h>")),
    (rules.long_functions, "digestd/proxy/a.c", body_of(81)),
    (rules.brace_places, "codec/a.c", BODY.replace(")\n{", ") {")),
    (rules.long_files, "codec/a.c", BODY + "\n" * 800),
    (rules.long_lines, "codec/a.c", BODY + "/*" + "x" * 77 + "*/\n"),
    (rules.long_lines, "codec/a.c", BODY + "\t" * 10 + ";\n"),
    (rules.white_space, "codec/a.c", BODY.replace("TWO *", "TWO * \n\t\t")),
    (rules.white_space, "codec/a.c", BODY.replace("\treturn", " " * 8 + "r")),
    (rules.marks, "codec/a.c", BODY + "/* TO" "DO: more */\n"),
    (rules.marks, "tests/codec/Makefile.inc", "# FIX" "ME\n"),
    (rules.vague_names, "codec/string_util.c", BODY),
    (rules.vague_names, "digestd/proxy/common.h", HEADER),
    (rules.vague_names, "tests/helpers/a.c", BODY),
    (rules.opening_comments, "codec/a.c", "int x;\n" + BODY),
    (rules.guards, "codec/a.h", HEADER.replace("#define SCD_THING_H", "")),
    (rules.guards, "codec/a.h", HEADER.replace("#ifndef SCD_T", "#ifndef T")),
    (rules.contracts, "codec/a.h", HEADER + "\nint thing_other(int x);\n"),
    (rules.contracts, "codec/a.h",
     HEADER + "\nstruct thing *\nthing_new(int x,\n\t  int y);\n"),
    (rules.calls, "digestd/mesh/a.h", HEADER.replace("twice", "once")),
    (rules.includes_are_used, "digestd/mesh/a.c",
     BODY.replace("thing_", "a_").replace("THING_TWO", "2")),
    (rules.comments_name_what_is_there, "codec/a.c",
     BODY + "/* See gone.h. */\n"),
    (rules.comments_name_what_is_there, "tests/codec/a.c",
     BODY + "/* As codec/\n * and codec/filter/thing.h. */\n"),
    (rules.comments_name_what_is_there, "codec/a.h",
     HEADER + "/* After thing_once(). */\n"),
    (rules.allocations_are_tested, "codec/a.h",
     HEADER + "\n/* SCD_ENOMEM. */\nint scd_thing_init(int x);\n"),
    (rules.allocations_are_tested, "codec/a.h",
     HEADER + "\n/* New. */\nint scd_a_new(int x,\n\tstruct a **out);\n"),
)

# What a rule must not take for a fault: rule, path, text.
FINE = (
    (rules.include_arrows, "codec/a.c", include('"codec/version.h"')),
    (rules.function_names, "codec/a.c", static_named("scd__a_twice")),
    (rules.function_names, "digestd/mesh/a_b.c", static_named("mesh_twice")),
    (rules.function_names, "cachesim/world/world_a.c", static_named("a_twice")),
    (rules.calls, "digestd/mesh/a.h", HEADER.replace("thing_", "disk_")),
    (rules.calls, "codec/a.h", HEADER.replace("twice", "once")),
    (rules.includes_are_used, "codec/a.c", BODY.replace("thing_", "a_")),
    (rules.includes_are_used, "codec/filter/a.c",
     BODY.replace("THING_TWO", "2")),
    (rules.comments_name_what_is_there, "codec/a.c",
     BODY + "/* thing.h, codec/thing.c, src/http/b.h, <b.h>, x->b.c, "
     "thing_twice(), b(). */\n"),
    (rules.file_names, "codec/filter/thing.c", BODY),
    (rules.file_names, "digestd/mesh/node.h", HEADER),
    (rules.file_names, "tests/codec/node.c", BODY),
    (rules.allocations_are_tested, "codec/a.h",
     HEADER + "\n/* SCD_ENOMEM. */\nint scd_tested(struct a **out);\n"),
    (rules.allocations_are_tested, "codec/a.h",
     HEADER + "\n/* SCD_ENOMEM. */\nint scd__internal(struct a **out);\n"),
    (rules.long_functions, "codec/a.c", body_of(80)),
    (rules.brace_places, "codec/a.c", BODY + "struct a {\n\tint x;\n};\n"),
    (rules.long_lines, "codec/a.c", BODY + "\t" * 9 + "x = 12;\n"),
    (rules.long_lines, "codec/a.c", BODY + "/* clang-format off */\n"
     + "x" * 100 + "\n/* clang-format on */\n"),
    (rules.marks, "codec/a.c", BODY + "/* mkstemp(\"XX" "XXXX\") */\n"),
    (rules.vague_names, "codec/utility_of_x.c", BODY),
    (rules.contracts, "codec/a.h",
     HEADER + "\n/* Both. */\nint a_one(void);\nint a_two(void);\n"),
    (rules.contracts, "codec/a.h",
     HEADER + "\nvoid thing_free(struct thing **p);\n"),
    (rules.contracts, "codec/a.h",
     HEADER + "\ntypedef int (*a_cb)(int);\nstruct x { int (*f)(int); };\n"),
)


def complaints(rule, extra):
    """What a rule says to the good tree with one more file."""
    with tempfile.TemporaryDirectory(prefix="scd-lint-") as top:
        for path, text in {**GOOD, **extra}.items():
            place = os.path.join(top, path)
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(place, "w", encoding="utf-8") as f:
                f.write(text)
        return list(rule(source.read_tree(top)))


def checks():
    """(label, whether it is as it should be) of each."""
    for rule in rules.RULES:
        yield f"{rule.__name__}: a good tree", not complaints(rule, {})
        yield (f"{rule.__name__}: has a planted fault",
               any(rule is r for r, _, _ in FAULTS))
    for rule, path, text in FAULTS:
        found = complaints(rule, {path: text})
        yield (f"{rule.__name__}: finds the fault in {path}",
               len(found) == 1 and found[0].startswith(path + ":"))
    for rule, path, text in FINE:
        yield (f"{rule.__name__}: nothing wrong with {path}",
               not complaints(rule, {path: text}))


def main():
    results = list(checks())
    print(f"1..{len(results)}")
    for number, (label, good) in enumerate(results, 1):
        print(f"{'ok' if good else 'not ok'} {number} - {label}")
    return 0 if all(good for _, good in results) else 1


if __name__ == "__main__":
    sys.exit(main())

"""What lint asks of the sources: one function a rule, one row in RULES.

A rule takes all files of a tree (source.File) and yields its complaints,
each "path:line: what is wrong". Each has a planted fault in test_rules.py.
"""

import re

import source

MAX_COLUMNS = 80
MAX_FUNCTION_LINES = 80
MAX_FILE_LINES = 800

# What a node decides. It is shared with the simulator.
CORE = {"digestd/http", "digestd/store", "digestd/admission", "digestd/mesh",
        "digestd/node"}

# Who may include whom: a folder, and the folders that it may include from.
LAYERS = {
    "codec": {"codec"},
    "codec/coder": {"codec", "codec/coder"},
    "codec/filter": {"codec", "codec/coder", "codec/filter"},
    "codec/wire": {"codec", "codec/coder", "codec/filter", "codec/wire"},
    "codec/kind": {"codec", "codec/coder", "codec/kind"},
    "codec/tune": {"codec", "codec/coder", "codec/tune"},
    "digestd/options": {"digestd/options"},
    "digestd/http": {"codec", "digestd/http"},
    "digestd/tool": {"digestd/http", "digestd/tool"},
    "digestd/store": {"codec", "digestd/http", "digestd/store"},
    "digestd/admission": {"codec", "digestd/http", "digestd/store",
                          "digestd/admission"},
    "digestd/mesh": {"codec", "digestd/http", "digestd/store", "digestd/mesh"},
    "digestd/node": {"codec", "digestd/http", "digestd/store",
                     "digestd/admission", "digestd/mesh", "digestd/node"},
    "digestd/os": CORE | {"codec", "digestd/os"},
    "digestd/tls": CORE | {"codec", "digestd/os", "digestd/tls"},
    "digestd/disk": CORE | {"codec", "digestd/os", "digestd/disk"},
    "digestd/server": CORE | {"codec", "digestd/os", "digestd/tls",
                              "digestd/server"},
    "digestd/fetch": CORE | {"codec", "digestd/os", "digestd/tls",
                             "digestd/fetch"},
    "digestd/cache": CORE | {"codec", "digestd/os", "digestd/disk",
                             "digestd/cache"},
    "digestd/peers": CORE | {"codec", "digestd/os", "digestd/disk",
                             "digestd/server", "digestd/fetch", "digestd/cache",
                             "digestd/peers"},
    "digestd/proxy": CORE | {"codec", "digestd/os", "digestd/tls",
                             "digestd/disk", "digestd/server", "digestd/fetch",
                             "digestd/cache", "digestd/peers", "digestd/proxy"},
    "digestd/sidecar": CORE | {"codec", "digestd/os", "digestd/peers",
                               "digestd/sidecar"},
    "digestd/admin": CORE | {"codec", "digestd/os", "digestd/disk",
                             "digestd/server", "digestd/cache", "digestd/peers",
                             "digestd/sidecar", "digestd/proxy",
                             "digestd/admin"},
    "digestd/config": CORE | {"codec", "digestd/options", "digestd/os",
                              "digestd/tls", "digestd/disk", "digestd/server",
                              "digestd/cache", "digestd/peers",
                              "digestd/sidecar", "digestd/config"},
    "digestd/modules": {"codec", "digestd/modules"},
    "digestd/modules/nginx": {"codec", "digestd/modules",
                              "digestd/modules/nginx"},
    "digestd/modules/varnish": {"codec", "digestd/modules",
                                "digestd/modules/varnish"},
    "digestd/ctl": {"codec", "digestd/http", "digestd/tool", "digestd/ctl"},
    "digestd/bench": {"codec", "codec/coder", "codec/kind", "digestd/tool",
                      "digestd/ctl", "digestd/bench"},
    "digestd": CORE | {"codec", "digestd/os", "digestd/tls", "digestd/server",
                       "digestd/fetch", "digestd/cache", "digestd/peers",
                       "digestd/sidecar", "digestd/proxy", "digestd/admin",
                       "digestd/config", "digestd/tool", "digestd"},
    "cachesim/trace": CORE | {"codec", "cachesim/trace"},
    "cachesim/protocol": {"codec", "codec/filter", "codec/kind",
                          "cachesim/protocol"},
    "cachesim/sim": CORE | {"codec", "cachesim/trace", "cachesim/protocol",
                            "cachesim/sim", "cachesim/admission"},
    "cachesim/admission": CORE | {"codec", "cachesim/admission"},
    "cachesim/world": CORE | {"codec", "digestd/os", "digestd/server",
                              "digestd/fetch", "digestd/admin",
                              "digestd/config", "digestd", "cachesim/sim",
                              "cachesim/world"},
    "cachesim": CORE | {"codec", "digestd/tool", "cachesim/trace",
                        "cachesim/protocol", "cachesim/sim",
                        "cachesim/admission", "cachesim", "cachesim/mpi",
                        "cachesim/report", "cachesim/world"},
    "cachesim/mpi": {"codec", "digestd/tool", "cachesim/sim", "cachesim/mpi"},
    "cachesim/report": {"cachesim/report"},
    "cachesim/live": CORE | {"codec", "digestd/tool", "cachesim/trace",
                             "cachesim/live"},
}

# Libraries that only some files may know: a header, and who may include it.
LIBRARIES = {
    "curl/curl.h": (r"digestd/fetch/fetch_(curl|lines|tls)\.[ch]"
                    r"|cachesim/live/\w+\.[ch]"),
    "microhttpd.h": (r"digestd/server/server_mhd\w*\.[ch]"
                     r"|cachesim/live/\w+\.[ch]"),
    "nghttp2/nghttp2.h": r"digestd/server/h2\w*\.[ch]",
    "gnutls/gnutls.h": r"digestd/tls/\w+\.[ch]",
    "gnutls/x509.h": r"digestd/tls/\w+\.[ch]",
    "sys/epoll.h": r"digestd/os/loop\w*\.[ch]|cachesim/live/\w+\.[ch]",
    "md5.h": r"codec/wire/squid\.c",
    "mpi.h": r"cachesim/mpi/\w+\.[ch]",
    "zlib.h": (r"cachesim/trace/input\w*\.[ch]"
               r"|digestd/bench/bench_coder_zlib\.c"),
    "lzma.h": r"cachesim/trace/input\w*\.[ch]",
    "zstd.h": (r"cachesim/trace/input\w*\.[ch]"
               r"|digestd/bench/bench_coder_zstd\.c"),
}

# Headers that pure code has no use for: clocks, threads, files, sockets.
IMPURE = re.compile(r"(sys/|net|arpa/|pthread|threads|time|unistd|fcntl|poll"
                    r"|signal|dirent|locale|setjmp)")
# But advice on memory, which changes no result; pure.py says which calls.
MAY_INCLUDE = {("codec/array_memory.c", "sys/mman.h")}
PURE = CORE | {"cachesim/admission", "codec", "codec/coder", "codec/filter",
               "codec/wire", "codec/kind", "codec/tune"}

# A part that a build may leave out has a file that stands in for it.
OPTIONAL = {"digestd/disk", "cachesim/mpi"}
# A program has these in place of the daemon's edges, with the names of those.
STAND_INS = {"cachesim/world"}

MARKS = re.compile(r"\b(" + "|".join(("TO" "DO", "FIX" "ME", "X" "XX"))
                   + r")\b")
# Headers that the build makes, but for config.h.
MADE = {"codec/version.h", "digestd/admin/status_page_lines.h"}
MEMORY_TEST = "tests/codec/test_memory.c"
EMPTY = {"plain", "together", "outcome", "words"}
# A macro, with the lines that go on.
MACRO = re.compile(r"^#\s*define (?:.*\\\n)*.*\n", re.M)
VAGUE = {"util", "utils", "common", "misc", "helper", "helpers"}


def c_files(files):
    return [f for f in files if f.is_c()]


def product(files):
    """The C files of the product itself, not of its tests and examples."""
    return [f for f in c_files(files)
            if not f.path.startswith(("tests/", "docs/"))]


def include_arrows(files):
    """Includes follow the layers, and are named from the top."""
    paths = {f.path for f in files}
    for f in c_files(files):
        for line, quoted, name in f.includes():
            if not quoted or name == "config.h":
                continue
            target = resolve(f, name, paths)
            place = f"{f.path}:{line}"
            if target is None:
                yield f"{place}: \"{name}\" is not in the tree"
            elif not allowed(f.folder, target.rpartition("/")[0]):
                yield f"{place}: {f.folder} must not include {name}"


def resolve(f, name, paths):
    """Installed headers name their siblings bare, all others from the top."""
    if name in paths or name in MADE:
        return name
    sibling = f"{f.folder}/{name}"
    bare = f.folder == "codec" and f.name.endswith(".h") and "/" not in name
    return sibling if bare and (sibling in paths or sibling in MADE) else None


def allowed(folder, target):
    if f"{folder}/".startswith("tests/"):
        return True
    return target in LAYERS.get(folder, set())


def folders_have_layers(files):
    """Every folder with sources has its place in LAYERS."""
    for f in product(files):
        if f.folder not in LAYERS:
            yield f"{f.path}:1: {f.folder} is not in the table of layers"


def library_headers(files):
    """A library's header is included where the library is wrapped only."""
    for f in product(files):
        for line, quoted, name in f.includes():
            who = LIBRARIES.get(name)
            if who and not quoted and not re.fullmatch(who, f.path):
                yield f"{f.path}:{line}: {name} is not for this file"


def pure_headers(files):
    """Pure code includes no header of clocks, threads, files or sockets."""
    for f in product(files):
        if f.folder not in PURE:
            continue
        for line, quoted, name in f.includes():
            if (not quoted and IMPURE.match(name)
                    and (f.path, name) not in MAY_INCLUDE):
                yield f"{f.path}:{line}: {name} in pure code"


def long_functions(files):
    """No function is longer than MAX_FUNCTION_LINES."""
    for f in c_files(files):
        for name, first, last in f.functions():
            if last - first + 1 > MAX_FUNCTION_LINES:
                yield (f"{f.path}:{first}: {name} has {last - first + 1} lines,"
                       f" more than {MAX_FUNCTION_LINES}")


def brace_places(files):
    """A function's body opens in a line of its own (K&R)."""
    for f in c_files(files):
        for number, line in enumerate(f.lines, 1):
            if re.match(r"(?!struct|union|enum|extern|#)[a-z_].*\)\s*\{", line):
                yield f"{f.path}:{number}: the brace belongs in the next line"


def long_files(files):
    """No file is longer than MAX_FILE_LINES."""
    for f in files:
        if not f.path.endswith(".md") and len(f.lines) > MAX_FILE_LINES:
            yield (f"{f.path}:1: {len(f.lines)} lines, "
                   f"more than {MAX_FILE_LINES}")


def long_lines(files):
    """No line of C or Python is wider than MAX_COLUMNS, but fenced tables."""
    for f in files:
        if not f.is_c() and not f.path.endswith(".py"):
            continue
        fenced = False
        for number, line in enumerate(f.lines, 1):
            if "clang-format o" in line:
                fenced = "clang-format off" in line
            if source.width(line) > MAX_COLUMNS and not fenced:
                yield (f"{f.path}:{number}: {source.width(line)} columns, "
                       f"more than {MAX_COLUMNS}")


def white_space(files):
    """No blanks at the end of a line; C is indented with tabs."""
    for f in files:
        for number, line in enumerate(f.lines, 1):
            if line != line.rstrip() and not f.path.endswith(".md"):
                yield f"{f.path}:{number}: blanks at the end"
            if f.is_c() and re.match(r"\t* {8}", line):
                yield f"{f.path}:{number}: indented with blanks"


def marks(files):
    """Nothing is left to do in the sources."""
    for f in files:
        for number, line in enumerate(f.lines, 1):
            if MARKS.search(line):
                yield f"{f.path}:{number}: {MARKS.search(line)[0]}"


def vague_names(files):
    """A file is named after its one concept."""
    for f in files:
        words = re.split(r"[^a-z]+", f.path.lower())
        if VAGUE & set(words):
            yield f"{f.path}:1: a name that says nothing"


def opening_comments(files):
    """A C file opens with a comment that says what it is."""
    for f in c_files(files):
        if not f.lines or not f.lines[0].startswith("/*"):
            yield f"{f.path}:1: no comment at the top"


def guards(files):
    """A header is guarded against a second inclusion."""
    for f in c_files(files):
        if not f.path.endswith(".h"):
            continue
        named = re.findall(r"^#(?:ifndef|define) (\w+_H)$", f.text, re.M)
        if len(named) < 2 or named[0] != named[1]:
            yield f"{f.path}:1: no include guard"


def contracts(files):
    """What a header declares has its contract there.

    A comment stands for the declarations below it, up to a blank line. What
    x_free() does is the same everywhere (HACKING.md) and need not be said.
    """
    for f in product(files):
        if not f.path.endswith(".h"):
            continue
        for number, name in f.prototypes():
            told = any("*/" in line for line in f.paragraph(number))
            if not told and not name.endswith("_free"):
                yield f"{f.path}:{number}: {name} has no contract"


def allocations_are_tested(files):
    """What allocates in libscd is in the table of MEMORY_TEST.

    That is what may answer SCD_ENOMEM, or gives a new object.
    """
    tested = {name for f in files if f.path == MEMORY_TEST
              for name in re.findall(r'\{"(scd_\w+)",', f.text)}
    for f in product(files):
        if f.folder != "codec" or not f.path.endswith(".h"):
            continue
        for number, name in f.prototypes():
            if (re.match(r"scd_[a-z]", name) and allocates(f, number)
                    and name not in tested):
                yield f"{f.path}:{number}: {name} is not in {MEMORY_TEST}"


def allocates(f, number):
    """By the contract, or by what a function returns through a pointer."""
    statement = f.statement(number)
    gives = statement.startswith("int ") and re.search(r"\*\*\w", statement)
    return gives or "SCD_ENOMEM" in "\n".join(f.paragraph(number))


def function_names(files):
    """A static function is named after its file, or its folder.

    Its name begins with the first word of either, and no other function has
    it: grep, a backtrace and a profile then tell where it is.
    """
    named = {}
    for f in product(files):
        if not f.path.endswith(".c"):
            continue
        subjects = {f.name[:-2].partition("_")[0], f.folder.rpartition("/")[2]}
        if f.folder in STAND_INS:  # world_fetch.c is fetch.c in a world
            subjects.add(f.name[:-2].rpartition("_")[2])
        for name, first, _ in f.functions():
            place = f"{f.path}:{first}"
            plain = re.sub(r"^scd__?", "", name)
            if f.is_static(first) and plain.partition("_")[0] not in subjects:
                yield f"{place}: {name} does not begin with its file's name"
            other = named.setdefault(name, f.path)
            if other != f.path and not stand_in(other, f.path, name):
                yield f"{place}: {name} is in {other}, too"


def calls(files):
    """A function in a header is called from elsewhere.

    One that only its own file calls is static, and one that only tests call is
    for them; what libscd installs is for others.
    """
    words = {f.path: set(re.findall(r"[a-z_]\w+", f.text))
             for f in c_files(files)}
    bodies = {name: f.path for f in product(files) if f.path.endswith(".c")
              for name, _, _ in f.functions()}
    for f in product(files):
        if not f.path.endswith(".h") or f.folder == "codec":
            continue
        for number, name in f.prototypes():
            inline = len(re.findall(rf"\b{name}\b", f.text)) > 1
            if not inline and not any(
                    name in w for path, w in words.items()
                    if path not in (f.path, bodies.get(name))):
                yield f"{f.path}:{number}: nobody else calls {name}"


def includes_are_used(files):
    """A source uses each header that it includes.

    Some name of the header is in it, or in the macros and tables that it
    includes. What a header offers is told from its text. Where macros make
    names (##), in the header or in the source, nothing can be told.
    """
    offered = {f.path: offered_names(f) for f in product(files)
               if f.path.endswith(".h")}
    paths = {f.path: f for f in files}
    lent = {f.path: words_of(f.code() if f.path.endswith(".def")
                             else "".join(MACRO.findall(f.code())))
            for f in files if f.path.endswith((".h", ".def"))}
    for f in product(files):
        if not f.path.endswith(".c") or "##" in f.code():
            continue
        own = words_of(f.code())
        included = all_included(f, paths)
        for number, _, name in f.includes():
            names = offered.get(name)
            if not names or name[:-2] == f.path[:-2] or names & own:
                continue
            if not any(names & lent.get(other, set())
                       for other in included - {name}):
                yield f"{f.path}:{number}: nothing of {name} is used"


def words_of(code):
    return set(re.findall(r"\w+", re.sub(r"#\s*include.*", "", code)))


def all_included(f, paths):
    """The files of the tree that a file includes, and what they include."""
    found, todo = set(), [f]
    while todo:
        for _, _, name in todo.pop().includes():
            if name in paths and name not in found:
                found.add(name)
                todo.append(paths[name])
    return found


def offered_names(f):
    """The macros, types, members, constants, functions and objects of a
    header; None: its macros make more."""
    text = re.sub(r"#\s*include.*", "", f.code())
    if "##" in text:
        return None
    names = set(re.findall(r"#\s*define\s+(\w+)", text))
    names.update(re.findall(r"\b(?:struct|enum|union)\s+(\w+)\s*\{", text))
    names.update(re.findall(r"^\w[^\n;{}=]*?\b(\w+)\(", text, re.M))
    names.update(re.findall(r"^\t[^(]*?(\w+)(?:\[[^;]*)?[,;]", text, re.M))
    for objects in re.findall(r"^(?:extern|static|typedef) [^;={]*", text,
                              re.M):
        names.update(re.findall(r"[a-z]\w+", objects))
    for body in re.findall(r"\benum\s*\w*\s*\{(.*?)\}", text, re.S):
        names.update(re.findall(r"[A-Za-z_]\w+", body))
    return names - {"extern", "static", "typedef", "const", "struct", "enum",
                    "int", "char", "unsigned", "double", "bool", "void"}


def comments_name_what_is_there(files):
    """The files and functions that comments name are there.

    A file is NAME.c or NAME.h, with its folders or without; a function is
    NAME() with an underscore inside. What begins with another folder is
    another program's.
    """
    names = {f.name for f in files}
    paths = {f.path for f in files} | MADE
    words = {w for f in files for w in re.findall(r"\w+", f.code())}
    top = {path.partition("/")[0] for path in paths}
    for f in c_files(files):
        for number, text in f.comments():
            for name in re.findall(r"(?<![\w/.<>-])((?:\w+/)*[a-z]\w+\.[ch])"
                                   r"\b(?!\w|\()", text):
                known = names if "/" not in name else paths
                theirs = "/" in name and name.partition("/")[0] not in top
                if name not in known and not theirs:
                    yield f"{f.path}:{number}: there is no {name}"
            for name in re.findall(r"\b([a-z]\w*_\w+)\(\)", text):
                if name not in words:
                    yield f"{f.path}:{number}: there is no {name}()"


def file_names(files):
    """No two C files of the product have one base name, but a .c and its .h.

    An installed header may have its source in a folder below its own. And no
    name says nothing.
    """
    named = {}
    for f in product(files):
        stem = f.name[:-2]
        if stem in EMPTY:
            yield f"{f.path}:1: a name that says nothing"
        other = named.setdefault(stem, f.folder)
        if other != f.folder and not (f"{f.folder}/".startswith("codec/")
                                      and f"{other}/".startswith("codec/")
                                      and "codec" in (f.folder, other)):
            yield f"{f.path}:1: there is {other}/{stem}, too"


def headers_are_listed(files):
    """Each header is in a Makefile.inc, by which a tarball has it."""
    listed = {word for f in files if f.name.endswith((".inc", ".am"))
              for word in f.text.split()}
    for f in files:
        if f.name.endswith(".h") and f.path not in listed | MADE:
            yield f"{f.path}:1: no Makefile.inc lists it"


def stand_in(path, other, name):
    """Whether programs are linked with one of these files, never with both."""
    programs = {path.rpartition("/")[0], other.rpartition("/")[0]}
    return name == "main" or len(programs & (OPTIONAL | STAND_INS)) == 1


RULES = (
    include_arrows,
    folders_have_layers,
    library_headers,
    pure_headers,
    long_functions,
    brace_places,
    long_files,
    long_lines,
    white_space,
    marks,
    vague_names,
    opening_comments,
    guards,
    contracts,
    allocations_are_tested,
    function_names,
    calls,
    includes_are_used,
    comments_name_what_is_there,
    file_names,
    headers_are_listed,
)

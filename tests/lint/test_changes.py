#!/usr/bin/env python3
"""What is easy to change: tasks of HACKING.md, "Adding things", done.

Each task is a list of edits. They have to apply; the files that they touch are
those that the task's row names, and no others; what they change compiles, and
shows where it should. With SCD_TEST_LONG everything compiles that includes
one of the files. TAP.
"""

import fnmatch
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

import source

TOP = pathlib.Path(os.environ.get("top_srcdir", ".")).absolute()
BUILD = pathlib.Path(os.environ.get("top_builddir", ".")).absolute()
LONG = os.environ.get("SCD_TEST_LONG")
MAX_FILES = 3  # of options, and of a counter

ARRIVAL = """\
/*
 * Arrival: who came first goes first.
 */
#include "digestd/store/eviction_queue.h"

static void eviction_arrival_hit(struct eviction *e, uint32_t slot)
{
	(void)e;
	(void)slot;
}

const struct eviction_policy eviction_arrival = {
	.name = "arrival",
	.about = "in the order of arrival",
	.size = sizeof(struct queued),
	.reserve = queued_reserve,
	.release = queued_release,
	.memory = queued_memory,
	.insert = queued_insert,
	.hit = eviction_arrival_hit,
	.remove = queued_remove,
	.evict = queued_evict,
	.foresee = queued_foresee,
};
"""

PUBLISHED = """\
/*
 * Web servers that have a digest as a file, made by digestctl, of a cache that
 * cannot make its own.
 */
#include "digestd/http/forward.h"
#include "digestd/mesh/peer_digest.h"
#include "digestd/peers/digest_body.h"
#include "digestd/peers/digest_request.h"
#include "digestd/peers/peer_kind.h"

static const struct digest_paths published_paths = {
	.current = "/.well-known/digest.scd",
};

static int peer_kind_published_query(const struct digest_query *query,
				     struct fields *out)
{
	(void)query;
	(void)out;
	return 0;
}

static int peer_kind_published_judge(const struct digest_expected *e,
				     const uint8_t *header, size_t *len)
{
	struct scd_digest_info info;
	int error = scd_digest_judge(header, e->limits, &info);

	if (!error && (e->delta || info.kind != SCD_FULL))
		error = SCD_EBASE;
	if (!error)
		*len = SCD_DIGEST_HEADER_BYTES + (size_t)info.payload_bytes;
	return error;
}

static int peer_kind_published_decode(const struct digest_expected *e,
				      const struct digest_body *body,
				      struct scd_digest_info *info,
				      struct peer_digest **out)
{
	const struct peer_digest_bytes in = { body->bytes, body->len, e->limits,
					      NULL };

	return peer_digest_read(&in, info, out);
}

const struct peer_kind peer_kind_published = {
	.name = "published",
	.paths = { [DIGEST_OF_HELD] = &published_paths },
	.header_bytes = SCD_DIGEST_HEADER_BYTES,
	.query = peer_kind_published_query,
	.judge = peer_kind_published_judge,
	.decode = peer_kind_published_decode,
	.ask = forward_to_peer,
};
"""


def insert(path, before, text):
    return path, before, text + before


# Task: its edits, each a path, a text that stands there once, and what stands
# in its place then; a new file has no such text. And the files to compile.
TASKS = {
    "option of digestd": ([
        insert("digestd/options/options_peers.def",
               "OPTION(peer_budget, ",
               "OPTION(purge_timeout, TIME_MS, purge_timeout_ms, "
               '"10s", 1, HOUR_MS,\n       RELOAD, "time to purge at peers")\n'
               "/*\nHow long a peer may take to purge.\n*/\n\n"),
        ("digestd/part_settings.c", "= PURGE_TIMEOUT_MS,",
         "= c->purge_timeout_ms,"),
    ], ["digestd/config/option_table.c", "digestd/config/configuration.c"]),
    "option of workers": ([
        insert("digestd/options/options_peers.def",
               "OPTION(peer_budget, ",
               "OPTION(probe_timeout, TIME_MS, probe_timeout_ms, "
               '"50ms", 1, HOUR_MS,\n       RELOAD, "time of a probe")\n'
               "/*\nHow long a peer that failed may take to answer.\n*/\n\n"),
        insert("digestd/proxy/worker.h", "\tX(bool,     purge_peers, ",
               "\tX(unsigned, probe_ms, probe_timeout_ms, "
               '"of a probe") \\\n'),
        ("digestd/proxy/fill_probe.c",
         "if (fill_ask_peer(probe, timeout_ms)) {",
         "if (fill_ask_peer(probe, timeout_ms < f->q->settings->probe_ms ?\n"
         "\t\t\ttimeout_ms : f->q->settings->probe_ms)) {"),
    ], ["digestd/config/option_table.c", "digestd/part_settings.c"]),
    "counter": ([
        insert("digestd/disk/disk.h", "\tX(spared, ",
               '\tX(unreadable, "reads of objects that failed, for any reason")'
               " \\\n"),
        insert("digestd/disk/disk_read.c", "\tif (read->error == -EBADMSG)\n"
               "\t\tdisk->counters.corrupt++;",
               "\tdisk->counters.unreadable++;\n"),
    ], ["digestd/admin/metrics.c", "digestd/admin/status_json.c"]),
    "eviction policy": ([
        ("digestd/store/eviction_arrival.c", None, ARRIVAL),
        insert("digestd/store/Makefile.inc",
               "\tdigestd/store/eviction_policy.h",
               "\tdigestd/store/eviction_arrival.c \\\n"),
        insert("digestd/store/eviction_policy.h", "\tX(gdsf) ",
               "\tX(arrival)           \\\n"),
        insert("tests/store/eviction_twin.c", '\t{ "clock", NULL, as_newest',
               '\t{ "arrival", NULL, as_newest, fifo_hit, take_out, '
               "evict_oldest, NULL },\n"),
        insert("digestd/options/options_store.def", ".It Cm clock\n",
               ".It Cm arrival\nwhat came first\n"),
        insert("docs/completion/digestctl.bash", "clock sieve s3fifo",
               "arrival "),
    ], ["digestd/store/eviction.c"]),
    "kind of peer": ([
        ("digestd/peers/peer_kind_published.c", None, PUBLISHED),
        insert("digestd/peers/Makefile.inc",
               "\tdigestd/peers/peer_kind_squid.c",
               "\tdigestd/peers/peer_kind_published.c \\\n"),
        insert("digestd/peers/peer_kind.h", "\tX(squid)",
               "\tX(published)  \\\n"),
        insert("tests/peers/test_peer_kind.c",
               '\t{ "squid", false, DATE, "n1 http://:8081", "" },',
               '\t{ "published", true, DATE, "", "" },\n'),
        insert("docs/digestd.conf.5.in", ".It Cm squid\n",
               ".It Cm published\na web server that has a digest as a file\n"),
    ], ["digestd/peers/peer_kind.c"]),
    "reason not to store a response": ([
        insert("digestd/http/storable.h", "\tX(AUTHORIZATION, ",
               '\tX(TEAPOT, "teapot", "a teapot\'s answer") \\\n'),
        insert("digestd/http/storable.c", "\tif (cc->private)",
               "\tif (response->status == 418)\n\t\treturn STORABLE_TEAPOT;\n"),
        insert("tests/http/test_storable.c", '\t{ "GET", NULL, 302, FRESH, ',
               '\t{ "GET", NULL, 418, FRESH, STORABLE_TEAPOT },\n'),
    ], ["digestd/node/node_answer.c", "digestd/node/node_keep.c"]),
}


def touched(task):
    return [path for path, _, _ in TASKS[task][0]]


def row_of(task):
    text = (TOP / "HACKING.md").read_text()
    table = text.split("## Adding things", 1)[1]
    return re.search(rf"^\| {re.escape(task)} \| (.*) \|$", table, re.M)[1]


def differences(row, paths):
    """Between what a row names and the paths that were touched. One path that
    is not named may be where the thing is used or counted."""
    named = [p.replace("NAME", "*") for p in re.findall(r"`([\w.*-]+/[^`]+)`",
                                                        row)]
    unnamed = [p for p in paths
               if not any(fnmatch.fnmatchcase(p, n) for n in named)]
    untouched = [n for n in named
                 if not any(fnmatch.fnmatchcase(p, n) for p in paths)]
    if "where it is" in row:
        unnamed = unnamed[1:]
    return unnamed + untouched


def names_the_files_of(task):
    assert not differences(row_of(task), touched(task)), \
        differences(row_of(task), touched(task))
    if "where it is" in row_of(task):
        assert len(touched(task)) <= MAX_FILES


def edit(task, folder):
    for path, old, new in TASKS[task][0]:
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if old is None:
            assert not (TOP / path).exists(), path
        else:
            text = (TOP / path).read_text()
            assert text.count(old) == 1, f"{path}: not once: {old!r}"
            new = text.replace(old, new)
        place.write_text(new)


def compiler(folder, *args):
    """What the compiler prints, with the changed files before the others."""
    command = [*shlex.split(os.environ.get("CC", "cc")), "-std=gnu11",
               "-Wall", "-Werror", "-DHAVE_CONFIG_H", f"-I{folder}",
               f"-I{BUILD}", f"-I{TOP}", *args]
    done = subprocess.run(command, check=False, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == 0, done.stderr
    return done.stdout


def dependents(paths):
    """The C sources of the product that include one of the files, or a file
    that does."""
    files = {f.path: f for f in source.read_tree(TOP)
             if f.path.endswith((".c", ".h", ".def"))}
    reached, found = set(paths), set()
    while found != reached:
        found = set(reached)
        for path, f in files.items():
            if any(quoted and name in found for _, quoted, name
                   in f.includes()):
                reached.add(path)
    return sorted(p for p in reached if p.endswith(".c")
                  and not p.startswith("tests/") and "mpi" not in p)


def compiles(task):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        edit(task, folder)
        paths = [p for p in touched(task) if p.endswith(".c")] + TASKS[task][1]
        if LONG:
            paths = sorted(set(paths) | set(dependents(touched(task))))
        for path in paths:
            here = folder / path
            compiler(folder, "-fsyntax-only",
                     str(here if here.exists() else TOP / path))
        return shows(task, folder)


def shows(task, folder):
    """Where users see it, what the task has added is."""
    if task == "option of digestd":
        assert ".It Ic purge_timeout = Ar time\n" in manual(folder)
        assert "Default:\n.Ql 10s ;\nfrom 1ms to 1h.\n" in manual(folder)
    elif task == "option of workers":
        assert ".It Ic probe_timeout = Ar time\n" in manual(folder)
        text = compiler(folder, "-E", "-P",
                        str(TOP / "digestd/part_settings.c"))
        assert ".probe_ms = (unsigned)c->probe_timeout_ms" in text
    elif task == "counter":
        for path in TASKS[task][1]:
            text = compiler(folder, "-E", "-P", str(TOP / path))
            assert re.search(r'"unreadable"', text), path
    elif task == "kind of peer":
        assert ".It Cm published\n" in manual(folder)
        text = compiler(folder, "-E", "-P",
                        str(TOP / "digestd/peers/peer_kind.c"))
        assert re.search(r'"published"', text)
    elif task == "eviction policy":
        assert ".It Cm arrival\n" in manual(folder)


def manual(folder):
    """digestd.conf(5), as the build makes it."""
    options = TOP / "digestd" / "options"
    listed = re.findall(r'#include "(.*)"', (options / "options.def")
                        .read_text())
    *paths, template = [folder / p if (folder / p).exists() else TOP / p
                        for p in [*listed, "docs/digestd.conf.5.in"]]
    done = subprocess.run(
        ["awk", "-f", options / "options.awk", options / "option_kinds.def",
         *paths, template], check=True, text=True,
        stdout=subprocess.PIPE)
    return done.stdout


def planted_differences_are_found():
    row = "`a/b_NAME.c`, a row in `a/c.h`, and where it is used"
    assert not differences(row, ["a/b_x.c", "a/c.h"])
    assert not differences(row, ["a/b_x.c", "a/c.h", "d/e.c"])
    assert differences(row, ["a/b_x.c", "a/c.h", "d/e.c", "f.c"]) == ["f.c"]
    assert differences(row, ["a/b_x.c"]) == ["a/c.h"]
    assert differences("`a/c.h`", ["a/c.h", "a/d.h"]) == ["a/d.h"]


def planted_faults_do_not_compile():
    """A change that lacks one of its edits."""
    task = "counter"
    edits, files = TASKS[task]
    TASKS[task] = edits[1:], files
    try:
        compiles(task)
    except AssertionError as e:
        assert "unreadable" in str(e), e
    else:
        raise AssertionError("it compiles without its row")
    finally:
        TASKS[task] = edits, files


def main():
    tests = [("planted differences are found", planted_differences_are_found),
             ("a planted fault does not compile",
              planted_faults_do_not_compile)]
    for task in TASKS:
        tests += [(f"{task}: HACKING.md names the files",
                   lambda task=task: names_the_files_of(task)),
                  (f"{task}: compiles, and shows",
                   lambda task=task: compiles(task))]
    print(f"1..{len(tests)}")
    failed = 0
    for number, (label, test) in enumerate(tests, 1):
        try:
            test()
            print(f"ok {number} - {label}")
        except AssertionError as e:
            failed += 1
            print(f"not ok {number} - {label}")
            print("# " + str(e).replace("\n", "\n# "))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

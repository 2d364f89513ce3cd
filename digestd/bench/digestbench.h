/*
 * The commands of digestbench: one file each, one row each in digestbench.c.
 */
#ifndef DIGESTD_BENCH_DIGESTBENCH_H
#define DIGESTD_BENCH_DIGESTBENCH_H

#include "digestd/tool/command.h"
#include "digestd/tool/options.h"

/* Runs a command; argv[0] is its name. Returns an exit code. */
typedef int bench_run(int argc, char **argv);

bench_run bench_coding;
bench_run bench_tables;

/* What --help of a command begins with. Static. */
extern const char bench_coding_help[];
extern const char bench_tables_help[];

/* The options of a command: tables, which a null ends. */
extern const struct tool_option *const bench_coding_options[];
extern const struct tool_option *const bench_tables_options[];

#endif

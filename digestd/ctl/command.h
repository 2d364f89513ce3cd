/*
 * The commands of digestctl: one file each, one row each in digestctl.c.
 */
#ifndef DIGESTD_CTL_COMMAND_H
#define DIGESTD_CTL_COMMAND_H

#include "digestd/tool/command.h"

/* Exit codes, as documented in digestctl(1). */
enum {
	CTL_OK = TOOL_OK,
	CTL_NO = TOOL_NO,
	CTL_USAGE = TOOL_USAGE,
	CTL_IO = TOOL_IO,
};

/* Runs a command; argv[0] is its name. Returns an exit code. */
typedef int command_run(int argc, char **argv);

command_run command_tune;
command_run command_tables;
command_run command_build;
command_run command_info;
command_run command_query;
command_run command_convert;
command_run command_diff;
command_run command_apply;
command_run command_merge;
command_run command_overlap;
command_run command_verify;
command_run command_bench;

/* The text of --help of a command. Static. */
extern const char command_tune_help[];
extern const char command_tables_help[];
extern const char command_build_help[];
extern const char command_info_help[];
extern const char command_query_help[];
extern const char command_convert_help[];
extern const char command_diff_help[];
extern const char command_apply_help[];
extern const char command_merge_help[];
extern const char command_overlap_help[];
extern const char command_verify_help[];
extern const char command_bench_help[];

#endif

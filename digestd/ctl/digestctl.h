/*
 * The commands of digestctl: one file each, one row each in digestctl.c.
 */
#ifndef DIGESTD_CTL_DIGESTCTL_H
#define DIGESTD_CTL_DIGESTCTL_H

#include "digestd/tool/command.h"
#include "digestd/tool/options.h"

/* Exit codes, as documented in digestctl(1). */
enum {
	CTL_OK = TOOL_OK,
	CTL_NO = TOOL_NO,
	CTL_USAGE = TOOL_USAGE,
	CTL_IO = TOOL_IO,
};

/* Runs a command; argv[0] is its name. Returns an exit code. */
typedef int ctl_run(int argc, char **argv);

ctl_run ctl_tune;
ctl_run ctl_build;
ctl_run ctl_info;
ctl_run ctl_query;
ctl_run ctl_convert;
ctl_run ctl_diff;
ctl_run ctl_apply;
ctl_run ctl_merge;
ctl_run ctl_overlap;
ctl_run ctl_verify;

/* What --help of a command begins with. Static. */
extern const char ctl_tune_help[];
extern const char ctl_build_help[];
extern const char ctl_info_help[];
extern const char ctl_query_help[];
extern const char ctl_convert_help[];
extern const char ctl_diff_help[];
extern const char ctl_apply_help[];
extern const char ctl_merge_help[];
extern const char ctl_overlap_help[];
extern const char ctl_verify_help[];

/* The options of a command: tables, which a null ends. */
extern const struct tool_option *const ctl_tune_options[];
extern const struct tool_option *const ctl_build_options[];
extern const struct tool_option *const ctl_info_options[];
extern const struct tool_option *const ctl_query_options[];
extern const struct tool_option *const ctl_convert_options[];
extern const struct tool_option *const ctl_diff_options[];
extern const struct tool_option *const ctl_apply_options[];
extern const struct tool_option *const ctl_merge_options[];
extern const struct tool_option *const ctl_overlap_options[];
extern const struct tool_option *const ctl_verify_options[];

#endif

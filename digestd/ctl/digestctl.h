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
ctl_run ctl_status;
ctl_run ctl_peers;
ctl_run ctl_top;
ctl_run ctl_log;
ctl_run ctl_purge;
ctl_run ctl_explain;
ctl_run ctl_drain;
ctl_run ctl_undrain;
ctl_run ctl_quarantine;
ctl_run ctl_release;
ctl_run ctl_reload;
ctl_run ctl_token;
ctl_run ctl_log_level;

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
extern const char ctl_status_help[];
extern const char ctl_peers_help[];
extern const char ctl_top_help[];
extern const char ctl_log_help[];
extern const char ctl_purge_help[];
extern const char ctl_explain_help[];
extern const char ctl_drain_help[];
extern const char ctl_undrain_help[];
extern const char ctl_quarantine_help[];
extern const char ctl_release_help[];
extern const char ctl_reload_help[];
extern const char ctl_token_help[];
extern const char ctl_log_level_help[];

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
extern const struct tool_option *const ctl_status_options[];
extern const struct tool_option *const ctl_peers_options[];
extern const struct tool_option *const ctl_top_options[];
extern const struct tool_option *const ctl_log_options[];
extern const struct tool_option *const ctl_purge_options[];
extern const struct tool_option *const ctl_explain_options[];
extern const struct tool_option *const ctl_drain_options[];
extern const struct tool_option *const ctl_undrain_options[];
extern const struct tool_option *const ctl_quarantine_options[];
extern const struct tool_option *const ctl_release_options[];
extern const struct tool_option *const ctl_reload_options[];
extern const struct tool_option *const ctl_token_options[];
extern const struct tool_option *const ctl_log_level_options[];

#endif

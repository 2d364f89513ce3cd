/*
 * The commands of cachesim: one file each, one row each in cachesim.c. Their
 * exit codes are those of tool/command.h: TOOL_NO where the trace or a result
 * is bad.
 */
#ifndef CACHESIM_CACHESIM_H
#define CACHESIM_CACHESIM_H

#include "digestd/tool/command.h"
#include "digestd/tool/options.h"

/* Runs a command; argv[0] is its name. Returns an exit code. */
typedef int command_fn(int argc, char **argv);

command_fn command_info;
command_fn command_generate;
command_fn command_sweep;
command_fn command_mrc;
command_fn command_advise;
command_fn command_plot;
command_fn command_paper;
command_fn command_run;
command_fn command_convert;

/* The beginning of --help of a command; its options follow. Static. */
extern const char command_info_help[];
extern const char command_generate_help[];
extern const char command_sweep_help[];
extern const char command_mrc_help[];
extern const char command_advise_help[];
extern const char command_plot_help[];
extern const char command_paper_help[];
extern const char command_run_help[];
extern const char command_convert_help[];

/* The tables of options of a command; a null ends them. */
extern const struct tool_option *const command_info_options[];
extern const struct tool_option *const command_generate_options[];
extern const struct tool_option *const command_mrc_options[];
extern const struct tool_option *const command_advise_options[];
extern const struct tool_option *const command_plot_options[];
extern const struct tool_option *const command_paper_options[];
/* the same for run and sweep */
extern const struct tool_option *const command_run_options[];
extern const struct tool_option *const command_convert_options[];

#endif

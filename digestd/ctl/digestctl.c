/*
 * digestctl: its commands.
 */
#include "digestd/ctl/command.h"

static const struct tool_command commands[] = {
	{ "tune", command_tune, command_tune_help,
	  "find the size of a digest for a goal" },
	{ "tables", command_tables, command_tables_help,
	  "print the tables of \"Compressed Bloom Filters\"" },
	{ "build", command_build, command_build_help,
	  "make a digest of URLs" },
	{ "info", command_info, command_info_help,
	  "show what a digest says of itself" },
	{ "query", command_query, command_query_help,
	  "ask a digest for URLs" },
	{ "convert", command_convert, command_convert_help,
	  "from Squid's format to ours, and back" },
	{ "diff", command_diff, command_diff_help,
	  "make the delta between two digests" },
	{ "apply", command_apply, command_apply_help,
	  "bring a digest up to date with deltas" },
	{ "merge", command_merge, command_merge_help,
	  "make the digest of what several digests have" },
	{ "overlap", command_overlap, command_overlap_help,
	  "estimate what caches have in common" },
	{ "verify", command_verify, command_verify_help,
	  "check digests and deltas" },
	{ "bench", command_bench, command_bench_help,
	  "measure what coding costs here" },
	{ 0 },
};

int main(int argc, char **argv)
{
	static const struct tool digestctl = {
		.name = "digestctl",
		.about = "Works with digests of caches, see digestctl(1).",
		.commands = commands,
	};

	return tool_main(&digestctl, argc, argv);
}

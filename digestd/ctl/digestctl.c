/*
 * digestctl: finds the command and runs it.
 */
#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "digestd/ctl/command.h"

static const struct {
	const char *name;
	command_run *run;
	const char *help;
	const char *summary;
} commands[] = {
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
};

enum { NCOMMANDS = sizeof(commands) / sizeof(commands[0]) };

static void usage(FILE *to)
{
	fputs("usage: digestctl COMMAND [OPTIONS]\n"
	      "Works with digests of caches, see digestctl(1).\n\n", to);
	for (size_t i = 0; i < NCOMMANDS; i++)
		fprintf(to, "  %-8s %s\n", commands[i].name,
			commands[i].summary);
	fputs("\ndigestctl COMMAND --help has the options of a command;\n"
	      "digestctl --version tells the version.\n", to);
}

/* What was printed has to arrive, too. */
static int told(int code)
{
	if (!fflush(stdout) && !ferror(stdout))
		return code;
	fprintf(stderr, "digestctl: standard output: %s\n", strerror(errno));
	return CTL_IO;
}

/* Whether an option asks for help; -h is one only as the first. */
static bool wants_help(char **argv)
{
	if (argv[1] && !strcmp(argv[1], "-h"))
		return true;
	while (*++argv && strcmp(*argv, "--")) {
		if (!strcmp(*argv, "--help"))
			return true;
	}
	return false;
}

static int run(int argc, char **argv)
{
	char name[64];

	for (size_t i = 0; i < NCOMMANDS; i++) {
		if (strcmp(argv[0], commands[i].name))
			continue;
		if (wants_help(argv)) {
			fputs(commands[i].help, stdout);
			return told(CTL_OK);
		}
		snprintf(name, sizeof(name), "digestctl: %s", commands[i].name);
		argv[0] = name; /* what getopt_long() begins its errors with */
		return told(commands[i].run(argc, argv));
	}
	fprintf(stderr, "digestctl: no command \"%s\"\n", argv[0]);
	usage(stderr);
	return CTL_USAGE;
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		usage(stderr);
		return CTL_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		usage(stdout);
		return CTL_OK;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts("digestctl " PACKAGE_VERSION);
		return CTL_OK;
	}
	return run(argc - 1, argv + 1);
}

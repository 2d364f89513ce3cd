/*
 * Where a command writes the digest that it has made.
 */
#include "digestd/ctl/digest_output.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define AT(member) .at = offsetof(struct digest_output, member)

const struct tool_option digest_output_options[] = {
	{ .name = "output", .letter = 'o', .kind = OPTION_TEXT, AT(path),
	  .value = "FILE", .help = "where it goes (standard output)" },
	{ .name = "json", .letter = 'j', .kind = OPTION_FLAG, AT(json),
	  .help = "tell as JSON what it is; needs --output" },
	{ .name = NULL },
};

const struct tool_option digest_output_ids[] = {
	{ .name = "instance", .letter = 'i', .kind = OPTION_COUNT,
	  AT(instance), .value = "N", .help = "instance in its header (1)" },
	{ .name = "generation", .letter = 'g', .kind = OPTION_COUNT,
	  AT(generation), .value = "N",
	  .help = "generation in its header (1)" },
	{ .name = NULL },
};

bool digest_output_may(const struct digest_output *o)
{
	if (strcmp(o->path, "-") != 0)
		return true;
	if (o->json)
		fputs("digestctl: --json: the digest needs a place of its own: "
		      "--output FILE\n",
		      stderr);
	else if (isatty(STDOUT_FILENO))
		fputs("digestctl: standard output is a terminal: "
		      "--output FILE\n",
		      stderr);
	else
		return true;
	return false;
}

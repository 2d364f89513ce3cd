/*
 * digestctl: its commands.
 */
#include "digestd/ctl/digestctl.h"

#define COMMAND(word, text) \
	{ .name = #word, .run = ctl_##word, \
	  .help = ctl_##word##_help, .summary = (text), \
	  .options = ctl_##word##_options }

static const struct tool_command commands[] = {
	COMMAND(tune, "find the size of a digest for a goal"),
	COMMAND(build, "make a digest of URLs"),
	COMMAND(info, "show what a digest says of itself"),
	COMMAND(query, "ask a digest for URLs"),
	COMMAND(convert, "from Squid's format to ours, and back"),
	COMMAND(diff, "make the delta between two digests"),
	COMMAND(apply, "bring a digest up to date with deltas"),
	COMMAND(merge, "make the digest of what several digests have"),
	COMMAND(overlap, "estimate what caches have in common"),
	COMMAND(verify, "check digests and deltas"),
	{ 0 },
};

#undef COMMAND

int main(int argc, char **argv)
{
	static const struct tool digestctl = {
		.name = "digestctl",
		.about = "Works with digests of caches, see digestctl(1).",
		.commands = commands,
	};

	return tool_main(&digestctl, argc, argv);
}

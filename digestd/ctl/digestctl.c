/*
 * digestctl: its commands.
 */
#include "digestd/ctl/digestctl.h"

#define COMMAND(word, text) COMMAND_AS(#word, word, text)
#define COMMAND_AS(text_of_word, word, text) \
	{ .name = (text_of_word), .run = ctl_##word, \
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
	COMMAND(status, "show how a running node stands"),
	COMMAND(peers, "show how a running node sees its peers"),
	COMMAND(top, "show a running node and its peers, second by second"),
	COMMAND(log, "print the requests to a running node as they come"),
	COMMAND(purge, "remove objects from a running node and its peers"),
	COMMAND(explain, "tell why a running node answers a URL as it does"),
	COMMAND(drain, "have load balancers pass a running node by"),
	COMMAND(undrain, "end that"),
	COMMAND(quarantine, "have a running node leave a peer alone"),
	COMMAND(release, "have it ask a peer in quarantine again"),
	COMMAND(reload, "have a running node read its configuration again"),
	COMMAND_AS("log-level", log_level, "set what a running node logs"),
	COMMAND(token, "print the token that a running node presents"),
	{ 0 },
};

#undef COMMAND
#undef COMMAND_AS

int main(int argc, char **argv)
{
	static const struct tool digestctl = {
		.name = "digestctl",
		.about = "Works with digests of caches, and with running "
			 "nodes; see digestctl(1).",
		.commands = commands,
	};

	return tool_main(&digestctl, argc, argv);
}

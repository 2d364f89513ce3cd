/*
 * cachesim: its commands.
 */
#include "cachesim/command.h"

#define COMMAND(word, text) \
	{ .name = #word, .run = command_##word, .summary = (text), \
	  .help = command_##word##_help, \
	  .options = command_##word##_options }

static const struct tool_command commands[] = {
	COMMAND(info, "show what a trace is made of"),
	COMMAND(convert, "write a trace in another format"),
	COMMAND(generate, "make a trace out of a seed"),
	{ 0 },
};

#undef COMMAND

int main(int argc, char **argv)
{
	static const struct tool cachesim = {
		.name = "cachesim",
		.about = "Simulates cooperating caches, see cachesim(1).",
		.commands = commands,
	};

	return tool_main(&cachesim, argc, argv);
}

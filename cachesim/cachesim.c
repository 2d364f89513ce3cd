/*
 * cachesim: its commands.
 */
#include "cachesim/command.h"

#define COMMAND(word, table, text) \
	{ .name = #word, .run = command_##word, .summary = (text), \
	  .help = command_##word##_help, \
	  .options = command_##table##_options }

static const struct tool_command commands[] = {
	COMMAND(info, info, "show what a trace is made of"),
	COMMAND(convert, convert, "write a trace in another format"),
	COMMAND(generate, generate, "make a trace out of a seed"),
	COMMAND(run, run, "simulate one configuration"),
	COMMAND(sweep, run, "simulate all combinations of several values"),
	COMMAND(mrc, mrc, "compute hit ratio curves, exact or sampled"),
	COMMAND(plot, plot, "draw a result with gnuplot"),
	COMMAND(advise, advise, "tell what cooperation would save"),
	COMMAND(paper, paper, "repeat the study of \"Summary Cache\""),
	{ 0 },
};

#undef COMMAND

int main(int argc, char **argv)
{
	static const struct tool cachesim = {
		.name = "cachesim",
		.about = "Simulates cooperating caches, see cachesim(1).",
		.commands = commands,
		.otherwise = "run",
	};

	return tool_main(&cachesim, argc, argv);
}

/*
 * cachesim: its commands.
 */
#include <string.h>

#include "cachesim/cachesim.h"
#include "cachesim/mpi/mpi_process.h"

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

/* Whether mpirun divides this command's work; the first process does all
 * others, and tells what is wrong with a command line. */
static bool cachesim_is_divided(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			return false;
	}
	if (argc < 2)
		return false;
	for (const struct tool_command *c = commands; c->name; c++) {
		if (!strcmp(c->name, argv[1]))
			return c->run == command_run || c->run == command_sweep;
	}
	return argc > 4; /* the command is run, then */
}

int main(int argc, char **argv)
{
	static const struct tool cachesim = {
		.name = "cachesim",
		.about = "Simulates cooperating caches, see cachesim(1).",
		.commands = commands,
		.otherwise = "run",
	};

	bool divided = cachesim_is_divided(argc, argv);
	int code = divided ? mpi_process_begin() : TOOL_OK;

	if (!divided && mpi_process_is_another())
		return TOOL_OK;
	return code ? code : mpi_process_end(tool_main(&cachesim, argc, argv));
}

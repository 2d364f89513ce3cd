/*
 * digestbench: its commands. It measures the codec and is not installed.
 */
#include "digestd/bench/digestbench.h"

#define COMMAND(word, text) \
	{ .name = #word, .run = bench_##word, \
	  .help = bench_##word##_help, .summary = (text), \
	  .options = bench_##word##_options }

static const struct tool_command commands[] = {
	COMMAND(coding, "measure what coding costs here"),
	COMMAND(tables, "print the tables of \"Compressed Bloom Filters\""),
	{ 0 },
};

#undef COMMAND

int main(int argc, char **argv)
{
	static const struct tool digestbench = {
		.name = "digestbench",
		.about = "Measures the coding of digests, see digestbench(1).",
		.commands = commands,
	};

	return tool_main(&digestbench, argc, argv);
}

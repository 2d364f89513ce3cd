/*
 * cachesim convert: a trace in another format.
 */
#include <stdio.h>

#include "cachesim/cachesim.h"
#include "cachesim/export.h"

const char command_convert_help[] =
	"usage: cachesim convert [OPTIONS] TRACE\n"
	"Writes a trace in another format: to the compact one, which is read\n"
	"at the speed of memory, or to one that other tools read.\n";

const struct tool_option *const command_convert_options[] = {
	settings_export, settings_trace, NULL
};

int command_convert(int argc, char **argv)
{
	struct settings s = { 0 };
	int code = settings_read(&s, command_convert_options, argc, argv);

	if (code)
		return code;
	if (!s.trace) {
		fprintf(stderr, "%s: no trace is named\n", argv[0]);
		return TOOL_USAGE;
	}
	return export_trace(&s);
}

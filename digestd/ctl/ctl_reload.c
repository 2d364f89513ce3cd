/*
 * digestctl reload: has a running node read its configuration again, and says
 * what is wrong with it.
 */
#include <stdio.h>
#include <unistd.h>

#include "digestd/ctl/digestctl.h"
#include "digestd/ctl/node_client.h"
#include "digestd/tool/arguments.h"

const char ctl_reload_help[] =
	"usage: digestctl reload [OPTIONS]\n"
	"Has a running node read its configuration again, and the\n"
	"certificates that it names, and waits for it. What is wrong, and\n"
	"what takes effect only at the next start, is told line by line; the\n"
	"exit code is 1 when the old configuration remains in effect, or a\n"
	"part of it.\n";

const struct tool_option *const ctl_reload_options[] = { control_options,
							 NULL };

static int ctl_reload_code(const json_t *answer)
{
	return json_is_true(json_object_get(answer, "reloaded")) ? CTL_OK :
								   CTL_NO;
}

static int ctl_reload_tell(const json_t *answer)
{
	const json_t *lines = json_object_get(answer, "told");
	int code = ctl_reload_code(answer);

	for (size_t i = 0; i < json_array_size(lines); i++) {
		const char *line = json_string_value(json_array_get(lines, i));

		fprintf(stderr, "%s\n", line ? line : "");
	}
	if (!code)
		puts("reloaded");
	return code;
}

int ctl_reload(int argc, char **argv)
{
	struct control_options o = { .json = false };

	if (!options_read(ctl_reload_options, argc, argv, &o))
		return CTL_USAGE;
	if (optind < argc)
		return arguments_wrong("reload", "takes no operands",
				       ctl_reload_help);
	return node_client_run(&o, json_pack("{s:s}", "command", "reload"),
			   o.json ? ctl_reload_code : ctl_reload_tell);
}

/*
 * digestctl log-level: how much a running node writes to its log.
 */
#include <stdio.h>

#include "digestd/ctl/digestctl.h"
#include "digestd/ctl/node_client.h"

const char ctl_log_level_help[] =
	"usage: digestctl log-level [OPTIONS] LEVEL\n"
	"Has a running node log error, warning, info or debug messages and\n"
	"all that are more urgent, until it reads its configuration again.\n";

const struct tool_option *const ctl_log_level_options[] = { control_options,
							    NULL };

static int ctl_log_level_tell(const json_t *answer)
{
	printf("%s (was %s)\n",
	       json_string_value(json_object_get(answer, "level")),
	       json_string_value(json_object_get(answer, "was")));
	return CTL_OK;
}

int ctl_log_level(int argc, char **argv)
{
	return node_client_run_with(argc, argv, ctl_log_level_help, "log-level",
				    "level", ctl_log_level_tell);
}

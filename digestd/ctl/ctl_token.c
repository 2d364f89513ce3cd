/*
 * digestctl token: the token that a running node presents to its peers.
 */
#include <stdio.h>

#include "digestd/ctl/digestctl.h"
#include "digestd/ctl/node_client.h"

const char ctl_token_help[] =
	"usage: digestctl token [OPTIONS]\n"
	"Prints the token that a running node presents to its peers, for who\n"
	"fetches a digest by hand. With it anybody can read what the cluster\n"
	"holds: keep it as you do the cluster key.\n";

const struct tool_option *const ctl_token_options[] = { control_options, NULL };

static int ctl_token_tell(const json_t *answer)
{
	puts(json_string_value(json_object_get(answer, "token")));
	return CTL_OK;
}

int ctl_token(int argc, char **argv)
{
	return node_client_run_bare(argc, argv, ctl_token_help, "token",
				    ctl_token_tell);
}

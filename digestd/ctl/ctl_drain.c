/*
 * digestctl drain, undrain: takes a running node out of the service of load
 * balancers, and puts it back.
 */
#include <stdio.h>

#include "digestd/ctl/digestctl.h"
#include "digestd/ctl/node_client.h"

const char ctl_drain_help[] =
	"usage: digestctl drain [OPTIONS]\n"
	"Has /readyz of a running node answer 503, so that load balancers\n"
	"send it no new clients. It goes on serving those who come, and its\n"
	"peers.\n";

const char ctl_undrain_help[] =
	"usage: digestctl undrain [OPTIONS]\n"
	"Ends what drain has begun.\n";

const struct tool_option *const ctl_drain_options[] = { control_options, NULL };
const struct tool_option *const ctl_undrain_options[] = { control_options,
							  NULL };

static int ctl_drain_tell(const json_t *answer)
{
	(void)answer;
	puts("drained: /readyz says 503 until \"digestctl undrain\"");
	return CTL_OK;
}

static int ctl_drain_tell_undone(const json_t *answer)
{
	(void)answer;
	puts("not drained");
	return CTL_OK;
}

int ctl_drain(int argc, char **argv)
{
	return node_client_run_bare(argc, argv, ctl_drain_help, "drain",
				    ctl_drain_tell);
}

int ctl_undrain(int argc, char **argv)
{
	return node_client_run_bare(argc, argv, ctl_undrain_help, "undrain",
				    ctl_drain_tell_undone);
}

/*
 * digestctl quarantine, release: has a running node leave a peer alone, and ask
 * it again.
 */
#include <stdio.h>

#include "digestd/ctl/digestctl.h"
#include "digestd/ctl/node_client.h"

const char ctl_quarantine_help[] =
	"usage: digestctl quarantine [OPTIONS] PEER\n"
	"Has a running node leave a peer alone: it is not asked for objects\n"
	"and owns no keys until it is released, or the node starts anew.\n";

const char ctl_release_help[] =
	"usage: digestctl release [OPTIONS] PEER\n"
	"Ends the quarantine of a peer, whether an operator or its false hits\n"
	"or wrong responses have brought it there.\n";

const struct tool_option *const ctl_quarantine_options[] = { control_options,
							     NULL };
const struct tool_option *const ctl_release_options[] = { control_options,
							  NULL };

static int ctl_quarantine_say(const json_t *answer, const char *done,
			      const char *already)
{
	bool changed = json_is_true(json_object_get(answer, "changed"));

	printf("peer %s: %s\n",
	       json_string_value(json_object_get(answer, "peer")),
	       changed ? done : already);
	return CTL_OK;
}

static int ctl_quarantine_tell(const json_t *answer)
{
	return ctl_quarantine_say(answer, "in quarantine until it is released",
				  "was in quarantine already");
}

static int ctl_quarantine_tell_end(const json_t *answer)
{
	return ctl_quarantine_say(answer, "released", "was not in quarantine");
}

int ctl_quarantine(int argc, char **argv)
{
	return node_client_run_with(argc, argv, ctl_quarantine_help,
				    "quarantine", "peer", ctl_quarantine_tell);
}

int ctl_release(int argc, char **argv)
{
	return node_client_run_with(argc, argv, ctl_release_help, "release",
				    "peer", ctl_quarantine_tell_end);
}

/*
 * digestctl peers: how a running node sees its peers.
 */
#include <stdio.h>
#include <unistd.h>

#include "digestd/ctl/digestctl.h"
#include "digestd/ctl/json_report.h"
#include "digestd/ctl/node_client.h"
#include "digestd/ctl/peer_rows.h"
#include "digestd/tool/arguments.h"

const char ctl_peers_help[] =
	"usage: digestctl peers [OPTIONS]\n"
	"Shows how a running node sees its peers: whether each is asked, how\n"
	"old its digest is and how full, false hits, what it has delivered\n"
	"since the node was started, and its round trip.\n";

const struct tool_option *const ctl_peers_options[] = { control_options, NULL };

static int ctl_peers_tell(const json_t *answer)
{
	const struct peer_rows rows = {
		.status = json_object_get(answer, "status"),
	};

	peer_rows_print(&rows, stdout);
	return CTL_OK;
}

/* Only the peers of the status. */
static int ctl_peers_tell_json(const json_t *answer)
{
	const json_t *status = json_object_get(answer, "status");

	return json_report_print(json_incref(json_object_get(status, "peers")));
}

int ctl_peers(int argc, char **argv)
{
	struct control_options o = { .json = false };
	bool json;

	if (!options_read(ctl_peers_options, argc, argv, &o))
		return CTL_USAGE;
	if (optind < argc)
		return arguments_wrong("peers", "takes no operands",
				       ctl_peers_help);
	json = o.json;
	o.json = false; /* not the whole answer */
	return node_client_run(&o, json_pack("{s:s}", "command", "status"),
			   json ? ctl_peers_tell_json : ctl_peers_tell);
}

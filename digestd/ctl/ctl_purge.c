/*
 * digestctl purge: removes objects from a running node and from its peers.
 */
#include <stdio.h>
#include <unistd.h>

#include "digestd/ctl/digestctl.h"
#include "digestd/ctl/node_client.h"
#include "digestd/tool/arguments.h"

const char ctl_purge_help[] =
	"usage: digestctl purge [OPTIONS] URL\n"
	"       digestctl purge [OPTIONS] --prefix URL | --tag TAGS\n"
	"Removes what a running node and its peers have for a URL, by http\n"
	"and by https; for all URLs that begin so; or all that has one of\n"
	"some tags. Waits for the peers, and names those that have not\n"
	"acknowledged it; the exit code is 1 when it has to be done again.\n";

struct purge_arguments {
	struct control_options control;
	const char *prefix, *tags;
};

static const struct tool_option purge_rows[] = {
	{ .name = "prefix", .kind = OPTION_TEXT,
	  .at = offsetof(struct purge_arguments, prefix), .value = "URL",
	  .help = "all URLs that begin so" },
	{ .name = "tag", .kind = OPTION_TEXT,
	  .at = offsetof(struct purge_arguments, tags), .value = "TAGS",
	  .help = "all with one of these tags: \"a, b\"" },
	{ .name = NULL },
};

const struct tool_option *const ctl_purge_options[] = { purge_rows,
							control_options, NULL };

static int ctl_purge_tell(const json_t *answer)
{
	json_t *peers = json_object_get(answer, "peers"), *purged;
	json_int_t n = json_integer_value(json_object_get(answer, "purged"));
	const char *name;

	printf("%" JSON_INTEGER_FORMAT " object%s removed here\n", n,
	       n == 1 ? "" : "s");
	json_object_foreach(peers, name, purged) {
		if (json_is_integer(purged))
			printf("peer %s: %" JSON_INTEGER_FORMAT "\n", name,
			       json_integer_value(purged));
		else
			printf("peer %s: has not acknowledged it yet\n", name);
	}
	return CTL_OK;
}

int ctl_purge(int argc, char **argv)
{
	struct purge_arguments a = { .prefix = NULL };
	const char *member = "url", *value = NULL;
	int given;

	if (!options_read(ctl_purge_options, argc, argv, &a))
		return CTL_USAGE;
	given = argc - optind + !!a.prefix + !!a.tags;
	if (given != 1)
		return arguments_wrong("purge", "needs one URL, prefix or tag",
				       ctl_purge_help);
	if (a.prefix) {
		member = "prefix";
		value = a.prefix;
	} else if (a.tags) {
		member = "tag";
		value = a.tags;
	} else {
		value = argv[optind];
	}
	return node_client_run(&a.control,
			   json_pack("{s:s, s:s}", "command", "purge", member,
				     value),
			   a.control.json ? NULL : ctl_purge_tell);
}

/*
 * Which server each object of a trace is from.
 */
#include "config.h"

#include "cachesim/servers.h"

#include <stdlib.h>
#include <string.h>

#include "cachesim/sim/compact.h"
#include "cachesim/sim/id_map.h"
#include "cachesim/workload.h"
#include "digestd/tool/command.h"

/* The host of an absolute URL; empty: it has none. */
static struct trace_text servers_host_of(struct trace_text url)
{
	static const char mark[] = "://";
	const char *at = memmem(url.at, url.len, mark, strlen(mark));
	struct trace_text host = { url.at, 0 };

	if (!at)
		return host;
	host.at = at + strlen(mark);
	while (host.at + host.len < url.at + url.len &&
	       host.at[host.len] != '/')
		host.len++;
	return host;
}

/* Goes through the requests as they were numbered. 1: an URL has no host. */
static int servers_number_hosts(struct servers *out, struct id_map *hosts,
				struct trace_reader *from,
				const struct sim_trace *t)
{
	struct trace_request req;
	int error = 0;

	for (uint64_t i = 0; i < t->nrequests && !error; i++) {
		struct trace_text host;
		uint64_t hash;

		error = trace_next(from, &req);
		if (error <= 0)
			return error ? error : 1;
		host = servers_host_of(req.url);
		if (!host.len)
			return 1;
		hash = trace_hash(host.at, host.len);
		error = id_map_numbers(hosts, &hash, 1, &out->of[t->object[i]]);
	}
	out->n = hosts->n;
	return error;
}

static int servers_read_again(struct servers *out, const struct settings *s,
			      const struct sim_trace *t)
{
	struct workload_complaints state;
	struct trace_options opt = workload_options(s, &state);
	struct trace_reader *from;
	struct id_map hosts = { 0 };
	int error = trace_open(&from, s->trace, &opt);

	state.quiet = true; /* they were told the first time */
	if (error)
		return error;
	error = id_map_init(&hosts);
	if (!error)
		error = servers_number_hosts(out, &hosts, from, t);
	id_map_free(&hosts);
	trace_close(&from);
	return error;
}

int servers_find(struct servers *out, const struct settings *s,
		 const struct sim_trace *t)
{
	int error = 0;

	*out = (struct servers){ 0 };
	if (!strcmp(s->trace, "-") || sim_compact_is(s->trace))
		return TOOL_OK;
	out->of = calloc(t->nobjects, sizeof(*out->of));
	if (!out->of)
		error = TRACE_ENOMEM;
	else
		error = servers_read_again(out, s, t);
	if (error) {
		free(out->of);
		*out = (struct servers){ 0 };
	}
	return error < 0 ? workload_failed(s, error) : TOOL_OK;
}

/*
 * PURGE at listen_data.
 */
#include "digestd/proxy/client_purge.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "digestd/http/purge_scope.h"
#include "digestd/http/target.h"
#include "digestd/node/site.h"
#include "digestd/os/address.h"
#include "digestd/peers/purge.h"
#include "digestd/proxy/request.h"

/* A purge under way; the order's argument, which may outlive the request. */
struct client_purge {
	struct request *r; /* null: its client has left */
};

/* Who may */

/* The list that a policy sets, else the node's own. */
static void client_purge_list(const struct worker_settings *set,
			      const struct policy *policy,
			      struct address_prefixes *out)
{
	if (policy_has(policy, POLICY_purge_addresses)) /* it is checked */
		(void)address_prefixes_read(policy->purge_addresses, out);
	else
		*out = set->purgers;
}

static bool client_purge_lists(const struct worker_settings *set,
			       const struct policy *policy,
			       const struct sockaddr *from)
{
	struct address_prefixes list;

	client_purge_list(set, policy, &list);
	return address_prefixes_have(&list, from);
}

/* What begins with a prefix is the site's, or any of its rules'. */
static bool client_purge_site_lists(const struct worker_settings *set,
				    const struct site *site,
				    const struct sockaddr *from)
{
	if (!client_purge_lists(set, &site->rules[0].policy, from))
		return false;
	for (size_t i = 1; i < site->nrules; i++) {
		const struct policy *p = &site->rules[i].policy;

		if (policy_has(p, POLICY_purge_addresses) &&
		    !client_purge_lists(set, p, from))
			return false;
	}
	return true;
}

static bool client_purge_prefix_is_allowed(const struct request *r)
{
	const struct worker_settings *set = r->q->settings;
	const struct sockaddr *from = exchange_request(r->x)->client;
	const struct site *site = NULL;
	struct target t;
	char *prefix;
	int err = purge_scope_prefix(request_fields(r), &prefix);

	if (err) /* who may purge is told what is wrong with it */
		return address_prefixes_have(&set->purgers, from);
	err = target_resolve(&t, prefix, strlen(prefix), NULL);
	free(prefix);
	if (err)
		return false;
	if (set->sites)
		site = sites_find(set->sites, t.host, t.host_len);
	target_free(&t);
	return site ? client_purge_site_lists(set, site, from)
		    : address_prefixes_have(&set->purgers, from);
}

static bool client_purge_is_allowed(const struct request *r)
{
	const struct worker_settings *set = r->q->settings;
	const struct fields *fields = request_fields(r);
	const struct sockaddr *from = exchange_request(r->x)->client;

	if (fields_get(fields, "Purge-Tag"))
		return address_prefixes_have(&set->purgers, from);
	if (fields_get(fields, "Purge-Prefix"))
		return client_purge_prefix_is_allowed(r);
	return client_purge_lists(set, r->q->policy, from);
}

enum node_purge client_purge_right(const struct request *r)
{
	struct address_prefixes list;

	if (r->q->safe || r->node.from_peer ||
	    !question_is_method(r->q, "PURGE"))
		return NODE_PURGE_NONE;
	client_purge_list(r->q->settings, r->q->policy, &list);
	if (!list.count)
		return NODE_PURGE_NONE;
	return client_purge_is_allowed(r) ? NODE_PURGE_ALLOWED
					  : NODE_PURGE_BARRED;
}

/* What is done */

static void client_purge_on_done(void *arg, unsigned status, const char *body)
{
	struct client_purge *p = arg;
	struct request *r = p->r;
	char line[128];

	free(p);
	if (!r)
		return;
	r->purge = NULL;
	if (!body) {
		reply_error(r, 503, "memory");
	} else if (status == 400) {
		snprintf(line, sizeof(line), "%s\n", body);
		reply_text(r, status, "text/plain", line);
	} else {
		reply_text(r, status, "application/json", body);
	}
}

void client_purge_serve(struct request *r)
{
	const struct server_request *in = exchange_request(r->x);
	char asker[ADDRESS_TEXT_BYTES];
	const struct purge_order order = {
		.target = { in->target, in->target_len },
		.fields = in->fields,
		.asker = address_text(in->client, asker) ? asker : "a client",
		.done = client_purge_on_done,
		.arg = malloc(sizeof(struct client_purge)),
	};

	assert(!r->purge);
	if (!order.arg) {
		reply_error(r, 503, "memory");
		return;
	}
	worker_add(&r->worker->counters.client_purges, 1);
	r->purge = order.arg;
	r->purge->r = r;
	/* used before this returns */
	r->worker->client_purger.sites = r->q->settings->sites;
	purge_obey(&r->worker->client_purger, &order);
}

void client_purge_leave(struct request *r)
{
	if (r->purge)
		r->purge->r = NULL;
	r->purge = NULL;
}

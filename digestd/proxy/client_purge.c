/*
 * PURGE at listen_data.
 */
#include "digestd/proxy/client_purge.h"

#include <assert.h>
#include <errno.h>
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

/* Returns 0 or -ENOMEM. */
static int client_purge_allow_prefix(const struct request *r, bool *allowed)
{
	const struct worker_settings *set = r->q->settings;
	const struct sockaddr *from = r->in->client;
	const struct site *site = NULL;
	struct target t;
	char *prefix;
	int err = purge_scope_prefix(request_fields(r), &prefix);

	if (err == -ENOMEM)
		return err;
	*allowed = address_prefixes_have(&set->purgers, from);
	if (err) /* who may purge is told what is wrong with it */
		return 0;
	err = target_resolve(&t, prefix, strlen(prefix), NULL);
	free(prefix);
	if (err) {
		*allowed = false;
		return err == -ENOMEM ? err : 0;
	}
	if (set->sites)
		site = sites_find(set->sites, t.host, t.host_len);
	target_free(&t);
	if (site)
		*allowed = client_purge_site_lists(set, site, from);
	return 0;
}

/* Returns 0 or -ENOMEM. */
static int client_purge_allow(const struct request *r, bool *allowed)
{
	const struct worker_settings *set = r->q->settings;
	const struct fields *fields = request_fields(r);
	const struct sockaddr *from = r->in->client;

	if (fields_get(fields, "Purge-Tag"))
		*allowed = address_prefixes_have(&set->purgers, from);
	else if (fields_get(fields, "Purge-Prefix"))
		return client_purge_allow_prefix(r, allowed);
	else
		*allowed = client_purge_lists(set, r->q->policy, from);
	return 0;
}

int client_purge_right(const struct request *r, enum node_purge *right)
{
	struct address_prefixes list;
	bool allowed;
	int err;

	*right = NODE_PURGE_NONE;
	if (r->q->safe || r->node.from_peer ||
	    !question_is_method(r->q, "PURGE"))
		return 0;
	client_purge_list(r->q->settings, r->q->policy, &list);
	if (!list.count)
		return 0;
	err = client_purge_allow(r, &allowed);
	if (!err)
		*right = allowed ? NODE_PURGE_ALLOWED : NODE_PURGE_BARRED;
	return err;
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
	const struct server_request *in = r->in;
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

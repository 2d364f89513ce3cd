/*
 * The life of a request, and its way through the door.
 */
#include "digestd/proxy/request.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "digestd/node/client_rates.h"
#include "digestd/node/node_door.h"
#include "digestd/os/address.h"
#include "digestd/peers/invalidation_api.h"
#include "digestd/peers/serving_desk.h"
#include "digestd/peers/squid_digest.h"
#include "digestd/peers/token.h"
#include "digestd/proxy/client_purge.h"
#include "digestd/proxy/fill.h"

/* Life */

enum { REQUEST_SPARE = 64 };

/* The memory of one that is over, or new. */
static struct request *request_allocate(struct worker *w)
{
	struct request *r = w->spare;

	if (!r)
		return malloc(sizeof(*r));
	w->spare = r->next;
	w->nspare--;
	return r;
}

static void request_keep_memory(struct worker *w, struct request *r)
{
	if (w->nspare == REQUEST_SPARE) {
		free(r);
		return;
	}
	r->next = w->spare;
	w->spare = r;
	w->nspare++;
}

static void request_free_spare(struct worker *w)
{
	while (w->spare) {
		struct request *r = w->spare;

		w->spare = r->next;
		free(r);
	}
	w->nspare = 0;
}

static struct request *request_new(struct worker *w, struct exchange *x)
{
	struct request *r = request_allocate(w);

	if (!r)
		return NULL;
	memset(r, 0, sizeof(*r));
	r->in = exchange_request(x);
	r->q = question_new(w->settings, r->in->method);
	if (!r->q) {
		request_keep_memory(w, r);
		return NULL;
	}
	r->worker = w;
	r->x = x;
	r->came_us = loop_now_us(w->loop);
	r->source = ACCESS_FROM_nobody;
	r->next = w->requests;
	r->link = &w->requests;
	if (r->next)
		r->next->link = &r->next;
	w->requests = r;
	exchange_set_data(x, r);
	return r;
}

static void request_free(struct request *r)
{
	assert(!r->lead);
	/* most have nothing of all that, so that calls are saved */
	if (r->late_ms)
		loop_timer_clear(r->worker->loop, &r->late);
	if (r->blocks)
		reply_blocks_free(&r->blocks);
	if (r->sliced)
		reply_slices_close(r);
	*r->link = r->next;
	if (r->next)
		r->next->link = r->link;
	request_upload_free(r);
	if (r->found && !r->lent)
		cached_unref(&r->found);
	if (r->stale)
		cached_unref(&r->stale);
	if (r->normal) {
		fields_free(r->normal);
		free(r->normal);
	}
	question_unref(&r->q);
	if (r->held)
		request_purge_leave(r);
	if (r->purge)
		client_purge_leave(r);
	request_keep_memory(r->worker, r);
}

void request_free_if_over(struct request *r)
{
	if (r->node.state != NODE_CLOSED || !collapse_leave(&r->reader))
		return;
	r->node.waiting = false;
	if (node_request_is_over(&r->node))
		request_free(r);
}

void request_end_all(struct worker *w)
{
	for (struct request *r = w->requests; r; r = r->next) {
		if (r->node.reading)
			cache_read_cancel(w->shared.cache, &r->read);
		collapse_leave(&r->reader);
	}
	request_purge_end_all(w);
	reply_slices_cancel_all(w);
	/* Nobody calls them any more; who is called already, is so now, as the
	 * loop's queue of calls must not have any of what has been freed. */
	if (w->loop)
		loop_turn(w->loop, 0);
	while (w->requests) {
		struct request *r = w->requests;

		assert(!r->reader.joined);
		if (r->fill)
			r->fill->client = NULL;
		request_free(r);
	}
	reply_slices_end_all(w);
	request_free_spare(w);
}

/* The door: facts for node/node_door.h, and what follows from its decision. */

/* The request's Host. HTTP/1.0 needs none, and then goes where all goes that
 * has no other place. */
static struct field_part request_host_of(const struct request *r)
{
	const char *other = r->q->settings->default_host;

	if (r->in->host)
		return (struct field_part){ r->in->host, r->in->host_len };
	return (struct field_part){ other, other ? strlen(other) : 0 };
}

/* Finds out what the target is, and for which site. */
static void request_resolve(struct request *r, struct node_door *door)
{
	const struct server_request *in = r->in;
	const struct field_part host = request_host_of(r);
	struct question *q = r->q;
	int err;

	q->asterisk = in->target_len == 1 && in->target[0] == '*';
	err = target_resolve_n(&q->target, q->asterisk ? "/" : in->target,
			       in->target_len, host);
	/* its site is found by the host, of which port 443 is then no part */
	if (!err && in->https && !q->target.absolute)
		err = target_set_scheme(&q->target, "https");
	door->asterisk = q->asterisk;
	door->has_host = host.at;
	door->no_memory = err == -ENOMEM;
	if (err)
		return;
	if (question_find_site(q) ||
	    (!q->safe && client_purge_right(r, &door->purge))) {
		door->no_memory = true;
		return;
	}
	door->target = &q->target;
	door->site = q->site;
}

/*
 * Whether the client is one that the configuration does not let ask. Only
 * addresses of networks can be listed: a client at a UNIX socket has been let
 * in by the socket's permissions.
 */
static bool request_is_barred(const struct request *r)
{
	const struct address_prefixes *clients = &r->q->settings->clients;
	const struct sockaddr *from = r->in->client;

	if (!clients->count || r->node.from_peer)
		return false;
	return from->sa_family != AF_UNIX &&
	       !address_prefixes_have(clients, from);
}

/*
 * Takes a token of the client's; whether there was none, and when there is one.
 * A client at a UNIX socket has no address of its own.
 */
static bool request_is_hurried(struct request *r)
{
	const struct client_rate *limit = &r->q->settings->client_rate;
	const struct sockaddr *from = r->in->client;
	struct address_block block;
	int64_t wait_us;

	if (!limit->per_s || r->node.from_peer || !r->worker->shared.rates ||
	    from->sa_family == AF_UNIX)
		return false;
	block = address_block_of(from);
	wait_us = client_rates_take(
		r->worker->shared.rates,
		&(struct client_rates_key){ block.high, block.low }, limit,
		r->came_us);
	r->retry_s = (unsigned)((wait_us + 999999) / 1000000);
	return wait_us;
}

static struct node_entry request_ask_door(struct request *r)
{
	const struct server_request *in = r->in;
	const struct worker_settings *set = r->q->settings;
	struct node_door door = {
		.node = set->node,
		.forward = set->forward,
		.has_default = set->default_origin,
		.max_upload_bytes = set->max_upload_bytes,
		.from_peer = r->node.from_peer,
		.barred = request_is_barred(r),
		.get = r->q->get,
		.head = r->q->head,
		.options = r->q->options,
		.fields = in->fields,
		.https = in->https,
		.upgrade = in->upgrade,
		.has_body = in->has_body,
		.body_len = in->body_len,
	};

	/* nothing is looked up for who gets nothing */
	door.hurried = !door.barred && request_is_hurried(r);
	if (!door.barred && !door.hurried)
		request_resolve(r, &door);
	return node_door_enter(&door);
}

/* Makes the client's fields what the site wants them to be. False without
 * memory. */
static bool request_normalise(struct request *r)
{
	struct fields *f;

	if (!r->q->cacheable || !question_normalises_fields(r->q))
		return true;
	f = malloc(sizeof(*f));
	if (!f || fields_copy(request_fields(r), f)) {
		free(f);
		return false;
	}
	r->normal = f;
	return !question_normalise_fields(r->q, f);
}

/* False without memory. */
static bool request_take_entry(struct request *r,
			       const struct node_entry *entry)
{
	const struct server_request *in = r->in;
	struct question *q = r->q;

	if (entry->own_scheme &&
	    target_set_scheme(&q->target, in->https ? "https" : "http"))
		return false;
	scd_key_make(q->settings->hash_secret, "GET", q->target.uri,
		     q->target.uri_len, &q->key);
	cache_prefetch(r->worker->shared.cache, &q->key);
	if (r->node.from_peer) /* whose clients' wishes it has judged */
		cachecontrol_request(in->fields, &q->cc);
	else
		question_read_wishes(q, in->fields);
	question_take_way(q, entry->way);
	q->unsafe = entry->unsafe;
	q->cacheable = entry->cacheable && !question_passes(q);
	q->upgrade = entry->upgrade;
	r->fwd = entry->fwd;
	return request_normalise(r);
}

static void request_refuse(struct request *r, const struct node_entry *entry)
{
	if (entry->status == 508)
		worker_count_loop(r->worker);
	if (entry->status != 429) {
		reply_error(r, entry->status, entry->why);
		return;
	}
	worker_log_hurried(r->worker, r->in->client,
			   r->q->settings->client_rate.per_s);
	reply_hurried(r, r->retry_s);
}

static void request_enter(struct request *r)
{
	const struct node_entry entry = request_ask_door(r);

	switch (entry.action) {
	case NODE_DOOR_ENTER:
		if (request_take_entry(r, &entry)) {
			request_find(r);
			return;
		}
		reply_error(r, 503, "memory");
		break;
	case NODE_DOOR_OPTIONS:
		reply_options(r);
		break;
	case NODE_DOOR_PURGE:
		client_purge_serve(r);
		break;
	case NODE_DOOR_REFUSE:
		request_refuse(r, &entry);
		break;
	}
	node_request_refuse(&r->node);
}

/* A peer that knows of more purges must not get what they are of: it is as if
 * that was stale. */
static void request_refuse_behind(struct request *r)
{
	r->fwd = CACHESTATUS_STALE;
	reply_error(r, 504, "behind");
	node_request_refuse(&r->node);
}

/* The listeners */

/* Only a node's: a Squid, which has no token, takes no lease from one. */
static void request_read_wish(struct request *r)
{
	const struct fields *fields = request_fields(r);
	const char *text = fields_get(fields, LEASES_FIELD);
	const char *token = fields_get(
		fields, node_door_token_field(NODE_PEER_OBJECT));

	if (text && r->worker->shared.leases &&
	    tokens_match(&r->worker->settings->tokens, token))
		lease_wish_read(text, &r->wish);
}

static void request_start(struct worker *w, struct exchange *x, bool from_peer)
{
	struct request *r = request_new(w, x);

	if (!r) {
		exchange_reply_error(x, 503, NULL);
		return;
	}
	r->node.from_peer = from_peer;
	/* a peer has said what it needs */
	r->serves = from_peer || serving_desk_may_serve(w->shared.serving);
	worker_add(&w->counters.unleased, !r->serves);
	if (from_peer)
		request_read_wish(r);
	if (from_peer && !request_meets_need(r))
		request_refuse_behind(r);
	else
		request_enter(r);
}

static void request_stir_service(const struct worker_hooks *hooks)
{
	if (hooks->dozing &&
	    atomic_load_explicit(hooks->dozing, memory_order_relaxed))
		hooks->on_stir(hooks->arg);
}

/* Whether a load balancer asks how this node is; no request of a client's. */
static bool request_is_of_balancer(const struct worker *w,
				   const struct server_request *in)
{
	const char *health = w->settings->health;

	return health && !in->has_body && in->target_len == strlen(health) &&
	       !memcmp(in->target, health, in->target_len) &&
	       (!strcmp(in->method, "GET") || !strcmp(in->method, "HEAD"));
}

static void request_answer_balancer(const struct worker *w, struct exchange *x)
{
	const atomic_bool *ready = w->shared.ready;
	const bool yes = !ready || atomic_load(ready);
	const char *text = yes ? "ready\n" : "not ready\n";
	struct fields f;

	fields_init(&f);
	if (fields_add(&f, "Content-Type", "text/plain") ||
	    fields_add(&f, "Cache-Control", "no-store"))
		exchange_abort(x);
	else
		exchange_reply_copy(x, yes ? 200 : 503, &f, text, strlen(text));
	fields_free(&f);
}

static void request_on_data_request(void *arg, struct exchange *x)
{
	struct worker *w = arg;

	if (request_is_of_balancer(w, exchange_request(x))) {
		request_answer_balancer(w, x);
		return;
	}
	request_stir_service(&w->hooks);
	worker_add(&w->counters.requests, 1);
	worker_add(&w->counters.http2_requests, exchange_request(x)->http2);
	request_start(w, x, false);
}

static size_t request_on_data_body(void *arg, struct exchange *x,
				   const void *data, size_t len)
{
	struct request *r = exchange_data(x);
	ssize_t taken;

	(void)arg;
	assert(r && !r->upload_ended);
	if (node_request_drops_upload(&r->node))
		return len;
	taken = request_upload_put(r, data, len);
	if (taken < 0) {
		exchange_abort(x);
		return 0;
	}
	request_event(r, NODE_UP);
	return (size_t)taken;
}

static void request_on_data_body_end(void *arg, struct exchange *x)
{
	struct request *r = exchange_data(x);

	(void)arg;
	assert(r && !r->upload_ended);
	r->upload_ended = true;
	if (!node_request_drops_upload(&r->node))
		request_event(r, NODE_UP);
}

/*
 * The client is gone, or served. A fetch whose response is being stored goes
 * on when others are waiting for it, or when it is worth it.
 */
static void request_on_data_done(void *arg, struct exchange *x,
				 enum exchange_end end)
{
	struct request *r = exchange_data(x);
	struct worker *w = arg;

	if (!r)
		return;
	request_figures_note(r);
	request_access_note(r, end);
	r->x = NULL;
	r->in = NULL;
	request_purge_leave(r);
	client_purge_leave(r);
	/* its own goes with the exchange; only a GET may be asked for again */
	r->q->method = r->q->get ? "GET" : "";
	if (end == EXCHANGE_ABORTED)
		worker_add(&w->counters.aborted, 1);
	request_event(r, NODE_LEFT);
}

static void request_on_data_refused(void *arg, struct exchange *x,
				    unsigned status)
{
	request_figures_count(arg, status);
	request_access_refused(arg, x, status);
}

const struct server_handler request_data_handler = {
	.on_request = request_on_data_request,
	.on_body = request_on_data_body,
	.on_body_end = request_on_data_body_end,
	.on_done = request_on_data_done,
	.on_refused = request_on_data_refused,
};

/*
 * The peer listener serves objects (absolute-form) itself and hands resources
 * (origin-form) on to their own handler. An exchange that is neither, because
 * its token was wrong, is marked with this.
 */
static const char refused_mark[1];

static enum node_peer_wish request_peer_wish(const struct exchange *x)
{
	const struct server_request *in = exchange_request(x);

	/* which Squids ask for by a URL */
	if (squid_digest_is_meant(x))
		return NODE_PEER_RESOURCE;
	return node_door_peer_wish(in->method, in->target);
}

/* Whether a Squid asks, which has no token, for what is open to Squids. */
static bool request_is_of_squid(const struct worker *w,
				const struct exchange *x)
{
	const struct server_request *in = exchange_request(x);

	if (!w->settings->squids.count ||
	    !address_prefixes_have(&w->settings->squids, in->client))
		return false;
	return squid_digest_is_meant(x) ||
	       (request_peer_wish(x) == NODE_PEER_OBJECT &&
		(!strcmp(in->method, "GET") || !strcmp(in->method, "HEAD")));
}

static bool request_is_handed_on(const struct exchange *x)
{
	return request_peer_wish(x) == NODE_PEER_RESOURCE &&
	       exchange_data(x) != refused_mark;
}

static void request_refuse_peer(struct worker *w, struct exchange *x,
				enum node_peer_wish wish, unsigned status)
{
	struct fields fields;

	if (status == 403) { /* with the right token */
		exchange_reply_error(x, status, NULL);
		return;
	}
	worker_add(&w->counters.refused, 1);
	if (wish == NODE_PEER_RESOURCE)
		exchange_set_data(x, (void *)(uintptr_t)refused_mark);
	fields_init(&fields);
	/* without memory the field is missing, the refusal is not */
	(void)fields_add(&fields, node_door_challenge_field(wish), "Bearer");
	exchange_reply_error(x, status, &fields);
	fields_free(&fields);
}

static void request_serve_peer(struct worker *w, struct exchange *x,
			       enum node_peer_wish wish)
{
	switch (wish) {
	case NODE_PEER_PURGE:
		purge_serve(&w->purger, x);
		break;
	case NODE_PEER_RESOURCE:
		if (invalidation_api_is_for(x))
			invalidation_api_on_request(&w->heard_by, x,
						    w->settings->purge_peers);
		else
			w->hooks.resources->on_request(w->hooks.resources_arg,
						       x);
		break;
	case NODE_PEER_OBJECT:
		worker_add(&w->counters.peer_requests, 1);
		request_start(w, x, true);
		break;
	}
}

static void request_on_peer_request(void *arg, struct exchange *x)
{
	const struct fields *fields = exchange_request(x)->fields;
	const enum node_peer_wish wish = request_peer_wish(x);
	struct worker *w = arg;
	const char *token = fields_get(fields, node_door_token_field(wish));
	unsigned status = node_door_refuse_peer(
		wish, tokens_match(&w->settings->tokens, token) ||
			      request_is_of_squid(w, x),
		w->settings->purge_peers);

	if (status)
		request_refuse_peer(w, x, wish, status);
	else
		request_serve_peer(w, x, wish);
}

/* What is handed on to others has no body that anybody reads. */
static bool request_is_of_invalidations(const struct exchange *x)
{
	return request_is_handed_on(x) && invalidation_api_is_for(x);
}

static size_t request_on_peer_body(void *arg, struct exchange *x,
				   const void *data, size_t len)
{
	(void)arg;
	return request_is_of_invalidations(x)
		       ? invalidation_api_on_body(x, data, len)
		       : len;
}

static void request_on_peer_body_end(void *arg, struct exchange *x)
{
	(void)arg;
	if (request_is_of_invalidations(x))
		invalidation_api_on_body_end(x);
}

static void request_on_peer_done(void *arg, struct exchange *x,
				 enum exchange_end end)
{
	struct worker *w = arg;

	switch (request_peer_wish(x)) {
	case NODE_PEER_PURGE:
		purge_leave(x);
		break;
	case NODE_PEER_OBJECT:
		request_on_data_done(arg, x, end);
		break;
	case NODE_PEER_RESOURCE:
		if (request_is_of_invalidations(x))
			invalidation_api_on_done(x);
		else if (request_is_handed_on(x) &&
			 w->hooks.resources->on_done)
			w->hooks.resources->on_done(w->hooks.resources_arg, x,
						    end);
		break;
	}
}

const struct server_handler request_peer_handler = {
	.on_request = request_on_peer_request,
	.on_body = request_on_peer_body,
	.on_body_end = request_on_peer_body_end,
	.on_done = request_on_peer_done,
};

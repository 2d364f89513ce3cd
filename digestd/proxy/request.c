/*
 * The life of a request, and its way through the door.
 */
#include "digestd/proxy/request.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/http/upgrade.h"
#include "digestd/http/via.h"
#include "digestd/peers/token.h"
#include "digestd/proxy/fill.h"

/* Life */

static struct request *request_new(struct worker *w, struct exchange *x)
{
	struct request *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->q = question_new(w->settings, exchange_request(x)->method);
	if (!r->q) {
		free(r);
		return NULL;
	}
	r->worker = w;
	r->x = x;
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
	reply_blocks_free(&r->blocks);
	*r->link = r->next;
	if (r->next)
		r->next->link = r->link;
	request_upload_free(r);
	if (!r->lent)
		cached_unref(&r->found);
	cached_unref(&r->stale);
	question_unref(&r->q);
	free(r);
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
}

/* At the door: false, and it has been answered. */

static bool request_check_loop(struct request *r)
{
	if (!via_loops(request_fields(r), r->q->settings->node))
		return true;
	worker_add(&r->worker->counters.loops, 1);
	reply_error(r, 508, "loop");
	return false;
}

static const struct worker_origin *
request_find_site(const struct worker_settings *set, const struct target *t)
{
	for (size_t i = 0; i < set->norigins; i++) {
		const char *name = set->origins[i].host;

		if (strlen(name) == t->host_len &&
		    !strncmp(name, t->host, t->host_len))
			return &set->origins[i];
	}
	return NULL;
}

/* The request's Host. HTTP/1.0 needs none, and then goes where all goes that
 * has no other place. */
static const char *request_host_of(const struct request *r)
{
	const char *host = fields_get(request_fields(r), "host");
	const char *origin = r->q->settings->default_origin;

	return host || !origin ? host : strstr(origin, "://") + 3;
}

/* Whether a forward proxy fetches the target, and not an origin of this node's
 * sites. */
static bool request_is_forward(const struct request *r)
{
	const struct worker_settings *set = r->q->settings;

	return set->forward && r->q->target.absolute && !r->node.from_peer &&
	       !target_is_https(&r->q->target) &&
	       !request_find_site(set, &r->q->target);
}

static int request_resolve_target(struct request *r)
{
	const struct server_request *in = exchange_request(r->x);
	int err;

	r->q->asterisk = in->target_len == 1 && in->target[0] == '*';
	err = target_resolve(&r->q->target, r->q->asterisk ? "/" : in->target,
			     in->target_len, request_host_of(r));
	if (err)
		return err;
	r->q->forward = request_is_forward(r);
	/* peers name objects as they are stored; clients could make up the
	 * scheme, which the origin would not be told */
	if (target_is_https(&r->q->target) == in->https || r->q->forward ||
	    (r->node.from_peer && r->q->target.absolute))
		return 0;
	return target_set_scheme(&r->q->target, in->https ? "https" : "http");
}

/* The last one that it may go to answers OPTIONS itself (RFC 9110, 7.6.2). */
static bool request_is_last(const struct request *r)
{
	const char *left = fields_get(request_fields(r), "Max-Forwards");

	return question_is_method(r->q, "OPTIONS") && left &&
	       !strcmp(left, "0");
}

static bool request_resolve(struct request *r)
{
	const struct server_request *in = exchange_request(r->x);
	const struct worker_settings *set = r->q->settings;
	int err;

	if (request_is_last(r) ||
	    (in->target[0] == '*' && !request_host_of(r))) {
		reply_options(r);
		return false;
	}
	err = request_resolve_target(r);
	if (err == -ENOMEM)
		reply_error(r, 503, "memory");
	else if (err)
		reply_error(r, 400, "target");
	if (err)
		return false;
	r->q->site = request_find_site(set, &r->q->target);
	scd_key_make(set->hash_secret, "GET", r->q->target.uri,
		     r->q->target.uri_len, &r->q->key);
	cachecontrol_request(in->fields, &r->q->cc);
	return true;
}

/* Where the request goes if it is not answered here. */
static bool request_find_upstream(struct request *r)
{
	const struct worker_settings *set = r->q->settings;

	r->q->upstream = r->q->site ? r->q->site->url : NULL;
	if (r->q->upstream)
		return true;
	if (r->q->forward)
		return true;
	r->q->upstream = set->default_origin;
	if (r->q->upstream)
		return true;
	if (r->q->asterisk) {
		reply_options(r);
		return false;
	}
	reply_error(r, r->q->target.absolute ? 403 : 421, "host");
	return false;
}

static bool request_is_safe(const struct question *q)
{
	return q->get || q->head || question_is_method(q, "OPTIONS");
}

/* Whether an origin may take it for another method than its own: the answer is
 * not one to a GET then. */
static bool request_overrides_method(const struct fields *in)
{
	static const char *const names[] = {
		"X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (fields_get(in, names[i]))
			return true;
	}
	return false;
}

static bool request_classify(struct request *r)
{
	const struct server_request *in = exchange_request(r->x);
	uint64_t max = r->q->settings->max_upload_bytes;

	r->q->unsafe = !request_is_safe(r->q);
	if (in->body_len > 0 && (uint64_t)in->body_len > max) {
		reply_error(r, 413, "body");
		return false;
	}
	r->q->upgrade = in->upgrade && !r->q->forward &&
			upgrade_may_pass(in->fields);
	r->fwd = CACHESTATUS_METHOD;
	if (r->q->get || r->q->head) {
		r->q->cacheable = !in->has_body && !r->q->upgrade &&
			       !request_overrides_method(in->fields);
		r->fwd = CACHESTATUS_BYPASS;
	}
	return true;
}

/* A peer needs no way to an origin: it is answered from the store. */
static bool request_enter(struct request *r)
{
	return request_check_loop(r) && request_resolve(r) &&
	       (r->node.from_peer || request_find_upstream(r)) &&
	       request_classify(r);
}

/* The listeners */

static void request_start(struct worker *w, struct exchange *x, bool from_peer)
{
	struct request *r = request_new(w, x);

	if (!r) {
		exchange_reply_error(x, 503, NULL);
		return;
	}
	r->node.from_peer = from_peer;
	if (request_enter(r))
		request_find(r);
	else
		node_request_refuse(&r->node);
}

static void request_on_data_request(void *arg, struct exchange *x)
{
	struct worker *w = arg;

	worker_add(&w->counters.requests, 1);
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
	r->x = NULL;
	/* its own goes with the exchange; only a GET may be asked for again */
	r->q->method = r->q->get ? "GET" : "";
	if (end == EXCHANGE_ABORTED)
		worker_add(&w->counters.aborted, 1);
	request_event(r, NODE_LEFT);
}

const struct server_handler request_data_handler = {
	.on_request = request_on_data_request,
	.on_body = request_on_data_body,
	.on_body_end = request_on_data_body_end,
	.on_done = request_on_data_done,
};

/*
 * The peer listener serves objects (absolute-form) itself and hands resources
 * (origin-form) on to their own handler. An exchange that is neither, because
 * its token was wrong, is marked with this.
 */
static const char refused_mark[1];

static bool request_is_resource(const struct exchange *x)
{
	return exchange_request(x)->target[0] == '/';
}

static bool request_is_purge(const struct exchange *x)
{
	return !request_is_resource(x) &&
	       !strcmp(exchange_request(x)->method, "PURGE");
}

static bool request_is_handed_on(const struct exchange *x)
{
	return request_is_resource(x) && exchange_data(x) != refused_mark;
}

static void request_refuse(struct worker *w, struct exchange *x)
{
	bool resource = request_is_resource(x);
	struct fields fields;

	worker_add(&w->counters.refused, 1);
	exchange_set_data(x, resource ? (void *)(uintptr_t)refused_mark : NULL);
	fields_init(&fields);
	/* without memory the field is missing, the refusal is not */
	(void)fields_add(&fields, resource ? "WWW-Authenticate" :
					     "Proxy-Authenticate", "Bearer");
	exchange_reply_error(x, resource ? 401 : 407, &fields);
	fields_free(&fields);
}

static void request_on_peer_request(void *arg, struct exchange *x)
{
	const struct fields *fields = exchange_request(x)->fields;
	struct worker *w = arg;
	bool resource = request_is_resource(x);

	if (!token_matches(fields_get(fields, resource ? "authorization" :
							 "proxy-authorization"),
			   w->settings->token)) {
		request_refuse(w, x);
	} else if (request_is_purge(x)) {
		if (w->settings->purge_peers)
			purge_serve(&w->purger, x);
		else
			exchange_reply_error(x, 403, NULL);
	} else if (resource) {
		w->hooks.resources->on_request(w->hooks.resources_arg, x);
	} else {
		worker_add(&w->counters.peer_requests, 1);
		request_start(w, x, true);
	}
}

static size_t request_on_peer_body(void *arg, struct exchange *x,
				   const void *data, size_t len)
{
	struct worker *w = arg;

	if (!request_is_handed_on(x) || !w->hooks.resources->on_body)
		return len;
	return w->hooks.resources->on_body(w->hooks.resources_arg, x, data,
					   len);
}

static void request_on_peer_body_end(void *arg, struct exchange *x)
{
	struct worker *w = arg;

	if (request_is_handed_on(x) && w->hooks.resources->on_body_end)
		w->hooks.resources->on_body_end(w->hooks.resources_arg, x);
}

static void request_on_peer_done(void *arg, struct exchange *x,
				 enum exchange_end end)
{
	struct worker *w = arg;

	if (request_is_purge(x))
		purge_leave(x);
	else if (!request_is_resource(x))
		request_on_data_done(arg, x, end);
	else if (request_is_handed_on(x) && w->hooks.resources->on_done)
		w->hooks.resources->on_done(w->hooks.resources_arg, x, end);
}

const struct server_handler request_peer_handler = {
	.on_request = request_on_peer_request,
	.on_body = request_on_peer_body,
	.on_body_end = request_on_peer_body_end,
	.on_done = request_on_peer_done,
};

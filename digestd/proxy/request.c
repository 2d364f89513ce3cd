/*
 * The steps of a request up to the fetch, and its life.
 */
#include "digestd/proxy/request.h"

#include <stdlib.h>
#include <string.h>

#include "digestd/http/conditional.h"
#include "digestd/http/vary.h"
#include "digestd/http/via.h"
#include "digestd/peers/token.h"

enum {
	UPLOAD_WINDOW = 65536, /* of a request's body kept between two ends */
};

static bool request_is_method(const struct request *r, const char *name)
{
	return !strcmp(r->method, name);
}

static const struct fields *request_fields_of(const struct request *r)
{
	return exchange_request(r->x)->fields;
}

/* Life */

/* One without an exchange. */
static struct request *request_make(struct worker *w)
{
	struct request *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->worker = w;
	r->settings = worker_settings_ref(w->settings);
	fields_init(&r->in);
	fields_init(&r->out);
	fields_init(&r->response);
	fields_init(&r->withheld);
	fields_init(&r->selecting);
	r->next = w->requests;
	r->link = &w->requests;
	if (r->next)
		r->next->link = &r->next;
	w->requests = r;
	return r;
}

static struct request *request_new(struct worker *w, struct exchange *x)
{
	struct request *r = request_make(w);

	if (!r)
		return NULL;
	r->x = x;
	r->method = exchange_request(x)->method;
	exchange_set_data(x, r);
	return r;
}

static void request_free(struct request *r)
{
	request_stop_fetch(r);
	request_land(r);
	request_return_memory(r);
	relay_unref(&r->wait.relay);
	relay_unref(&r->reader.relay);
	reply_blocks_free(&r->blocks);
	*r->link = r->next;
	if (r->next)
		r->next->link = r->link;
	if (!r->stored) /* which the body's bytes have gone to */
		buffer_free(&r->body);
	buffer_free(&r->upload);
	cached_unref(&r->head);
	cached_unref(&r->stored);
	cached_unref(&r->stale);
	cached_unref(&r->refreshed);
	fields_free(&r->in);
	fields_free(&r->out);
	peerset_unref(r->view);
	fields_free(&r->withheld);
	fields_free(&r->response);
	fields_free(&r->selecting);
	target_free(&r->target);
	worker_settings_unref(r->settings);
	free(r);
}

void request_settle(struct request *r)
{
	if (r->waiting && flights_leave(r->worker->flights, &r->wait))
		r->waiting = false;
	if (r->x || r->fetch || r->waiting || r->reading)
		return;
	if (!r->reader.relay || relay_leave(&r->reader))
		request_free(r);
}

void request_end_all(struct worker *w)
{
	while (w->requests) {
		struct request *r = w->requests;

		if (r->reading)
			cache_read_cancel(w->cache, &r->read);
		r->waiting = false; /* the loop that would call is over */
		flights_leave(w->flights, &r->wait);
		if (r->reader.relay)
			relay_leave(&r->reader);
		request_free(r);
	}
}

void request_run(struct request *r)
{
	while (r->x && r->step->run(r) == STEP_NEXT)
		r->step++;
}

/* Steps */

static enum step_result request_check_loop(struct request *r)
{
	if (!via_loops(request_fields_of(r), r->settings->node))
		return STEP_NEXT;
	worker_add(&r->worker->counters.loops, 1);
	reply_error(r, 508, "loop");
	return STEP_STOP;
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
	const char *host = fields_get(request_fields_of(r), "host");
	const char *origin = r->settings->default_origin;

	return host || !origin ? host : strstr(origin, "://") + 3;
}

/* Whether a forward proxy fetches the target, and not an origin of this node's
 * sites. */
static bool request_is_forward(const struct request *r)
{
	const struct worker_settings *set = r->settings;

	return set->forward && r->target.absolute && !r->from_peer &&
	       !target_is_https(&r->target) &&
	       !request_find_site(set, &r->target);
}

static int request_resolve_target(struct request *r)
{
	const struct server_request *in = exchange_request(r->x);
	int err;

	r->asterisk = in->target_len == 1 && in->target[0] == '*';
	err = target_resolve(&r->target, r->asterisk ? "/" : in->target,
			     in->target_len, request_host_of(r));
	if (err)
		return err;
	r->forward = request_is_forward(r);
	/* peers name objects as they are stored; clients could make up the
	 * scheme, which the origin would not be told */
	if (target_is_https(&r->target) == in->https || r->forward ||
	    (r->from_peer && r->target.absolute))
		return 0;
	return target_set_scheme(&r->target, in->https ? "https" : "http");
}

/* The last one that it may go to answers OPTIONS itself (RFC 9110, 7.6.2). */
static bool request_is_last(const struct request *r)
{
	const char *left = fields_get(request_fields_of(r), "Max-Forwards");

	return request_is_method(r, "OPTIONS") && left && !strcmp(left, "0");
}

static enum step_result request_resolve(struct request *r)
{
	const struct server_request *in = exchange_request(r->x);
	const struct worker_settings *set = r->settings;

	if (request_is_last(r) ||
	    (in->target[0] == '*' && !request_host_of(r))) {
		reply_options(r);
		return STEP_STOP;
	}
	if (request_resolve_target(r)) {
		reply_error(r, 400, "target");
		return STEP_STOP;
	}
	r->site = request_find_site(set, &r->target);
	scd_key_make(set->hash_secret, "GET", r->target.uri, r->target.uri_len,
		     &r->key);
	cachecontrol_request(in->fields, &r->cc);
	return STEP_NEXT;
}

/* Where the request goes if it is not answered here. */
static enum step_result request_find_upstream(struct request *r)
{
	const struct worker_settings *set = r->settings;

	r->upstream = r->site ? r->site->url : NULL;
	if (r->upstream)
		return STEP_NEXT;
	if (r->forward)
		return STEP_NEXT;
	r->upstream = set->default_origin;
	if (r->upstream)
		return STEP_NEXT;
	if (r->asterisk) {
		reply_options(r);
		return STEP_STOP;
	}
	reply_error(r, r->target.absolute ? 403 : 421, "host");
	return STEP_STOP;
}

static bool request_is_safe(const struct request *r)
{
	return request_is_method(r, "GET") || request_is_method(r, "HEAD") ||
	       request_is_method(r, "OPTIONS");
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

static enum step_result request_classify(struct request *r)
{
	const struct server_request *in = exchange_request(r->x);
	uint64_t max = r->settings->max_upload_bytes;

	r->unsafe = !request_is_safe(r);
	if (in->body_len > 0 && (uint64_t)in->body_len > max) {
		reply_error(r, 413, "body");
		return STEP_STOP;
	}
	r->fwd = CACHESTATUS_METHOD;
	if (request_is_method(r, "GET") || request_is_method(r, "HEAD")) {
		r->cacheable = !in->has_body &&
			       !request_overrides_method(in->fields);
		r->fwd = CACHESTATUS_BYPASS;
	}
	return STEP_NEXT;
}

static void request_count_hit(struct request *r, struct cached *c)
{
	struct worker_counters *counters = &r->worker->counters;

	cache_use(r->worker->cache, &r->key, c, loop_now_ms(r->worker->loop));
	worker_add(r->from_peer	 ? &counters->peer_served :
		   r->collapsed ? &counters->collapsed :
				  &counters->local_hits,
		   1);
}

struct request *request_beside(const struct request *r)
{
	struct request *beside = request_make(r->worker);
	const struct target *t = &r->target;

	if (!beside)
		return NULL;
	worker_settings_unref(beside->settings);
	beside->settings = worker_settings_ref(r->settings);
	beside->method = "GET";
	beside->key = r->key;
	beside->site = r->site;
	beside->upstream = r->upstream;
	beside->forward = r->forward;
	beside->cacheable = true;
	if (target_resolve(&beside->target, t->uri, t->uri_len, NULL) ||
	    fields_copy(request_fields_of(r), &beside->in)) {
		request_free(beside);
		return NULL;
	}
	fields_remove(&beside->in, "Range");
	fields_remove(&beside->in, "If-Range");
	return beside;
}

/* Leads the flight for the request's key, or has `wait` join it. */
static enum flight_place request_join_flight(struct request *r,
					     struct flight_waiter *wait)
{
	struct cache *cache = r->worker->cache;

	r->lead.begun = cache_purges(cache);
	r->lead.purged = cache_last_purge(cache, &r->key);
	return flights_join(r->worker->flights, &r->key, &r->lead, wait);
}

/*
 * Asks the origin about what was served stale, unless somebody does already.
 * Without memory the next request tries again.
 */
static void proxy_request_renew(const struct request *r, struct cached *stale)
{
	struct request *renewal = request_beside(r);

	if (!renewal)
		return;
	renewal->fwd = CACHESTATUS_STALE;
	if (request_join_flight(renewal, NULL) == FLIGHT_LEADS) {
		renewal->stale = cached_ref(stale);
		request_renew(renewal);
	}
	request_settle(renewal);
}

/* What is stored for the request, which is taken over: does it answer it? */
static enum step_result request_use_stored(struct request *r, struct cached *c)
{
	int64_t now_s = loop_wall_s(r->worker->loop);

	switch (freshness_reuse(&c->freshness, &r->cc, now_s)) {
	case REUSE_FRESH:
	case REUSE_STALE:
		request_count_hit(r, c);
		reply_cached(r, c);
		cached_unref(&c);
		return STEP_STOP;
	case REUSE_RENEW:
		if (r->from_peer)
			break; /* it can ask the origin itself */
		request_count_hit(r, c);
		worker_add(&r->worker->counters.stale_served, 1);
		reply_cached(r, c);
		if (!r->cc.only_if_cached)
			proxy_request_renew(r, c);
		cached_unref(&c);
		return STEP_STOP;
	case REUSE_VALIDATE:
		break;
	}
	r->fwd = freshness_left(&c->freshness, now_s) <= 0 ?
		CACHESTATUS_STALE : CACHESTATUS_REQUEST;
	r->stale = c;
	return STEP_NEXT;
}

static void request_was_read(void *arg)
{
	struct request *r = arg;
	struct cached *c = r->read.found;

	r->reading = false;
	r->read.found = NULL;
	if (!r->x) {
		cached_unref(&c);
		request_settle(r);
		return;
	}
	if (c && request_use_stored(r, c) == STEP_STOP)
		return;
	r->step++;
	request_run(r);
}

/* From the store, if it has what the request wants; or from the disk, in a
 * moment. */
static enum step_result request_look_up(struct request *r)
{
	struct cache *cache = r->worker->cache;
	enum cachestatus_fwd why;
	struct cached *c;

	if (!r->cacheable)
		return STEP_NEXT;
	r->store_step = r->step;
	cached_unref(&r->stale);
	c = cache_get(cache, &r->key, request_fields_of(r), &why);
	if (c)
		return request_use_stored(r, c);
	r->fwd = why;
	r->read.loop = r->worker->loop;
	r->read.call = (struct loop_call){.run = request_was_read, .arg = r};
	r->reading = cache_read(cache, &r->key, request_fields_of(r), &r->read);
	return r->reading ? STEP_STOP : STEP_NEXT;
}

static enum step_result request_only_if_cached(struct request *r)
{
	if (!r->cc.only_if_cached)
		return STEP_NEXT;
	reply_error(r, 504, "only-if-cached");
	return STEP_STOP;
}

/* The last resort: what is here already needs no more memory than there is. */
static enum step_result request_refuse_without_memory(struct request *r)
{
	if (ledger_left(&memory_ledger))
		return STEP_NEXT;
	worker_add(&r->worker->counters.memory_refused, 1);
	reply_busy(r);
	return STEP_STOP;
}

/* Whether one fetch may answer several requests like this. */
static bool request_shareable(const struct request *r)
{
	const struct fields *in = request_fields_of(r);

	return r->cacheable && request_is_method(r, "GET") && !r->cc.no_store &&
	       !r->cc.no_cache && !fields_get(in, "range") &&
	       !fields_get(in, "authorization");
}

/* Reads what another request fetches, if that is what this one wants. */
static enum step_result request_follow(struct request *r)
{
	struct relay *relay = r->wait.relay;
	struct cached *head = relay_head(relay);

	r->wait.relay = NULL;
	r->collapsed = true;
	if (!vary_match(cached_selecting(head), request_fields_of(r)) ||
	    freshness_reuse(&head->freshness, &r->cc,
			    loop_wall_s(r->worker->loop)) != REUSE_FRESH) {
		relay_unref(&relay);
		return STEP_NEXT;
	}
	request_count_hit(r, head);
	reply_relay(r, relay);
	return STEP_STOP;
}

static void request_flight_landed(void *arg)
{
	struct request *r = arg;

	r->waiting = false;
	if (!r->x) {
		request_settle(r);
		return;
	}
	r->collapsed = true;
	if (!r->wait.relay)
		r->step = r->store_step;
	else if (request_follow(r) == STEP_NEXT)
		r->step++;
	else
		return;
	request_run(r);
}

static enum step_result request_collapse(struct request *r)
{
	if (r->collapsed || !request_shareable(r))
		return STEP_NEXT;
	r->wait.loop = r->worker->loop;
	r->wait.call =
		(struct loop_call){.run = request_flight_landed, .arg = r};
	/* from the store it may be a 304 */
	r->wait.for_landing = conditional_present(request_fields_of(r));
	switch (request_join_flight(r, &r->wait)) {
	case FLIGHT_LEADS:
		return STEP_NEXT;
	case FLIGHT_SHOWN:
		cache_note(r->worker->cache, &r->key);
		return request_follow(r);
	case FLIGHT_WAITS:
		break;
	}
	r->waiting = true;
	cache_note(r->worker->cache, &r->key);
	return STEP_STOP;
}

/* Cache-Status tells the peer what was missing, see judge_504(). */
static enum step_result request_not_here(struct request *r)
{
	reply_error(r, 504, r->fwd == CACHESTATUS_STALE ? "stale" : "miss");
	return STEP_STOP;
}

/* clang-format off */
static const struct step data_steps[] = {
	{ "loop",      request_check_loop },
	{ "resolve",   request_resolve },
	{ "upstream",  request_find_upstream },
	{ "classify",  request_classify },
	{ "store",     request_look_up },
	{ "if-cached", request_only_if_cached },
	{ "memory",    request_refuse_without_memory },
	{ "collapse",  request_collapse },
	{ "peers",     request_ask_peers },
	{ "origin",    request_ask_origin },
};

/* A peer is answered from the store, or not at all. */
static const struct step peer_steps[] = {
	{ "loop",      request_check_loop },
	{ "resolve",   request_resolve },
	{ "classify",  request_classify },
	{ "store",     request_look_up },
	{ "miss",      request_not_here },
};
/* clang-format on */

/* The listeners */

static void request_start(struct worker *w, struct exchange *x,
			  const struct step *step)
{
	struct request *r = request_new(w, x);

	if (!r) {
		exchange_reply_error(x, 503, NULL);
		return;
	}
	r->step = step;
	r->from_peer = step == peer_steps;
	request_run(r);
}

static void request_on_data_request(void *arg, struct exchange *x)
{
	struct worker *w = arg;

	worker_add(&w->counters.requests, 1);
	request_start(w, x, data_steps);
}

static size_t request_on_data_body(void *arg, struct exchange *x,
				   const void *data, size_t len)
{
	struct request *r = exchange_data(x);
	size_t room;

	(void)arg;
	buffer_compact(&r->upload);
	room = request_upload_window(r, UPLOAD_WINDOW);
	room -= buffer_left(&r->upload);
	if (len > room)
		len = room;
	r->upload_bytes += len;
	if (r->upload_bytes > r->settings->max_upload_bytes) {
		request_push_upload(r, true);
		return len;
	}
	if (len && buffer_append(&r->upload, data, len)) {
		exchange_abort(x);
		return 0;
	}
	request_push_upload(r, false);
	return len;
}

static void request_on_data_body_end(void *arg, struct exchange *x)
{
	struct request *r = exchange_data(x);

	(void)arg;
	r->upload_ended = true;
	request_push_upload(r, false);
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
	if (end == EXCHANGE_ABORTED)
		worker_add(&w->counters.aborted, 1);
	request_fill_left(r);
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
		request_start(w, x, peer_steps);
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

/*
 * The steps that ask others: peers, one after the other within a budget, then
 * the origin; and what is done with the answer.
 */
#include <stdio.h>
#include <string.h>

#include "digestd/http/answer.h"
#include "digestd/http/conditional.h"
#include "digestd/http/decimal.h"
#include "digestd/http/forward.h"
#include "digestd/http/storable.h"
#include "digestd/http/targeted.h"
#include "digestd/os/address.h"
#include "digestd/proxy/request.h"

enum {
	/* a body up to this is collected before the reply begins: one that
	 * breaks off can still be had elsewhere, the reply is copied less */
	COLLECT_BYTES = 65536,
	COLLECT_PEER_BYTES = 262144, /* peers break off more often */
	COLLECT_MS = 20, /* for what is not stored: then it flows as it comes */
	LOW_RATE = 1, /* [bytes/s]: a fetch that stands still */
};

void request_stop_fetch(struct request *r)
{
	fetch_cancel(&r->fetch);
	loop_timer_clear(r->worker->loop, &r->patience);
	r->paused = false;
}

/* Forgets a response that will not be used, before the next source is asked. */
static void request_fetch_forget_response(struct request *r)
{
	request_stop_fetch(r);
	request_hide(r);
	buffer_free(&r->body);
	r->received = 0;
	request_release(r);
	fields_free(&r->withheld);
	fields_free(&r->response);
	fields_free(&r->selecting);
	r->selected = false;
	r->status = 0;
	r->storing = false;
	cached_unref(&r->head);
	r->source = SOURCE_NONE;
}

/* Goes on with the list of steps after the fetch has ended without a reply. */
static void request_fetch_go_on(struct request *r, bool same_step)
{
	request_fetch_forget_response(r);
	if (!r->x) { /* nobody wants it any more */
		request_settle(r);
		return;
	}
	if (!same_step)
		r->step++;
	request_run(r);
}

/* The answer was given by other means; the fetch is not needed. */
static void request_fetch_drop_fetch(struct request *r)
{
	request_fetch_forget_response(r);
	request_land(r);
	request_settle(r);
}

static void request_fetch_confirm(struct request *r,
				  const struct fields *fields)
{
	struct cached *c = request_refreshed(r, fields);

	if (!c) {
		if (r->x)
			reply_error(r, 503, "memory");
	} else {
		request_keep_refreshed(r, c);
		if (r->x)
			cache_use(r->worker->cache, &r->key, c,
				  request_now_ms(r));
		worker_add(&r->worker->counters.revalidated, 1);
		if (r->x)
			reply_cached(r, c);
		cached_unref(&c);
	}
	request_fetch_drop_fetch(r);
}

/* Serves the stale response, if that is allowed when the origin fails: as long
 * as it says itself, or, where it does not, for default_s. */
static bool request_fetch_serve_stale(struct request *r, unsigned default_s)
{
	if (!r->stale || !r->x ||
	    !freshness_on_error(&r->stale->freshness, default_s,
				request_now_s(r)))
		return false;
	fields_free(&r->withheld); /* of what broke off */
	worker_add(&r->worker->counters.stale_served, 1);
	reply_cached(r, r->stale);
	request_fetch_drop_fetch(r);
	return true;
}

/* The header of a response */

/* Whether a length in the header is one of bytes that come. */
static bool request_fetch_has_body(const struct request *r)
{
	return strcmp(r->method, "HEAD") != 0 && r->status != 204 &&
	       r->status != 304;
}

/* Whether the reply waits until the body is complete; what a peer sends
 * without saying how long it is, as far as that goes. */
static bool request_fetch_collects(const struct request *r)
{
	if (r->source == SOURCE_PEER)
		return r->body_len <= COLLECT_PEER_BYTES &&
		       r->body.len <= COLLECT_PEER_BYTES &&
		       request_fetch_has_body(r);
	/* what comes before the request's body is in, goes out at once */
	if (r->x && exchange_is_receiving(r->x) &&
	    r->body_len <= EXCHANGE_EARLY_BYTES)
		return r->body_len >= 0;
	return r->body_len >= 0 && r->body_len <= COLLECT_BYTES &&
	       request_fetch_has_body(r);
}

/* Sends on what comes from now on. */
static void request_fetch_stream(struct request *r)
{
	if (r->source == SOURCE_PEER)
		request_watch_peer(r);
	else
		loop_timer_clear(r->worker->loop, &r->patience);
	if (r->storing)
		request_show(r);
	if (r->x)
		reply_stream(r);
}

static void request_fetch_collect_late(void *arg)
{
	request_fetch_stream(arg);
}

/* A small body mostly comes with its header: a reply that is whole costs two
 * thirds of one that is streamed. */
static void request_fetch_collect(struct request *r)
{
	if (r->source == SOURCE_ORIGIN && !r->storing &&
	    !exchange_is_receiving(r->x))
		loop_timer_set(r->worker->loop, &r->patience,
			       request_now_ms(r) + COLLECT_MS,
			       request_fetch_collect_late, r);
}

/* A response that will not be stored answers nobody else: let them go. */
static void request_fetch_begin_reply(struct request *r)
{
	request_admit(r);
	if (r->storing && !request_hold_whole(r))
		request_pass(r);
	if (!r->storing)
		request_land(r);
	if (!r->x && !r->storing) {
		request_fetch_drop_fetch(r);
		return;
	}
	if (request_fetch_collects(r) && (r->storing || request_hold_whole(r)))
		request_fetch_collect(r);
	else if (request_refuse_body(r))
		request_fetch_drop_fetch(r);
	else
		request_fetch_stream(r);
}

void request_tell(const struct request *r, enum peer_outcome kind,
		  unsigned rtt_ms)
{
	const struct worker_hooks *hooks = &r->worker->hooks;
	struct worker_outcome outcome = {
		.kind = kind,
		.peer = r->peer->id,
		.rtt_ms = rtt_ms,
		.body_bytes = r->body.len,
	};

	if (hooks->on_outcome)
		hooks->on_outcome(hooks->arg, &outcome);
}

void request_learn(struct request *r, enum peer_outcome kind,
		   unsigned rtt_ms)
{
	struct worker_counters *counters = &r->worker->counters;

	switch (kind) {
	case OUTCOME_HIT:
		worker_add(&counters->remote_hits, 1);
		break;
	case OUTCOME_FALSE_HIT:
		worker_add(&counters->false_hits, 1);
		break;
	case OUTCOME_STALE:
		worker_add(&counters->stale_hits, 1);
		break;
	case OUTCOME_VARIANT:
		worker_add(&counters->variant_misses, 1);
		break;
	case OUTCOME_FAILED:
		worker_add(&counters->peer_errors, 1);
		break;
	}
	request_tell(r, kind, rtt_ms);
}

unsigned request_elapsed_ms(const struct request *r)
{
	int64_t ms = request_now_ms(r) - r->asked_ms;

	return ms > 0 ? (unsigned)ms : 1;
}

/*
 * Why a peer did not deliver, in its own words. Its digest is about keys: that
 * what it holds has gone stale, or is for other requests, does not make it a
 * liar.
 */
static enum peer_outcome request_fetch_judge_504(const struct request *r)
{
	switch (cachestatus_fwd_nearest(&r->response)) {
	case CACHESTATUS_STALE:
	case CACHESTATUS_REQUEST: /* held, and never used without validation */
		return OUTCOME_STALE;
	case CACHESTATUS_VARY_MISS:
		return OUTCOME_VARIANT;
	case CACHESTATUS_NONE:
	case CACHESTATUS_BYPASS:
	case CACHESTATUS_METHOD:
	case CACHESTATUS_URI_MISS:
		break;
	}
	return OUTCOME_FALSE_HIT;
}

/* Judges a peer's answer as an origin's would be, and whether it is fresh. */
enum peer_outcome request_judge(struct request *r)
{
	struct answer answer;

	if (r->status == 504)
		return request_fetch_judge_504(r);
	request_read_answer(r, r->status, &r->response, &answer);
	switch (storable("GET", &r->in, &answer)) {
	case STORABLE_YES:
		break;
	case STORABLE_SET_COOKIE: /* which that site may store */
		return OUTCOME_STALE;
	case STORABLE_METHOD:
	case STORABLE_STATUS:
	case STORABLE_NO_STORE:
	case STORABLE_PRIVATE:
	case STORABLE_AUTHORIZATION:
	case STORABLE_NOT_CACHEABLE:
	case STORABLE_VARY:
		return OUTCOME_FAILED;
	}
	if (!request_right_variant(r))
		return OUTCOME_FAILED;
	if (request_is_invalidated(r))
		return OUTCOME_STALE;
	return freshness_reuse(&r->freshness, &r->cc, request_now_s(r)) ==
			       REUSE_FRESH
		       ? OUTCOME_HIT
		       : OUTCOME_STALE;
}

static void request_fetch_on_peer_headers(void *arg, struct fetch *f,
					  unsigned status,
					  const struct fields *fields,
					  int64_t body_len)
{
	struct request *r = arg;
	enum peer_outcome kind;

	(void)f;
	r->fwd_status = status;
	kind = request_take_response(r, status, fields, body_len) ?
		       OUTCOME_FAILED : request_judge(r);
	if (kind != OUTCOME_HIT) {
		request_learn(r, kind, request_elapsed_ms(r));
		request_fetch_go_on(r, true);
		return;
	}
	r->rtt_ms = request_elapsed_ms(r);
	request_fetch_begin_reply(r);
}

static bool request_fetch_is_server_failure(unsigned status)
{
	return status == 500 || (status >= 502 && status <= 504);
}

/* The end of the way: an error of this node's own. */
static void request_fetch_fail(struct request *r, unsigned status,
			       const char *why)
{
	if (r->x)
		reply_error(r, status, why);
	request_fetch_drop_fetch(r);
}

static void request_fetch_on_origin_headers(void *arg, struct fetch *f,
					    unsigned status,
					    const struct fields *fields,
					    int64_t body_len)
{
	struct request *r = arg;

	(void)f;
	r->fwd_status = status;
	if (status == 304 && r->validating) {
		if (request_is_confirmed(r, fields)) {
			request_fetch_confirm(r, fields);
			return;
		}
		cached_unref(&r->stale); /* ask again, without its validators */
		request_fetch_go_on(r, true);
		return;
	}
	if (request_fetch_is_server_failure(status) &&
	    request_fetch_serve_stale(r, 0))
		return;
	if (request_take_response(r, status, fields, body_len)) {
		request_fetch_fail(r, 503, "memory");
		return;
	}
	request_invalidate(r);
	request_fetch_begin_reply(r);
}

/* The body of a response */

/* Too large for the store after all: from now on it only flows through. */
static void request_fetch_stop_storing(struct request *r)
{
	r->storing = false;
	cached_unref(&r->head);
	request_land(r);
	if (r->x && !r->replying)
		request_fetch_stream(r);
}

void request_break_off(struct request *r)
{
	r->body_failed = true;
	if (r->x && r->replying)
		exchange_wake(r->x);
	else if (r->x)
		reply_error(r, 502, "truncated");
	request_stop_fetch(r);
	request_land(r);
	request_settle(r);
}

bool request_take_body(struct request *r, const void *data, size_t len)
{
	const struct worker_settings *set = r->settings;
	int err;

	if (r->storing && r->left && !request_goes_on(r)) {
		request_give_up(r);
		request_settle(r);
		return true;
	}
	if (r->storing && (r->body.len + len > set->max_object_bytes ||
			   !request_hold(r, r->body.len + len)))
		request_fetch_stop_storing(r);
	if (!r->storing && !r->x) {
		request_fetch_drop_fetch(r);
		return true;
	}
	if (!r->storing && !r->replying &&
	    !request_hold(r, 2 * (r->body.len + len)))
		request_fetch_stream(r);
	if (!r->storing && r->replying) {
		if (buffer_left(&r->body) >= request_window(r)) {
			r->paused = true;
			return false;
		}
		buffer_compact(&r->body);
		request_trim(r);
	}
	relay_hold(r->relay);
	err = buffer_append(&r->body, data, len);
	relay_show(r->relay, r->body.data, r->body.len);
	if (err) {
		request_break_off(r);
		return true;
	}
	request_held(r);
	r->received += len;
	r->received_ms = request_now_ms(r);
	worker_add(r->source == SOURCE_PEER ?
			   &r->worker->counters.peer_bytes :
			   &r->worker->counters.origin_bytes, len);
	if (r->x && r->replying)
		exchange_wake(r->x);
	else if (r->body_len < 0 && r->source == SOURCE_PEER &&
		 !request_fetch_collects(r) && r->x)
		request_fetch_stream(r);
	return true;
}

static bool request_fetch_on_response_body(void *arg, struct fetch *f,
					   const void *data, size_t len)
{
	(void)f;
	return request_take_body(arg, data, len);
}

/* The end of a fetch */

void request_complete(struct request *r, const struct fetch_done *done)
{
	r->body_ended = true;
	r->paused = false; /* there is nothing left to resume */
	loop_timer_clear(r->worker->loop, &r->patience);
	if (r->source == SOURCE_PEER)
		request_learn(r, OUTCOME_HIT, r->rtt_ms);
	else
		worker_add(&r->worker->counters.misses, r->x != NULL);
	if (r->storing && !done->ended_by_close)
		request_store(r);
	r->storing = false;
	if (r->x && r->replying)
		exchange_wake(r->x);
	else if (r->x && r->stored)
		reply_cached(r, r->stored);
	else if (r->x)
		reply_whole(r);
	request_land(r);
	request_settle(r);
}

static void request_fetch_on_peer_done(void *arg, struct fetch *f,
				       const struct fetch_done *done)
{
	struct request *r = arg;

	(void)f;
	r->fetch = NULL;
	if (done->result == FETCH_COMPLETE) {
		request_complete(r, done);
		return;
	}
	request_learn(r, OUTCOME_FAILED, 0);
	if (!r->replying && !r->relay)
		request_fetch_go_on(r, true);
	else if (!request_take_over(r))
		request_break_off(r);
}

static unsigned request_fetch_failure_status(enum fetch_result result)
{
	switch (result) {
	case FETCH_TIMEOUT:
		return 504;
	case FETCH_REFUSED:
		return 403;
	case FETCH_NOMEM:
		return 503;
	case FETCH_COMPLETE:
	case FETCH_TRUNCATED:
	case FETCH_NOCONNECT:
	case FETCH_UNTRUSTED:
	case FETCH_BAD:
		break;
	}
	return 502;
}

/* How long stale responses are good that do not say so, when a fetch from the
 * origin has failed: not where it was there, and must not be used. */
static unsigned request_stale_limit(const struct request *r,
				    enum fetch_result result)
{
	switch (result) {
	case FETCH_TIMEOUT:
	case FETCH_TRUNCATED:
	case FETCH_NOCONNECT:
	case FETCH_BAD: /* mostly: it has hung up */
		return r->settings->stale_on_disconnect_s;
	case FETCH_COMPLETE:
	case FETCH_REFUSED:
	case FETCH_UNTRUSTED:
	case FETCH_NOMEM:
		break;
	}
	return 0;
}

static void request_fetch_on_origin_done(void *arg, struct fetch *f,
					 const struct fetch_done *done)
{
	struct request *r = arg;

	(void)f;
	r->fetch = NULL;
	if (done->result == FETCH_COMPLETE) {
		request_complete(r, done);
		return;
	}
	worker_add(&r->worker->counters.origin_errors, 1);
	if (done->result == FETCH_UNTRUSTED)
		worker_untrusted(r->worker, r->upstream);
	if (r->replying)
		request_break_off(r);
	else if (!request_fetch_serve_stale(
			 r, request_stale_limit(r, done->result)))
		request_fetch_fail(r,
				   request_fetch_failure_status(done->result),
				   "origin");
}

static const struct fetch_callbacks peer_callbacks = {
	.on_headers = request_fetch_on_peer_headers,
	.on_body = request_fetch_on_response_body,
	.on_done = request_fetch_on_peer_done,
};

static const struct fetch_callbacks origin_callbacks = {
	.on_interim = request_pass_interim,
	.on_headers = request_fetch_on_origin_headers,
	.on_body = request_fetch_on_response_body,
	.on_done = request_fetch_on_origin_done,
};

/* Asking */

/* Notes when, and keeps the client's fields: it may leave before the answer. */
static int request_fetch_begin_asking(struct request *r, enum source source)
{
	r->source = source;
	r->fwd_status = 0;
	r->kept = false;
	request_count_asking(r);
	r->asked_s = request_now_s(r);
	r->asked_ms = request_now_ms(r);
	r->purges = cache_purges(r->worker->cache);
	fields_free(&r->out);
	if (fields_count(&r->in) || !r->x)
		return 0;
	fields_free(&r->in);
	return fields_copy(exchange_request(r->x)->fields, &r->in);
}

/* The host of the target, for Host, in a buffer of its own. */
static int request_fetch_copy_host(const struct request *r, char *host,
				   size_t cap)
{
	if (r->target.host_len >= cap)
		return -1;
	memcpy(host, r->target.host, r->target.host_len);
	host[r->target.host_len] = '\0';
	return 0;
}

/* A peer has begun to answer and does not come to an end. */
static void request_fetch_peer_too_slow(void *arg)
{
	struct request *r = arg;

	request_learn(r, OUTCOME_FAILED, 0);
	request_fetch_go_on(r, true);
}

int request_fetch_peer(struct request *r, unsigned timeout_ms,
		       const struct fetch_callbacks *callbacks)
{
	const struct worker_settings *set = r->settings;
	char host[300];
	struct forward_request how = {
		set->node, host, r->x ? exchange_request(r->x)->minor : 1
	};
	struct fetch_limits limits = {
		.connect_ms = set->peer_connect_ms < timeout_ms ?
			set->peer_connect_ms : timeout_ms,
		.first_byte_ms = timeout_ms,
		.low_rate = LOW_RATE,
		.low_rate_s = set->origin_low_rate_s,
		.max_header_bytes = set->max_header_bytes,
	};
	struct fetch_request request = {
		.method = r->method,
		.url = r->peer->url,
		.target = r->target.uri,
		.fields = &r->out,
		.limits = &limits,
		.tls = set->peer_client_tls,
	};

	if (request_fetch_begin_asking(r, SOURCE_PEER) ||
	    request_fetch_copy_host(r, host, sizeof(host)) ||
	    forward_to_peer(&r->in, &how, set->token, &r->out))
		return -1;
	return fetch_start(r->worker->fetcher, &request, callbacks, r,
			   &r->fetch);
}

/* Peers are asked for what they may have, not for what only origins can do. */
static bool request_fetch_may_ask_peers(const struct request *r)
{
	const struct fields *in = exchange_request(r->x)->fields;

	return r->worker->view && r->cacheable && !r->stale &&
	       !r->cc.no_cache && !r->cc.no_store && r->cc.max_age != 0 &&
	       !fields_get(in, "range") && !fields_get(in, "authorization");
}

enum step_result request_ask_peers(struct request *r)
{
	const struct worker_settings *set = r->settings;
	struct route_policy policy = { set->peer_budget_ms,
				       set->peer_first_byte_ms,
				       set->peer_tries };
	struct route_step next;

	if (!request_fetch_may_ask_peers(r))
		return STEP_NEXT;
	if (!r->view) {
		r->view = peerset_ref(r->worker->view);
		route_init(&r->route, r->view, &r->key, &policy,
			   request_now_ms(r));
		worker_add(&r->worker->counters.lookups, 1);
	}
	while ((next = route_next(&r->route, &policy, request_now_ms(r)))
		       .probe)
		request_probe(r, next.peer, (unsigned)next.timeout_ms);
	r->peer = next.origin ? NULL : peerset_at(r->view, next.peer);
	if (next.origin)
		return STEP_NEXT;
	worker_add(&r->worker->counters.peer_queries, 1);
	if (request_fetch_peer(r, (unsigned)next.timeout_ms, &peer_callbacks)) {
		r->peer = NULL;
		return STEP_NEXT; /* no memory: the origin's turn */
	}
	loop_timer_set(r->worker->loop, &r->patience,
		       request_now_ms(r) + set->peer_budget_ms,
		       request_fetch_peer_too_slow, r);
	return STEP_STOP;
}

/* Asks about what is stored, if that has a validator: r->validating. The
 * client's range stays, under its condition: the origin looks at it when it
 * does not confirm. */
static int request_fetch_ask_about_stale(struct request *r)
{
	const char *if_range = fields_get(&r->out, "If-Range");
	struct fields stored;
	int err = 0;

	if (cached_fields(r->stale, &stored))
		return -1;
	r->validating = conditional_has_validator(&stored);
	if (r->validating)
		err = conditional_validate(&stored, &r->out);
	fields_free(&stored);
	if (err || !r->validating || !if_range ||
	    !fields_get(&r->out, "Range"))
		return err;
	return fields_add(&r->out, "If-Range", if_range);
}

/* What is sent to an origin when the answer may be stored: no conditions but
 * our own, so that it is whole. */
static int request_fetch_own_conditions(struct request *r)
{
	static const char *const names[] = {
		"If-Match", "If-None-Match", "If-Modified-Since",
		"If-Unmodified-Since",
	};
	int err = 0;

	r->validating = false;
	if (!r->cacheable)
		return 0;
	if (r->stale)
		err = request_fetch_ask_about_stale(r);
	if (err || r->validating)
		return err;
	if (strcmp(r->method, "GET") != 0 || fields_get(&r->in, "range"))
		return 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		fields_remove(&r->out, names[i]);
	return 0;
}

/* Who asks, which is nobody where a response is renewed in the background, and
 * by which scheme. */
static int request_fetch_tell_client(struct request *r, const char *host)
{
	const struct worker_settings *set = r->settings;
	char address[ADDRESS_TEXT_BYTES];
	struct forwarded_by by = { NULL, host, target_is_https(&r->target) };

	if (r->x && address_text(exchange_request(r->x)->client, address))
		by.address = address;
	return forwarded_add(r->forward ? set->told_forward : set->told, &by,
			     &r->out);
}

/* One hop less for OPTIONS, which alone of what is forwarded counts them. */
static int request_fetch_count_forward(struct request *r)
{
	const char *value = fields_get(&r->out, "Max-Forwards");
	struct field_part digits = { value, value ? strlen(value) : 0 };
	int64_t left = value ? field_seconds(digits) : 0;
	char text[DECIMAL_BYTES];

	if (left <= 0 || strcmp(r->method, "OPTIONS") != 0)
		return 0;
	decimal_write(left - 1, text);
	return fields_set(&r->out, "Max-Forwards", text);
}

static int request_fetch_from_origin(struct request *r,
				     const struct fetch_callbacks *callbacks)
{
	const struct worker_settings *set = r->settings;
	const struct server_request *in = r->x ? exchange_request(r->x) : NULL;
	char host[300], url[320];
	struct forward_request how = { set->node, host, in ? in->minor : 1 };
	struct fetch_limits limits = {
		.connect_ms = set->origin_connect_ms,
		.first_byte_ms = set->origin_first_byte_ms,
		.low_rate = LOW_RATE,
		.low_rate_s = set->origin_low_rate_s,
		.max_header_bytes = set->max_header_bytes,
	};
	struct fetch_upload upload = { in ? in->body_len : 0,
				       request_read_upload };
	struct fetch_request request = {
		.method = r->method,
		.url = r->forward ? url : r->upstream,
		.target = r->asterisk ? "*" : r->target.path,
		.fields = &r->out,
		.limits = &limits,
		.upload = in && in->has_body ? &upload : NULL,
		.tls = set->origin_tls,
	};

	if (request_fetch_copy_host(r, host, sizeof(host)))
		return -1;
	if (r->forward)
		snprintf(url, sizeof(url), "http://%s", host);
	if (forward_to_origin(&r->in, &how, &r->out) ||
	    request_fetch_tell_client(r, host) ||
	    request_fetch_own_conditions(r) || request_fetch_count_forward(r) ||
	    (request_acts_for_origin(r) &&
	     targeted_announce(&r->out, set->node)))
		return -1;
	return fetch_start(r->forward && !set->forward_private ?
				   r->worker->public : r->worker->fetcher,
			   &request, callbacks, r, &r->fetch);
}

int request_fetch_again(struct request *r,
			const struct fetch_callbacks *callbacks)
{
	uint64_t purges = r->purges;
	int err = request_fetch_begin_asking(r, SOURCE_ORIGIN);

	r->purges = purges; /* what has come so far is older */
	worker_add(&r->worker->counters.origin_fetches, 1);
	return err ? err : request_fetch_from_origin(r, callbacks);
}

enum step_result request_ask_origin(struct request *r)
{
	worker_add(&r->worker->counters.origin_fetches, 1);
	if (request_fetch_begin_asking(r, SOURCE_ORIGIN) ||
	    request_fetch_from_origin(r, &origin_callbacks))
		reply_error(r, 503, "memory");
	return STEP_STOP;
}

void request_renew(struct request *r)
{
	worker_add(&r->worker->counters.origin_fetches, 1);
	/* without memory it ends here */
	if (!request_fetch_begin_asking(r, SOURCE_ORIGIN))
		(void)request_fetch_from_origin(r, &origin_callbacks);
}

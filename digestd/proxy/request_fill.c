/*
 * The edge of a fill: turns what a fetch, a timer and a client do into events
 * for its machine (node/node_fill.h), and does what that says.
 */
#include <string.h>

#include "digestd/http/freshness.h"
#include "digestd/node/node_answer.h"
#include "digestd/proxy/request.h"

enum {
	DELAY_MS = 20, /* for what is not stored: then it flows as it comes */
};

static void request_fill_plain_event(struct request *r,
				     enum node_event event);

/* What an action works on. */
struct request_fill {
	struct request *r;
	const struct node_fill_step *step;
	const char *data; /* of NODE_TAKE */
	size_t len;
	bool no_memory; /* for them */
};

static void request_fill_on_timer(void *arg)
{
	request_fill_plain_event(arg, NODE_TIMER);
}

static void request_fill_set_timer(struct request *r, int64_t due_ms)
{
	loop_timer_set(r->worker->loop, &r->patience, due_ms,
		       request_fill_on_timer, r);
}

/* Actions */

static void request_fill_record(struct request *r,
				enum peer_outcome kind, unsigned rtt_ms)
{
	if (r->fill.purpose == NODE_FOR_PROBE)
		request_tell(r, kind, rtt_ms);
	else
		request_learn(r, kind, rtt_ms);
}

static void request_fill_record_hit(struct request_fill *d)
{
	request_fill_record(d->r, OUTCOME_HIT, d->r->rtt_ms);
}

static void request_fill_record_verdict(struct request_fill *d)
{
	request_fill_record(d->r, d->r->verdict, d->r->rtt_ms);
}

static void request_fill_record_error(struct request_fill *d)
{
	request_fill_record(d->r, OUTCOME_FAILED, 0);
}

static void request_fill_count_miss(struct request_fill *d)
{
	worker_add(&d->r->worker->counters.misses, 1);
}

static void request_fill_count_given_up(struct request_fill *d)
{
	worker_add(&d->r->worker->counters.memory_given_up, 1);
}

static void request_fill_drop_stale(struct request_fill *d)
{
	cached_unref(&d->r->stale);
}

static void request_fill_invalidate(struct request_fill *d)
{
	request_invalidate(d->r);
}

static void request_fill_pass(struct request_fill *d)
{
	cached_unref(&d->r->head);
}

static void request_fill_store(struct request_fill *d)
{
	request_store(d->r);
}

static void request_fill_take_window(struct request_fill *d)
{
	request_window(d->r);
}

static void request_fill_confirm(struct request_fill *d)
{
	struct request *r = d->r;
	struct cached *c = r->refreshed;

	r->refreshed = NULL;
	if (r->fill.client)
		request_event(r, NODE_END);
	if (!c) {
		if (r->fill.client)
			reply_error(r, 503, "memory");
		return;
	}
	request_keep_refreshed(r, c);
	worker_add(&r->worker->counters.revalidated, 1);
	if (r->fill.client) {
		cache_use(r->worker->cache, &r->key, c, request_now_ms(r));
		reply_cached(r, c);
	}
	cached_unref(&c);
}

static void request_fill_reply_stored(struct request_fill *d)
{
	request_event(d->r, NODE_END);
	reply_cached(d->r, d->r->stored);
}

static void request_fill_reply_whole(struct request_fill *d)
{
	request_event(d->r, NODE_END);
	reply_whole(d->r);
}

static void request_fill_reply_stale(struct request_fill *d)
{
	fields_free(&d->r->withheld); /* of what broke off */
	worker_add(&d->r->worker->counters.stale_served, 1);
	request_event(d->r, NODE_END);
	reply_cached(d->r, d->r->stale);
}

static void request_fill_reply_error(struct request_fill *d)
{
	request_event(d->r, NODE_BROKE);
	reply_error(d->r, d->step->status, d->step->why);
}

static void request_fill_reply_busy(struct request_fill *d)
{
	worker_add(&d->r->worker->counters.memory_refused, 1);
	request_event(d->r, NODE_BROKE);
	reply_busy(d->r);
}

static void request_fill_share(struct request_fill *d)
{
	request_show(d->r);
}

static void request_fill_reply_stream(struct request_fill *d)
{
	request_event(d->r, NODE_HEAD);
	reply_stream(d->r);
}

static void request_fill_stop(struct request_fill *d)
{
	request_stop_fetch(d->r);
}

/* Forgets a response that will not be used. */
static void request_fill_forget(struct request_fill *d)
{
	struct request *r = d->r;

	request_stop_fetch(r);
	request_hide(r);
	buffer_free(&r->body);
	request_release(r);
	fields_free(&r->withheld);
	fields_free(&r->response);
	fields_free(&r->selecting);
	r->selected = false;
	r->status = 0;
	cached_unref(&r->head);
	r->source = SOURCE_NONE;
}

static void request_fill_land(struct request_fill *d)
{
	request_land(d->r);
}

static void request_fill_clear_timer(struct request_fill *d)
{
	loop_timer_clear(d->r->worker->loop, &d->r->patience);
}

static void request_fill_set_timer_pace(struct request_fill *d)
{
	struct request *r = d->r;

	request_fill_set_timer(r, r->fill.watched_ms +
				  r->settings->peer_budget_ms);
}

static void request_fill_set_timer_delay(struct request_fill *d)
{
	request_fill_set_timer(d->r, request_now_ms(d->r) + DELAY_MS);
}

static void request_fill_take(struct request_fill *d)
{
	struct request *r = d->r;

	if (node_fill_passes(&r->fill)) {
		buffer_compact(&r->body);
		request_trim(r);
	}
	relay_hold(r->relay);
	d->no_memory = buffer_append(&r->body, d->data, d->len);
	relay_show(r->relay, r->body.data, r->body.len);
	if (d->no_memory)
		return;
	request_held(r);
	worker_add(r->source == SOURCE_PEER ?
			   &r->worker->counters.peer_bytes :
			   &r->worker->counters.origin_bytes, d->len);
}

static void request_fill_wake(struct request_fill *d)
{
	switch (d->r->fill.result) {
	case NODE_UNDER_WAY:
		request_event(d->r, NODE_MORE);
		break;
	case NODE_WHOLE:
		request_event(d->r, NODE_END);
		break;
	case NODE_BROKEN:
		request_event(d->r, NODE_BROKE);
		break;
	}
}

static void request_fill_resume(struct request_fill *d)
{
	fetch_resume(d->r->fetch);
}

static void request_fill_upload(struct request_fill *d)
{
	fetch_resume_upload(d->r->fetch);
}

/* By the numbers of their bits. NODE_ADMIT, NODE_REFUSE and NODE_AGAIN are for
 * who has the bytes, or the header. */
static void (*const request_fill_actions[])(struct request_fill *) = {
	request_fill_record_hit,    request_fill_record_verdict,
	request_fill_record_error,  request_fill_count_miss,
	request_fill_count_given_up, request_fill_drop_stale,
	request_fill_invalidate,    NULL,
	request_fill_pass,	    request_fill_store,
	request_fill_take_window,   request_fill_confirm,
	request_fill_reply_stored,  request_fill_reply_whole,
	request_fill_reply_stale,   request_fill_reply_error,
	request_fill_reply_busy,    request_fill_share,
	request_fill_reply_stream,  request_fill_stop,
	request_fill_forget,	    request_fill_land,
	request_fill_clear_timer,   request_fill_set_timer_pace,
	request_fill_set_timer_delay, request_fill_take,
	NULL,			    request_fill_wake,
	request_fill_resume,	    request_fill_upload,
	NULL,
};

/* What ends a step; the request may be gone after it. */
static void request_fill_then(struct request *r, enum node_fill_then then)
{
	switch (then) {
	case NODE_THEN_NOTHING:
		break;
	case NODE_THEN_TAKE_OVER:
		worker_add(&r->worker->counters.taken_over, 1);
		if (request_fetch_again(r))
			request_fill_no_memory(r);
		break;
	case NODE_THEN_NEXT:
		request_ask(r);
		break;
	case NODE_THEN_END:
		request_settle(r);
		break;
	}
}

static void request_fill_do(struct request_fill *d)
{
	for (uint32_t left = d->step->actions; left; left &= left - 1) {
		int bit = __builtin_ctz(left);

		if (request_fill_actions[bit])
			request_fill_actions[bit](d);
	}
	if (d->no_memory)
		request_fill_no_memory(d->r);
	else
		request_fill_then(d->r, d->step->then);
}

void request_fill_event(struct request *r, const struct node_fill_input *in)
{
	const struct node_fill_step step = node_fill_step(&r->fill, in);
	struct request_fill d = { .r = r, .step = &step };

	request_fill_do(&d);
}

/* An event that has no facts but what is always known. */
static void request_fill_plain_event(struct request *r, enum node_event event)
{
	const struct node_fill_input in = {
		.event = event,
		.now_ms = request_now_ms(r),
		.no_memory = event == NODE_BROKE,
	};

	request_fill_event(r, &in);
}

void request_fill_no_memory(struct request *r)
{
	request_fill_plain_event(r, NODE_BROKE);
}

/* The header of a response */

/* Whether the stale response may be used when the origin fails: as long as it
 * says itself, or, where it does not, for default_s. */
static bool request_fill_is_stale_usable(const struct request *r,
					 unsigned default_s)
{
	return r->stale && r->fill.client &&
	       freshness_on_error(&r->stale->freshness, default_s,
				  request_now_s(r));
}

static enum node_head request_fill_read_peer(struct request *r,
					     unsigned status,
					     const struct fields *fields,
					     int64_t body_len)
{
	r->verdict = request_take_response(r, status, fields, body_len) ?
			     OUTCOME_FAILED : request_judge(r);
	r->rtt_ms = request_elapsed_ms(r);
	return r->verdict == OUTCOME_HIT ? NODE_HEAD_USABLE :
					   NODE_HEAD_UNUSABLE;
}

static enum node_head request_fill_read_origin(struct request *r,
					       unsigned status,
					       const struct fields *fields,
					       int64_t body_len)
{
	const struct node_origin_answer answer = {
		.status = status,
		.validating = r->validating,
		.confirms = status == 304 && r->validating &&
			    request_is_confirmed(r, fields),
		.stale_usable = request_fill_is_stale_usable(r, 0),
	};
	enum node_head head = node_answer_of_origin(&answer);

	if (head == NODE_HEAD_CONFIRMS)
		r->refreshed = request_refreshed(r, fields);
	if (head != NODE_HEAD_USABLE)
		return head;
	return request_take_response(r, status, fields, body_len) ?
		       NODE_HEAD_NOMEM : NODE_HEAD_USABLE;
}

static const char *request_fill_etag(const struct fields *f)
{
	const char *tag = fields_get(f, "etag");

	return tag ? tag : "";
}

/* Whether the origin sends what the peer has begun to send. */
static enum node_head request_fill_compare(const struct request *r,
					   unsigned status,
					   const struct fields *fields,
					   int64_t body_len)
{
	int64_t said = r->fill.body_len;

	if (status != r->status ||
	    strcmp(request_fill_etag(fields),
		   request_fill_etag(&r->response)) ||
	    (said >= 0 && body_len >= 0 && body_len != said))
		return NODE_HEAD_UNUSABLE;
	return NODE_HEAD_USABLE;
}

/* Asks for admission and for memory. */
static void request_fill_admit(struct request *r)
{
	bool receiving = r->fill.client && exchange_is_receiving(r->x);
	struct node_fill_admission in = {
		.now_ms = request_now_ms(r),
		.keep = request_admit(r),
		/* what is left then is for connections, and what is on its
		 * way */
		.busy = ledger_left(&memory_ledger) < memory_reserve() / 4,
		.receiving = receiving,
		.early_bytes = EXCHANGE_EARLY_BYTES,
	};
	struct node_fill_step step;
	struct request_fill d = { .r = r, .step = &step };

	in.room = request_hold(r, node_fill_need_whole(&r->fill, &in));
	worker_add(&r->worker->counters.memory_passed, in.keep && !in.room);
	step = node_fill_admitted(&r->fill, &in);
	request_fill_do(&d);
}

static void request_fill_on_headers(void *arg, struct fetch *f,
				    unsigned status,
				    const struct fields *fields,
				    int64_t body_len)
{
	struct request *r = arg;
	struct node_fill_input in = {
		.event = NODE_HEAD,
		.now_ms = request_now_ms(r),
	};
	struct node_fill_step step;
	struct request_fill d = { .r = r, .step = &step };

	(void)f;
	if (r->fill.state == NODE_REJOIN) {
		in.head = request_fill_compare(r, status, fields, body_len);
	} else {
		r->fwd_status = status;
		in.head = (r->source == SOURCE_PEER ?
				   request_fill_read_peer :
				   request_fill_read_origin)(r, status, fields,
							     body_len);
	}
	step = node_fill_step(&r->fill, &in);
	request_fill_do(&d);
	if (step.actions & NODE_ADMIT)
		request_fill_admit(r);
}

/* The body of a response */

/* Whether the first n of these bytes are those that the peer has sent. */
static bool request_fill_is_same(const struct request *r, const void *data,
				 size_t n)
{
	const struct node_fill *f = &r->fill;

	return f->state != NODE_REJOIN || f->keep != NODE_KEEP_YES || !n ||
	       !memcmp(r->body.data + f->rejoined, data, n);
}

/* One step with bytes; true: another one is due. */
static bool request_fill_more(struct request *r, const char *data, size_t len,
			      bool *taken)
{
	struct node_fill *f = &r->fill;
	bool keep = f->keep == NODE_KEEP_YES;
	bool alone = keep && !f->client && f->purpose == NODE_FOR_CLIENT;
	bool passes = node_fill_passes(f) && f->client;
	size_t repeated = node_fill_repeated(f, len);
	struct node_fill_input in = {
		.event = NODE_MORE,
		.now_ms = request_now_ms(r),
		.len = len,
		.room = request_hold(r, node_fill_need(f, len)),
		.same = request_fill_is_same(r, data, repeated),
		.wanted = !alone || request_goes_on(r),
		.waiting = buffer_left(&r->body),
		.window = passes ? request_window(r) : 0,
	};
	const struct node_fill_step step = node_fill_step(f, &in);
	struct request_fill d = { .r = r, .step = &step,
				  .data = data + repeated,
				  .len = len - repeated };

	worker_add(&r->worker->counters.memory_passed, keep && !in.room);
	request_fill_do(&d);
	*taken = !(step.actions & NODE_REFUSE);
	return step.actions & NODE_AGAIN;
}

static bool request_fill_on_body(void *arg, struct fetch *f, const void *data,
				 size_t len)
{
	bool taken;

	(void)f;
	while (request_fill_more(arg, data, len, &taken))
		continue;
	return taken;
}

/* The end of a fetch */

static unsigned request_fill_failure_status(enum fetch_result result)
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
static unsigned request_fill_stale_limit(const struct request *r,
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

static void request_fill_count_failure(struct request *r,
				       enum fetch_result result)
{
	if (r->source == SOURCE_PEER)
		return;
	worker_add(&r->worker->counters.origin_errors, 1);
	if (result == FETCH_UNTRUSTED)
		worker_untrusted(r->worker, r->upstream);
}

static void request_fill_on_done(void *arg, struct fetch *f,
				 const struct fetch_done *done)
{
	struct request *r = arg;
	struct node_fill_input in = {
		.event = NODE_END,
		.now_ms = request_now_ms(r),
		.by_close = done->ended_by_close,
	};

	(void)f;
	r->fetch = NULL;
	if (done->result != FETCH_COMPLETE) {
		in.event = NODE_BROKE;
		in.status = request_fill_failure_status(done->result);
		in.stale_usable = request_fill_is_stale_usable(
			r, request_fill_stale_limit(r, done->result));
		request_fill_count_failure(r, done->result);
	}
	request_fill_event(r, &in);
}

const struct fetch_callbacks request_fill_callbacks = {
	.on_interim = request_pass_interim,
	.on_headers = request_fill_on_headers,
	.on_body = request_fill_on_body,
	.on_done = request_fill_on_done,
};

/* The client */

void request_fill_room(struct request *r)
{
	const struct node_fill_input in = {
		.event = NODE_ROOM,
		.now_ms = request_now_ms(r),
		.waiting = buffer_left(&r->body),
		.window = r->memory.window,
	};

	request_fill_event(r, &in);
}

void request_fill_left(struct request *r)
{
	const struct node_fill_input in = {
		.event = NODE_LEFT,
		.now_ms = request_now_ms(r),
		.wanted = r->fill.keep == NODE_KEEP_YES && request_goes_on(r),
	};

	request_fill_event(r, &in);
}

void request_fill_up(struct request *r)
{
	const struct node_fill_input in = {
		.event = NODE_UP,
		.now_ms = request_now_ms(r),
		.too_large = r->upload_bytes > r->settings->max_upload_bytes,
	};

	request_fill_event(r, &in);
}

/*
 * The edge of a fill: turns what a fetch, a timer and a client do into events
 * for its machine (node/node_fill.h), and does what that says.
 */
#include <string.h>

#include "digestd/http/upgrade.h"
#include "digestd/node/node_answer.h"
#include "digestd/proxy/fill.h"
#include "digestd/proxy/request.h"

static void fill_plain_event(struct fill *f, enum node_event event);

/* What an action works on. */
struct fill_work {
	struct fill *f;
	const struct node_fill_step *step;
	const char *data; /* of NODE_TAKE */
	size_t len;
	bool no_memory; /* for them */
};

static void fill_on_timer(void *arg)
{
	fill_plain_event(arg, NODE_TIMER);
}

/* Actions */

static void fill_record(struct fill *f, enum peer_outcome kind, unsigned rtt_ms)
{
	/* neither is an answer to a client */
	if (f->node.purpose == NODE_FOR_PROBE ||
	    f->node.purpose == NODE_FOR_COPY)
		fill_report_outcome(f, kind, rtt_ms);
	else
		fill_record_outcome(f, kind, rtt_ms);
}

static void fill_do_record_hit(struct fill_work *d)
{
	fill_lease_found(d->f, true);
	fill_holder_count(d->f);
	/* one answer is a hit, however many runs it takes */
	if (d->f->node.purpose == NODE_FOR_SLICES)
		fill_report_outcome(d->f, OUTCOME_HIT, d->f->rtt_ms);
	else
		fill_record(d->f, OUTCOME_HIT, d->f->rtt_ms);
}

/* Who is asked for a lease has promised nothing. */
static void fill_do_record_verdict(struct fill_work *d)
{
	fill_lease_found(d->f, false);
	if (d->f->lease.asks && d->f->verdict != OUTCOME_FAILED)
		return;
	fill_record(d->f, d->f->verdict, d->f->rtt_ms);
}

static void fill_do_record_error(struct fill_work *d)
{
	fill_record(d->f, OUTCOME_FAILED, 0);
}

static void fill_do_count_miss(struct fill_work *d)
{
	struct worker_counters *n = &d->f->worker->counters;

	worker_add(d->f->for_peer ? &n->peer_served : &n->misses, 1);
}

static void fill_do_count_given_up(struct fill_work *d)
{
	worker_add(&d->f->worker->counters.memory_given_up, 1);
}

static void fill_do_drop_stale(struct fill_work *d)
{
	cached_unref(&d->f->stale);
}

static void fill_do_invalidate(struct fill_work *d)
{
	fill_invalidate(d->f);
}

static void fill_do_pass(struct fill_work *d)
{
	cached_unref(&d->f->head);
}

static void fill_do_store(struct fill_work *d)
{
	if (d->f->cut)
		fill_cut_start(d->f);
	else
		fill_store(d->f);
}

static void fill_do_store_slice(struct fill_work *d)
{
	if (!d->no_memory)
		fill_cut_store(d->f);
}

static void fill_do_take_window(struct fill_work *d)
{
	fill_window(d->f);
}

static void fill_do_confirm(struct fill_work *d)
{
	struct fill *f = d->f;
	struct cached *c = f->refreshed;

	f->refreshed = NULL;
	if (f->node.client)
		request_event(f->client, NODE_END);
	if (!c) {
		if (f->node.client)
			reply_error(f->client, 503, "memory");
		return;
	}
	fill_keep_refreshed(f, c);
	worker_add(f->source == SOURCE_PEER ?
			   &f->worker->counters.revalidated_by_peers :
			   &f->worker->counters.revalidated,
		   1);
	if (f->node.client) {
		cache_use(f->worker->shared.cache, &f->q->key, c,
			  worker_now_ms(f->worker));
		reply_cached(f->client, c);
	}
	cached_unref(&c);
}

static void fill_do_reply_stored(struct fill_work *d)
{
	request_event(d->f->client, NODE_END);
	reply_cached(d->f->client, d->f->stored);
}

static void fill_do_reply_whole(struct fill_work *d)
{
	request_event(d->f->client, NODE_END);
	request_purge_reply(d->f->client, reply_whole);
}

static void fill_do_reply_stale(struct fill_work *d)
{
	fields_free(&d->f->withheld); /* of what broke off */
	worker_add(&d->f->worker->counters.stale_served, 1);
	request_event(d->f->client, NODE_END);
	reply_cached(d->f->client, d->f->stale);
}

static void fill_do_reply_error(struct fill_work *d)
{
	request_event(d->f->client, NODE_BROKE);
	reply_error(d->f->client, d->step->status, d->step->why);
}

static void fill_do_reply_busy(struct fill_work *d)
{
	worker_add(&d->f->worker->counters.memory_refused, 1);
	request_event(d->f->client, NODE_BROKE);
	reply_busy(d->f->client);
}

static void fill_do_share(struct fill_work *d)
{
	fill_share_body(d->f);
}

static void fill_do_reply_stream(struct fill_work *d)
{
	request_event(d->f->client, NODE_HEAD);
	request_purge_reply(d->f->client, reply_stream);
}

static void fill_do_stop(struct fill_work *d)
{
	fill_stop_fetch(d->f);
}

/* Forgets a response that will not be used. */
static void fill_do_forget(struct fill_work *d)
{
	struct fill *f = d->f;

	fill_stop_fetch(f);
	buffer_free(&f->body);
	fill_release(f);
	fields_free(&f->withheld);
	fill_check_free(f);
	fill_drop_trailers(f);
	fields_free(&f->response);
	fields_free(&f->selecting);
	f->selected = false;
	f->status = 0;
	cached_unref(&f->head);
	f->source = SOURCE_NONE;
}

static void fill_do_land(struct fill_work *d)
{
	fill_end_collapse(d->f);
}

static void fill_do_clear_timer(struct fill_work *d)
{
	loop_timer_clear(d->f->worker->loop, &d->f->timer);
}

static void fill_do_set_timer(struct fill_work *d)
{
	loop_timer_set(d->f->worker->loop, &d->f->timer, d->f->node.due_ms,
		       fill_on_timer, d->f);
}

static void fill_do_take(struct fill_work *d)
{
	struct fill *f = d->f;

	if (node_fill_passes(&f->node)) {
		buffer_compact(&f->body);
		fill_trim(f);
	}
	collapse_hold(f->collapse);
	d->no_memory = buffer_append(&f->body, d->data, d->len);
	fill_check_take(f, d->data, d->len);
	collapse_grow(f->collapse, f->body.data, f->body.len);
	if (d->no_memory)
		return;
	fill_held(f);
	fill_tunnel_count(f, d->len);
	if (f->source == SOURCE_PEER)
		worker_add(&f->worker->counters.peer_bytes, d->len);
	else if (f->source == SOURCE_ORIGIN)
		worker_add(&f->worker->counters.origin_bytes, d->len);
	worker_add(&f->figures->bytes, d->len);
}

static void fill_do_wake(struct fill_work *d)
{
	if (d->f->passes_to) {
		reply_slices_wake(d->f->passes_to);
		return;
	}
	switch (d->f->node.result) {
	case NODE_UNDER_WAY:
		request_event(d->f->client, NODE_MORE);
		break;
	case NODE_WHOLE:
		request_event(d->f->client, NODE_END);
		break;
	case NODE_BROKEN:
		request_event(d->f->client, NODE_BROKE);
		break;
	}
}

static void fill_do_resume(struct fill_work *d)
{
	fetch_resume(d->f->fetch);
}

static void fill_do_upload(struct fill_work *d)
{
	fetch_resume_upload(d->f->fetch);
}

/* By the numbers of their bits. NODE_ADMIT, NODE_REFUSE and NODE_AGAIN are for
 * who has the bytes, or the header. */
static void (*const fill_actions[])(struct fill_work *) = {
	fill_do_record_hit,
	fill_do_record_verdict,
	fill_do_record_error,
	fill_do_count_miss,
	fill_do_count_given_up,
	fill_do_drop_stale,
	fill_do_invalidate,
	NULL,
	fill_do_pass,
	fill_do_store,
	fill_do_take_window,
	fill_do_confirm,
	fill_do_reply_stored,
	fill_do_reply_whole,
	fill_do_reply_stale,
	fill_do_reply_error,
	fill_do_reply_busy,
	fill_do_share,
	fill_do_reply_stream,
	fill_do_stop,
	fill_do_land,
	fill_do_forget,
	fill_do_clear_timer,
	fill_do_set_timer,
	fill_do_take,
	NULL,
	fill_do_store_slice,
	fill_do_wake,
	fill_do_resume,
	fill_do_upload,
	NULL,
};

static void fill_no_memory(struct fill *f);

/* What ends a step; the fill may be gone after it. */
static void fill_then(struct fill *f, enum node_fill_then then)
{
	switch (then) {
	case NODE_THEN_NOTHING:
		break;
	case NODE_THEN_TAKE_OVER:
		fill_check_free(f);
		worker_add(&f->worker->counters.taken_over, 1);
		if (fill_ask_again(f))
			fill_no_memory(f);
		break;
	case NODE_THEN_HEDGE:
		fill_hedge_begin(f);
		break;
	case NODE_THEN_NEXT:
		fill_ask(f);
		break;
	case NODE_THEN_END:
		fill_hedge_end(f);
		fill_free_if_over(f);
		break;
	}
}

static void fill_carry_out(struct fill_work *d)
{
	for (uint32_t left = d->step->actions; left; left &= left - 1) {
		int bit = __builtin_ctz(left);

		if (fill_actions[bit])
			fill_actions[bit](d);
	}
	if (d->no_memory)
		fill_no_memory(d->f);
	else
		fill_then(d->f, d->step->then);
}

static void fill_event(struct fill *f, const struct node_fill_input *in)
{
	const struct node_fill_step step = node_fill_step(&f->node, in);
	struct fill_work d = { .f = f, .step = &step };

	fill_carry_out(&d);
}

void fill_take(struct fill *f, const struct node_fill_input *in,
	       const char *data, size_t len)
{
	const struct node_fill_step step = node_fill_step(&f->node, in);
	struct fill_work d = { f, &step, data, len, false };

	fill_carry_out(&d);
}

/* An event that has no facts but what is always known. */
static void fill_plain_event(struct fill *f, enum node_event event)
{
	const struct node_fill_input in = {
		.event = event,
		.now_ms = worker_now_ms(f->worker),
		.no_memory = event == NODE_BROKE,
	};

	fill_event(f, &in);
}

/* There was no memory for what a step was to do. */
static void fill_no_memory(struct fill *f)
{
	fill_plain_event(f, NODE_BROKE);
}

/* The header of a response */

struct node_stale fill_stale(const struct fill *f)
{
	return (struct node_stale){
		.freshness = f->stale && !f->validates ? &f->stale->freshness :
							 NULL,
		.client = f->node.client,
		.now_s = worker_now_s(f->worker),
		.on_disconnect_s = f->q->settings->stale_on_disconnect_s,
	};
}

/* A peer's 304 about what has gone stale here. */
static enum node_head fill_read_peer_304(struct fill *f)
{
	f->refreshed = fill_refreshed(f);
	if (!f->refreshed)
		return NODE_HEAD_NOMEM;
	f->rtt_ms = fill_lease_waits(f) ? 0 : fill_elapsed_ms(f);
	f->verdict = fill_judge_refreshed(f, f->refreshed);
	fill_distance_answered(f);
	if (f->verdict == OUTCOME_HIT && !f->beaten)
		return NODE_HEAD_CONFIRMS;
	cached_unref(&f->refreshed);
	return NODE_HEAD_UNUSABLE;
}

/* What a peer's answer is that is not for slices, or brings other ones. */
static enum peer_outcome fill_judge_slices(struct fill *f, enum node_head head)
{
	const bool changed = head == NODE_HEAD_CHANGED;
	enum peer_outcome outcome;

	if (changed && f->status < 300)
		return OUTCOME_STALE;
	if (f->status == 206)
		return fill_judge_part(f);
	if (f->status == 416 && f->client && question_is_ranged(f->q, &f->in))
		return OUTCOME_VARIANT; /* the origin may have more */
	outcome = fill_judge(f);
	/* that it holds something else is no fault of a peer; and another
	 * version is not sent whole to who wants a part of it */
	if (outcome != OUTCOME_HIT)
		return outcome;
	return changed || (f->stale && question_is_ranged(f->q, &f->in))
		       ? OUTCOME_STALE
		       : OUTCOME_HIT;
}

static enum node_head fill_read_peer(struct fill *f, unsigned status,
				     const struct fields *fields,
				     int64_t body_len)
{
	enum node_head head = NODE_HEAD_USABLE;

	if (status == 304 && f->validating && fill_is_confirmed(f, fields))
		return fill_read_peer_304(f);
	fill_lease_take_answer(f, status, fields);
	if (fill_take_response(f, status, body_len))
		return NODE_HEAD_NOMEM;
	f->rtt_ms = fill_lease_waits(f) ? 0 : fill_elapsed_ms(f);
	if (f->node.purpose == NODE_FOR_SLICES)
		head = fill_cut_read(f, body_len);
	else if (f->holder.state != NODE_HOLDER_ASKED &&
		 fill_cut_begins(f, body_len))
		head = NODE_HEAD_SLICES;
	if (head == NODE_HEAD_SLICES) {
		f->verdict = OUTCOME_HIT;
		fill_distance_answered(f);
		return head;
	}
	f->verdict = fill_judge_slices(f, head);
	fill_distance_answered(f);
	f->stale_at_peer |= f->verdict == OUTCOME_STALE;
	fill_holder_note(f);
	if (f->node.purpose == NODE_FOR_SLICES)
		return NODE_HEAD_UNUSABLE;
	/* of one that is beaten, too: a header alone is no hit */
	return f->verdict == OUTCOME_HIT ? NODE_HEAD_USABLE
					 : NODE_HEAD_UNUSABLE;
}

/* Whether what was asked for in whole slices is not what the client gets. */
static bool fill_is_for_slices_only(const struct fill *f)
{
	return f->aligned && (f->status == 206 ||
			      (f->status == 416 &&
			       fields_get(&f->in, "If-Range")));
}

/* Of an origin's response that is to be used. */
static enum node_head fill_read_usable(struct fill *f, unsigned status,
				       const struct fields *fields,
				       int64_t body_len)
{
	const char *protocol = status == 101 ? upgrade_chosen(&f->in, fields)
					     : NULL;

	if (fill_take_response(f, status, body_len) ||
	    (protocol && fill_tunnel_begin(f, protocol)))
		return NODE_HEAD_NOMEM;
	fill_count_skew(f);
	if (node_fill_is_for_slices(&f->node))
		return fill_cut_read(f, body_len);
	if (fill_cut_begins(f, body_len))
		return NODE_HEAD_SLICES;
	if (!fill_is_for_slices_only(f)) {
		fill_lease_judge_origin(f);
		return NODE_HEAD_USABLE;
	}
	f->as_it_is = true;
	return NODE_HEAD_ELSEWHERE;
}

static enum node_head fill_read_origin(struct fill *f, unsigned status,
				       const struct fields *fields,
				       int64_t body_len)
{
	const struct node_origin_answer answer = {
		.status = status,
		.validating = f->validating,
		.confirms = status == 304 && f->validating &&
			    fill_is_confirmed(f, fields),
		.stale = fill_stale(f),
	};
	enum node_head head = node_answer_of_origin(&answer);

	fill_distance_answered(f);
	if (fill_origin_answered(f, status) ||
	    (head == NODE_HEAD_USABLE && fill_holder_replaces_error(f, status)))
		return NODE_HEAD_RETRY;
	if (head == NODE_HEAD_CONFIRMS)
		f->refreshed = fill_refreshed(f);
	if (head != NODE_HEAD_USABLE)
		return head;
	return fill_read_usable(f, status, fields, body_len);
}

/* Asks for admission and for memory. */
static void fill_ask_admission(struct fill *f)
{
	bool receiving = f->node.client && exchange_is_receiving(f->client->x);
	const struct node_memory memory = worker_memory();
	struct node_fill_admission in = {
		.now_ms = worker_now_ms(f->worker),
		.keep = fill_admit(f),
		.busy = node_memory_is_low(&memory),
		.receiving = receiving,
		.agrees = f->status < 300,
		.early_bytes = EXCHANGE_EARLY_BYTES,
	};
	struct node_fill_step step;
	struct fill_work d = { .f = f, .step = &step };

	in.room = fill_hold(f, node_fill_need_whole(&f->node, &in));
	if (in.keep && in.room && f->node.body_len > 0)
		buffer_fit_body(&f->body, (size_t)f->node.body_len);
	worker_add(&f->worker->counters.memory_passed, in.keep && !in.room);
	if (in.keep && !in.room)
		fill_count_not_stored(f, NOT_STORED_MEMORY);
	step = node_fill_admitted(&f->node, &in);
	fill_carry_out(&d);
}

/* Without an answer that can be used. */
static void fill_refuse(struct fill *f, unsigned status)
{
	struct node_fill_input in = { .event = NODE_BROKE, .status = status };

	in.now_ms = worker_now_ms(f->worker);
	fill_stop_fetch(f);
	fill_event(f, &in);
}

/* The same: the origin is to blame. */
static void fill_refuse_answer(struct fill *f)
{
	fill_count_failure(f, FETCH_BAD, TROUBLE_none);
	fill_refuse(f, 502);
}

static void fill_on_headers(void *arg, struct fetch *fetch, unsigned status,
			    const struct fields *fields, int64_t body_len)
{
	struct fill *f = arg;
	const struct node_described begun = {f->status, &f->response,
					     f->node.body_len};
	const struct node_described origin = {status, fields, body_len};
	struct node_fill_input in = {
		.event = NODE_HEAD,
		.now_ms = worker_now_ms(f->worker),
	};
	struct node_fill_step step;
	struct fill_work d = { .f = f, .step = &step };

	(void)fetch;
	if (f->hedged && !fill_hedge_answers(f, status))
		return;
	if (f->for_peer && !fill_is_held_beside(f, status, fields)) {
		fill_refuse(f, 504); /* nothing that the peer can use */
		return;
	}
	if (status == 101 && !fill_tunnel_is_allowed(f, fields)) {
		fill_refuse_answer(f);
		return;
	}
	if (f->node.state == NODE_REJOIN) {
		(void)fill_origin_answered(f, status);
		in.head = node_answer_of_rejoin(&begun, &origin);
	} else {
		f->fwd_status = status;
		in.head = (f->source == SOURCE_PEER ? fill_read_peer
						    : fill_read_origin)(
			f, status, fields, body_len);
	}
	if (in.head != NODE_HEAD_UNUSABLE)
		fill_hedge_end(f);
	if (in.head == NODE_HEAD_USABLE)
		fill_outage_came(f);
	if (in.head == NODE_HEAD_USABLE && f->node.state != NODE_REJOIN)
		fill_check_watch(f);
	step = node_fill_step(&f->node, &in);
	fill_carry_out(&d);
	if (step.actions & NODE_ADMIT)
		fill_ask_admission(f);
}

/* The body of a response */

/* Whether the first n of these bytes are those that the peer has sent. */
static bool fill_is_same(const struct fill *f, const void *data, size_t n)
{
	const struct node_fill *node = &f->node;

	return !n || !node_fill_compares(node) ||
	       !memcmp(f->body.data + node->rejoined, data, n);
}

/* One step with bytes; true: another one is due. */
static bool fill_more(struct fill *f, const char *data, size_t len, bool *taken)
{
	struct node_fill *node = &f->node;
	bool keep = node->keep == NODE_KEEP_YES;
	bool alone = keep && !node->client && node->purpose == NODE_FOR_CLIENT;
	bool passes = node_fill_passes(node) && node->client;
	size_t repeated = node_fill_repeated(node, len);
	struct node_fill_input in = {
		.event = NODE_MORE,
		.now_ms = worker_now_ms(f->worker),
		.len = len,
		.room = fill_hold(f, node_fill_need(node, len)),
		.same = fill_is_same(f, data, repeated),
		.wanted = !alone || fill_is_wanted(f),
		.waiting = buffer_left(&f->body),
		.window = passes ? fill_window(f) : 0,
	};
	const struct node_fill_step step = node_fill_step(node, &in);
	struct fill_work d = {.f = f,
			      .step = &step,
			      .data = data + repeated,
			      .len = len - repeated};

	worker_add(&f->worker->counters.memory_passed, keep && !in.room);
	fill_carry_out(&d);
	*taken = !(step.actions & NODE_REFUSE);
	return step.actions & NODE_AGAIN;
}

/* What it comes to when it has not brought all of a response. */
static void fill_fail(struct fill *f, enum fetch_result result,
		      struct node_fill_input *in)
{
	const struct node_stale stale = fill_stale(f);
	const struct node_failure failure =
		node_answer_of_failure(result, &stale);

	in->event = NODE_BROKE;
	in->status = f->for_peer ? 504 : failure.status;
	in->stale_usable = failure.stale_usable;
	/* who waits for a slow origin is not to blame for that */
	in->own_fault = failure.own_fault ||
			(fill_lease_waits(f) && result == FETCH_TIMEOUT);
}

/* A body that is not what its header says, before its last bytes were shown. */
static void fill_refuse_body(struct fill *f)
{
	struct node_fill_input in = {
		.event = NODE_BROKE,
		.now_ms = worker_now_ms(f->worker),
	};

	fill_stop_fetch(f);
	fill_fail(f, FETCH_BAD, &in);
	fill_event(f, &in);
}

static bool fill_on_body(void *arg, struct fetch *fetch, const void *data,
			 size_t len)
{
	struct fill *f = arg;
	const size_t skip = fill_cut_skips(f, len);
	const char *rest = (const char *)data + skip;
	bool taken = true;

	(void)fetch;
	fill_outage_came(f);
	if (!fill_check_last(f, data, len)) {
		fill_refuse_body(f);
		return true;
	}
	if (f->node.state == NODE_CUT)
		return fill_cut_take(f, data, len);
	while (skip < len && fill_more(f, rest, len - skip, &taken))
		continue;
	/* what is not taken comes again, with what was skipped of it */
	if (skip && taken)
		fill_cut_skip(f, skip);
	return taken;
}

static void fill_on_trailers(void *arg, struct fetch *fetch,
			     const struct fields *fields)
{
	struct fill *f = arg;

	(void)fetch;
	/* without memory the client gets none */
	if (f->client && f->source == SOURCE_ORIGIN)
		(void)fill_keep_trailers(f, fields);
}

/* The end of a fetch */

static void fill_on_done(void *arg, struct fetch *fetch,
			 const struct fetch_done *done)
{
	struct fill *f = arg;
	struct node_fill_input in = {
		.event = NODE_END,
		.now_ms = worker_now_ms(f->worker),
		.by_close = done->ended_by_close,
	};

	(void)fetch;
	f->fetch = NULL;
	fill_figures_end(f);
	if (done->result == FETCH_TIMEOUT && node_fill_asks(&f->node))
		fill_distance_late(f);
	if (done->result != FETCH_COMPLETE) {
		fill_fail(f, done->result, &in);
		fill_count_failure(f, done->result, done->cause);
		in.retry = fill_origin_failed(f, done) ||
			   fill_holder_replaces_failure(f, done->result,
							in.status);
	} else if (!fill_check_passes(f)) {
		fill_fail(f, FETCH_BAD, &in);
	}
	fill_origin_end(f);
	fill_event(f, &in);
}

const struct fetch_callbacks fill_callbacks = {
	.on_interim = fill_pass_interim,
	.on_headers = fill_on_headers,
	.on_body = fill_on_body,
	.on_trailers = fill_on_trailers,
	.on_half_close = fill_tunnel_half_close,
	.on_done = fill_on_done,
};

/* The client */

void fill_room(struct fill *f)
{
	const struct node_fill_input in = {
		.event = NODE_ROOM,
		.now_ms = worker_now_ms(f->worker),
		.waiting = buffer_left(&f->body),
		.window = f->memory.window,
	};

	fill_event(f, &in);
}

void fill_left(struct fill *f)
{
	const struct node_fill_input in = {
		.event = NODE_LEFT,
		.now_ms = worker_now_ms(f->worker),
		.wanted = node_fill_asks(&f->node) ?
				  fill_is_awaited(f) :
				  f->node.keep == NODE_KEEP_YES &&
					  fill_is_wanted(f),
	};

	f->client = NULL;
	if (f->cut && f->node.state != NODE_LANDED)
		fill_cut_left(f);
	fill_event(f, &in);
}

void fill_up(struct fill *f)
{
	const struct node_fill_input in = {
		.event = NODE_UP,
		.now_ms = worker_now_ms(f->worker),
		.too_large = !f->tunnel &&
			     f->client->upload_bytes >
				     f->q->settings->max_upload_bytes,
	};

	fill_event(f, &in);
}

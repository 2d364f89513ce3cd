/*
 * The edge of a request's machine (node/node_request.h): looks up what is
 * stored, joins what others fetch, and does what the machine says.
 */
#include "digestd/http/conditional.h"
#include "digestd/node/node_recheck.h"
#include "digestd/peers/lease_desk.h"
#include "digestd/proxy/fill.h"
#include "digestd/proxy/request.h"
#include "digestd/proxy/shared.h"

static void request_node_count_hit(struct request *r, struct cached *c)
{
	struct worker_counters *counters = &r->worker->counters;

	cache_use(r->worker->shared.cache, &r->q->key, c,
		  worker_now_ms(r->worker));
	worker_add(r->node.from_peer ? &counters->peer_served :
		   r->node.alone     ? &counters->collapsed :
				       &counters->local_hits,
		   1);
}

/* What was led is the fill's from now on; null: there was no memory for it. */
static struct fill *request_node_pass_lead(struct request *r, struct fill *f)
{
	const struct shared_landing nothing = { .lead = &r->lead };

	if (!f) {
		shared_land(&r->worker->shared, &nothing);
		return NULL;
	}
	f->collapse = r->lead;
	r->lead = NULL;
	return f;
}

/*
 * Asks the origin about what was served stale, unless somebody does already.
 * Without memory the next request tries again.
 */
static void request_node_renew(struct request *r)
{
	const struct shared_want want = {
		.key = &r->q->key,
		.uri = r->q->target.uri,
		.request = request_fields(r),
		.joins = true,
		.known = r->found,
		.since = r->since,
	};
	struct shared_found found;
	struct fill *f;

	if (shared_find(&r->worker->shared, &want, &found) != SHARED_LEADS) {
		cache_found_release(&found.stored);
		return;
	}
	r->lead = found.lead;
	f = request_node_pass_lead(r, fill_new_beside(r->worker, r->q,
						      request_fields(r)));
	if (!f)
		return;
	f->stale = cached_ref(r->found);
	f->stale_since = r->since;
	fill_renew(f);
}

/* The request is done with its fill, which may go on alone. */
static void request_node_leave_fill(struct request *r)
{
	struct fill *f = r->fill;

	r->fill = NULL;
	if (f)
		fill_left(f);
}

static void request_node_ask(struct request *r)
{
	struct fill *f;

	/* it may have had one: what that has brought was damaged on disk */
	request_node_leave_fill(r);
	f = request_node_pass_lead(
		r, fill_new(r->worker, r->q, request_fields(r)));
	if (!f) {
		request_event(r, NODE_BROKE);
		reply_error(r, 503, "memory");
		return;
	}
	request_upload_reserve(r);
	request_wait_begin(r);
	f->client = r;
	f->validates = !r->serves || (r->stale && r->stale->doubted);
	f->for_peer = r->node.from_peer;
	f->past_peers = f->validates || r->rechecked || f->for_peer;
	f->stale = r->stale;
	f->stale_since = r->since;
	r->stale = NULL;
	r->fill = f;
	fill_ask(f);
}

static void request_node_reply_stored(struct request *r, bool renew)
{
	request_node_count_hit(r, r->found);
	worker_add(&r->worker->counters.stale_served,
		   r->found_as == NODE_FOUND_WHILE_REVALIDATE);
	reply_cached(r, r->found);
	if (renew)
		request_node_renew(r);
	if (!r->lent)
		cached_unref(&r->found);
	r->found = NULL;
}

/* Whether who asks for a lease hears instead who has it at another location.
 * Each node goes there itself, as what a peer has sent goes to no third one;
 * who has tried that is not sent there again. */
static bool request_node_name_elsewhere(const struct request *r,
					struct lease_answer *answer)
{
	const struct peerset *view = r->worker->view;

	if (!r->wish.who || r->wish.not || !view ||
	    !lease_elsewhere(view, &r->q->key, &answer->holder))
		return false;
	answer->word = LEASE_ELSEWHERE;
	return true;
}

/* What a peer that may wait, or wishes for a lease, is told of it. */
static struct lease_answer request_node_lease(const struct request *r)
{
	struct lease_desk *desk = r->worker->shared.leases;
	const int64_t now_ms = worker_now_ms(r->worker);
	struct lease_answer answer = { .word = LEASE_NONE };

	if (!r->wish.waits)
		return answer;
	if (request_node_name_elsewhere(r, &answer))
		return answer;
	if (r->wish.who)
		return lease_desk_ask(desk, &r->q->key, &r->wish, now_ms);
	if (lease_desk_is_alone(desk, &r->q->key, now_ms))
		answer.word = LEASE_ALONE;
	return answer;
}

/* Whether the request is answered with 304, and no body, if what is stored is
 * fresh. Without memory to look it is not, nor if its client left while the
 * disk was read. */
static bool request_node_has_the_same(const struct request *r,
				      const struct cached *c)
{
	struct fields stored;
	bool same;

	if (!r->x || cached_fields(c, &stored))
		return false;
	same = conditional_not_modified(request_fields(r), &stored,
					worker_wall_s(r->worker));
	fields_free(&stored);
	return same;
}

/* Whether a peer may have it: no body that another one has sent. That it is
 * still fresh, who has the same may hear. */
static bool request_node_may_give(const struct request *r,
				  const struct cached *c)
{
	return !r->node.from_peer || !c->unvouched ||
	       request_node_has_the_same(r, c);
}

/* When a peer may have what is here and stale. */
static enum cachestatus_usable request_node_usable(const struct request *r)
{
	const struct cached *c = r->stale;
	struct node_stored stored = { .cc = &r->q->cc,
				      .now_s = worker_now_s(r->worker) };

	if (!c || !r->serves || c->doubted || !request_node_may_give(r, c))
		return CACHESTATUS_USABLE_NO;
	stored.freshness = &c->freshness;
	return node_request_usable(&stored,
				   r->q->settings->stale_on_disconnect_s);
}

/* Cache-Status tells the peer what was missing, see node_answer_of_peer(). */
static void request_node_reply_not_here(struct request *r)
{
	const struct lease_answer lease = request_node_lease(r);

	reply_not_here(r, &lease, request_node_usable(r));
}

static void request_node_follow(struct request *r)
{
	request_node_count_hit(r, collapse_head(&r->reader));
	reply_joined(r);
}

/* Its fill has ended: nobody takes what the client says. */
static void request_node_wake_last(struct request *r)
{
	const struct fill *f = r->fill;
	bool broken = f && f->node.result == NODE_BROKEN;

	if (!r->reply)
		exchange_wake(r->x);
	exchange_resume_body(r->x);
	exchange_end_upload(r->x, broken ? EXCHANGE_ABORTED : EXCHANGE_DONE);
}

static void request_node_join(struct request *r);

static void request_node_do(struct request *r, enum node_request_action action)
{
	switch (action) {
	case NODE_DO_NOTHING:
		break;
	case NODE_DO_REPLY_STORED:
		request_node_reply_stored(r, false);
		break;
	case NODE_DO_REPLY_STORED_AND_RENEW:
		request_node_reply_stored(r, true);
		break;
	case NODE_DO_REPLY_STALE:
		request_wait_reply(r);
		break;
	case NODE_DO_REPLY_NOT_HERE:
		request_node_reply_not_here(r);
		break;
	case NODE_DO_REPLY_ONLY_IF_CACHED:
		reply_error(r, 504, "only-if-cached");
		break;
	case NODE_DO_REPLY_BUSY:
		worker_add(&r->worker->counters.memory_refused, 1);
		reply_busy(r);
		break;
	case NODE_DO_FIND:
		request_find(r);
		break;
	case NODE_DO_JOIN:
		request_node_join(r);
		break;
	case NODE_DO_ASK:
		request_node_ask(r);
		break;
	case NODE_DO_FOLLOW:
		request_node_follow(r);
		break;
	case NODE_DO_SEND:
		reply_blocks_send(r);
		break;
	case NODE_DO_WAKE:
		if (!r->reply) /* else it reads from its beginning */
			exchange_wake(r->x);
		break;
	case NODE_DO_WAKE_LAST:
		request_node_wake_last(r);
		break;
	case NODE_DO_UPLOAD:
		fill_up(r->fill);
		break;
	case NODE_DO_LEAVE:
		if (r->sliced)
			reply_slices_close(r);
		request_node_leave_fill(r);
		request_free_if_over(r);
		break;
	case NODE_DO_END:
		request_free_if_over(r);
		break;
	}
}

void request_input(struct request *r, const struct node_request_input *in)
{
	const enum node_request_action action = node_request_step(&r->node, in);

	if (r->late_ms && r->node.state != NODE_WAITING)
		loop_timer_clear(r->worker->loop, &r->late);
	request_node_do(r, action);
}

void request_event(struct request *r, enum node_event event)
{
	const struct node_request_input in = { .event = event, .own = true };

	request_input(r, &in);
}

/* Looking up */

static bool request_node_is_shareable(const struct request *r)
{
	const struct node_ask ask = question_ask(r->q, request_fields(r));
	struct lease_desk *desk = r->worker->shared.leases;

	/* what is not stored answers one request */
	return node_ask_is_shareable(&ask) && !r->q->settings->sidecar &&
	       !(desk && lease_desk_is_alone(desk, &r->q->key,
					     worker_now_ms(r->worker)));
}

void request_read(struct request *r, bool damaged)
{
	struct node_request_input in = {
		.event = NODE_READ,
		.found = r->found_as,
		.damaged = damaged,
		.only_if_cached = r->q->cc.only_if_cached,
	};
	struct node_memory memory;

	/* who asks for a lease waits for nothing, and is told whom to ask */
	in.waits = r->wish.waits && !r->wish.who;
	in.beside = r->node.from_peer && r->q->settings->sidecar &&
		    r->q->cacheable;
	if (in.found < NODE_FOUND_WHILE_REVALIDATE &&
	    r->node.state != NODE_CLOSED) {
		/* what is here already needs no more memory than there is */
		memory = worker_memory();
		in.no_memory = node_memory_is_gone(&memory);
		in.shareable = !r->node.alone && r->serves &&
			       request_node_is_shareable(r);
	}
	request_input(r, &in);
}

/* Whether the client has the origin asked about what is fresh; once. */
static bool request_node_rechecks(struct request *r)
{
	struct node_recheck *table = r->worker->shared.rechecks;

	if (!r->q->rechecks || r->rechecked)
		return false;
	r->rechecked = !table || node_recheck_take(table, r->q->key.lo,
						   worker_now_ms(r->worker));
	return r->rechecked;
}

/* Whether what is stored answers the request, if it is fresh. */
static bool request_node_may_use(struct request *r, const struct cached *c)
{
	return r->serves && !c->doubted && !request_node_rechecks(r) &&
	       request_node_may_give(r, c);
}

/* What is stored for the request, or null: lent, or taken over. What answers it
 * does so at once. */
static void request_node_found(struct request *r, struct cached *c, bool lent)
{
	struct node_stored stored = { .cc = &r->q->cc,
				      .now_s = worker_now_s(r->worker) };

	r->found_as = NODE_FOUND_NONE;
	/* a peer that waits has found something before */
	if (!r->lent)
		cached_unref(&r->found);
	r->found = NULL;
	if (!c)
		return;
	r->found = c;
	r->lent = lent;
	stored.freshness = &c->freshness;
	r->found_as = request_node_may_use(r, c) ? node_request_found(&stored)
						 : NODE_FOUND_STALE;
	/* a peer can ask the origin itself */
	if (r->node.from_peer && r->found_as == NODE_FOUND_WHILE_REVALIDATE)
		r->found_as = NODE_FOUND_STALE;
	if (r->found_as != NODE_FOUND_STALE)
		return;
	r->fwd = node_request_why_asked(&stored);
	r->stale = lent ? cached_ref(c) : c;
	r->found = NULL;
}

static void request_node_was_read(void *arg)
{
	struct request *r = arg;

	r->from_disk = r->read.found;
	request_node_found(r, r->read.found, false);
	r->read.found = NULL;
	request_read(r, false);
}

/* Whether it is on disk, and is being read now. */
static bool request_node_read_disk(struct request *r)
{
	r->read.loop = r->worker->loop;
	r->read.call = (struct loop_call){ .run = request_node_was_read,
					   .arg = r };
	r->read.uri = r->q->target.uri;
	r->node.reading = cache_read(r->worker->shared.cache, &r->q->key,
				     request_fields(r), &r->read);
	return r->node.reading;
}

void request_find(struct request *r)
{
	const struct shared_want want = { .key = &r->q->key,
					  .uri = r->q->target.uri,
					  .request = request_fields(r) };
	struct shared_found found = { 0 };
	enum shared_place place = SHARED_STORED;

	cached_unref(&r->stale);
	if (r->q->cacheable)
		place = shared_find(&r->worker->shared, &want, &found);
	r->since = found.since;
	if (place == SHARED_NONE) {
		r->fwd = found.stored.why;
		if (request_node_read_disk(r))
			return;
	}
	request_node_found(r, found.stored.c, !found.stored.counted);
	request_read(r, false);
}

/* Other requests' fills */

static bool request_node_can_follow(const struct request *r)
{
	const struct cached *head = collapse_head(&r->reader);
	const struct node_stored shown = {&head->freshness, &r->q->cc,
					  worker_now_s(r->worker)};

	return request_node_may_give(r, head) &&
	       node_request_can_follow(&shown, cached_selecting(head),
				       request_fields(r));
}

/* Its header can be seen. */
static void request_node_shown(struct request *r)
{
	struct node_request_input in = { .event = NODE_HEAD };

	in.usable = r->node.state != NODE_CLOSED &&
		    request_node_can_follow(r);
	if (!in.usable)
		collapse_leave(&r->reader);
	request_input(r, &in);
}

static void request_node_ended(struct request *r)
{
	const struct node_request_input ended = { .event = NODE_END };

	collapse_leave(&r->reader);
	request_input(r, &ended);
}

static void request_node_was_called(void *arg)
{
	struct request *r = arg;
	bool shown = collapse_called(&r->reader);

	if (!r->node.waiting)
		request_event(r, NODE_MORE);
	else if (shown)
		request_node_shown(r);
	else
		request_node_ended(r);
}

static void request_node_joined(struct request *r, enum node_joined joined)
{
	request_node_do(r, node_request_joined(&r->node, joined));
}

/* There is another response by now. */
static void request_node_found_other(struct request *r,
				     const struct shared_found *other)
{
	cached_unref(&r->stale);
	request_node_joined(r, NODE_JOINED_STORED);
	r->since = other->since;
	request_node_found(r, other->stored.c, !other->stored.counted);
	request_read(r, false);
}

static void request_node_join(struct request *r)
{
	const struct shared_want want = {
		.key = &r->q->key,
		.uri = r->q->target.uri,
		.request = request_fields(r),
		.joins = true,
		.peers = r->node.from_peer,
		.known = r->stale,
		.since = r->since,
		.reader = &r->reader,
	};
	struct shared_found found;

	r->reader.loop = r->worker->loop;
	r->reader.call = (struct loop_call){ .run = request_node_was_called,
					     .arg = r };
	/* from the store it may be a 304, or a part */
	r->reader.for_end = conditional_present(want.request) ||
			    question_is_ranged(r->q, want.request);
	switch (shared_find(&r->worker->shared, &want, &found)) {
	case SHARED_STORED:
		request_node_found_other(r, &found);
		break;
	case SHARED_NONE:
		request_node_joined(r, NODE_JOINED_NOTHING);
		break;
	case SHARED_LEADS:
		r->lead = found.lead;
		request_node_joined(r, NODE_JOINED_LEADS);
		break;
	case SHARED_WAITS:
		cache_note(r->worker->shared.cache, &r->q->key);
		request_wait_begin(r);
		request_node_joined(r, NODE_JOINED_WAITS);
		break;
	case SHARED_SHOWN:
		cache_note(r->worker->shared.cache, &r->q->key);
		request_node_shown(r);
		break;
	}
}

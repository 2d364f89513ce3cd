/*
 * The edge of a request's machine (node/node_request.h): looks up what is
 * stored, joins what others fetch, and does what the machine says.
 */
#include <string.h>

#include "digestd/http/conditional.h"
#include "digestd/http/vary.h"
#include "digestd/node/node_answer.h"
#include "digestd/proxy/request.h"
#include "digestd/proxy/shared.h"

static void request_node_count_hit(struct request *r, struct cached *c)
{
	struct worker_counters *counters = &r->worker->counters;

	cache_use(r->worker->cache, &r->key, c, request_now_ms(r));
	worker_add(r->node.from_peer ? &counters->peer_served :
		   r->node.alone     ? &counters->collapsed :
				       &counters->local_hits,
		   1);
}

/* Leads the fetch for the request's key, or has `wait` join it. */
static enum shared_place request_node_join_fetch(struct request *r,
						 const struct fields *fields,
						 struct flight_waiter *wait)
{
	const struct shared_miss miss = { &r->key, fields, r->stale };

	return shared_join(r->worker->cache, r->worker->flights, &miss,
			   &r->lead, wait);
}

/*
 * Asks the origin about what was served stale, unless somebody does already.
 * Without memory the next request tries again.
 */
static void request_node_renew(const struct request *r)
{
	struct request *renewal = request_beside(r);

	if (!renewal)
		return;
	renewal->fwd = CACHESTATUS_STALE;
	renewal->stale = cached_ref(r->found);
	if (request_node_join_fetch(renewal, &renewal->in, NULL) ==
	    SHARED_LEADS)
		request_renew(renewal);
	request_settle(renewal);
}

static void request_node_reply_stored(struct request *r, bool renew)
{
	request_node_count_hit(r, r->found);
	worker_add(&r->worker->counters.stale_served,
		   r->found_as == NODE_FOUND_WHILE_REVALIDATE);
	reply_cached(r, r->found);
	if (renew)
		request_node_renew(r);
	cached_unref(&r->found);
}

/* Cache-Status tells the peer what was missing, see node_answer_of_peer(). */
static void request_node_reply_not_here(struct request *r)
{
	if (r->found)
		r->fwd = CACHESTATUS_STALE;
	reply_error(r, 504, r->fwd == CACHESTATUS_STALE ? "stale" : "miss");
}

static void request_node_follow(struct request *r)
{
	struct relay *relay = r->wait.relay;

	r->wait.relay = NULL;
	request_node_count_hit(r, relay_head(relay));
	reply_relay(r, relay);
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
		request_ask(r);
		break;
	case NODE_DO_FOLLOW:
		request_node_follow(r);
		break;
	case NODE_DO_SEND:
		reply_blocks_send(r);
		break;
	case NODE_DO_WAKE:
		exchange_wake(r->x);
		break;
	case NODE_DO_UPLOAD:
		request_fill_up(r);
		break;
	case NODE_DO_LEAVE:
		request_fill_left(r);
		break;
	case NODE_DO_END:
		request_settle(r);
		break;
	}
}

static void request_node_input(struct request *r,
			       const struct node_request_input *in)
{
	request_node_do(r, node_request_step(&r->node, in));
}

void request_event(struct request *r, enum node_event event)
{
	const struct node_request_input in = { .event = event, .own = true };

	request_node_input(r, &in);
}

/* Looking up */

static bool request_node_is_shareable(const struct request *r)
{
	return r->cacheable && !strcmp(r->method, "GET") &&
	       node_answer_is_shareable(request_fields(r), &r->cc);
}

void request_read(struct request *r, bool damaged)
{
	struct node_request_input in = {
		.event = NODE_READ,
		.found = r->found_as,
		.damaged = damaged,
		.only_if_cached = r->cc.only_if_cached,
	};

	if (in.found < NODE_FOUND_WHILE_REVALIDATE &&
	    r->node.state != NODE_CLOSED) {
		/* what is here already needs no more memory than there is */
		in.no_memory = !ledger_left(&memory_ledger);
		in.shareable = !r->node.alone && request_node_is_shareable(r);
	}
	request_node_input(r, &in);
}

/* What is stored for the request, which is taken over, or null. */
static void request_node_found(struct request *r, struct cached *c)
{
	int64_t now_s = request_now_s(r);

	r->found_as = NODE_FOUND_NONE;
	if (!c)
		return;
	r->found = c;
	switch (freshness_reuse(&c->freshness, &r->cc, now_s)) {
	case REUSE_FRESH:
	case REUSE_STALE:
		r->found_as = NODE_FOUND_FRESH;
		return;
	case REUSE_RENEW:
		r->found_as = NODE_FOUND_WHILE_REVALIDATE;
		return;
	case REUSE_VALIDATE:
		break;
	}
	r->found_as = NODE_FOUND_STALE;
	r->fwd = freshness_left(&c->freshness, now_s) <= 0 ?
		CACHESTATUS_STALE : CACHESTATUS_REQUEST;
	r->stale = c;
	r->found = NULL;
}

static void request_node_was_read(void *arg)
{
	struct request *r = arg;

	request_node_found(r, r->read.found);
	r->read.found = NULL;
	request_read(r, false);
}

/* Whether it is on disk, and is being read now. */
static bool request_node_read_disk(struct request *r)
{
	r->read.loop = r->worker->loop;
	r->read.call = (struct loop_call){ .run = request_node_was_read,
					   .arg = r };
	r->node.reading = cache_read(r->worker->cache, &r->key,
				     request_fields(r), &r->read);
	return r->node.reading;
}

void request_find(struct request *r)
{
	enum cachestatus_fwd why;
	struct cached *c = NULL;

	cached_unref(&r->stale);
	if (r->cacheable) {
		c = cache_get(r->worker->cache, &r->key, request_fields(r),
			      &why);
		if (!c) {
			r->fwd = why;
			if (request_node_read_disk(r))
				return;
		}
	}
	request_node_found(r, c);
	request_read(r, false);
}

/* Other requests' fills */

/* Whether what another request fetches is what this one wants. */
static bool request_node_is_usable(const struct request *r,
				   const struct cached *head)
{
	return vary_match(cached_selecting(head), request_fields(r)) &&
	       freshness_reuse(&head->freshness, &r->cc, request_now_s(r)) ==
		       REUSE_FRESH;
}

/* It can be read: the relay is in r->wait. */
static void request_node_shown(struct request *r)
{
	struct node_request_input in = { .event = NODE_HEAD };

	in.usable = r->node.state != NODE_CLOSED &&
		    request_node_is_usable(r, relay_head(r->wait.relay));
	if (!in.usable)
		relay_unref(&r->wait.relay);
	request_node_input(r, &in);
}

static void request_node_landed(void *arg)
{
	const struct node_request_input ended = { .event = NODE_END };
	struct request *r = arg;

	if (r->wait.relay)
		request_node_shown(r);
	else
		request_node_input(r, &ended);
}

static void request_node_joined(struct request *r, enum node_joined joined)
{
	request_node_do(r, node_request_joined(&r->node, joined));
}

static void request_node_join(struct request *r)
{
	r->wait.loop = r->worker->loop;
	r->wait.call = (struct loop_call){ .run = request_node_landed,
					   .arg = r };
	/* from the store it may be a 304 */
	r->wait.for_landing = conditional_present(request_fields(r));
	switch (request_node_join_fetch(r, request_fields(r), &r->wait)) {
	case SHARED_LEADS:
		request_node_joined(r, NODE_JOINED_LEADS);
		break;
	case SHARED_STORED:
		request_node_joined(r, NODE_JOINED_STORED);
		break;
	case SHARED_WAITS:
		cache_note(r->worker->cache, &r->key);
		request_node_joined(r, NODE_JOINED_WAITS);
		break;
	case SHARED_SHOWN:
		cache_note(r->worker->cache, &r->key);
		request_node_shown(r);
		break;
	}
}

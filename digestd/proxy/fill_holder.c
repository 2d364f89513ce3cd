/*
 * The stale copy of a peer, where the origin fails and nothing is here
 * (node/node_holder.h): a question more to who has said, when it was asked for
 * a fresh one, that what it has may be used then. What it sends is judged by
 * this node's own rules, and kept, or not, like any other copy of a peer's.
 *
 * While the origin is known to be out, one request in ORIGIN_TRIAL_MS asks it
 * first all the same, so that somebody finds out when that is over.
 */
#include "digestd/mesh/origin_set.h"
#include "digestd/node/node_answer.h"
#include "digestd/proxy/fill.h"
#include "digestd/proxy/request.h"

/* Whether a whole stale copy would answer the client. */
static bool fill_holder_would_do(const struct fill *f)
{
	return f->client && !f->stale && !f->validates && !f->for_peer &&
	       f->node.purpose == NODE_FOR_CLIENT && f->q->cacheable &&
	       !question_is_ranged(f->q, &f->in);
}

void fill_holder_note(struct fill *f)
{
	if (f->status == 504 && fill_holder_would_do(f) &&
	    node_holder_heard(&f->holder,
			      cachestatus_usable_nearest(&f->response)))
		f->holder_peer = f->peer;
}

/* While nothing of the origin's answer has been shown: to a hedge, its client
 * has come by now. */
static bool fill_holder_is_asked_instead(struct fill *f,
					 enum cachestatus_usable need,
					 unsigned status)
{
	if (f->source != SOURCE_ORIGIN ||
	    (f->node.state != NODE_ASK_ORIGIN &&
	     f->node.state != NODE_COLLECT_ORIGIN) ||
	    !fill_holder_would_do(f) || !node_holder_may_ask(&f->holder, need))
		return false;
	node_holder_take(&f->holder, need, status);
	return true;
}

bool fill_holder_replaces_error(struct fill *f, unsigned status)
{
	return fill_holder_is_asked_instead(
		f, node_holder_need_of_status(status), status);
}

bool fill_holder_replaces_failure(struct fill *f, enum fetch_result result,
				  unsigned status)
{
	return fill_holder_is_asked_instead(
		f, node_holder_need_of_failure(result), status);
}

bool fill_holder_begins_outage(struct fill *f)
{
	const enum cachestatus_usable need =
		node_holder_need_of_condition(fill_outage_condition(f));

	if (!fill_holder_would_do(f) ||
	    !node_holder_may_ask(&f->holder, need) ||
	    origin_group_take_trial(f->q->origins, worker_now_ms(f->worker)))
		return false;
	node_holder_take(&f->holder, need, 0);
	return fill_holder_ask(f);
}

/* Other questions to a peer end soon, as the origin can be asked instead. */
static unsigned fill_holder_timeout_ms(struct fill *f)
{
	const int64_t ms = fill_distance_timeout_ms(f);

	return (unsigned)(f->q->settings->peer_first_byte_ms ?
				  ms : node_holder_wait_ms(ms));
}

bool fill_holder_ask(struct fill *f)
{
	if (f->holder.state == NODE_HOLDER_DUE) {
		f->holder.state = NODE_HOLDER_ASKED;
		f->peer = f->holder_peer;
		f->lease.asks = false;
		worker_add(&f->worker->counters.peer_queries, 1);
		if (!fill_ask_peer(f, fill_holder_timeout_ms(f)))
			return true;
		f->peer = NULL; /* no memory */
	}
	if (f->holder.state != NODE_HOLDER_ASKED || !f->holder.status)
		return false;
	fill_end_collapse(f);
	f->peer = NULL;
	request_event(f->client, NODE_BROKE);
	reply_error(f->client, f->holder.status, "origin");
	return true;
}

int fill_holder_add_wish(struct fill *f)
{
	return f->holder.state == NODE_HOLDER_ASKED
		       ? fields_set(&f->out, "Cache-Control",
				    "only-if-cached, max-stale")
		       : 0;
}

void fill_holder_judge(const struct fill *f, struct node_answer *answer)
{
	answer->on_error = f->holder.state == NODE_HOLDER_ASKED;
	if (f->holder.need == CACHESTATUS_USABLE_ON_DISCONNECT)
		answer->on_disconnect_s =
			f->q->settings->stale_on_disconnect_s;
}

void fill_holder_count(const struct fill *f)
{
	struct worker_counters *n = &f->worker->counters;
	const bool stale =
		f->holder.state == NODE_HOLDER_ASKED &&
		freshness_left(&f->freshness, worker_now_s(f->worker)) <= 0;

	worker_add(&n->stale_served, stale);
	worker_add(&n->stale_from_peers, stale);
}

void fill_holder_pass_on(const struct fill *f, struct fill *hedge)
{
	hedge->holder = f->holder;
	hedge->holder_peer = f->holder_peer;
	if (f->view && !hedge->view)
		hedge->view = peerset_ref(f->view);
}

/*
 * What is done without the origins of a site: while none of them serves
 * (mesh/origin_set.h), a stale copy that may be used goes out at once; and who
 * has waited for an answer for stale_wait gets it, too. The fill goes on
 * without its client then, and renews the copy when an answer comes.
 *
 * While they are known to fail, one fill in ORIGIN_TRIAL_MS asks them all the
 * same, for a client or a renewal: any answer ends the outage. What is not
 * stored, or may not be served stale, goes to them as ever. Peers are asked
 * before, but not waited for while they ask the origin themselves.
 */
#include "digestd/node/node_answer.h"
#include "digestd/proxy/fill.h"
#include "digestd/proxy/request.h"

enum origin_condition fill_outage_condition(const struct fill *f)
{
	return f->q->origins && !f->for_peer
		       ? origin_group_condition(f->q->origins,
						worker_now_ms(f->worker))
		       : ORIGIN_SERVES;
}

bool fill_outage_holds(const struct fill *f)
{
	enum origin_condition condition;
	struct node_stale stale;

	if (!f->stale)
		return false;
	condition = fill_outage_condition(f);
	if (condition == ORIGIN_SERVES)
		return false;
	/* it is for the next request; and once begun, tries all of them */
	if (!f->client)
		return f->node.purpose == NODE_FOR_RENEWAL &&
		       !f->origins_tried;
	stale = fill_stale(f);
	stale.client = true;
	return node_answer_of_outage(&stale, condition);
}

enum fill_outage fill_outage_begin(struct fill *f)
{
	if (!fill_outage_holds(f))
		return FILL_OUTAGE_NONE;
	fill_end_collapse(f); /* nobody else waits for what may never come */
	return origin_group_take_trial(f->q->origins, worker_now_ms(f->worker))
		       ? FILL_OUTAGE_TRIAL
		       : FILL_OUTAGE_REST;
}

void fill_outage_came(struct fill *f)
{
	f->came++;
	collapse_came(f->collapse);
}

void fill_outage_answer(struct fill *f)
{
	if (f->client)
		request_wait_give_up(f->client);
	else
		fill_free_if_over(f);
}

void fill_outage_leave(struct fill *f, bool late)
{
	const struct node_fill_input in = {
		.event = NODE_LEFT,
		.now_ms = worker_now_ms(f->worker),
		.renews = true,
	};

	if (late && f->node.state == NODE_ASK_ORIGIN && f->origin.group) {
		origin_turn_unanswered(&f->origin, f->asked_ms, in.now_ms);
		if (fill_outage_condition(f) != ORIGIN_SERVES)
			fill_end_collapse(f);
	}
	f->client = NULL;
	fill_take(f, &in, NULL, 0);
}

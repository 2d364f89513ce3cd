/*
 * The way to an origin (node/node_lease.h): the requests that ask peers for a
 * lease, or for what they fetch.
 */
#include "digestd/http/response_facts.h"
#include "digestd/node/node_ask.h"
#include "digestd/peers/lease_desk.h"
#include "digestd/proxy/fill.h"

/* Whether one fetch of it may answer requests at other nodes. */
static bool fill_lease_is_for_all(const struct fill *f)
{
	const struct node_ask ask = question_ask(f->q, &f->in);

	return f->node.purpose == NODE_FOR_CLIENT && f->client &&
	       !ask.ranged && node_ask_is_shareable(&ask) &&
	       f->q->cc.max_age != 0;
}

static bool fill_lease_may_begin(const struct fill *f)
{
	struct worker *w = f->worker;

	return f->q->settings->leases && w->shared.leases && w->view &&
	       fill_lease_is_for_all(f) &&
	       !lease_desk_is_alone(w->shared.leases, &f->q->key,
				    worker_now_ms(w)) &&
	       node_lease_is_worth(&w->lease_worth);
}

/* Asks a peer of the view by its instance; false: it cannot be asked. */
static bool fill_lease_ask_peer(struct fill *f, uint64_t instance)
{
	int n;

	if (!f->view)
		f->view = peerset_ref(f->worker->view);
	n = lease_find(f->view, instance);
	if (n < 0)
		return false;
	f->peer = peerset_at(f->view, (size_t)n);
	f->lease.asks = true;
	worker_add(&f->worker->counters.lease_queries, 1);
	if (!fill_ask_peer(f, f->q->settings->lease_wait_ms))
		return true;
	f->lease.asks = false; /* no memory: the origin's turn */
	f->peer = NULL;
	return false;
}

/* One step; false: it has its answer already. */
static bool fill_lease_step(struct fill *f, enum node_lease_do step)
{
	struct worker *w = f->worker;
	const uint64_t self = lease_desk_instance(w->shared.leases);
	uint64_t owner;

	f->told = (struct lease_answer){.word = LEASE_NONE};
	if (step == NODE_LEASE_ASK_HOLDER)
		return fill_lease_ask_peer(f, f->lease.holder);
	owner = lease_owner(w->view, &f->q->key, self);
	if (owner != self)
		return fill_lease_ask_peer(f, owner);
	f->told = lease_desk_ask(w->shared.leases, &f->q->key, &f->wish,
				 worker_now_ms(w));
	return false;
}

bool fill_lease_ask(struct fill *f)
{
	struct worker *w = f->worker;
	enum node_lease_do step;

	f->lease.asks = false;
	if (f->lease.state == NODE_LEASE_OVER || !f->worker->view)
		return false;
	if (f->lease.state == NODE_LEASE_BEGIN && !fill_lease_may_begin(f))
		return false;
	while ((step = node_lease_next(&f->lease, &f->told,
				       lease_desk_instance(w->shared.leases),
				       &f->wish)) != NODE_LEASE_TO_ORIGIN) {
		if (fill_lease_step(f, step))
			return true;
	}
	node_lease_was_worth(&w->lease_worth, false);
	f->peer = NULL; /* who had no more to give than the lease */
	return false;
}

int fill_lease_add_wish(const struct fill *f, struct fields *out)
{
	char text[LEASES_TEXT_BYTES];

	if (!f->lease.asks)
		return 0;
	lease_wish_write(&f->wish, text);
	return fields_set(out, LEASES_FIELD, text);
}

void fill_lease_take_answer(struct fill *f, unsigned status,
			    const struct fields *fields)
{
	const char *text = fields_get(fields, LEASES_FIELD);

	f->told = (struct lease_answer){.word = LEASE_NONE};
	if (f->lease.asks && status == 504 && text)
		f->told = lease_answer_read(text);
}

void fill_lease_judge_origin(const struct fill *f)
{
	struct worker *w = f->worker;

	/* an error says nothing of what comes when it is over */
	if (f->status < 400 && w->shared.leases && fill_lease_is_for_all(f))
		lease_desk_set_alone(w->shared.leases, &f->q->key,
				     f->node.keep == NODE_KEEP_NO,
				     worker_now_ms(w));
}

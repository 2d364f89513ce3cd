/*
 * The way to an origin (node/node_lease.h): the requests that ask peers for a
 * lease, or for what they fetch.
 *
 * What has gone stale, here or at the peers that were asked, takes it with or
 * without the option `leases`: others hold it, too, and one of them may have
 * had it confirmed already. Then its owner is one of those who hold it, as
 * their digests say, and a question is about what is stored here.
 */
#include "digestd/node/node_ask.h"
#include "digestd/peers/lease_desk.h"
#include "digestd/proxy/fill.h"

bool fill_lease_waits(const struct fill *f)
{
	return f->lease.asks && f->wish.waits && !f->wish.who;
}

static bool fill_lease_is_renewal(const struct fill *f)
{
	return f->stale || f->stale_at_peer;
}

static struct node_lease_worth *fill_lease_worth(const struct fill *f)
{
	return fill_lease_is_renewal(f) ? &f->worker->renewal_worth
					: &f->worker->lease_worth;
}

/* Whether one fetch of it may answer requests at other nodes. */
static bool fill_lease_is_for_all(const struct fill *f)
{
	const struct node_ask ask = question_ask(f->q, &f->in);

	return f->node.purpose == NODE_FOR_CLIENT && f->client &&
	       !ask.ranged && node_ask_is_shareable(&ask) &&
	       f->q->cc.max_age != 0;
}

/* Whether one that has gone stale may be renewed by what peers have: not where
 * the word of the origin is needed. */
static bool fill_lease_is_renewable(const struct fill *f)
{
	const struct node_ask ask = question_ask(f->q, &f->in);

	if (!f->stale)
		return fill_lease_is_for_all(f);
	return !f->validates &&
	       (f->client || f->node.purpose == NODE_FOR_RENEWAL) &&
	       cache_has_heard_all(f->worker->shared.cache) &&
	       node_ask_may_renew_at_peers(&ask, &f->stale->freshness);
}

static bool fill_lease_may_begin(const struct fill *f)
{
	const struct worker_settings *set = f->q->settings;
	struct worker *w = f->worker;

	if (!w->shared.leases || !w->view ||
	    !cache_has_caught_up(w->shared.cache))
		return false;
	if (!(fill_lease_is_renewal(f) ?
		      set->peer_tries && fill_lease_is_renewable(f) :
		      set->leases && fill_lease_is_for_all(f)))
		return false;
	return !lease_desk_is_alone(w->shared.leases, &f->q->key,
				    worker_now_ms(w)) &&
	       node_lease_is_worth(fill_lease_worth(f));
}

/* The owner among those who hold it: `self`, unless that is 0, and peers that
 * are not so far that the origin is sooner; 0: no peer does. */
static uint64_t fill_lease_holder_owner(struct fill *f, uint64_t self)
{
	const struct peerset_keys keys = {.own = &f->q->key};
	const struct route_policy policy = fill_distance_policy(f);
	const struct peerset *view = f->worker->view;
	uint32_t found[PEERSET_MAX_PEERS];
	size_t n = peerset_lookup(view, &keys, found, PEERSET_MAX_PEERS);
	size_t near = 0;

	for (size_t i = 0; i < n; i++) {
		const struct peerset_peer *p = peerset_at(view, found[i]);

		if (peerset_is_elsewhere(p))
			continue;
		if (!policy.peers ||
		    distance_renewal_pays(
			    distance_table_find(policy.peers, p->id),
			    policy.origin))
			found[near++] = found[i];
	}
	return near ? lease_owner_among(view, &f->q->key, self, found, near)
		    : 0;
}

/* Whom the way begins with; 0: nobody. */
static uint64_t fill_lease_owner(struct fill *f, uint64_t self)
{
	if (f->q->settings->leases)
		return lease_owner(f->worker->view, &f->q->key, self);
	/* others do not see what a peer has sent */
	return fill_lease_holder_owner(
		f, f->stale && !f->stale->unvouched ? self : 0);
}

/* An owner answers at once, like any peer; who fetches it, when that has
 * come. */
static unsigned fill_lease_timeout_ms(struct fill *f)
{
	return fill_lease_waits(f) ? f->q->settings->lease_wait_ms
				   : (unsigned)fill_distance_timeout_ms(f);
}

/* Whether a peer elsewhere is too far to be asked. It is measured now and then,
 * all the same. */
static bool fill_lease_passes_over(struct fill *f, const struct peerset_peer *p)
{
	const struct route_policy policy = fill_distance_policy(f);
	struct distance *d = policy.peers ? distance_table_find(policy.peers,
								p->id)
					  : NULL;

	if (!peerset_is_elsewhere(p) || distance_pays(d, policy.origin))
		return false;
	worker_add(&f->worker->counters.peers_too_far, 1);
	return !distance_pass_over(d, worker_now_ms(f->worker));
}

/* Asks a peer of the view by its instance; false: it cannot be asked. One that
 * is elsewhere has it, or has it not: it is not waited for. */
static bool fill_lease_ask_peer(struct fill *f, uint64_t instance)
{
	int n;

	if (!f->view)
		f->view = peerset_ref(f->worker->view);
	n = lease_find(f->view, instance);
	if (n < 0)
		return false;
	f->peer = peerset_at(f->view, (size_t)n);
	if (!fill_hedge_may_ask(f, f->peer) ||
	    fill_lease_passes_over(f, f->peer)) {
		f->peer = NULL;
		return false;
	}
	if (peerset_is_elsewhere(f->peer))
		f->wish = (struct lease_wish){ .waits = false };
	f->lease.asks = true;
	worker_add(&f->worker->counters.lease_queries, 1);
	if (!fill_ask_peer(f, fill_lease_timeout_ms(f)))
		return true;
	f->lease.asks = false; /* no memory: the origin's turn */
	f->peer = NULL;
	return false;
}

/*
 * This node owns the key and fetches it, if no peer's copy has been confirmed
 * meanwhile: one of them is asked, without waiting for anything, so that peers
 * may wait for this node. False: no peer is asked.
 */
static bool fill_lease_ask_other(struct fill *f)
{
	const uint64_t other = fill_lease_holder_owner(f, 0);

	collapse_open(f->collapse);
	f->wish = (struct lease_wish){.waits = false};
	return other && fill_lease_ask_peer(f, other);
}

/* As the owner; false: it has its answer already. */
static bool fill_lease_own(struct fill *f)
{
	struct worker *w = f->worker;
	const bool again = f->wish.not ;

	f->told = lease_desk_ask(w->shared.leases, &f->q->key, &f->wish,
				 worker_now_ms(w));
	return f->told.word == LEASE_YOURS && f->stale && !again &&
	       fill_lease_ask_other(f);
}

/* One step; false: it has its answer already. */
static bool fill_lease_step(struct fill *f, enum node_lease_do step)
{
	const uint64_t self =
		lease_desk_instance(f->worker->shared.leases);
	uint64_t owner;

	f->told = (struct lease_answer){.word = LEASE_NONE};
	if (step == NODE_LEASE_ASK_HOLDER)
		return fill_lease_ask_peer(f, f->lease.holder);
	owner = fill_lease_owner(f, self);
	if (!owner)
		return false;
	return owner == self ? fill_lease_own(f)
			     : fill_lease_ask_peer(f, owner);
}

bool fill_lease_ask(struct fill *f)
{
	struct worker *w = f->worker;
	enum node_lease_do step;

	bool asked = f->lease.asks;

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
	if (asked)
		node_lease_was_worth(fill_lease_worth(f), false);
	f->peer = NULL; /* who had no more to give than the lease */
	return false;
}

/* What is asked is whether it is still right. */
static int fill_lease_add_conditions(struct fill *f)
{
	struct fields stored;
	int err;

	if (!f->stale)
		return 0;
	if (cached_fields(f->stale, &stored))
		return -1;
	err = node_ask_conditions_of_peer(&stored, &f->out, &f->validating);
	fields_free(&stored);
	return err;
}

int fill_lease_add_wish(struct fill *f)
{
	char text[LEASES_TEXT_BYTES];

	if (!f->lease.asks)
		return 0;
	if (f->wish.waits) {
		lease_wish_write(&f->wish, text);
		if (fields_set(&f->out, LEASES_FIELD, text))
			return -1;
	}
	return fill_lease_add_conditions(f);
}

void fill_lease_found(struct fill *f, bool found)
{
	struct distance *d;

	if (found &&
	    (f->lease.asks || f->node.purpose == NODE_FOR_CLIENT))
		node_lease_was_worth(fill_lease_worth(f), true);
	if (!f->lease.asks)
		return;
	d = distance_table_find(&f->worker->peer_distances, f->peer->id);
	if (d && fill_lease_is_renewal(f))
		distance_renewal(d, found);
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

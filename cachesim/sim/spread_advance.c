/*
 * What ranks told each other is seen, in the order of the requests; and
 * misses, of which only the own cache knew, are counted with it.
 */
#include "cachesim/sim/spread.h"

#include "cachesim/sim/prefetch.h"

enum {
	AHEAD = 12, /* rows fetched before they are needed */
	MISS = 4,   /* numbers of a miss */
	EVENT = 2,  /* of an event */
};

static void spread_advance_copy_bit(struct masks *m, uint32_t object,
				    unsigned field, unsigned proxy, bool set)
{
	if (field == SIM_NO_FIELD)
		return;
	if (set)
		masks_set(m, object, field, proxy);
	else
		masks_clear(m, object, field, proxy);
}

static void spread_advance_apply(struct sim_cluster *s,
				 const uint32_t event[EVENT])
{
	const struct sim_fields *f = &s->field;
	unsigned proxy = event[1] & (SIM_MAX_SPREAD - 1);

	spread_advance_copy_bit(&s->objects, event[0], f->peer_held, proxy,
				event[1] >> SPREAD_HELD & 1);
	spread_advance_copy_bit(&s->objects, event[0], f->peer_stale, proxy,
				event[1] >> SPREAD_STALE & 1);
	spread_advance_copy_bit(&s->objects, event[0], f->peer_seen, proxy,
				event[1] >> SPREAD_SEEN & 1);
}

/* What came and went by the beginning of an epoch. The order of ranks makes no
 * difference: each has other proxies. */
static void spread_advance_show_until(struct sim_cluster *s, uint64_t epoch)
{
	struct sim_spread *sp = s->spread;

	if (epoch < sp->from)
		return;
	for (unsigned r = 0; r < sp->exchange->nranks; r++) {
		struct sim_events *l = &sp->far[r];

		while (l->n && l->at[1] >> SPREAD_SINCE <= epoch - sp->from) {
			if (l->n > (size_t)EVENT * AHEAD)
				masks_prefetch(&s->objects,
					       l->at[EVENT * AHEAD]);
			spread_advance_apply(s, l->at);
			l->at += EVENT;
			l->n -= EVENT;
		}
	}
}

/* The time by which things have arrived when an epoch begins. */
static uint64_t spread_advance_time_at(struct sim_cluster *s, uint64_t epoch)
{
	struct sim_spread *sp = s->spread;
	const uint32_t *time = s->trace->time;

	if (!s->deferred)
		return s->now_s;
	for (; time && sp->epoch <= epoch; sp->epoch += s->config.epoch) {
		if (time[sp->epoch] > sp->now_s)
			sp->now_s = time[sp->epoch];
	}
	return sp->now_s;
}

static int spread_advance_send(struct sim_cluster *s,
			       const struct sim_received *r)
{
	const struct sim_transport *way = &s->config.transport;
	const struct sim_notice *n = &r->notice;
	struct protocol_publication *p;
	int err = s->protocol->protocol->unpack(s->protocol, &n->head,
						r->bytes, n->len, &p);

	if (err)
		return err;
	return transport_send(&s->transport, p,
			      n->request + way->delay_requests,
			      n->time_s + way->delay_s);
}

static void spread_advance_receive(struct sim_cluster *s, uint64_t epoch)
{
	struct sim_spread *sp = s->spread;
	uint64_t now_s = spread_advance_time_at(s, epoch);
	int err = 0;

	while (sp->next < sp->nreceived && !err &&
	       sp->received[sp->next].notice.request <= epoch)
		err = spread_advance_send(s, &sp->received[sp->next++]);
	if (!err && s->transport.queue.n)
		err = transport_arrive(&s->transport, epoch, now_s);
	if (!s->error)
		s->error = err;
}

/* The beginning of the epoch that a request is in. */
static uint64_t spread_advance_epoch_of(const struct sim_cluster *s,
					uint64_t request)
{
	uint64_t epoch = s->config.epoch;

	return epoch == 1 ? request : request - request % epoch;
}

void sim_spread_advance(struct sim_cluster *s, uint64_t request)
{
	const struct sim_trace *t = s->trace;
	struct sim_spread *sp = s->spread;

	while (s->deferred && sp->next_change < t->nchanges &&
	       t->change[sp->next_change] <= request) {
		uint64_t at = t->change[sp->next_change++];

		spread_advance_show_until(s, spread_advance_epoch_of(s, at));
		sim_show_change(s, t->object[at]);
	}
	spread_advance_show_until(s, spread_advance_epoch_of(s, request));
	spread_advance_receive(s, spread_advance_epoch_of(s, request));
}

/* As a proxy's counters are kept when the warm-up ends. */
static void spread_advance_end_warmup(struct sim_cluster *s, uint64_t before)
{
	struct sim_spread *sp = s->spread;

	if (sp->counted_warm || s->warm >= before)
		return;
	sp->counted_warm = true;
	sim_spread_advance(s, s->warm);
	for (unsigned i = 0; i < s->config.nproxies; i++)
		sp->before[i] = sp->late[i];
}

static void spread_advance_prefetch(struct sim_cluster *s, size_t i)
{
	const struct numbers *l = &s->spread->misses;

	if (i + MISS * AHEAD >= l->n)
		return;
	i += MISS * AHEAD;
	masks_prefetch(&s->objects, l->at[i + 2]);
	if (s->prefetch)
		sim_prefetch_summaries(s, l->at[i + 1], l->at[i + 2]);
}

void sim_spread_catch_up(struct sim_cluster *s, uint64_t end)
{
	struct sim_spread *sp = s->spread;
	const struct numbers *l = &sp->misses;

	for (size_t i = 0; i < l->n && !s->error; i += MISS) {
		const uint32_t *miss = l->at + i;
		uint64_t request = sp->from + miss[0];

		spread_advance_prefetch(s, i);
		spread_advance_end_warmup(s, request + 1);
		sim_spread_advance(s, request);
		sim_fetch(s, &s->proxy[miss[1]],
			  (struct sim_wanted){ miss[2], miss[3] },
			  &sp->late[miss[1]]);
	}
	sp->misses.n = 0;
	if (s->error)
		return;
	spread_advance_end_warmup(s, end);
	sim_spread_advance(s, end - 1);
}

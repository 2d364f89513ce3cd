/*
 * What ranks tell each other: what came and went at their proxies, what was
 * published, what was used at peers.
 *
 * A message is numbers: an error or 0, how many numbers of events follow, the
 * events, and the rest is notices. An event is an object and a number: from
 * which request of the round on it is so, and then four fields.
 */
#include <stdlib.h>
#include <string.h>

#include "cachesim/sim/spread.h"
#include "codec/error.h"

enum { HEAD = 2, NUMBER = sizeof(uint32_t) };

static void spread_meet_keep_error(struct sim_cluster *s, int err)
{
	if (!s->error)
		s->error = err;
}

/* Adds bytes, padded to whole numbers. */
static int spread_meet_push_bytes(struct numbers *l, const void *bytes,
				  size_t len)
{
	size_t n = (len + NUMBER - 1) / NUMBER;
	int err = numbers_reserve(l, l->n + n);

	if (err)
		return err;
	if (n) {
		l->at[l->n + n - 1] = 0;
		memcpy(l->at + l->n, bytes, len);
	}
	l->n += n;
	return 0;
}

void sim_spread_miss(struct sim_cluster *s, const struct sim_proxy *p,
		     uint32_t object)
{
	const uint32_t miss[] = { (uint32_t)(s->at - s->spread->from),
				  p->number, object, s->size[object] };

	spread_meet_keep_error(s, spread_meet_push_bytes(&s->spread->misses,
							 miss, sizeof(miss)));
}

static uint32_t spread_meet_bit_of(const struct sim_cluster *s, uint32_t object,
				   unsigned field, unsigned proxy)
{
	return field != SIM_NO_FIELD &&
	       masks_has(&s->objects, object, field, proxy);
}

void sim_spread_show(struct sim_cluster *s, uint32_t object, unsigned proxy)
{
	const struct sim_fields *f = &s->field;
	uint32_t since = (uint32_t)(s->at - s->spread->from);
	const uint32_t event[] = {
		object,
		since << SPREAD_SINCE | proxy |
			spread_meet_bit_of(s, object, f->held, proxy)
				<< SPREAD_HELD |
			spread_meet_bit_of(s, object, f->stale, proxy)
				<< SPREAD_STALE |
			spread_meet_bit_of(s, object, f->seen, proxy)
				<< SPREAD_SEEN,
	};

	spread_meet_keep_error(s, spread_meet_push_bytes(&s->spread->events,
							 event, sizeof(event)));
}

int sim_spread_send(struct sim_cluster *s, struct protocol_publication *p,
		    bool by_share)
{
	struct sim_notice notice;
	uint8_t *bytes;
	size_t len;
	int err = s->protocol->protocol->pack(p, &bytes, &len);

	if (!err) {
		memset(&notice, 0, sizeof(notice));
		notice.request = s->at;
		notice.time_s = s->now_s;
		notice.len = len;
		notice.order = (by_share ? SIM_MAX_SPREAD : 0) + p->proxy;
		notice.head = *p;
		err = spread_meet_push_bytes(&s->spread->news, &notice,
					     sizeof(notice));
		if (!err)
			err = spread_meet_push_bytes(&s->spread->news, bytes,
						     len);
		free(bytes);
	}
	protocol_unref(s->protocol, p);
	return err;
}

static int spread_meet_compare_notices(const void *a, const void *b)
{
	const struct sim_notice *x = &((const struct sim_received *)a)->notice;
	const struct sim_notice *y = &((const struct sim_received *)b)->notice;

	if (x->request != y->request)
		return x->request < y->request ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

static int spread_meet_add_received(struct sim_spread *sp,
				    const struct sim_received *r)
{
	size_t room = sp->room ? 2 * sp->room : 64;
	struct sim_received *at = sp->received;

	if (sp->nreceived == sp->room) {
		at = realloc(at, room * sizeof(*at));
		if (!at)
			return SCD_ENOMEM;
		sp->received = at;
		sp->room = room;
	}
	at[sp->nreceived++] = *r;
	return 0;
}

static int spread_meet_read_notices(struct sim_spread *sp, const uint8_t *at,
				    const uint8_t *end)
{
	int err = 0;

	while (at < end && !err) {
		struct sim_received r;

		memcpy(&r.notice, at, sizeof(r.notice));
		at += (sizeof(r.notice) + NUMBER - 1) / NUMBER * NUMBER;
		r.bytes = at;
		at += (r.notice.len + NUMBER - 1) / NUMBER * NUMBER;
		err = spread_meet_add_received(sp, &r);
	}
	return err;
}

/* A rank's message: all of them are numbers, so that it is aligned. */
static const int32_t *spread_meet_message_of(const struct sim_gathered *all,
					     unsigned rank)
{
	return (const void *)(all->bytes + all->start[rank]);
}

static int spread_meet_read_message(struct sim_spread *sp, unsigned rank,
				    const struct sim_gathered *all)
{
	const uint32_t *head = (const void *)spread_meet_message_of(all, rank);
	const uint8_t *at = (const void *)head;

	sp->far[rank] = (struct sim_events){ head + HEAD, head[1] };
	return spread_meet_read_notices(sp,
					at + (HEAD + (size_t)head[1]) * NUMBER,
					all->bytes + all->start[rank + 1]);
}

/* Exchanges two lists, the first with its length; the first error of all. */
static int spread_meet_exchange(struct sim_cluster *s,
				const struct numbers *first,
				const struct numbers *second,
				struct sim_gathered *all)
{
	struct sim_spread *sp = s->spread;
	const struct sim_exchange *x = sp->exchange;
	struct numbers *m = &sp->message;
	uint32_t head[HEAD] = { 0, (uint32_t)first->n };
	int err = s->error;

	if (sp->ended)
		return err;
	m->n = 0;
	if (!err)
		err = spread_meet_push_bytes(m, head, sizeof(head));
	if (!err)
		err = spread_meet_push_bytes(m, first->at, first->n * NUMBER);
	if (!err && second)
		err = spread_meet_push_bytes(m, second->at, second->n * NUMBER);
	head[0] = (uint32_t)err;
	err = err ? x->gather(x->arg, head, sizeof(head), all)
		  : x->gather(x->arg, m->at, m->n * NUMBER, all);
	for (unsigned r = 0; r < x->nranks && !err; r++)
		err = *spread_meet_message_of(all, r);
	sp->ended = err;
	return err;
}

void sim_spread_meet(struct sim_cluster *s)
{
	struct sim_spread *sp = s->spread;
	struct sim_gathered all;
	int err = spread_meet_exchange(s, &sp->events, &sp->news, &all);

	sp->events.n = sp->news.n = 0;
	sp->nreceived = sp->next = 0;
	for (unsigned r = 0; r < sp->exchange->nranks && !err; r++)
		err = spread_meet_read_message(sp, r, &all);
	spread_meet_keep_error(s, err);
	if (sp->nreceived)
		qsort(sp->received, sp->nreceived, sizeof(*sp->received),
		      spread_meet_compare_notices);
	if (!s->deferred && !s->error)
		sim_spread_advance(s, s->at);
}

/* A use at a peer, as struct sim_cluster notes them. */
struct use {
	uint32_t object, peer, request;
};

static int spread_meet_compare_uses(const void *a, const void *b)
{
	const struct use *x = a, *y = b;

	return (x->request > y->request) - (x->request < y->request);
}

void sim_spread_uses(struct sim_cluster *s)
{
	struct sim_spread *sp = s->spread;
	struct sim_gathered all;
	int err = spread_meet_exchange(s, &s->used, NULL, &all);

	sp->from = s->at; /* the epoch's */
	s->used.n = 0;
	for (unsigned r = 0; r < sp->exchange->nranks && !err; r++) {
		const uint32_t *n =
			(const void *)spread_meet_message_of(&all, r);

		for (uint32_t i = 0; i + 2 < n[1] && !err; i += 3) {
			if (sim_owns(s, n[HEAD + i + 1]))
				err = spread_meet_push_bytes(
					&s->used, n + HEAD + i,
					sizeof(struct use));
		}
	}
	spread_meet_keep_error(s, err);
	if (s->used.n)
		qsort(s->used.at, s->used.n / 3, sizeof(struct use),
		      spread_meet_compare_uses);
}

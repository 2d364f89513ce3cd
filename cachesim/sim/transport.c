/*
 * Publications on their way.
 */
#include "cachesim/sim/transport.h"

#include <stdlib.h>
#include <string.h>

#include "codec/error.h"
#include "codec/mix.h"

enum { FIRST_ROOM = 16, MILLION = 1000000 };

static int transport_put(struct parcels *q, const struct parcel *p)
{
	size_t room = q->room ? 2 * q->room : FIRST_ROOM;
	struct parcel *at;

	if (q->first && q->first + q->n == q->room) {
		memmove(q->at, q->at + q->first, q->n * sizeof(*q->at));
		q->first = 0;
	}
	if (q->n == q->room) {
		at = realloc(q->at, room * sizeof(*at));
		if (!at)
			return SCD_ENOMEM;
		q->at = at;
		q->room = room;
	}
	q->at[q->first + q->n++] = *p;
	return 0;
}

static struct parcel transport_take(struct parcels *q)
{
	struct parcel p = q->at[q->first++];

	if (--q->n == 0)
		q->first = 0;
	return p;
}

static void transport_drop_all(struct transport *t, struct parcels *q)
{
	while (q->n)
		protocol_unref(t->protocol, transport_take(q).publication);
	free(q->at);
}

int transport_init(struct transport *t)
{
	size_t n = t->protocol->config.nproxies;

	if (!t->loss_ppm)
		return 0;
	t->missed = calloc(n * n, sizeof(*t->missed));
	return t->missed ? 0 : SCD_ENOMEM;
}

void transport_free(struct transport *t)
{
	size_t n = t->missed ? t->protocol->config.nproxies : 0;

	transport_drop_all(t, &t->queue);
	for (size_t i = 0; i < n * n; i++)
		transport_drop_all(t, &t->missed[i]);
	free(t->missed);
	*t = (struct transport){ 0 };
}

int transport_send(struct transport *t, struct protocol_publication *p,
		   uint64_t request, uint64_t time_s)
{
	struct parcel parcel = { p, t->sent[p->proxy]++, request, time_s };
	int err = transport_put(&t->queue, &parcel);

	if (err)
		protocol_unref(t->protocol, p);
	return err;
}

static int transport_deliver(struct transport *t, unsigned view,
			     struct protocol_publication *p)
{
	return t->protocol->protocol->deliver(t->protocol, view, p);
}

static bool transport_gets_lost(const struct transport *t,
				const struct parcel *p, unsigned receiver)
{
	uint64_t way = (uint64_t)p->publication->proxy << 32 | receiver;
	uint64_t h = scd__mix64(scd__mix64(t->seed ^ way) + p->number);

	return (h >> 32) * MILLION >> 32 < t->loss_ppm;
}

/* What a receiver missed from this publisher, in its order. */
static int transport_fill_gap(struct transport *t, struct parcels *missed,
			      unsigned receiver)
{
	int err = 0;

	while (missed->n) {
		struct protocol_publication *p =
			transport_take(missed).publication;

		if (!err)
			err = transport_deliver(t, receiver, p);
		protocol_unref(t->protocol, p);
	}
	return err;
}

static int transport_arrive_at(struct transport *t, const struct parcel *parcel,
			       unsigned receiver)
{
	struct protocol_publication *p = parcel->publication;
	size_t way = receiver * t->protocol->config.nproxies + p->proxy;
	struct parcels *missed = &t->missed[way];
	int err;

	if (transport_gets_lost(t, parcel, receiver)) {
		t->lost(t->arg, p->proxy);
		err = transport_put(missed, parcel);
		p->users += !err;
		return err;
	}
	if (missed->n && !p->full)
		t->resync(t->arg, receiver, p->whole);
	err = transport_fill_gap(t, missed, receiver);
	return err ? err : transport_deliver(t, receiver, p);
}

static int sim_transport_arrive(struct transport *t,
				const struct parcel *parcel)
{
	unsigned n = t->protocol->config.nproxies;
	int err = 0;

	if (!t->missed)
		return transport_deliver(t, 0, parcel->publication);
	for (unsigned v = 0; v < n && !err; v++) {
		if (v != parcel->publication->proxy &&
		    (v >= PROTOCOL_WORD || t->receivers >> v & 1))
			err = transport_arrive_at(t, parcel, v);
	}
	return err;
}

int transport_arrive(struct transport *t, uint64_t request, uint64_t time_s)
{
	int err = 0;

	while (t->queue.n && !err) {
		const struct parcel *next = &t->queue.at[t->queue.first];
		struct parcel parcel;

		if (next->request > request || next->time_s > time_s)
			break;
		parcel = transport_take(&t->queue);
		err = sim_transport_arrive(t, &parcel);
		protocol_unref(t->protocol, parcel.publication);
	}
	return err;
}

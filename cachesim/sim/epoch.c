/*
 * What happens between two epochs: peers get to see what changed, what was
 * used at them counts as used, who is due publishes, what has arrived is
 * there.
 */
#include "cachesim/sim/cluster_state.h"
#include "cachesim/sim/spread.h"

enum { AHEAD = 12 }; /* rows fetched before they are asked */

static void epoch_keep_error(struct sim_cluster *s, int err)
{
	if (!s->error)
		s->error = err;
}

/* Makes a proxy's bit in one field as it is in another. */
static void epoch_copy_bit(struct masks *m, uint32_t row,
			   const uint8_t field[2], unsigned proxy)
{
	if (field[0] == SIM_NO_FIELD)
		return;
	if (masks_has(m, row, field[0], proxy) !=
	    masks_has(m, row, field[1], proxy))
		masks_flip(m, row, field[1], proxy);
}

static void epoch_show_changes(struct sim_cluster *s)
{
	const struct sim_fields *f = &s->field;
	const struct numbers *l = &s->touched;

	for (size_t i = 0; i + 1 < l->n; i += 2) {
		uint32_t object = l->at[i], proxy = l->at[i + 1];

		if (s->spread) {
			sim_spread_show(s, object, proxy);
			continue;
		}
		epoch_copy_bit(&s->objects, object,
			       (uint8_t[]){f->held, f->peer_held}, proxy);
		epoch_copy_bit(&s->objects, object,
			       (uint8_t[]){f->stale, f->peer_stale}, proxy);
		epoch_copy_bit(&s->objects, object,
			       (uint8_t[]){f->seen, f->peer_seen}, proxy);
	}
	s->touched.n = 0;
}

/* It may be gone by now. */
static void epoch_use(struct sim_cluster *s, struct sim_proxy *p,
		      uint32_t object)
{
	if (masks_has(&s->objects, object, s->field.held, p->number))
		sim_proxy_get(p, object, sim_size(s, object));
}

static void epoch_use_at_peers(struct sim_cluster *s)
{
	const struct numbers *l = &s->used;

	if (s->spread && s->spread->way == SPREAD_EPOCHS)
		sim_spread_uses(s);
	for (size_t i = 0; i + 2 < l->n; i += 3)
		epoch_use(s, &s->proxy[l->at[i + 1]], l->at[i]);
	s->used.n = 0;
}

/* What a proxy has to tell: what it has and did not say, or the reverse; a list
 * without branches, as nobody can tell which it will be. */
static void epoch_collect(struct sim_cluster *s, struct sim_proxy *p)
{
	const struct masks *m = &s->objects;
	const uint8_t *held = masks_place(m, 0, s->field.held);
	uint8_t *told = masks_place(m, 0, s->field.told);
	struct numbers *l = &p->changed;
	unsigned byte = p->number >> 3, bit = p->number & 7;
	size_t n = l->n, nadded = 0, nremoved = 0;

	l->n = s->added.n = s->removed.n = 0;
	p->fresh = 0;
	if (numbers_reserve(&s->added, n) || numbers_reserve(&s->removed, n)) {
		epoch_keep_error(s, SCD_ENOMEM);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		uint32_t o = l->at[i];
		size_t at = (size_t)o * m->row + byte;
		unsigned has = held[at] >> bit & 1;
		unsigned differs = (told[at] >> bit & 1) ^ has;

		if (i + AHEAD < n)
			masks_prefetch(m, l->at[i + AHEAD]);
		told[at] ^= (uint8_t)(differs << bit);
		s->added.at[nadded] = s->removed.at[nremoved] = o;
		nadded += differs & has;
		nremoved += differs & !has;
	}
	s->added.n = nadded;
	s->removed.n = nremoved;
}

static void epoch_count_publication(struct sim_cluster *s,
				    struct sim_counters *c,
				    const struct protocol_publication *p)
{
	uint64_t receivers = s->config.nproxies - 1;
	unsigned around = s->protocol->protocol->sizes.update;

	c->published++;
	c->changes += p->changes;
	c->updates += receivers;
	c->update_bytes += receivers * (p->wire + around);
	c->full_raw += p->raw[0];
	c->delta_raw += p->raw[1];
	c->full_coded += p->coded[PROTOCOL_FULL];
	c->xor_coded += p->coded[PROTOCOL_XOR];
	c->conditional_coded += p->coded[PROTOCOL_CONDITIONAL];
}

static void epoch_publish(struct sim_cluster *s, struct sim_proxy *p,
			  bool by_share)
{
	const struct sim_transport *way = &s->config.transport;
	struct protocol_publication *made;
	struct protocol_changes changes;
	int err;

	epoch_collect(s, p);
	if (s->error || s->added.n + s->removed.n == 0)
		return;
	changes = (struct protocol_changes){ s->added.at, s->removed.at,
					     s->added.n, s->removed.n };
	err = s->protocol->protocol->publish(s->protocol, p->number, &changes,
					     &made);
	if (!err && made) {
		epoch_count_publication(s, &p->count, made);
		err = s->spread ? sim_spread_send(s, made, by_share)
				: transport_send(&s->transport, made,
						 s->at + way->delay_requests,
						 s->now_s + way->delay_s);
	}
	epoch_keep_error(s, err);
}

/* Whether its time has come; the next one is set then. */
static bool epoch_reached_time(const struct sim_cluster *s, struct sim_proxy *p)
{
	uint64_t period = s->config.publish.period_s;

	if (!period || s->now_s < p->next_s)
		return false;
	p->next_s += (s->now_s - p->next_s) / period * period + period;
	return true;
}

static void epoch_publish_by_time(struct sim_cluster *s)
{
	s->next_s = UINT64_MAX;
	for (unsigned i = 0; i < s->config.nproxies; i++) {
		struct sim_proxy *p = &s->proxy[i];

		if (!sim_owns(s, i))
			continue;
		if (epoch_reached_time(s, p))
			epoch_publish(s, p, false);
		if (p->next_s < s->next_s)
			s->next_s = p->next_s;
	}
}

static void epoch_publish_dirty(struct sim_cluster *s, unsigned word)
{
	for (uint64_t m = s->dirty.word[word]; m; m &= m - 1) {
		struct sim_proxy *p = &s->proxy[word * PROTOCOL_WORD +
						(unsigned)__builtin_ctzll(m)];

		if (s->publishes_always || sim_reached_share(s, p))
			epoch_publish(s, p, true);
	}
	s->dirty.word[word] = 0;
}

static void epoch_publish_by_share(struct sim_cluster *s)
{
	for (unsigned i = 0; i < PROTOCOL_MAX_WORDS; i++)
		epoch_publish_dirty(s, i);
}

void sim_epoch_begin(struct sim_cluster *s)
{
	epoch_use_at_peers(s);
	epoch_show_changes(s);
	if (s->way == PROTOCOL_SUMMARY) {
		if (s->now_s >= s->next_s)
			epoch_publish_by_time(s);
		if (s->is_dirty)
			epoch_publish_by_share(s);
		if (s->transport.queue.n && !s->spread)
			epoch_keep_error(s, transport_arrive(&s->transport,
							     s->at, s->now_s));
	}
	s->is_dirty = false;
	if (s->spread && s->spread->way == SPREAD_EPOCHS)
		sim_spread_meet(s);
}

/*
 * A rank's part of a cluster: which requests are its own, in rounds; and in
 * the end, one result of all parts.
 */
#include "cachesim/sim/spread.h"

#include <stdlib.h>
#include <string.h>

#include "cachesim/sim/prefetch.h"
#include "codec/error.h"

enum {
	/* requests between two exchanges; in long rounds it evens out who has
	 * the digests to make, in shorter ones others wait for that */
	ROUND = 1 << 20,
	ROWS = 1 << 16, /* objects whose holders are exchanged at a time */
};

int sim_spread_new(struct sim_cluster *s)
{
	const struct sim_exchange *x = s->config.exchange;
	struct sim_spread *sp = calloc(1, sizeof(*sp));

	if (!sp)
		return SCD_ENOMEM;
	s->spread = sp;
	sp->exchange = x;
	sp->way = sim_config_spread(&s->config);
	if (sp->way == SPREAD_NOT)
		return SCD_EINVAL;
	s->deferred = sp->way == SPREAD_DEFERRED;
	s->meets = sp->way == SPREAD_EPOCHS;
	s->own = 0;
	for (unsigned i = x->rank; i < s->config.nproxies; i += x->nranks)
		s->own |= UINT64_C(1) << i;
	sp->far = calloc(x->nranks, sizeof(*sp->far));
	return sp->far ? 0 : SCD_ENOMEM;
}

void sim_spread_free(struct sim_cluster *s)
{
	struct sim_spread *sp = s->spread;

	if (!sp)
		return;
	numbers_free(&sp->mine);
	numbers_free(&sp->message);
	numbers_free(&sp->events);
	numbers_free(&sp->news);
	numbers_free(&sp->misses);
	free(sp->far);
	free(sp->received);
	free(sp);
	s->spread = NULL;
}

int sim_spread_agree(const struct sim_exchange *x, int err)
{
	struct sim_gathered all;
	int first = x->gather(x->arg, &err, sizeof(err), &all);

	for (unsigned i = 0; i < x->nranks && !first; i++)
		memcpy(&first, all.bytes + all.start[i], sizeof(first));
	return first;
}

/* The requests of a round that are looked up in own caches. */
static int spread_find_own(struct sim_cluster *s, uint64_t end)
{
	struct sim_spread *sp = s->spread;
	const uint32_t *object = s->trace->object;
	int err = 0;

	sp->mine.n = 0;
	for (uint64_t i = s->at; i < end && !err; i++) {
		unsigned home = sim_home(s, i);

		if (s->way == PROTOCOL_OWNER)
			home = sim_serving(s, home, object[i])->number;
		if (sim_owns(s, home))
			err = numbers_push(&sp->mine, (uint32_t)(i - s->at));
	}
	return err;
}

/* Fetches what the i-th own request of the round and those behind it touch. */
static void spread_prefetch(struct sim_cluster *s, uint64_t from, size_t i)
{
	const struct numbers *mine = &s->spread->mine;

	if (i + SIM_ROW_AHEAD >= mine->n)
		return;
	sim_prefetch_row(s, from + mine->at[i + SIM_ROW_AHEAD]);
	sim_prefetch_place(s, from + mine->at[i + SIM_PLACE_AHEAD]);
	sim_prefetch_slot(s, from + mine->at[i + SIM_SLOT_AHEAD]);
}

static void spread_end_warmup(struct sim_cluster *s, uint64_t before)
{
	if (s->spread->warm || s->warm >= before)
		return;
	s->spread->warm = true;
	sim_end_warmup(s);
}

/*
 * All that happens before a request and is not a request: what epochs begin
 * with, modifications, the end of the warm-up; each in its place, as it would
 * be if all requests were replayed here.
 */
static void spread_reach(struct sim_cluster *s, uint64_t request)
{
	while (s->epoch_end <= request && !s->error) {
		spread_end_warmup(s, s->epoch_end);
		if (s->epoch_end && s->next_change < s->trace->nchanges) {
			s->at = s->epoch_end - 1;
			sim_apply_changes(s);
		}
		s->at = s->epoch_end;
		sim_next_epoch(s);
	}
	spread_end_warmup(s, request + 1);
	s->at = request;
	sim_apply_changes(s);
}

static void spread_replay_round(struct sim_cluster *s, uint64_t end)
{
	const struct numbers *mine = &s->spread->mine;
	uint64_t from = s->at;

	for (size_t i = 0; i < mine->n && !s->error; i++) {
		uint64_t at = from + mine->at[i];

		spread_prefetch(s, from, i);
		spread_reach(s, at);
		sim_request(s, sim_home(s, at), s->trace->object[at]);
	}
	spread_reach(s, end - 1);
	s->at = end;
}

int sim_spread_run(struct sim_cluster *s, uint64_t n)
{
	uint64_t left = s->trace->nrequests - s->at;

	for (left = left < n ? left : n; left && !s->error;) {
		uint64_t round = left < ROUND ? left : ROUND;
		uint64_t end = s->at + round;

		if (s->deferred)
			s->spread->from = s->at;
		s->error = spread_find_own(s, end);
		if (!s->error)
			spread_replay_round(s, end);
		if (s->deferred) {
			sim_spread_meet(s);
			sim_spread_catch_up(s, end);
		}
		left -= round;
	}
	if (s->error && !s->spread->ended) {
		s->spread->ended = true;
		sim_spread_agree(s->spread->exchange, s->error);
	}
	return s->error;
}

/* Who has the objects from `first` on, of all ranks; own bits are counted. */
static void spread_count_rows(const struct sim_cluster *s, uint32_t first,
			      const struct sim_gathered *all,
			      struct sim_counters *out)
{
	const struct sim_exchange *x = s->spread->exchange;
	size_t stride = s->objects.stride;
	size_t n = (all->start[1] - all->start[0]) / stride;

	for (size_t i = 0; i < n; i++) {
		uint32_t size = sim_size(s, first + (uint32_t)i);
		uint64_t m = 0;

		for (unsigned r = 0; r < x->nranks; r++) {
			const uint8_t *row =
				all->bytes + all->start[r] + i * stride;

			for (size_t b = 0; b < stride; b++)
				m |= (uint64_t)row[b] << 8 * b;
		}
		for (m &= m - 1; m; m &= m - 1) {
			unsigned p = (unsigned)__builtin_ctzll(m);

			if (!sim_owns(s, p))
				continue;
			out[p].duplicates++;
			out[p].duplicate_bytes += size;
		}
	}
}

/* Copies in the end that a proxy of a lower number has, too. */
static int spread_count_duplicates(struct sim_cluster *s,
				   struct sim_counters *out)
{
	const struct sim_exchange *x = s->spread->exchange;
	const size_t stride = s->objects.stride;
	uint32_t nobjects = s->trace->nobjects;
	uint8_t *rows = malloc(ROWS * stride);
	int err = sim_spread_agree(x, rows ? 0 : SCD_ENOMEM);

	for (uint32_t o = 0; o < nobjects && !err;) {
		uint32_t n = nobjects - o < ROWS ? nobjects - o : ROWS;
		struct sim_gathered all;

		for (uint32_t i = 0; i < n; i++)
			memcpy(rows + i * stride,
			       masks_place(&s->objects, o + i, s->field.held),
			       stride);
		err = x->gather(x->arg, rows, n * stride, &all);
		if (!err)
			spread_count_rows(s, o, &all, out);
		o += n;
	}
	free(rows);
	return err;
}

int sim_spread_result(struct sim_cluster *s, struct sim_counters *out)
{
	struct sim_spread *sp = s->spread;
	const struct sim_exchange *x = sp->exchange;
	size_t n = s->config.nproxies;
	struct sim_gathered all;
	int err;

	for (unsigned i = 0; i < n; i++) {
		struct sim_counters late = sp->late[i];

		sim_counters_since(&late, &sp->before[i]);
		sim_counters_add(&out[i], &late);
	}
	err = spread_count_duplicates(s, out);
	if (!err)
		err = x->gather(x->arg, out, n * sizeof(*out), &all);
	if (err)
		return err;
	memset(out, 0, n * sizeof(*out));
	for (unsigned r = 0; r < x->nranks; r++) {
		for (unsigned i = 0; i < n; i++) {
			struct sim_counters part;

			memcpy(&part,
			       all.bytes + all.start[r] + i * sizeof(part),
			       sizeof(part));
			sim_counters_add(&out[i], &part);
		}
	}
	return 0;
}

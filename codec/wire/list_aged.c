/*
 * Changes by age: docs/FORMAT.md, "Ages". How many go from each cohort, their
 * ranks in each, and the entries that come.
 */
#include "codec/wire/list_aged.h"

#include <stdlib.h>

#include "codec/coder/cohort_coder.h"
#include "codec/coder/list_coder.h"
#include "codec/filter/list_ages.h"
#include "codec/wire/frame.h"
#include "codec/wire/list_delta.h"

/* A symbol of cohorts takes at most so many bits, with what is lost. */
enum { SYMBOL_BITS = 13 };

static struct scd__cohort_model
list_aged_model(const struct scd_list *base, uint64_t weights[SCD__COHORTS_MAX])
{
	const struct scd__cohorts *c = &base->ages->cohorts;

	scd__cohorts_weights(c, weights);
	return (struct scd__cohort_model){c->n, c->size, weights};
}

/* Bytes that are always enough. */
static uint64_t list_aged_room(const struct scd_list *base,
			       const struct scd__aged_ranks *ranks,
			       const struct scd__shape *added)
{
	const struct scd__cohorts *c = &base->ages->cohorts;
	uint64_t bytes = scd__list_run_room(added), symbols = c->n;

	for (unsigned i = 0; i < c->n; i++) {
		const struct scd__shape run =
			scd__list_ranks_shape(c->size[i], ranks->count[i]);

		bytes += scd__list_run_room(&run);
		symbols += ranks->count[i];
	}
	return bytes + symbols * SYMBOL_BITS / 8 + 1;
}

static void list_aged_put_removed(struct scd__gap_encoder *e,
				  const struct scd_list *base,
				  const struct scd__aged_ranks *ranks, size_t n)
{
	uint64_t weights[SCD__COHORTS_MAX];
	const struct scd__cohort_model m = list_aged_model(base, weights);
	const uint64_t *at = ranks->ranks + n;

	for (unsigned i = m.n; i-- > 0;) {
		at -= ranks->count[i];
		scd__list_put_ranks(e, at, ranks->count[i], m.size[i]);
	}
	if (n)
		scd__cohort_put_counts(e, &m, ranks->count);
}

/* Code a change whose removed entries have these ranks. */
static int list_aged_make(const struct scd_list *base,
			  const struct scd_list_change *c,
			  const struct scd__aged_ranks *ranks,
			  struct scd__writer *payload)
{
	const uint64_t all = scd__list_last(base) + 1;
	const struct scd__shape added = scd__list_entries_shape(all, c->nadded);
	struct scd__gap_encoder e;
	int error = scd__frame_begin(
		(size_t)list_aged_room(base, ranks, &added), payload);

	if (error)
		return error;
	scd__list_coder_begin(&e, payload);
	scd__list_put_entries(&e, c->added, c->nadded, all);
	list_aged_put_removed(&e, base, ranks, c->nremoved);
	error = scd__list_coder_finish(&e, payload);
	if (error)
		scd__frame_drop(payload);
	return error;
}

int scd__list_aged_code(const struct scd_list *base,
			const struct scd_list_change *c, uint64_t generation,
			struct scd__writer *payload)
{
	struct scd__aged_ranks ranks;
	int error = scd__list_delta_check(base, c, generation);

	if (error)
		return error;
	ranks.ranks = scd__list_delta_numbers(c->nremoved);
	if (!ranks.ranks)
		return SCD_ENOMEM;
	error = scd__list_aged_ranks_of(base, c->removed, c->nremoved, &ranks);
	if (!error)
		error = list_aged_make(base, c, &ranks, payload);
	free(ranks.ranks);
	return error;
}

/* Read the ranks of n entries, for which there is room. */
static int list_aged_get_removed(struct scd__gap_decoder *d,
				 const struct scd_list *base, size_t n,
				 struct scd__aged_ranks *ranks)
{
	uint64_t weights[SCD__COHORTS_MAX], *at = ranks->ranks;
	const struct scd__cohort_model m = list_aged_model(base, weights);
	int error = scd__cohort_get_counts(d, &m, n, ranks->count);

	for (unsigned i = 0; i < m.n && !error; i++) {
		error = scd__list_get_ranks(d, at, ranks->count[i], m.size[i]);
		at += ranks->count[i];
	}
	return error;
}

/* Read the code, but for what it means for the list. */
static int list_aged_get_code(struct scd__reader *in,
			      const struct scd_list *base,
			      struct scd_list_change *c,
			      struct scd__aged_ranks *ranks)
{
	const uint64_t all = scd__list_last(base) + 1;
	struct scd__gap_decoder d;
	struct scd__gap_model model;
	uint64_t last = 0;
	int error = scd__list_decoder_begin(&d, in);

	if (!error && c->nremoved)
		error = list_aged_get_removed(&d, base, c->nremoved, ranks);
	if (error)
		return error;
	scd__list_expect_entries(&d, &model, c->nadded, all);
	error = scd__list_get_entries(&d, c->added, c->nadded, all, &last);
	if (error)
		return error;
	return scd__gap_decoder_is_done(&d) ? SCD_OK : SCD_EFORMAT;
}

int scd__list_aged_get(struct scd__reader *in, const struct scd_list *base,
		       struct scd_list_change *c)
{
	struct scd__aged_ranks ranks = {{0}, NULL};
	int error;

	ranks.ranks = scd__list_delta_numbers(c->nremoved);
	if (!ranks.ranks)
		return SCD_ENOMEM;
	error = list_aged_get_code(in, base, c, &ranks);
	if (!error && c->nremoved)
		scd__list_aged_entries_at(base, &ranks, c->removed);
	free(ranks.ranks);
	return error;
}

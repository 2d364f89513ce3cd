/*
 * Deltas of lists: kind 5. docs/FORMAT.md, "Lists".
 *
 * What goes is named by its rank among the entries of the base, so it takes
 * bits by how many of them go, not by how wide they are. Nothing here looks at
 * entries that stay, but where more go than stay.
 */
#include <stdlib.h>

#include "codec/coder/list_coder.h"
#include "codec/filter/list_state.h"
#include "codec/wire/frame.h"
#include "codec/wire/list_aged.h"
#include "codec/wire/list_delta.h"

uint64_t *scd__list_delta_numbers(uint64_t n)
{
	if (n >= SIZE_MAX / sizeof(uint64_t))
		return NULL;
	return malloc((size_t)(n + (n == 0)) * sizeof(uint64_t));
}

/* The header of a delta, but for what its payload says. */
static struct scd_digest_info list_delta_info(const struct scd_list *base,
					      const struct scd_list_change *c,
					      uint64_t generation)
{
	struct scd_digest_info info;

	scd_list_info(base, &info);
	info.kind = SCD_LIST_DELTA;
	info.nones = base->n - c->nremoved + c->nadded;
	info.nkeys = info.nones;
	info.generation = generation;
	info.base_generation = base->generation;
	info.base_checksum = base->sum;
	info.checksum = scd__list_sum_after(base, c);
	info.ncoded = (uint64_t)c->nremoved + c->nadded;
	return info;
}

/* Code a change whose removed entries have these ranks. */
static int list_delta_make(const struct scd_list *base,
			   const struct scd_list_change *c,
			   const uint64_t *ranks, struct scd__writer *payload)
{
	const uint64_t all = scd__list_last(base) + 1;
	const struct scd__shape removed =
		scd__list_ranks_shape(base->n, c->nremoved);
	const struct scd__shape added = scd__list_entries_shape(all, c->nadded);
	struct scd__gap_encoder e;
	int error;

	error = scd__frame_begin((size_t)(scd__list_run_room(&removed) +
					  scd__list_run_room(&added)),
				 payload);
	if (error)
		return error;
	scd__list_coder_begin(&e, payload);
	scd__list_put_entries(&e, c->added, c->nadded, all);
	scd__list_put_ranks(&e, ranks, c->nremoved, base->n);
	error = scd__list_coder_finish(&e, payload);
	if (error)
		scd__frame_drop(payload);
	return error;
}

int scd__list_delta_check(const struct scd_list *base,
			  const struct scd_list_change *c, uint64_t generation)
{
	const int error = scd__list_check_change(base, c);

	return !error && generation <= base->generation ? SCD_EINVAL : error;
}

int scd__list_delta_code(const struct scd_list *base,
			 const struct scd_list_change *c, uint64_t generation,
			 struct scd__writer *payload)
{
	uint64_t *ranks;
	int error = scd__list_delta_check(base, c, generation);

	if (error)
		return error;
	ranks = scd__list_delta_numbers(c->nremoved);
	if (!ranks)
		return SCD_ENOMEM;
	error = scd__list_ranks_of(base, c->removed, c->nremoved, ranks);
	if (!error)
		error = list_delta_make(base, c, ranks, payload);
	free(ranks);
	return error;
}

int scd_list_delta_encode(const struct scd_list *base,
			  const struct scd_list_change *change,
			  uint64_t generation, uint8_t **out, size_t *out_len)
{
	struct scd_digest_info info;
	struct scd__writer payload;
	int error = scd__list_delta_code(base, change, generation, &payload);

	if (error)
		return error;
	info = list_delta_info(base, change, generation);
	scd__frame_finish(&info, &payload, out, out_len);
	return SCD_OK;
}

/* Is a delta for this list? */
static bool list_delta_fits(const struct scd_list *base,
			    const struct scd_digest_info *info)
{
	return info->kind == SCD_LIST_DELTA &&
	       info->instance == base->instance &&
	       info->base_generation == base->generation &&
	       info->nbits == scd__list_last(base) + 1 &&
	       info->base_checksum == base->sum;
}

/* What a header says of the change. SCD_EFORMAT: there are no such numbers. */
static int list_delta_said(const struct scd_list *base,
			   const struct scd_digest_info *info,
			   struct scd__list_said *said)
{
	/* All are below 2^41. */
	const int64_t more = (int64_t)info->nones - (int64_t)base->n;
	const int64_t both = (int64_t)info->ncoded;

	if ((both + more) % 2 != 0 || both < more || both < -more)
		return SCD_EFORMAT;
	said->come = (uint64_t)(both + more) / 2;
	said->go = (uint64_t)(both - more) / 2;
	said->sum = info->checksum;
	said->mask = UINT64_MAX;
	said->aged = false;
	return SCD_OK;
}

/* Read what goes and comes, for which there is room. */
static int list_delta_get(struct scd__reader *in, const struct scd_list *base,
			  struct scd_list_change *c)
{
	const uint64_t all = scd__list_last(base) + 1;
	struct scd__gap_decoder d;
	struct scd__gap_model model;
	uint64_t last = 0;
	int error = scd__list_decoder_begin(&d, in);

	if (!error)
		error = scd__list_get_ranks(&d, c->removed, c->nremoved,
					    base->n);
	if (error)
		return error;
	scd__list_expect_entries(&d, &model, c->nadded, all);
	error = scd__list_get_entries(&d, c->added, c->nadded, all, &last);
	if (error)
		return error;
	if (!scd__gap_decoder_is_done(&d))
		return SCD_EFORMAT;
	scd__list_entries_at(base, c->removed, c->nremoved, c->removed);
	return SCD_OK;
}

int scd__list_delta_read(struct scd__reader *in, const struct scd_list *base,
			 const struct scd__list_said *said,
			 struct scd_list_change *c)
{
	struct scd_list_change read = {0};
	int error = SCD_OK;

	if (said->go > base->n ||
	    said->come > 16 * (uint64_t)scd__reader_left(in))
		return SCD_EFORMAT;
	read.removed = scd__list_delta_numbers(said->go);
	read.added = scd__list_delta_numbers(said->come);
	read.nremoved = (size_t)said->go;
	read.nadded = (size_t)said->come;
	if (!read.removed || !read.added)
		error = SCD_ENOMEM;
	if (!error && said->aged)
		error = scd__list_aged_get(in, base, &read);
	else if (!error)
		error = list_delta_get(in, base, &read);
	if (!error &&
	    ((scd__list_sum_after(base, &read) ^ said->sum) & said->mask) != 0)
		error = SCD_ECHECKSUM;
	if (error)
		scd_list_change_free(&read);
	else
		*c = read;
	return error;
}

int scd_list_delta_decode(const uint8_t *in, size_t len,
			  const struct scd_limits *limits,
			  const struct scd_list *base,
			  struct scd_digest_info *info,
			  struct scd_list_change *change)
{
	struct scd_digest_info parsed;
	struct scd__list_said said;
	struct scd__reader payload;
	int error;

	error = scd_digest_parse(in, len, limits, &parsed);
	if (error)
		return error;
	if (!list_delta_fits(base, &parsed))
		return SCD_EBASE;
	error = list_delta_said(base, &parsed, &said);
	payload = scd__frame_reader(in, &parsed);
	if (!error)
		error = scd__list_delta_read(&payload, base, &said, change);
	if (!error && info)
		*info = parsed;
	return error;
}

/*
 * The ages of a list as a frame: docs/FORMAT.md, "Ages".
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "codec/coder/cohort_coder.h"
#include "codec/coder/list_coder.h"
#include "codec/coder/parts.h"
#include "codec/filter/list_ages.h"

enum {
	/* type, length, two sums, and how many cohorts there are */
	HEAD_BYTES = 1 + SCD__VARINT_BYTES + 4 + 4 + SCD__VARINT_BYTES,
	COHORT_BYTES = 2 * SCD__VARINT_BYTES,
	PART = 512, /* entries that are read at a time */
};

/* The sum over entries and their cohorts, and of what has gone from these,
 * modulo 2^32. */
static uint32_t list_ages_sum(const struct scd_list *list,
			      const struct scd__cohorts *cohorts,
			      const uint8_t *of_entry)
{
	uint64_t entries[PART], sum = 0, done = 0;
	size_t n;

	for (unsigned i = 0; i < cohorts->n; i++)
		sum = scd__mix64(sum + cohorts->gone[i]);
	while ((n = scd_list_entries(list, done, PART, entries)) > 0) {
		for (size_t i = 0; i < n; i++)
			sum += scd__mix64(scd__list_hash(list, entries[i]) +
					  of_entry[done + i]);
		done += n;
	}
	return (uint32_t)sum;
}

static struct scd__cohort_model
list_ages_model(const struct scd__cohorts *cohorts)
{
	return (struct scd__cohort_model){.n = cohorts->n,
					  .size = cohorts->size};
}

/* All but type and length. */
static int list_ages_write(const struct scd_list *list, const uint8_t *of_entry,
			   struct scd__writer *w)
{
	const struct scd__cohorts *cohorts = &list->ages->cohorts;
	const struct scd__cohort_model m = list_ages_model(cohorts);
	struct scd__gap_encoder e;

	scd__write_u32(w, (uint32_t)list->sum);
	scd__write_u32(w, list_ages_sum(list, cohorts, of_entry));
	scd__write_varint(w, cohorts->n);
	for (unsigned i = 0; i < cohorts->n; i++) {
		scd__write_varint(w, cohorts->size[i]);
		scd__write_varint(w, cohorts->gone[i]);
	}
	scd__list_coder_begin(&e, w);
	if (cohorts->n)
		scd__cohort_put_entries(&e, &m, of_entry, list->n);
	return scd__list_coder_finish(&e, w);
}

/* Put type and length before a body, in a new buffer. */
static int list_ages_join(const struct scd__writer *body, uint8_t **out,
			  size_t *out_len)
{
	const size_t len = scd__writer_len(body);
	uint8_t *bytes = malloc(HEAD_BYTES + len);
	struct scd__writer w;

	if (!bytes)
		return SCD_ENOMEM;
	w = scd__writer(bytes, HEAD_BYTES + len);
	scd__write_u8(&w, SCD_LIST_FRAME_AGES);
	scd__write_varint(&w, len);
	scd__write_bytes(&w, body->start, len);
	assert(!w.error);
	*out = bytes;
	*out_len = scd__writer_len(&w);
	return SCD_OK;
}

int scd_list_ages_encode(const struct scd_list *list, uint8_t **out,
			 size_t *out_len)
{
	/* A cohort takes 12 bits at most. */
	const size_t room = HEAD_BYTES + SCD__COHORTS_MAX * COHORT_BYTES +
			    (size_t)(list->n * 13 / 8) + 16;
	uint8_t *of_entry, *bytes;
	struct scd__writer body;
	int error = SCD_ENOMEM;

	if (!list->ages)
		return SCD_EINVAL;
	of_entry = malloc((size_t)list->n + 1);
	bytes = malloc(room);
	if (of_entry && bytes) {
		scd__list_ages_read(list, of_entry);
		body = scd__writer(bytes, room);
		error = list_ages_write(list, of_entry, &body);
	}
	if (!error)
		error = list_ages_join(&body, out, out_len);
	free(bytes);
	free(of_entry);
	return error;
}

/* What precedes the code. */
static int list_ages_read_head(struct scd__reader *r,
			       const struct scd_list *list,
			       struct scd__cohorts *cohorts, uint32_t *sum)
{
	const uint32_t list_sum = scd__read_u32(r);
	uint64_t n;

	*cohorts = (struct scd__cohorts){0};
	*sum = scd__read_u32(r);
	n = scd__read_varint(r);
	if (r->error || n > SCD__COHORTS_MAX)
		return SCD_EFORMAT;
	cohorts->n = cohorts->nids = (unsigned)n;
	for (unsigned i = 0; i < cohorts->n; i++) {
		cohorts->size[i] = scd__read_varint(r);
		cohorts->gone[i] = scd__read_varint(r);
		cohorts->of_id[i] = (uint8_t)i;
	}
	if (r->error)
		return SCD_EFORMAT;
	if (list_sum != (uint32_t)list->sum)
		return SCD_ECHECKSUM;
	return scd__cohorts_are_valid(cohorts, list->n) ? SCD_OK : SCD_EFORMAT;
}

/* Are there as many of each cohort as it has, and the older ones of equal
 * entries first? */
static bool list_ages_are_right(const struct scd_list *list,
				const struct scd__cohorts *cohorts,
				const uint8_t *of_entry)
{
	uint64_t entries[PART], counts[SCD__COHORTS_MAX] = {0}, before = 0;
	uint64_t done = 0;
	size_t n;

	while ((n = scd_list_entries(list, done, PART, entries)) > 0) {
		for (size_t i = 0; i < n; i++, done++) {
			if (done && entries[i] == before &&
			    of_entry[done] < of_entry[done - 1])
				return false;
			before = entries[i];
			counts[of_entry[done]]++;
		}
	}
	return memcmp(counts, cohorts->size, sizeof(counts)) == 0;
}

static int list_ages_read_code(struct scd__reader *r,
			       const struct scd_list *list,
			       const struct scd__cohorts *cohorts,
			       uint8_t *of_entry)
{
	const struct scd__cohort_model m = list_ages_model(cohorts);
	struct scd__gap_decoder d;
	int error = scd__list_decoder_begin(&d, r);

	if (!error && cohorts->n)
		scd__cohort_get_entries(&d, &m, of_entry, list->n);
	if (!error && (!scd__gap_decoder_is_done(&d) ||
		       !list_ages_are_right(list, cohorts, of_entry)))
		error = SCD_EFORMAT;
	return error;
}

static int list_ages_read(struct scd__reader *r, struct scd_list *list)
{
	struct scd__cohorts cohorts;
	uint8_t *of_entry;
	uint32_t sum;
	int error = list_ages_read_head(r, list, &cohorts, &sum);

	if (error)
		return error;
	of_entry = malloc((size_t)list->n + 1);
	if (!of_entry)
		return SCD_ENOMEM;
	error = list_ages_read_code(r, list, &cohorts, of_entry);
	if (!error && list_ages_sum(list, &cohorts, of_entry) != sum)
		error = SCD_ECHECKSUM;
	if (!error)
		error = scd__list_ages_set(list, &cohorts, of_entry);
	free(of_entry);
	return error;
}

int scd_list_ages_decode(const uint8_t *in, size_t len, struct scd_list *list,
			 size_t *used)
{
	struct scd__reader r = scd__reader(in, len), body;
	const unsigned type = scd__read_u8(&r);
	const uint64_t bytes = scd__read_varint(&r);
	int error = r.error;

	if (error)
		return error;
	if (type != SCD_LIST_FRAME_AGES)
		return SCD_EVERSION;
	if (list->ages)
		return SCD_EINVAL;
	if (bytes > scd__reader_left(&r))
		return SCD_ETRUNC;
	body = scd__reader(r.at, (size_t)bytes);
	error = list_ages_read(&body, list);
	if (!error)
		*used = (size_t)(r.at - in) + (size_t)bytes;
	return error;
}

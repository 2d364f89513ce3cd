/*
 * Lists of fingerprints as the commands work with them.
 */
#include "digestd/ctl/digest_list.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

enum { FIRST_ENTRIES = 4096 };

static int digest_entries_reserve(struct digest_entries *e, size_t room)
{
	uint64_t *larger;

	if (room <= e->room)
		return SCD_OK;
	if (room > SIZE_MAX / sizeof(*larger))
		return SCD_ENOMEM;
	larger = realloc(e->at, room * sizeof(*larger));
	if (!larger)
		return SCD_ENOMEM;
	e->at = larger;
	e->room = room;
	return SCD_OK;
}

int digest_entries_add(struct digest_entries *e, uint64_t entry)
{
	int error = SCD_OK;

	if (e->n == e->room)
		error = digest_entries_reserve(
			e, e->room ? 2 * e->room : FIRST_ENTRIES);
	if (!error)
		e->at[e->n++] = entry;
	return error;
}

static int digest_entries_compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

void digest_entries_sort(struct digest_entries *e)
{
	size_t n = 0;

	if (!e->n)
		return;
	qsort(e->at, e->n, sizeof(*e->at), digest_entries_compare);
	for (size_t i = 0; i < e->n; i++) {
		if (!n || e->at[i] != e->at[n - 1])
			e->at[n++] = e->at[i];
	}
	e->n = n;
}

void digest_entries_cut(struct digest_entries *e, unsigned from, unsigned to)
{
	assert(to <= from && from - to < 64);
	for (size_t i = 0; i < e->n; i++)
		e->at[i] >>= from - to;
}

void digest_entries_free(struct digest_entries *e)
{
	free(e->at);
	*e = (struct digest_entries){ 0 };
}

int digest_entries_of(const struct scd_list *list, struct digest_entries *out)
{
	struct digest_entries e = { 0 };
	struct scd_digest_info info;
	int error;

	scd_list_info(list, &info);
	error = digest_entries_reserve(&e, (size_t)info.nones + 1);
	if (error)
		return error;
	e.n = scd_list_entries(list, 0, (size_t)info.nones, e.at);
	*out = e;
	return SCD_OK;
}

/* Two lists of entries that are passed side by side. */
struct digest_pair {
	const struct digest_entries *a, *b;
	size_t in_a, in_b;
};

/* Takes the next entry, of both where both have it; false: there is none. */
static bool digest_pair_next(struct digest_pair *p, uint64_t *entry, bool *of_a,
			     bool *of_b)
{
	const bool more_a = p->in_a < p->a->n, more_b = p->in_b < p->b->n;

	if (!more_a && !more_b)
		return false;
	*of_a = more_a &&
		(!more_b || p->a->at[p->in_a] <= p->b->at[p->in_b]);
	*of_b = more_b &&
		(!more_a || p->b->at[p->in_b] <= p->a->at[p->in_a]);
	*entry = *of_a ? p->a->at[p->in_a] : p->b->at[p->in_b];
	p->in_a += *of_a;
	p->in_b += *of_b;
	return true;
}

uint64_t digest_entries_common(const struct digest_entries *a,
			       const struct digest_entries *b)
{
	struct digest_pair p = { .a = a, .b = b };
	uint64_t entry, common = 0;
	bool of_a, of_b;

	while (digest_pair_next(&p, &entry, &of_a, &of_b))
		common += of_a && of_b;
	return common;
}

int digest_entries_union(const struct digest_entries *a,
			 const struct digest_entries *b,
			 struct digest_entries *out)
{
	struct digest_pair p = { .a = a, .b = b };
	struct digest_entries all = { 0 };
	int error = digest_entries_reserve(&all, a->n + b->n + 1);
	uint64_t entry;
	bool of_a, of_b;

	while (!error && digest_pair_next(&p, &entry, &of_a, &of_b))
		error = digest_entries_add(&all, entry);
	if (error)
		digest_entries_free(&all);
	else
		*out = all;
	return error;
}

int digest_list_make(const struct digest_entries *e, unsigned width,
		     uint64_t instance, uint64_t generation,
		     struct scd_list **out)
{
	const struct scd_list_change change = { .added = e->at,
						.nadded = e->n };
	int error = scd_list_new(out, width, instance);

	if (error)
		return error;
	error = scd_list_change(*out, &change, generation);
	if (error)
		scd_list_free(out);
	return error;
}

static int digest_list_divide(const struct digest_entries *from,
			      const struct digest_entries *to,
			      struct digest_entries *removed,
			      struct digest_entries *added)
{
	struct digest_pair p = { .a = from, .b = to };
	uint64_t entry;
	bool of_from, of_to;
	int error = SCD_OK;

	while (!error && digest_pair_next(&p, &entry, &of_from, &of_to)) {
		if (!of_to)
			error = digest_entries_add(removed, entry);
		else if (!of_from)
			error = digest_entries_add(added, entry);
	}
	return error;
}

int digest_list_change(const struct scd_list *from, const struct scd_list *to,
		       struct scd_list_change *out)
{
	struct digest_entries a = { 0 }, b = { 0 }, removed = { 0 },
			      added = { 0 };
	int error = digest_entries_of(from, &a);

	if (!error)
		error = digest_entries_of(to, &b);
	if (!error)
		error = digest_list_divide(&a, &b, &removed, &added);
	digest_entries_free(&a);
	digest_entries_free(&b);
	*out = (struct scd_list_change){ .removed = removed.at,
					 .nremoved = removed.n,
					 .added = added.at,
					 .nadded = added.n };
	if (error)
		scd_list_change_free(out);
	return error;
}

/* Apply the frame that bytes begin with, or have the list keep the ages. */
static int digest_list_apply_frame(struct scd_list *list, const uint8_t *bytes,
				   size_t len, const struct scd_limits *limits,
				   size_t *used)
{
	struct scd_list_change change;
	uint64_t generation;
	int error;

	if (*bytes == SCD_LIST_FRAME_AGES)
		return scd_list_ages_decode(bytes, len, list, used);
	error = scd_list_frame_decode(bytes, len, limits, list, used,
				      &generation, &change);
	if (error)
		return error;
	error = scd_list_change(list, &change, generation);
	scd_list_change_free(&change);
	return error;
}

int digest_list_apply_frames(struct scd_list *list, const uint8_t *bytes,
			     size_t len, const struct scd_limits *limits)
{
	size_t used = 0;
	int error = SCD_OK;

	for (; !error && len > 0; bytes += used, len -= used)
		error = digest_list_apply_frame(list, bytes, len, limits,
						&used);
	return error;
}

/*
 * The digest of a sector.
 */
#include "digestd/mesh/sector_digest.h"

#include <assert.h>
#include <stdlib.h>

#include "codec/digest.h"

/* The rank in a list of the first entry that is not below a fingerprint. */
static uint64_t sector_digest_rank(const struct scd_list *all, uint64_t x)
{
	struct scd_digest_info info;
	uint64_t low = 0, high;

	scd_list_info(all, &info);
	high = info.nones;
	while (low < high) {
		const uint64_t middle = low + (high - low) / 2;
		uint64_t entry;

		scd_list_entries(all, middle, 1, &entry);
		if (entry < x)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Makes fingerprints those of the sector's list; they stay in their order. */
static void sector_digest_cut(const struct sector *s, unsigned width,
			      uint64_t *at, size_t n)
{
	for (size_t i = 0; i < n; i++)
		at[i] = sector_within(at[i], s->count) >>
			(SCD_LIST_MAX_WIDTH - width);
}

/* The entries of a range, as those of a list that is empty before. */
static int sector_digest_entries(const struct scd_list *all,
				 const struct change_range *range,
				 struct scd_list_change *out)
{
	const uint64_t first = sector_digest_rank(all, range->first);
	const size_t n =
		(size_t)(sector_digest_rank(all, range->end) - first);

	*out = (struct scd_list_change){ .nadded = n };
	out->added = malloc((n + 1) * sizeof(*out->added));
	if (!out->added)
		return SCD_ENOMEM;
	scd_list_entries(all, first, n, out->added);
	return SCD_OK;
}

/* The same before a change: what has come goes, and what has gone comes. */
static int sector_digest_undo(struct scd_list_change *entries,
			      const struct scd_list_change *change)
{
	const size_t n = entries->nadded + change->nremoved;
	uint64_t *added = realloc(entries->added, (n + 1) * sizeof(*added));
	uint64_t *removed = malloc((change->nadded + 1) * sizeof(*removed));

	if (added)
		entries->added = added;
	if (!added || !removed) {
		free(removed);
		return SCD_ENOMEM;
	}
	for (size_t i = 0; i < change->nremoved; i++)
		added[entries->nadded + i] = change->removed[i];
	for (size_t i = 0; i < change->nadded; i++)
		removed[i] = change->added[i];
	entries->nadded = n;
	entries->removed = removed;
	entries->nremoved = change->nadded;
	return scd_list_change_sort(entries);
}

static int sector_digest_list(const struct scd_list_change *entries,
			      unsigned width, const struct sector_digest *of,
			      uint64_t generation, struct scd_list **out)
{
	int error = scd_list_new(out, width, of->instance);

	if (!error)
		error = scd_list_change(*out, entries, generation);
	return error;
}

static int sector_digest_take(uint8_t *bytes, size_t len,
			      struct sector_digest *out)
{
	out->blob = blob_take(bytes, len);
	return out->blob ? SCD_OK : SCD_ENOMEM;
}

/* The full digest, of the sector's entries. */
static int sector_digest_full(const struct scd_list_change *entries,
			      unsigned width, struct sector_digest *out)
{
	struct scd_list *list = NULL;
	uint8_t *bytes;
	size_t len;
	int error = sector_digest_list(entries, width, out, out->generation,
				       &list);

	if (!error)
		error = scd_list_encode(list, &bytes, &len);
	if (!error)
		error = sector_digest_take(bytes, len, out);
	scd_list_free(&list);
	return error;
}

/* The frame of a change, to the sector's entries before it. */
static int sector_digest_frame(const struct scd_list_change *before,
			       const struct scd_list_change *change,
			       unsigned width, struct sector_digest *out)
{
	struct scd_list *list = NULL;
	uint8_t *bytes;
	size_t len;
	int error = sector_digest_list(before, width, out, out->from, &list);

	if (!error)
		error = scd_list_frame_encode(list, change, out->generation,
					      &bytes, &len);
	if (!error)
		error = sector_digest_take(bytes, len, out);
	scd_list_free(&list);
	return error;
}

/* Turns the sector's entries to those of out->from, and makes the frame of what
 * has changed since. */
static int sector_digest_delta(struct scd_list_change *entries,
			       struct scd_list_change *change,
			       const struct sector *s, unsigned width,
			       struct sector_digest *out)
{
	int error = sector_digest_undo(entries, change);

	assert(error || !entries->nremoved);
	if (error)
		return error;
	sector_digest_cut(s, width, entries->added, entries->nadded);
	sector_digest_cut(s, width, change->removed, change->nremoved);
	sector_digest_cut(s, width, change->added, change->nadded);
	error = scd_list_change_sort(change); /* what cancels now */
	return error ? error : sector_digest_frame(entries, change, width, out);
}

/* What has changed in the sector since out->from; which becomes 0 where that is
 * not known, or more than there is. */
static int sector_digest_changes(const struct sector_source *source,
				 const struct change_range *range,
				 size_t nentries, struct sector_digest *out,
				 struct scd_list_change *change)
{
	int error = SCD_EBASE;

	if (out->from)
		error = change_log_since(source->log, out->from, range, change);
	if (!error && change->nadded + change->nremoved <= nentries)
		return SCD_OK;
	scd_list_change_free(change);
	out->from = 0;
	return error == SCD_ENOMEM ? error : SCD_OK;
}

static int sector_digest_of(const struct sector_source *source,
			    const struct sector *s, struct sector_digest *out)
{
	const struct sector next = { s->number + 1, s->count };
	const struct change_range range = { sector_begin(s),
					    sector_begin(&next) };
	const unsigned width = sector_width(source->width, s->count);
	struct scd_list_change entries = { 0 }, change = { 0 };
	int error = sector_digest_entries(source->all, &range, &entries);

	if (!error)
		error = sector_digest_changes(source, &range, entries.nadded,
					      out, &change);
	if (!error && out->from) {
		error = sector_digest_delta(&entries, &change, s, width, out);
	} else if (!error) {
		sector_digest_cut(s, width, entries.added, entries.nadded);
		error = sector_digest_full(&entries, width, out);
	}
	scd_list_change_free(&entries);
	scd_list_change_free(&change);
	return error;
}

int sector_digest_make(const struct sector_source *source,
		       const struct sector *s, uint64_t from,
		       struct sector_digest *out)
{
	struct sector_digest made = { .from = from };
	struct scd_digest_info info;
	int error = SCD_OK;

	assert(s->number < s->count && s->count <= SECTOR_COUNT_MAX);
	scd_list_info(source->all, &info);
	made.instance = info.instance;
	made.generation = info.generation;
	if (from != made.generation || !from)
		error = sector_digest_of(source, s, &made);
	if (!error)
		*out = made;
	return error;
}

/*
 * Tables of segments. In memory, too, they are as they are on disk.
 */
#include "digestd/disk/segment_table.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "codec/cursor.h"

enum {
	SEGMENT_TABLE_MAGIC = 0x31424154, /* "TAB1" */
	TABLE_PLACE_BYTES = 8,
	TABLE_FIRST = 64, /* elements */
	TABLE_FLAGS_SHIFT = 56, /* above the number of an object */
	TABLE_IN_FILE = 1,
	TABLE_VARIES = 2,
	TABLE_UNVOUCHED = 4,
};

/* Room for n more elements. 0 or -ENOMEM. */
static int segment_table_grow(void **at, size_t *cap, size_t used, size_t n,
			      size_t each)
{
	size_t more = *cap ? *cap : TABLE_FIRST;
	void *larger;

	if (n <= *cap - used)
		return 0;
	while (n > more - used)
		more += more / 2 + 1; /* what was read may have room for 1 */
	larger = realloc(*at, more * each);
	if (!larger)
		return -ENOMEM;
	*at = larger;
	*cap = more;
	return 0;
}

static size_t segment_table_extra_bytes(const struct segment_entry *e)
{
	return (e->file_bytes ? 8 : 0) +
	       (e->selecting_len ? 4 + e->selecting_len : 0);
}

static void segment_table_put_extra(struct segment_table *t,
				    const struct segment_entry *e)
{
	struct scd__writer w;

	if (!segment_table_extra_bytes(e)) /* there may be no room for any */
		return;
	w = scd__writer(t->extras + t->extras_len,
			t->extras_cap - t->extras_len);
	if (e->file_bytes)
		scd__write_u64(&w, e->file_bytes);
	if (e->selecting_len) {
		scd__write_u32(&w, e->selecting_len);
		scd__write_bytes(&w, e->selecting, e->selecting_len);
	}
	assert(!w.error);
	t->extras_len += scd__writer_len(&w);
}

int segment_table_add(struct segment_table *t, const struct segment_entry *e)
{
	uint64_t flags = (e->file_bytes ? TABLE_IN_FILE : 0) |
			 (e->selecting_len ? TABLE_VARIES : 0) |
			 (e->unvouched ? TABLE_UNVOUCHED : 0);
	size_t at = t->nentries * SEGMENT_ENTRY_BYTES;
	struct scd__writer w;

	assert(!(e->id >> TABLE_FLAGS_SHIFT));
	if (segment_table_grow((void **)&t->entries, &t->entries_cap,
			       t->nentries, 1, SEGMENT_ENTRY_BYTES) ||
	    segment_table_grow((void **)&t->extras, &t->extras_cap,
			       t->extras_len, segment_table_extra_bytes(e), 1))
		return -ENOMEM;
	w = scd__writer(t->entries + at, SEGMENT_ENTRY_BYTES);
	scd__write_u64(&w, e->key.lo);
	scd__write_u64(&w, e->key.hi);
	scd__write_u64(&w, e->id | flags << TABLE_FLAGS_SHIFT);
	scd__write_u32(&w, e->at);
	scd__write_u32(&w, e->units);
	assert(!w.error && !scd__writer_left(&w));
	segment_table_put_extra(t, e);
	t->nentries++;
	return 0;
}

int segment_table_add_removal(struct segment_table *t, struct disk_place place)
{
	if (segment_table_grow((void **)&t->removals, &t->removals_cap,
			       t->nremovals, 1, sizeof(*t->removals)))
		return -ENOMEM;
	t->removals[t->nremovals++] = place;
	return 0;
}

size_t segment_table_bytes(const struct segment_table *t)
{
	return t->nentries * SEGMENT_ENTRY_BYTES + t->extras_len +
	       t->nremovals * TABLE_PLACE_BYTES + SEGMENT_FOOT_BYTES;
}

void segment_table_write(const struct segment_table *t, uint64_t seed,
			 uint8_t *to)
{
	size_t len = segment_table_bytes(t);
	struct scd__writer w = scd__writer(to, len);

	scd__write_bytes(&w, t->entries, t->nentries * SEGMENT_ENTRY_BYTES);
	scd__write_bytes(&w, t->extras, t->extras_len);
	for (size_t i = 0; i < t->nremovals; i++) {
		scd__write_u32(&w, t->removals[i].segment);
		scd__write_u32(&w, t->removals[i].at);
	}
	scd__write_u64(&w, t->nentries);
	scd__write_u64(&w, t->extras_len);
	scd__write_u64(&w, t->nremovals);
	scd__write_u64(&w, t->secret);
	scd__write_u64(&w, SEGMENT_TABLE_MAGIC);
	scd__write_u64(&w, XXH3_64bits_withSeed(to, len - 8, seed));
	assert(!w.error && !scd__writer_left(&w));
}

/* What a foot says of the table before it. */
static size_t segment_table_read_foot(struct segment_table *t,
				      const uint8_t *foot)
{
	struct scd__reader r = scd__reader(foot, SEGMENT_FOOT_BYTES);

	t->nentries = (size_t)scd__read_u64(&r);
	t->extras_len = (size_t)scd__read_u64(&r);
	t->nremovals = (size_t)scd__read_u64(&r);
	t->secret = scd__read_u64(&r);
	if (scd__read_u64(&r) != SEGMENT_TABLE_MAGIC ||
	    t->nentries > UINT32_MAX || t->extras_len > UINT32_MAX ||
	    t->nremovals > UINT32_MAX)
		return 0;
	return segment_table_bytes(t);
}

size_t segment_table_measure(const uint8_t *foot)
{
	struct segment_table t = { 0 };

	return segment_table_read_foot(&t, foot);
}

/* The parts, copied. */
static int segment_table_copy(struct segment_table *t, struct scd__reader *r)
{
	size_t entries = t->nentries * SEGMENT_ENTRY_BYTES;

	t->entries = malloc(entries + 1);
	t->extras = malloc(t->extras_len + 1);
	t->removals = malloc((t->nremovals + 1) * sizeof(*t->removals));
	if (!t->entries || !t->extras || !t->removals)
		return -ENOMEM;
	memcpy(t->entries, scd__read_bytes(r, entries), entries);
	memcpy(t->extras, scd__read_bytes(r, t->extras_len), t->extras_len);
	for (size_t i = 0; i < t->nremovals; i++) {
		t->removals[i].segment = scd__read_u32(r);
		t->removals[i].at = scd__read_u32(r);
	}
	t->entries_cap = t->nentries;
	t->extras_cap = t->extras_len;
	t->removals_cap = t->nremovals;
	return 0;
}

int segment_table_read(struct segment_table *t, const uint8_t *bytes,
		       size_t len, uint64_t seed)
{
	struct scd__reader r = scd__reader(bytes, len);
	struct segment_table read = { 0 };
	int err;

	if (len < SEGMENT_FOOT_BYTES ||
	    segment_table_read_foot(&read, bytes + len - SEGMENT_FOOT_BYTES) !=
		    len)
		return -EBADMSG;
	r = scd__reader(bytes + len - 8, 8);
	if (XXH3_64bits_withSeed(bytes, len - 8, seed) != scd__read_u64(&r))
		return -EBADMSG;
	r = scd__reader(bytes, len);
	err = segment_table_copy(&read, &r);
	if (err)
		segment_table_free(&read);
	else
		*t = read;
	return err;
}

/* Where in an entry. */
enum { TABLE_ID_AT = 16, TABLE_AT_AT = 24 };

void segment_table_drop(struct segment_table *t, uint32_t at)
{
	size_t low = 0, high = t->nentries;

	while (low < high) {
		size_t middle = (low + high) / 2;
		uint8_t *entry = t->entries + middle * SEGMENT_ENTRY_BYTES;
		struct scd__reader r = scd__reader(entry + TABLE_AT_AT, 4);
		uint32_t its = scd__read_u32(&r);

		if (its == at) {
			/* all but the flags, which say what its extras are */
			memset(entry + TABLE_ID_AT, 0, TABLE_FLAGS_SHIFT / 8);
			return;
		}
		if (its < at)
			low = middle + 1;
		else
			high = middle;
	}
}

int segment_table_each(const struct segment_table *t,
		       int (*each)(void *arg, const struct segment_entry *e),
		       void *arg)
{
	struct scd__reader r = scd__reader(
		t->entries, t->nentries * SEGMENT_ENTRY_BYTES);
	struct scd__reader extras = scd__reader(t->extras, t->extras_len);
	int err = 0;

	for (size_t i = 0; i < t->nentries && !err; i++) {
		struct segment_entry e = { .key.lo = scd__read_u64(&r) };
		uint64_t id;

		e.key.hi = scd__read_u64(&r);
		id = scd__read_u64(&r);
		e.at = scd__read_u32(&r);
		e.units = scd__read_u32(&r);
		e.id = id & (((uint64_t)1 << TABLE_FLAGS_SHIFT) - 1);
		id >>= TABLE_FLAGS_SHIFT;
		e.unvouched = id & TABLE_UNVOUCHED;
		if (id & TABLE_IN_FILE)
			e.file_bytes = scd__read_u64(&extras);
		if (id & TABLE_VARIES) {
			e.selecting_len = scd__read_u32(&extras);
			e.selecting = scd__read_bytes(&extras,
						      e.selecting_len);
		}
		if (extras.error)
			return -EBADMSG;
		err = e.id ? each(arg, &e) : 0;
	}
	return err;
}

void segment_table_free(struct segment_table *t)
{
	free(t->entries);
	free(t->extras);
	free(t->removals);
	*t = (struct segment_table){ 0 };
}

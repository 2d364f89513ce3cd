/*
 * The buckets of lists: how many there are, and their memory.
 */
#include "codec/filter/list_buckets.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "codec/filter/list_ages.h"
#include "codec/mix.h"

enum {
	/* Bits of an entry in a word, and entries of a bucket: on average, as
	 * many as there are at most when buckets are made; and with so many
	 * there are more of them. */
	WORD_BITS = 16,
	BUCKET_ENTRIES = 512,
	CROWDED = 1024,
	WIDE_WORD_BITS = 32,
	WIDE_BUCKET_ENTRIES = 96,
	WIDE_CROWDED = 192,
	CELL_ENTRIES = 4, /* on average, fewer take more memory than they save;
			   * but of so few cells nobody cares: */
	FEW_CELLS = 1 << SCD__LIST_MOST_CELLS_LOG,
	ROOM_STEP = 8,    /* entries by which a bucket's room grows */
	SPARE_SHARE = 16, /* of its entries that a bucket may have room for */
	PART = 256,       /* entries that are copied at a time */
};

/* Whether a list of n entries has large words. */
static bool list_buckets_is_wide_for(unsigned width, uint64_t n)
{
	return width > WORD_BITS && UINT64_C(1) << (width - WORD_BITS) >
					    n / CELL_ENTRIES + FEW_CELLS;
}

/* Choose the buckets, cells and words for n entries: as few buckets as leave no
 * more of them to each, and no more cells, than there may be. */
static void list_buckets_lay_out(struct scd_list *list, uint64_t n)
{
	unsigned word_bits = WORD_BITS, most = BUCKET_ENTRIES;
	unsigned rest_bits;

	list->wide = list_buckets_is_wide_for(list->width, n);
	if (list->wide) {
		word_bits = WIDE_WORD_BITS;
		most = WIDE_BUCKET_ENTRIES;
	}
	list->log = list->wide && list->width > word_bits
			    ? list->width - word_bits
			    : 0;
	while (list->log < list->width &&
	       (n >> list->log > most ||
		list->width - list->log > word_bits + SCD__LIST_MOST_CELLS_LOG))
		list->log++;
	rest_bits = list->width - list->log;
	list->word_bits = rest_bits < word_bits ? rest_bits : word_bits;
	list->cell_log = rest_bits - list->word_bits;
}

static int list_buckets_make(struct scd_list **out, const struct scd_list *like,
			     uint64_t n)
{
	struct scd_list *list = calloc(1, sizeof(*list));

	if (!list)
		return SCD_ENOMEM;
	list->width = like->width;
	list->instance = like->instance;
	list->has_ids = like->has_ids;
	list_buckets_lay_out(list, n);
	list->key =
		scd__mix64(like->instance + like->width * SCD__SPLITMIX_STEP);
	list->buckets =
		calloc(scd__list_nbuckets(list), sizeof(*list->buckets));
	list->groups = calloc(scd__list_ngroups(list), sizeof(*list->groups));
	if (!list->buckets || !list->groups) {
		scd_list_free(&list);
		return SCD_ENOMEM;
	}
	*out = list;
	return SCD_OK;
}

int scd__list_new_for(struct scd_list **out, unsigned width, uint64_t instance,
		      uint64_t n)
{
	const struct scd_list like = {.width = width, .instance = instance};

	return list_buckets_make(out, &like, n);
}

void scd_list_free(struct scd_list **list)
{
	struct scd_list *l = *list;

	if (!l)
		return;
	for (size_t i = 0; l->buckets && i < scd__list_nbuckets(l); i++)
		free(l->buckets[i].memory);
	free(l->buckets);
	free(l->groups);
	scd__list_ages_free(&l->ages);
	free(l);
	*list = NULL;
}

size_t scd_list_memory(const struct scd_list *list)
{
	size_t bytes = sizeof(*list) + list->bytes +
		       scd__list_nbuckets(list) * sizeof(*list->buckets) +
		       scd__list_ngroups(list) * sizeof(*list->groups);

	if (list->ages)
		bytes += sizeof(*list->ages) +
			 scd__list_ngroups(list) * sizeof(*list->ages->counts);
	return bytes;
}

/* Bytes of memory for so many entries of a bucket. */
static size_t list_buckets_bytes_for(const struct scd_list *list, size_t room)
{
	const size_t each = scd__list_word_bytes(list) + list->has_ids;

	return room ? scd__list_nends(list) * sizeof(uint32_t) + room * each
		    : 0;
}

/* Move the ids of a bucket to where they are with another room. */
static void list_buckets_move_ids(const struct scd_list *list,
				  struct scd__list_bucket *b, uint32_t room)
{
	const uint8_t *from;

	if (list->has_ids && b->n) {
		from = scd__list_ids(list, b);
		b->room = room;
		memmove(scd__list_ids(list, b), from, b->n);
	}
	b->room = room;
}

/* Give a bucket another room, for what it has at least. */
static int list_buckets_set_room(struct scd_list *list,
				 struct scd__list_bucket *b, uint32_t room)
{
	const size_t old = list_buckets_bytes_for(list, b->room);
	const size_t new = list_buckets_bytes_for(list, room);
	const bool is_new = !b->memory;
	const uint32_t old_room = b->room;
	uint32_t *memory;

	if (room < b->room)
		list_buckets_move_ids(list, b, room);
	memory = realloc(b->memory, new);
	if (!memory) {
		if (room < old_room)
			list_buckets_move_ids(list, b, old_room);
		return SCD_ENOMEM;
	}
	b->memory = memory;
	if (room > b->room)
		list_buckets_move_ids(list, b, room);
	if (is_new)
		memset(memory, 0, scd__list_nends(list) * sizeof(*memory));
	list->bytes += new - old;
	return SCD_OK;
}

/*
 * Room for so many entries in a bucket. One with far more of it than it needs
 * gives some back, but none of what its entries take now: whoever takes a
 * change back has the room that there was.
 */
int scd__list_reserve(struct scd_list *list, struct scd__list_bucket *b,
		      size_t n)
{
	const size_t most = n > b->n ? n : b->n;
	const size_t room = (most + ROOM_STEP - 1) / ROOM_STEP * ROOM_STEP;
	const size_t each = scd__list_word_bytes(list) + list->has_ids;

	if (n > b->room) {
		if (room > UINT32_MAX / 2 || room > SIZE_MAX / 2 / each)
			return SCD_ENOMEM;
		return list_buckets_set_room(list, b, (uint32_t)room);
	}
	if (room && b->room - room > room / SPARE_SHARE + 2 * ROOM_STEP)
		list_buckets_set_room(list, b, (uint32_t)room); /* or not */
	return SCD_OK;
}

/* Append n entries of one bucket, and their ids if the list has some: no entry
 * is below those that there are. */
static int list_buckets_append(struct scd_list *list, const uint64_t *entries,
			       const uint8_t *ids, size_t n)
{
	const size_t bucket = scd__list_bucket_of(list, entries[0]);
	struct scd__list_bucket *b = &list->buckets[bucket];
	unsigned cell;

	if (scd__list_reserve(list, b, b->n + n))
		return SCD_ENOMEM;
	cell = scd__list_cell_of(list, entries[0]);
	for (size_t i = 0; i < n; i++, b->n++) {
		const unsigned next = scd__list_cell_of(list, entries[i]);

		for (; cell < next; cell++)
			b->memory[cell] = b->n;
		scd__list_set_word(list, b, b->n,
				   scd__list_word_of(list, entries[i]));
	}
	for (; cell < scd__list_nends(list); cell++)
		b->memory[cell] = b->n;
	if (list->has_ids)
		memcpy(scd__list_ids(list, b) + b->n - n, ids, n);
	list->groups[scd__list_group_of(list, bucket)] += n;
	return SCD_OK;
}

/* The same for entries of any buckets. */
static int list_buckets_append_all(struct scd_list *list,
				   const uint64_t *entries, const uint8_t *ids,
				   size_t n)
{
	int error = SCD_OK;

	for (size_t i = 0; !error && i < n;) {
		const size_t more = scd__list_count_in(
			list, entries, i, n,
			scd__list_bucket_of(list, entries[i]));

		error = list_buckets_append(list, entries + i,
					    ids ? ids + i : NULL, more);
		i += more;
	}
	return error;
}

/* The same entries in as many buckets as they are to have, with ids or without
 * them; those that are new are 0. */
static int list_buckets_copy(const struct scd_list *list, bool has_ids,
			     struct scd_list **out)
{
	const uint64_t last = scd__list_last(list);
	struct scd__list_cursor at = scd__list_seek(list, 0);
	struct scd_list like = *list, *copy = NULL;
	uint8_t ids[PART] = {0};
	uint64_t entries[PART];
	int error;
	size_t n;

	like.has_ids = has_ids;
	error = list_buckets_make(&copy, &like, list->n);
	while (!error && (n = scd__list_read_bucket(list, &at, last, entries,
						    ids, PART)) > 0)
		error = list_buckets_append_all(copy, entries, ids, n);
	if (error)
		scd_list_free(&copy);
	else
		*out = copy;
	return error;
}

/* Take over the buckets of a copy, which is released. */
static void list_buckets_take_over(struct scd_list *list, struct scd_list *copy)
{
	struct scd_list both = *list;

	both.log = copy->log;
	both.cell_log = copy->cell_log;
	both.word_bits = copy->word_bits;
	both.wide = copy->wide;
	both.has_ids = copy->has_ids;
	both.bytes = copy->bytes;
	both.buckets = copy->buckets;
	both.groups = copy->groups;
	copy->log = list->log;
	copy->buckets = list->buckets;
	copy->groups = list->groups;
	*list = both;
	scd_list_free(&copy);
}

int scd__list_set_has_ids(struct scd_list *list, bool has_ids)
{
	struct scd_list *copy = NULL;
	int error = list_buckets_copy(list, has_ids, &copy);

	if (!error)
		list_buckets_take_over(list, copy);
	return error;
}

/* More buckets, where they are crowded. Without memory for them, the list is
 * as right as before, and a little slower. */
void scd__list_spread(struct scd_list *list)
{
	struct scd_list *copy = NULL;

	if (list->n >> list->log <= (list->wide ? WIDE_CROWDED : CROWDED) ||
	    list_buckets_copy(list, list->has_ids, &copy))
		return;
	if (list->ages && scd__list_ages_spread(list->ages, copy))
		scd_list_free(&copy);
	else
		list_buckets_take_over(list, copy);
}

int scd__list_append(struct scd_list *list, const uint64_t *entries, size_t n)
{
	const int error = list_buckets_append_all(list, entries, NULL, n);

	assert(!list->has_ids);
	if (error)
		return error;
	for (size_t i = 0; i < n; i++)
		list->sum += scd__list_hash(list, entries[i]);
	list->n += n;
	return SCD_OK;
}

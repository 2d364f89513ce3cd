/*
 * Segments of peer tables: making them of lists, and adding and taking out
 * what has one or many places in them.
 */
#include <stdlib.h>

#include "codec/array_memory.h"
#include "codec/filter/list_state.h"
#include "codec/filter/table_state.h"

enum {
	LINE_BYTES = sizeof(struct scd__table_line),
	PART = 256, /* entries of a list that are read at a time */
	MOST_POOLED = ((1 << SCD__TABLE_POOLS) - 1) << SCD__TABLE_POOL_LOG,
};

/* Memory */

/* Where the first line may begin. */
static void *table_segment_align(void *memory)
{
	const uintptr_t at = (uintptr_t)memory;

	return (void *)((at + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES);
}

/* Zeros, aligned to lines. *memory is what is to be freed. */
static void *table_segment_allocate(size_t bytes, void **memory)
{
	if (bytes > SIZE_MAX - LINE_BYTES)
		return NULL;
	*memory = calloc(1, bytes + LINE_BYTES - 1);
	return *memory ? table_segment_align(*memory) : NULL;
}

static void table_segment_release(struct scd_table *t,
				  struct scd__table_retired *item)
{
	const size_t offset = offsetof(struct scd__table_segment, retired);

	scd__table_segment_free(
		t,
		(struct scd__table_segment *)(void *)((char *)item - offset));
}

static void table_segment_drop_slab(struct scd_table *t,
				    struct scd__table_slab *slab)
{
	if (--slab->nsegments)
		return;
	t->bytes -= slab->bytes;
	free(slab->memory);
}

void scd__table_segment_free(struct scd_table *t, struct scd__table_segment *s)
{
	for (unsigned i = 0; i < SCD__TABLE_POOLS; i++)
		free(s->pool_memory[i]);
	t->bytes -= s->bytes;
	table_segment_drop_slab(t, s->slab);
}

/* Memory for n segments. */
static struct scd__table_slab *table_segment_new_slab(struct scd_table *t,
						      size_t each, uint64_t n)
{
	struct scd__table_slab *slab;
	size_t bytes;
	void *memory;

	if (n > (SIZE_MAX - sizeof(*slab) - LINE_BYTES) / each)
		return NULL;
	bytes = sizeof(*slab) + (size_t)n * each;
	memory = scd__array_memory_zeros(bytes + LINE_BYTES - 1);
	if (!memory)
		return NULL;
	slab = table_segment_align(memory);
	slab->memory = memory;
	slab->bytes = scd__array_memory_size(bytes);
	t->bytes += slab->bytes;
	return slab;
}

/* The logarithm of n (> 0), rounded down. */
static unsigned table_segment_log(uint64_t n)
{
	return 63 - (unsigned)__builtin_clzll(n);
}

void scd__table_segment_note_widths(const struct scd_table *t,
				    struct scd__table_segment *s)
{
	uint64_t narrow = 0;

	for (unsigned w = SCD_LIST_MIN_WIDTH; w <= SCD_LIST_MAX_WIDTH; w++) {
		const unsigned bits = scd__table_tag_bits(t, s, w);

		if (t->nwidths[w] && bits < t->tag_bits)
			narrow |= UINT64_C(1) << bits;
	}
	scd__table_store(&s->narrow, narrow);
}

static int table_segment_fill(struct scd_table *t, struct scd__table_segment *s)
{
	int error = SCD_OK;

	for (unsigned i = 0; !error && i < t->npeers; i++) {
		const struct scd_list *list = t->lists[i];
		const struct scd__table_work work = {
			.act = SCD__TABLE_RAISE,
			.peer = i,
			.width = list ? list->width : 0,
			.list = list,
		};

		if (list)
			error = scd__table_segment_work_list(t, s, &work, list);
	}
	return error;
}

/* Make a segment of zeros that has its slab. */
static int table_segment_begin(struct scd_table *t,
			       struct scd__table_segment *s)
{
	int error;

	s->local_bits = table_segment_log(s->nbuckets) + t->tag_bits;
	s->retired.release = table_segment_release;
	s->pools[0] = scd__table_line(s, 0);
	scd__table_segment_note_widths(t, s);
	error = table_segment_fill(t, s);
	s->nfirst = s->npooled;
	return error;
}

int scd__table_segments_new(struct scd_table *t, unsigned depth,
			    uint64_t prefix, uint64_t nbuckets, uint64_t n,
			    struct scd__table_segment **out)
{
	const size_t each = sizeof(struct scd__table_segment) +
			    (size_t)nbuckets * LINE_BYTES;
	struct scd__table_slab *slab = table_segment_new_slab(t, each, n);
	int error = SCD_OK;
	char *at;

	if (!slab)
		return SCD_ENOMEM;
	at = (char *)(slab + 1);
	for (uint64_t i = 0; !error && i < n; i++, at += each) {
		struct scd__table_segment *s = (void *)at;

		s->slab = slab;
		s->nbuckets = nbuckets;
		s->depth = depth;
		s->prefix = prefix + i;
		slab->nsegments++;
		error = table_segment_begin(t, s);
		out[i] = s;
	}
	for (uint64_t i = slab->nsegments; error && i-- > 0;) {
		t->used -= out[i]->used;
		scd__table_segment_free(t, out[i]);
		out[i] = NULL;
	}
	return error;
}

/* Places: what of a segment an entry has */

/* The numbers `local` whose keys have a fingerprint: first..last. */
struct table_range {
	uint64_t first, last;
};

static uint64_t table_segment_low_bits(uint64_t x, unsigned bits)
{
	return x & ((UINT64_C(1) << bits) - 1);
}

static struct table_range
table_segment_range(const struct scd__table_segment *s, unsigned width,
		    uint64_t entry)
{
	const unsigned bits = width > s->depth ? width - s->depth : 0;
	const uint64_t rest = table_segment_low_bits(entry, bits);
	struct table_range r;

	if (bits >= s->local_bits) {
		r.first = rest >> (bits - s->local_bits);
		r.last = r.first;
		return r;
	}
	r.first = rest << (s->local_bits - bits);
	r.last = r.first + (UINT64_C(1) << (s->local_bits - bits)) - 1;
	return r;
}

/* And back: the fingerprints that keys with some numbers have. */
static struct table_range
table_segment_entries_of(const struct scd__table_segment *s, unsigned width,
			 const struct table_range *locals)
{
	const unsigned have = s->depth + s->local_bits;
	const uint64_t prefix = s->prefix << s->local_bits;
	const struct table_range all = {prefix | locals->first,
					prefix | locals->last};

	if (width <= have)
		return (struct table_range){all.first >> (have - width),
					    all.last >> (have - width)};
	return (struct table_range){all.first << (width - have),
				    ((all.last + 1) << (width - have)) - 1};
}

/* The first number of a bucket. */
static uint64_t table_segment_first_of(const struct scd__table_segment *s,
				       uint64_t bucket)
{
	return ((bucket << s->local_bits) + s->nbuckets - 1) / s->nbuckets;
}

static uint16_t table_segment_value(const struct scd_table *t, uint64_t local,
				    unsigned peer)
{
	return (uint16_t)(local << t->code_bits | (peer + 1));
}

/*
 * How many entries of a list make one slot, of a bucket and with a tag;
 * SCD__TABLE_TWINS stands for that many and more.
 */
static unsigned table_segment_entries_at(const struct scd_table *t,
					 const struct scd__table_segment *s,
					 const struct scd_list *list,
					 uint64_t bucket, unsigned tag)
{
	const unsigned tag_bits = scd__table_tag_bits(t, s, list->width);
	const uint64_t step = UINT64_C(1) << tag_bits;
	const struct table_range all = {
		table_segment_first_of(s, bucket),
		table_segment_first_of(s, bucket + 1) - 1,
	};
	struct table_range r = table_segment_entries_of(s, list->width, &all);
	uint64_t n = 0;

	if (scd__table_tag_cut(t, tag, tag_bits) != tag)
		return 0;
	/* Of all numbers of the bucket one has the tag; of fingerprints that
	 * are narrower, one or two have its bits. */
	if (tag_bits == t->tag_bits) {
		r.first = all.first + ((tag - all.first) & (step - 1));
		if (r.first > all.last)
			return 0;
		r.last = r.first;
		r = table_segment_entries_of(s, list->width, &r);
		return (unsigned)scd__list_count(list, r.first, r.last,
						 SCD__TABLE_TWINS);
	}
	r.first += ((tag >> (t->tag_bits - tag_bits)) - r.first) & (step - 1);
	for (; r.first <= r.last && n < SCD__TABLE_TWINS; r.first += step)
		n += scd__list_count(list, r.first, r.first, SCD__TABLE_TWINS);
	return n < SCD__TABLE_TWINS ? (unsigned)n : SCD__TABLE_TWINS;
}

/* Buckets */

/* A slot: a lane of a line; null: none. */
struct table_place {
	struct scd__table_line *line;
	unsigned lane;
};

/* What a bucket has of a value. */
struct table_found {
	unsigned count;               /* SCD__TABLE_TWINS at most */
	struct table_place one;       /* of them */
	struct table_place empty;     /* the first empty slot */
	struct scd__table_line *last; /* line of the bucket */
};

static void table_segment_note(struct table_place *place,
			       struct scd__table_line *line, uint32_t lanes)
{
	if (!lanes || place->line)
		return;
	place->line = line;
	place->lane = (unsigned)__builtin_ctz(lanes);
}

static void table_segment_find(const struct scd_table *t,
			       const struct scd__table_segment *s,
			       uint64_t bucket, uint16_t value,
			       struct table_found *found)
{
	struct scd__table_line *line = scd__table_line(s, bucket);

	*found = (struct table_found){0};
	for (; line; line = scd__table_next(s, line)) {
		const uint32_t equal =
			t->engine->match(line, value, UINT16_MAX);

		found->count += (unsigned)(equal != 0) +
				(unsigned)((equal & (equal - 1)) != 0);
		table_segment_note(&found->one, line, equal);
		if (!found->empty.line)
			table_segment_note(
				&found->empty, line,
				t->engine->match(line, 0, UINT16_MAX));
		found->last = line;
	}
}

static void table_segment_store(struct scd__table_line *line, unsigned lane,
				unsigned value)
{
	uint64_t *word = &line->words[lane / 4];
	const unsigned shift = lane % 4 * 16;
	const uint64_t others = *word & ~(UINT64_C(0xffff) << shift);

	scd__table_store(word, others | (uint64_t)value << shift);
}

/* The next pool. */
static int table_segment_grow_pool(struct scd_table *t,
				   struct scd__table_segment *s, unsigned i)
{
	const size_t bytes = (size_t)LINE_BYTES << (SCD__TABLE_POOL_LOG + i);
	struct scd__table_line *lines =
		table_segment_allocate(bytes, &s->pool_memory[i]);

	if (!lines)
		return SCD_ENOMEM;
	__atomic_store_n(&s->pools[i], lines, __ATOMIC_RELEASE);
	s->bytes += bytes;
	t->bytes += bytes;
	return SCD_OK;
}

/* Let a bucket go on in another line, which has a value. */
static int table_segment_extend(struct scd_table *t,
				struct scd__table_segment *s,
				struct scd__table_line *last, uint16_t value)
{
	const unsigned number = (unsigned)s->npooled + 1;
	const unsigned pool =
		table_segment_log((s->npooled >> SCD__TABLE_POOL_LOG) + 1);
	int error = SCD_OK;

	if (number > MOST_POOLED)
		return SCD_ELIMIT;
	if (!s->pool_memory[pool])
		error = table_segment_grow_pool(t, s, pool);
	if (error)
		return error;
	s->npooled = number;
	table_segment_store(scd__table_pooled(s, number), 0, value);
	table_segment_store(last, SCD__TABLE_LINK, number);
	return SCD_OK;
}

static int table_segment_put(struct scd_table *t, struct scd__table_segment *s,
			     const struct table_found *found, uint16_t value)
{
	int error = SCD_OK;

	if (found->empty.line)
		table_segment_store(found->empty.line, found->empty.lane,
				    value);
	else
		error = table_segment_extend(t, s, found->last, value);
	if (error)
		return error;
	s->used++;
	t->used++;
	return SCD_OK;
}

static void table_segment_clear(struct scd_table *t,
				struct scd__table_segment *s,
				const struct table_place *place)
{
	table_segment_store(place->line, place->lane, 0);
	s->used--;
	t->used--;
}

/* Work */

/* Work in a segment, and the last entry that it has done. */
struct table_run {
	struct scd_table *table;
	struct scd__table_segment *segment;
	const struct scd__table_work *work;
	uint64_t local;
	unsigned equal; /* entries with this number in a row */
	size_t fetched; /* of those at work, how many have had their lines */
	bool is_exact;  /* an entry has all bits of a number, which is */
	unsigned shift; /* so many bits from its end, */
	uint64_t mask;  /* and has those */
};

static struct table_run table_segment_run(struct scd_table *t,
					  struct scd__table_segment *s,
					  const struct scd__table_work *work)
{
	const unsigned have = s->depth + s->local_bits;
	struct table_run run = {.table = t, .segment = s, .work = work};

	run.is_exact = work->width >= have;
	if (run.is_exact) {
		run.shift = work->width - have;
		run.mask = (UINT64_C(1) << s->local_bits) - 1;
	}
	return run;
}

/* The same as table_segment_range(). */
static inline struct table_range
table_segment_run_range(const struct table_run *run, uint64_t entry)
{
	if (run->is_exact) {
		const uint64_t local = entry >> run->shift & run->mask;

		return (struct table_range){local, local};
	}
	return table_segment_range(run->segment, run->work->width, entry);
}

/* A slot that is worked at. */
struct table_spot {
	uint64_t bucket;
	uint64_t local;
	bool alone; /* no other entry of this work has the number */
	struct table_found found;
};

static unsigned table_segment_entries_left(const struct table_run *run,
					   const struct table_spot *spot)
{
	const struct scd_table *t = run->table;
	const struct scd_list *list = run->work->list;
	const uint64_t tag = table_segment_low_bits(spot->local, t->tag_bits);

	return list ? table_segment_entries_at(t, run->segment, list,
					       spot->bucket, (unsigned)tag)
		    : 0;
}

/* The slots that a list gives a spot, of which the run has passed some. */
static unsigned table_segment_wanted(const struct table_run *run,
				     const struct table_spot *spot)
{
	if (!run->is_exact)
		return table_segment_entries_left(run, spot);
	return run->equal;
}

static void table_segment_lower(struct table_run *run, struct table_spot *spot,
				uint16_t value)
{
	const unsigned left = table_segment_entries_left(run, spot);

	while (spot->found.count > left) {
		table_segment_clear(run->table, run->segment, &spot->found.one);
		table_segment_find(run->table, run->segment, spot->bucket,
				   value, &spot->found);
	}
}

static int table_segment_work_at(struct table_run *run, struct table_spot *spot)
{
	struct scd_table *t = run->table;
	const uint16_t value =
		table_segment_value(t, spot->local, run->work->peer);
	const struct table_found *found = &spot->found;

	table_segment_find(t, run->segment, spot->bucket, value, &spot->found);
	switch (run->work->act) {
	case SCD__TABLE_ADD:
		if (found->count < SCD__TABLE_TWINS)
			return table_segment_put(t, run->segment, found, value);
		break;
	case SCD__TABLE_RAISE:
		if (found->count < SCD__TABLE_TWINS &&
		    found->count < table_segment_wanted(run, spot))
			return table_segment_put(t, run->segment, found, value);
		break;
	case SCD__TABLE_REMOVE:
		/* One slot stands for one entry, so it is this one's. */
		if (found->count == 1 && spot->alone)
			table_segment_clear(t, run->segment, &found->one);
		else
			table_segment_lower(run, spot, value);
		break;
	case SCD__TABLE_LOWER:
		table_segment_lower(run, spot, value);
		break;
	}
	return SCD_OK;
}

/*
 * Fetch the lines in which the next entries are looked for first: many in a
 * row, as a processor that finds none of their pages waits for several at once
 * then.
 */
static void table_segment_fetch(struct table_run *run, const uint64_t *entries,
				size_t n)
{
	const struct scd__table_segment *s = run->segment;
	const size_t end = n - run->fetched > SCD__TABLE_FETCHED
				   ? run->fetched + SCD__TABLE_FETCHED
				   : n;

	for (; run->fetched < end; run->fetched++) {
		const struct table_range r =
			table_segment_run_range(run, entries[run->fetched]);

		__builtin_prefetch(
			scd__table_line(s, scd__table_bucket(s, r.first)), 1);
	}
}

static bool table_segment_is_alone(const struct table_run *run,
				   const uint64_t *entries, size_t n, size_t i)
{
	return run->is_exact &&
	       (i == 0 || (entries[i - 1] ^ entries[i]) >> run->shift) &&
	       (i + 1 == n || (entries[i + 1] ^ entries[i]) >> run->shift);
}

/* Work for an entry, in each of its buckets. */
static int table_segment_work_entry(struct table_run *run, uint64_t entry,
				    bool alone)
{
	const struct scd__table_segment *s = run->segment;
	const struct table_range r = table_segment_run_range(run, entry);
	struct table_spot spot = {.bucket = scd__table_bucket(s, r.first),
				  .local = r.first,
				  .alone = alone};
	uint64_t last = spot.bucket;
	int error;

	if (!run->is_exact)
		last = scd__table_bucket(s, r.last);
	run->equal = run->equal && run->local == r.first ? run->equal + 1 : 1;
	run->local = r.first;
	do {
		error = table_segment_work_at(run, &spot);
	} while (!error && ++spot.bucket <= last);
	return error;
}

static int table_segment_work_on(struct table_run *run, const uint64_t *entries,
				 size_t n)
{
	int error = SCD_OK;

	for (size_t i = 0; !error && i < n; i++) {
		if (i + SCD__TABLE_FETCHED / 2 >= run->fetched)
			table_segment_fetch(run, entries, n);
		error = table_segment_work_entry(
			run, entries[i],
			table_segment_is_alone(run, entries, n, i));
	}
	return error;
}

int scd__table_segment_work(struct scd_table *t, struct scd__table_segment *s,
			    const struct scd__table_work *work,
			    const uint64_t *entries, size_t n)
{
	struct table_run run = table_segment_run(t, s, work);

	run.fetched = n < SCD__TABLE_FETCHED / 2 ? n : SCD__TABLE_FETCHED / 2;
	return table_segment_work_on(&run, entries, n);
}

/* The fingerprints that keys of a segment have. */
static struct table_range table_segment_all(const struct scd__table_segment *s,
					    unsigned width)
{
	const struct table_range all = {0, (UINT64_C(1) << s->local_bits) - 1};

	return table_segment_entries_of(s, width, &all);
}

int scd__table_segment_work_list(struct scd_table *t,
				 struct scd__table_segment *s,
				 const struct scd__table_work *work,
				 const struct scd_list *list)
{
	const struct table_range all = table_segment_all(s, list->width);
	struct table_run run = table_segment_run(t, s, work);
	struct scd__list_cursor at = scd__list_seek(list, all.first);
	uint64_t entries[PART];
	int error = SCD_OK;
	size_t n;

	while (!error &&
	       (n = scd__list_read(list, &at, all.last, entries, PART)) > 0) {
		run.fetched = 0;
		error = table_segment_work_on(&run, entries, n);
	}
	return error;
}

uint64_t scd__table_segment_count(const struct scd__table_segment *s,
				  const struct scd_list *list)
{
	const struct table_range all = table_segment_all(s, list->width);

	return scd__list_count(list, all.first, all.last, UINT64_MAX);
}

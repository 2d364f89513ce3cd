/*
 * Peer tables: what the writer does to them as a whole.
 */
#include "codec/table.h"

#include <assert.h>
#include <stdlib.h>

#include "codec/filter/list_state.h"
#include "codec/filter/table_lookup.h"

enum {
	MAX_BUCKETS = 1 << 15, /* of a segment: the pools suffice for it */
	MAX_DEPTH = 24,

	/* Slots of the buckets, per mille: in which so many are used as a
	 * segment is made, or made for as many as it is said to get; and with
	 * so many it is made anew. Above, lookups go on in a second line too
	 * often. */
	LOAD_GROWN = 550,
	LOAD_RESERVED = 680,
	LOAD_FULL = 740,
	LOAD_SPARSE = 250,
};

/* How many slots so many buckets have, at a load. */
static uint64_t table_room_of(uint64_t nbuckets, unsigned load)
{
	return nbuckets * SCD__TABLE_SLOTS * load / 1000;
}

static uint64_t table_buckets_for(uint64_t nslots, unsigned load)
{
	return nslots / (table_room_of(1000, load) / 1000) + 1;
}

/* Memory that readers may still use */

static void table_retire(struct scd_table *t, struct scd__table_retired *item)
{
	item->epoch = t->epoch++;
	item->next = t->retired;
	t->retired = item;
}

uint64_t scd_table_epoch(const struct scd_table *table)
{
	return table->epoch;
}

void scd_table_reclaim(struct scd_table *table, uint64_t epoch)
{
	struct scd__table_retired **at = &table->retired, *item;

	while (*at && (*at)->epoch >= epoch)
		at = &(*at)->next;
	item = *at;
	*at = NULL;
	while (item) {
		struct scd__table_retired *next = item->next;

		item->release(table, item);
		item = next;
	}
}

/* Directory */

static size_t table_directory_bytes(unsigned depth)
{
	return sizeof(struct scd__table_directory) +
	       (sizeof(struct scd__table_segment *) << depth);
}

static void table_release_directory(struct scd_table *t,
				    struct scd__table_retired *item)
{
	const size_t offset = offsetof(struct scd__table_directory, retired);
	struct scd__table_directory *d =
		(struct scd__table_directory *)(void *)((char *)item - offset);

	t->bytes -= table_directory_bytes(d->depth);
	free(d);
}

static struct scd__table_directory *table_new_directory(struct scd_table *t,
							unsigned depth)
{
	struct scd__table_directory *d =
		calloc(1, table_directory_bytes(depth));

	if (!d)
		return NULL;
	d->depth = depth;
	d->retired.release = table_release_directory;
	t->bytes += table_directory_bytes(depth);
	return d;
}

/* Let there be segments of so many bits. */
static int table_deepen(struct scd_table *t, unsigned depth)
{
	struct scd__table_directory *old = t->directory, *new;

	if (depth <= old->depth)
		return SCD_OK;
	new = table_new_directory(t, depth);
	if (!new)
		return SCD_ENOMEM;
	for (uint64_t i = 0; i < UINT64_C(1) << depth; i++)
		new->segments[i] = old->segments[i >> (depth - old->depth)];
	__atomic_store_n(&t->directory, new, __ATOMIC_RELEASE);
	table_retire(t, &old->retired);
	return SCD_OK;
}

/* The segment of the keys that begin as a number of 64 bits. */
static struct scd__table_segment *table_segment_of(const struct scd_table *t,
						   uint64_t key)
{
	const struct scd__table_directory *d = t->directory;

	return d->segments[key >> 1 >> (63 - d->depth)];
}

/* The last key of a segment, as such a number. */
static uint64_t table_last_key(const struct scd__table_segment *s)
{
	return s->depth ? ((s->prefix + 1) << (64 - s->depth)) - 1
			: UINT64_MAX;
}

/* Let the directory name a new segment. */
static void table_install(struct scd_table *t, struct scd__table_segment *s)
{
	struct scd__table_directory *d = t->directory;
	const unsigned bits = d->depth - s->depth;

	for (uint64_t i = s->prefix << bits; i >> bits == s->prefix; i++)
		__atomic_store_n(&d->segments[i], s, __ATOMIC_RELEASE);
}

/* Life */

int scd_table_new(struct scd_table **out, unsigned npeers)
{
	struct scd_table *t;
	int error;

	if (npeers < 1 || npeers > SCD_TABLE_MAX_PEERS)
		return SCD_EINVAL;
	t = calloc(1, sizeof(*t));
	if (!t)
		return SCD_ENOMEM;
	t->npeers = npeers;
	t->nwords = (npeers + 63) / 64;
	while (npeers >> t->code_bits)
		t->code_bits++;
	t->tag_bits = 16 - t->code_bits;
	t->tag_mask = (uint16_t)(UINT16_MAX << t->code_bits);
	t->engine = scd__table_engine(NULL);
	t->bytes = sizeof(*t) + npeers * (sizeof(*t->lists) +
					  sizeof(*t->widths));
	t->lists = calloc(npeers, sizeof(*t->lists));
	t->widths = calloc(npeers, sizeof(*t->widths));
	t->directory = table_new_directory(t, 0);
	error = SCD_ENOMEM;
	if (t->lists && t->widths && t->directory)
		error = scd__table_segments_new(t, 0, 0, 1, 1,
						&t->directory->segments[0]);
	if (error) {
		scd_table_free(&t);
		return error;
	}
	*out = t;
	return SCD_OK;
}

/* Release all segments; null: the only one could not be made. */
static void table_free_segments(struct scd_table *t)
{
	uint64_t key = 0;

	do {
		struct scd__table_segment *s = table_segment_of(t, key);

		if (!s)
			return;
		key = table_last_key(s) + 1;
		scd__table_segment_free(t, s);
	} while (key);
}

void scd_table_free(struct scd_table **table)
{
	struct scd_table *t = *table;

	if (!t)
		return;
	scd_table_reclaim(t, UINT64_MAX);
	if (t->directory)
		table_free_segments(t);
	free(t->directory);
	free(t->lists);
	free(t->widths);
	free(t);
	*table = NULL;
}

struct scd_list *scd_table_list(const struct scd_table *table, unsigned peer)
{
	assert(peer < table->npeers);
	return table->lists[peer];
}

unsigned scd_table_words(const struct scd_table *table)
{
	return table->nwords;
}

size_t scd_table_memory(const struct scd_table *table)
{
	return table->bytes;
}

const char *scd_table_engine(const struct scd_table *table)
{
	return table->engine->name;
}

int scd_table_set_engine(struct scd_table *table, const char *name)
{
	const struct scd__table_engine *engine = scd__table_engine(name);

	if (!engine)
		return SCD_EINVAL;
	table->engine = engine;
	return SCD_OK;
}

/* Growth */

/* What a segment is to be replaced with: 2^log segments. */
struct table_plan {
	unsigned log;
	uint64_t nbuckets; /* each */
};

/*
 * For so many slots. Only so many segments that each has a fair share of all
 * that the table has: where fingerprints are not spread evenly, more of them
 * would take memory, and leave one with nearly all.
 */
static struct table_plan table_plan_for(const struct scd_table *t,
					const struct scd__table_segment *s,
					uint64_t nslots, unsigned load)
{
	const uint64_t fair = table_room_of(MAX_BUCKETS, load) / 4;
	const uint64_t all = t->used - s->used + nslots;
	struct table_plan plan = { 0, table_buckets_for(nslots, load) };

	while (plan.nbuckets > MAX_BUCKETS &&
	       s->depth + plan.log < MAX_DEPTH &&
	       all >> (s->depth + plan.log + 1) >= fair) {
		plan.log++;
		plan.nbuckets = table_buckets_for(nslots >> plan.log, load);
	}
	if (plan.nbuckets > MAX_BUCKETS)
		plan.nbuckets = MAX_BUCKETS;
	return plan;
}

/* Replace a segment by new ones, filled from the lists. SCD_ENOMEM. */
static int table_replace(struct scd_table *t, struct scd__table_segment *s,
			 const struct table_plan *plan)
{
	const uint64_t n = UINT64_C(1) << plan->log;
	const unsigned depth = s->depth + plan->log;
	struct scd__table_segment **made = calloc((size_t)n, sizeof(*made));
	int error = made ? table_deepen(t, depth) : SCD_ENOMEM;

	if (!error)
		error = scd__table_segments_new(t, depth,
						s->prefix << plan->log,
						plan->nbuckets, n, made);
	for (uint64_t i = 0; !error && i < n; i++)
		table_install(t, made[i]);
	if (!error) {
		t->used -= s->used;
		table_retire(t, &s->retired);
	}
	free(made);
	return error;
}

/* The slots that n entries of a width take: in each of their buckets. */
static uint64_t table_slots_of(const struct scd__table_segment *s,
			       unsigned width, uint64_t n)
{
	const unsigned bits = width > s->depth ? width - s->depth : 0;

	return n + (n * s->nbuckets >> bits);
}

/* Make room in a segment for so many slots more. */
static int table_make_room(struct scd_table *t, struct scd__table_segment *s,
			   uint64_t more)
{
	const uint64_t nslots = s->used + more;
	struct table_plan plan;

	if (nslots <= table_room_of(s->nbuckets, LOAD_FULL) &&
	    s->npooled <= 2 * s->nfirst + s->nbuckets)
		return SCD_OK;
	plan = table_plan_for(t, s, nslots, LOAD_GROWN);
	if (!plan.log && plan.nbuckets <= s->nbuckets &&
	    s->npooled <= 2 * s->nfirst + s->nbuckets)
		return SCD_OK;
	return table_replace(t, s, &plan);
}

int scd_table_reserve(struct scd_table *table, uint64_t nentries)
{
	uint64_t key = 0;
	int error = SCD_OK;

	do {
		struct scd__table_segment *s = table_segment_of(table, key);
		const uint64_t share = nentries >> s->depth;
		struct table_plan plan = table_plan_for(
			table, s, share > s->used ? share : s->used,
			LOAD_RESERVED);

		key = table_last_key(s) + 1;
		if (plan.log || plan.nbuckets > s->nbuckets)
			error = table_replace(table, s, &plan);
	} while (!error && key);
	return error;
}

/* Give memory back where most slots are empty, if there is some to copy to. */
static void table_shrink(struct scd_table *t)
{
	uint64_t key = 0;

	do {
		struct scd__table_segment *s = table_segment_of(t, key);
		const struct table_plan plan = {
			0, table_buckets_for(s->used, LOAD_GROWN)
		};

		key = table_last_key(s) + 1;
		if (s->used < table_room_of(s->nbuckets, LOAD_SPARSE) &&
		    plan.nbuckets < s->nbuckets)
			table_replace(t, s, &plan);
	} while (key);
}

/* Work on all segments that have something of it */

static bool table_act_adds(enum scd__table_act act)
{
	return act == SCD__TABLE_ADD || act == SCD__TABLE_RAISE;
}

/* Work for all entries of a list. */
static int table_work_list(struct scd_table *t,
			   const struct scd__table_work *work,
			   const struct scd_list *list)
{
	uint64_t key = 0;
	int error = SCD_OK;

	do {
		struct scd__table_segment *s = table_segment_of(t, key);

		if (table_act_adds(work->act)) {
			const uint64_t n = scd__table_segment_count(s, list);

			error = table_make_room(
				t, s, table_slots_of(s, list->width, n));
			s = table_segment_of(t, key);
		}
		if (!error)
			error = scd__table_segment_work_list(t, s, work, list);
		key = table_last_key(s) + 1;
	} while (!error && key);
	return error;
}

/* Ascending fingerprints, and where work for them has come to. */
struct table_queue {
	const uint64_t *entries;
	size_t n, i;
	size_t fetched; /* entries whose lines have been */
	unsigned width;
	uint64_t key; /* of those before it, all is done */
};

static uint64_t table_first_key_of(const struct table_queue *q, size_t i)
{
	return q->entries[i] << (64 - q->width);
}

static uint64_t table_last_key_of(const struct table_queue *q, size_t i)
{
	return ((q->entries[i] + 1) << (64 - q->width)) - 1;
}

/* Fetch the lines of the entries from one on, in whatever segment, unless
 * enough of them have been. */
static void table_fetch(const struct scd_table *t, struct table_queue *q,
			size_t from)
{
	size_t end;

	if (q->fetched < from)
		q->fetched = from;
	if (q->fetched - from >= SCD__TABLE_FETCHED / 2)
		return;
	end = q->n - q->fetched > SCD__TABLE_FETCHED
		      ? q->fetched + SCD__TABLE_FETCHED
		      : q->n;
	for (; q->fetched < end; q->fetched++) {
		const struct scd_key key = { table_first_key_of(q, q->fetched),
					     0 };
		const struct scd__table_probe p = scd__table_probe(t, &key);

		__builtin_prefetch(p.line, 1);
	}
}

/* How many entries keys of a segment have, from i on. */
static size_t table_count_in(const struct table_queue *q,
			     const struct scd__table_segment *s)
{
	const uint64_t last = table_last_key(s);
	size_t i = q->i;

	while (i < q->n && table_first_key_of(q, i) <= last)
		i++;
	return i - q->i;
}

/* Work for the entries of the next segment that has any. */
static int table_work_next(struct scd_table *t,
			   const struct scd__table_work *work,
			   struct table_queue *q)
{
	struct scd__table_segment *s;
	int error = SCD_OK;
	size_t n;

	if (q->key < table_first_key_of(q, q->i))
		q->key = table_first_key_of(q, q->i);
	s = table_segment_of(t, q->key);
	n = table_count_in(q, s);
	table_fetch(t, q, q->i + n);
	if (table_act_adds(work->act)) {
		error = table_make_room(t, s, table_slots_of(s, q->width, n));
		s = table_segment_of(t, q->key);
		n = table_count_in(q, s);
	}
	if (!error)
		error = scd__table_segment_work(t, s, work, q->entries + q->i,
						n);
	/* One so narrow that the next segment has it too comes again. */
	while (q->i < q->n && table_last_key_of(q, q->i) <= table_last_key(s))
		q->i++;
	q->key = table_last_key(s) + 1;
	return error;
}

static int table_work(struct scd_table *t, const struct scd__table_work *work,
		      const uint64_t *entries, size_t n)
{
	struct table_queue q = { .entries = entries,
				 .n = n,
				 .width = work->width };
	int error = SCD_OK;

	table_fetch(t, &q, 0);
	while (!error && q.i < q.n)
		error = table_work_next(t, work, &q);
	return error;
}

/* Widths: what lookups have to know of lists that are narrow */

static void table_note_widths(struct scd_table *t)
{
	uint64_t key = 0;

	do {
		struct scd__table_segment *s = table_segment_of(t, key);

		scd__table_segment_note_widths(t, s);
		key = table_last_key(s) + 1;
	} while (key);
}

/* Lookups that have begun know what was known until now: they start again. */
static void table_next_version(struct scd_table *t)
{
	scd__table_store(&t->version, t->version + 1);
}

static void table_set_width(struct scd_table *t, unsigned peer, unsigned width)
{
	__atomic_store_n(&t->widths[peer], (uint8_t)width, __ATOMIC_RELEASE);
}

/* Before a peer has the first slots of a width. */
static void table_add_width(struct scd_table *t, unsigned peer, unsigned width)
{
	if (!t->lists[peer] || width < t->widths[peer])
		table_set_width(t, peer, width);
	if (t->nwidths[width]++ == 0)
		table_note_widths(t);
	table_next_version(t);
}

/* After it had the last ones of a width; left: of those that it has. */
static void table_drop_width(struct scd_table *t, unsigned peer, unsigned width,
			     unsigned left)
{
	table_next_version(t);
	table_set_width(t, peer, left);
	if (--t->nwidths[width] == 0)
		table_note_widths(t);
}

/* Peers */

int scd_table_set(struct scd_table *table, unsigned peer, struct scd_list *list)
{
	struct scd_list *old = scd_table_list(table, peer);
	const struct scd__table_work come = { .act = SCD__TABLE_RAISE,
					      .peer = peer,
					      .width = list->width,
					      .list = list };
	struct scd__table_work go = { .act = SCD__TABLE_LOWER, .peer = peer };
	int error;

	assert(list != old);
	table_add_width(table, peer, list->width);
	error = table_work_list(table, &come, list);
	if (error) {
		go.width = list->width;
		go.list = old;
		table_work_list(table, &go, list);
		table_drop_width(table, peer, list->width,
				 old ? old->width : 0);
		return error;
	}
	table->lists[peer] = list;
	if (!old)
		return SCD_OK;
	go.width = old->width;
	go.list = list;
	table_work_list(table, &go, old);
	table_drop_width(table, peer, old->width, list->width);
	return SCD_OK;
}

void scd_table_remove(struct scd_table *table, unsigned peer)
{
	struct scd_list *list = scd_table_list(table, peer);
	const struct scd__table_work work = { .act = SCD__TABLE_LOWER,
					      .peer = peer,
					      .width = list ? list->width : 0 };

	if (!list)
		return;
	table_work_list(table, &work, list);
	table->lists[peer] = NULL;
	table_drop_width(table, peer, list->width, 0);
	table_shrink(table);
}

int scd_table_change(struct scd_table *table, unsigned peer,
		     const struct scd_list_change *change, uint64_t generation)
{
	struct scd_list *list = scd_table_list(table, peer);
	struct scd__table_work work = { .peer = peer, .list = list };
	int error;

	if (!list)
		return SCD_EMISMATCH;
	error = scd__list_check_change(list, change);
	if (error)
		return error;
	work.width = list->width;
	work.act = SCD__TABLE_ADD;
	error = table_work(table, &work, change->added, change->nadded);
	if (!error)
		error = scd_list_change(list, change, generation);
	if (error) {
		work.act = SCD__TABLE_LOWER;
		table_work(table, &work, change->added, change->nadded);
		return error;
	}
	work.act = SCD__TABLE_REMOVE;
	table_work(table, &work, change->removed, change->nremoved);
	return SCD_OK;
}

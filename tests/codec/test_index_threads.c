/*
 * Peer indexes while they change: threads look up what a column holds before
 * and after every change, and must find it all the time. A build with
 * --with-sanitizer=thread says in addition whether all is as atomic as it has
 * to be.
 */
#include "tests/unit.h"

#include <pthread.h>
#include <stdatomic.h>

#include "codec/index.h"
#include "tests/codec/random.h"
#include "tests/rounds.h"

enum {
	NREADERS = 3,
	MAX_COLUMNS = 80,
	MAX_WORDS = 2,
	MAX_HASH = 6,
	NVARIANTS = 4, /* filters of the same keys, and others at random */
	NSETS = 2,     /* of keys that a column holds, in turn */
	NMANY = 20,
	NCHANGES = 40000,
};

/* The filters at 2 i and 2 i + 1 have one shape, flips[i] is what they differ
 * in. */
struct variants {
	struct scd_bloom filters[NVARIANTS];
	struct scd_bloom flips[NVARIANTS / 2];
};

struct column {
	struct variants sets[NSETS];
	unsigned now;       /* which filter of the set, for the writer */
	atomic_uint epochs; /* one more when it begins to go, and when gone */
};

struct shared {
	struct scd_index *index;
	unsigned ncolumns, nkeys; /* keys of a set */
	uint64_t seed;            /* of what the writer draws */
	struct column columns[MAX_COLUMNS];
	atomic_bool end;
	atomic_uint nlookups, nmissed;
};

/* Which set a column holds in an epoch, if it is there. */
static unsigned set_of(unsigned epoch)
{
	return epoch / 2 % NSETS;
}

static struct scd_key key_of(unsigned column, unsigned set, uint64_t number)
{
	uint64_t seed = (uint64_t)column << 40 | (uint64_t)set << 32 | number;
	uint64_t lo = random_next(&seed);

	return (struct scd_key){ lo, random_next(&seed) };
}

/* Every fourth column comes and goes. */
static bool stays(unsigned column)
{
	return column % 4 != 3;
}

/* Filters */

static void fill(struct shared *s, struct scd_bloom *bloom,
		 unsigned column, unsigned set)
{
	for (unsigned i = 0; i < s->nkeys; i++) {
		struct scd_key key = key_of(column, set, i);

		scd_bloom_add(bloom, &key);
		key.lo = random_next(&s->seed);
		scd_bloom_add(bloom, &key);
	}
}

static void make_variants(struct shared *s, unsigned column, unsigned set)
{
	struct variants *v = &s->columns[column].sets[set];
	uint64_t nrows = scd_index_rows(s->index);

	for (unsigned i = 0; i < NVARIANTS; i += 2) {
		uint64_t nbits = nrows >> random_below(&s->seed, 2);
		unsigned nhash = 1 + (unsigned)random_below(&s->seed, MAX_HASH);
		struct scd_bloom *b = &v->filters[i];

		assert_int_equal(scd_bloom_init(b, nbits, nhash), SCD_OK);
		assert_int_equal(scd_bloom_init(b + 1, nbits, nhash), SCD_OK);
		fill(s, b, column, set);
		fill(s, b + 1, column, set);
		assert_int_equal(scd_bloom_copy(b, &v->flips[i / 2]), SCD_OK);
		assert_int_equal(scd_bloom_xor(&v->flips[i / 2], b + 1),
				 SCD_OK);
	}
}

static void free_variants(struct variants *v)
{
	for (unsigned i = 0; i < NVARIANTS; i++)
		scd_bloom_free(&v->filters[i]);
	for (unsigned i = 0; i < NVARIANTS / 2; i++)
		scd_bloom_free(&v->flips[i]);
}

/* Writer */

static const struct scd_bloom *choose(struct shared *s, unsigned column)
{
	struct column *c = &s->columns[column];
	const struct variants *v = &c->sets[set_of(atomic_load(&c->epochs))];

	c->now = (unsigned)random_below(&s->seed, NVARIANTS);
	return &v->filters[c->now];
}

static void replace(struct shared *s, unsigned column)
{
	assert_int_equal(scd_index_set(s->index, column, choose(s, column)),
			 SCD_OK);
}

static void replace_all(struct shared *s)
{
	const struct scd_bloom *filters[MAX_COLUMNS];

	for (unsigned i = 0; i < s->ncolumns; i++)
		filters[i] = choose(s, i);
	assert_int_equal(scd_index_fill(s->index, filters, s->ncolumns),
			 SCD_OK);
}

static void flip(struct shared *s, unsigned column)
{
	struct column *c = &s->columns[column];
	const struct variants *v = &c->sets[set_of(atomic_load(&c->epochs))];

	assert_int_equal(scd_index_flip(s->index, column,
					&v->flips[c->now / 2]),
			 SCD_OK);
	c->now ^= 1;
}

static void change(struct shared *s)
{
	unsigned column = (unsigned)random_below(&s->seed, s->ncolumns);
	struct column *c = &s->columns[column];

	if (random_below(&s->seed, 2 * s->ncolumns) == 0) {
		replace_all(s);
	} else if (!scd_index_has(s->index, column)) {
		replace(s, column);
	} else if (!stays(column) && random_below(&s->seed, 2)) {
		atomic_fetch_add(&c->epochs, 1);
		scd_index_remove(s->index, column);
		atomic_fetch_add(&c->epochs, 1);
	} else if (random_below(&s->seed, 2)) {
		replace(s, column);
	} else {
		flip(s, column);
	}
}

/* Readers */

static void count(atomic_uint *n)
{
	atomic_fetch_add_explicit(n, 1, memory_order_relaxed);
}

static void check_one(struct shared *s, unsigned column, uint64_t number)
{
	struct column *c = &s->columns[column];
	unsigned epoch = atomic_load(&c->epochs);
	bool has = scd_index_has(s->index, column) && epoch % 2 == 0;
	struct scd_key key = key_of(column, set_of(epoch), number);
	uint64_t out[MAX_WORDS];
	bool found;

	scd_index_lookup(s->index, &key, out);
	found = out[column >> 6] >> (column & 63) & 1;
	if (has && epoch == atomic_load(&c->epochs) && !found)
		count(&s->nmissed);
	count(&s->nlookups);
}

static void check_many(struct shared *s, unsigned column, uint64_t first)
{
	unsigned words = scd_index_words(s->index);
	struct scd_key keys[NMANY];
	uint64_t out[NMANY * MAX_WORDS];

	for (unsigned i = 0; i < NMANY; i++)
		keys[i] = key_of(column, 0, (first + i) % s->nkeys);
	scd_index_lookup_many(s->index, keys, NMANY, out);
	for (unsigned i = 0; i < NMANY && stays(column); i++) {
		if (!(out[i * words + column / 64] >> column % 64 & 1))
			count(&s->nmissed);
	}
}

static void *read_on(void *arg)
{
	struct shared *s = arg;
	uint64_t seed = 1;

	while (!atomic_load(&s->end)) {
		unsigned column = (unsigned)random_below(&seed, s->ncolumns);
		uint64_t number = random_below(&seed, s->nkeys);

		check_one(s, column, number);
		check_many(s, column, number);
	}
	return NULL;
}

static void change_all_the_time(struct shared *s, unsigned nchanges)
{
	pthread_t readers[NREADERS];

	for (unsigned i = 0; i < NREADERS; i++)
		assert_int_equal(pthread_create(&readers[i], NULL, read_on, s),
				 0);
	for (unsigned i = 0; i < nchanges; i++)
		change(s);
	while (atomic_load(&s->nlookups) < 100) /* the readers start late */
		change(s);
	atomic_store(&s->end, true);
	for (unsigned i = 0; i < NREADERS; i++)
		assert_int_equal(pthread_join(readers[i], NULL), 0);
}

static void run(unsigned ncolumns, uint64_t nrows, int nchanges)
{
	static struct shared shared;
	struct shared *s = &shared;

	*s = (struct shared){ .ncolumns = ncolumns,
			      .nkeys = (unsigned)nrows / 32,
			      .seed = ncolumns };
	assert_int_equal(scd_index_new(&s->index, nrows, ncolumns), SCD_OK);
	assert_true(scd_index_words(s->index) <= MAX_WORDS);
	for (unsigned i = 0; i < ncolumns; i++) {
		for (unsigned set = 0; set < NSETS; set++)
			make_variants(s, i, set);
		replace(s, i);
	}
	change_all_the_time(s, (unsigned)rounds_of(nchanges, nchanges * 20));
	assert_int_equal(atomic_load(&s->nmissed), 0);
	for (unsigned i = 0; i < ncolumns; i++) {
		for (unsigned set = 0; set < NSETS; set++)
			free_variants(&s->columns[i].sets[set]);
	}
	scd_index_free(&s->index);
}

/* In few rows the threads meet in the same ones. */
static void found_in_few_rows(void **state)
{
	(void)state;
	run(2, 128, NCHANGES);
}

static void found_in_narrow_rows(void **state)
{
	(void)state;
	run(8, 128, NCHANGES);
}

static void found_in_a_word(void **state)
{
	(void)state;
	run(64, 256, NCHANGES);
}

static void found_in_wide_rows(void **state)
{
	(void)state;
	run(MAX_COLUMNS, 1024, NCHANGES / 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(found_in_few_rows),
		cmocka_unit_test(found_in_narrow_rows),
		cmocka_unit_test(found_in_a_word),
		cmocka_unit_test(found_in_wide_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

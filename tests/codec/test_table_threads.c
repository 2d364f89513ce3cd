/*
 * Peer tables while they change: threads look up what lists have before and
 * after every change, and must find it all the time, while the table grows, is
 * made anew, and gives memory back that views no longer in use have seen. A
 * build with --with-sanitizer=thread says in addition whether all is as atomic
 * as it has to be.
 */
#include "tests/unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "codec/table.h"
#include "tests/codec/list_sample.h"
#include "tests/rounds.h"

enum {
	NREADERS = 3,
	NPEERS = 70,
	NSTAYING = 40, /* peers whose first NKEPT keys stay */
	NKEPT = 50,
	NMANY = 20,
	NVIEWS = 64,
	NCHANGES = 1500,
	LOOKUPS_A_VIEW = 30,
};

/* A time of the table, as readers take it; users is under the lock. */
struct view {
	uint64_t epoch;
	unsigned users;
};

struct shared {
	struct scd_table *table;
	struct scd_list *lists[NPEERS];
	uint64_t seed; /* of what the writer draws */
	pthread_mutex_t lock;
	struct view views[NVIEWS];
	uint64_t first, next; /* views in use, modulo NVIEWS; next - 1 is new */
	atomic_bool end;
	atomic_uint nlookups, nmissed;
};

/* Half of the keys are those of the peer before, too. */
static struct scd_key key_of(unsigned peer, unsigned number)
{
	uint64_t seed = (uint64_t)(number % 2 ? peer : peer & ~1u) << 32 |
			number;
	uint64_t lo = random_next(&seed);

	return (struct scd_key){ lo, random_next(&seed) };
}

/* Writer */

static void publish_view(struct shared *s)
{
	uint64_t oldest;

	pthread_mutex_lock(&s->lock);
	if (s->next - s->first < NVIEWS)
		s->views[s->next++ % NVIEWS] = (struct view){
			.epoch = scd_table_epoch(s->table)
		};
	while (s->first + 1 < s->next && !s->views[s->first % NVIEWS].users)
		s->first++;
	oldest = s->views[s->first % NVIEWS].epoch;
	pthread_mutex_unlock(&s->lock);
	scd_table_reclaim(s->table, oldest);
}

/* A list with the keys that stay, and others. */
static struct scd_list *list_of(struct shared *s, unsigned peer)
{
	const unsigned width = 18 + (unsigned)random_below(&s->seed, 16);
	const size_t n = NKEPT + (size_t)random_below(&s->seed, 1000);
	struct scd_list_change c = { .added = list_sample_numbers(n),
				     .nadded = n };
	struct scd_list *list = NULL;

	for (unsigned i = 0; i < n; i++) {
		struct scd_key key = key_of(peer, i);

		if (i >= NKEPT)
			key.lo = random_next(&s->seed);
		c.added[i] = scd_fingerprint(&key, width);
	}
	assert_int_equal(scd_list_change_sort(&c), SCD_OK);
	assert_int_equal(scd_list_new(&list, width, 1), SCD_OK);
	assert_int_equal(scd_list_change(list, &c, 1), SCD_OK);
	scd_list_change_free(&c);
	return list;
}

static void replace(struct shared *s, unsigned peer)
{
	struct scd_list *list = list_of(s, peer);

	assert_int_equal(scd_table_set(s->table, peer, list), SCD_OK);
	scd_list_free(&s->lists[peer]);
	s->lists[peer] = list;
}

/* Whether an entry is one of a key that stays. */
static bool is_kept(unsigned peer, unsigned width, uint64_t entry)
{
	for (unsigned i = 0; i < NKEPT; i++) {
		const struct scd_key key = key_of(peer, i);

		if (scd_fingerprint(&key, width) == entry)
			return true;
	}
	return false;
}

static void change(struct shared *s, unsigned peer)
{
	struct scd_list *list = s->lists[peer];
	struct scd_list_change c =
		list_sample_change(list, random_next(&s->seed), 20, 20);
	size_t n = 0;

	for (size_t i = 0; i < c.nremoved; i++) {
		if (!is_kept(peer, scd_list_width_of(list), c.removed[i]))
			c.removed[n++] = c.removed[i];
	}
	c.nremoved = n;
	assert_int_equal(scd_table_change(s->table, peer, &c, 2), SCD_OK);
	scd_list_change_free(&c);
}

static void change_something(struct shared *s)
{
	const unsigned peer = (unsigned)random_below(&s->seed, NPEERS);

	if (!s->lists[peer] || random_below(&s->seed, 6) == 0) {
		replace(s, peer);
	} else if (peer >= NSTAYING && random_below(&s->seed, 3) == 0) {
		scd_table_remove(s->table, peer);
		scd_list_free(&s->lists[peer]);
	} else if (random_below(&s->seed, 30) == 0) {
		assert_int_equal(
			scd_table_reserve(s->table,
					  random_below(&s->seed, 300000)),
			SCD_OK);
	} else {
		change(s, peer);
	}
	publish_view(s);
}

/* Readers */

static uint64_t take_view(struct shared *s)
{
	uint64_t number;

	pthread_mutex_lock(&s->lock);
	number = s->next - 1;
	s->views[number % NVIEWS].users++;
	pthread_mutex_unlock(&s->lock);
	return number;
}

static void leave_view(struct shared *s, uint64_t number)
{
	pthread_mutex_lock(&s->lock);
	s->views[number % NVIEWS].users--;
	pthread_mutex_unlock(&s->lock);
}

static void count_missed(struct shared *s, const uint64_t *out, unsigned peer)
{
	if (!(out[peer / 64] >> peer % 64 & 1))
		atomic_fetch_add_explicit(&s->nmissed, 1, memory_order_relaxed);
}

static void look_up(struct shared *s, unsigned peer, unsigned first)
{
	struct scd_key keys[NMANY];
	uint64_t one[2], many[NMANY * 2];

	for (unsigned i = 0; i < NMANY; i++)
		keys[i] = key_of(peer, (first + i) % NKEPT);
	scd_table_lookup(s->table, &keys[0], one);
	count_missed(s, one, peer);
	scd_table_lookup_many(s->table, keys, NMANY, many);
	for (unsigned i = 0; i < NMANY; i++)
		count_missed(s, many + i * 2, peer);
	atomic_fetch_add_explicit(&s->nlookups, 1, memory_order_relaxed);
}

static void *read_on(void *arg)
{
	struct shared *s = arg;
	uint64_t seed = 1;

	while (!atomic_load(&s->end)) {
		const uint64_t view = take_view(s);

		for (unsigned i = 0; i < LOOKUPS_A_VIEW; i++)
			look_up(s, (unsigned)random_below(&seed, NSTAYING),
				(unsigned)random_below(&seed, NKEPT));
		leave_view(s, view);
	}
	return NULL;
}

static void run(const char *engine)
{
	static struct shared shared;
	struct shared *s = &shared;
	const int nchanges = rounds_of(NCHANGES, NCHANGES * 50);
	pthread_t readers[NREADERS];

	*s = (struct shared){ .seed = 1 };
	assert_int_equal(pthread_mutex_init(&s->lock, NULL), 0);
	assert_int_equal(scd_table_new(&s->table, NPEERS), SCD_OK);
	if (engine && scd_table_set_engine(s->table, engine))
		return scd_table_free(&s->table);
	for (unsigned i = 0; i < NSTAYING; i++)
		replace(s, i);
	publish_view(s);
	for (unsigned i = 0; i < NREADERS; i++)
		assert_int_equal(pthread_create(&readers[i], NULL, read_on, s),
				 0);
	for (int i = 0; i < nchanges; i++)
		change_something(s);
	while (atomic_load(&s->nlookups) < 100) /* the readers start late */
		change_something(s);
	atomic_store(&s->end, true);
	for (unsigned i = 0; i < NREADERS; i++)
		assert_int_equal(pthread_join(readers[i], NULL), 0);
	assert_int_equal(atomic_load(&s->nmissed), 0);
	scd_table_free(&s->table);
	for (unsigned i = 0; i < NPEERS; i++)
		scd_list_free(&s->lists[i]);
	pthread_mutex_destroy(&s->lock);
}

static void found_by_the_fastest(void **state)
{
	(void)state;
	run(NULL);
}

static void found_by_the_portable(void **state)
{
	(void)state;
	run("portable");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(found_by_the_fastest),
		cmocka_unit_test(found_by_the_portable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

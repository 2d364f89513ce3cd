/*
 * Counting stored responses: at once, or in batches of a thread's own.
 */
#include <pthread.h>
#include <stdbool.h>

#include "digestd/os/memory.h"
#include "tests/unit.h"

enum { TOKEN = LEDGER_TOKEN_BYTES, THREADS = 4, ROUNDS = 10000 };

/* One after the other: what is counted, and what the ledger has then. */
static const struct {
	const char *label;
	int64_t bytes;
	uint64_t ledger;
} rows[] = {
	{ "little", 1000, 0 },
	{ "some more", TOKEN - 1001, 0 },
	{ "a token", 1, TOKEN },
	{ "little again", 10, TOKEN },
	{ "some returned", -TOKEN, TOKEN },
	{ "a token returned", -10, 0 },
	{ "much", 3 * TOKEN, 3 * TOKEN },
	{ "much returned", -3 * TOKEN, 0 },
	{ "little for the end", 7, 0 },
};

static uint64_t counted(void)
{
	return ledger_used(&memory_ledger, LEDGER_objects);
}

static void batches_are_of_tokens(void **state)
{
	(void)state;
	memory_count_object(5);
	assert_int_equal(counted(), 5);
	memory_count_object(-5);
	assert_int_equal(counted(), 0);
	memory_batch(true);
	for (size_t i = 0; i < NROWS(rows); i++) {
		memory_count_object(rows[i].bytes);
		if (counted() != rows[i].ledger)
			fail_msg("%s", rows[i].label);
	}
	memory_batch(false);
	assert_int_equal(counted(), 7);
	memory_count_object(-7);
	assert_int_equal(counted(), 0);
}

/* Adds in a batch, returns at once. */
static void *count(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < ROUNDS; i++) {
		memory_batch(true);
		memory_count_object(i);
		memory_count_object(2 * (int64_t)i);
		memory_batch(false);
		memory_count_object(-3 * (int64_t)i);
	}
	return NULL;
}

static void nothing_is_lost_between_threads(void **state)
{
	pthread_t threads[THREADS];

	(void)state;
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, count,
						NULL), 0);
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(counted(), 0);
	assert_int_equal(memory_ledger.total, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(batches_are_of_tokens),
		cmocka_unit_test(nothing_is_lost_between_threads),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

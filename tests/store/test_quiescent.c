/*
 * Quiescent states: by a table of what readers do, and by threads that read
 * what another one takes out and destroys.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "digestd/store/quiescent.h"
#include "tests/codec/random.h"
#include "tests/rounds.h"
#include "tests/unit.h"

enum {
	NREADERS = 3,
	NCELLS = 8,
	REPLACEMENTS = 20000, /* at most, in make check and in check-long */
	EPOCHS = 20, /* that pass while others read are enough in the former */
};

/* What two readers do, a letter each, after something was taken out in the
 * first epoch: p pass, s sleep, w wake; capitals are the second's. An A is the
 * writer's: it advances. Both are awake at first. */
static const struct {
	const char *label, *steps;
	bool passed;
} rows[] = {
	{ "nobody", "A", false },
	{ "only one", "Ap", false },
	{ "both", "ApP", true },
	{ "before it", "pPA", false },
	{ "one before it", "pAP", false },
	{ "one sleeps", "AsP", true },
	{ "both have slept all the while", "sSA", true },
	{ "one has woken since", "sPAwP", true },
	{ "one has woken before", "sPwAP", false },
	{ "one was woken, and passed", "sPwApP", true },
};

static void passes_when_all_have(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct quiescent q = { 0 };
		struct quiescent_reader readers[2];
		uint64_t epoch = q.epoch;

		for (int j = 0; j < 2; j++) {
			quiescent_join(&q, &readers[j]);
			quiescent_wake(&q, &readers[j]);
		}
		for (const char *c = rows[i].steps; *c; c++) {
			struct quiescent_reader *r = &readers[*c < 'a'];

			if (*c == 'A')
				epoch = quiescent_advance(&q);
			else if ((*c | 32) == 'p')
				quiescent_pass(&q, r);
			else if ((*c | 32) == 's')
				quiescent_sleep(r);
			else
				quiescent_wake(&q, r);
		}
		if (quiescent_has_passed(&q, epoch) != rows[i].passed)
			fail_msg("%s", rows[i].label);
		quiescent_sleep(&readers[0]);
		quiescent_leave(&q, &readers[0]);
		quiescent_sleep(&readers[1]);
		assert_true(quiescent_has_passed(&q, epoch));
		quiescent_leave(&q, &readers[1]);
		assert_null(q.readers);
	}
}

/* Threads: cells with numbers, which are 0 from when they are destroyed. */
static struct quiescent domain;
static unsigned *cells[NCELLS];
static bool over;
static pthread_barrier_t all_read;

static void *read_cells(void *arg)
{
	struct quiescent_reader *r = arg;
	uint64_t random = (uint64_t)(uintptr_t)arg;
	void *wrong = NULL;

	quiescent_wake(&domain, r);
	pthread_barrier_wait(&all_read);
	while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
		unsigned *held[NCELLS];

		for (int i = 0; i < NCELLS; i++)
			held[i] = __atomic_load_n(&cells[i], __ATOMIC_ACQUIRE);
		for (int i = 0; i < NCELLS; i++) {
			if (!*held[i])
				wrong = r;
		}
		if (random_below(&random, 4) == 0) {
			quiescent_sleep(r);
			quiescent_wake(&domain, r);
		} else if (random_below(&random, 2)) {
			quiescent_pass(&domain, r);
		}
	}
	quiescent_sleep(r);
	return wrong;
}

static unsigned *new_cell(void)
{
	unsigned *cell = malloc(sizeof(*cell));

	assert_non_null(cell);
	*cell = 1;
	return cell;
}

/* What was taken out, in the order of it: `passed` are destroyed, those up to
 * `advanced` wait for an epoch to pass. */
struct waiting {
	unsigned *cells[REPLACEMENTS];
	unsigned wanted; /* epochs */
	unsigned n, advanced, passed, epochs;
	uint64_t epoch;
};

/* As a cache does it: never waits. */
static void destroy_passed(struct waiting *w)
{
	if (w->advanced > w->passed &&
	    !quiescent_has_passed(&domain, w->epoch))
		return;
	w->epochs += w->advanced > w->passed;
	for (; w->passed < w->advanced; w->passed++) {
		*w->cells[w->passed] = 0;
		free(w->cells[w->passed]);
	}
	w->epoch = quiescent_advance(&domain);
	w->advanced = w->n;
}

static void replace_cells(struct waiting *w)
{
	/* the readers have their turn, also where others want the processors */
	const struct timespec turn = { .tv_nsec = 20000 };
	uint64_t random = 1;

	while (w->n < REPLACEMENTS && w->epochs < w->wanted) {
		unsigned at = (unsigned)random_below(&random, NCELLS);

		w->cells[w->n++] = cells[at];
		__atomic_store_n(&cells[at], new_cell(), __ATOMIC_RELEASE);
		if (random_below(&random, 8))
			continue;
		destroy_passed(w);
		nanosleep(&turn, NULL);
	}
	__atomic_store_n(&over, true, __ATOMIC_RELEASE);
}

static void readers_find_nothing_destroyed(void **state)
{
	struct quiescent_reader readers[NREADERS];
	pthread_t threads[NREADERS];
	struct waiting *w = calloc(1, sizeof(*w));
	void *wrong;

	(void)state;
	assert_non_null(w);
	w->wanted = rounds_are_long() ? REPLACEMENTS : EPOCHS;
	pthread_barrier_init(&all_read, NULL, NREADERS + 1);
	for (int i = 0; i < NCELLS; i++)
		cells[i] = new_cell();
	for (int i = 0; i < NREADERS; i++)
		quiescent_join(&domain, &readers[i]);
	for (int i = 0; i < NREADERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, read_cells,
						&readers[i]), 0);
	pthread_barrier_wait(&all_read);
	replace_cells(w);
	for (int i = 0; i < NREADERS; i++) {
		assert_int_equal(pthread_join(threads[i], &wrong), 0);
		assert_null(wrong);
		quiescent_leave(&domain, &readers[i]);
	}
	for (int i = 0; i < 2; i++)
		destroy_passed(w); /* all are asleep */
	assert_int_equal(w->passed, w->n);
	assert_true(w->epochs > 2); /* some passed while they read */
	pthread_barrier_destroy(&all_read);
	free(w);
	for (int i = 0; i < NCELLS; i++)
		free(cells[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(passes_when_all_have),
		cmocka_unit_test(readers_find_nothing_destroyed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

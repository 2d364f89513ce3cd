/*
 * Admission filters used by several threads at a time, and saved meanwhile:
 * what is noted is found. A build with --with-sanitizer=thread says in
 * addition whether all is as atomic as it has to be.
 */
#include "tests/unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "codec/admission.h"
#include "tests/codec/random.h"

enum {
	NTHREADS = 4,
	WINDOW = 24000,
	NNOTES = 100000, /* of each thread: several generations */
	LAST = WINDOW - 1,
};

struct shared {
	struct scd_admission *a;
	atomic_uint nmissed;
	atomic_bool end;
};

struct worker {
	struct shared *s;
	unsigned number;
	pthread_t thread;
};

static struct scd_key key_of(unsigned worker, unsigned number)
{
	uint64_t seed = (uint64_t)worker << 32 | number;
	uint64_t lo = random_next(&seed);

	return (struct scd_key){ lo, random_next(&seed) };
}

/* Notes keys of its own, in both ways, and asks for each at once. */
static void *work(void *arg)
{
	struct worker *w = arg;
	struct shared *s = w->s;

	for (unsigned i = 0; i < NNOTES; i++) {
		struct scd_key key = key_of(w->number, i);

		if (i % 2)
			scd_admission_note(s->a, &key);
		else
			scd_admission_use(s->a, &key);
		if (!scd_admission_seen(s->a, &key))
			s->nmissed++;
	}
	return NULL;
}

/* An image that is taken at any time is a good one. */
static void *save(void *arg)
{
	struct shared *s = arg;
	size_t len = scd_admission_image_bytes(s->a);
	uint8_t *image = malloc(len);

	while (image && !atomic_load(&s->end)) {
		struct scd_admission *copy = NULL;

		if (scd_admission_save(s->a, image, len) ||
		    scd_admission_load(&copy, image, len, WINDOW))
			s->nmissed += NNOTES;
		scd_admission_free(&copy);
	}
	free(image);
	return NULL;
}

static void threads_find_what_they_note(void **state)
{
	static struct shared s;
	struct worker workers[NTHREADS];
	pthread_t saver;
	unsigned nlost = 0;

	(void)state;
	assert_int_equal(scd_admission_new(&s.a, WINDOW), SCD_OK);
	assert_int_equal(pthread_create(&saver, NULL, save, &s), 0);
	for (unsigned i = 0; i < NTHREADS; i++) {
		workers[i] = (struct worker){ .s = &s, .number = i };
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work,
						&workers[i]), 0);
	}
	for (unsigned i = 0; i < NTHREADS; i++)
		assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
	atomic_store(&s.end, true);
	assert_int_equal(pthread_join(saver, NULL), 0);

	/* a thread that waits at the wrong moment may cost a few keys */
	assert_in_range(s.nmissed, 0, NTHREADS * NNOTES / 10000);
	for (unsigned i = 0; i < LAST; i++) {
		struct scd_key key = key_of(NTHREADS, i);

		scd_admission_note(s.a, &key);
	}
	for (unsigned i = 0; i < LAST; i++) {
		struct scd_key key = key_of(NTHREADS, i);

		nlost += !scd_admission_seen(s.a, &key);
	}
	assert_int_equal(nlost, 0);
	scd_admission_free(&s.a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_find_what_they_note),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

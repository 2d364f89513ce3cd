/*
 * The leases of a node, which all workers ask for at once: whoever comes, one
 * of them gets the lease of a key, and the others hear who.
 */
#include <errno.h>
#include <pthread.h>

#include "digestd/peers/lease_desk.h"
#include "tests/codec/alloc.h"
#include "tests/unit.h"

enum { WORKERS = 4, KEYS = 500 };

static struct scd_key key_of(uint64_t n)
{
	return (struct scd_key){ 0x9e3779b97f4a7c15u * (n + 1), n * 77 + 1 };
}

struct asker {
	pthread_t thread;
	struct lease_desk *desk;
	uint64_t who;
	struct lease_answer answers[KEYS];
};

static void *ask(void *arg)
{
	struct asker *a = arg;
	const struct lease_wish wish = { .waits = true, .who = a->who };

	for (uint64_t n = 0; n < KEYS; n++) {
		const struct scd_key key = key_of(n);

		a->answers[n] = lease_desk_ask(a->desk, &key, &wish, 1000);
	}
	return NULL;
}

static void one_of_many_gets_it(void **state)
{
	static struct asker askers[WORKERS];
	struct lease_desk *desk;

	(void)state;
	assert_int_equal(lease_desk_new(99, &desk), 0);
	assert_int_equal(lease_desk_instance(desk), 99);
	for (unsigned i = 0; i < WORKERS; i++) {
		askers[i].desk = desk;
		askers[i].who = i + 1;
		assert_int_equal(pthread_create(&askers[i].thread, NULL, ask,
						&askers[i]), 0);
	}
	for (unsigned i = 0; i < WORKERS; i++)
		pthread_join(askers[i].thread, NULL);
	for (unsigned n = 0; n < KEYS; n++) {
		uint64_t holder = 0;

		for (unsigned i = 0; i < WORKERS; i++) {
			if (askers[i].answers[n].word != LEASE_YOURS)
				continue;
			assert_int_equal(holder, 0);
			holder = askers[i].who;
		}
		assert_int_not_equal(holder, 0);
		for (unsigned i = 0; i < WORKERS; i++) {
			if (askers[i].who == holder)
				continue;
			assert_int_equal(askers[i].answers[n].word,
					 LEASE_ELSEWHERE);
			assert_true(askers[i].answers[n].holder == holder);
		}
	}
	lease_desk_free(&desk);
	assert_null(desk);
	lease_desk_free(&desk);
}

/* What is for one request only is nobody's lease, until it is shared again or
 * the time is up; and of one key only. */
static void what_is_not_shared(void **state)
{
	const struct lease_wish wish = { .waits = true, .who = 7 };
	const struct scd_key key = key_of(1), other = key_of(2);
	struct lease_desk *desk;

	(void)state;
	assert_int_equal(lease_desk_new(99, &desk), 0);
	assert_false(lease_desk_is_alone(desk, &key, 1000));
	lease_desk_set_alone(desk, &key, true, 1000);
	assert_true(lease_desk_is_alone(desk, &key, 1000));
	assert_false(lease_desk_is_alone(desk, &other, 1000));
	assert_int_equal(lease_desk_ask(desk, &key, &wish, 1000).word,
			 LEASE_ALONE);
	assert_int_equal(lease_desk_ask(desk, &other, &wish, 1000).word,
			 LEASE_YOURS);
	assert_false(lease_desk_is_alone(desk, &key,
					 1000 + LEASES_ALONE_MS + 1));
	lease_desk_set_alone(desk, &key, true, 1000);
	lease_desk_set_alone(desk, &key, false, 1000);
	assert_false(lease_desk_is_alone(desk, &key, 1000));
	assert_int_equal(lease_desk_ask(desk, &key, &wish, 1000).word,
			 LEASE_YOURS);
	lease_desk_free(&desk);
}

static void without_memory(void **state)
{
	struct lease_desk *desk;
	unsigned n = 1;
	bool failed;

	(void)state;
	do {
		int err;

		alloc_fail_at(n++);
		err = lease_desk_new(1, &desk);
		failed = alloc_failed();
		alloc_fail_at(0);
		assert_int_equal(err, failed ? -ENOMEM : 0);
		if (!err)
			lease_desk_free(&desk);
	} while (failed);
	assert_true(n > 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_of_many_gets_it),
		cmocka_unit_test(what_is_not_shared),
		cmocka_unit_test(without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

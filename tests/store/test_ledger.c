/*
 * The ledger: limits at their edges, a model twin, and threads.
 */
#include <pthread.h>
#include <stdint.h>

#include "digestd/store/ledger.h"
#include "tests/codec/random.h"
#include "tests/unit.h"

enum { KIB = 1024, OWNERS = 8, STEPS = 20000, THREADS = 4 };

static void takes_up_to_the_limit(void **state)
{
	/* clang-format off */
	static const struct {
		const char *label;
		uint64_t limit, total, bytes, leave;
		bool taken;
	} rows[] = {
		{ "nothing of nothing",   0,  0,   0, 0, true },
		{ "a byte of nothing",    0,  0,   1, 0, false },
		{ "all",                100,  0, 100, 0, true },
		{ "the rest",           100, 60,  40, 0, true },
		{ "more than the rest", 100, 60,  41, 0, false },
		{ "what is left free",  100, 60,  30, 10, true },
		{ "what is not",        100, 60,  31, 10, false },
		{ "beyond the limit",   100, 120,  0, 0, false },
		{ "sums that wrap",     100, 60, UINT64_MAX - 50, 0, false },
		{ "leaves that wrap",   100, 60, 1, UINT64_MAX, false },
	};
	/* clang-format on */

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct ledger l = { .limit = rows[i].limit };

		ledger_add(&l, LEDGER_other, rows[i].total);
		if (ledger_take(&l, LEDGER_streams, rows[i].bytes,
				rows[i].leave) != rows[i].taken)
			fail_msg("%s", rows[i].label);
		assert_int_equal(l.total - rows[i].total,
				 rows[i].taken ? rows[i].bytes : 0);
		assert_int_equal(ledger_used(&l, LEDGER_streams),
				 l.total - rows[i].total);
	}
}

/* Another thread says later what it took. */
static void what_is_returned_first_is_nothing(void **state)
{
	struct ledger l = { .limit = 1000 };

	(void)state;
	ledger_return(&l, LEDGER_objects, 300);
	assert_int_equal(ledger_left(&l), 1000);
	assert_int_equal(ledger_used(&l, LEDGER_objects), 0);
	assert_true(ledger_take(&l, LEDGER_streams, 1000, 0));
	ledger_return(&l, LEDGER_streams, 1000);
	ledger_add(&l, LEDGER_objects, 400);
	assert_int_equal(ledger_left(&l), 900);
	assert_int_equal(ledger_used(&l, LEDGER_objects), 100);
}

static void accounts_take_tokens(void **state)
{
	struct ledger l = { .limit = 200 * KIB };
	struct ledger_account a = { 0 };

	(void)state;
	assert_true(ledger_hold(&l, LEDGER_collected, &a, 0, 0));
	assert_int_equal(l.total, 0);
	assert_true(ledger_hold(&l, LEDGER_collected, &a, 1, 0));
	assert_int_equal(l.total, 64 * KIB);
	assert_true(ledger_hold(&l, LEDGER_collected, &a, 64 * KIB, 0));
	assert_int_equal(l.total, 64 * KIB);
	assert_true(ledger_hold(&l, LEDGER_collected, &a, 64 * KIB + 1, 0));
	assert_int_equal(l.total, 128 * KIB);
	assert_false(ledger_hold(&l, LEDGER_collected, &a, 192 * KIB, 9 * KIB));
	assert_true(ledger_hold(&l, LEDGER_collected, &a, 192 * KIB, 8 * KIB));
	assert_false(ledger_hold(&l, LEDGER_collected, &a, 193 * KIB, 0));
	assert_false(ledger_hold(&l, LEDGER_collected, &a, UINT64_MAX, 0));
	assert_int_equal(ledger_left(&l), 8 * KIB);
	ledger_release(&l, LEDGER_collected, &a);
	ledger_release(&l, LEDGER_collected, &a);
	assert_int_equal(l.total, 0);
}

/* The dumbest ledger: every account by itself. */
struct twin {
	uint64_t limit;
	uint64_t held[OWNERS];
	uint64_t added[LEDGER_NUSES];
};

static uint64_t twin_total(const struct twin *t)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < OWNERS; i++)
		n += t->held[i];
	for (unsigned i = 0; i < LEDGER_NUSES; i++)
		n += t->added[i];
	return n;
}

static uint64_t twin_used(const struct twin *t, enum ledger_use use)
{
	uint64_t n = t->added[use];

	for (unsigned i = 0; i < OWNERS; i++)
		n += i % LEDGER_NUSES == (unsigned)use ? t->held[i] : 0;
	return n;
}

static bool twin_hold(struct twin *t, unsigned owner, uint64_t bytes,
		      uint64_t leave)
{
	uint64_t want = t->held[owner];

	while (want < bytes)
		want += LEDGER_TOKEN_BYTES;
	if (want != t->held[owner] &&
	    twin_total(t) - t->held[owner] + want + leave > t->limit)
		return false;
	t->held[owner] = want;
	return true;
}

static void step(struct ledger *l, struct ledger_account *accounts,
		 struct twin *t, uint64_t random)
{
	unsigned owner = random % OWNERS, use = owner % LEDGER_NUSES;
	uint64_t bytes = (random >> 16) % (400 * KIB), leave = 0;

	switch (random >> 8 & 7) {
	case 0:
	case 1:
	case 2:
		leave = random >> 40 & 0xffff;
		assert_int_equal(ledger_hold(l, use, &accounts[owner], bytes,
					     leave),
				 twin_hold(t, owner, bytes, leave));
		break;
	case 3:
		ledger_release(l, use, &accounts[owner]);
		t->held[owner] = 0;
		break;
	case 4:
		ledger_add(l, LEDGER_other, bytes);
		t->added[LEDGER_other] += bytes;
		break;
	case 5:
		bytes %= t->added[LEDGER_other] + 1;
		ledger_return(l, LEDGER_other, bytes);
		t->added[LEDGER_other] -= bytes;
		break;
	case 6:
		bytes %= t->added[LEDGER_other] + 1;
		ledger_move(l, LEDGER_other, LEDGER_segments, bytes);
		t->added[LEDGER_other] -= bytes;
		t->added[LEDGER_segments] += bytes;
		break;
	case 7:
		ledger_set(l, LEDGER_segments, bytes);
		t->added[LEDGER_segments] = bytes;
		break;
	}
}

static void does_what_its_twin_does(void **state)
{
	struct ledger l = { .limit = 2048 * KIB };
	struct ledger_account accounts[OWNERS] = { { 0 } };
	struct twin t = { .limit = 2048 * KIB };
	uint64_t seed = 1, full = 0;

	(void)state;
	for (unsigned i = 0; i < STEPS; i++) {
		uint64_t total;

		step(&l, accounts, &t, random_next(&seed));
		total = twin_total(&t);
		assert_int_equal(l.total, total);
		assert_int_equal(ledger_left(&l),
				 total < t.limit ? t.limit - total : 0);
		full += total >= t.limit;
		for (unsigned use = 0; use < LEDGER_NUSES; use++)
			assert_int_equal(ledger_used(&l, use),
					 twin_used(&t, use));
	}
	assert_in_range(full, STEPS / 100, STEPS - STEPS / 100);
}

static struct ledger shared = { .limit = 1000 * KIB };

static void *take_and_return(void *arg)
{
	struct ledger_account a = { 0 };
	uint64_t seed = (uint64_t)(uintptr_t)arg;

	for (unsigned i = 0; i < STEPS; i++) {
		uint64_t bytes = random_next(&seed) % (500 * KIB);

		if (!ledger_hold(&shared, LEDGER_streams, &a, bytes, 0))
			ledger_release(&shared, LEDGER_streams, &a);
		if (ledger_used(&shared, LEDGER_streams) > shared.limit)
			return arg; /* never: it is taken before it is used */
	}
	ledger_release(&shared, LEDGER_streams, &a);
	return NULL;
}

static void threads_stay_within_the_limit(void **state)
{
	pthread_t threads[THREADS];
	void *failed;

	(void)state;
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL,
						take_and_return,
						(void *)(i + 1)), 0);
	for (unsigned i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], &failed), 0);
		assert_null(failed);
	}
	assert_int_equal(shared.total, 0);
	assert_int_equal(ledger_used(&shared, LEDGER_streams), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_up_to_the_limit),
		cmocka_unit_test(what_is_returned_first_is_nothing),
		cmocka_unit_test(accounts_take_tokens),
		cmocka_unit_test(does_what_its_twin_does),
		cmocka_unit_test(threads_stay_within_the_limit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

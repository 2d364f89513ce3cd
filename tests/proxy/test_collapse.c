/*
 * Collapsing: who leads, who waits, reads and is called, and that threads whose
 * keys fall into one bucket do not disturb each other (shown by
 * ThreadSanitizer).
 */
#include "tests/unit.h"

#include <pthread.h>
#include <string.h>

#include "digestd/http/freshness.h"
#include "digestd/proxy/collapse.h"
#include "digestd/server/server.h"

enum {
	THREADS = 3,
	ROUNDS = 20000,
	APART = 1 << 20, /* keys so far apart share a bucket, whatever many */
};

static const struct scd_key key = { .hi = 1, .lo = 7 };

struct bench {
	struct collapses *all;
	struct loop *loop;
};

struct joiner {
	struct collapse_reader reader;
	struct loop *loop;
	int calls;
};

static int make(void **state)
{
	static struct bench b;

	*state = &b;
	return collapses_new(&b.all) || loop_new(&b.loop);
}

static int end(void **state)
{
	struct bench *b = *state;

	collapses_free(&b->all);
	loop_free(&b->loop);
	return b->all || b->loop;
}

static void called(void *arg)
{
	struct joiner *j = arg;

	j->calls++;
	loop_stop(j->loop);
}

static void prepare(struct joiner *j, struct bench *b)
{
	*j = (struct joiner){ .loop = b->loop, .reader.loop = b->loop };
	j->reader.call.run = called;
	j->reader.call.arg = j;
}

static enum collapse_place join(struct bench *b, struct collapse **lead,
				struct joiner *j)
{
	const struct collapse_miss miss = { .key = &key };

	return collapses_join(b->all, &miss, lead, j ? &j->reader : NULL);
}

/* A response without fields; its body is set by who wants one. */
static struct cached *response(void)
{
	const struct freshness freshness = { .lifetime_s = 60 };
	const struct cached_head head = { "http://h/a", &fields_none,
					  &fields_none, 200, &freshness,
					  false };
	struct cached *c = cached_new(&head);

	assert_non_null(c);
	return c;
}

static void test_second_waits_until_the_first_ends(void **state)
{
	struct bench *b = *state;
	struct collapse *lead = NULL, *other = NULL;
	struct joiner j;

	prepare(&j, b);
	assert_int_equal(join(b, &lead, NULL), COLLAPSE_LEADS);
	assert_int_equal(join(b, &other, NULL), COLLAPSE_WAITS);
	assert_null(other);
	assert_int_equal(join(b, &other, &j), COLLAPSE_WAITS);
	collapses_end(b->all, &other, NULL); /* it leads nothing */
	assert_int_equal(j.calls, 0);
	assert_int_equal(collapse_pieces(&j.reader), 0);
	collapse_came(other);
	collapse_came(lead);
	collapse_came(lead);
	assert_int_equal(collapse_pieces(&j.reader), 2);
	assert_int_equal(j.calls, 0);
	collapses_end(b->all, &lead, NULL);
	assert_null(lead);
	assert_int_equal(loop_run(b->loop), 0);
	assert_int_equal(j.calls, 1);
	assert_false(collapse_called(&j.reader));
	assert_true(collapse_leave(&j.reader));
	assert_int_equal(join(b, &other, NULL), COLLAPSE_LEADS);
	collapses_end(b->all, &other, NULL);
}

static void test_who_has_left_is_not_called(void **state)
{
	struct bench *b = *state;
	struct collapse *lead = NULL, *other = NULL;
	struct joiner leaves, stays;

	prepare(&leaves, b);
	prepare(&stays, b);
	join(b, &lead, NULL);
	join(b, &other, &leaves);
	join(b, &other, &stays);
	assert_true(collapse_leave(&leaves.reader));
	assert_true(collapse_leave(&leaves.reader)); /* there is nothing */
	collapses_end(b->all, &lead, NULL);
	assert_false(collapse_leave(&stays.reader));
	assert_int_equal(loop_run(b->loop), 0);
	assert_int_equal(leaves.calls, 0);
	assert_int_equal(stays.calls, 1);
	collapse_called(&stays.reader);
	assert_true(collapse_leave(&stays.reader));
}

/* What renews is not joined either once a walk has ended that may have had what
 * it was found by; what fetches is. */
static void test_what_renews_is_not_joined_after_a_walk(void **state)
{
	struct bench *b = *state;

	for (int renews = 0; renews < 2; renews++) {
		struct collapse_miss miss = { .key = &key, .renews = renews,
					      .begun = 4 };
		struct collapse *old = NULL, *next = NULL;

		collapses_join(b->all, &miss, &old, NULL);
		miss = (struct collapse_miss){ .key = &key, .begun = 7,
					       .settled = 4 };
		assert_int_equal(collapses_join(b->all, &miss, &next, NULL),
				 COLLAPSE_WAITS);
		miss.settled = 5;
		assert_int_equal(collapses_join(b->all, &miss, &next, NULL),
				 renews ? COLLAPSE_LEADS : COLLAPSE_WAITS);
		collapses_end(b->all, &old, NULL);
		collapses_end(b->all, &next, NULL);
	}
}

/* What began before a purge goes on for those who are in it; who comes after
 * leads another. */
static void test_what_began_before_a_purge_is_not_joined(void **state)
{
	struct bench *b = *state;
	struct collapse_miss miss = { .key = &key, .begun = 4 };
	struct collapse *old = NULL, *next = NULL, *last = NULL;
	struct joiner early, late;

	prepare(&early, b);
	prepare(&late, b);
	collapses_join(b->all, &miss, &old, NULL);
	miss.begun = 7;
	miss.purged = 4; /* asked while it was still to come */
	assert_int_equal(collapses_join(b->all, &miss, &last, &early.reader),
			 COLLAPSE_WAITS);
	miss.begun = 6;
	miss.purged = 5;
	assert_int_equal(collapses_join(b->all, &miss, &next, NULL),
			 COLLAPSE_LEADS);
	assert_int_equal(collapses_join(b->all, &miss, &last, &late.reader),
			 COLLAPSE_WAITS);
	collapses_end(b->all, &old, NULL);
	assert_int_equal(loop_run(b->loop), 0);
	assert_int_equal(early.calls, 1);
	assert_int_equal(late.calls, 0);
	collapses_end(b->all, &next, NULL);
	assert_int_equal(loop_run(b->loop), 0);
	assert_int_equal(late.calls, 1);
	collapse_called(&early.reader);
	collapse_called(&late.reader);
	collapse_leave(&early.reader);
	collapse_leave(&late.reader);
}

static void test_ends_alone_when_nobody_has_joined(void **state)
{
	struct bench *b = *state;
	struct collapse *lead = NULL, *next = NULL;
	struct joiner j;

	prepare(&j, b);
	assert_false(collapse_is_joined(lead)); /* not under way */
	assert_true(collapses_end_alone(b->all, &lead));
	assert_int_equal(join(b, &lead, NULL), COLLAPSE_LEADS);
	assert_int_equal(join(b, &next, &j), COLLAPSE_WAITS);
	assert_true(collapse_is_joined(lead));
	assert_false(collapses_end_alone(b->all, &lead));
	assert_non_null(lead);
	assert_true(collapse_leave(&j.reader));
	assert_false(collapse_is_joined(lead));
	assert_true(collapses_end_alone(b->all, &lead));
	assert_null(lead);
	assert_int_equal(join(b, &next, &j), COLLAPSE_LEADS);
	collapses_end(b->all, &next, NULL);
}

/* Reads what comes as it comes; who has use for the whole only is called at the
 * end. */
static void test_a_part_is_read_as_it_comes(void **state)
{
	static const char bytes[] = "abcdef";
	struct bench *b = *state;
	struct collapse *lead = NULL, *other = NULL;
	struct cached *whole = response();
	struct joiner early, late, patient;
	char got[8];

	prepare(&early, b);
	prepare(&late, b);
	prepare(&patient, b);
	patient.reader.for_end = true;
	join(b, &lead, NULL);
	join(b, &other, &early);
	join(b, &other, &patient);
	collapse_show(lead, response(), 6);
	assert_int_equal(loop_run(b->loop), 0);
	assert_int_equal(early.calls, 1);
	assert_true(collapse_called(&early.reader));
	assert_int_equal(collapse_len(&early.reader), 6);
	assert_int_equal(collapse_head(&early.reader)->status, 200);
	assert_int_equal(join(b, &other, &late), COLLAPSE_SHOWN);

	assert_int_equal(collapse_read(&early.reader, got, 8), BODY_WAIT);
	collapse_hold(lead);
	collapse_grow(lead, bytes, 3);
	assert_int_equal(loop_run(b->loop), 0);
	assert_int_equal(early.calls, 2);
	assert_true(collapse_called(&early.reader));
	assert_int_equal(collapse_read(&early.reader, got, 2), 2);
	assert_memory_equal(got, "ab", 2);
	assert_int_equal(collapse_read(&early.reader, got, 8), 1);
	assert_int_equal(collapse_read(&late.reader, got, 8), 3);
	assert_int_equal(collapse_read(&early.reader, got, 8), BODY_WAIT);
	assert_false(collapses_end_alone(b->all, &lead));

	cached_set_body(whole, strdup(bytes), 6);
	collapses_end(b->all, &lead, whole);
	cached_unref(&whole);
	assert_int_equal(loop_run(b->loop), 0);
	assert_int_equal(early.calls, 3);
	assert_int_equal(patient.calls, 1);
	assert_true(collapse_called(&early.reader));
	assert_false(collapse_called(&patient.reader));
	assert_int_equal(collapse_read(&early.reader, got, 8), 3);
	assert_memory_equal(got, "def", 3);
	assert_int_equal(collapse_read(&early.reader, got, 8), BODY_END);
	assert_int_equal(collapse_read(&late.reader, got, 8), 3);
	collapse_leave(&early.reader);
	collapse_leave(&late.reader);
	collapse_leave(&patient.reader);
}

static void test_what_breaks_off_fails(void **state)
{
	static const char bytes[] = "abc";
	struct bench *b = *state;
	struct collapse *lead = NULL, *other = NULL;
	struct joiner j;
	char got[8];

	prepare(&j, b);
	join(b, &lead, NULL);
	collapse_show(lead, response(), 6);
	collapse_hold(lead);
	collapse_grow(lead, bytes, 3);
	assert_int_equal(join(b, &other, &j), COLLAPSE_SHOWN);
	assert_int_equal(collapse_read(&j.reader, got, 2), 2);
	collapses_end(b->all, &lead, NULL);
	assert_int_equal(collapse_read(&j.reader, got, 8), BODY_FAIL);
	collapse_leave(&j.reader);
}

struct leader {
	pthread_t thread;
	struct collapses *all;
	uint64_t number;
	unsigned led;
};

/* Leads for its own two keys, both in the bucket that all threads share. */
static void *lead_two(void *arg)
{
	struct leader *l = arg;
	struct collapse *a = NULL, *b = NULL;
	struct scd_key first = { .lo = l->number * 2 * APART };
	struct scd_key second = { .lo = (l->number * 2 + 1) * APART };
	const struct collapse_miss of_a = { .key = &first };
	const struct collapse_miss of_b = { .key = &second };

	for (int i = 0; i < ROUNDS; i++) {
		l->led += collapses_join(l->all, &of_a, &a, NULL) ==
			  COLLAPSE_LEADS;
		l->led += collapses_join(l->all, &of_b, &b, NULL) ==
			  COLLAPSE_LEADS;
		collapses_end(l->all, i % 2 ? &a : &b, NULL);
		collapses_end(l->all, i % 2 ? &b : &a, NULL);
	}
	return NULL;
}

static void test_threads_share_a_bucket(void **state)
{
	struct bench *b = *state;
	struct leader leaders[THREADS];

	for (unsigned i = 0; i < THREADS; i++) {
		leaders[i] = (struct leader){ .all = b->all, .number = i };
		assert_int_equal(pthread_create(&leaders[i].thread, NULL,
						lead_two, &leaders[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(leaders[i].thread, NULL);
		assert_int_equal(leaders[i].led, 2 * ROUNDS);
	}
}

#define row(test) cmocka_unit_test_setup_teardown(test, make, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		row(test_second_waits_until_the_first_ends),
		row(test_who_has_left_is_not_called),
		row(test_what_renews_is_not_joined_after_a_walk),
		row(test_what_began_before_a_purge_is_not_joined),
		row(test_ends_alone_when_nobody_has_joined),
		row(test_a_part_is_read_as_it_comes),
		row(test_what_breaks_off_fails),
		row(test_threads_share_a_bucket),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

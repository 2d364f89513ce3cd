/*
 * Groups of origins: numbers and what is behind them, from several threads.
 */
#include "digestd/proxy/origin_group.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/os/log.h"
#include "digestd/os/resolver.h"
#include "tests/codec/alloc.h"
#include "tests/rounds.h"
#include "tests/unit.h"

enum { NOW_MS = 1000, THREADS = 3 };

static const struct origin_policy policy = {
	.failures = 2,
	.out_min_ms = 1000,
	.out_max_ms = 8000,
};

static struct origins *all;

static int set_up(void **state)
{
	(void)state;
	log_set_level("error");
	assert_int_equal(origins_new(&all), 0);
	origins_configure(all, &policy);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	origins_free(&all);
	return 0;
}

/* An answer with these ends of 127.0.0. */
static struct resolver_answer addresses(const char *ends)
{
	struct resolver_answer a = { .n = 0 };

	for (; *ends; ends++) {
		struct sockaddr_in *in4 = &a.addresses[a.n++].in4;

		*in4 = (struct sockaddr_in){ .sin_family = AF_INET,
					     .sin_port = htons(80) };
		in4->sin_addr.s_addr =
			htonl(0x7f000000u + (uint32_t)(*ends - '0'));
	}
	return a;
}

static bool take(struct origin_group *g, uint32_t tried,
		 struct origin_turn *turn)
{
	struct origin_ask ask = { .tried = tried, .repeatable = true,
				  .now_ms = NOW_MS };

	memset(turn, 0, sizeof(*turn));
	return origin_group_take(g, &ask, turn);
}

/* What is told of them, as text. */
static void add_status(void *arg, const struct origin_status *s)
{
	char *text = arg;

	sprintf(text + strlen(text), "%s %s %u/%u; ", s->label,
		origin_state_text(s->state), s->outstanding,
		(unsigned)s->requests);
}

static void assert_status(const char *expected)
{
	char text[1000] = "";

	origins_status(all, NOW_MS, add_status, text);
	assert_string_equal(text, expected);
}

static void one_is_asked_without_a_lock(void **state)
{
	struct origin_group *g = origins_find(all, "http://a");
	struct origin_turn turn = { 0 };

	(void)state;
	assert_ptr_equal(origins_find(all, "http://a"), g);
	assert_true(origin_group_take_alone(g, &turn));
	assert_string_equal(turn.url, "http://a");
	assert_string_equal(turn.label, "http://a");
	assert_null(turn.address);
	assert_int_equal(origin_turn_late_ms(&turn), INT64_MAX);
	assert_status("http://a up 1/1; ");
	origin_turn_end(&turn);
	origin_turn_end(&turn);
	assert_status("http://a up 0/1; ");
	/* it can be out, and is back with its first answer after a time */
	origin_turn_judge(&turn, ORIGIN_FAILED, TROUBLE_refused, NOW_MS);
	origin_turn_judge(&turn, ORIGIN_FAILED, TROUBLE_refused, NOW_MS);
	assert_status("http://a out 0/1; ");
	assert_false(origin_group_take_retry(g, 1, false, true));
	origin_turn_answered(&turn, 5, NOW_MS);
	assert_status("http://a out 0/1; ");
	origin_turn_answered(&turn, 5, NOW_MS + policy.out_min_ms);
	assert_status("http://a up 0/1; ");
	origin_turn_release(&turn);
	assert_null(turn.group);
}

/* An answer that nobody measures counts all the same. */
static void silence(void **state)
{
	struct origin_group *g = origins_find(all, "http://a");
	struct origin_turn turn = { 0 };

	(void)state;
	assert_true(origin_group_take_alone(g, &turn));
	origin_turn_answered(&turn, 5, NOW_MS);
	origin_turn_unanswered(&turn, NOW_MS - 10, NOW_MS + 20);
	assert_int_equal(origin_group_condition(g, NOW_MS + 50), ORIGIN_SERVES);
	origin_turn_unanswered(&turn, NOW_MS + 10, NOW_MS + 20);
	assert_int_equal(origin_group_condition(g, NOW_MS + 50), ORIGIN_SILENT);
	assert_true(origin_group_take_trial(g, NOW_MS + 20));
	assert_false(origin_group_take_trial(g, NOW_MS + 20));
	origin_turn_answered(&turn, -1, NOW_MS + 30);
	assert_int_equal(origin_group_condition(g, NOW_MS + 50), ORIGIN_SERVES);
	/* what was asked before that, and is given up only now */
	origin_turn_unanswered(&turn, NOW_MS + 25, NOW_MS + 20);
	assert_int_equal(origin_group_condition(g, NOW_MS + 50), ORIGIN_SERVES);
	/* checks alone take it out */
	for (int i = 0; i < ORIGIN_CHECKS_BAD; i++)
		origin_turn_checked(&turn, TROUBLE_failed_check, NOW_MS + 40);
	assert_int_equal(origin_group_condition(g, NOW_MS + 50), ORIGIN_FAILS);
	origin_turn_release(&turn);
}

static void several_are_asked_in_turn(void **state)
{
	struct origin_group *g = origins_find(all, "http://a,http://b");
	struct origin_turn one = { 0 }, other;

	(void)state;
	assert_false(origin_group_take_alone(g, &one));
	assert_true(take(g, 0, &one));
	assert_true(take(g, 0, &other));
	assert_int_not_equal(one.member, other.member);
	assert_status("http://a up 1/1; http://b up 1/1; ");
	origin_turn_release(&other);
	assert_false(take(g, 3, &other));
	assert_true(take(g, 1u << one.member, &other));
	assert_int_not_equal(one.member, other.member);
	origin_turn_release(&one);
	origin_turn_release(&other);
}

static void a_name_is_its_addresses(void **state)
{
	struct origin_group *g = origins_find(all, "http://n");
	struct resolver_answer two = addresses("12"), moved = addresses("23");
	struct origin_turn turn, other = { 0 };
	unsigned first;

	(void)state;
	origin_group_set_addresses(g, 0, &two);
	assert_status("http://n#127.0.0.1 up 0/0; http://n#127.0.0.2 up 0/0; ");
	do {
		assert_true(take(g, 0, &turn));
		if (strcmp(turn.label, "http://n#127.0.0.1") != 0)
			origin_turn_release(&turn);
	} while (!turn.group);
	first = turn.member;
	assert_non_null(turn.address);
	origin_group_set_addresses(g, 0, &moved);
	/* who has it, still has it; nobody gets its number, or it */
	assert_string_equal(turn.label, "http://n#127.0.0.1");
	for (int i = 0; i < 100; i++) {
		assert_true(take(g, 0, &other));
		assert_int_not_equal(other.member, first);
		origin_turn_release(&other);
	}
	origin_turn_release(&turn);
	two = addresses("24");
	origin_group_set_addresses(g, 0, &two);
	assert_true(origin_group_visit(g, first, &other));
	assert_string_equal(other.label, "http://n#127.0.0.4");
	origin_turn_release(&other);
}

static void checks_take_it_out(void **state)
{
	struct origin_group *g = origins_find(all, "http://a,http://b");
	struct origin_turn turn = { 0 };

	(void)state;
	assert_false(origin_group_visit(g, 2, &turn));
	assert_true(origin_group_visit(g, 1, &turn));
	origin_turn_checked(&turn, TROUBLE_failed_check, NOW_MS);
	origin_turn_checked(&turn, TROUBLE_failed_check, NOW_MS);
	assert_status("http://a up 0/0; http://b out 0/0; ");
	origin_group_unchecked(g);
	assert_status("http://a up 0/0; http://b up 0/0; ");
	origin_turn_release(&turn);
}

static void what_is_not_used_is_not_shown(void **state)
{
	(void)state;
	assert_non_null(origins_find(all, "http://a"));
	origins_configure(all, &policy);
	assert_status("");
	assert_non_null(origins_find(all, "http://a"));
	assert_status("http://a up 0/0; ");
}

static atomic_bool ends;
static atomic_uint asked; /* by all threads */

static void *ask_on(void *arg)
{
	struct origin_group *g = arg;
	uint64_t *n = calloc(1, sizeof(*n));

	while (!atomic_load(&ends)) {
		struct origin_turn turn = { 0 };

		if (!origin_group_take_alone(g, &turn))
			assert_true(take(g, 0, &turn));
		/* the address is the one that it is called by */
		assert_int_equal(
			ntohl(((const struct sockaddr_in *)turn.address)
				      ->sin_addr.s_addr) & 0xff,
			turn.label[strlen(turn.label) - 1] - '0');
		origin_turn_answered(&turn, 1, NOW_MS);
		origin_turn_release(&turn);
		atomic_fetch_add(&asked, 1);
		++*n;
	}
	return n;
}

static void names_move_under_requests(void **state)
{
	static const char *const ends_of[] = { "1", "12", "2", "3", "123" };
	struct origin_group *g = origins_find(all, "http://n");
	struct resolver_answer a = addresses("1");
	pthread_t threads[THREADS];
	uint64_t sum = 0;
	char text[1000] = "";

	(void)state;
	origin_group_set_addresses(g, 0, &a);
	atomic_store(&ends, false);
	atomic_store(&asked, 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ask_on, g),
				 0);
	for (int i = 0; i < rounds_of(20000, 1000000) ||
			atomic_load(&asked) <= 100; i++) {
		a = addresses(ends_of[(size_t)i % NROWS(ends_of)]);
		origin_group_set_addresses(g, 0, &a);
	}
	atomic_store(&ends, true);
	for (int i = 0; i < THREADS; i++) {
		void *n;

		pthread_join(threads[i], &n);
		sum += *(uint64_t *)n;
		free(n);
	}
	assert_true(sum > 100);
	origins_status(all, NOW_MS, add_status, text);
	assert_null(strstr(text, "out"));
	for (const char *s = strchr(text, '/'); (s = strstr(s, " up "));)
		assert_memory_equal(s++, " up 0/", 6);
}

#define TEST(function) \
	cmocka_unit_test_setup_teardown(function, set_up, tear_down)

/* There is a group, with all its URLs, or none. */
static void groups_without_memory(void **state)
{
	static const char urls[] = "http://one http://two, http://three";
	struct origins *some = NULL;
	struct origin_group *g;
	unsigned i = 0;

	(void)state;
	alloc_fail_at(1);
	assert_int_equal(origins_new(&some), -ENOMEM);
	do {
		alloc_fail_at(++i);
		g = origins_find(all, urls);
		assert_true(g ? !alloc_failed() : alloc_failed());
		alloc_fail_at(0);
	} while (!g);
	assert_in_range(i, 5, 20);
	assert_ptr_equal(origins_find(all, urls), g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_is_asked_without_a_lock),
		TEST(silence),
		TEST(several_are_asked_in_turn),
		TEST(a_name_is_its_addresses),
		TEST(checks_take_it_out),
		TEST(what_is_not_used_is_not_shown),
		TEST(names_move_under_requests),
		TEST(groups_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Lookups of names that need no name server: addresses, and localhost.
 */
#include "tests/unit.h"

#include <arpa/inet.h>
#include <string.h>

#include "digestd/os/loop.h"
#include "digestd/os/resolver.h"

enum { MANY = 5 * RESOLVER_THREADS, PORT = 8080 };

/* A label longer than 63 bytes: no name server is asked. */
#define NO_NAME "a123456789b123456789c123456789d123456789e123456789f12345678" \
		"g123456789.invalid"

static struct loop *loop;
static struct resolver *resolver;

struct seen {
	int calls;
	struct resolver_answer answer;
};

static int set_up(void **state)
{
	(void)state;
	assert_int_equal(loop_new(&loop), 0);
	return resolver_new(loop, &resolver);
}

static int tear_down(void **state)
{
	(void)state;
	resolver_free(&resolver);
	assert_null(resolver);
	resolver_free(&resolver);
	loop_free(&loop);
	return 0;
}

static void done(void *arg, const struct resolver_answer *answer)
{
	struct seen *seen = arg;

	seen->calls++;
	seen->answer = *answer;
}

static void look_up(const char *name, struct seen *seen)
{
	struct resolver_query *q;

	assert_int_equal(resolver_start(resolver, name, PORT, done, seen, &q),
			 0);
	while (!seen->calls)
		assert_int_equal(loop_turn(loop, 5000), 0);
}

static void addresses_and_names(void **state)
{
	/* clang-format off */
	static const struct {
		const char *name;
		int family; /* 0: none */
	} rows[] = {
		{ "127.0.0.1", AF_INET }, { "::1", AF_INET6 },
		{ "2130706433", AF_INET }, { "127.1", AF_INET },
		{ NO_NAME, 0 }, { "", 0 },
	};
	/* clang-format on */

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct seen seen = { 0 };

		look_up(rows[i].name, &seen);
		assert_int_equal(seen.answer.n > 0, rows[i].family != 0);
		if (!rows[i].family)
			continue;
		assert_int_equal(seen.answer.addresses[0].any.sa_family,
				 rows[i].family);
		assert_int_equal(ntohs(seen.answer.addresses[0].in4.sin_port),
				 PORT);
	}
}

static void more_than_there_are_threads(void **state)
{
	struct seen seen[MANY] = { 0 };
	struct resolver_query *q[MANY];

	(void)state;
	for (int i = 0; i < MANY; i++)
		assert_int_equal(resolver_start(resolver, "127.0.0.1", PORT,
						done, &seen[i], &q[i]), 0);
	for (int i = 0; i < MANY; i += 2)
		resolver_cancel(&q[i]);
	for (int i = 1; i < MANY; i += 2) {
		while (!seen[i].calls)
			assert_int_equal(loop_turn(loop, 5000), 0);
		assert_int_equal(seen[i].answer.n, 1);
	}
	loop_turn(loop, 0);
	for (int i = 0; i < MANY; i++)
		assert_int_equal(seen[i].calls, i % 2);
}

static void freed_meanwhile(void **state)
{
	static struct seen seen;
	struct resolver_query *q;

	(void)state;
	for (int i = 0; i < MANY; i++)
		assert_int_equal(resolver_start(resolver, "localhost", PORT,
						done, &seen, &q), 0);
}

static void a_name_that_is_too_long(void **state)
{
	struct resolver_query *q;
	char name[300];

	(void)state;
	memset(name, 'a', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	assert_int_not_equal(resolver_start(resolver, name, PORT, done, NULL,
					    &q), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(addresses_and_names, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(more_than_there_are_threads,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(freed_meanwhile, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_name_that_is_too_long,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

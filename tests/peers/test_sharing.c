/*
 * The shared memory of what was seen: what is published of it, and what its
 * statistics say before it is started, while it runs, and after it was stopped.
 */
#include <errno.h>

#include "digestd/fetch/fetch.h"
#include "digestd/os/loop.h"
#include "digestd/peers/digest_request.h"
#include "digestd/peers/sharing.h"
#include "tests/codec/alloc.h"
#include "tests/server/exchange_fake.h"
#include "tests/unit.h"

static const struct sharing_settings settings = {
	.seen = { .window = 100, .nbits = 1024, .nhash = 3 },
	.publishing = {
		.policy = {
			.publish = { .share = 0.01, .min_ms = 1, .max_ms = 5 },
			.resize = { 1024, 1024, 8, 1000 },
		},
		.instance = 7,
		.keep = 2,
	},
	.wait_s = 1,
};

static struct loop *loop;
static struct fetcher *fetcher;

static int set_up(void **state)
{
	(void)state;
	return loop_new(&loop) || fetch_global_init() ||
	       fetcher_new(loop, FETCHER_EXCHANGE, 0, &fetcher);
}

static int tear_down(void **state)
{
	(void)state;
	fetcher_free(&fetcher);
	loop_free(&loop);
	return 0;
}

static void changed(void *arg)
{
	(void)arg;
}

static void use(struct sharing *s, unsigned n)
{
	struct scd_key key = { 0x9e3779b97f4a7c15u * (n + 1), n };

	seen_use(sharing_seen(s), &key);
}

static unsigned status_of_digest(struct sharing *s)
{
	struct exchange x;
	unsigned status;

	exchange_fake_make(&x, loop, "GET", digest_paths_seen.current);
	digest_api_handler.on_request(sharing_api(s), &x);
	status = x.status;
	exchange_fake_free(&x);
	return status;
}

static void test_life(void **state)
{
	const struct sharing_start how = {
		.loop = loop, .fetcher = fetcher, .changed = changed,
	};
	struct sharing_stats stats;
	struct peerset *view;
	struct sharing *s;

	(void)state;
	assert_int_equal(sharing_new(&settings, &s), 0);
	use(s, 1);
	use(s, 2);
	use(s, 1);
	sharing_stats(s, &stats);
	assert_int_equal(stats.seen.nkeys, 2);
	assert_int_equal(stats.published.generation, 0);
	assert_null(stats.follow);
	assert_null(sharing_view(s));
	assert_int_equal(status_of_digest(s), 503);
	assert_int_equal(sharing_start(s, &how), 0);
	do {
		assert_int_equal(loop_turn(loop, 1), 0);
		sharing_stats(s, &stats);
	} while (!stats.published.generation);
	assert_int_equal(status_of_digest(s), 200);
	sharing_stats(s, &stats);
	assert_int_equal(stats.sent.full_sent, 1);
	assert_non_null(stats.follow);
	assert_int_equal(peer_follower_count(stats.follow), 0);
	view = sharing_view(s);
	assert_int_equal(peerset_count(view), 0);
	peerset_unref(view);
	assert_int_equal(sharing_set(s, &settings, NULL, 0), 0);
	sharing_stop(s);
	assert_null(sharing_view(s));
	/* what was published can be had until the end */
	assert_int_equal(status_of_digest(s), 200);
	sharing_free(&s);
	assert_null(s);
	sharing_free(&s);
	assert_int_equal(loop_turn(loop, 0), 0);
}

static void test_errors(void **state)
{
	struct sharing_settings wrong = settings;
	struct sharing *s = NULL;
	bool failed = true;

	(void)state;
	wrong.seen.nhash = 0;
	assert_int_equal(sharing_new(&wrong, &s), -EINVAL);
	assert_null(s);
	for (unsigned n = 1; failed; n++) {
		int err;

		alloc_fail_at(n);
		err = sharing_new(&settings, &s);
		failed = alloc_failed();
		alloc_fail_at(0);
		assert_int_equal(err, failed ? -ENOMEM : 0);
		sharing_free(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_life),
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

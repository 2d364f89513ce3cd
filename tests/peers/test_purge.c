/*
 * Purges without a server: of a target, a prefix and tags; requests that are
 * none; clients that leave and nodes that stop in the middle; and each
 * allocation failing, where what was answered as purged is gone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/http/freshness.h"
#include "digestd/os/loop.h"
#include "digestd/peers/purge.h"
#include "tests/cache/small_cache.h"
#include "tests/codec/alloc.h"
#include "tests/server/exchange_fake.h"
#include "tests/unit.h"

enum { TURNS = 10000, MAX_ALLOCATIONS = 200 };

static struct loop *loop;
static struct cache *cache;
static struct purger purger;

static int set_up(void **state)
{
	const struct cache_settings settings = small_cache_settings();

	(void)state;
	if (loop_new(&loop) || cache_new(&settings, &cache))
		return -1;
	purger = (struct purger){ .loop = loop, .cache = cache };
	memcpy(purger.secret, settings.hash_secret, sizeof(purger.secret));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	purger_stop(&purger);
	cache_free(&cache);
	loop_free(&loop);
	return 0;
}

static void put(const char *uri, const char *tags)
{
	const struct freshness freshness = { .lifetime_s = 60 };
	const struct scd_key key = small_cache_key(uri);
	const struct cache_fill fill = { &key, &fields_none,
					 cache_purges(cache), NULL };
	struct fields fields;
	const struct cached_head head = { uri, &fields, &fields_none, 200,
					  &freshness, false };
	struct cached *c;

	fields_init(&fields);
	assert_int_equal(fields_add(&fields, "Cache-Tag", tags), 0);
	c = cached_new(&head);
	assert_non_null(c);
	c->place = ADMISSION_DISK;
	assert_true(cache_put(cache, &fill, c));
	cached_unref(&c);
	fields_free(&fields);
}

static bool holds(const char *uri)
{
	const struct scd_key key = small_cache_key(uri);

	return cache_holds(cache, &key);
}

static void put_all(void)
{
	put("http://h/a", "red, green");
	put("https://h/a", "red");
	put("http://h/a/b", "green");
	put("http://other/", "blue");
}

static unsigned held(void)
{
	static const char *const uris[] = { "http://h/a", "https://h/a",
					    "http://h/a/b", "http://other/" };
	unsigned n = 0;

	for (size_t i = 0; i < NROWS(uris); i++)
		n += holds(uris[i]);
	return n;
}

/* Begins a purge with one field; null: without. */
static void begin(struct exchange *x, const char *target, const char *name,
		  const char *value)
{
	exchange_fake_make(x, loop, "PURGE", target);
	if (name)
		assert_int_equal(fields_add(&x->fields, name, value), 0);
}

static void finish(struct exchange *x)
{
	for (int i = 0; i < TURNS && !x->answers && !x->aborted; i++)
		assert_int_equal(loop_turn(loop, 10), 0);
}

static void what_is_purged(void **state)
{
	static const char bad_uri[] =
		"Purge-Prefix must be one whole http or https URI\n";
	static const char no_target[] =
		"the target must be a URI, or a path with Host\n";
	/* clang-format off */
	static const struct {
		const char *target, *name, *value;
		unsigned status;
		const char *body;
		unsigned left; /* of the four */
	} rows[] = {
		{ "http://h/a", NULL, NULL, 200, "{\"purged\": 2}", 2 },
		{ "https://h/a", NULL, NULL, 200, "{\"purged\": 2}", 2 },
		{ "http://h/none", NULL, NULL, 200, "{\"purged\": 0}", 4 },
		{ "/a", "Host", "h", 200, "{\"purged\": 2}", 2 },
		{ "/a", NULL, NULL, 400, no_target, 4 },
		{ "ftp://h/a", NULL, NULL, 400, no_target, 4 },
		{ "/", "Purge-Prefix", "http://h/a", 200, "{\"purged\": 3}", 1 },
		{ "/", "Purge-Prefix", "https://H:443/a/", 200, "{\"purged\": 1}", 3 },
		{ "http://h/a", "Purge-Prefix", "http://h/a", 200, "{\"purged\": 3}", 1 },
		{ "/", "Purge-Prefix", "http://", 400, bad_uri, 4 },
		{ "/", "Purge-Prefix", "/a", 400, bad_uri, 4 },
		{ "/", "Purge-Prefix", "", 400, bad_uri, 4 },
		{ "/a", "Purge-Prefix", "http://h/", 400,
		  "with Purge-Prefix the target must be /\n", 4 },
		{ "/", "Purge-Tag", "red", 200, "{\"purged\": 2}", 2 },
		{ "/", "Purge-Tag", "blue, green", 200, "{\"purged\": 3}", 1 },
		{ "/", "Purge-Tag", "yellow", 200, "{\"purged\": 0}", 4 },
		{ "http://all/", "Purge-Tag", "red", 200, "{\"purged\": 2}", 2 },
		{ "/", "Purge-Tag", ", ,", 400,
		  "Purge-Tag must name at least one tag\n", 4 },
		{ "http://h/a", "Purge-Tag", "red", 400,
		  "with Purge-Tag the target must be /\n", 4 },
	};
	/* clang-format on */

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct exchange x;

		put_all();
		begin(&x, rows[i].target, rows[i].name, rows[i].value);
		purge_serve(&purger, &x);
		finish(&x);
		assert_int_equal(x.answers, 1);
		if (x.status != rows[i].status || held() != rows[i].left)
			fail_msg("row %zu: %u, %u left", i, x.status, held());
		if (rows[i].body)
			assert_string_equal(x.body, rows[i].body);
		exchange_fake_free(&x);
	}
}

static void what_excludes_each_other(void **state)
{
	static const struct {
		const char *first, *second, *body;
	} rows[] = {
		{ "Purge-Prefix", "Purge-Prefix",
		  "Purge-Prefix may be given once only\n" },
		{ "Purge-Prefix", "Purge-Tag",
		  "Purge-Prefix and Purge-Tag exclude each other\n" },
		{ "Purge-Tag", "Purge-Prefix",
		  "Purge-Prefix and Purge-Tag exclude each other\n" },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct exchange x;

		put_all();
		begin(&x, "/", rows[i].first, "http://h/");
		assert_int_equal(fields_add(&x.fields, rows[i].second,
					    "http://other/"), 0);
		purge_serve(&purger, &x);
		assert_int_equal(x.status, 400);
		assert_string_equal(x.body, rows[i].body);
		assert_int_equal(held(), 4);
		exchange_fake_free(&x);
	}
}

/* Its client leaves: it is purged all the same. */
static void nobody_waits_for_it(void **state)
{
	struct exchange x;

	(void)state;
	put_all();
	begin(&x, "/", "Purge-Prefix", "http://h/");
	purge_serve(&purger, &x);
	purge_leave(&x);
	exchange_fake_free(&x);
	for (int i = 0; i < TURNS && purger.walks; i++)
		assert_int_equal(loop_turn(loop, 10), 0);
	assert_null(purger.walks);
	assert_int_equal(held(), 1);
	begin(&x, "/", NULL, NULL); /* one that was refused */
	purge_serve(&purger, &x);
	purge_leave(&x);
	assert_int_equal(x.status, 400);
	exchange_fake_free(&x);
}

/* What an order came to. */
struct told {
	unsigned times, status;
	char body[100];
};

static void on_done(void *arg, unsigned status, const char *body)
{
	struct told *t = arg;

	t->times++;
	t->status = status;
	snprintf(t->body, sizeof(t->body), "%s", body ? body : "");
}

static void obey(struct told *t, const char *target, const char *name,
		 const char *value)
{
	struct fields f;
	const struct purge_order o = {
		.target = { target, strlen(target) },
		.fields = &f,
		.asker = "a test",
		.done = on_done,
		.arg = t,
	};

	*t = (struct told){ 0 };
	fields_init(&f);
	if (name)
		assert_int_equal(fields_add(&f, name, value), 0);
	purge_obey(&purger, &o);
	fields_free(&f);
}

static void by_an_order(void **state)
{
	/* clang-format off */
	static const struct {
		const char *target, *name, *value;
		unsigned status;
		const char *body;
		size_t left;
	} rows[] = {
		{ "http://h/a", NULL, NULL, 200, "{\"purged\": 2}", 2 },
		{ "/", "Purge-Prefix", "http://h/a", 200, "{\"purged\": 3}", 1 },
		{ "/", "Purge-Tag", "blue, green", 200, "{\"purged\": 3}", 1 },
		{ "nonsense", NULL, NULL, 400,
		  "the target must be a URI, or a path with Host", 4 },
	};
	/* clang-format on */
	struct told t;

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		put_all();
		obey(&t, rows[i].target, rows[i].name, rows[i].value);
		for (int n = 0; n < TURNS && purger.walks; n++)
			assert_int_equal(loop_turn(loop, 10), 0);
		assert_int_equal(t.times, 1);
		assert_int_equal(t.status, rows[i].status);
		assert_string_equal(t.body, rows[i].body);
		assert_int_equal(held(), rows[i].left);
	}
}

static void an_order_without_memory(void **state)
{
	bool failed = true;
	struct told t;

	(void)state;
	for (unsigned i = 1; failed && i < MAX_ALLOCATIONS; i++) {
		struct fields f;
		const struct purge_order o = {
			.target = { "/", 1 },
			.fields = &f,
			.asker = "a test",
			.done = on_done,
			.arg = &t,
		};

		put_all();
		t = (struct told){ 0 };
		fields_init(&f);
		assert_int_equal(fields_add(&f, "Purge-Tag", "red"), 0);
		alloc_fail_at(i);
		purge_obey(&purger, &o);
		for (int n = 0; n < TURNS && purger.walks; n++)
			assert_int_equal(loop_turn(loop, 10), 0);
		failed = alloc_failed();
		alloc_fail_at(0);
		assert_int_equal(t.times, 1);
		assert_true(t.status == 503 || t.status == 200);
		fields_free(&f);
	}
	assert_false(failed);
}

static void the_node_stops(void **state)
{
	struct exchange one, two;
	struct told t;

	(void)state;
	put_all();
	begin(&one, "/", "Purge-Prefix", "http://h/");
	begin(&two, "/", "Purge-Tag", "blue");
	purge_serve(&purger, &one);
	purge_serve(&purger, &two);
	obey(&t, "/", "Purge-Tag", "blue");
	assert_int_equal(t.times, 0);
	purger_stop(&purger);
	assert_null(purger.walks);
	assert_int_equal(t.times, 1);
	assert_string_equal(t.body, "");
	assert_int_equal(one.answers + two.answers, 0);
	exchange_fake_free(&one);
	exchange_fake_free(&two);
}

/* An error, or it is gone. */
static void without_memory(void **state)
{
	static const char *const how[][3] = {
		{ "http://h/a", NULL, NULL },
		{ "/", "Purge-Prefix", "http://h/" },
		{ "/", "Purge-Tag", "red, green" },
	};

	(void)state;
	for (size_t h = 0; h < NROWS(how); h++) {
		unsigned i = 0;
		bool failed = true;

		while (failed && i < MAX_ALLOCATIONS) {
			struct exchange x;

			put_all();
			begin(&x, how[h][0], how[h][1], how[h][2]);
			alloc_fail_at(++i);
			purge_serve(&purger, &x);
			finish(&x);
			failed = alloc_failed();
			alloc_fail_at(0);
			assert_true(x.aborted || x.status == 503 ||
				    (x.status == 200 && !holds("http://h/a")));
			assert_null(purger.walks);
			exchange_fake_free(&x);
		}
		assert_false(failed);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_purged),
		TEST(what_excludes_each_other),
		TEST(nobody_waits_for_it),
		TEST(by_an_order),
		TEST(an_order_without_memory),
		TEST(the_node_stops),
		TEST(without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

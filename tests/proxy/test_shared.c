/*
 * Joining and leading after a miss, when another worker stores, lands and
 * purges between the two.
 */
#include <string.h>

#include "digestd/proxy/shared.h"
#include "tests/cache/small_cache.h"
#include "tests/unit.h"

static const char uri[] = "http://h/a";

static struct bench {
	struct worker_shared shared;
	struct loop *loop;
	struct scd_key key;
	struct collapse *lead, *other;
	struct collapse_reader reader;
	const struct cached *found; /* not held */
	uint64_t since;             /* when it was found, see shared_want */
	int calls;
} b;

static void called(void *arg)
{
	(void)arg;
	b.calls++;
	loop_stop(b.loop);
}

static int set_up(void **state)
{
	const struct cache_settings settings = small_cache_settings();

	(void)state;
	memset(&b, 0, sizeof(b));
	b.reader.call.run = called;
	b.key = small_cache_key(uri);
	if (cache_new(&settings, &b.shared.cache) ||
	    cache_join(b.shared.cache, &b.shared.reader) ||
	    collapses_new(&b.shared.collapses) ||
	    loop_new(&b.loop))
		return -1;
	b.reader.loop = b.loop;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	collapse_leave(&b.reader);
	collapses_end(b.shared.collapses, &b.lead, NULL);
	collapses_end(b.shared.collapses, &b.other, NULL);
	collapses_free(&b.shared.collapses);
	cache_quit(&b.shared.reader);
	cache_free(&b.shared.cache);
	loop_free(&b.loop);
	return 0;
}

static struct cached *response(void)
{
	return small_cache_response(uri, 200, 0, ADMISSION_DISK);
}

/* What a fill brings that began after so many purges. */
static bool land(struct cached *whole, uint64_t asked, struct collapse **lead)
{
	const struct shared_landing landing = {
		.fill = { &b.key, &fields_none, asked, NULL },
		.whole = whole,
		.lead = lead,
	};

	return shared_land(&b.shared, &landing);
}

static enum shared_place find(const struct cached *known,
			      struct collapse **lead,
			      struct collapse_reader *reader)
{
	const struct shared_want want = {
		.key = &b.key,
		.uri = uri,
		.request = &fields_none,
		.joins = true,
		.known = known,
		.since = b.since,
		.reader = reader,
	};
	struct shared_found found;
	enum shared_place place = shared_find(&b.shared, &want, &found);

	*lead = found.lead;
	b.found = found.stored.c;
	if (found.stored.counted)
		cached_unref(&found.stored.c);
	return place;
}

static void the_second_waits(void **state)
{
	(void)state;
	assert_int_equal(find(NULL, &b.lead, NULL), SHARED_LEADS);
	assert_int_equal(find(NULL, &b.other, NULL), SHARED_NONE);
	assert_int_equal(find(NULL, &b.other, &b.reader), SHARED_WAITS);
	assert_false(land(NULL, 0, &b.lead));
	assert_int_equal(loop_run(b.loop), 0);
	assert_int_equal(b.calls, 1);
	assert_false(collapse_called(&b.reader)); /* there is nothing to see */
}

static void what_is_stored_is_found(void **state)
{
	const struct shared_want want = { .key = &b.key,
					  .uri = uri,
					  .request = &fields_none };
	struct cached *c = response();
	struct shared_found found;

	(void)state;
	assert_int_equal(shared_find(&b.shared, &want, &found), SHARED_NONE);
	assert_int_equal(found.stored.why, CACHESTATUS_URI_MISS);
	assert_int_equal(find(NULL, &b.lead, NULL), SHARED_LEADS);
	assert_true(land(c, 0, &b.lead));
	assert_null(b.lead);
	assert_int_equal(shared_find(&b.shared, &want, &found), SHARED_STORED);
	assert_ptr_equal(found.stored.c, c);
	if (found.stored.counted)
		cached_unref(&found.stored.c);
	cached_unref(&c);
}

/* It has missed, and then the first fill has landed: it does not lead another.
 */
static void what_was_stored_meanwhile_is_found(void **state)
{
	struct cached *c = response();

	(void)state;
	assert_int_equal(find(NULL, &b.lead, NULL), SHARED_LEADS);
	assert_true(land(c, 0, &b.lead));
	assert_int_equal(find(NULL, &b.other, &b.reader), SHARED_STORED);
	assert_ptr_equal(b.found, c);
	assert_null(b.other);
	/* what it has found itself, and found stale, is no news */
	assert_int_equal(find(c, &b.other, &b.reader), SHARED_LEADS);
	cached_unref(&c);
}

/* Neither joined nor stored: what began before a purge. */
static void a_purge_parts_them(void **state)
{
	struct cached *c = response();

	(void)state;
	assert_int_equal(find(NULL, &b.lead, NULL), SHARED_LEADS);
	cache_drop(b.shared.cache, &b.key, NULL, 0);
	assert_int_equal(find(NULL, &b.other, &b.reader), SHARED_LEADS);
	assert_false(land(c, 0, &b.lead));
	assert_int_equal(cached_place(c), ADMISSION_NO);
	cached_unref(&c);
	assert_non_null(b.other);
}

/* What was found is purged before the origin is asked about it: what a 304
 * makes of it is not stored, and who comes later does not join that. */
static void a_purge_meets_what_is_renewed(void **state)
{
	const struct shared_want want = { .key = &b.key,
					  .uri = uri,
					  .request = &fields_none };
	struct cached *c = response(), *renewed = response();
	struct shared_found found;

	(void)state;
	assert_true(land(c, 0, &b.lead));
	assert_int_equal(shared_find(&b.shared, &want, &found), SHARED_STORED);
	assert_ptr_equal(found.stored.c, c);
	if (found.stored.counted)
		cached_unref(&found.stored.c);
	cache_drop(b.shared.cache, &b.key, NULL, 0);
	b.since = found.since;
	assert_int_equal(find(c, &b.lead, NULL), SHARED_LEADS);
	assert_int_equal(find(NULL, &b.other, &b.reader), SHARED_LEADS);
	assert_false(land(renewed, found.since, &b.lead));
	assert_int_equal(shared_find(&b.shared, &want, &found), SHARED_NONE);
	cached_unref(&renewed);
	cached_unref(&c);
}

#define row(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		row(the_second_waits),
		row(what_is_stored_is_found),
		row(what_was_stored_meanwhile_is_found),
		row(a_purge_parts_them),
		row(a_purge_meets_what_is_renewed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

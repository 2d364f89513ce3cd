/*
 * The pure parts of origin and replayer: bodies, targets, answers, outcomes,
 * the histogram of times.
 */
#include "tests/unit.h"

#include <string.h>

#include "cachesim/live/origin_answer.h"
#include "cachesim/live/latency.h"
#include "cachesim/live/served_by.h"
#include "codec/mix.h"

static void any_range_is_checked(void **state)
{
	uint8_t whole[300], part[300];

	(void)state;
	body_fill(42, 0, whole, sizeof(whole));
	for (size_t from = 0; from < 20; from++) {
		for (size_t len = 0; len < 40; len++) {
			body_fill(42, from, part, len);
			assert_memory_equal(part, whole + from, len);
			assert_true(body_check(42, from, part, len));
		}
	}
	whole[299] ^= 1;
	assert_false(body_check(42, 0, whole, 300));
	assert_true(body_check(42, 0, whole, 299));
	assert_false(body_check(43, 0, whole, 8));
}

static void tags_name_hash_and_size(void **state)
{
	static const char *const others[] = {
		"", "\"x\"", "\"o-00000000000000010-5\"",
		"\"o-0000000000000001-\"", "\"o-0000000000000001-05\"",
		"W/\"o-0000000000000001-5\"", "\"o-000000000000000G-5\"",
	};
	char tag[BODY_ETAG_MAX];
	uint64_t hash, size;

	(void)state;
	body_etag(UINT64_MAX, 12345, tag);
	assert_true(body_etag_parse(tag, strlen(tag), &hash, &size));
	assert_true(hash == UINT64_MAX && size == 12345);
	for (size_t i = 0; i < NROWS(others); i++)
		assert_false(body_etag_parse(others[i], strlen(others[i]),
					     &hash, &size));
}

static void targets_are_clean(void **state)
{
	static const struct {
		const char *url, *text, *path;
	} rows[] = {
		{ "http://Host:80/a", "http://host/a", "/a" },
		{ "https://host/a?b", "http://host/a?b", "/a?b" },
		{ "http://host", "http://host/", "/" },
		{ "http://h:81/a b\"", "http://h:81/a%20b%22", "/a%20b%22" },
		{ "123", "http://localhost/123", "/123" },
		{ "ftp://host/a", NULL, NULL },
		{ "http:///a", NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct trace_text url = { rows[i].url, strlen(rows[i].url) };
		struct object_url t;
		int err = object_url_make(&t, url);

		assert_int_equal(err, rows[i].text ? 0 : TRACE_EURL);
		if (err)
			continue;
		assert_string_equal(t.text, rows[i].text);
		assert_string_equal(object_url_path(&t), rows[i].path);
	}
}

static void note(struct objects *o, uint64_t hash, unsigned status,
		 int64_t size)
{
	struct trace_request q;

	trace_request_clear(&q);
	q.status = status;
	q.has_size = size >= 0;
	q.size = size >= 0 ? (uint64_t)size : 0;
	assert_int_equal(objects_note(o, hash, &q), 0);
}

static void answers_follow_the_trace(void **state)
{
	struct objects objects = { NULL, 0, 0 };
	struct origin_answer_rules rules = { &objects, 60 };
	struct object_url t;
	struct origin_answer a, b;

	(void)state;
	object_url_make(&t, (struct trace_text){ "http://h/a", 10 });
	origin_answer_make(&a, &rules, &t, NULL, NULL);
	assert_int_equal(a.status, 404);
	note(&objects, t.hash, 404, 7);
	note(&objects, t.hash, 304, 0);
	note(&objects, t.hash, 200, 100);
	note(&objects, t.hash, 206, 50);
	origin_answer_make(&a, &rules, &t, NULL, NULL);
	assert_int_equal(a.status, 200);
	assert_int_equal(a.size, 100);
	assert_string_equal(a.control, "max-age=60");
	origin_answer_make(&b, &rules, &t, a.etag, NULL);
	assert_int_equal(b.status, 304);
	origin_answer_make(&b, &rules, &t, "\"other\"", a.modified);
	assert_int_equal(b.status, 200);
	origin_answer_make(&b, &rules, &t, NULL, a.modified);
	assert_int_equal(b.status, 304);
	for (uint64_t i = 0; i < 5000; i++)
		note(&objects, scd__mix64(i), 200, (int64_t)i);
	assert_int_equal(objects_find(&objects, scd__mix64(4321))->size,
			 4321);
	objects_free(&objects);
	rules.objects = NULL;
	object_url_make(&t, (struct trace_text){ "http://h/?size=31", 17 });
	origin_answer_make(&a, &rules, &t, NULL, NULL);
	assert_int_equal(a.size, 31);
}

static void outcomes_are_read(void **state)
{
	static const struct {
		const char *value;
		enum served_by served_by;
	} rows[] = {
		{ "a; hit; ttl=5", SERVED_LOCAL },
		{ "a;hit", SERVED_LOCAL },
		{ "a; fwd=uri-miss; stored", SERVED_ORIGIN },
		{ "a; fwd=uri-miss; detail=\"peer=b\"", SERVED_REMOTE },
		{ "b; hit, a; fwd=uri-miss; detail=\"peer=b\"",
		  SERVED_REMOTE },
		{ "a; fwd=uri-miss; collapsed", SERVED_COLLAPSED },
		{ "b; hit, a; fwd=stale", SERVED_ORIGIN },
		{ "b; detail=\"x, y; hit\", a; fwd=miss", SERVED_ORIGIN },
		{ "a", SERVED_UNKNOWN },
		{ "", SERVED_UNKNOWN },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++)
		assert_int_equal(
			served_by_parse(rows[i].value, strlen(rows[i].value)),
			rows[i].served_by);
}

static void quantiles_are_near(void **state)
{
	static struct latency l;

	(void)state;
	assert_int_equal(latency_quantile(&l, 0.5), 0);
	for (uint64_t us = 1; us <= 100000; us++)
		latency_add(&l, us);
	assert_in_range(latency_quantile(&l, 0.5), 50000, 50800);
	assert_in_range(latency_quantile(&l, 0.99), 99000, 100000);
	assert_int_equal(latency_quantile(&l, 1), 100000);
	latency_add(&l, UINT64_MAX);
	assert_true(l.max_us == UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_range_is_checked),
		cmocka_unit_test(tags_name_hash_and_size),
		cmocka_unit_test(targets_are_clean),
		cmocka_unit_test(answers_follow_the_trace),
		cmocka_unit_test(outcomes_are_read),
		cmocka_unit_test(quantiles_are_near),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

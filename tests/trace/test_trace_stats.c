/*
 * What is counted of a trace, against a count by hand and without memory; and
 * the texts of the errors that readers of traces have.
 */
#include <string.h>

#include "cachesim/trace/stats.h"
#include "cachesim/trace/trace_request.h"
#include "tests/codec/alloc.h"
#include "tests/unit.h"

static struct trace_request request_of(uint64_t key, uint64_t client,
				       uint64_t size)
{
	struct trace_request r;

	trace_request_clear(&r);
	r.key = key;
	r.client = client;
	r.size = size;
	r.status = 200;
	r.time_ms = (int64_t)(1000 - key);
	return r;
}

static void totals(void **state)
{
	struct trace_request posted = request_of(4, 2, 1000);
	struct trace_totals t;
	struct trace_stats *s;

	(void)state;
	assert_int_equal(trace_stats_new(&s), 0);
	trace_stats_totals(s, &t);
	assert_int_equal(t.requests + t.objects + t.bytes, 0);
	assert_true(t.hit_ratio == 0 && t.byte_hit_ratio == 0);
	posted.method = (struct trace_text){ "POST", 4 };
	for (uint64_t i = 0; i < 4; i++) {
		/* objects 1, 2 and 3; the last one twice, and larger */
		const struct trace_request r =
			request_of(i < 3 ? i + 1 : 3, i % 2, 100 * (i + 1));

		assert_int_equal(trace_stats_add(s, &r), 0);
	}
	assert_int_equal(trace_stats_add(s, &posted), 0);
	trace_stats_totals(s, &t);
	assert_int_equal(t.requests, 5);
	assert_int_equal(t.uncacheable, 1);
	assert_int_equal(t.objects, 3);
	assert_int_equal(t.clients, 2); /* 0 is none */
	assert_int_equal(t.bytes, 2000);
	assert_int_equal(t.unique_bytes, 100 + 200 + 400);
	assert_int_equal(t.one_hit, 2);
	assert_int_equal(t.first_ms, 996);
	assert_int_equal(t.last_ms, 999);
	assert_true(t.hit_ratio > .199 && t.hit_ratio < .201);
	assert_true(t.byte_hit_ratio > .149 && t.byte_hit_ratio < .151);
	trace_stats_free(&s);
	assert_null(s);
	trace_stats_free(&s);
}

/* A request for which there is no memory is not counted, not even in part. */
static void without_memory(void **state)
{
	enum { MANY = 5000 }; /* the tables grow several times */
	struct trace_totals t;
	struct trace_stats *s;
	uint64_t refused = 0;

	(void)state;
	alloc_fail_at(1);
	assert_int_equal(trace_stats_new(&s), TRACE_ENOMEM);
	alloc_fail_at(0);
	assert_int_equal(trace_stats_new(&s), 0);
	for (uint64_t i = 0; i < MANY; i++) {
		const struct trace_request r = request_of(i, i + 1, 1);

		for (unsigned nth = 2; nth; nth--) {
			alloc_fail_at(nth);
			if (!trace_stats_add(s, &r))
				break;
			refused++;
		}
		alloc_fail_at(0);
		trace_stats_totals(s, &t);
		assert_int_equal(t.objects, t.requests);
		assert_int_equal(t.clients, t.requests);
		assert_int_equal(t.one_hit, t.requests);
	}
	assert_int_equal(refused, 2 * 4); /* of each table, and growth */
	trace_stats_free(&s);
}

/* Each error has a text of its own, and what is libscd's has libscd's. */
static void texts_of_errors(void **state)
{
	static const int codes[] = {
#define X(name, number, text) TRACE_##name,
		TRACE_ERRORS(X)
#undef X
		TRACE_OK, TRACE_ENOMEM, SCD_EINVAL, -100000,
	};

	(void)state;
	for (size_t i = 0; i < NROWS(codes); i++) {
		const char *text = trace_strerror(codes[i]);

		assert_true(*text);
		assert_true(text[strlen(text) - 1] != '.');
		for (size_t j = 0; j < i; j++) {
			if (!strcmp(trace_strerror(codes[j]), text))
				fail_msg("%d, %d: %s", codes[j], codes[i],
					 text);
		}
	}
	assert_string_equal(trace_strerror(TRACE_ENOMEM),
			    scd_strerror(SCD_ENOMEM));
	assert_string_equal(trace_strerror(TRACE_ECUT),
			    "the trace ends inside a record");
}

/* "-" and nothing are no client, and no version. */
static void names(void **state)
{
	static const struct {
		struct trace_text text;
		bool is;
	} rows[] = {
		{ { "-", 1 }, false }, { { "", 0 }, false },
		{ { "a", 1 }, true }, { { "--", 2 }, true },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct trace_request r;

		trace_request_clear(&r);
		trace_request_client(&r, rows[i].text);
		assert_int_equal(r.client != 0, rows[i].is);
		assert_int_equal(r.name.len, rows[i].is ? rows[i].text.len : 0);
		assert_int_equal(trace_version(rows[i].text) != 0, rows[i].is);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(totals),
		cmocka_unit_test(without_memory),
		cmocka_unit_test(texts_of_errors),
		cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

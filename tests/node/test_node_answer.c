/*
 * What a response comes to: a row a case.
 */
#include <stdio.h>

#include "digestd/http/answer.h"
#include "digestd/http/cachecontrol.h"
#include "digestd/http/fields.h"
#include "digestd/http/freshness.h"
#include "digestd/node/node_answer.h"
#include "tests/unit.h"

enum { NOW_S = 1000000 };

struct pair {
	const char *name, *value;
};

static void fill(struct fields *f, const struct pair *pairs, size_t n)
{
	fields_init(f);
	for (size_t i = 0; i < n && pairs[i].name; i++)
		assert_int_equal(fields_add(f, pairs[i].name, pairs[i].value),
				 0);
}

struct peer_row {
	const char *label;
	unsigned status;
	struct pair fields[2], request[1];
	bool other_variant, invalidated;
	enum peer_outcome expected;
};

#define FRESH { "Cache-Control", "max-age=60" }

/* clang-format off */
static const struct peer_row peer_rows[] = {
	{ "fresh", 200, { FRESH }, { { 0 } }, false, false, OUTCOME_HIT },
	{ "old", 200, { FRESH, { "Age", "61" } }, { { 0 } }, false, false, OUTCOME_STALE },
	{ "old for this request", 200, { FRESH, { "Age", "20" } }, { { "Cache-Control", "max-age=10" } }, false, false, OUTCOME_STALE },
	{ "not storable", 200, { { "Cache-Control", "no-store" } }, { { 0 } }, false, false, OUTCOME_FAILED },
	{ "somebody's own", 200, { { "Cache-Control", "private" } }, { { 0 } }, false, false, OUTCOME_FAILED },
	{ "a cookie", 200, { FRESH, { "Set-Cookie", "a=b" } }, { { 0 } }, false, false, OUTCOME_STALE },
	{ "an error", 500, { { 0 } }, { { 0 } }, false, false, OUTCOME_FAILED },
	{ "refused", 407, { { 0 } }, { { 0 } }, false, false, OUTCOME_FAILED },
	{ "for others", 200, { FRESH }, { { 0 } }, true, false, OUTCOME_FAILED },
	{ "from before a purge", 200, { FRESH }, { { 0 } }, false, true, OUTCOME_STALE },
	{ "not there", 504, { { "Cache-Status", "p; fwd=uri-miss" } }, { { 0 } }, false, false, OUTCOME_FALSE_HIT },
	{ "not there, without a word", 504, { { 0 } }, { { 0 } }, false, false, OUTCOME_FALSE_HIT },
	{ "stale there", 504, { { "Cache-Status", "p; fwd=stale" } }, { { 0 } }, false, false, OUTCOME_STALE },
	{ "to be validated there", 504, { { "Cache-Status", "p; fwd=request" } }, { { 0 } }, false, false, OUTCOME_STALE },
	{ "other variants there", 504, { { "Cache-Status", "p; fwd=vary-miss" } }, { { 0 } }, false, false, OUTCOME_VARIANT },
};
/* clang-format on */

static enum peer_outcome judge(const struct peer_row *row)
{
	const struct exchange_times times = { NOW_S, NOW_S, 0 };
	struct fields fields, request;
	struct freshness freshness;
	struct cachecontrol cc;
	struct answer answer;
	struct node_answer a = {
		.status = row->status, .fields = &fields, .answer = &answer,
		.freshness = &freshness, .request = &request, .cc = &cc,
		.right_variant = !row->other_variant,
		.invalidated = row->invalidated, .now_s = NOW_S,
	};
	enum peer_outcome outcome;

	fill(&fields, row->fields, NROWS(row->fields));
	fill(&request, row->request, NROWS(row->request));
	answer_read(&answer, row->status, &fields, NULL);
	cachecontrol_request(&request, &cc);
	freshness_init(&freshness, &answer, &times);
	outcome = node_answer_of_peer(&a);
	fields_free(&fields);
	fields_free(&request);
	return outcome;
}

static void of_peers(void **arg)
{
	(void)arg;
	for (size_t i = 0; i < NROWS(peer_rows); i++) {
		if (judge(&peer_rows[i]) != peer_rows[i].expected)
			fail_msg("%s", peer_rows[i].label);
	}
}

/* clang-format off */
static const struct {
	struct node_origin_answer answer;
	enum node_head expected;
} origin_rows[] = {
	{ { .status = 200 }, NODE_HEAD_USABLE },
	{ { .status = 304 }, NODE_HEAD_USABLE }, /* the client has asked for it */
	{ { .status = 304, .validating = true, .confirms = true }, NODE_HEAD_CONFIRMS },
	{ { .status = 304, .validating = true }, NODE_HEAD_ELSEWHERE },
	{ { .status = 200, .validating = true, .confirms = true }, NODE_HEAD_USABLE },
	{ { .status = 500, .stale_usable = true }, NODE_HEAD_STALE },
	{ { .status = 501, .stale_usable = true }, NODE_HEAD_USABLE },
	{ { .status = 502, .stale_usable = true }, NODE_HEAD_STALE },
	{ { .status = 504, .stale_usable = true }, NODE_HEAD_STALE },
	{ { .status = 505, .stale_usable = true }, NODE_HEAD_USABLE },
	{ { .status = 404, .stale_usable = true }, NODE_HEAD_USABLE },
	{ { .status = 503 }, NODE_HEAD_USABLE },
};
/* clang-format on */

static void of_origins(void **arg)
{
	(void)arg;
	for (size_t i = 0; i < NROWS(origin_rows); i++)
		assert_int_equal(node_answer_of_origin(&origin_rows[i].answer),
				 origin_rows[i].expected);
}

/* clang-format off */
static const struct {
	struct pair field;
	bool shareable, at_peers;
} request_rows[] = {
	{ { 0 }, true, true },
	{ { "Accept", "text/plain" }, true, true },
	{ { "Cache-Control", "no-store" }, false, false },
	{ { "Cache-Control", "no-cache" }, false, false },
	{ { "Cache-Control", "max-age=0" }, true, false },
	{ { "Cache-Control", "max-age=1" }, true, true },
	{ { "Range", "bytes=0-1" }, false, false },
	{ { "Authorization", "Basic eDp5" }, false, false },
};
/* clang-format on */

static void of_requests(void **arg)
{
	(void)arg;
	for (size_t i = 0; i < NROWS(request_rows); i++) {
		struct cachecontrol cc;
		struct fields f;

		fill(&f, &request_rows[i].field, 1);
		cachecontrol_request(&f, &cc);
		assert_int_equal(node_answer_is_shareable(&f, &cc),
				 request_rows[i].shareable);
		assert_int_equal(node_answer_may_be_at_peers(&f, &cc),
				 request_rows[i].at_peers);
		fields_free(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_peers),
		cmocka_unit_test(of_origins),
		cmocka_unit_test(of_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * What a response comes to: a row a case.
 */

#include "digestd/http/cachecontrol.h"
#include "digestd/http/freshness.h"
#include "digestd/http/response_facts.h"
#include "digestd/node/node_answer.h"
#include "tests/node/response_row.h"
#include "tests/unit.h"

struct peer_row {
	const char *label;
	unsigned status;
	struct pair fields[2], request[1];
	bool other_variant, invalidated;
	enum peer_outcome expected;
};

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

static enum peer_outcome judge_on_error(const struct peer_row *row,
					bool on_error,
					unsigned on_disconnect_s)
{
	const struct exchange_times times = { NOW_S, NOW_S, 0, NULL };
	struct fields fields, request;
	struct freshness freshness;
	struct cachecontrol cc;
	struct response_facts facts;
	struct node_answer a = {
		.status = row->status, .fields = &fields, .facts = &facts,
		.freshness = &freshness, .request = &request, .cc = &cc,
		.right_variant = !row->other_variant,
		.invalidated = row->invalidated, .now_s = NOW_S,
		.on_error = on_error, .on_disconnect_s = on_disconnect_s,
	};
	enum peer_outcome outcome;

	response_row_fields(&fields, row->fields, NROWS(row->fields));
	response_row_fields(&request, row->request, NROWS(row->request));
	response_facts_read(&facts, row->status, &fields, NULL);
	cachecontrol_request(&request, &cc);
	freshness_init(&freshness, &facts, &times);
	outcome = node_answer_of_peer(&a);
	fields_free(&fields);
	fields_free(&request);
	return outcome;
}

static enum peer_outcome judge(const struct peer_row *row)
{
	return judge_on_error(row, false, 0);
}

/* While the origin fails a peer's stale copy will do, for as long as it says so
 * itself, or the node does. */
static void of_peers_on_error(void **arg)
{
	/* clang-format off */
	static const struct {
		const char *label, *age, *cc;
		unsigned on_disconnect_s;
		enum peer_outcome expected;
	} rows[] = {
		{ "fresh", "1", "max-age=60", 0, OUTCOME_HIT },
		{ "stale, and says nothing", "70", "max-age=60", 0, OUTCOME_STALE },
		{ "the node says so", "70", "max-age=60", 11, OUTCOME_HIT },
		{ "for less long", "70", "max-age=60", 10, OUTCOME_STALE },
		{ "it says so itself", "70", "max-age=60, stale-if-error=11", 0, OUTCOME_HIT },
		{ "and for less long", "70", "max-age=60, stale-if-error=10", 60, OUTCOME_STALE },
		{ "must-revalidate", "70", "max-age=60, must-revalidate", 60, OUTCOME_STALE },
	};
	/* clang-format on */

	(void)arg;
	for (size_t i = 0; i < NROWS(rows); i++) {
		const struct peer_row row = {
			rows[i].label, 200,
			{ { "Cache-Control", rows[i].cc },
			  { "Age", rows[i].age } },
			{ { 0 } }, false, false, rows[i].expected,
		};

		if (judge_on_error(&row, true, rows[i].on_disconnect_s) !=
		    row.expected)
			fail_msg("%s", row.label);
		/* and not while it does not */
		if (i && judge(&row) != OUTCOME_STALE)
			fail_msg("%s", row.label);
	}
}

/* clang-format off */
static const struct {
	const char *label;
	int64_t born_s, lifetime_s, known_s; /* before now */
	bool other_variant, invalidated;
	enum peer_outcome expected;
} confirmed_rows[] = {
	{ "just confirmed", 0, 60, 70, false, false, OUTCOME_HIT },
	{ "some time ago", 20, 60, 70, false, false, OUTCOME_HIT },
	{ "stale there, too", 60, 60, 70, false, false, OUTCOME_STALE },
	{ "the same answer", 20, 60, 20, false, false, OUTCOME_HIT },
	{ "an older one", 21, 60, 20, false, false, OUTCOME_STALE },
	{ "for others", 0, 60, 70, true, false, OUTCOME_STALE },
	{ "from before a purge", 0, 60, 70, false, true, OUTCOME_STALE },
};
/* clang-format on */

static void of_peers_that_confirm(void **arg)
{
	const struct cachecontrol cc = { .max_age = -1, .min_fresh = -1,
					 .max_stale = -1 };

	(void)arg;
	for (size_t i = 0; i < NROWS(confirmed_rows); i++) {
		const struct freshness_spans spans = {
			.born_s = NOW_S - confirmed_rows[i].born_s,
			.lifetime_s = confirmed_rows[i].lifetime_s,
			.stale_if_error_s = -1,
		};
		const struct freshness_spans before = {
			.born_s = NOW_S - confirmed_rows[i].known_s,
			.stale_if_error_s = -1,
		};
		struct freshness freshness = { .explicit = true };
		struct freshness known = { .explicit = true };
		const struct node_answer a = {
			.freshness = &freshness, .cc = &cc, .known = &known,
			.right_variant = !confirmed_rows[i].other_variant,
			.invalidated = confirmed_rows[i].invalidated,
			.now_s = NOW_S,
		};

		freshness_set(&freshness, &spans);
		freshness_set(&known, &before);
		if (node_answer_of_peer_304(&a) != confirmed_rows[i].expected)
			fail_msg("%s", confirmed_rows[i].label);
	}
}

static void of_peers(void **arg)
{
	(void)arg;
	for (size_t i = 0; i < NROWS(peer_rows); i++) {
		if (judge(&peer_rows[i]) != peer_rows[i].expected)
			fail_msg("%s", peer_rows[i].label);
	}
}

/* What is stored: usable for so long after it went stale, which was LATE_S ago;
 * none: it does not say. */
enum { LATE_S = 30, NONE = -1, NOTHING = -2 };

static struct node_stale stale_for(int64_t error_s, bool never,
				   struct freshness *freshness)
{
	const struct freshness_spans spans = {
		.born_s = NOW_S - LATE_S - 60, .lifetime_s = 60,
		.stale_if_error_s = error_s,
		.stale_while_revalidate_s = CACHECONTROL_NONE,
	};

	*freshness = (struct freshness){ .never_stale = never };
	freshness_set(freshness, &spans);
	return (struct node_stale){
		.freshness = error_s == NOTHING ? NULL : freshness,
		.client = true, .now_s = NOW_S,
	};
}

/* clang-format off */
static const struct {
	unsigned status;
	bool validating, confirms;
	int64_t error_s;
	enum node_head expected;
} origin_rows[] = {
	{ 200, false, false, NOTHING, NODE_HEAD_USABLE },
	{ 304, false, false, NOTHING, NODE_HEAD_USABLE }, /* the client has asked for it */
	{ 304, true, true, NONE, NODE_HEAD_CONFIRMS },
	{ 304, true, false, NONE, NODE_HEAD_ELSEWHERE },
	{ 200, true, true, NONE, NODE_HEAD_USABLE },
	{ 500, false, false, LATE_S + 1, NODE_HEAD_STALE },
	{ 501, false, false, LATE_S + 1, NODE_HEAD_USABLE },
	{ 502, false, false, LATE_S + 1, NODE_HEAD_STALE },
	{ 504, true, false, LATE_S + 1, NODE_HEAD_STALE },
	{ 505, false, false, LATE_S + 1, NODE_HEAD_USABLE },
	{ 404, false, false, LATE_S + 1, NODE_HEAD_USABLE },
	{ 503, false, false, LATE_S, NODE_HEAD_USABLE }, /* too late */
	{ 503, false, false, NONE, NODE_HEAD_USABLE }, /* the origin is there */
	{ 503, false, false, NOTHING, NODE_HEAD_USABLE },
};
/* clang-format on */

static void of_origins(void **arg)
{
	(void)arg;
	for (size_t i = 0; i < NROWS(origin_rows); i++) {
		struct freshness freshness;
		struct node_origin_answer a = {
			.status = origin_rows[i].status,
			.validating = origin_rows[i].validating,
			.confirms = origin_rows[i].confirms,
			.stale = stale_for(origin_rows[i].error_s, false,
					   &freshness),
		};

		a.stale.on_disconnect_s = 2 * LATE_S;
		assert_int_equal(node_answer_of_origin(&a),
				 origin_rows[i].expected);
		a.stale.client = false; /* nobody to give it to */
		if (origin_rows[i].expected == NODE_HEAD_STALE)
			assert_int_equal(node_answer_of_origin(&a),
					 NODE_HEAD_USABLE);
	}
}

static const struct {
	enum fetch_result result;
	unsigned status;
	bool disconnect; /* what does not say how long it is good, is */
} failure_rows[] = {
	{ FETCH_TRUNCATED, 502, true },	 { FETCH_TIMEOUT, 504, true },
	{ FETCH_NOCONNECT, 502, true },	 { FETCH_NOTLS, 502, true },
	{ FETCH_BAD, 502, true },	 { FETCH_UNTRUSTED, 502, false },
	{ FETCH_REFUSED, 403, false },	 { FETCH_NOMEM, 503, false },
};

_Static_assert(NROWS(failure_rows) == FETCH_RESULTS - 1, "all but COMPLETE");

/* Whether what is stored is used, if an age is allowed by itself or by the
 * node's settings. */
static bool stale_is_used(enum fetch_result result, int64_t error_s,
			  unsigned on_disconnect_s, bool never)
{
	struct freshness freshness;
	struct node_stale stale = stale_for(error_s, never, &freshness);

	stale.on_disconnect_s = on_disconnect_s;
	return node_answer_of_failure(result, &stale).stale_usable;
}

static void of_failures(void **arg)
{
	(void)arg;
	for (size_t i = 0; i < NROWS(failure_rows); i++) {
		enum fetch_result result = failure_rows[i].result;
		bool disconnect = failure_rows[i].disconnect;
		struct freshness freshness;
		struct node_stale stale =
			stale_for(LATE_S + 1, false, &freshness);

		assert_int_equal(node_answer_of_failure(result, &stale).status,
				 failure_rows[i].status);
		assert_int_equal(
			node_answer_of_failure(result, &stale).own_fault,
			result == FETCH_NOMEM);
		stale.client = false;
		assert_false(node_answer_of_failure(result, &stale)
				     .stale_usable);
		/* what it says itself, counts in any case */
		assert_true(stale_is_used(result, LATE_S + 1, 0, false));
		assert_false(stale_is_used(result, LATE_S, 3600, false));
		assert_int_equal(stale_is_used(result, NONE, LATE_S + 1, false),
				 disconnect);
		assert_false(stale_is_used(result, NONE, LATE_S, false));
		assert_false(stale_is_used(result, LATE_S + 1, 3600, true));
		assert_false(stale_is_used(result, NOTHING, 3600, false));
	}
}

/* clang-format off */
static const struct {
	const char *label;
	int64_t error_s;
	unsigned on_disconnect_s;
	bool never;
	bool fails, silent; /* whether it is used while they do; the latter:
			       and when an answer does not come in time */
} outage_rows[] = {
	{ "it says so itself", LATE_S + 1, 0, false, true, true },
	{ "for less long", LATE_S, 3600, false, false, false },
	{ "the node says so", NONE, LATE_S + 1, false, false, true },
	{ "for less long", NONE, LATE_S, false, false, false },
	{ "must-revalidate", LATE_S + 1, 3600, true, false, false },
	{ "nothing is stored", NOTHING, 3600, false, false, false },
};
/* clang-format on */

static void of_outages(void **arg)
{
	(void)arg;
	for (size_t i = 0; i < NROWS(outage_rows); i++) {
		struct freshness freshness;
		struct node_stale stale = stale_for(
			outage_rows[i].error_s, outage_rows[i].never,
			&freshness);

		stale.on_disconnect_s = outage_rows[i].on_disconnect_s;
		assert_false(node_answer_of_outage(&stale, ORIGIN_SERVES));
		if (node_answer_of_outage(&stale, ORIGIN_FAILS) !=
			    outage_rows[i].fails ||
		    node_answer_of_outage(&stale, ORIGIN_SILENT) !=
			    outage_rows[i].silent ||
		    node_answer_of_delay(&stale) != outage_rows[i].silent)
			fail_msg("row %zu: %s", i, outage_rows[i].label);
		stale.client = false;
		assert_false(node_answer_of_outage(&stale, ORIGIN_SILENT));
		assert_false(node_answer_of_delay(&stale));
	}
}

struct rejoin_row {
	const char *label;
	unsigned status;
	int64_t begun_len, len;
	struct pair begun[2], fields[2];
	bool same;
};

#define TAG { "ETag", "\"a\"" }

/* clang-format off */
static const struct rejoin_row rejoin_rows[] = {
	{ "the same", 200, 9, 9, { TAG }, { TAG }, true },
	{ "without a tag", 200, 9, 9, { { 0 } }, { { 0 } }, true },
	{ "another status", 206, 9, 9, { TAG }, { TAG }, false },
	{ "an error", 500, 9, 9, { { 0 } }, { { 0 } }, false },
	{ "confirmed, which nobody has asked", 304, 9, -1, { TAG }, { TAG }, false },
	{ "another tag", 200, 9, 9, { TAG }, { { "ETag", "\"b\"" } }, false },
	{ "weak by now", 200, 9, 9, { TAG }, { { "ETag", "W/\"a\"" } }, false },
	{ "no tag any more", 200, 9, 9, { TAG }, { { 0 } }, false },
	{ "a tag by now", 200, 9, 9, { { 0 } }, { TAG }, false },
	{ "longer", 200, 9, 10, { TAG }, { TAG }, false },
	{ "in chunks", 200, 9, -1, { TAG }, { TAG }, true },
	{ "in chunks at first", 200, -1, 9, { TAG }, { TAG }, true },
	{ "compressed by now", 200, -1, -1, { { 0 } }, { { "Content-Encoding", "gzip" } }, false },
	{ "not compressed any more", 200, -1, -1, { { "Content-Encoding", "gzip" } }, { { 0 } }, false },
	{ "of another type", 200, -1, -1, { { "Content-Type", "a/b" } }, { { "Content-Type", "a/c" } }, false },
	{ "of the same type", 200, -1, -1, { { "Content-Type", "a/b" } }, { { "Content-Type", "a/b" } }, true },
	{ "changed since", 200, 9, 9, { { "Last-Modified", "1" } }, { { "Last-Modified", "2" } }, false },
	{ "a weak tag, and changed", 200, 9, 9, { { "ETag", "W/\"a\"" }, { "Last-Modified", "1" } }, { { "ETag", "W/\"a\"" }, { "Last-Modified", "2" } }, false },
	{ "a tag, and another date", 200, 9, 9, { TAG, { "Last-Modified", "1" } }, { TAG, { "Last-Modified", "2" } }, true },
	{ "empty by now", 200, 9, 0, { { 0 } }, { { 0 } }, false },
};
/* clang-format on */

static void of_rejoins(void **arg)
{
	(void)arg;
	for (size_t i = 0; i < NROWS(rejoin_rows); i++) {
		const struct rejoin_row *row = &rejoin_rows[i];
		struct fields begun, fields;
		const struct node_described was = {200, &begun, row->begun_len};
		const struct node_described is = {row->status, &fields,
						  row->len};
		enum node_head head;

		response_row_fields(&begun, row->begun, NROWS(row->begun));
		response_row_fields(&fields, row->fields, NROWS(row->fields));
		head = node_answer_of_rejoin(&was, &is);
		fields_free(&begun);
		fields_free(&fields);
		if (head !=
		    (row->same ? NODE_HEAD_USABLE : NODE_HEAD_UNUSABLE))
			fail_msg("%s", row->label);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_peers),
		cmocka_unit_test(of_peers_on_error),
		cmocka_unit_test(of_peers_that_confirm),
		cmocka_unit_test(of_origins),
		cmocka_unit_test(of_failures),
		cmocka_unit_test(of_outages),
		cmocka_unit_test(of_rejoins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

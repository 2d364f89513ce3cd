/*
 * Which reply a stored response makes: the preconditions of RFC 9110, 13.1, in
 * the order of 13.2.2, a row each; and all of them together.
 */

#include "tests/unit.h"

#include "digestd/node/node_reply.h"
#include "tests/http/message.h"

#define EARLY "Sat, 05 Nov 1994 08:49:37 GMT"
#define THEN  "Sun, 06 Nov 1994 08:49:37 GMT"
#define LATE  "Mon, 07 Nov 1994 08:49:37 GMT"

/* What is stored, but for rows that say so: of ten bytes. */
#define STORED "ETag: \"a\"\nLast-Modified: " THEN "\n"

enum { LEN = 10 };

static const int64_t now_s = 784198177; /* LATE */

enum method { GET, HEAD, POST };

struct reply_row {
	const char *label;
	enum method method;
	const char *request, *stored;
	unsigned stored_status, status;
	size_t first, len; /* of 200 and 206 */
};

/* clang-format off */
static const struct reply_row rows[] = {
	{ "no condition", GET, NULL, STORED, 200, 200, 0, 10 },
	/* steps 1 and 2 are an origin's: a cache does not look at them */
	{ "If-Match that holds", GET, "If-Match: \"a\"", STORED, 200, 200, 0, 10 },
	{ "If-Match that fails", GET, "If-Match: \"b\"", STORED, 200, 200, 0, 10 },
	{ "If-Unmodified-Since that fails", GET, "If-Unmodified-Since: " EARLY, STORED, 200, 200, 0, 10 },
	{ "a failed If-Match before If-None-Match", GET, "If-Match: \"b\"\nIf-None-Match: \"a\"", STORED, 200, 304, 0, 0 },
	/* step 3 */
	{ "If-None-Match, the same", GET, "If-None-Match: \"a\"", STORED, 200, 304, 0, 0 },
	{ "If-None-Match, weakly the same", GET, "If-None-Match: W/\"a\"", STORED, 200, 304, 0, 0 },
	{ "If-None-Match, one of them", GET, "If-None-Match: \"x\", \"a\"", STORED, 200, 304, 0, 0 },
	{ "If-None-Match, another", GET, "If-None-Match: \"b\"", STORED, 200, 200, 0, 10 },
	{ "If-None-Match, any", GET, "If-None-Match: *", STORED, 200, 304, 0, 0 },
	{ "If-None-Match, any, without a tag", GET, "If-None-Match: *", NULL, 200, 304, 0, 0 },
	{ "If-None-Match, HEAD", HEAD, "If-None-Match: \"a\"", STORED, 200, 304, 0, 0 },
	{ "If-None-Match before If-Modified-Since: same, later", GET, "If-None-Match: \"a\"\nIf-Modified-Since: " EARLY, STORED, 200, 304, 0, 0 },
	{ "If-None-Match before If-Modified-Since: other, not later", GET, "If-None-Match: \"b\"\nIf-Modified-Since: " LATE, STORED, 200, 200, 0, 10 },
	/* step 4 */
	{ "If-Modified-Since, at that time", GET, "If-Modified-Since: " THEN, STORED, 200, 304, 0, 0 },
	{ "If-Modified-Since, before it", GET, "If-Modified-Since: " EARLY, STORED, 200, 200, 0, 10 },
	{ "If-Modified-Since, HEAD", HEAD, "If-Modified-Since: " LATE, STORED, 200, 304, 0, 0 },
	{ "If-Modified-Since that is no date", GET, "If-Modified-Since: now", STORED, 200, 200, 0, 10 },
	{ "If-Modified-Since, by Date", GET, "If-Modified-Since: " THEN, "Date: " THEN, 200, 304, 0, 0 },
	{ "If-Modified-Since, without any date", GET, "If-Modified-Since: " LATE, "ETag: \"a\"", 200, 200, 0, 10 },
	/* step 5 */
	{ "a range", GET, "Range: bytes=2-4", STORED, 200, 206, 2, 3 },
	{ "a suffix", GET, "Range: bytes=-4", STORED, 200, 206, 6, 4 },
	{ "a range behind the end", GET, "Range: bytes=10-", STORED, 200, 416, 0, 0 },
	{ "several ranges", GET, "Range: bytes=0-1,3-4", STORED, 200, 200, 0, 10 },
	{ "a range, HEAD", HEAD, "Range: bytes=2-4", STORED, 200, 200, 0, 10 },
	{ "a range behind the end, HEAD", HEAD, "Range: bytes=10-", STORED, 200, 200, 0, 10 },
	{ "If-Range, the same", GET, "Range: bytes=2-4\nIf-Range: \"a\"", STORED, 200, 206, 2, 3 },
	{ "If-Range, another", GET, "Range: bytes=2-4\nIf-Range: \"b\"", STORED, 200, 200, 0, 10 },
	{ "If-Range, another, behind the end", GET, "Range: bytes=10-\nIf-Range: \"b\"", STORED, 200, 200, 0, 10 },
	{ "If-Range, the same, behind the end", GET, "Range: bytes=10-\nIf-Range: \"a\"", STORED, 200, 416, 0, 0 },
	{ "If-Range, a date", GET, "Range: bytes=2-4\nIf-Range: " THEN, STORED, 200, 206, 2, 3 },
	{ "If-Range, a later date", GET, "Range: bytes=2-4\nIf-Range: " LATE, STORED, 200, 200, 0, 10 },
	{ "If-Range without Range", GET, "If-Range: \"b\"", STORED, 200, 200, 0, 10 },
	/* 3 and 4 before 5 */
	{ "not modified before a range", GET, "If-None-Match: \"a\"\nRange: bytes=2-4", STORED, 200, 304, 0, 0 },
	{ "not modified before no such range", GET, "If-None-Match: \"a\"\nRange: bytes=10-", STORED, 200, 304, 0, 0 },
	{ "modified, and a range", GET, "If-None-Match: \"b\"\nRange: bytes=2-4", STORED, 200, 206, 2, 3 },
	{ "modified, and no such range", GET, "If-Modified-Since: " EARLY "\nRange: bytes=10-", STORED, 200, 416, 0, 0 },
	{ "modified, and If-Range of another", GET, "If-None-Match: \"b\"\nRange: bytes=2-4\nIf-Range: \"b\"", STORED, 200, 200, 0, 10 },
	/* without them it would not be a 200: they are ignored (13.2.1) */
	{ "a stored 404", GET, "If-None-Match: \"a\"", STORED, 404, 404, 0, 10 },
	{ "a part of a stored 404", GET, "Range: bytes=2-4", STORED, 404, 404, 0, 10 },
	{ "a stored 301, behind its end", GET, "Range: bytes=10-", STORED, 301, 301, 0, 10 },
	/* what is stored of a POST answers it whole */
	{ "POST", POST, "If-None-Match: \"a\"\nRange: bytes=2-4", STORED, 200, 200, 0, 10 },
};
/* clang-format on */

static struct node_reply reply_for(enum method method,
				   const struct fields *request,
				   const struct fields *stored, unsigned status)
{
	const struct node_reply_facts facts = {
		.request = request,
		.get = method == GET,
		.cacheable = method != POST,
		.status = status,
		.stored = stored,
		.len = LEN,
		.wall_s = now_s,
	};

	return node_reply_of(&facts);
}

static unsigned status_of(enum node_reply_kind kind, unsigned stored_status)
{
	switch (kind) {
	case NODE_SENDS_ALL:
		break;
	case NODE_SENDS_PART:
		return 206;
	case NODE_SENDS_NOT_MODIFIED:
		return 304;
	case NODE_SENDS_NO_PART:
		return 416;
	}
	return stored_status;
}

static void each_condition(void **arg)
{
	(void)arg;
	for (size_t i = 0; i < NROWS(rows); i++) {
		const struct reply_row *row = &rows[i];
		struct fields request, stored;
		struct node_reply reply;

		message_must(&request, row->request);
		message_must(&stored, row->stored);
		reply = reply_for(row->method, &request, &stored,
				  row->stored_status);
		fields_free(&request);
		fields_free(&stored);
		if (reply.status != row->status ||
		    reply.status != status_of(reply.kind, row->stored_status))
			fail_msg("%s: %u", row->label, reply.status);
		if (row->len && (reply.part.first != row->first ||
				 reply.part.len != row->len))
			fail_msg("%s: %zu bytes from %zu on", row->label,
				 reply.part.len, reply.part.first);
	}
}

/* The whole table of 13.2.2, by the book: each field is not there, holds or
 * does not. */
enum truth { ABSENT, HOLDS, FAILS, TRUTHS };

static unsigned by_the_book(enum method method, enum truth none,
			    enum truth since, enum truth range,
			    enum truth if_range)
{
	if (none == FAILS)
		return 304;
	if (none == ABSENT && since == FAILS)
		return 304;
	if (method == GET && range != ABSENT && if_range != FAILS)
		return range == HOLDS ? 206 : 416;
	return 200;
}

static void add(struct fields *f, enum truth truth, const char *name,
		const char *holds, const char *fails)
{
	if (truth != ABSENT)
		assert_int_equal(fields_add(f, name,
					    truth == HOLDS ? holds : fails),
				 0);
}

static void all_conditions(void **arg)
{
	struct fields stored;

	(void)arg;
	message_must(&stored, STORED);
	for (unsigned n = 0; n < 2 * 729; n++) {
		const enum truth match = (enum truth)(n % 3);
		const enum truth unmodified = (enum truth)(n / 3 % 3);
		const enum truth none = (enum truth)(n / 9 % 3);
		const enum truth since = (enum truth)(n / 27 % 3);
		const enum truth range = (enum truth)(n / 81 % 3);
		const enum truth if_range = (enum truth)(n / 243 % 3);
		const enum method method = n / 729 % 2 ? HEAD : GET;
		struct node_reply reply;
		struct fields f;

		fields_init(&f);
		/* against the order in which they count */
		add(&f, if_range, "If-Range", "\"a\"", "\"b\"");
		add(&f, range, "Range", "bytes=2-4", "bytes=10-");
		add(&f, since, "If-Modified-Since", EARLY, THEN);
		add(&f, none, "If-None-Match", "\"b\"", "\"a\"");
		add(&f, unmodified, "If-Unmodified-Since", LATE, EARLY);
		add(&f, match, "If-Match", "\"a\"", "\"b\"");
		reply = reply_for(method, &f, &stored, 200);
		fields_free(&f);
		if (reply.status !=
		    by_the_book(method, none, since, range, if_range))
			fail_msg("case %u: %u", n, reply.status);
	}
	fields_free(&stored);
}

/* An empty body is nothing that a part could be of. */
static void an_empty_body(void **arg)
{
	struct node_reply_facts facts = {
		.get = true, .cacheable = true, .status = 200, .wall_s = now_s};
	struct fields request;

	(void)arg;
	message_must(&request, "Range: bytes=0-");
	facts.request = &request;
	facts.stored = &fields_none;
	assert_int_equal(node_reply_of(&facts).kind, NODE_SENDS_NO_PART);
	fields_free(&request);
	facts.request = &fields_none;
	assert_int_equal(node_reply_of(&facts).kind, NODE_SENDS_ALL);
	assert_int_equal(node_reply_of(&facts).part.len, 0);
}

/* What is missing of a large object matters where bytes are sent of it, and not
 * where it has just been asked for. */
static void missing_slices(void **arg)
{
	static const enum node_reply_kind kinds[] = {
		NODE_SENDS_ALL,
		NODE_SENDS_PART,
		NODE_SENDS_NOT_MODIFIED,
		NODE_SENDS_NO_PART,
	};

	(void)arg;
	for (unsigned facts = 0; facts < 8 * NROWS(kinds); facts++) {
		const struct node_reply reply = {.kind = kinds[facts / 8]};
		const struct node_reply_slices slices = {
			facts & 1, facts & 2, facts & 4};
		const bool sends = facts / 8 < 2 && !slices.head;

		assert_int_equal(node_reply_rest_of(&reply, &slices),
				 !sends || slices.fetched ? NODE_REST_NONE :
				 slices.alone		  ? NODE_REST_REFUSED :
							    NODE_REST_FETCHED);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_condition),
		cmocka_unit_test(all_conditions),
		cmocka_unit_test(an_empty_body),
		cmocka_unit_test(missing_slices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * What a proxy changes in messages that pass through it.
 */
#include "tests/unit.h"

#include "digestd/http/forward.h"
#include "digestd/http/httpdate.h"
#include "tests/codec/alloc.h"
#include "tests/http/message.h"

enum { NOW_S = 784111777 }; /* Sun, 06 Nov 1994 08:49:37 GMT */

static const struct forward_request how = { "me", "h:8080", 0, false,
					     NULL };

#define MARKS "Host: h:8080\nVia: 1.0 me\nCDN-Loop: me\n"
#define ASK "Cache-Control: only-if-cached\nProxy-Authorization: Bearer t\n"

static const struct {
	const char *request, *origin, *peer;
} rows[] = {
	{ NULL, MARKS, ASK MARKS },
	{ "A: 1\nHost: other\nB: 2", "A: 1\nB: 2\n" MARKS,
	  "A: 1\nB: 2\n" ASK MARKS },
	{ "Expect: 100-continue\nA: 1", "A: 1\n" MARKS, "A: 1\n" ASK MARKS },
	{ "Connection: x\nX: 1\nTE: trailers\nA: 1", "A: 1\n" MARKS,
	  "A: 1\n" ASK MARKS },
	{ "Proxy-Authorization: Basic x\nAuthorization: y",
	  "Authorization: y\n" MARKS, "Authorization: y\n" ASK MARKS },
	{ "Connection: Host, Via\nHost: x\nVia: 1.1 a", MARKS, ASK MARKS },
	{ "Via: 1.1 a\nCDN-Loop: c",
	  "Via: 1.1 a\nCDN-Loop: c\n" MARKS, ASK MARKS },
	{ "Scd-Lease: who\nSCD-Need: 0123456789abcdef-9",
	  "Scd-Lease: who\nSCD-Need: 0123456789abcdef-9\n" MARKS,
	  ASK MARKS },
	{ "Cache-Control: max-age=10\nCache-Control: min-fresh=5\n"
	  "Pragma: x\nCookie: c",
	  "Cache-Control: max-age=10\nCache-Control: min-fresh=5\n"
	  "Pragma: x\nCookie: c\n" MARKS,
	  "Cookie: c\n" ASK MARKS },
	{ "If-None-Match: *\nIf-Match: *\nIf-Range: x\nA: 1\n"
	  "If-Modified-Since: x\nIf-Unmodified-Since: x",
	  "If-None-Match: *\nIf-Match: *\nIf-Range: x\nA: 1\n"
	  "If-Modified-Since: x\nIf-Unmodified-Since: x\n" MARKS,
	  "A: 1\n" ASK MARKS },
};

static void requests(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct fields request, out;
		char text[MESSAGE_MAX];

		message_must(&request, rows[i].request);
		assert_int_equal(forward_to_origin(&request, &how, &out), 0);
		assert_string_equal(message_text(&out, text), rows[i].origin);
		fields_free(&out);
		assert_int_equal(forward_to_peer(&request, &how, "t", &out), 0);
		assert_string_equal(message_text(&out, text), rows[i].peer);
		fields_free(&out);
		fields_free(&request);
	}
}

static const struct {
	const char *response, *stored;
} responses[] = {
	{ "A: 1", "A: 1\nDate: Sun, 06 Nov 1994 08:49:37 GMT\n" },
	{ "Date: x\nA: 1", "Date: x\nA: 1\n" },
	{ "Date: \nA: 1", "A: 1\nDate: Sun, 06 Nov 1994 08:49:37 GMT\n" },
	{ "Date: x\nConnection: a, close\nA: 1\nB: 2\nKeep-Alive: 3\n"
	  "Transfer-Encoding: chunked\nProxy-Authenticate: x",
	  "Date: x\nB: 2\n" },
	{ "Connection: date\nDate: x",
	  "Date: Sun, 06 Nov 1994 08:49:37 GMT\n" },
	{ "Date: x\nSet-Cookie: a=b\nSet-Cookie: c=d",
	  "Date: x\nSet-Cookie: a=b\nSet-Cookie: c=d\n" },
};

static void answers(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(responses); i++) {
		struct httpdate_last dates = { 0 };
		struct fields response;
		char text[MESSAGE_MAX];

		message_must(&response, responses[i].response);
		assert_int_equal(forward_response(&response, NOW_S, &dates),
				 0);
		assert_string_equal(message_text(&response, text),
				    responses[i].stored);
		fields_free(&response);
	}
}

/* With a host that is not within what a list has at first. */
static int prepare(int what, const struct fields *from, struct fields *out)
{
	const struct forward_request far = { "me", fields_get(from, "C"), 0,
					     false, NULL };
	struct httpdate_last dates = { 0 };

	if (what == 0)
		return forward_to_origin(from, &far, out);
	if (what == 1)
		return forward_to_peer(from, &far, "t", out);
	return fields_copy(from, out) || forward_response(out, NOW_S, &dates);
}

static void without_memory(void **state)
{
	static char large[2000];
	struct fields from, out;

	(void)state;
	memset(large, 'v', sizeof(large) - 1);
	message_must(&from, "A: 1\nB: 2");
	assert_int_equal(fields_add(&from, "C", large), 0);
	for (int what = 0; what < 3; what++) {
		unsigned n = 0;
		int err;

		do {
			alloc_fail_at(++n);
			err = prepare(what, &from, &out);
			assert_int_equal(err != 0, alloc_failed());
			if (err)
				assert_int_equal(fields_memory(&out), 0);
			else
				fields_free(&out);
		} while (alloc_failed());
		assert_true(n > 2);
	}
	fields_free(&from);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests),
		cmocka_unit_test(answers),
		cmocka_unit_test(without_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

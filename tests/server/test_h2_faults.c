/*
 * What clients of HTTP/2 get from a server that has no memory, or whose calls
 * of the system fail: the i-th, for every i. The answer, a stream that is reset
 * or the end of the connection; the next one gets the answer, and each exchange
 * that began has ended.
 */
#include <errno.h>
#include <string.h>

#include "tests/os/fault_kinds.h"
#include "tests/server/h2_client.h"
#include "tests/server/served.h"
#include "tests/spared.h"

enum { MAX_CALLS = 200, FEW_CALLS = 20, QUIET = 2 };

static pthread_t clients;

bool spared_thread(void)
{
	return pthread_equal(pthread_self(), clients);
}

static const nghttp2_nv trailer = {
	(uint8_t *)(uintptr_t)"a", (uint8_t *)(uintptr_t)"b", 1, 1, 0
};
static const struct h2_field te[] = { { "te", "trailers" },
				      { "cookie", "a" }, { NULL, NULL } };

static const struct row {
	const char *method, *path;
	size_t body;     /* of the request */
	unsigned status;
	size_t len;      /* of the answer */
} rows[] = {
	{ "GET", "/a%41?q", 0, 200, 7 },
	{ "GET", "/chunks", 0, 200, 5000 },
	{ "GET", "/big", 0, 200, BIG },
	{ "GET", "/hints", 0, 200, 6 },
	{ "GET", "/a#b", 0, 400, 16 },
	{ "POST", "/upload", 60000, 200, 5 },
};

/* Two of them on one connection. Whether both were answered. */
static bool ask_row(const struct row *row)
{
	struct h2_answer *one, *two;
	struct h2_client c;
	int32_t ids[2];
	bool right;

	h2_client_open(&c, false);
	for (int i = 0; i < 2; i++) {
		ids[i] = h2_client_ask(&c, row->method, row->path, te,
				       row->body);
		h2_client_answer(&c, ids[i])->trailer = &trailer;
	}
	one = h2_client_wait(&c, ids[0]);
	two = h2_client_wait(&c, ids[1]);
	right = one->status == row->status && one->len == row->len &&
		one->ended && two->len == row->len && two->ended;
	if (one->ended && one->status == row->status)
		assert_int_equal(one->len, row->len);
	h2_client_close(&c);
	return right;
}

static bool round_fails(const struct row *row, unsigned i,
			const struct fault_kind *kind)
{
	bool failed;

	kind->arm(i);
	ask_row(row);
	failed = kind->disarm();
	if (!ask_row(row))
		fail_msg("%s after fault %u", row->path, i);
	return failed;
}

static void each_round(const struct fault_kind *kind)
{
	for (size_t r = 0; r < NROWS(rows); r++) {
		/* in the middle of a large body all calls are the same */
		unsigned max = rows[r].len == BIG ? FEW_CALLS : MAX_CALLS;
		unsigned quiet = 0, i;

		for (i = 1; i < max && quiet < QUIET; i++)
			quiet = round_fails(&rows[r], i, kind) ?
					0 : quiet + 1;
		assert_in_range(i, QUIET, MAX_CALLS - 1);
	}
}

static void without_memory(void **state)
{
	(void)state;
	each_round(&fault_of_memory);
}

static const struct failing_call failing_calls[] = {
	{ "recv", ECONNRESET }, { "sendmsg", EPIPE }, { "epoll_ctl", ENOSPC },
};

static void with_calls_that_fail(void **state)
{
	(void)state;
	for (size_t f = 0; f < NROWS(failing_calls); f++) {
		each_round(fault_of_call(&failing_calls[f]));
	}
}

static int set_up(void **state)
{
	clients = pthread_self();
	at.strict = at.http2 = true;
	return served_set_up(state);
}

static int tear_down(void **state)
{
	int err = served_tear_down(state);

	assert_int_equal(atomic_load(&at.done) + atomic_load(&at.aborted),
			 atomic_load(&at.begun));
	return err;
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(without_memory),
		TEST(with_calls_that_fail),
	};
#undef TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}

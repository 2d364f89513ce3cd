/*
 * What clients of HTTP/2 get from a server that has no memory, or whose calls
 * of the system or of nghttp2 fail: the i-th, for every i. The answer, a stream
 * that is reset or the end of the connection; the next one gets the answer, and
 * each exchange that began has ended.
 */
#include <errno.h>

#include "tests/codec/alloc.h"
#include "tests/os/call_faults.h"
#include "tests/os/fault_kinds.h"
#include "tests/server/h2_client.h"
#include "tests/server/served.h"
#include "tests/spared.h"

enum { MAX_CALLS = 200, FEW_CALLS = 10, QUIET = 2 };

static pthread_t clients;
static bool unspared; /* what the clients' thread does fails, too */

bool spared_thread(void)
{
	return !unspared && pthread_equal(pthread_self(), clients);
}

/* What nghttp2 says when it has no memory. */
/* clang-format off */
CALL_WRAPPER(int, nghttp2_session_callbacks_new, (nghttp2_session_callbacks **a),
	     (a), NGHTTP2_ERR_NOMEM)
CALL_WRAPPER(int, nghttp2_option_new, (nghttp2_option **a), (a), NGHTTP2_ERR_NOMEM)
CALL_WRAPPER(int, nghttp2_session_server_new2,
	     (nghttp2_session **a, const nghttp2_session_callbacks *b, void *c,
	      const nghttp2_option *d), (a, b, c, d), NGHTTP2_ERR_NOMEM)
CALL_WRAPPER(int, nghttp2_submit_settings,
	     (nghttp2_session *a, uint8_t b, const nghttp2_settings_entry *c, size_t d),
	     (a, b, c, d), NGHTTP2_ERR_NOMEM)
CALL_WRAPPER(int, nghttp2_session_set_local_window_size,
	     (nghttp2_session *a, uint8_t b, int32_t c, int32_t d),
	     (a, b, c, d), NGHTTP2_ERR_NOMEM)
CALL_WRAPPER(int, nghttp2_submit_response,
	     (nghttp2_session *a, int32_t b, const nghttp2_nv *c, size_t d,
	      const nghttp2_data_provider *e), (a, b, c, d, e), NGHTTP2_ERR_NOMEM)
CALL_WRAPPER(int, nghttp2_submit_trailer,
	     (nghttp2_session *a, int32_t b, const nghttp2_nv *c, size_t d),
	     (a, b, c, d), NGHTTP2_ERR_NOMEM)
CALL_WRAPPER(ssize_t, nghttp2_session_mem_recv,
	     (nghttp2_session *a, const uint8_t *b, size_t c), (a, b, c),
	     NGHTTP2_ERR_NOMEM)
CALL_WRAPPER(ssize_t, nghttp2_session_mem_send,
	     (nghttp2_session *a, const uint8_t **b), (a, b), NGHTTP2_ERR_NOMEM)
/* clang-format on */

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
	{ "HEAD", "/shared", 0, 203, 0 },
	{ "HEAD", "/written", 0, 203, 0 },
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

/* Each exchange that began has ended. */
static void stop_server(void)
{
	assert_int_equal(served_tear_down(NULL), 0);
	assert_int_equal(atomic_load(&at.done) + atomic_load(&at.aborted),
			 atomic_load(&at.begun));
}

/* fresh: by a server that has served nothing, and so has kept no memory. */
static bool round_fails(const struct row *row, unsigned i,
			const struct fault_kind *kind, bool fresh)
{
	bool failed;

	if (fresh) {
		stop_server();
		assert_int_equal(served_set_up(NULL), 0);
	}
	kind->arm(i);
	ask_row(row);
	failed = kind->disarm();
	/* a large body would take most of the time that all of this takes */
	if (!ask_row(row->len == BIG ? rows : row))
		fail_msg("%s after fault %u", row->path, i);
	return failed;
}

static void each_round(const struct fault_kind *kind, bool fresh)
{
	for (size_t r = 0; r < NROWS(rows); r++) {
		/* in the middle of a large body all calls are the same */
		unsigned max = rows[r].len == BIG ? FEW_CALLS : MAX_CALLS;
		unsigned quiet = 0, i;

		for (i = 1; i < max && quiet < QUIET; i++)
			quiet = round_fails(&rows[r], i, kind, fresh) ?
					0 : quiet + 1;
		assert_in_range(i, QUIET, MAX_CALLS - 1);
	}
}

static void without_memory(void **state)
{
	(void)state;
	each_round(&fault_of_memory, true);
}

static void with_calls_that_fail(void **state)
{
	static const struct failing_call calls[] = {
		{ "recv", ECONNRESET }, { "sendmsg", EPIPE },
		{ "epoll_ctl", ENOSPC },
		{ "nghttp2_session_server_new2", 0 },
		{ "nghttp2_submit_settings", 0 },
		{ "nghttp2_session_set_local_window_size", 0 },
		{ "nghttp2_submit_response", 0 },
		{ "nghttp2_submit_trailer", 0 },
		{ "nghttp2_session_mem_recv", 0 },
		{ "nghttp2_session_mem_send", 0 },
	};

	(void)state;
	for (size_t f = 0; f < NROWS(calls); f++)
		each_round(fault_of_call(&calls[f]), false);
}

/* Servers that cannot be made leave nothing. */
static void none_is_made(void **state)
{
	static const struct failing_call calls[] = {
		{ "nghttp2_session_callbacks_new", 0 },
		{ "nghttp2_option_new", 0 }, { "epoll_ctl", ENOSPC },
	};

	(void)state;
	for (size_t c = 0; c < NROWS(calls) + 1; c++) {
		const struct fault_kind *kind =
			c < NROWS(calls) ? fault_of_call(&calls[c]) :
					   &fault_of_memory;
		unsigned descriptors = call_descriptors(), i = 0;
		int err;

		do {
			struct server *server = NULL;
			struct loop *loop;

			assert_int_equal(loop_new(&loop), 0);
			kind->arm(++i);
			unspared = true;
			err = served_make(loop, &server);
			unspared = false;
			assert_int_equal(kind->disarm(), err != 0);
			server_free(&server);
			loop_free(&loop);
			assert_int_equal(call_descriptors(), descriptors);
		} while (err && i < MAX_CALLS);
		assert_in_range(i, 2, MAX_CALLS - 1);
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
	(void)state;
	stop_server();
	return 0;
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(without_memory),
		TEST(with_calls_that_fail),
		cmocka_unit_test(none_is_made),
	};
#undef TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}

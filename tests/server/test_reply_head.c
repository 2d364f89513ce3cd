/*
 * Headers of replies as bytes, and replies that are made once: which fields go
 * out, whatever their number, and what is left when there is no memory.
 */
#include "digestd/server/reply_head.h"

#include <stdlib.h>
#include <string.h>

#include "digestd/http/fields.h"
#include "digestd/server/shared_reply.h"
#include "tests/codec/alloc.h"
#include "tests/unit.h"

/* Those of the connection are the server's to write, in any case of letters;
 * what only looks like them is not. */
static void whose_fields_are_written(void **state)
{
	static const struct {
		const char *name;
		bool own;
	} rows[] = {
		{ "Connection", true }, { "cONNECTION", true },
		{ "Content-Length", true }, { "content-type", false },
		{ "Keep-Alive", true }, { "Key", false },
		{ "Proxy-Connection", true }, { "Pragma", false },
		{ "Trailer", true }, { "transfer-encoding", true },
		{ "TE", false }, { "upgrade", true }, { "User-Agent", false },
		{ "Date", false }, { "X-Connection", false },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++)
		if (server_writes_field(rows[i].name,
					strlen(rows[i].name)) != rows[i].own)
			fail_msg("%s", rows[i].name);
}

static void fields_become_lines(void **state)
{
	struct reply_head head = { 0 };
	struct fields f;

	(void)state;
	fields_init(&f);
	assert_int_equal(fields_add(&f, "A", "b"), 0);
	assert_int_equal(fields_add(&f, "Empty", ""), 0);
	assert_int_equal(fields_add(&f, "Connection", "close"), 0);
	reply_head_begin(&head, 404);
	assert_false(reply_head_add_fields(&head, &f));
	assert_false(reply_head_add_fields(&head, NULL));
	assert_int_equal(fields_add(&f, "date", "now"), 0);
	assert_true(reply_head_add_fields(&head, &f));
	reply_head_add_length(&head, UINT64_MAX);
	reply_head_add_date(&head, 0);
	reply_head_add_bytes(&head, "", 1);
	assert_string_equal(head.text,
			    "HTTP/1.1 404 Not Found\r\nA: b\r\nEmpty: \r\n"
			    "A: b\r\nEmpty: \r\ndate: now\r\n"
			    "Content-Length: 18446744073709551615\r\n"
			    "Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n");
	reply_head_free(&head);
	assert_null(head.text);
	fields_free(&f);
}

/* A value of any length has room, with what was there before. */
static void long_values(void **state)
{
	static char value[100001];

	(void)state;
	for (size_t len = 1; len < sizeof(value); len *= 10) {
		struct reply_head head = { 0 };

		memset(value, 'v', len);
		value[len] = '\0';
		reply_head_begin(&head, 200);
		reply_head_add(&head, "A", value);
		reply_head_add_bytes(&head, "", 1);
		assert_false(head.failed);
		assert_int_equal(strlen(head.text),
				 strlen("HTTP/1.1 200 OK\r\nA: \r\n") + len);
		reply_head_free(&head);
	}
}

/* A line is there or it is not, and what failed once stays so until another
 * header begins. */
static void without_memory(void **state)
{
	struct reply_head head = { 0 };
	char value[2000];

	(void)state;
	memset(value, 'v', sizeof(value) - 1);
	value[sizeof(value) - 1] = '\0';
	reply_head_begin(&head, 200);
	alloc_fail_at(1);
	reply_head_add(&head, "A", value);
	alloc_fail_at(0);
	assert_true(head.failed);
	assert_int_equal(head.len, strlen("HTTP/1.1 200 OK\r\n"));
	reply_head_add(&head, "B", "c");
	assert_true(head.failed);
	assert_int_equal(head.len, strlen("HTTP/1.1 200 OK\r\n"));
	reply_head_begin(&head, 200);
	reply_head_add(&head, "A", value);
	assert_false(head.failed);
	reply_head_free(&head);
}

static int released;

static void release(void *arg)
{
	assert_string_equal(arg, "body");
	released++;
}

/* The last user of a shared reply releases its body; so does one that cannot be
 * made. */
static void shared_replies_release_their_body(void **state)
{
	const struct body_memory body = { "body", 4, release,
					  (char[]){ "body" } };
	const struct body_memory constant = { .data = "body", .len = 4 };
	struct shared_reply *reply;

	(void)state;
	released = 0;
	reply = shared_reply_new(200, NULL, &body);
	assert_ptr_equal(shared_reply_ref(reply), reply);
	shared_reply_unref(reply);
	assert_int_equal(released, 0);
	shared_reply_unref(reply);
	assert_int_equal(released, 1);
	for (int i = 1; i <= 2; i++) {
		alloc_fail_at((unsigned)i);
		assert_null(shared_reply_new(200, NULL, &body));
		assert_true(alloc_failed());
		assert_int_equal(released, 1 + i);
		alloc_fail_at((unsigned)i);
		assert_null(shared_reply_new(200, NULL, &constant));
	}
	alloc_fail_at(0);
	shared_reply_unref(shared_reply_new(200, NULL, &constant));
	shared_reply_unref(NULL);
	assert_int_equal(released, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whose_fields_are_written),
		cmocka_unit_test(fields_become_lines),
		cmocka_unit_test(long_values),
		cmocka_unit_test(without_memory),
		cmocka_unit_test(shared_replies_release_their_body),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Stored responses: what they are made of comes back, whatever their tail has;
 * whose body is whose; and what they take of memory, which is held here, since
 * every object of a node takes it.
 */
#include "tests/unit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "digestd/disk/cached.h"
#include "tests/codec/alloc.h"
#include "tests/http/message.h"

#define URI "http://127.0.0.1:20000/miss/1/12345"
#define FIELDS "Server: nginx/1.22.1\n" \
	       "Date: Sun, 06 Nov 1994 08:49:37 GMT\n" \
	       "Content-Type: text/plain\n" \
	       "Content-Length: 1024\n" \
	       "Cache-Control: max-age=86400\n"

/* One of these; null without memory. */
static struct cached *make(const char *selecting, bool for_disk)
{
	struct fields fields = { 0 }, selects = { 0 };
	struct freshness freshness = { .lifetime_s = 86400 };
	struct cached_head head = { URI, &fields, &selects, 304, &freshness,
				    for_disk };
	struct cached *c = NULL;

	if (!message_read(&fields, FIELDS) &&
	    !message_read(&selects, selecting))
		c = cached_new(&head);
	fields_free(&fields);
	fields_free(&selects);
	return c;
}

static char *bytes(size_t len)
{
	char *at = malloc(len);

	assert_non_null(at);
	memset(at, 'x', len);
	return at;
}

static const struct {
	const char *selecting;
	bool for_disk;
	size_t memory; /* beside the body [bytes] */
} tails[] = {
	{ "", false, 139 },
	{ "", true, 155 },
	{ "Accept-Language: fr\n", false, 246 },
	{ "Accept-Language: fr\n", true, 262 },
};

static void what_is_kept(void **state)
{
	char text[MESSAGE_MAX];

	(void)state;
	for (size_t i = 0; i < NROWS(tails); i++) {
		struct cached *c = make(tails[i].selecting, tails[i].for_disk);
		struct fields fields;

		assert_int_equal(cached_memory(c), tails[i].memory);
		assert_int_equal(c->status, 304);
		assert_int_equal(c->freshness.lifetime_s, 86400);
		assert_string_equal(cached_uri(c), URI);
		assert_int_equal(cached_fields(c, &fields), 0);
		assert_string_equal(message_text(&fields, text), FIELDS);
		assert_string_equal(message_text(cached_selecting(c), text),
				    tails[i].selecting);
		assert_int_equal(cached_disk(c) != NULL, tails[i].for_disk);
		if (cached_disk(c)) {
			assert_int_equal(cached_disk(c)->id, 0);
			assert_null(cached_disk(c)->entry);
		}
		fields_free(&fields);
		cached_unref(&c);
		assert_null(c);
	}
}

/* Which of them other nodes may have, by the line that comes first, or behind
 * the record of a large object. */
static void where_it_came_from(void **state)
{
	static const struct {
		const char *names[3];
		bool from_peer, unvouched, sliced;
	} rows[] = {
		{ { "ETag" }, false, false, false },
		{ { NULL }, false, false, false },
		{ { ":source", "ETag" }, true, true, false },
		{ { ":from", ":source" }, true, false, false },
		{ { ":slices" }, false, false, true },
		{ { ":slices", ":source" }, true, true, true },
		{ { ":slices", ":from", "ETag" }, true, false, true },
		{ { ":slices", "ETag", ":source" }, false, false, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct freshness freshness = { 0 };
		struct cached_head head = { .uri = "http://a/",
					    .selecting = &fields_none,
					    .status = 200,
					    .freshness = &freshness };
		struct fields f;
		struct cached *c;

		fields_init(&f);
		for (size_t n = 0; n < 3 && rows[i].names[n]; n++)
			assert_int_equal(fields_add(&f, rows[i].names[n],
						    "value"), 0);
		head.fields = &f;
		c = cached_new(&head);
		assert_non_null(c);
		assert_int_equal(c->from_peer, rows[i].from_peer);
		assert_int_equal(c->unvouched, rows[i].unvouched);
		assert_int_equal(c->sliced, rows[i].sliced);
		cached_unref(&c);
		fields_free(&f);
	}
}

static void a_body_in_memory(void **state)
{
	struct cached *c = make("", false);
	char *body = bytes(1000);

	(void)state;
	assert_null(cached_body(c));
	assert_int_equal(c->body_len, 0);
	cached_set_body(c, NULL, CACHED_BODY_MAX);
	assert_true(c->body_len == CACHED_BODY_MAX);
	cached_set_body(c, body, 1000);
	assert_ptr_equal(cached_body(c), body);
	assert_null(cached_file(c));
	assert_int_equal(c->body_len, 1000);
	assert_null(cached_shares(c));
	assert_int_equal(c->status, 304); /* its neighbour */
	cached_unref(&c);
}

/* Closed with the last that has it. */
static void a_body_in_a_file(void **state)
{
	struct cached *c = make("", true), *next = make("", true);
	struct cached_file *file = calloc(1, sizeof(*file));
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_non_null(file);
	file->fd = ends[1];
	cached_set_file(c, file, 70000);
	cached_share_body(next, c);
	assert_null(cached_body(next));
	assert_ptr_equal(cached_file(next), file);
	assert_int_equal(next->body_len, 70000);
	cached_unref(&c);
	assert_int_equal(write(ends[1], "x", 1), 1);
	cached_unref(&next);
	assert_int_equal(close(ends[1]), -1);
	close(ends[0]);
}

/* Of one after the other, which are all the first one's. */
static void a_shared_body(void **state)
{
	struct cached *first = make("", false), *c = cached_ref(first), *next;

	(void)state;
	cached_set_body(first, bytes(10), 10);
	for (unsigned i = 0; i < 3; i++) {
		next = make("", false);
		cached_share_body(next, c);
		cached_unref(&c);
		c = next;
		assert_ptr_equal(cached_shares(c), first);
		assert_ptr_equal(cached_body(c), cached_body(first));
		assert_int_equal(c->body_len, 10);
		assert_int_equal(first->refs, 2);
	}
	cached_unref(&first);
	assert_memory_equal(cached_body(c), "xxxxxxxxxx", 10);
	cached_unref(&c);
}

static void without_memory(void **state)
{
	unsigned n = 1;
	int failed;

	(void)state;
	do {
		struct cached *c;

		alloc_fail_at(n++);
		c = make("Accept-Language: fr\n", true);
		failed = alloc_failed();
		alloc_fail_at(0);
		/* what only saves memory may fail: see fields_fit() */
		if (!c)
			assert_true(failed);
		cached_unref(&c);
	} while (failed);
	assert_true(n > 5);
}

/* A text as it was stored is one; what has lost its end, or has bytes behind
 * it that are no fields, is none. */
static void what_is_no_text(void **state)
{
	struct cached *c = make("", false);
	const char *text;
	char *copy;
	size_t len;

	(void)state;
	assert_non_null(c);
	text = cached_text(c, &len);
	assert_true(cached_text_is_good(text, len));
	assert_false(cached_text_is_good(text, 0));
	assert_false(cached_text_is_good(text, strlen(URI)));
	assert_false(cached_text_is_good(text, len - 1));
	copy = malloc(len);
	assert_non_null(copy);
	memcpy(copy, text, len);
	memset(copy + strlen(URI) + 1, 0xff, len - strlen(URI) - 1);
	assert_false(cached_text_is_good(copy, len));
	free(copy);
	cached_unref(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_kept),
		cmocka_unit_test(where_it_came_from),
		cmocka_unit_test(a_body_in_memory),
		cmocka_unit_test(a_body_in_a_file),
		cmocka_unit_test(a_shared_body),
		cmocka_unit_test(what_is_no_text),
		cmocka_unit_test(without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

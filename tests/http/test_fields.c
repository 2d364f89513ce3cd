/*
 * Header fields: lines, list elements, and what belongs to a connection.
 */
#include "tests/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/codec/alloc.h"
#include "tests/http/message.h"

static void lines(void **state)
{
	struct fields f, copy;
	char text[MESSAGE_MAX];

	(void)state;
	message_must(&f, "A: 1\nb: 2\na: 3\nC: \n");
	assert_int_equal(fields_count(&f), 4);
	assert_string_equal(fields_get(&f, "A"), "1");
	assert_string_equal(fields_get(&f, "B"), "2");
	assert_string_equal(fields_get(&f, "c"), "");
	assert_null(fields_get(&f, "d"));
	assert_int_equal(fields_lines(&f, "a"), 2);
	assert_int_equal(fields_lines(&f, "d"), 0);
	assert_int_equal(fields_copy(&f, &copy), 0);
	assert_int_equal(fields_set(&f, "a", fields_get(&f, "B")), 0);
	assert_string_equal(message_text(&f, text), "b: 2\nC: \na: 2\n");
	fields_remove(&f, "B");
	assert_string_equal(message_text(&f, text), "C: \na: 2\n");
	assert_string_equal(message_text(&copy, text),
			    "A: 1\nb: 2\na: 3\nC: \n");
	fields_clear(&f);
	assert_int_equal(fields_count(&f), 0);
	assert_int_equal(fields_add(&f, "x", "y"), 0);
	assert_string_equal(message_text(&f, text), "x: y\n");
	fields_free(&f);
	fields_free(&copy);
	assert_int_equal(fields_memory(&f), 0);
}

/*
 * Names are looked for by a bit of their first letter and their length: all
 * that are there are found, in either case, and others that have the same bit
 * are not.
 */
static void names_of_one_bit(void **state)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0-_";
	struct fields f, copy;
	char name[40], other[40];

	(void)state;
	for (size_t len = 1; len < sizeof(name); len++) {
		for (size_t i = 0; letters[i]; i++) {
			fields_init(&f);
			memset(name, 'x', len);
			name[0] = letters[i];
			name[len] = '\0';
			memcpy(other, name, len + 1);
			other[0] = letters[i] >= 'a' && letters[i] <= 'z' ?
					   (char)(letters[i] - 'a' + 'A') :
					   letters[i];
			assert_int_equal(fields_add(&f, name, "1"), 0);
			assert_string_equal(fields_get(&f, other), "1");
			assert_true(fields_has_token(&f, other, "1"));
			if (len > 1) {
				other[len - 1] = 'y';
				assert_true(fields_may_have(&f, other));
				assert_null(fields_get(&f, other));
				assert_int_equal(fields_set(&f, other, "2"), 0);
				assert_int_equal(fields_count(&f), 2);
				assert_string_equal(fields_get(&f, name), "1");
				fields_remove(&f, name);
				assert_null(fields_get(&f, name));
				assert_string_equal(fields_get(&f, other), "2");
			}
			assert_int_equal(fields_copy(&f, &copy), 0);
			name[len - 1] = other[len - 1];
			assert_non_null(fields_get(&copy, name));
			fields_fit(&copy);
			assert_non_null(fields_get(&copy, name));
			fields_clear(&copy);
			assert_false(fields_may_have(&copy, name));
			fields_free(&copy);
			fields_free(&f);
		}
	}
}

/* What was given stays where it is while the list grows. */
static void values_do_not_move(void **state)
{
	static char large[3000];
	struct fields f;
	const char *first;

	(void)state;
	memset(large, 'v', sizeof(large) - 1);
	message_must(&f, "First: value\n");
	first = fields_get(&f, "First");
	for (int i = 0; i < 100; i++)
		assert_int_equal(fields_add(&f, "Name", i % 10 ? "v" : large),
				 0);
	assert_ptr_equal(fields_get(&f, "First"), first);
	assert_string_equal(first, "value");
	assert_int_equal(fields_count(&f), 101);
	assert_true(fields_memory(&f) > 10 * sizeof(large));
	fields_free(&f);
}

static const struct {
	const char *lines;
	const char *elements; /* of L, each in brackets */
} lists[] = {
	{ NULL, "" },
	{ "L: ", "" },
	{ "L: a", "[a]" },
	{ "L: a,b , c\t", "[a][b][c]" },
	{ "L: ,, a, ,b,", "[a][b]" },
	{ "L: a\nX: y\nl: b, c", "[a][b][c]" },
	{ "L: ,\nL:  \nL: z", "[z]" },
	{ "L: \"a, b\", c", "[\"a, b\"][c]" },
	{ "L: x=\"a\\\", b\", c", "[x=\"a\\\", b\"][c]" },
	{ "L: \"open, c\nL: d", "[\"open, c][d]" },
	{ "L: end\\", "[end\\]" },
	{ "L: \"end\\", "[\"end\\]" },
	{ "L: a b , c", "[a b][c]" },
};

static void list_elements(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(lists); i++) {
		struct field_cursor cursor = { 0 };
		struct field_part e;
		struct fields f;
		char text[256] = "";

		message_must(&f, lists[i].lines);
		while (fields_next(&f, "L", &cursor, &e))
			sprintf(text + strlen(text), "[%.*s]", (int)e.len,
				e.at);
		assert_string_equal(text, lists[i].elements);
		assert_false(fields_next(&f, "L", &cursor, &e));
		fields_free(&f);
	}
}

static void tokens(void **state)
{
	static const struct {
		const char *text;
		bool token;
	} rows[] = {
		{ "GET", true }, { "!#$%&'*+-.^_`|~", true }, { "09az", true },
		{ "", false },	 { "a b", false },	      { "a:", false },
		{ "\"a", false }, { "a\x7f", false },	      { "\xe4", false },
		{ "(", false },	 { "a,", false },	      { "a/b", false },
	};
	struct fields f;

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++)
		assert_int_equal(field_is_token(rows[i].text,
						strlen(rows[i].text)),
				 rows[i].token);
	assert_false(field_is_token("a\0b", 3));
	message_must(&f, "L: gzip, Chunked\nL: \"quoted\"");
	assert_true(fields_has_token(&f, "l", "chunked"));
	assert_false(fields_has_token(&f, "L", "chunk"));
	assert_false(fields_has_token(&f, "L", "quoted"));
	fields_free(&f);
}

static void seconds(void **state)
{
	static const struct {
		const char *text;
		int64_t value;
	} rows[] = {
		{ "0", 0 },
		{ "007", 7 },
		{ "2147483647", 2147483647 },
		{ "2147483648", 2147483647 },
		{ "99999999999999999999999999999", 2147483647 },
		{ "", -1 },
		{ "-1", -1 },
		{ "+1", -1 },
		{ "1.0", -1 },
		{ "1 ", -1 },
		{ "0x1", -1 },
		{ "a", -1 },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		struct field_part part = { rows[i].text,
					   strlen(rows[i].text) };

		assert_int_equal(field_seconds(part), rows[i].value);
	}
}

static const struct {
	const char *before, *after;
} hops[] = {
	{ "A: 1\nB: 2", "A: 1\nB: 2\n" },
	{ "Connection: close\nA: 1", "A: 1\n" },
	{ "Keep-Alive: 5\nTE: x\nTrailer: x\nUpgrade: h2c\n"
	  "Proxy-Connection: x\nProxy-Authorization: x\n"
	  "Proxy-Authenticate: x\nProxy-Authentication-Info: x\n"
	  "transfer-encoding: chunked\nA: 1",
	  "A: 1\n" },
	{ "Connection: a, B\nA: 1\nb: 2\na: 3\nC: 4", "C: 4\n" },
	{ "A: 1\nConnection: a\nC: 4\nConnection: , c\nD: 5", "D: 5\n" },
	{ "Connection: connection, x\nConnection: y\nX: 1\nY: 2\nZ: 3",
	  "Z: 3\n" },
	{ "X: 1\nY: 2\nZ: 3\nConnection: x\nConnection: y", "Z: 3\n" },
	{ "TE: x\nTE-X: 1", "TE-X: 1\n" },
};

static void hop_by_hop(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(hops); i++) {
		char text[MESSAGE_MAX];
		struct fields f;

		message_must(&f, hops[i].before);
		fields_remove_hop_by_hop(&f);
		assert_string_equal(message_text(&f, text), hops[i].after);
		fields_free(&f);
	}
}

/* The lines stay, what was removed goes, and more can be added. */
static void fits(void **state)
{
	struct fields f;
	char text[MESSAGE_MAX];
	size_t fitted;

	(void)state;
	message_must(&f, "A: 1\nb: 2\nB: two\nC: \n");
	fields_remove(&f, "b");
	fitted = fields_fitted(&f);
	fields_fit(&f);
	assert_int_equal(fields_memory(&f), fitted);
	assert_string_equal(message_text(&f, text), "A: 1\nC: \n");
	/* 7 bytes of text, two lines, and what tells a block of text */
	assert_true(fields_memory(&f) <= 7 + 2 * sizeof(struct field) + 32);
	assert_int_equal(fields_add(&f, "D", "4"), 0);
	assert_string_equal(message_text(&f, text), "A: 1\nC: \nD: 4\n");
	fields_clear(&f);
	assert_int_equal(fields_fitted(&f), 0);
	fields_fit(&f);
	assert_int_equal(fields_memory(&f), 0);
	fields_fit(&f);
	assert_int_equal(fields_count(&f), 0);
	fields_free(&f);
}

/* Any allocation may fail: the list is then as it was. */
static void without_memory(void **state)
{
	static char large[1500];
	char before[MESSAGE_MAX], text[MESSAGE_MAX];
	struct fields f, copy;
	unsigned n = 0;

	(void)state;
	memset(large, 'v', sizeof(large) - 1);
	do {
		fields_init(&f);
		alloc_fail_at(++n);
		for (int i = 0; i < 40; i++) {
			message_text(&f, before);
			if (!fields_add(&f, "A", i % 20 ? "1" : large))
				continue;
			assert_true(alloc_failed());
			assert_string_equal(message_text(&f, text), before);
			break;
		}
		if (fields_copy(&f, &copy))
			assert_int_equal(fields_memory(&copy), 0);
		else
			fields_free(&copy);
		message_text(&f, before);
		if (fields_set(&f, "A", large))
			assert_string_equal(message_text(&f, text), before);
		else
			assert_int_equal(fields_count(&f), 1);
		message_text(&f, before);
		fields_fit(&f);
		assert_string_equal(message_text(&f, text), before);
		fields_free(&f);
	} while (alloc_failed());
	assert_true(n > 5);
}

/* Lines whose text is in an older block, in the newest, or nobody's own. */
static void a_copy_has_text_of_its_own(void **state)
{
	static const char *const borrowed[] = { "Borrowed", "value" };
	char large[3000], before[MESSAGE_MAX], text[MESSAGE_MAX];
	struct fields f, copy, again;

	(void)state;
	memset(large, 'x', sizeof(large) - 1);
	large[sizeof(large) - 1] = '\0';
	fields_init(&f);
	for (int i = 0; i < 20; i++) {
		assert_int_equal(fields_add(&f, "Own", "1"), 0);
		assert_int_equal(fields_borrow(&f, borrowed[0], borrowed[1]),
				 0);
		if (i == 10)
			assert_int_equal(fields_add(&f, "Large", large), 0);
	}
	message_text(&f, before);
	assert_int_equal(fields_copy(&f, &copy), 0);
	assert_int_equal(fields_copy(&copy, &again), 0);
	fields_free(&f);
	for (size_t i = 0; i < fields_count(&copy); i++)
		assert_ptr_not_equal(fields_at(&copy, i)->name, borrowed[0]);
	assert_string_equal(message_text(&copy, text), before);
	fields_free(&copy);
	assert_string_equal(message_text(&again, text), before);
	assert_int_equal(fields_add(&again, "More", "2"), 0);
	fields_free(&again);
}

/* A list that is emptied has room for as much again, and no more. */
static void an_emptied_list_keeps_its_memory(void **state)
{
	struct fields f;
	size_t memory;

	(void)state;
	for (int n = 10; n <= 40; n += 30) { /* with room for 16, and more */
		fields_init(&f);
		for (int i = 0; i < n; i++)
			assert_int_equal(fields_add(&f, "Name", "value"), 0);
		memory = fields_memory(&f);
		for (int i = 0; i < 10; i++) {
			fields_clear(&f);
			assert_int_equal(fields_count(&f), 0);
			for (int k = 0; k < n; k++)
				assert_int_equal(fields_add(&f, "Name",
							    "other"), 0);
			assert_string_equal(fields_get(&f, "name"), "other");
			assert_int_equal(fields_memory(&f), memory);
		}
		fields_free(&f);
	}
}

/* What a list says of its memory is what it has asked for: while its lines are
 * in a block, and once they have moved. */
static void it_knows_what_it_takes(void **state)
{
	static const unsigned counts[] = { 1, 16, 17, 32 };
	char value[200];

	(void)state;
	memset(value, 'v', sizeof(value));
	for (size_t i = 0; i < NROWS(counts); i++) {
		struct fields f, copy;

		alloc_bytes();
		fields_init(&f);
		for (unsigned n = 0; n < counts[i]; n++)
			assert_int_equal(fields_add_n(&f, "Name", 4, value,
						      sizeof(value)), 0);
		assert_int_equal(fields_memory(&f), alloc_bytes());
		assert_int_equal(fields_copy(&f, &copy), 0);
		assert_int_equal(fields_memory(&copy), alloc_bytes());
		fields_fit(&f);
		assert_int_equal(fields_memory(&f), alloc_bytes());
		fields_free(&copy);
		fields_free(&f);
	}
}

static int lower_of(int c)
{
	return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}

/* Each pair of bytes, in each place of texts that are read in different ways.
 */
static void same_but_for_case(void **state)
{
	static const size_t lens[] = { 1, 2, 3, 4, 5, 7, 8, 9, 16, 17 };

	(void)state;
	assert_true(octets_same("", "", 0));
	for (size_t i = 0; i < NROWS(lens); i++) {
		for (size_t at = 0; at < lens[i]; at++) {
			char a[17], b[17];

			memset(a, 'q', sizeof(a));
			memset(b, 'Q', sizeof(b));
			for (int n = 0; n < 65536; n++) {
				bool same = lower_of(n % 256) ==
					    lower_of(n / 256);

				a[at] = (char)(n % 256);
				b[at] = (char)(n / 256);
				if (octets_same(a, b, lens[i]) != same)
					fail_msg("%zu, %zu: %x", lens[i], at,
						 (unsigned)n);
			}
		}
	}
}

/* Each byte, in each place of texts that are read in different ways. */
static void bytes_of_fields(void **state)
{
	(void)state;
	assert_false(octets_have_line_end("", 0));
	assert_false(octets_have_line_end_portable("", 0));
	assert_false(octets_are_token("", 0));
	for (size_t len = 1; len <= 40; len++) {
		for (size_t at = 0; at < len; at++) {
			char *text = malloc(len); /* with nothing behind it */

			memset(text, 'q', len);
			for (int c = 0; c < 256; c++) {
				bool ends = c == '\r' || c == '\n';
				bool token = octets_has(OCTETS_TOKEN, (char)c);

				text[at] = (char)c;
				if (octets_have_line_end(text, len) != ends ||
				    octets_have_line_end_portable(text, len) !=
					    ends ||
				    octets_are_token(text, len) != token ||
				    octets_are_token_portable(text, len) !=
					    token)
					fail_msg("%zu, %zu: %d", len, at, c);
			}
			free(text);
		}
	}
}

/* A list that has its text from another one, and lines of its own. */
static void a_list_is_lent(void **state)
{
	struct fields f, lent;

	(void)state;
	fields_init(&f);
	assert_int_equal(fields_lend(&f, &lent), 0);
	assert_int_equal(fields_count(&lent), 0);
	fields_free(&lent);
	for (int i = 0; i < 40; i++)
		assert_int_equal(fields_add(&f, i % 2 ? "Odd" : "Even", "x"),
				 0);
	assert_int_equal(fields_lend(&f, &lent), 0);
	assert_ptr_equal(fields_get(&lent, "odd"), fields_get(&f, "odd"));
	assert_int_equal(fields_set(&lent, "Even", "y"), 0);
	assert_int_equal(fields_add(&lent, "Other", "z"), 0);
	assert_int_equal(fields_count(&lent), 22);
	assert_string_equal(fields_get(&lent, "even"), "y");
	assert_int_equal(fields_count(&f), 40);
	assert_string_equal(fields_get(&f, "even"), "x");
	assert_null(fields_get(&f, "other"));
	fields_free(&lent);
	assert_string_equal(fields_get(&f, "odd"), "x");
	fields_free(&f);
}

static void one_line_of_a_name(void **state)
{
	struct fields f;

	(void)state;
	fields_init(&f);
	assert_false(fields_are(&f, "Host", "a"));
	assert_int_equal(fields_add(&f, "host", "a"), 0);
	assert_int_equal(fields_add(&f, "Hosts", "a"), 0);
	assert_true(fields_are(&f, "Host", "a"));
	assert_false(fields_are(&f, "Host", "A"));
	assert_false(fields_are(&f, "Host", "ab"));
	assert_int_equal(fields_add(&f, "Host", "a"), 0);
	assert_false(fields_are(&f, "Host", "a"));
	fields_free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_is_lent),
		cmocka_unit_test(bytes_of_fields),
		cmocka_unit_test(one_line_of_a_name),
		cmocka_unit_test(same_but_for_case),
		cmocka_unit_test(a_copy_has_text_of_its_own),
		cmocka_unit_test(an_emptied_list_keeps_its_memory),
		cmocka_unit_test(it_knows_what_it_takes),
		cmocka_unit_test(lines),
		cmocka_unit_test(names_of_one_bit),
		cmocka_unit_test(values_do_not_move),
		cmocka_unit_test(list_elements),
		cmocka_unit_test(tokens),
		cmocka_unit_test(seconds),
		cmocka_unit_test(hop_by_hop),
		cmocka_unit_test(fits),
		cmocka_unit_test(without_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Responses: what each must come to, read whole, in pieces of every size, cut
 * at every length, and without memory.
 */
#include "tests/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/http/response.h"
#include "tests/codec/alloc.h"

#define OK "HTTP/1.1 200 OK\r\n"
#define CHUNKED OK "Transfer-Encoding: chunked\r\n\r\n"
#define LEN(n) "Content-Length: " n "\r\n\r\n"

enum { MAX_HEADER = 200, MAX_BODY = 64 };

static const char BAD[] = "bad";

/* clang-format off */
static const struct row {
	const char *name, *input;
	const char *fields; /* "name=value;..." of the final header; BAD: none */
	const char *body;
	unsigned status;
	enum response_event end; /* all bytes read, and the connection closed */
	bool head, keep, by_close;
	const char *rest;   /* what is not used */
} rows[] = {
	/* framing */
	{ "length", OK LEN("5") "hello", "Content-Length=5;", "hello", 200, RESPONSE_END, 0, 1, 0, NULL },
	{ "nothing", OK LEN("0"), "Content-Length=0;", "", 200, RESPONSE_END, 0, 1, 0, NULL },
	{ "more than it says", OK LEN("2") "hello", "Content-Length=2;", "he", 200, RESPONSE_END, 0, 1, 0, "llo" },
	{ "short", OK LEN("9") "hello", "Content-Length=9;", "hello", 200, RESPONSE_BAD, 0, 1, 0, NULL },
	{ "same lengths", OK "Content-Length: 2\r\nCONTENT-LENGTH:2\r\n\r\nhi", "Content-Length=2;CONTENT-LENGTH=2;", "hi", 200, RESPONSE_END, 0, 1, 0, NULL },
	{ "by close", OK "\r\nhello", "", "hello", 200, RESPONSE_END, 0, 0, 1, NULL },
	{ "by close, empty", OK "\r\n", "", "", 200, RESPONSE_END, 0, 0, 1, NULL },
	{ "head", OK LEN("5"), "Content-Length=5;", "", 200, RESPONSE_END, 1, 1, 0, NULL },
	{ "head without length", OK "\r\n", "", "", 200, RESPONSE_END, 1, 1, 0, NULL },
	{ "head, chunked", CHUNKED, "Transfer-Encoding=chunked;", "", 200, RESPONSE_END, 1, 1, 0, NULL },
	{ "204", "HTTP/1.1 204 No\r\n" LEN("5") "hello", "Content-Length=5;", "", 204, RESPONSE_END, 0, 1, 0, "hello" },
	{ "304", "HTTP/1.1 304 Not\r\n\r\n", "", "", 304, RESPONSE_END, 0, 1, 0, NULL },
	{ "interim", "HTTP/1.1 100 Go\r\n\r\nHTTP/1.1 103 Early\r\nA: b\r\n\r\n" OK LEN("2") "ok", "Content-Length=2;", "ok", 200, RESPONSE_END, 0, 1, 0, NULL },
	{ "close", OK "Connection: a, Close\r\n" LEN("2") "ok", "Connection=a, Close;Content-Length=2;", "ok", 200, RESPONSE_END, 0, 0, 0, NULL },
	{ "1.0", "HTTP/1.0 200 OK\r\n" LEN("2") "ok", "Content-Length=2;", "ok", 200, RESPONSE_END, 0, 0, 0, NULL },
	{ "1.0 kept", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n" LEN("2") "ok", "Connection=keep-alive;Content-Length=2;", "ok", 200, RESPONSE_END, 0, 1, 0, NULL },
	{ "two lengths", OK "Content-Length: 5\r\n" LEN("4") "hello", BAD, "", 0, RESPONSE_BAD, 0, 0, 0, NULL },
	{ "list of lengths", OK LEN("5, 5") "hello", BAD, "", 0, RESPONSE_BAD, 0, 0, 0, NULL },
	{ "length with more", OK LEN("5x") "hello", BAD, "", 0, RESPONSE_BAD, 0, 0, 0, NULL },
	{ "length with sign", OK LEN("+5") "hello", BAD, "", 0, RESPONSE_BAD, 0, 0, 0, NULL },
	{ "negative length", OK LEN("-5") "hello", BAD, "", 0, RESPONSE_BAD, 0, 0, 0, NULL },
	{ "no length at all", OK LEN("") "hello", BAD, "", 0, RESPONSE_BAD, 0, 0, 0, NULL },
	{ "huge length", OK LEN("18446744073709551621") "hello", BAD, "", 0, RESPONSE_BAD, 0, 0, 0, NULL },
	{ "length and coding", OK "Transfer-Encoding: chunked\r\n" LEN("5") "0\r\n\r\n", BAD, "", 0, RESPONSE_BAD, 0, 0, 0, NULL },
	{ "coding and length", OK "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", BAD, "", 0, RESPONSE_BAD, 0, 0, 0, NULL },
	{ "gzip", OK "Transfer-Encoding: gzip\r\n\r\nhello", BAD, "", 0, RESPONSE_BAD, 0, 0, 0, NULL },
	{ "gzip, chunked", OK "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", BAD, "", 0, RESPONSE_BAD, 0, 0, 0, NULL },
	{ "chunked twice", OK "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", BAD, "", 0, RESPONSE_BAD, 0, 0, 0, NULL },
	{ "1.0, chunked", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", BAD, "", 0, RESPONSE_BAD, 0, 0, 0, NULL },
	/* chunks */
	{ "chunked", CHUNKED "3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n", "Transfer-Encoding=chunked;", "hello", 200, RESPONSE_END, 0, 1, 0, NULL },
	{ "no chunk", CHUNKED "0\r\n\r\n", "Transfer-Encoding=chunked;", "", 200, RESPONSE_END, 0, 1, 0, NULL },
	{ "extensions", CHUNKED "5;a=\"b\"\r\nhello\r\n0 ;c\r\n\r\nmore", "Transfer-Encoding=chunked;", "hello", 200, RESPONSE_END, 0, 1, 0, "more" },
	{ "padded size", CHUNKED "00005  \r\nhello\r\n000\r\n\r\n", "Transfer-Encoding=chunked;", "hello", 200, RESPONSE_END, 0, 1, 0, NULL },
	{ "trailer", CHUNKED "A\r\nhellohello\r\n0\r\nX: y\r\nContent-Length: 1\r\n\r\n", "Transfer-Encoding=chunked;+X=y;", "hellohello", 200, RESPONSE_END, 0, 1, 0, NULL },
	{ "trailers", CHUNKED "0\r\nX: y\r\nset-cookie: a\r\nVia: b\r\nGrpc-Status:  0 \r\nX:\r\n\r\n", "Transfer-Encoding=chunked;+X=y;+Grpc-Status=0;+X=;", "", 200, RESPONSE_END, 0, 1, 0, NULL },
	{ "bad trailer", CHUNKED "0\r\nX y\r\n\r\n", "Transfer-Encoding=chunked;", "", 200, RESPONSE_BAD, 0, 1, 0, NULL },
	{ "no last chunk", CHUNKED "5\r\nhello\r\n", "Transfer-Encoding=chunked;", "hello", 200, RESPONSE_BAD, 0, 1, 0, NULL },
	{ "no size", CHUNKED "\r\nhello\r\n", "Transfer-Encoding=chunked;", "", 200, RESPONSE_BAD, 0, 1, 0, NULL },
	{ "size with sign", CHUNKED "+5\r\nhello\r\n", "Transfer-Encoding=chunked;", "", 200, RESPONSE_BAD, 0, 1, 0, NULL },
	{ "size with 0x", CHUNKED "0x5\r\nhello\r\n", "Transfer-Encoding=chunked;", "", 200, RESPONSE_BAD, 0, 1, 0, NULL },
	{ "size overflows", CHUNKED "10000000000000005\r\nhello\r\n", "Transfer-Encoding=chunked;", "", 200, RESPONSE_BAD, 0, 1, 0, NULL },
	{ "largest size", CHUNKED "fffffffffffffff\r\nhello", "Transfer-Encoding=chunked;", "hello", 200, RESPONSE_BAD, 0, 1, 0, NULL },
	{ "size ends in LF", CHUNKED "5\nhello\r\n0\r\n\r\n", "Transfer-Encoding=chunked;", "", 200, RESPONSE_BAD, 0, 1, 0, NULL },
	{ "chunk ends in LF", CHUNKED "5\r\nhello\n0\r\n\r\n", "Transfer-Encoding=chunked;", "hello", 200, RESPONSE_BAD, 0, 1, 0, NULL },
	{ "chunk too long", CHUNKED "5\r\nhello!\r\n0\r\n\r\n", "Transfer-Encoding=chunked;", "hello", 200, RESPONSE_BAD, 0, 1, 0, NULL },
	{ "CR in extension", CHUNKED "5;\r a\r\nhello\r\n0\r\n\r\n", "Transfer-Encoding=chunked;", "", 200, RESPONSE_BAD, 0, 1, 0, NULL },
	/* the header */
	{ "no reason", "HTTP/1.1 200\r\n" LEN("0"), "Content-Length=0;", "", 200, RESPONSE_END, 0, 1, 0, NULL },
	{ "bare LF", "HTTP/1.1 200 OK\nA: b\nContent-Length: 2\n\nok", "A=b;Content-Length=2;", "ok", 200, RESPONSE_END, 0, 1, 0, NULL },
	{ "blanks", OK "A: \t b c\t \r\nB:\r\nC :d\r\n" LEN("0"), "A=b c;B=;C=d;Content-Length=0;", "", 200, RESPONSE_END, 0, 1, 0, NULL },
	{ "8 bits", OK "A: \xfc\r\n" LEN("0"), "A=\xfc;Content-Length=0;", "", 200, RESPONSE_END, 0, 1, 0, NULL },
	{ "highest status", "HTTP/1.1 599 \r\n" LEN("0"), "Content-Length=0;", "", 599, RESPONSE_END, 0, 1, 0, NULL },
	{ "status too high", "HTTP/1.1 600 \r\n" LEN("0"), BAD, "", 0, RESPONSE_BAD, 0, 0, 0, NULL },
	{ "upgraded", "HTTP/1.1 101 Up\r\nUpgrade: x\r\n\r\n", BAD, "", 0, RESPONSE_BAD, 0, 0, 0, NULL },
	{ "status 99", "HTTP/1.1 099 No\r\n\r\n", BAD, "", 0, RESPONSE_BAD, 0, 0, 0, NULL },
	{ "two digits", "HTTP/1.1 20 OK\r\n\r\n", BAD, "", 0, RESPONSE_BAD, 0, 0, 0, NULL },
	{ "four digits", "HTTP/1.1 2000 OK\r\n\r\n", BAD, "", 0, RESPONSE_BAD, 0, 0, 0, NULL },
	{ "HTTP/2", "HTTP/2 200\r\n\r\n", BAD, "", 0, RESPONSE_BAD, 0, 0, 0, NULL },
	{ "http/1.1", "http/1.1 200 OK\r\n\r\n", BAD, "", 0, RESPONSE_BAD, 0, 0, 0, NULL },
	{ "no http", "SSH-2.0-x\r\n", BAD, "", 0, RESPONSE_BAD, 0, 0, 0, NULL },
	{ "HTTP/0.9", "<html>", BAD, "", 0, RESPONSE_BAD, 0, 0, 0, NULL },
	{ "empty line first", "\r\n" OK "\r\n", BAD, "", 0, RESPONSE_BAD, 0, 0, 0, NULL },
	{ "no colon", OK "Content-Length 5\r\n\r\nhello", BAD, "", 0, RESPONSE_BAD, 0, 0, 0, NULL },
	{ "no name", OK ": a\r\n\r\n", BAD, "", 0, RESPONSE_BAD, 0, 0, 0, NULL },
	{ "folded", OK "A: b\r\n c\r\n\r\n", BAD, "", 0, RESPONSE_BAD, 0, 0, 0, NULL },
	{ "folded with colon", OK "A: b\r\n\tc: d\r\n\r\n", BAD, "", 0, RESPONSE_BAD, 0, 0, 0, NULL },
	{ "space in name", OK "A b: c\r\n\r\n", BAD, "", 0, RESPONSE_BAD, 0, 0, 0, NULL },
	{ "bare CR", OK "A: b\rc\r\n\r\n", BAD, "", 0, RESPONSE_BAD, 0, 0, 0, NULL },
	{ "CR before CRLF", OK "A: b\r\r\n\r\n", BAD, "", 0, RESPONSE_BAD, 0, 0, 0, NULL },
	{ "control", OK "A: b\x01\r\n\r\n", BAD, "", 0, RESPONSE_BAD, 0, 0, 0, NULL },
	{ "DEL", OK "A: \x7f\r\n\r\n", BAD, "", 0, RESPONSE_BAD, 0, 0, 0, NULL },
	{ "CR in reason", "HTTP/1.1 200 O\rK\r\n\r\n", BAD, "", 0, RESPONSE_BAD, 0, 0, 0, NULL },
	{ "cut", OK "Content-Le", BAD, "", 0, RESPONSE_BAD, 0, 0, 0, NULL },
	{ "nothing at all", "", BAD, "", 0, RESPONSE_BAD, 0, 0, 0, NULL },
};
/* clang-format on */

/* What the request asked for. */
static struct {
	bool continues, upgrades;
} asked;

/* What a response came to. */
struct seen {
	char fields[256], interim[256], body[MAX_BODY + 1];
	size_t nbody, used;
	unsigned status;
	bool keep, by_close;
	enum response_event end;
};

static void note_lines(const struct fields *f, const char *mark, char *to)
{
	for (size_t i = 0; i < fields_count(f); i++) {
		strcat(to, mark);
		strcat(to, fields_at(f, i)->name);
		strcat(to, "=");
		strcat(to, fields_at(f, i)->value);
		strcat(to, ";");
	}
}

static void note_fields(const struct response *r, char *to)
{
	note_lines(&r->fields, "", to);
}

/* Once, at the end. */
static void note_trailers(const struct response *r, struct seen *seen)
{
	if (!strchr(seen->fields, '+'))
		note_lines(&r->trailers, "+", seen->fields);
}

static void note_interim(const struct response *r, struct seen *seen)
{
	assert_int_equal(seen->status, 0);
	sprintf(seen->interim + strlen(seen->interim), "%u:", r->status);
	note_fields(r, seen->interim);
}

static void note_header(const struct response *r, struct seen *seen)
{
	assert_int_equal(seen->status, 0);
	seen->status = r->status;
	seen->keep = r->keep;
	seen->by_close = r->framing.by_close;
	seen->fields[0] = '\0';
	note_fields(r, seen->fields);
}

/* Reads what there is; the last event. */
static enum response_event feed(struct response *r, struct response_bytes in,
				struct seen *seen)
{
	struct response_bytes body;
	size_t len = in.len;

	for (;;) {
		enum response_event event = response_next(r, &in, &body);

		seen->used += len - in.len;
		len = in.len;
		if (event == RESPONSE_INTERIM) {
			note_interim(r, seen);
		} else if (event == RESPONSE_HEADER) {
			note_header(r, seen);
		} else if (event == RESPONSE_BODY) {
			assert_true(seen->status && body.len);
			assert_true(seen->nbody + body.len <= MAX_BODY);
			memcpy(seen->body + seen->nbody, body.at, body.len);
			seen->nbody += body.len;
		} else {
			if (event == RESPONSE_END)
				note_trailers(r, seen);
			return event;
		}
	}
}

/* Reads len bytes in pieces of `step`, each in memory of its own. */
static void read_in_steps(const struct row *row, size_t len, size_t step,
			  struct seen *seen)
{
	struct response r;

	*seen = (struct seen){ .end = RESPONSE_MORE, .fields = "bad" };
	response_init(&r, row->head, MAX_HEADER);
	r.continues = asked.continues;
	r.upgrades = asked.upgrades;
	for (size_t at = 0; at < len && seen->end == RESPONSE_MORE;
	     at += step) {
		size_t n = len - at < step ? len - at : step;
		char *piece = malloc(n);

		memcpy(piece, row->input + at, n);
		seen->end = feed(&r, (struct response_bytes){ piece, n }, seen);
		free(piece);
	}
	if (seen->end == RESPONSE_MORE)
		seen->end = response_closed(&r);
	/* the end stays the end */
	assert_int_equal(feed(&r, (struct response_bytes){ "x", 1 }, seen),
			 seen->end);
	assert_int_equal(response_closed(&r), seen->end);
	response_free(&r);
}

static void check(const struct row *row, const struct seen *seen)
{
	size_t rest = row->rest ? strlen(row->rest) : 0;

	if (seen->end != row->end || strcmp(seen->fields, row->fields) != 0)
		print_message("# %s\n", row->name);
	assert_int_equal(seen->end, row->end);
	assert_string_equal(seen->fields, row->fields);
	assert_string_equal(seen->body, row->body);
	assert_int_equal(seen->status, row->status);
	assert_int_equal(seen->keep, row->keep);
	assert_int_equal(seen->by_close, row->by_close);
	if (row->end == RESPONSE_END)
		assert_int_equal(seen->used, strlen(row->input) - rest);
}

static void in_pieces_of_every_size(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		size_t len = strlen(rows[i].input);

		for (size_t step = 1; step <= len + 1; step++) {
			struct seen seen;

			read_in_steps(&rows[i], len, step, &seen);
			check(&rows[i], &seen);
		}
	}
}

/* clang-format off */
static const struct row upgrading[] = {
	{ "upgraded as asked", "HTTP/1.1 101 Up\r\nUpgrade: x\r\n\r\nraw", "Upgrade=x;", "raw", 101, RESPONSE_END, 0, 0, 1, NULL },
	{ "upgraded by 1.0", "HTTP/1.0 101 Up\r\nUpgrade: x\r\n\r\nraw", BAD, "", 0, RESPONSE_BAD, 0, 0, 0, NULL },
	{ "not upgraded", OK LEN("2") "ok", "Content-Length=2;", "ok", 200, RESPONSE_END, 0, 1, 0, NULL },
};
/* clang-format on */

static void upgrades(void **state)
{
	(void)state;
	asked.upgrades = true;
	for (size_t i = 0; i < NROWS(upgrading); i++) {
		size_t len = strlen(upgrading[i].input);

		for (size_t step = 1; step <= len + 1; step++) {
			struct seen seen;

			read_in_steps(&upgrading[i], len, step, &seen);
			check(&upgrading[i], &seen);
		}
	}
	asked.upgrades = false;
}

static void cut_at_every_length(void **state)
{
	(void)state;
	for (size_t i = 0; i < NROWS(rows); i++) {
		size_t len = strlen(rows[i].input);
		size_t rest = rows[i].rest ? strlen(rows[i].rest) : 0;

		for (size_t cut = 0; cut + rest < len; cut++) {
			struct seen seen;

			read_in_steps(&rows[i], cut, cut + 1, &seen);
			if (!seen.by_close)
				assert_int_equal(seen.end, RESPONSE_BAD);
			assert_memory_equal(seen.body, rows[i].body,
					    seen.nbody);
		}
	}
}

static void a_nul_is_no_text(void **state)
{
	static const char line[] = "A: b\0c";
	struct field_part name, value;

	(void)state;
	assert_int_equal(response_field(line, 4, &name, &value), 0);
	assert_int_not_equal(response_field(line, 5, &name, &value), 0);
	assert_int_not_equal(response_field(line, 0, &name, &value), 0);
}

/* All but 100, unless it was asked for, in order; and nothing of them is in the
 * final response. */
static void interim_responses(void **state)
{
	static const struct row row = {
		.input = "HTTP/1.1 100 Go\r\nX: y\r\n\r\n"
			 "HTTP/1.1 102 On\r\n\r\n"
			 "HTTP/1.1 103 Early\r\nA: b\r\nC: d\r\n\r\n"
			 "HTTP/1.1 103 Early\r\nA: e\r\n\r\n"
			 OK LEN("2") "ok",
	};
	size_t len = strlen(row.input);
	struct seen seen;

	(void)state;
	for (size_t step = 1; step <= len; step++) {
		read_in_steps(&row, len, step, &seen);
		assert_int_equal(seen.end, RESPONSE_END);
		assert_string_equal(seen.interim,
				    "102:103:A=b;C=d;103:A=e;");
		assert_string_equal(seen.fields, "Content-Length=2;");
	}
	asked.continues = true;
	read_in_steps(&row, len, len, &seen);
	asked.continues = false;
	assert_string_equal(seen.interim,
			    "100:X=y;102:103:A=b;C=d;103:A=e;");
}

/* So many bytes of header are allowed, wherever they are. */
static void headers_have_a_limit(void **state)
{
	static const struct {
		const char *first, *again;
	} endless[] = {
		{ "HTTP/1.1 200 O", "O" },
		{ "", "HTTP/1.1 100 Go\r\n\r\n" },
		{ OK "A", "A" },
		{ OK "A: b", "b" },
		{ OK, "A: b\r\n" },
		{ CHUNKED "0\r\n", "A: b\r\n" },
		{ CHUNKED "1;", "a" },
	};

	(void)state;
	for (size_t i = 0; i < NROWS(endless); i++) {
		const char *next = endless[i].first;
		struct seen seen = { 0 };
		struct response r;

		response_init(&r, false, MAX_HEADER);
		while (feed(&r, (struct response_bytes){ next, strlen(next) },
			    &seen) == RESPONSE_MORE && seen.used < 4000)
			next = endless[i].again;
		assert_int_equal(response_closed(&r), RESPONSE_BAD);
		assert_in_range(seen.used, MAX_HEADER - 20, 1200);
		response_free(&r);
	}
}

static void without_memory(void **state)
{
	static const char input[] = OK "A: b\r\n" LEN("5") "hello";

	(void)state;
	for (unsigned n = 1; n < 10; n++) {
		struct response r;
		struct seen seen = { 0 };
		enum response_event end;

		response_init(&r, false, MAX_HEADER);
		alloc_fail_at(n);
		end = feed(&r, (struct response_bytes){ input, 3 }, &seen);
		if (end == RESPONSE_MORE)
			end = feed(&r, (struct response_bytes){
				input + 3, sizeof(input) - 4 }, &seen);
		alloc_fail_at(0);
		response_free(&r);
		if (end == RESPONSE_END) {
			assert_true(n > 2);
			return;
		}
		assert_int_equal(end, RESPONSE_NOMEM);
	}
	fail_msg("it never worked");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_pieces_of_every_size),
		cmocka_unit_test(upgrades),
		cmocka_unit_test(cut_at_every_length),
		cmocka_unit_test(a_nul_is_no_text),
		cmocka_unit_test(interim_responses),
		cmocka_unit_test(headers_have_a_limit),
		cmocka_unit_test(without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

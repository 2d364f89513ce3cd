/*
 * Reading responses. Messages are read anew with each piece that comes, which
 * is dear for large ones in small pieces only.
 */
#include "config.h"

#include "tests/storm/storm_answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tests/storm/storm_text.h"

void storm_answer_free(struct storm_answer *a)
{
	storm_text_free(&a->body);
}

static enum storm_answer_state storm_answer_wrong(struct storm_answer *a,
						  const char *what)
{
	a->wrong = what;
	return STORM_ANSWER_WRONG;
}

bool storm_answer_field(const struct storm_answer *a, const char *name,
			char *value, size_t max)
{
	const char *at = a->head, *end = a->head + a->head_len;
	size_t n = strlen(name);

	while (at && at < end) {
		const char *next = memchr(at, '\n', (size_t)(end - at));

		if (!next)
			return false;
		if ((size_t)(next - at) > n && !strncasecmp(at, name, n) &&
		    at[n] == ':') {
			at += n + 1;
			while (*at == ' ')
				at++;
			snprintf(value, max, "%.*s", (int)(next - 1 - at), at);
			return true;
		}
		at = next + 1;
	}
	return false;
}

/* Each line: a token, a colon, no control byte, CR LF at its end. */
static const char *storm_answer_check_lines(const char *at, const char *end)
{
	while (at < end) {
		const char *next = memchr(at, '\n', (size_t)(end - at));
		const char *colon;

		if (!next || next == at || next[-1] != '\r')
			return "a line does not end in CR LF";
		if (next == at + 1)
			return NULL;
		colon = memchr(at, ':', (size_t)(next - at));
		if (!colon || !storm_text_is_token(at, colon))
			return "a field name that is no token";
		for (const char *c = colon; c < next - 1; c++)
			if ((unsigned char)*c < ' ' && *c != '\t')
				return "a control byte in a field";
		at = next + 1;
	}
	return "no empty line";
}

static enum storm_answer_state
storm_answer_read_head(struct storm_answer *a, const char *in, size_t len)
{
	const char *end = memmem(in, len, "\r\n\r\n", 4);
	const char *line = memmem(in, len, "\r\n", 2);

	if (memcmp(in, "HTTP/1.", len < 7 ? len : 7))
		return storm_answer_wrong(a, "no status line");
	if (!end)
		return STORM_ANSWER_PARTIAL;
	if (len < 15 || in[8] != ' ' || in[12] != ' ' ||
	    strspn(in + 9, "0123456789") != 3)
		return storm_answer_wrong(a, "a malformed status line");
	a->status = (unsigned)atoi(in + 9);
	if (a->status < 100 || a->status > 999)
		return storm_answer_wrong(a, "a status that is none");
	a->head = in;
	a->head_len = (size_t)(end + 4 - in);
	a->wrong = storm_answer_check_lines(line + 2, end + 4);
	return a->wrong ? STORM_ANSWER_WRONG : STORM_ANSWER_WHOLE;
}

static enum storm_answer_state
storm_answer_read_chunks(struct storm_answer *a, const char *in, size_t len)
{
	size_t at = 0;

	for (;;) {
		const char *end = memmem(in + at, len - at, "\r\n", 2);
		char *after;
		size_t size;

		if (!end)
			return STORM_ANSWER_PARTIAL;
		size = strtoul(in + at, &after, 16);
		if (after == in + at || after > end)
			return storm_answer_wrong(a, "a malformed chunk size");
		at = (size_t)(end + 2 - in);
		if (!size)
			break;
		if (len - at < 2 || len - at - 2 < size)
			return STORM_ANSWER_PARTIAL;
		storm_text_add(&a->body, in + at, size);
		at += size;
		if (memcmp(in + at, "\r\n", 2))
			return storm_answer_wrong(a, "a chunk without its end");
		at += 2;
	}
	while (len - at >= 2 && memcmp(in + at, "\r\n", 2)) { /* trailers */
		const char *end = memmem(in + at, len - at, "\r\n", 2);

		if (!end)
			return STORM_ANSWER_PARTIAL;
		at = (size_t)(end + 2 - in);
	}
	if (len - at < 2)
		return STORM_ANSWER_PARTIAL;
	a->len = a->head_len + at + 2;
	return STORM_ANSWER_WHOLE;
}

static enum storm_answer_state storm_answer_read_body(struct storm_answer *a,
						      const char *in,
						      size_t len, bool ended)
{
	char value[64];
	size_t size;

	if (storm_answer_field(a, "Transfer-Encoding", value, sizeof(value))) {
		if (strcasecmp(value, "chunked"))
			return storm_answer_wrong(a, "a strange coding");
		return storm_answer_read_chunks(a, in, len);
	}
	if (!storm_answer_field(a, "Content-Length", value, sizeof(value))) {
		a->by_close = true;
		storm_text_add(&a->body, in, len);
		a->len = a->head_len + len;
		return ended ? STORM_ANSWER_WHOLE : STORM_ANSWER_PARTIAL;
	}
	if (!*value || strspn(value, "0123456789") != strlen(value))
		return storm_answer_wrong(a, "a malformed Content-Length");
	size = strtoul(value, NULL, 10);
	if (len < size)
		return STORM_ANSWER_PARTIAL;
	storm_text_add(&a->body, in, size);
	a->len = a->head_len + size;
	return STORM_ANSWER_WHOLE;
}

enum storm_answer_state storm_answer_read(struct storm_answer *a,
					  const char *in, size_t len, bool head,
					  bool ended)
{
	enum storm_answer_state state;
	size_t skipped = 0;

	*a = (struct storm_answer){0};
	if (!len)
		in = ""; /* a null pointer has no elements to pass over */
	do {
		skipped += a->head_len;
		state = storm_answer_read_head(a, in + skipped, len - skipped);
		if (state != STORM_ANSWER_WHOLE)
			return state;
	} while (a->status < 200 && a->status != 101);
	a->len = a->head_len;
	if (!head && a->status != 204 && a->status != 304 && a->status != 101)
		state = storm_answer_read_body(a, in + skipped + a->head_len,
					       len - skipped - a->head_len,
					       ended);
	a->len += skipped;
	return state;
}

/*
 * The header of a reply. Room is made for a whole line at a time.
 */
#include "digestd/server/reply_head.h"

#include <stdlib.h>
#include <string.h>

#include "digestd/http/fields.h"
#include "digestd/http/httpdate.h"
#include "digestd/http/reason.h"

enum { FIRST_BYTES = 1024, MAX_DIGITS = 20 };

/* Room for so many bytes at the end, which then count; null: no memory. */
static char *reply_head_extend(struct reply_head *h, size_t len)
{
	size_t cap = h->cap ? h->cap : FIRST_BYTES;
	char *text;

	if (h->failed)
		return NULL;
	while (cap - h->len < len)
		cap *= 2;
	if (cap > h->cap) {
		text = realloc(h->text, cap);
		if (!text) {
			h->failed = true;
			return NULL;
		}
		h->text = text;
		h->cap = cap;
	}
	h->len += len;
	return h->text + h->len - len;
}

void reply_head_add_bytes(struct reply_head *h, const void *bytes, size_t len)
{
	char *at = reply_head_extend(h, len);

	if (at)
		memcpy(at, bytes, len);
}

/* The digits of a number; returns where they begin in `text`, which they end.
 */
static const char *reply_head_digits(char text[MAX_DIGITS + 1], uint64_t n)
{
	char *at = text + MAX_DIGITS;

	*at = '\0';
	do
		*--at = (char)('0' + n % 10);
	while (n /= 10);
	return at;
}

void reply_head_begin(struct reply_head *h, unsigned status)
{
	const char *reason = reason_phrase(status);
	const size_t len = strlen(reason);
	char digits[MAX_DIGITS + 1], *at;

	h->len = 0;
	h->failed = false;
	at = reply_head_extend(h, sizeof("HTTP/1.1 200 \r\n") - 1 + len);
	if (!at)
		return;
	memcpy(at, "HTTP/1.1 ", 9);
	memcpy(at + 9, reply_head_digits(digits, status), 3);
	at[12] = ' ';
	memcpy(at + 13, reason, len);
	memcpy(at + 13 + len, "\r\n", 2);
}

static void reply_head_add_field(struct reply_head *h, const struct field *f)
{
	char *at = reply_head_extend(h, (size_t)f->name_len +
					      f->value_len + 4);

	if (!at)
		return;
	memcpy(at, f->name, f->name_len);
	at += f->name_len;
	memcpy(at, ": ", 2);
	memcpy(at + 2, f->value, f->value_len);
	memcpy(at + 2 + f->value_len, "\r\n", 2);
}

void reply_head_add(struct reply_head *h, const char *name, const char *value)
{
	const struct field f = { name, value, (uint32_t)strlen(name),
				 (uint32_t)strlen(value) };

	reply_head_add_field(h, &f);
}

#define SERVER_FIELDS(X)       \
	X("Connection")        \
	X("Content-Length")    \
	X("Keep-Alive")        \
	X("Proxy-Connection")  \
	X("Trailer")           \
	X("Transfer-Encoding") \
	X("Upgrade")

FIELD_NAMES_HAVE(server_writes_field, SERVER_FIELDS)

bool reply_head_add_fields(struct reply_head *h, const struct fields *fields)
{
	bool dated = false;

	for (size_t i = 0; fields && i < fields_count(fields); i++) {
		const struct field *f = fields_at(fields, i);

		if (!f->value_len || server_writes_field(f->name, f->name_len))
			continue;
		dated |= field_is(f, "Date");
		reply_head_add_field(h, f);
	}
	return dated;
}

void reply_head_add_length(struct reply_head *h, uint64_t len)
{
	char digits[MAX_DIGITS + 1];

	reply_head_add(h, "Content-Length", reply_head_digits(digits, len));
}

void reply_head_add_date(struct reply_head *h, int64_t wall_s)
{
	char date[HTTPDATE_LEN + 1];

	httpdate_format(wall_s, date);
	reply_head_add(h, "Date", date);
}

void reply_head_free(struct reply_head *h)
{
	free(h->text);
	*h = (struct reply_head){ 0 };
}

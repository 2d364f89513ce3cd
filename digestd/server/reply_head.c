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
	char digits[MAX_DIGITS + 1];

	h->len = 0;
	h->failed = false;
	reply_head_add_bytes(h, "HTTP/1.1 ", 9);
	reply_head_add_bytes(h, reply_head_digits(digits, status), 3);
	reply_head_add_bytes(h, " ", 1);
	reply_head_add_bytes(h, reason, strlen(reason));
	reply_head_add_bytes(h, "\r\n", 2);
}

void reply_head_add(struct reply_head *h, const char *name, const char *value)
{
	size_t name_len = strlen(name), value_len = strlen(value);
	char *at = reply_head_extend(h, name_len + value_len + 4);

	if (!at)
		return;
	memcpy(at, name, name_len);
	memcpy(at + name_len, ": ", 2);
	memcpy(at + name_len + 2, value, value_len);
	memcpy(at + name_len + 2 + value_len, "\r\n", 2);
}

bool server_writes_field(const char *name)
{
	switch (*name | 32) { /* most begin with other letters */
	case 'c':
		return field_name_is(name, "Connection") ||
		       field_name_is(name, "Content-Length");
	case 'k':
		return field_name_is(name, "Keep-Alive");
	case 'p':
		return field_name_is(name, "Proxy-Connection");
	case 't':
		return field_name_is(name, "Trailer") ||
		       field_name_is(name, "Transfer-Encoding");
	case 'u':
		return field_name_is(name, "Upgrade");
	default:
		return false;
	}
}

bool reply_head_add_fields(struct reply_head *h, const struct fields *fields)
{
	bool dated = false;

	for (size_t i = 0; fields && i < fields_count(fields); i++) {
		const struct field *f = fields_at(fields, i);

		if (!*f->value || server_writes_field(f->name))
			continue;
		dated |= field_name_is(f->name, "Date");
		reply_head_add(h, f->name, f->value);
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

/*
 * The header of a reply. Room is made for a whole line at a time.
 */
#include "digestd/server/reply_head.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/http/decimal.h"
#include "digestd/http/httpdate.h"
#include "digestd/http/reason.h"

enum { FIRST_BYTES = 1024 };

/* Makes room for so many bytes more; false without memory. */
static bool reply_head_grow(struct reply_head *h, size_t len)
{
	size_t cap = h->cap ? h->cap : FIRST_BYTES;
	char *text;

	if (h->failed)
		return false;
	while (cap - h->len < len)
		cap *= 2;
	if (cap > h->cap) {
		text = realloc(h->text, cap);
		if (!text) {
			h->failed = true;
			return false;
		}
		h->text = text;
		h->cap = cap;
	}
	return true;
}

/* Room for so many bytes at the end, which then count; null: no memory. */
static inline char *reply_head_extend(struct reply_head *h, size_t len)
{
	/* what has failed goes the long way */
	if ((h->cap - h->len < len || h->failed) && !reply_head_grow(h, len))
		return NULL;
	h->len += len;
	return h->text + h->len - len;
}

void reply_head_add_bytes(struct reply_head *h, const void *bytes, size_t len)
{
	char *at = reply_head_extend(h, len);

	if (at)
		memcpy(at, bytes, len);
}

void reply_head_begin(struct reply_head *h, unsigned status)
{
	const char *reason = reason_phrase(status);
	const size_t len = strlen(reason);
	char *at;

	assert(status >= 100 && status <= 999);
	h->len = 0;
	h->failed = false;
	at = reply_head_extend(h, sizeof("HTTP/1.1 200 \r\n") - 1 + len);
	if (!at)
		return;
	memcpy(at, "HTTP/1.1 ", 9);
	at[9] = (char)('0' + status / 100);
	at[10] = (char)('0' + status / 10 % 10);
	at[11] = (char)('0' + status % 10);
	at[12] = ' ';
	memcpy(at + 13, reason, len);
	memcpy(at + 13 + len, "\r\n", 2);
}

void reply_head_add_line(struct reply_head *h, struct field_part name,
			 struct field_part value)
{
	char *at = reply_head_extend(h, name.len + value.len + 4);

	if (!at)
		return;
	memcpy(at, name.at, name.len);
	at += name.len;
	memcpy(at, ": ", 2);
	memcpy(at + 2, value.at, value.len);
	memcpy(at + 2 + value.len, "\r\n", 2);
}

void reply_head_add(struct reply_head *h, const char *name, const char *value)
{
	reply_head_add_line(h, (struct field_part){ name, strlen(name) },
			    (struct field_part){ value, strlen(value) });
}

FIELD_NAMES_HAVE(server_writes_field, SERVER_FIELDS)

bool reply_head_add_fields(struct reply_head *h, const struct fields *fields)
{
	bool dated = false;

	for (size_t i = 0; fields && i < fields_count(fields); i++) {
		const struct field *f = fields_at(fields, i);

		if (server_writes_field(f->name, f->name_len))
			continue;
		dated |= field_is(f, "Date");
		reply_head_add_line(
			h, (struct field_part){ f->name, f->name_len },
			(struct field_part){ f->value, f->value_len });
	}
	return dated;
}

void reply_head_add_length(struct reply_head *h, uint64_t len)
{
	static const struct field_part name = { "Content-Length", 14 };
	char digits[DECIMAL_BYTES];

	reply_head_add_line(
		h, name,
		(struct field_part){
			digits, decimal_write_size(len, digits) });
}

void reply_head_add_date(struct reply_head *h, int64_t wall_s)
{
	static const struct field_part name = { "Date", 4 };
	char date[HTTPDATE_LEN + 1];

	httpdate_format(wall_s, date);
	reply_head_add_line(h, name, (struct field_part){ date, HTTPDATE_LEN });
}

void reply_head_free(struct reply_head *h)
{
	free(h->text);
	*h = (struct reply_head){ 0 };
}

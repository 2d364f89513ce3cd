/*
 * Posted bodies of lines.
 */
#include "digestd/admin/posted.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/http/fields.h"
#include "digestd/server/server.h"

const char posted_too_long[] = "more than 1 MiB\n";

bool posted_begin(struct exchange *x)
{
	struct posted *b = malloc(sizeof(*b));

	if (!b) {
		exchange_reply_error(x, 503, NULL);
		return false;
	}
	b->len = 0;
	b->too_long = false;
	exchange_set_data(x, b);
	return true;
}

size_t posted_add(struct exchange *x, const void *data, size_t len)
{
	struct posted *b = exchange_data(x);

	assert(!b || b->len <= sizeof(b->text));
	if (!b)
		return len;
	b->too_long |= len > sizeof(b->text) - b->len;
	if (b->too_long)
		return len;
	memcpy(b->text + b->len, data, len);
	b->len += len;
	return len;
}

void posted_leave(struct exchange *x)
{
	free(exchange_data(x));
	exchange_set_data(x, NULL);
}

bool posted_next(const struct posted *b, struct posted_walk *walk)
{
	const char *end;

	if (walk->at >= b->len)
		return false;
	walk->text = b->text + walk->at;
	end = memchr(walk->text, '\n', b->len - walk->at);
	walk->len = end ? (size_t)(end - walk->text) : b->len - walk->at;
	walk->at += walk->len + (end != NULL);
	walk->number++;
	return true;
}

void posted_reply(struct exchange *x, unsigned status, const char *allow,
		  const char *text, size_t len)
{
	struct fields f;

	fields_init(&f);
	if (fields_add(&f, "Content-Type", "text/plain") ||
	    fields_add(&f, "Cache-Control", "no-store") ||
	    (status == 405 && fields_add(&f, "Allow", allow)))
		exchange_abort(x);
	else
		exchange_reply_copy(x, status, &f, text, len);
	fields_free(&f);
}

/*
 * Questions of other caches.
 */
#include "digestd/admission/admit_request.h"

#include <errno.h>
#include <string.h>

#include "codec/error.h"
#include "codec/uri.h"
#include "digestd/http/hexdigit.h"

enum { SIZE_DIGITS = 15 }; /* a petabyte less one */

static int admit_request_take_uri(struct admit_question *q, const char *uri,
				  size_t len)
{
	if (len >= ADMIT_URI_BYTES)
		return -E2BIG;
	switch (scd_uri_canonical(uri, len, q->uri, sizeof(q->uri),
				  &q->uri_len)) {
	case SCD_OK:
		return 0;
	case SCD_ESPACE:
		return -E2BIG;
	default:
		return -EINVAL;
	}
}

static int admit_request_take_size(struct admit_question *q, const char *text,
				   size_t len)
{
	uint64_t size = 0;

	if (!len || len > SIZE_DIGITS)
		return -EINVAL;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -EINVAL;
		size = size * 10 + (uint64_t)(text[i] - '0');
	}
	q->size = size;
	return 0;
}

/* Undoes the percent-encoding of a value that is a URI. */
static int admit_request_take_encoded(struct admit_question *q,
				      const char *text, size_t len)
{
	char uri[ADMIT_URI_BYTES];
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		int high, low;

		if (n == sizeof(uri))
			return -E2BIG;
		if (text[i] != '%') {
			uri[n++] = text[i];
			continue;
		}
		high = len - i > 2 ? hexdigit_value(text[i + 1]) : -1;
		low = high < 0 ? -1 : hexdigit_value(text[i + 2]);
		if (low < 0)
			return -EINVAL;
		uri[n++] = (char)(high << 4 | low);
		i += 2;
	}
	return admit_request_take_uri(q, uri, n);
}

static bool admit_request_is_word(const char *text, size_t len,
				  const char *word)
{
	return len == strlen(word) && !memcmp(text, word, len);
}

/* One "name=value" of a query. */
static int admit_request_take_part(struct admit_question *q, const char *text,
				   size_t len)
{
	const char *equal = memchr(text, '=', len);
	size_t name = equal ? (size_t)(equal - text) : len;
	const char *value = equal ? equal + 1 : text + len;
	size_t value_len = equal ? len - name - 1 : 0;

	if (admit_request_is_word(text, name, "uri") && !q->uri_len)
		return admit_request_take_encoded(q, value, value_len);
	if (admit_request_is_word(text, name, "size"))
		return admit_request_take_size(q, value, value_len);
	if (!admit_request_is_word(text, name, "note"))
		return -EINVAL;
	q->note = admit_request_is_word(value, value_len, "yes");
	return q->note || admit_request_is_word(value, value_len, "no")
		       ? 0
		       : -EINVAL;
}

static void admit_request_begin(struct admit_question *q)
{
	q->uri_len = 0;
	q->size = ADMIT_DEFAULT_SIZE;
	q->note = true;
}

int admit_read_query(const char *query, size_t len, struct admit_question *q)
{
	int err = 0;

	admit_request_begin(q);
	while (len && !err) {
		const char *end = memchr(query, '&', len);
		size_t part = end ? (size_t)(end - query) : len;

		err = admit_request_take_part(q, query, part);
		query += part + (end != NULL);
		len -= part + (end != NULL);
	}
	return err || q->uri_len ? err : -EINVAL;
}

int admit_read_line(const char *line, size_t len, struct admit_question *q)
{
	size_t uri = 0;
	int err;

	admit_request_begin(q);
	while (uri < len && line[uri] != ' ' && line[uri] != '\t')
		uri++;
	err = admit_request_take_uri(q, line, uri);
	if (err || uri == len)
		return err;
	return admit_request_take_size(q, line + uri + 1, len - uri - 1);
}

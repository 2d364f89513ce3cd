/*
 * Normalising requests.
 */
#include "digestd/http/request_normal.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "digestd/http/fields.h"
#include "digestd/http/query.h"

/* Encodings */

/* "q=0", "q=0.00": it is not accepted. */
static bool request_normal_is_zero(struct field_part element)
{
	const char *at = memchr(element.at, ';', element.len);
	const char *end = element.at + element.len;

	if (!at)
		return false;
	for (at++; at < end && (*at == ' ' || *at == '\t'); at++)
		continue;
	if (end - at < 3 || (*at != 'q' && *at != 'Q') || at[1] != '=')
		return false;
	for (at += 2; at < end && (*at == '0' || *at == '.'); at++)
		continue;
	return at == end || *at == ' ' || *at == '\t' || *at == ';';
}

static bool request_normal_accepts(const struct fields *request,
				   const char *coding)
{
	struct field_cursor cursor = { 0 };
	size_t len = strlen(coding);
	struct field_part element;
	bool accepts = false;

	while (fields_next(request, "Accept-Encoding", &cursor, &element)) {
		if (element.len >= len &&
		    !strncasecmp(element.at, coding, len) &&
		    (element.len == len || strchr("; \t", element.at[len])))
			accepts = !request_normal_is_zero(element);
	}
	return accepts;
}

int request_normal_encodings(struct fields *request)
{
	bool br = request_normal_accepts(request, "br");
	bool gzip = request_normal_accepts(request, "gzip");

	if (br || gzip)
		return fields_set(request, "Accept-Encoding",
				  !gzip ? "br" : br ? "br, gzip" : "gzip");
	fields_remove(request, "Accept-Encoding");
	return 0;
}

/* Cookies */

/* Adds those of a field that are named to a text that has room for them. */
static size_t request_normal_add_cookies(const char *value, const char *names,
					 char *text, size_t len)
{
	while (*value) {
		size_t n = strcspn(value, ";");
		const char *equals = memchr(value, '=', n);
		size_t name_len = equals ? (size_t)(equals - value) : n;

		if (n && query_lists_name(names, value, name_len)) {
			if (len) {
				memcpy(text + len, "; ", 2);
				len += 2;
			}
			memcpy(text + len, value, n);
			len += n;
		}
		value += n;
		value += strspn(value, "; \t");
	}
	return len;
}

int request_normal_cookies(struct fields *request, const char *names)
{
	size_t room = 1, len = 0;
	char *text;
	int err = 0;

	for (size_t i = 0; i < fields_count(request); i++) {
		if (field_is(fields_at(request, i), "Cookie"))
			room += (size_t)fields_at(request, i)->value_len * 2 +
				2;
	}
	if (room == 1)
		return 0;
	text = malloc(room);
	if (!text)
		return -ENOMEM;
	for (size_t i = 0; i < fields_count(request); i++) {
		const struct field *line = fields_at(request, i);

		if (field_is(line, "Cookie"))
			len = request_normal_add_cookies(line->value, names,
							 text, len);
	}
	text[len] = '\0';
	if (len)
		err = fields_set(request, "Cookie", text);
	else
		fields_remove(request, "Cookie");
	free(text);
	return err;
}

/*
 * Who a request comes from, see the header.
 */
#include "digestd/core/forwarded.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/core/fields.h"
#include "digestd/core/words.h"

enum { MEMBER_BYTES = 512 }; /* an address, a host and the words */

bool forwarded_read(const char *name, enum forwarded *out)
{
	static const char *const names[] = {
		[FORWARDED_NOTHING] = "none",
		[FORWARDED_FOR] = "for",
		[FORWARDED_X] = "x-forwarded",
		[FORWARDED_STANDARD] = "forwarded",
		NULL
	};
	int i = words_find(names, name);

	if (i >= 0)
		*out = (enum forwarded)i;
	return i >= 0;
}

static char *put(char *at, const char *bytes, size_t len)
{
	memcpy(at, bytes, len);
	return at + len;
}

/*
 * Makes a field one line, with a member more at its end: many origins look at
 * one line only.
 */
static int append(struct fields *f, const char *name, const char *member)
{
	struct field_cursor cursor = { 0 };
	struct field_part part;
	size_t room = strlen(member) + 1;
	char *line, *at;
	int err;

	while (fields_next(f, name, &cursor, &part))
		room += part.len + 2;
	line = malloc(room);
	if (!line)
		return -ENOMEM;
	at = line;
	cursor = (struct field_cursor){ 0 };
	while (fields_next(f, name, &cursor, &part))
		at = put(put(at, part.at, part.len), ", ", 2);
	put(at, member, strlen(member) + 1);
	err = fields_set(f, name, line);
	free(line);
	return err;
}

/* What is no token is quoted, and so is an address of IPv6, with brackets. */
static int add_standard(const struct forwarded_by *by, struct fields *request)
{
	char member[MEMBER_BYTES];
	bool six = strchr(by->address, ':');
	const char *quote = field_is_token(by->host, strlen(by->host)) ?
				    "" : "\"";
	int n = snprintf(member, sizeof(member),
			 "for=%s%s%s;host=%s%s%s;proto=%s", six ? "\"[" : "",
			 by->address, six ? "]\"" : "", quote, by->host, quote,
			 by->tls ? "https" : "http");

	if (n < 0 || n >= MEMBER_BYTES)
		return -ENOMEM;
	return append(request, "Forwarded", member);
}

int forwarded_add(enum forwarded how, const struct forwarded_by *by,
		  struct fields *request)
{
	switch (how) {
	case FORWARDED_NOTHING:
		return 0;
	case FORWARDED_STANDARD:
		return add_standard(by, request);
	case FORWARDED_X:
		if (fields_set(request, "X-Forwarded-Proto",
			       by->tls ? "https" : "http") ||
		    fields_set(request, "X-Forwarded-Host", by->host))
			return -ENOMEM;
		break;
	case FORWARDED_FOR:
		break;
	}
	return append(request, "X-Forwarded-For", by->address);
}

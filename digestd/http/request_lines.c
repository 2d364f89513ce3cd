/*
 * Fields of HTTP/2 as lines of HTTP/1.1. Pseudo-fields come first, so that the
 * request line can be written when another field comes, or the end.
 */
#include "digestd/http/request_lines.h"

#include <stdlib.h>
#include <string.h>

#include "digestd/http/authority.h"
#include "digestd/http/octets.h"

enum { FIRST_BYTES = 1024, FLOOD_TIMES = 4 };

/* Bytes that grow */

/* Room for so many bytes at the end, which then count; null: no memory. */
static char *request_lines_extend(struct request_lines *l,
				  struct request_lines_text *text, size_t len)
{
	size_t cap = text->cap ? text->cap : FIRST_BYTES;
	char *grown;

	if (l->failed)
		return NULL;
	while (cap - text->len < len)
		cap *= 2;
	if (cap > text->cap) {
		grown = realloc(text->at, cap);
		if (!grown) {
			l->failed = true;
			return NULL;
		}
		text->at = grown;
		text->cap = cap;
	}
	text->len += len;
	return text->at + text->len - len;
}

static void request_lines_append(struct request_lines *l,
				 struct request_lines_text *text,
				 struct field_part part)
{
	char *to = request_lines_extend(l, text, part.len);

	if (to && part.len)
		memcpy(to, part.at, part.len);
}

static void request_lines_write(struct request_lines *l, const char *words)
{
	request_lines_append(l, &l->text,
			     (struct field_part){ words, strlen(words) });
}

/* A part of the text itself, which may move meanwhile. */
static void request_lines_repeat(struct request_lines *l,
				 enum request_lines_pseudo which)
{
	struct request_span span = l->pseudo[which];
	char *to = request_lines_extend(l, &l->text, span.len);

	if (to && span.len)
		memcpy(to, l->text.at + span.at, span.len);
}

/* What is refused */

static void request_lines_refuse(struct request_lines *l,
				 enum message_fault fault)
{
	if (!l->fault)
		l->fault = fault;
}

static bool request_lines_is_lower_token(struct field_part name)
{
	for (size_t i = 0; i < name.len; i++) {
		if (name.at[i] >= 'A' && name.at[i] <= 'Z')
			return false;
	}
	return field_is_token(name.at, name.len);
}

static bool request_lines_is_value(struct field_part value)
{
	const char *end = value.at + value.len;

	return !value.len ||
	       (!field_is_blank(*value.at) && !field_is_blank(end[-1]) &&
		octets_skip_value(value.at, end) == end);
}

/* RFC 9113, 8.2.2. */
static bool request_lines_is_of_connection(struct field_part name,
					   struct field_part value)
{
	static const char *const names[] = {
		"connection", "keep-alive", "proxy-connection",
		"transfer-encoding", "upgrade",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (field_part_is(name, names[i]))
			return true;
	}
	return field_part_is(name, "te") && !field_part_is(value, "trailers");
}

enum message_fault request_lines_check(struct field_part name,
				       struct field_part value)
{
	if (!request_lines_is_lower_token(name))
		return MESSAGE_FIELD_NAME;
	if (!request_lines_is_value(value))
		return MESSAGE_FIELD_VALUE;
	return request_lines_is_of_connection(name, value) ?
		       MESSAGE_FIELD_CONNECTION : MESSAGE_OK;
}

/* Pseudo-fields */

static int request_lines_find_pseudo(struct field_part name)
{
	static const char *const names[REQUEST_LINES_PSEUDOS] = {
		[REQUEST_LINES_METHOD] = ":method",
		[REQUEST_LINES_SCHEME] = ":scheme",
		[REQUEST_LINES_AUTHORITY] = ":authority",
		[REQUEST_LINES_PATH] = ":path",
	};

	for (int i = 0; i < REQUEST_LINES_PSEUDOS; i++) {
		if (name.len == strlen(names[i]) &&
		    !memcmp(name.at, names[i], name.len))
			return i;
	}
	return -1;
}

/* Whether it is a word of a request line, whatever it says there. */
static bool request_lines_is_word(struct field_part value)
{
	for (size_t i = 0; i < value.len; i++) {
		if ((unsigned char)value.at[i] <= ' ' || value.at[i] == 0x7f)
			return false;
	}
	return value.len;
}

static void request_lines_add_pseudo(struct request_lines *l,
				     struct field_part name,
				     struct field_part value)
{
	int which = request_lines_find_pseudo(name);

	if (which < 0 || l->begin || l->seen & 1u << which ||
	    !request_lines_is_word(value)) {
		request_lines_refuse(l, MESSAGE_PSEUDO_FIELD);
		return;
	}
	if (which == REQUEST_LINES_PATH &&
	    value.len > l->limits.max_target_bytes) {
		request_lines_refuse(l, MESSAGE_TARGET_LENGTH);
		return;
	}
	l->seen |= 1u << which;
	request_lines_append(l, &l->text, value);
	if (!l->failed)
		l->pseudo[which] = (struct request_span){
			(uint32_t)(l->text.len - value.len),
			(uint32_t)value.len
		};
}

struct field_part request_lines_pseudo(const struct request_lines *l,
				       enum request_lines_pseudo which)
{
	struct request_span span = l->pseudo[which];

	if (!span.len)
		return (struct field_part){ "", 0 };
	return (struct field_part){ l->text.at + span.at, span.len };
}

static bool request_lines_is_connect(const struct request_lines *l)
{
	struct field_part method;

	method = request_lines_pseudo(l, REQUEST_LINES_METHOD);
	return method.len == 7 && !memcmp(method.at, "CONNECT", 7);
}

/* Whether those are there that a request has (RFC 9113, 8.3.1 and 8.5). */
static bool request_lines_is_whole(const struct request_lines *l)
{
	enum { METHOD = 1u << REQUEST_LINES_METHOD,
	       SCHEME = 1u << REQUEST_LINES_SCHEME,
	       AUTHORITY = 1u << REQUEST_LINES_AUTHORITY,
	       PATH = 1u << REQUEST_LINES_PATH };
	unsigned needed = METHOD | SCHEME | PATH;

	if (request_lines_is_connect(l))
		return l->seen == (METHOD | AUTHORITY);
	return (l->seen & needed) == needed;
}

/* The request line */

static enum message_fault request_lines_check_target(struct request_lines *l)
{
	struct field_part scheme, path;

	if (request_lines_is_connect(l))
		return MESSAGE_OK;
	scheme = request_lines_pseudo(l, REQUEST_LINES_SCHEME);
	path = request_lines_pseudo(l, REQUEST_LINES_PATH);
	if (!field_part_is(scheme, "http") && !field_part_is(scheme, "https"))
		return MESSAGE_TARGET_FORM;
	return *path.at == '/' || field_part_is(path, "*") ?
		       MESSAGE_OK : MESSAGE_TARGET_FORM;
}

/* Whether the target names scheme and authority. */
static bool request_lines_is_absolute(const struct request_lines *l)
{
	struct field_part scheme, path;

	scheme = request_lines_pseudo(l, REQUEST_LINES_SCHEME);
	path = request_lines_pseudo(l, REQUEST_LINES_PATH);
	return *path.at == '/' && l->pseudo[REQUEST_LINES_AUTHORITY].len &&
	       field_part_is(scheme, "https") != l->https;
}

static void request_lines_write_target(struct request_lines *l)
{
	if (request_lines_is_connect(l)) {
		request_lines_repeat(l, REQUEST_LINES_AUTHORITY);
		return;
	}
	if (request_lines_is_absolute(l)) {
		request_lines_write(l, l->https ? "http://" : "https://");
		request_lines_repeat(l, REQUEST_LINES_AUTHORITY);
	}
	request_lines_repeat(l, REQUEST_LINES_PATH);
}

/* No pseudo-field comes any more. */
static void request_lines_begin_fields(struct request_lines *l)
{
	if (l->begin || l->fault || l->failed)
		return;
	if (!request_lines_is_whole(l)) {
		request_lines_refuse(l, MESSAGE_PSEUDO_FIELD);
		return;
	}
	request_lines_refuse(l, request_lines_check_target(l));
	l->begin = l->text.len;
	request_lines_repeat(l, REQUEST_LINES_METHOD);
	request_lines_write(l, " ");
	request_lines_write_target(l);
	request_lines_write(l, " HTTP/1.1\r\n");
	if (!l->pseudo[REQUEST_LINES_AUTHORITY].len)
		return;
	request_lines_write(l, "host: ");
	request_lines_repeat(l, REQUEST_LINES_AUTHORITY);
	request_lines_write(l, "\r\n");
}

/* Fields */

/* A Host beside :authority has to say the same, and then says nothing new. */
static bool request_lines_takes_host(struct request_lines *l,
				     struct field_part value)
{
	struct field_part named;
	struct authority ours, theirs;

	if (!l->pseudo[REQUEST_LINES_AUTHORITY].len)
		return true;
	named = request_lines_pseudo(l, REQUEST_LINES_AUTHORITY);
	if (!authority_parse(named, &ours) ||
	    !authority_parse(value, &theirs) ||
	    !authority_same(&ours, &theirs,
			    field_part_is(request_lines_pseudo(
						  l, REQUEST_LINES_SCHEME),
					  "https")))
		request_lines_refuse(l, MESSAGE_HOST_DIFFERS);
	return false;
}

static void request_lines_add_cookie(struct request_lines *l,
				     struct field_part value)
{
	if (l->cookies.len)
		request_lines_append(l, &l->cookies,
				     (struct field_part){ "; ", 2 });
	request_lines_append(l, &l->cookies, value);
}

static void request_lines_write_field(struct request_lines *l,
				      struct field_part name,
				      struct field_part value)
{
	request_lines_append(l, &l->text, name);
	request_lines_write(l, ": ");
	request_lines_append(l, &l->text, value);
	request_lines_write(l, "\r\n");
}

static void request_lines_add_field(struct request_lines *l,
				    struct field_part name,
				    struct field_part value)
{
	request_lines_begin_fields(l);
	request_lines_refuse(l, request_lines_check(name, value));
	if (l->fault)
		return;
	if (field_part_is(name, "cookie"))
		request_lines_add_cookie(l, value);
	else if (!field_part_is(name, "host") ||
		 request_lines_takes_host(l, value))
		request_lines_write_field(l, name, value);
}

/* Names and values that are kept, at most [bytes]. Below that it is
 * request_head.h that refuses lines for their size. */
static size_t request_lines_most(const struct request_lines *l)
{
	return REQUEST_HEAD_LINE_BYTES + l->limits.max_target_bytes +
	       l->limits.max_header_bytes;
}

void request_lines_begin(struct request_lines *l,
			 const struct request_limits *limits, bool https)
{
	*l = (struct request_lines){
		.text = { l->text.at, 0, l->text.cap },
		.cookies = { l->cookies.at, 0, l->cookies.cap },
		.limits = *limits,
		.https = https,
	};
}

void request_lines_add(struct request_lines *l, struct field_part name,
		       struct field_part value)
{
	l->came += name.len + value.len;
	if (l->came > request_lines_most(l))
		request_lines_refuse(l, MESSAGE_HEADER_LENGTH);
	if (l->fault || l->failed)
		return;
	if (name.len && *name.at == ':')
		request_lines_add_pseudo(l, name, value);
	else
		request_lines_add_field(l, name, value);
}

bool request_lines_is_flood(const struct request_lines *l)
{
	return l->came > FLOOD_TIMES * request_lines_most(l);
}

enum message_fault request_lines_end(struct request_lines *l,
				     struct field_part *lines)
{
	static const struct field_part cookie = { "cookie", 6 };

	request_lines_begin_fields(l);
	if (l->fault || l->failed)
		return l->fault;
	if (l->cookies.len)
		request_lines_write_field(
			l, cookie,
			(struct field_part){ l->cookies.at, l->cookies.len });
	request_lines_write(l, "\r\n");
	*lines = (struct field_part){ l->text.at + l->begin,
				      l->text.len - l->begin };
	return MESSAGE_OK;
}

void request_lines_free(struct request_lines *l)
{
	free(l->text.at);
	free(l->cookies.at);
	*l = (struct request_lines){ 0 };
}

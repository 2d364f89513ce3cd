/*
 * Writing the head of a request. How its body is framed and what becomes of the
 * connection is said here, whatever the caller's fields say.
 */
#include "digestd/fetch/fetch_head.h"

#include <string.h>
#include <strings.h>

#include "digestd/http/decimal.h"
#include "digestd/http/fields.h"
#include "digestd/fetch/fetch_url.h"
#include "digestd/fetch/fetch_way.h"

/* Bytes of this client's own lines, the longest of each kind. */
enum {
	OWN_BYTES = sizeof(
		"  HTTP/1.1\r\nHost: \r\nTransfer-Encoding: chunked\r\n"
		"Expect: 100-continue\r\nConnection: TE, Upgrade\r\n"
		"TE: trailers\r\nUpgrade: \r\n\r\n/"),
};

size_t fetch_head_size(const struct fetch_request *r,
		       const struct fetch_url *url)
{
	size_t n = OWN_BYTES + DECIMAL_BYTES + strlen(r->method) +
		   url->authority.len +
		   (r->target ? strlen(r->target) : url->target.len) +
		   (r->upgrade ? strlen(r->upgrade) : 0);

	return n + fetch_head_fields_size(r->fields);
}

size_t fetch_head_fields_size(const struct fields *fields)
{
	size_t n = 0;

	for (size_t i = 0; fields && i < fields_count(fields); i++) {
		const struct field *field = fields_at(fields, i);

		n += (size_t)field->name_len + field->value_len + 4;
	}
	return n;
}

static char *fetch_head_put(char *at, const char *text, size_t len)
{
	memcpy(at, text, len);
	return at + len;
}

static char *fetch_head_put_text(char *at, const char *text)
{
	return fetch_head_put(at, text, strlen(text));
}

static char *fetch_head_put_field(char *at, const char *name,
				  struct response_bytes value)
{
	at = fetch_head_put_text(at, name);
	at = fetch_head_put(at, ": ", 2);
	at = fetch_head_put(at, value.at, value.len);
	return fetch_head_put(at, "\r\n", 2);
}

char *fetch_head_write_fields(char *at, const struct fields *fields)
{
	for (size_t i = 0; fields && i < fields_count(fields); i++) {
		const struct field *field = fields_at(fields, i);
		if (fetch_is_framing(field))
			continue;
		at = fetch_head_put(at, field->name, field->name_len);
		at = fetch_head_put(at, ": ", 2);
		at = fetch_head_put(at, field->value, field->value_len);
		at = fetch_head_put(at, "\r\n", 2);
	}
	return at;
}

/* A method that mostly has a body is sent with a word about there being none
 * (RFC 9110, 8.6). */
static bool fetch_head_expects_body(const char *method)
{
	return *method == 'P' && /* only saves the calls */
	       (!strcmp(method, "POST") || !strcmp(method, "PUT") ||
		!strcmp(method, "PATCH"));
}

/* What the connection has to do with it. */
static char *fetch_head_put_connection(char *at, const struct fetch_request *r)
{
	if (r->trailers)
		at = fetch_head_put_text(at, "TE: trailers\r\nConnection: TE");
	if (r->trailers)
		return fetch_head_put_text(at, r->upgrade ? ", Upgrade\r\n" :
							    "\r\n");
	return r->upgrade ? fetch_head_put_text(at, "Connection: Upgrade\r\n") :
			    at;
}

static char *fetch_head_put_framing(char *at, const struct fetch_request *r)
{
	char digits[DECIMAL_BYTES];

	at = fetch_head_put_connection(at, r);
	if (r->upgrade) {
		at = fetch_head_put_text(at, "Upgrade: ");
		at = fetch_head_put_text(at, r->upgrade);
		return fetch_head_put_text(at, "\r\n");
	}
	if (!r->upload)
		return fetch_head_expects_body(r->method) ?
			       fetch_head_put_text(at,
						   "Content-Length: 0\r\n") :
			       at;
	if (fetch_expects_continue(r))
		at = fetch_head_put_text(at, "Expect: 100-continue\r\n");
	if (r->upload->len < 0)
		return fetch_head_put_text(at,
					   "Transfer-Encoding: chunked\r\n");
	decimal_write(r->upload->len, digits);
	return fetch_head_put_field(at, "Content-Length",
				    (struct response_bytes){digits,
							    strlen(digits)});
}

size_t fetch_head_write(char *out, const struct fetch_request *r,
			const struct fetch_url *url)
{
	char *at = fetch_head_put_text(out, r->method);

	*at++ = ' ';
	if (r->target)
		at = fetch_head_put_text(at, r->target);
	else if (url->target.len)
		at = fetch_head_put(at, url->target.at, url->target.len);
	else
		*at++ = '/';
	at = fetch_head_put_text(at, " HTTP/1.1\r\n");
	if (!r->fields || !fields_get(r->fields, "Host"))
		at = fetch_head_put_field(at, "Host", url->authority);
	at = fetch_head_write_fields(at, r->fields);
	at = fetch_head_put_framing(at, r);
	at = fetch_head_put(at, "\r\n", 2);
	return (size_t)(at - out);
}

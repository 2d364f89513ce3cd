/*
 * The guard: a list of checks, in the order in which a request is read.
 */
#include "digestd/core/guard.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "codec/uri.h"
#include "digestd/core/fields.h"

enum { MAX_HOST = 300 };

static const struct guard_verdict accepted = { 0, NULL };

static struct guard_verdict refuse(unsigned status, const char *reason)
{
	return (struct guard_verdict){ status, reason };
}

static struct guard_verdict check_method(const struct guard_request *r)
{
	if (!field_is_token(r->method, strlen(r->method)))
		return refuse(400, "the method is no token");
	if (!strcmp(r->method, "CONNECT") || !strcmp(r->method, "TRACE"))
		return refuse(501, "method not implemented");
	return accepted;
}

static struct guard_verdict check_target(const struct guard_request *r)
{
	if (r->target_len == 0)
		return refuse(400, "empty target");
	if (r->target_len > GUARD_MAX_TARGET)
		return refuse(414, "target too long");
	for (size_t i = 0; i < r->target_len; i++) {
		unsigned char c = (unsigned char)r->target[i];

		if (c <= ' ' || c > '~')
			return refuse(400, "invalid byte in target");
		if (c == '#')
			return refuse(400, "fragment in target");
	}
	if (r->target[0] == '*' &&
	    (r->target_len > 1 || strcmp(r->method, "OPTIONS")))
		return refuse(400, "invalid target");
	return accepted;
}

static bool value_is_clean(const char *value)
{
	for (; *value; value++) {
		unsigned char c = (unsigned char)*value;

		if ((c < ' ' && c != '\t') || c == 0x7f)
			return false;
	}
	return true;
}

static struct guard_verdict check_fields(const struct guard_request *r)
{
	if (fields_count(r->fields) > GUARD_MAX_FIELDS)
		return refuse(431, "too many fields");
	for (size_t i = 0; i < fields_count(r->fields); i++) {
		const struct field *line = fields_at(r->fields, i);

		if (!field_is_token(line->name, strlen(line->name)))
			return refuse(400, "invalid field name");
		if (!value_is_clean(line->value))
			return refuse(400, "invalid byte in a field");
	}
	return accepted;
}

static struct guard_verdict check_length(const struct guard_request *r)
{
	const char *length = fields_get(r->fields, "Content-Length");
	size_t digits = length ? strlen(length) : 0;

	if (!length)
		return accepted;
	if (fields_lines(r->fields, "Content-Length") > 1)
		return refuse(400, "repeated Content-Length");
	if (!digits || digits > 18 ||
	    strspn(length, "0123456789") != digits)
		return refuse(400, "invalid Content-Length");
	return accepted;
}

static struct guard_verdict check_coding(const struct guard_request *r)
{
	const char *coding = fields_get(r->fields, "Transfer-Encoding");

	if (!coding)
		return accepted;
	if (r->minor == 0)
		return refuse(400, "Transfer-Encoding in HTTP/1.0");
	if (fields_get(r->fields, "Content-Length"))
		return refuse(400, "Content-Length with Transfer-Encoding");
	if (fields_lines(r->fields, "Transfer-Encoding") > 1)
		return refuse(400, "repeated Transfer-Encoding");
	if (strcasecmp(coding, "chunked"))
		return refuse(501, "unknown Transfer-Encoding");
	return accepted;
}

static struct guard_verdict check_expect(const struct guard_request *r)
{
	const char *expect = fields_get(r->fields, "Expect");

	if (expect && strcasecmp(expect, "100-continue"))
		return refuse(417, "unknown expectation");
	return accepted;
}

/* Whether host, as a field's value, is an authority without userinfo. */
static bool host_is_valid(const char *host)
{
	char uri[MAX_HOST + 8], out[MAX_HOST + 10];
	size_t len = strlen(host);

	if (len == 0 || len > MAX_HOST || strpbrk(host, "/?#@"))
		return false;
	memcpy(uri, "http://", 7);
	memcpy(uri + 7, host, len);
	return scd_uri_canonical(uri, 7 + len, out, sizeof(out), NULL) ==
	       SCD_OK;
}

/*
 * Whether an absolute target names the same host as Host does (RFC 9112,
 * 3.2.2): the target put together with Host's authority must come out equal.
 */
static bool host_agrees(const struct guard_request *r, const char *host)
{
	const char *slashes = memchr(r->target, ':', r->target_len);
	size_t scheme = slashes ? (size_t)(slashes - r->target) + 3 : 0;
	size_t room = r->target_len + 2, host_len = strlen(host);
	char uri[MAX_HOST + 16], theirs[MAX_HOST + 18];
	char *ours = malloc(room);
	size_t len = 0, our_len = 0;
	bool same = false;

	if (ours && scheme && scheme < 16 &&
	    !scd_uri_canonical(r->target, r->target_len, ours, room,
			       &our_len)) {
		memcpy(uri, r->target, scheme);
		memcpy(uri + scheme, host, host_len);
		same = !scd_uri_canonical(uri, scheme + host_len, theirs,
					  sizeof(theirs), &len) &&
		       len <= our_len && !memcmp(ours, theirs, len);
	}
	free(ours);
	return same;
}

static struct guard_verdict check_host(const struct guard_request *r)
{
	const char *host = fields_get(r->fields, "Host");

	if (fields_lines(r->fields, "Host") > 1)
		return refuse(400, "repeated Host");
	if (!host)
		return r->minor == 0 ? accepted : refuse(400, "no Host");
	if (!host_is_valid(host))
		return refuse(400, "invalid Host");
	if (r->target[0] != '/' && r->target[0] != '*' && !host_agrees(r, host))
		return refuse(400, "target and Host differ");
	return accepted;
}

struct guard_verdict guard_check(const struct guard_request *r)
{
	static struct guard_verdict (*const checks[])(
		const struct guard_request *) = {
		check_method, check_target, check_fields, check_length,
		check_coding, check_expect, check_host,
	};

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		struct guard_verdict v = checks[i](r);

		if (v.status)
			return v;
	}
	return accepted;
}

/*
 * The guard: a list of checks, in the order in which a request is read.
 */
#include "digestd/http/guard.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "digestd/http/authority.h"
#include "digestd/http/fields.h"
#include "digestd/http/octets.h"

static const struct guard_verdict accepted = { 0, NULL };

static struct guard_verdict guard_refuse(unsigned status, const char *reason)
{
	return (struct guard_verdict){ status, reason };
}

static struct guard_verdict guard_check_method(const struct guard_request *r)
{
	if (!field_is_token(r->method, strlen(r->method)))
		return guard_refuse(400, "the method is no token");
	if (!strcmp(r->method, "CONNECT") || !strcmp(r->method, "TRACE"))
		return guard_refuse(501, "method not implemented");
	return accepted;
}

static struct guard_verdict guard_check_target(const struct guard_request *r)
{
	if (r->target_len == 0)
		return guard_refuse(400, "empty target");
	if (r->target_len > GUARD_MAX_TARGET)
		return guard_refuse(414, "target too long");
	for (size_t i = 0; i < r->target_len; i++) {
		unsigned char c = (unsigned char)r->target[i];

		if (c <= ' ' || c > '~')
			return guard_refuse(400, "invalid byte in target");
		if (c == '#')
			return guard_refuse(400, "fragment in target");
	}
	if (r->target[0] == '*' &&
	    (r->target_len > 1 || strcmp(r->method, "OPTIONS")))
		return guard_refuse(400, "invalid target");
	return accepted;
}

static bool guard_value_is_clean(const char *value)
{
	const char *end = value + strlen(value);

	return octets_skip_value(value, end) == end;
}

static struct guard_verdict guard_check_fields(const struct guard_request *r)
{
	if (fields_count(r->fields) > GUARD_MAX_FIELDS)
		return guard_refuse(431, "too many fields");
	for (size_t i = 0; i < fields_count(r->fields); i++) {
		const struct field *line = fields_at(r->fields, i);

		if (!field_is_token(line->name, line->name_len))
			return guard_refuse(400, "invalid field name");
		if (!guard_value_is_clean(line->value))
			return guard_refuse(400, "invalid byte in a field");
	}
	return accepted;
}

static struct guard_verdict guard_check_length(const struct guard_request *r)
{
	const char *length = fields_get(r->fields, "Content-Length");
	size_t digits = length ? strlen(length) : 0;

	if (!length)
		return accepted;
	if (fields_lines(r->fields, "Content-Length") > 1)
		return guard_refuse(400, "repeated Content-Length");
	if (!digits || digits > 18 ||
	    strspn(length, "0123456789") != digits)
		return guard_refuse(400, "invalid Content-Length");
	return accepted;
}

static struct guard_verdict guard_check_coding(const struct guard_request *r)
{
	const char *coding = fields_get(r->fields, "Transfer-Encoding");

	if (!coding)
		return accepted;
	if (r->minor == 0)
		return guard_refuse(400, "Transfer-Encoding in HTTP/1.0");
	if (fields_get(r->fields, "Content-Length"))
		return guard_refuse(400,
				    "Content-Length with Transfer-Encoding");
	if (fields_lines(r->fields, "Transfer-Encoding") > 1)
		return guard_refuse(400, "repeated Transfer-Encoding");
	if (strcasecmp(coding, "chunked"))
		return guard_refuse(501, "unknown Transfer-Encoding");
	return accepted;
}

static struct guard_verdict guard_check_expect(const struct guard_request *r)
{
	const char *expect = fields_get(r->fields, "Expect");

	if (expect && strcasecmp(expect, "100-continue"))
		return guard_refuse(417, "unknown expectation");
	return accepted;
}

static bool guard_parse_host(const char *host, struct authority *a)
{
	return authority_parse((struct field_part){ host, strlen(host) }, a);
}

/* The authority of an absolute target, and its scheme; null: it is none. */
static const char *guard_target_scheme(const struct guard_request *r,
				       struct field_part *authority)
{
	static const char *const schemes[] = { "http://", "https://" };

	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
		size_t scheme = strlen(schemes[i]), len = 0;
		const char *at = r->target + scheme;

		if (r->target_len <= scheme ||
		    strncasecmp(r->target, schemes[i], scheme))
			continue;
		while (scheme + len < r->target_len && !strchr("/?", at[len]))
			len++;
		*authority = (struct field_part){ at, len };
		return schemes[i];
	}
	return NULL;
}

/* RFC 9112, 3.2.2: an absolute target and Host name the same. */
static struct guard_verdict guard_check_absolute(const struct guard_request *r,
						 const struct authority *host)
{
	struct field_part text;
	struct authority target;
	const char *scheme = guard_target_scheme(r, &text);

	if (!scheme || !authority_parse(text, &target))
		return guard_refuse(400, "invalid target");
	if (host && !authority_same(&target, host, scheme[4] == 's'))
		return guard_refuse(400, "target and Host differ");
	return accepted;
}

static struct guard_verdict guard_check_host(const struct guard_request *r)
{
	const char *host = fields_get(r->fields, "Host");
	struct authority a;

	if (fields_lines(r->fields, "Host") > 1)
		return guard_refuse(400, "repeated Host");
	if (!host && r->minor > 0)
		return guard_refuse(400, "no Host");
	if (host && !guard_parse_host(host, &a))
		return guard_refuse(400, "invalid Host");
	if (r->target[0] != '/' && r->target[0] != '*')
		return guard_check_absolute(r, host ? &a : NULL);
	return accepted;
}

struct guard_verdict guard_check(const struct guard_request *r)
{
	static struct guard_verdict (*const checks[])(
		const struct guard_request *) = {
		guard_check_method, guard_check_target, guard_check_fields,
		guard_check_length, guard_check_coding, guard_check_expect,
		guard_check_host,
	};

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		struct guard_verdict v = checks[i](r);

		if (v.status)
			return v;
	}
	return accepted;
}

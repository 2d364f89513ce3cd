/*
 * Who a request comes from, see the header.
 */
#include "digestd/http/forwarded.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/http/fields.h"
#include "digestd/http/enum_names.h"

enum { MEMBER_BYTES = 512 }; /* an address, a host and the words */

const char *const forwarded_names[] = {
	[FORWARDED_NOTHING] = "none",
	[FORWARDED_FOR] = "for",
	[FORWARDED_X] = "x-forwarded",
	[FORWARDED_STANDARD] = "forwarded",
	NULL,
};

bool forwarded_read(const char *name, enum forwarded *out)
{
	int i = enum_names_find(forwarded_names, name);

	if (i >= 0)
		*out = (enum forwarded)i;
	return i >= 0;
}

#define CLAIM(text, whole) { text, sizeof(text) - 1, whole }

/* Only saves time: the first byte and the fourth tell nearly all other names
 * from these. Each claim has a letter in both places: a "-" there, for which
 * names may have "_", would not be found. */
static bool forwarded_may_be(const char *name, const char *claim)
{
	return (name[0] | 0x20) == claim[0] && (name[3] | 0x20) == claim[3];
}

bool forwarded_is_claim(const char *name, size_t len)
{
	static const struct {
		const char text[24];
		size_t len;
		bool whole; /* else a prefix */
	} claims[] = {
		CLAIM("forwarded", true), CLAIM("x-forwarded", false),
		CLAIM("x-original-", false), CLAIM("x-rewrite-", false),
		CLAIM("x-real-ip", true), CLAIM("x-host", true),
		CLAIM("x-scheme", true), CLAIM("x-url-scheme", true),
		CLAIM("front-end-https", true),
		CLAIM("x-http-host-override", true),
		CLAIM("x-client-ip", true), CLAIM("x-cluster-client-ip", true),
		CLAIM("true-client-ip", true), CLAIM("client-ip", true),
		CLAIM("cf-connecting-ip", false), CLAIM("cf-pseudo-ipv4", true),
		CLAIM("fastly-client-ip", true),
	};

	if (len < 4)
		return false;
	for (size_t i = 0; i < sizeof(claims) / sizeof(claims[0]); i++) {
		if (forwarded_may_be(name, claims[i].text) &&
		    (!claims[i].whole || len == claims[i].len) &&
		    field_name_begins(name, len, claims[i].text))
			return true;
	}
	return false;
}

/* The value of proto= in the last element, which the nearest proxy added. */
static struct field_part forwarded_proto(const struct fields *request)
{
	struct field_part proto = { "", 0 }, element;
	struct field_cursor cursor = { 0 };

	while (fields_next(request, "Forwarded", &cursor, &element)) {
		proto.len = 0;
		while (element.len) {
			struct field_part value = field_part_take(&element,
								  ';');
			struct field_part name = field_part_take(&value, '=');

			if (field_part_is(name, "proto"))
				proto = value;
		}
	}
	return proto;
}

void forwarded_scheme(const struct fields *request, bool *https)
{
	struct field_part proto = { "", 0 }, element;
	struct field_cursor cursor = { 0 };

	while (fields_next(request, "X-Forwarded-Proto", &cursor, &element))
		proto = element;
	if (!proto.len)
		proto = forwarded_proto(request);
	if (proto.len >= 2 && proto.at[0] == '"') {
		proto.at++;
		proto.len -= 2;
	}
	if (field_part_is(proto, "https"))
		*https = true;
	else if (field_part_is(proto, "http"))
		*https = false;
}

static void forwarded_drop_claims(struct fields *f)
{
	static const uint32_t first = 1u << ('c' & 31) | 1u << ('f' & 31) |
				      1u << ('t' & 31) | 1u << ('x' & 31);

	for (size_t i = 0; i < fields_count(f);) {
		const struct field *line = fields_at(f, i);

		/* letters that claims begin with go first, to save calls */
		if (first >> (*line->name & 31) & 1 &&
		    forwarded_is_claim(line->name, line->name_len))
			fields_remove(f, line->name);
		else
			i++;
	}
}

void forwarded_admit(enum forwarded_trust trust, struct fields *request,
		     bool *https)
{
	switch (trust) {
	case FORWARDED_DROP:
		forwarded_drop_claims(request);
		break;
	case FORWARDED_BELIEVE:
		forwarded_scheme(request, https);
		break;
	case FORWARDED_PASS:
		break;
	}
}

static char *forwarded_put(char *at, const char *bytes, size_t len)
{
	memcpy(at, bytes, len);
	return at + len;
}

/*
 * Makes a field one line, with a member more at its end: many origins look at
 * one line only.
 */
static int forwarded_append(struct fields *f, const char *name,
			    const char *member)
{
	struct field_cursor cursor = { 0 };
	struct field_part part;
	size_t room = strlen(member) + 1;
	char *line, *at;
	int err;

	if (!fields_get(f, name)) /* only saves time */
		return fields_add(f, name, member);
	while (fields_next(f, name, &cursor, &part))
		room += part.len + 2;
	line = malloc(room);
	if (!line)
		return -ENOMEM;
	at = line;
	cursor = (struct field_cursor){ 0 };
	while (fields_next(f, name, &cursor, &part))
		at = forwarded_put(forwarded_put(at, part.at, part.len), ", ",
				   2);
	forwarded_put(at, member, strlen(member) + 1);
	err = fields_set(f, name, line);
	free(line);
	return err;
}

/* What is no token is quoted, and so is an address of IPv6, with brackets. */
static int forwarded_add_standard(const struct forwarded_by *by,
				  struct fields *request)
{
	char client[64] = "", member[MEMBER_BYTES];
	bool six = by->address && strchr(by->address, ':');
	const char *quote = field_is_token(by->host, strlen(by->host)) ?
				    "" : "\"";
	int n;

	if (by->address)
		snprintf(client, sizeof(client), "for=%s%s%s;",
			 six ? "\"[" : "", by->address, six ? "]\"" : "");
	n = snprintf(member, sizeof(member), "%shost=%s%s%s;proto=%s", client,
		     quote, by->host, quote, by->https ? "https" : "http");
	if (n < 0 || n >= MEMBER_BYTES)
		return -ENOMEM;
	return forwarded_append(request, "Forwarded", member);
}

int forwarded_add(enum forwarded how, const struct forwarded_by *by,
		  struct fields *request)
{
	switch (how) {
	case FORWARDED_NOTHING:
		return 0;
	case FORWARDED_STANDARD:
		return forwarded_add_standard(by, request);
	case FORWARDED_X:
		if (fields_set(request, "X-Forwarded-Proto",
			       by->https ? "https" : "http") ||
		    fields_set(request, "X-Forwarded-Host", by->host))
			return -ENOMEM;
		break;
	case FORWARDED_FOR:
		break;
	}
	return by->address ? forwarded_append(request, "X-Forwarded-For",
					      by->address)
			   : 0;
}

/*
 * Templates of KEYs.
 */
#include "digestd/sidecar/nginx_key.h"

#include <string.h>

/* The variables; the longest of those with a common beginning first. */
static const struct {
	const char *name;
	enum nginx_key_kind kind;
} nginx_key_variables[] = {
	{ "$scheme", NGINX_KEY_SCHEME },
	{ "$proxy_host", NGINX_KEY_HOST },
	{ "$http_host", NGINX_KEY_HOST },
	{ "$host", NGINX_KEY_HOST },
	{ "$request_uri", NGINX_KEY_URI },
	{ "$request_method", NGINX_KEY_METHOD },
	{ "$uri$is_args$args", NGINX_KEY_URI },
};

enum {
	NGINX_KEY_VARIABLES = sizeof(nginx_key_variables) /
			      sizeof(nginx_key_variables[0]),
};

/* What a KEY's variables are. */
struct nginx_key_values {
	const char *at[NGINX_KEY_KINDS];
	size_t len[NGINX_KEY_KINDS];
};

static bool nginx_key_is_name(char c)
{
	return (c >= 'a' && c <= 'z') || c == '_';
}

/* The variable at the beginning of a text, and its length; -1: none. */
static int nginx_key_variable(const char *text, size_t *len)
{
	for (int i = 0; i < NGINX_KEY_VARIABLES; i++) {
		*len = strlen(nginx_key_variables[i].name);
		if (!strncmp(text, nginx_key_variables[i].name, *len) &&
		    !nginx_key_is_name(text[*len]))
			return i;
	}
	return -1;
}

const char *nginx_key_read(const char *text, struct nginx_key *out)
{
	size_t used = 0, len;

	*out = (struct nginx_key){ .n = 0 };
	for (; *text; text += len) {
		int variable = -1;

		if (out->n == NGINX_KEY_PARTS)
			return "has more than 16 parts";
		if (*text == '$') {
			variable = nginx_key_variable(text, &len);
			if (variable < 0)
				return "has a variable that is not $scheme, "
				       "$host, $http_host, $proxy_host, "
				       "$request_uri, $uri$is_args$args or "
				       "$request_method";
			out->parts[out->n++].kind =
				nginx_key_variables[variable].kind;
			continue;
		}
		len = strcspn(text, "$");
		if (used + len > NGINX_KEY_TEXT)
			return "has more than 256 bytes of text";
		memcpy(out->text + used, text, len);
		out->parts[out->n].kind = NGINX_KEY_LITERAL;
		out->parts[out->n].at = used;
		out->parts[out->n++].len = len;
		used += len;
	}
	return NULL;
}

static unsigned nginx_key_count(const struct nginx_key *k,
				enum nginx_key_kind kind)
{
	unsigned n = 0;

	for (unsigned i = 0; i < k->n; i++)
		n += k->parts[i].kind == kind;
	return n;
}

const char *nginx_key_fault(const struct nginx_key *key,
			    const struct nginx_key *url)
{
	for (int kind = NGINX_KEY_SCHEME; kind < NGINX_KEY_KINDS; kind++) {
		const enum nginx_key_kind k = (enum nginx_key_kind)kind;

		if (nginx_key_count(key, k) > 1)
			return "nginx_key has a variable twice";
		if (nginx_key_count(url, k) > nginx_key_count(key, k))
			return "nginx_url has a variable that nginx_key has "
			       "not";
	}
	if (!nginx_key_count(key, NGINX_KEY_URI) ||
	    key->parts[key->n - 1].kind != NGINX_KEY_URI)
		return "nginx_key has no $request_uri at its end";
	if (!nginx_key_count(url, NGINX_KEY_URI))
		return "nginx_url has no $request_uri";
	return NULL;
}

static bool nginx_key_starts(const char *text, size_t len, const char *with)
{
	size_t n = strlen(with);

	return len >= n && !memcmp(text, with, n);
}

/* Whether a host can begin so. */
static bool nginx_key_is_host(const char *text, size_t len)
{
	return len && ((*text >= 'a' && *text <= 'z') ||
		       (*text >= 'A' && *text <= 'Z') ||
		       (*text >= '0' && *text <= '9') || *text == '[');
}

/* How much of a KEY, from where a part begins, is that part; -1: it is not as
 * the part says. */
static long nginx_key_take(const struct nginx_key *k, unsigned i,
			   const char *text, size_t len)
{
	bool host_next = i + 1 < k->n &&
			 k->parts[i + 1].kind == NGINX_KEY_HOST;
	size_t n;

	switch (k->parts[i].kind) {
	case NGINX_KEY_LITERAL:
		n = k->parts[i].len;
		return len >= n && !memcmp(text, k->text + k->parts[i].at, n) ?
			       (long)n : -1;
	case NGINX_KEY_SCHEME:
		if (nginx_key_starts(text, len, "https") &&
		    (!host_next || nginx_key_is_host(text + 5, len - 5)))
			return 5;
		return nginx_key_starts(text, len, "http") ? 4 : -1;
	case NGINX_KEY_HOST:
		for (n = 0; n < len && text[n] != '/'; n++)
			continue;
		return nginx_key_is_host(text, n) ? (long)n : -1;
	case NGINX_KEY_URI:
		return len && *text == '/' ? (long)len : -1;
	case NGINX_KEY_METHOD:
		return nginx_key_starts(text, len, "GET") ? 3 : -1;
	case NGINX_KEY_KINDS:
		break;
	}
	return -1;
}

/* Whether a KEY is as its template says. */
static bool nginx_key_match(const struct nginx_key *k, const char *text,
			    size_t len, struct nginx_key_values *values)
{
	for (unsigned i = 0; i < k->n; i++) {
		long n = nginx_key_take(k, i, text, len);

		if (n < 0)
			return false;
		values->at[k->parts[i].kind] = text;
		values->len[k->parts[i].kind] = (size_t)n;
		text += n;
		len -= (size_t)n;
	}
	return !len;
}

size_t nginx_key_url(const struct nginx_key *key, const struct nginx_key *url,
		     const char *text, size_t len, char *out, size_t cap)
{
	struct nginx_key_values values = { { NULL }, { 0 } };
	size_t used = 0;

	if (!nginx_key_match(key, text, len, &values))
		return 0;
	for (unsigned i = 0; i < url->n; i++) {
		const enum nginx_key_kind kind = url->parts[i].kind;
		bool literal = kind == NGINX_KEY_LITERAL;
		const char *from = literal ? url->text + url->parts[i].at
					   : values.at[kind];
		size_t n = literal ? url->parts[i].len : values.len[kind];

		if (n > cap - used)
			return 0;
		memcpy(out + used, from, n);
		used += n;
	}
	return used;
}

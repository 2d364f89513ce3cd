/*
 * Canonical URIs: split into scheme, authority and the rest, check each, and
 * write them back. Some 80 ns for a URI of 60 bytes: most of them are looked
 * at eight at a time, and the characters of a host by a set of bits.
 */
#include "codec/uri.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "codec/le64.h"
#include "codec/uri_form.h"

/* A piece of the input. */
struct span {
	const char *at;
	size_t len;
};

struct output {
	char *at;
	char *end;
};

struct scheme {
	const char *prefix;
	size_t len; /* of that */
	unsigned port;
};

static const struct scheme schemes[] = {
	{ "http://", 7, 80 },
	{ "https://", 8, 443 },
};

static char uri_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool uri_put(struct output *o, struct span s)
{
	if ((size_t)(o->end - o->at) < s.len)
		return false;
	memcpy(o->at, s.at, s.len);
	o->at += s.len;
	return true;
}

/* Eight bytes below 128 with their letters in lower case; see below. */
static uint64_t uri_eight_lower(uint64_t word)
{
	const uint64_t each = UINT64_C(0x0101010101010101), upper = each << 7;
	uint64_t from_a = word + each * (128 - 'A');
	uint64_t behind_z = word + each * (128 - ('Z' + 1));

	return word | (from_a & ~behind_z & upper) >> 2;
}

static bool uri_put_lower(struct output *o, struct span s)
{
	size_t i = 0;

	if ((size_t)(o->end - o->at) < s.len)
		return false;
	for (; i + 8 <= s.len; i += 8) {
		uint64_t word;

		memcpy(&word, s.at + i, sizeof(word));
		word = uri_eight_lower(word);
		memcpy(o->at + i, &word, sizeof(word));
	}
	for (; i < s.len; i++)
		o->at[i] = uri_lower(s.at[i]);
	o->at += s.len;
	return true;
}

static uint64_t uri_load8(const char *at)
{
	return scd__load_le64((const uint8_t *)at);
}

/*
 * Whether eight bytes are all '!'..'~'. A byte below 128 to which 128 - c is
 * added has its upper bit set if it is c or more, and carries nothing over.
 */
static bool uri_eight_graphic(const char *at)
{
	const uint64_t each = UINT64_C(0x0101010101010101), upper = each << 7;
	uint64_t word = uri_load8(at);

	return !(word & upper) &&
	       ((word + each * (128 - '!')) & upper) == upper &&
	       !((word + each * (128 - ('~' + 1))) & upper);
}

static bool uri_all_graphic(struct span s)
{
	size_t i = 0;

	for (; i + 8 <= s.len; i += 8) {
		if (!uri_eight_graphic(s.at + i))
			return false;
	}
	if (i && i < s.len) /* the last eight, some of them again */
		return uri_eight_graphic(s.at + s.len - 8);
	for (; i < s.len; i++) {
		if (s.at[i] <= ' ' || s.at[i] > '~')
			return false;
	}
	return true;
}

static const struct scheme *uri_find_scheme(struct span uri)
{
	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
		size_t len = schemes[i].len, same = 0;

		/* only saves time */
		if (uri.len >= len && !memcmp(uri.at, schemes[i].prefix, len))
			return &schemes[i];
		while (same < len && same < uri.len &&
		       uri_lower(uri.at[same]) == schemes[i].prefix[same])
			same++;
		if (same == len)
			return &schemes[i];
	}
	return NULL;
}

/* The first `len` bytes of s, which move on. */
static struct span uri_take(struct span *s, size_t len)
{
	struct span head = { s->at, len };

	s->at += len;
	s->len -= len;
	return head;
}

/* What comes before the first `stop`. */
static struct span uri_take_until(struct span *s, char stop)
{
	const char *end = s->len ? memchr(s->at, stop, s->len) : NULL;

	return uri_take(s, end ? (size_t)(end - s->at) : s->len);
}

static struct span uri_take_authority(struct span *s)
{
	size_t len = 0;

	while (len < s->len && s->at[len] != '/' && s->at[len] != '?' &&
	       s->at[len] != '#')
		len++;
	return uri_take(s, len);
}

static void uri_drop_userinfo(struct span *authority)
{
	if (!memchr(authority->at, '@', authority->len)) /* only saves time */
		return;
	for (size_t i = authority->len; i-- > 0;) {
		if (authority->at[i] != '@')
			continue;
		authority->at += i + 1;
		authority->len -= i + 1;
		return;
	}
}

static bool uri_is_hex(char c)
{
	c = uri_lower(c);
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* What stands between the brackets: an IPv6 address, loosely. */
static bool uri_is_ip6(struct span host)
{
	bool colon = false;

	if (host.len < 4 || host.at[0] != '[' || host.at[host.len - 1] != ']')
		return false;
	for (size_t i = 1; i + 1 < host.len; i++) {
		if (!uri_is_hex(host.at[i]) && !strchr(":.", host.at[i]))
			return false;
		colon |= host.at[i] == ':';
	}
	return colon;
}

/* Letters, digits, and -._~!$&'()*+,;= as bits 0..127. */
static bool uri_is_name_char(char c)
{
	static const uint64_t set[2] = { UINT64_C(0x2bff7fd200000000),
					 UINT64_C(0x47fffffe87fffffe) };
	unsigned at = (unsigned char)c;

	return at < 128 && set[at / 64] >> at % 64 & 1;
}

/* A registered name or an IPv4 address (RFC 3986, 3.2.2). */
static bool uri_is_name(struct span host)
{
	for (size_t i = 0; i < host.len; i++) {
		char c = host.at[i];

		if (!uri_is_name_char(c) && (c != '%' || i + 2 >= host.len ||
					     !uri_is_hex(host.at[i + 1]) ||
					     !uri_is_hex(host.at[i + 2])))
			return false;
	}
	/* with two dots at its end, the last label would be empty */
	return host.len > 0 && host.at[host.len - 1] != '.';
}

static bool uri_split_host(struct span *authority, struct span *host)
{
	if (authority->len && authority->at[0] == '[') {
		*host = uri_take_until(authority, ']');
		if (!authority->len)
			return false;
		host->len++;
		authority->at++;
		authority->len--;
		return uri_is_ip6(*host);
	}
	*host = uri_take_until(authority, ':');
	if (host->len && host->at[host->len - 1] == '.')
		host->len--;
	return uri_is_name(*host);
}

/* ":8080", ":" or nothing: the port's number, 0 for none, -1 for nonsense. */
static int uri_parse_port(struct span s)
{
	unsigned port = 0;

	if (!s.len)
		return 0;
	if (s.at[0] != ':')
		return -1;
	for (size_t i = 1; i < s.len; i++) {
		if (s.at[i] < '0' || s.at[i] > '9')
			return -1;
		port = port * 10 + (unsigned)(s.at[i] - '0');
		if (port > 65535)
			return -1;
	}
	return s.len > 1 && port == 0 ? -1 : (int)port;
}

static bool uri_put_port(struct output *o, unsigned port)
{
	char digits[6];
	size_t i = sizeof(digits);

	for (; port; port /= 10)
		digits[--i] = (char)('0' + port % 10);
	digits[--i] = ':';
	return uri_put(o, (struct span){digits + i, sizeof(digits) - i});
}

/* Behind a port that is spelt as it would be written, or 0: it is none. */
static size_t uri_skip_written_port(const struct scheme *scheme,
				    struct span uri, size_t at)
{
	size_t i = at;
	unsigned port = 0;

	while (i < uri.len && i < at + 5 && uri.at[i] >= '0' &&
	       uri.at[i] <= '9')
		port = port * 10 + (unsigned)(uri.at[i++] - '0');
	return i > at && uri.at[at] != '0' && port <= 65535 &&
			       port != scheme->port ? i : 0;
}

/* The upper bit of each of eight bytes below 128 that is of a range. */
static uint64_t uri_eight_of(uint64_t word, char first, char last)
{
	const uint64_t each = UINT64_C(0x0101010101010101);

	return (word + each * (uint64_t)(128 - first)) &
	       ~(word + each * (uint64_t)(127 - last));
}

/* The scheme with which a URI begins, in lower case; null: none of these. It
 * has eight bytes at least. */
static const struct scheme *uri_written_scheme(const char *uri)
{
	const uint64_t word = uri_load8(uri);

	if (word << 8 == uri_load8("\0http://"))
		return &schemes[0];
	return word == uri_load8("https://") ? &schemes[1] : NULL;
}

/* Behind the letters in lower case, digits, "-" and "." from i on. */
static size_t uri_skip_name(struct span uri, size_t i)
{
	for (; i + 8 <= uri.len; i += 8) {
		uint64_t word = uri_load8(uri.at + i), others;

		/* a byte above 127 can only change those behind it */
		others = ~(uri_eight_of(word, 'a', 'z') |
			   uri_eight_of(word, '0', '9') |
			   uri_eight_of(word, '-', '.'));
		others = (others | word) & UINT64_C(0x8080808080808080);
		if (others)
			return i + (size_t)__builtin_ctzll(others) / 8;
	}
	while (i < uri.len && ((uri.at[i] >= 'a' && uri.at[i] <= 'z') ||
			       (uri.at[i] >= '0' && uri.at[i] <= '9') ||
			       uri.at[i] == '-' || uri.at[i] == '.'))
		i++;
	return i;
}

/* Whether eight bytes are graphic, and none of them begins a fragment. */
static bool uri_eight_of_path(const char *at)
{
	const uint64_t each = UINT64_C(0x0101010101010101);
	const uint64_t from_hash = uri_load8(at) ^ each * '#';

	return uri_eight_graphic(at) &&
	       !((from_hash - each) & ~from_hash & each << 7);
}

/* Whether all is so from i on, behind eight bytes or more that are. */
static bool uri_is_written_path(struct span uri, size_t i)
{
	for (; i + 8 < uri.len; i += 8) {
		if (!uri_eight_of_path(uri.at + i))
			return false;
	}
	return uri_eight_of_path(uri.at + uri.len - 8);
}

size_t scd__uri_written_path(const char *uri, size_t len)
{
	const struct span all = { uri, len };
	const struct scheme *scheme = len > 8 ? uri_written_scheme(uri) : NULL;
	size_t i;

	if (!scheme)
		return 0;
	i = uri_skip_name(all, scheme->len);
	if (i == scheme->len || i == len || uri[i - 1] == '.')
		return 0;
	if (uri[i] == ':')
		i = uri_skip_written_port(scheme, all, i + 1);
	return i && i < len && uri[i] == '/' && uri_is_written_path(all, i) ?
		       i : 0;
}

static int uri_end(struct output *o, size_t *out_len, const char *out)
{
	*o->at = '\0';
	if (out_len)
		*out_len = (size_t)(o->at - out);
	return SCD_OK;
}

int scd_uri_canonical(const char *uri, size_t len, char *out, size_t cap,
		      size_t *out_len)
{
	struct span rest = { uri, len };
	struct output o = { out, out + cap };
	const struct scheme *scheme;
	struct span authority, host, path;
	int port;

	if (scd__uri_written_path(uri, len)) { /* only saves time */
		if (!uri_put(&o, rest) || o.at == o.end)
			return SCD_ESPACE;
		return uri_end(&o, out_len, out);
	}
	scheme = uri_find_scheme(rest);
	if (!scheme || !uri_all_graphic(rest))
		return SCD_EURI;
	rest.at += scheme->len;
	rest.len -= scheme->len;
	authority = uri_take_authority(&rest);
	path = uri_take_until(&rest, '#');
	uri_drop_userinfo(&authority);
	if (!uri_split_host(&authority, &host))
		return SCD_EURI;
	port = uri_parse_port(authority);
	if (port < 0)
		return SCD_EURI;
	if (!uri_put(&o, (struct span){scheme->prefix, scheme->len}) ||
	    !uri_put_lower(&o, host) ||
	    (port && port != (int)scheme->port &&
	     !uri_put_port(&o, (unsigned)port)))
		return SCD_ESPACE;
	if ((!path.len || path.at[0] != '/') &&
	    !uri_put(&o, (struct span){"/", 1}))
		return SCD_ESPACE;
	if (!uri_put(&o, path) || o.at == o.end)
		return SCD_ESPACE;
	return uri_end(&o, out_len, out);
}

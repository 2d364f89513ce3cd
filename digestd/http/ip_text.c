/*
 * Addresses as text.
 */
#include "digestd/http/ip_text.h"

#include <stddef.h>
#include <string.h>

#include "digestd/http/hexdigit.h"

enum { IP6_BYTES = 16, GROUP_DIGITS = 4, OCTET_DIGITS = 3 };

/* The groups of an IPv6 address, as far as they are read. */
struct ip_text_groups {
	uint8_t bytes[IP6_BYTES];
	size_t n;   /* bytes */
	size_t gap; /* at which of them "::" stands */
	bool has_gap;
};

/* Takes a number of 0 to 255 off the front; -1: there is none. */
static int ip_text_take_octet(struct field_part *s)
{
	size_t i = 0;
	int n = 0;

	for (; i < s->len && i < OCTET_DIGITS && s->at[i] >= '0' &&
	       s->at[i] <= '9'; i++)
		n = n * 10 + (s->at[i] - '0');
	if (!i || n > 255 || (i > 1 && s->at[0] == '0'))
		return -1;
	*s = (struct field_part){ s->at + i, s->len - i };
	return n;
}

static bool ip_text_take(struct field_part *s, const char *text)
{
	size_t len = strlen(text);

	if (s->len < len || memcmp(s->at, text, len) != 0)
		return false;
	*s = (struct field_part){ s->at + len, s->len - len };
	return true;
}

bool ip_text_parse4(struct field_part text, uint8_t out[static 4])
{
	for (int i = 0; i < 4; i++) {
		int n = i && !ip_text_take(&text, ".") ?
				-1 : ip_text_take_octet(&text);

		if (n < 0)
			return false;
		out[i] = (uint8_t)n;
	}
	return !text.len;
}

/* A group of digits, or IPv4 to the end. */
static bool ip_text_take_group(struct ip_text_groups *g, struct field_part *s)
{
	unsigned value = 0;
	size_t i = 0;

	for (; i < s->len && i < GROUP_DIGITS && hexdigit_value(s->at[i]) >= 0;
	     i++)
		value = value << 4 | (unsigned)hexdigit_value(s->at[i]);
	if (i < s->len && s->at[i] == '.') {
		if (g->n > IP6_BYTES - 4 ||
		    !ip_text_parse4(*s, g->bytes + g->n))
			return false;
		g->n += 4;
		s->len = 0;
		return true;
	}
	if (!i || g->n == IP6_BYTES)
		return false;
	g->bytes[g->n++] = (uint8_t)(value >> 8);
	g->bytes[g->n++] = (uint8_t)value;
	*s = (struct field_part){ s->at + i, s->len - i };
	return true;
}

/* What stands between two groups: a colon, or two of them once. */
static bool ip_text_take_colon(struct ip_text_groups *g, struct field_part *s)
{
	if (!ip_text_take(s, "::"))
		return ip_text_take(s, ":") && s->len;
	if (g->has_gap)
		return false;
	g->has_gap = true;
	g->gap = g->n;
	return true;
}

static bool ip_text_read_groups(struct ip_text_groups *g, struct field_part s)
{
	if (s.len && *s.at == ':' &&
	    (!ip_text_take_colon(g, &s) || !g->has_gap))
		return false;
	while (s.len) {
		if (!ip_text_take_group(g, &s) ||
		    (s.len && !ip_text_take_colon(g, &s)))
			return false;
	}
	/* "::" stands for one group at least */
	return g->has_gap ? g->n < IP6_BYTES - 1 : g->n == IP6_BYTES;
}

bool ip_text_parse6(struct field_part text, uint8_t out[static 16])
{
	struct ip_text_groups g = { 0 };
	size_t behind;

	if (!ip_text_read_groups(&g, text))
		return false;
	behind = g.has_gap ? g.n - g.gap : 0;
	memset(out, 0, IP6_BYTES);
	memcpy(out, g.bytes, g.n - behind);
	memcpy(out + IP6_BYTES - behind, g.bytes + g.n - behind, behind);
	return true;
}

/*
 * The table of byte classes, and the portable scan of a value.
 */
#include "digestd/http/octets.h"

#include <string.h>

#define IS_DIGIT(c) ((c) >= '0' && (c) <= '9')
#define IS_LETTER(c) \
	(((c) >= 'A' && (c) <= 'Z') || ((c) >= 'a' && (c) <= 'z'))
#define IS_WORD(c) (IS_DIGIT(c) || IS_LETTER(c))
/* unreserved and sub-delims of RFC 3986 */
#define IS_NAME(c) \
	(IS_WORD(c) || (c) == '-' || (c) == '.' || (c) == '_' || (c) == '~' || \
	 (c) == '!' || (c) == '$' || ((c) >= '&' && (c) <= ',') || \
	 (c) == ';' || (c) == '=')
#define IS_TARGET(c) \
	(IS_NAME(c) || (c) == '%' || (c) == '/' || (c) == ':' || (c) == '?' || \
	 (c) == '@' || (c) == '[' || (c) == ']')
#define IS_TOKEN(c) \
	(IS_WORD(c) || (c) == '!' || ((c) >= '#' && (c) <= '\'') || \
	 (c) == '*' || (c) == '+' || (c) == '-' || (c) == '.' || \
	 ((c) >= '^' && (c) <= '`') || (c) == '|' || (c) == '~')
#define IS_BROWSER(c) \
	((c) == '^' || (c) == '`' || ((c) >= '{' && (c) <= '}'))
#define IS_VALUE(c) ((c) == '\t' || ((c) >= ' ' && (c) != 0x7f))

#define OCTET(c) \
	[c] = (IS_TOKEN(c) ? OCTETS_TOKEN : 0) | \
	      (IS_TARGET(c) ? OCTETS_TARGET : 0) | \
	      (IS_BROWSER(c) ? OCTETS_BROWSER : 0) | \
	      (IS_VALUE(c) ? OCTETS_VALUE : 0) | \
	      (IS_NAME(c) ? OCTETS_NAME : 0) | (IS_DIGIT(c) ? OCTETS_DIGIT : 0)
#define OCTETS_4(c) OCTET(c), OCTET((c) + 1), OCTET((c) + 2), OCTET((c) + 3)
#define OCTETS_16(c) \
	OCTETS_4(c), OCTETS_4((c) + 4), OCTETS_4((c) + 8), OCTETS_4((c) + 12)
#define OCTETS_64(c) \
	OCTETS_16(c), OCTETS_16((c) + 16), OCTETS_16((c) + 32), \
	OCTETS_16((c) + 48)

const uint8_t octets_table[256] = {
	OCTETS_64(0), OCTETS_64(64), OCTETS_64(128), OCTETS_64(192),
};

const char *octets_skip_value_portable(const char *at, const char *end)
{
	return octets_skip(at, end, OCTETS_VALUE);
}

/* In each of eight bytes below 128: its upper bit is set if it is a letter in
 * lower case. */
static uint64_t octets_letters(uint64_t word)
{
	const uint64_t each = UINT64_C(0x0101010101010101);

	return (word + each * (128 - 'a')) & ~(word + each * (128 - 'z' - 1));
}

/* Eight bytes: all of them differ in the case of letters at most. */
static bool octets_same_word(uint64_t a, uint64_t b)
{
	const uint64_t each = UINT64_C(0x0101010101010101);
	const uint64_t differ = a ^ b;
	const uint64_t lower = (a | each * 0x20) & each * 0x7f;

	/* most are the same, or differ in other bits: only saves time */
	if (!differ || differ & ~(each * 0x20))
		return !differ;
	return !(differ << 2 & (~octets_letters(lower) | a));
}

static uint64_t octets_load8(const char *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

/* Four to seven bytes, some of them twice. */
static uint64_t octets_load4(const char *at, size_t len)
{
	uint32_t first, last;

	memcpy(&first, at, sizeof(first));
	memcpy(&last, at + len - sizeof(last), sizeof(last));
	return first | (uint64_t)last << 32;
}

/* Up to three bytes. */
static uint64_t octets_load1(const char *at, size_t len)
{
	if (!len)
		return 0;
	return (uint64_t)(unsigned char)at[0] |
	       (uint64_t)(unsigned char)at[len / 2] << 8 |
	       (uint64_t)(unsigned char)at[len - 1] << 16;
}

bool octets_same(const char *a, const char *b, size_t len)
{
	size_t i = 0;

	if (len < 4)
		return octets_same_word(octets_load1(a, len),
					octets_load1(b, len));
	if (len < 8)
		return octets_same_word(octets_load4(a, len),
					octets_load4(b, len));
	for (; i + 8 < len; i += 8) {
		if (!octets_same_word(octets_load8(a + i), octets_load8(b + i)))
			return false;
	}
	return octets_same_word(octets_load8(a + len - 8),
				octets_load8(b + len - 8));
}

/* Whether one of eight bytes is CR or LF. */
static bool octets_line_end_in(uint64_t word)
{
	const uint64_t each = UINT64_C(0x0101010101010101);
	const uint64_t cr = word ^ each * '\r', lf = word ^ each * '\n';

	/* a byte that has become 0 borrows from its upper bit */
	return ((cr - each) & ~cr & each * 0x80) |
	       ((lf - each) & ~lf & each * 0x80);
}

bool octets_have_line_end_portable(const char *at, size_t len)
{
	size_t i = 0;

	if (len < 4)
		return octets_line_end_in(octets_load1(at, len));
	if (len < 8)
		return octets_line_end_in(octets_load4(at, len));
	for (; i + 8 < len; i += 8) {
		if (octets_line_end_in(octets_load8(at + i)))
			return true;
	}
	return octets_line_end_in(octets_load8(at + len - 8));
}

bool octets_are_token_portable(const char *at, size_t len)
{
	return len && octets_skip(at, at + len, OCTETS_TOKEN) == at + len;
}

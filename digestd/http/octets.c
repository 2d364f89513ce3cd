/*
 * The table of byte classes, and the portable scan of a value.
 */
#include "digestd/http/octets.h"

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

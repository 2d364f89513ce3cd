/*
 * Framing: two fields.
 */
#include "digestd/http/framing.h"

enum { LENGTH_DIGITS_MAX = 18 }; /* what fits 63 bits */

/* Digits only. Returns -1 when it is none. */
static int64_t framing_parse_length(struct field_part value)
{
	int64_t n = 0;

	if (!value.len || value.len > LENGTH_DIGITS_MAX)
		return -1;
	for (size_t i = 0; i < value.len; i++) {
		if (value.at[i] < '0' || value.at[i] > '9')
			return -1;
		n = n * 10 + (value.at[i] - '0');
	}
	return n;
}

enum message_fault framing_add_length(struct framing *f,
				      struct field_part value, bool strict)
{
	int64_t n = framing_parse_length(value);

	if (n < 0)
		return MESSAGE_LENGTH;
	if (f->length >= 0 && strict)
		return MESSAGE_LENGTH_REPEATED;
	if (f->length >= 0 && f->length != n)
		return MESSAGE_LENGTH;
	f->length = n;
	return MESSAGE_OK;
}

enum message_fault framing_add_coding(struct framing *f,
				      struct field_part value)
{
	if (f->chunked)
		return MESSAGE_CODING_REPEATED;
	if (!field_part_is(value, "chunked"))
		return MESSAGE_CODING;
	f->chunked = true;
	return MESSAGE_OK;
}

enum message_fault framing_check(const struct framing *f, unsigned minor)
{
	if (f->chunked && f->length >= 0)
		return MESSAGE_LENGTH_AND_CODING;
	if (f->chunked && !minor)
		return MESSAGE_CODING_VERSION;
	return MESSAGE_OK;
}

/*
 * Repr-Digest.
 */
#include "digestd/http/repr_digest.h"

#include <string.h>

#include "digestd/http/fields.h"

enum {
	CODED = 44, /* characters of 32 bytes, the last one for padding */
	GROUP = 4,
};

static int repr_digest_value(char c)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* Base64 of 32 bytes (RFC 4648, 4). */
static bool repr_digest_decode(const char *text, uint8_t *out)
{
	uint32_t bits = 0;
	size_t n = 0;

	for (size_t i = 0; i < CODED; i++) {
		int value = i == CODED - 1 ? 0 : repr_digest_value(text[i]);

		if (value < 0 || (i == CODED - 1 && text[i] != '='))
			return false;
		bits = bits << 6 | (uint32_t)value;
		if (i % GROUP != GROUP - 1)
			continue;
		for (int shift = 16; shift >= 0 && n < REPR_DIGEST_BYTES;
		     shift -= 8)
			out[n++] = (uint8_t)(bits >> shift);
		bits = 0;
	}
	return true;
}

/* A byte sequence of structured fields (RFC 8941, 3.3.5). */
static bool repr_digest_read_value(struct field_part value, uint8_t *out)
{
	return value.len == CODED + 2 && value.at[0] == ':' &&
	       value.at[CODED + 1] == ':' &&
	       repr_digest_decode(value.at + 1, out);
}

bool repr_digest_read(const struct fields *fields,
		      uint8_t out[REPR_DIGEST_BYTES])
{
	struct field_cursor cursor = { 0 };
	struct field_part element;
	bool found = false;

	while (fields_next(fields, "Repr-Digest", &cursor, &element)) {
		struct field_part value = field_part_take(&element, ';');
		struct field_part name = field_part_take(&value, '=');

		if (name.len == 7 && !memcmp(name.at, "sha-256", 7))
			found = repr_digest_read_value(value, out);
	}
	return found;
}

/*
 * See body.h. Whole words where possible, single bytes at the two ends.
 */
#include "cachesim/live/body.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cachesim/trace/scan.h"
#include "codec/mix.h"

/* The eight bytes of the body from 8 * index on. */
static void body_word_at(uint64_t hash, uint64_t index, uint8_t out[8])
{
	uint64_t word = scd__mix64(hash + index * SCD__SPLITMIX_STEP);

	for (int i = 0; i < 8; i++)
		out[i] = (uint8_t)(word >> (8 * i));
}

void body_fill(uint64_t hash, uint64_t offset, uint8_t *out, size_t len)
{
	while (len) {
		size_t at = offset % 8;
		size_t n = len < 8 - at ? len : 8 - at;
		uint8_t word[8];

		body_word_at(hash, offset / 8, word);
		memcpy(out, word + at, n);
		out += n;
		offset += n;
		len -= n;
	}
}

bool body_check(uint64_t hash, uint64_t offset, const uint8_t *in, size_t len)
{
	uint8_t expected[4096];

	while (len) {
		size_t n = len < sizeof(expected) ? len : sizeof(expected);

		body_fill(hash, offset, expected, n);
		if (memcmp(in, expected, n))
			return false;
		in += n;
		offset += n;
		len -= n;
	}
	return true;
}

void body_etag(uint64_t hash, uint64_t size, char out[BODY_ETAG_MAX])
{
	snprintf(out, BODY_ETAG_MAX, "\"o-%016" PRIx64 "-%" PRIu64 "\"", hash,
		 size);
}

bool body_etag_parse(const char *in, size_t len, uint64_t *hash,
		     uint64_t *size)
{
	enum { HEX_FROM = 3, SIZE_FROM = 20 };
	char again[BODY_ETAG_MAX];

	if (len <= SIZE_FROM + 1 || len >= BODY_ETAG_MAX)
		return false;
	*hash = 0;
	for (size_t i = HEX_FROM; i < HEX_FROM + 16; i++) {
		const char *digits = "0123456789abcdef";
		const char *d = in[i] ? strchr(digits, in[i]) : NULL;

		if (!d)
			return false;
		*hash = *hash << 4 | (uint64_t)(d - digits);
	}
	if (!scan_u64((struct trace_text){ in + SIZE_FROM,
					   len - SIZE_FROM - 1 },
		      size))
		return false;
	body_etag(*hash, *size, again);
	return strlen(again) == len && !memcmp(again, in, len);
}

/*
 * The scan of a value with SSE2, which each x86-64 processor has. With AVX2 it
 * is no faster: most values are short.
 */
#include "digestd/http/octets.h"

#ifdef __SSE2__

#include <emmintrin.h>

/* A bit for each of 16 bytes, set where it is none of a value. */
static unsigned octets_not_value(const char *at)
{
	__m128i bytes = _mm_loadu_si128((const void *)at);
	__m128i low = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)),
				     bytes);
	__m128i tab = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\t'));
	__m128i del = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x7f));

	return (unsigned)_mm_movemask_epi8(
		_mm_or_si128(_mm_andnot_si128(tab, low), del));
}

const char *octets_skip_value_sse2(const char *at, const char *end)
{
	for (; end - at >= 16; at += 16) {
		unsigned bad = octets_not_value(at);

		if (bad)
			return at + __builtin_ctz(bad);
	}
	return octets_skip_value_portable(at, end);
}

#endif

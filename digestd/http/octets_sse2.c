/*
 * The scans of texts with SSE2, which each x86-64 processor has. With AVX2 it
 * is no faster: most values are short.
 */
#include "digestd/http/octets.h"

#ifdef __SSE2__

#include <emmintrin.h>
#include <string.h>

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

/* One to three bytes, some of them twice. */
static inline int octets_load_few(const char *at, size_t len)
{
	unsigned char bytes[4] = { (unsigned char)at[0],
				   (unsigned char)at[len / 2],
				   (unsigned char)at[len - 1],
				   (unsigned char)at[len - 1] };
	int word;

	memcpy(&word, bytes, sizeof(word));
	return word;
}

/* One to sixteen bytes, some of them twice, and no others. */
static inline __m128i octets_load_some(const char *at, size_t len)
{
	int first, last;

	if (len >= 8)
		return _mm_unpacklo_epi64(
			_mm_loadl_epi64((const void *)at),
			_mm_loadl_epi64((const void *)(at + len - 8)));
	if (len < 4)
		return _mm_set1_epi32(octets_load_few(at, len));
	memcpy(&first, at, sizeof(first));
	memcpy(&last, at + len - sizeof(last), sizeof(last));
	return _mm_unpacklo_epi32(_mm_set1_epi32(first), _mm_set1_epi32(last));
}

static inline bool octets_is_line_end_in(__m128i bytes)
{
	return _mm_movemask_epi8(_mm_or_si128(
		_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\r')),
		_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\n'))));
}

bool octets_have_line_end_sse2(const char *at, size_t len)
{
	if (!len)
		return false;
	for (; len > 16; at += 16, len -= 16) {
		if (octets_is_line_end_in(_mm_loadu_si128((const void *)at)))
			return true;
	}
	return octets_is_line_end_in(octets_load_some(at, len));
}

static inline __m128i octets_within(__m128i bytes, char least, char most)
{
	return _mm_and_si128(
		_mm_cmpgt_epi8(bytes, _mm_set1_epi8((char)(least - 1))),
		_mm_cmpgt_epi8(_mm_set1_epi8((char)(most + 1)), bytes));
}

/* Whether all bytes are letters, digits and "-", as in nearly all names. */
static inline bool octets_are_usual(__m128i bytes)
{
	__m128i lower = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
	__m128i usual = _mm_or_si128(
		_mm_or_si128(octets_within(lower, 'a', 'z'),
			     octets_within(bytes, '0', '9')),
		_mm_cmpeq_epi8(bytes, _mm_set1_epi8('-')));

	return _mm_movemask_epi8(usual) == 0xffff;
}

bool octets_are_token_sse2(const char *at, size_t len)
{
	const char *from = at;
	size_t left = len;

	if (!len)
		return false;
	while (left > 16 &&
	       octets_are_usual(_mm_loadu_si128((const void *)from))) {
		from += 16;
		left -= 16;
	}
	return (left <= 16 && octets_are_usual(octets_load_some(from, left))) ||
	       octets_are_token_portable(at, len);
}

#endif

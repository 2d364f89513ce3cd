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

/* 0 in each byte that is between two others. */
static inline __m128i octets_outside(__m128i bytes, char least, char most)
{
	return _mm_subs_epu8(_mm_sub_epi8(bytes, _mm_set1_epi8(least)),
			     _mm_set1_epi8((char)(most - least)));
}

/* Whether all bytes are letters, digits and "-", as in nearly all names. */
static inline bool octets_are_usual(__m128i bytes)
{
	__m128i lower = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
	__m128i unusual = _mm_min_epu8(
		_mm_min_epu8(octets_outside(lower, 'a', 'z'),
			     octets_outside(bytes, '0', '9')),
		_mm_xor_si128(bytes, _mm_set1_epi8('-')));

	return _mm_movemask_epi8(_mm_cmpeq_epi8(
		       unusual, _mm_setzero_si128())) == 0xffff;
}

static bool octets_are_long_token(const char *at, size_t len)
{
	const char *last = at + len - 16;

	for (const char *from = at; from < last; from += 16) {
		if (!octets_are_usual(_mm_loadu_si128((const void *)from)))
			return octets_are_token_portable(at, len);
	}
	return octets_are_usual(_mm_loadu_si128((const void *)last)) ||
	       octets_are_token_portable(at, len);
}

bool octets_are_token_sse2(const char *at, size_t len)
{
	if (!len)
		return false;
	if (len > 16)
		return octets_are_long_token(at, len);
	return octets_are_usual(octets_load_some(at, len)) ||
	       octets_are_token_portable(at, len);
}

#endif

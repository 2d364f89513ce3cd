/*
 * An input of a target, taken byte by byte.
 */
#ifndef TEST_FUZZ_BYTES_H
#define TEST_FUZZ_BYTES_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of an input that are taken from its beginning; zero past its end. */
struct fuzz_bytes {
	const uint8_t *at;
	size_t left;
};

static inline unsigned fuzz_take(struct fuzz_bytes *b)
{
	if (b->left == 0)
		return 0;
	b->left--;
	return *b->at++;
}

static inline unsigned fuzz_take_u16(struct fuzz_bytes *b)
{
	unsigned low = fuzz_take(b);

	return low | fuzz_take(b) << 8;
}

#endif

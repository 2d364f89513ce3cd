/*
 * A test that links alloc.c with $(alloc_ldflags) can make any allocation fail
 * that the code makes which is tested, and count what is asked for.
 */
#ifndef TEST_CODEC_ALLOC_H
#define TEST_CODEC_ALLOC_H

#include <stddef.h>

/* Let the n-th allocation from now on fail (1: the next); 0: none. */
void alloc_fail_at(unsigned n);

/* Has the failure that was asked for happened? */
int alloc_failed(void);

/* Bytes asked for since the last call. */
size_t alloc_bytes(void);

#endif

/*
 * What a fuzz target is: one function that is given any bytes and must
 * return 0, in bounded time, without a fault and without a leak. A promise
 * that is broken aborts. libFuzzer calls it (make fuzz), or replay.c does
 * with the corpora (make check).
 */
#ifndef TEST_FUZZ_FUZZ_H
#define TEST_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/*
 * A target may have a mutator: it changes len bytes, of which there is room
 * for max, and returns how many there are then. fuzz_mutate() is the usual
 * change, of libFuzzer or of replay.c.
 */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t max,
			       unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t len, size_t max);

static inline size_t fuzz_mutate(uint8_t *data, size_t len, size_t max)
{
	return max ? LLVMFuzzerMutate(data, len, max) : 0;
}

/* A promise; unlike assert() it is never compiled out. */
static inline void fuzz_must(int holds)
{
	if (!holds)
		abort();
}

/* Memory to be freed, at least a byte. */
static inline void *fuzz_allocate(size_t len)
{
	void *bytes = malloc(len ? len : 1);

	fuzz_must(bytes != NULL);
	return bytes;
}

#endif

/*
 * A time to wait that doubles.
 */
#include "digestd/mesh/backoff.h"

static int64_t backoff_min(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

int64_t backoff_ms(int64_t first_ms, unsigned times, int64_t max_ms)
{
	int64_t ms = backoff_min(first_ms, max_ms);

	while (times-- && ms < max_ms)
		ms = backoff_min(ms * 2, max_ms);
	return ms;
}

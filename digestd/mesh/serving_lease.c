/*
 * Serving leases: majorities.
 */
#include "digestd/mesh/serving_lease.h"

#include <assert.h>

const char *const invalidation_mode_names[INVALIDATION_MODES + 1] = {
	"available", "strict", NULL,
};

unsigned serving_majority(unsigned members)
{
	assert(members);
	return members / 2 + 1;
}

unsigned serving_recovery(unsigned members)
{
	return members - serving_majority(members) + (members > 1);
}

/* How many were renewed at that time or later. */
static size_t serving_count_since(const int64_t *renewed_ms, size_t n,
				  int64_t since_ms)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		count += renewed_ms[i] >= since_ms;
	return count;
}

int64_t serving_lease_end_ms(const int64_t *renewed_ms, size_t n)
{
	size_t others = serving_majority((unsigned)n + 1) - 1;
	int64_t from_ms = INT64_MIN;

	if (!others)
		return INT64_MAX;
	for (size_t i = 0; i < n; i++) {
		if (renewed_ms[i] > from_ms &&
		    serving_count_since(renewed_ms, n, renewed_ms[i]) >= others)
			from_ms = renewed_ms[i];
	}
	return from_ms == INT64_MIN ? from_ms : from_ms + SERVING_TERM_MS;
}

int64_t serving_grant_end_ms(int64_t now_ms)
{
	return now_ms + SERVING_TERM_MS + SERVING_TERM_MS / SERVING_DRIFT + 1;
}

enum serving_fence serving_fence(const struct serving_ack *acks,
				 unsigned members)
{
	unsigned applied = 0, logged = 0, clear = 0;

	for (unsigned i = 0; i < members; i++) {
		applied += acks[i].applied;
		logged += acks[i].logged;
		clear += acks[i].logged && acks[i].clear;
	}
	if (applied == members || clear >= serving_majority(members))
		return SERVING_FENCE_CLOSED;
	return logged >= serving_majority(members) ? SERVING_FENCE_LOGGED :
						     SERVING_FENCE_OPEN;
}

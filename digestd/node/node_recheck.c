/*
 * Validations that clients ask for.
 */
#include "digestd/node/node_recheck.h"

bool node_recheck_take(struct node_recheck *r, uint64_t hash, int64_t now_ms)
{
	uint64_t *slot = &r->slots[hash % NODE_RECHECK_SLOTS];
	/* never 0, which is an empty slot */
	const uint64_t tag = hash >> 32 | 1;
	uint64_t was = __atomic_load_n(slot, __ATOMIC_RELAXED);

	if (was >> 32 == tag && (uint32_t)now_ms - (uint32_t)was <
					NODE_RECHECK_MS)
		return false;
	/* of two threads at a time one has it */
	return __atomic_compare_exchange_n(slot, &was,
					   tag << 32 | (uint32_t)now_ms, false,
					   __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

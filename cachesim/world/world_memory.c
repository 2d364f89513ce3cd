/*
 * The memory of a world, in place of digestd/os/memory.c: one ledger for all
 * nodes, whose limit the seed chooses. Nothing is measured, as no two processes
 * are alike in that.
 */
#include "digestd/os/memory.h"

#include <inttypes.h>

#include "cachesim/world/world.h"

struct ledger memory_ledger = { .limit = UINT64_MAX };

void memory_limit(uint64_t bytes)
{
	(void)bytes;
}

/* One thread has no batches. */
void memory_count_object(int64_t bytes)
{
	if (bytes >= 0)
		ledger_add(&memory_ledger, LEDGER_objects, (uint64_t)bytes);
	else
		ledger_return(&memory_ledger, LEDGER_objects, (uint64_t)-bytes);
}

void memory_batch(bool batch)
{
	(void)batch;
}

uint64_t memory_reserve(void)
{
	return memory_ledger.limit / 4;
}

void memory_measure(int64_t now_ms)
{
	(void)now_ms;
}

void world_memory_limit(uint64_t bytes)
{
	memory_ledger.limit = bytes;
}

void world_memory_check(void)
{
	static const char *const names[] = {
#define X(name, help) #name,
		LEDGER_USES(X)
#undef X
	};

	for (unsigned i = 0; i < LEDGER_NUSES; i++) {
		uint64_t bytes = ledger_used(&memory_ledger, i);

		if (bytes)
			world_fail("%" PRIu64 " bytes of %s are never returned",
				   bytes, names[i]);
	}
}

/*
 * When what was purged last.
 */
#include "digestd/core/purgelog.h"

static uint64_t purgelog_slot(const struct scd_key *key)
{
	return key->hi & (PURGELOG_SLOTS - 1);
}

void purgelog_key(struct purgelog *log, const struct scd_key *key)
{
	log->slots[purgelog_slot(key)] = ++log->now;
}

void purgelog_all(struct purgelog *log)
{
	log->all = ++log->now;
}

uint64_t purgelog_last(const struct purgelog *log, const struct scd_key *key)
{
	uint64_t last = log->slots[purgelog_slot(key)];

	return last > log->all ? last : log->all;
}

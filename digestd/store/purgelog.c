/*
 * When what was purged last.
 */
#include "digestd/store/purgelog.h"

static uint64_t purgelog_slot(const struct scd_key *key)
{
	return key->hi & (PURGELOG_SLOTS - 1);
}

/* Bits that the slot does not depend on. */
static uint32_t purgelog_bits(const struct scd_key *key)
{
	return (uint32_t)key->lo;
}

void purgelog_key(struct purgelog *log, const struct scd_key *key,
		  int64_t now_s)
{
	uint64_t slot = purgelog_slot(key);

	__atomic_store_n(&log->slots[slot], ++log->now, __ATOMIC_RELEASE);
	log->times[slot].key = purgelog_bits(key);
	log->times[slot].at_s = (uint32_t)now_s;
}

void purgelog_all(struct purgelog *log)
{
	__atomic_store_n(&log->all, ++log->now, __ATOMIC_RELEASE);
}

uint64_t purgelog_walked(struct purgelog *log)
{
	uint64_t now = ++log->now;

	__atomic_store_n(&log->walked, now, __ATOMIC_RELEASE);
	return now;
}

uint64_t purgelog_last_walked(const struct purgelog *log)
{
	return __atomic_load_n(&log->walked, __ATOMIC_ACQUIRE);
}

uint64_t purgelog_last(const struct purgelog *log, const struct scd_key *key)
{
	uint64_t last = __atomic_load_n(&log->slots[purgelog_slot(key)],
					__ATOMIC_ACQUIRE);
	uint64_t all = __atomic_load_n(&log->all, __ATOMIC_ACQUIRE);

	return last > all ? last : all;
}

bool purgelog_is_older(const struct purgelog *log, const struct scd_key *key,
		       int64_t born_s)
{
	const struct purgelog_time *time = &log->times[purgelog_slot(key)];

	return time->at_s && time->key == purgelog_bits(key) &&
	       born_s <= (int64_t)time->at_s + 1;
}

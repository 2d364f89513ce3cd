/*
 * The engines there are to pick ids, and the one in any C.
 */
#include "codec/filter/list_pick.h"

#include "codec/engine.h"

const struct scd__pick_engine *const scd__pick_engines[] = {
#if defined(__x86_64__)
	&scd__pick_avx2,
#endif
	&scd__pick_portable,
};

const size_t scd__pick_nengines =
	sizeof(scd__pick_engines) / sizeof(scd__pick_engines[0]);

const struct scd__pick_engine *scd__pick_engine(const char *limit)
{
	size_t i = 0;

	while (!scd__pick_engines[i]->available() ||
	       !scd__engine_within(scd__pick_engines[i]->name, limit))
		i++;
	return scd__pick_engines[i];
}

static bool list_pick_portable_available(void)
{
	return true;
}

static uint64_t list_pick_portable(const struct scd__pick_set *set,
				   const uint8_t *ids, unsigned n)
{
	uint64_t picked = 0;

	for (unsigned i = 0; i < n; i++)
		picked |= (uint64_t)scd__pick_set_has(set, ids[i]) << i;
	return picked;
}

const struct scd__pick_engine scd__pick_portable = {
	.name = "portable",
	.available = list_pick_portable_available,
	.pick = list_pick_portable,
};

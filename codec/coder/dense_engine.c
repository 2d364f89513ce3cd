/*
 * The engines there are, and which of them runs.
 */
#include "codec/coder/dense_engine.h"

#include "codec/engine.h"

const struct scd__dense_engine *const scd__dense_engines[] = {
#if defined(__x86_64__)
	&scd__dense_avx512,
	&scd__dense_avx2,
#endif
#if defined(SCD__DENSE_NEON)
	&scd__dense_neon,
#endif
	&scd__dense_portable,
};

const size_t scd__dense_nengines =
	sizeof(scd__dense_engines) / sizeof(scd__dense_engines[0]);

const struct scd__dense_engine *scd__dense_engine(const char *limit)
{
	size_t i = 0;

	while (!scd__dense_engines[i]->available() ||
	       !scd__engine_within(scd__dense_engines[i]->name, limit))
		i++;
	return scd__dense_engines[i];
}

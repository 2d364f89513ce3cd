/*
 * The engines there are, and which of them runs.
 */
#include "codec/coder/sparse_engine.h"

#include "codec/engine.h"

const struct scd__sparse_engine *const scd__sparse_engines[] = {
#if defined(__x86_64__)
	&scd__sparse_avx512,
	&scd__sparse_avx2,
#endif
	&scd__sparse_portable,
};

const size_t scd__sparse_nengines =
	sizeof(scd__sparse_engines) / sizeof(scd__sparse_engines[0]);

const struct scd__sparse_engine *scd__sparse_engine(const char *limit)
{
	size_t i = 0;

	while (!scd__sparse_engines[i]->available() ||
	       !scd__engine_within(scd__sparse_engines[i]->name, limit))
		i++;
	return scd__sparse_engines[i];
}

/*
 * The engines of peer tables that there are, and which of them runs.
 */
#include "codec/filter/table_engine.h"

#include <string.h>

const struct scd__table_engine *const scd__table_engines[] = {
#if defined(SCD__TABLE_VECTORS)
	&scd__table_avx512,
	&scd__table_avx2,
#endif
	&scd__table_portable,
};

const size_t scd__table_nengines =
	sizeof(scd__table_engines) / sizeof(scd__table_engines[0]);

const struct scd__table_engine *scd__table_engine(const char *name)
{
	for (size_t i = 0; i < scd__table_nengines; i++) {
		const struct scd__table_engine *e = scd__table_engines[i];

		if ((!name || !strcmp(name, e->name)) && e->available())
			return e;
	}
	return NULL;
}

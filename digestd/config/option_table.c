/*
 * The table of options: what a file may say, its defaults, and the help.
 */
#include <stddef.h>

#include "codec/admission.h"
#include "digestd/config/configuration.h"
#include "digestd/config/option.h"
#include "digestd/mesh/generations.h"
#include "digestd/store/store.h"

#define BIG INT64_MAX /* no upper end */
#define HOUR_MS 3600000
#define DAY_MS (24 * HOUR_MS)
#define MAX_ARRAY_BYTES ((int64_t)1 << 37) /* see SCD_BLOOM_MAX_BITS */
#define MAX_WINDOW ((int64_t)SCD_ADMISSION_MAX_WINDOW)

/* When a change takes effect: whether only at a start. */
enum { OPTION_RELOAD = false, OPTION_START = true };

#define OPTION(name, kind, member, value, min, max, when, help) \
	{ #name, kind, offsetof(struct config, member), value, min, max, \
	  OPTION_##when, help },
const struct config_option config_options[] = {
#include "digestd/options/options.def"
};
#undef OPTION

_Static_assert(sizeof(config_options) / sizeof(config_options[0]) ==
		       CONFIG_OPTIONS,
	       "CONFIG_OPTIONS counts other rows");

/*
 * The options of admission policies.
 */
#include <string.h>

#include "digestd/admission/admission_policy.h"

/* clang-format off */
#define FIELD(type, name) ADMISSION_##type, offsetof(struct admission_config, name)
const struct admission_option admission_options[] = {
	{ "window", "keys remembered; 0: 1.5 times what the cache holds", 0, 1e12, 0, FIELD(U64, window) },
	{ "min-uses", "requests until an object is worth a write", 2, 15, 2, FIELD(UNSIGNED, min_uses) },
	{ "false-seen", "rate that the filters are made for", 1e-5, .2, .01, FIELD(DOUBLE, false_seen) },
	{ "ram", "share of the capacity in RAM, for probation", 1e-4, .9, .02, FIELD(DOUBLE, ram_share) },
	{ "size", "an object of this size is admitted with probability 1/e", 1, 1e15, 1e6, FIELD(DOUBLE, size_scale) },
	{ "lambda", "what a disk write costs, in hits", 0, 100, 0, FIELD(DOUBLE, lambda) },
	{ "sample", "looks at one key in so many", 1, 65536, 64, FIELD(UNSIGNED, sample) },
	{ "sample-min", "objects in a miniature at least", 1, 1e9, 8192, FIELD(U64, sample_min) },
	{ "seed", "of random choices", 0, 1e15, 1, FIELD(U64, seed) },
	{ NULL, NULL, 0, 0, 0, ADMISSION_U64, 0 },
};
/* clang-format on */

void admission_set(struct admission_config *c,
		   const struct admission_option *o, double value)
{
	char *at = (char *)c + o->at;
	uint64_t u64 = (uint64_t)value;
	unsigned number = (unsigned)value;

	switch (o->type) {
	case ADMISSION_U64:
		memcpy(at, &u64, sizeof(u64));
		break;
	case ADMISSION_UNSIGNED:
		memcpy(at, &number, sizeof(number));
		break;
	case ADMISSION_DOUBLE:
		memcpy(at, &value, sizeof(value));
		break;
	}
}

void admission_defaults(struct admission_config *c)
{
	memset(c, 0, sizeof(*c));
	for (const struct admission_option *o = admission_options; o->name; o++)
		admission_set(c, o, o->usual);
}

/*
 * All admission policies that the simulator has, by their names: those that a
 * node can have (digestd/admission/admission_policy.h), and others to compare
 * them with.
 */
#ifndef CACHESIM_ADMISSION_ADMISSION_TABLE_H
#define CACHESIM_ADMISSION_ADMISSION_TABLE_H

#include "digestd/admission/admission_policy.h"

/* All policies; a null ends the list. */
extern const struct admission_policy *const admission_policies[];

/* The policy of that name; null: unknown. */
const struct admission_policy *admission_find(const char *name);

/*
 * Reads "NAME" or "NAME,option=value,...": sets *policy and changes *c, which
 * has defaults. 0; SCD_EINVAL: unknown name or option, an option that is not
 * of this policy, or a value out of range (*c is undefined then).
 */
int admission_parse(const char *text, const struct admission_policy **policy,
		    struct admission_config *c);

#endif

/*
 * The table of the simulator's admission policies, and what they share.
 */
#include "cachesim/admission/admission_table.h"

#include <string.h>

#include "cachesim/admission/policies.h"

const struct admission_policy *const admission_policies[] = {
	&admission_none,
	&admission_exact,
	&admission_pair,
	&admission_aged,
	&admission_stable,
	&admission_tinylfu,
	&admission_size,
	&admission_probation,
	&admission_auto,
	NULL,
};

const struct admission_policy *admission_find(const char *name)
{
	for (size_t i = 0; admission_policies[i]; i++)
		if (strcmp(admission_policies[i]->name, name) == 0)
			return admission_policies[i];
	return NULL;
}

enum admission_decision admission_second_use(struct admission *a,
					     const struct admission_item *r)
{
	bool was_seen = a->policy->seen(a, r->hash);

	a->policy->note(a, r->hash);
	return was_seen ? ADMISSION_DISK : ADMISSION_NO;
}

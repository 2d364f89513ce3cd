/*
 * The registry of eviction policies, and what all of them share.
 */
#include "digestd/store/eviction.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "codec/error.h"
#include "digestd/store/eviction_policy.h"

const struct eviction_policy *const eviction_policies[] = {
#define X(name) &eviction_##name,
	EVICTION_POLICIES(X)
#undef X
	NULL,
};

const struct eviction_policy *eviction_policy_find(const char *name)
{
	for (size_t i = 0; eviction_policies[i]; i++) {
		if (!strcmp(eviction_policies[i]->name, name))
			return eviction_policies[i];
	}
	return NULL;
}

int eviction_new(struct eviction **out, const struct eviction_policy *policy,
		 const struct eviction_config *config)
{
	struct eviction *e = calloc(1, policy->size);

	if (!e)
		return SCD_ENOMEM;
	e->policy = policy;
	e->config = *config;
	if (eviction_reserve(e, config->nslots)) {
		eviction_free(&e);
		return SCD_ENOMEM;
	}
	*out = e;
	return 0;
}

void eviction_free(struct eviction **e)
{
	if (!*e)
		return;
	(*e)->policy->release(*e);
	free(*e);
	*e = NULL;
}

int eviction_reserve(struct eviction *e, uint32_t nslots)
{
	int err;

	assert(nslots <= EVICTION_SLOTS);
	err = e->policy->reserve(e, nslots);
	if (!err)
		e->config.nslots = nslots;
	return err;
}

size_t eviction_memory(const struct eviction *e)
{
	return e->policy->size + e->policy->memory(e);
}

int eviction_grow(void **array, size_t count, size_t each)
{
	void *grown = realloc(*array, count * each);

	if (!grown)
		return SCD_ENOMEM;
	*array = grown;
	return 0;
}

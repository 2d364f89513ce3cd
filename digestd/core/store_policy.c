/*
 * The registry of eviction policies, and their queue.
 */
#include "digestd/core/store_policy.h"

#include <string.h>

static const struct store_policy *const policies[] = {
	&store_policy_sieve,
	&store_policy_lru,
};

const struct store_policy *store_policy_find(const char *name)
{
	for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
		if (!strcmp(policies[i]->name, name))
			return policies[i];
	}
	return NULL;
}

void store_queue_push(struct store_queue *q, struct store_entry *e)
{
	e->older = q->newest;
	e->newer = NULL;
	if (q->newest)
		q->newest->newer = e;
	else
		q->oldest = e;
	q->newest = e;
}

void store_queue_unlink(struct store_queue *q, struct store_entry *e)
{
	if (q->hand == e)
		q->hand = e->newer;
	if (e->older)
		e->older->newer = e->newer;
	else
		q->oldest = e->newer;
	if (e->newer)
		e->newer->older = e->older;
	else
		q->newest = e->older;
}

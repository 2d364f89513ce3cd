/*
 * The memory of the queues of slots.
 */
#include "codec/error.h"
#include "digestd/core/eviction_policy.h"

int queue_reserve(struct queue_link **links, uint32_t nslots)
{
	bool first = !*links;
	void *array = *links;

	if (eviction_grow(&array, (size_t)nslots + QUEUE_HEADS,
			  sizeof(**links)))
		return SCD_ENOMEM;
	*links = array;
	for (uint32_t q = 0; first && q < QUEUE_HEADS; q++)
		(*links)[q] = (struct queue_link){ q, q };
	return 0;
}

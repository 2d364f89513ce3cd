/*
 * A table of resources and nodes.
 */
#include "tests/world/purged.h"

#include <stdlib.h>
#include <string.h>

#include "cachesim/world/nodes.h"
#include "cachesim/world/world.h"

enum { UNWRITTEN_US = 10000000 }; /* until a disk has what a POST removes */

static struct {
	uint32_t resources;
	struct purged (*at)[NODES_MAX]; /* [resource][node] */
} purges;

void purged_start(uint32_t resources)
{
	purges.resources = resources;
	purges.at = calloc(resources, sizeof(*purges.at));
	if (!purges.at)
		world_fail("the world itself is out of memory");
}

void purged_stop(void)
{
	free(purges.at);
	purges.at = NULL;
}

void purged_note(uint32_t resource, unsigned node, const struct purged *p)
{
	if (p->asked_us > purges.at[resource][node].asked_us)
		purges.at[resource][node] = *p;
}

bool purged_is_everywhere(const char *answer)
{
	const char *at = strstr(answer, "\"peers\": {");
	unsigned named = 0;

	if (!at || strstr(at, "null"))
		return false;
	for (at += strlen("\"peers\": {"); *at; at++)
		named += *at == ':';
	return named + 1 == nodes_count();
}

int64_t purged_asked_us(uint32_t resource, unsigned node)
{
	return purges.at[resource][node].asked_us;
}

void purged_forget(unsigned node, bool lost)
{
	for (uint32_t i = 0; i < purges.resources; i++) {
		struct purged *p = &purges.at[i][node];

		if (lost || p->alone ||
		    (p->unsafe && p->told_us + UNWRITTEN_US > world_now_us))
			*p = (struct purged){ 0 };
	}
}

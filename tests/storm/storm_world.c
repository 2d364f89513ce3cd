/*
 * The world of a storm.
 */
#include "tests/storm/storm_world.h"

#include "tests/storm/storm_log.h"

struct storm_world storm;

void storm_world_check_secret(const struct storm_link *l)
{
	if (storm_text_has(&l->in, storm.token, STORM_TOKEN - 1))
		storm_log_finding("a %s was sent the cluster's token",
				  l->role->name);
}

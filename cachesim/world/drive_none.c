/*
 * Where the daemon is not built, there are no nodes to drive.
 */
#include <errno.h>

#include "cachesim/world/drive.h"

int drive_run(const struct drive_plan *plan, struct sim_result *out,
	      struct drive_count *count)
{
	(void)plan;
	(void)out;
	(void)count;
	return -ENOSYS;
}

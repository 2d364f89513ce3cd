/*
 * Processors, by the affinity that this process was started with; a service
 * manager or a container limits it.
 */
#define _GNU_SOURCE /* CPU_COUNT() */
#include "digestd/os/processors.h"

#include <sched.h>
#include <unistd.h>

unsigned processors_usable(void)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	cpu_set_t set;

	if (!sched_getaffinity(0, sizeof(set), &set) && CPU_COUNT(&set) > 0)
		return (unsigned)CPU_COUNT(&set);
	return online > 0 ? (unsigned)online : 1; /* more than a set has */
}

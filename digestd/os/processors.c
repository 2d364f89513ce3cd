/*
 * Processors, by the affinity that this process was started with and by the
 * quota of its control groups: a service manager sets one or the other, a
 * container mostly the quota.
 *
 * Source: the kernel's admin-guide, cgroup-v2 (cpu.max) and cgroup-v1
 * (cpu.cfs_quota_us, cpu.cfs_period_us).
 */
#define _GNU_SOURCE /* CPU_COUNT() */
#include "digestd/os/processors.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 1024, LINE_BYTES = 512 };

static bool processors_read_line(const char *folder, const char *file,
				 char line[LINE_BYTES])
{
	char path[PATH_BYTES];
	int len = snprintf(path, sizeof(path), "%s/%s", folder, file);
	FILE *f = len < PATH_BYTES ? fopen(path, "re") : NULL;
	bool found = f && fgets(line, LINE_BYTES, f);

	if (f)
		fclose(f);
	return found;
}

/* Of one group, in version 2 or version 1; 0: it has no quota of its own. */
static unsigned processors_of_group(const char *folder)
{
	long long quota = 0, period = 0;
	char line[LINE_BYTES];

	if (processors_read_line(folder, "cpu.max", line)) {
		if (sscanf(line, "%lld %lld", &quota, &period) != 2)
			return 0; /* max */
	} else if (!processors_read_line(folder, "cpu.cfs_quota_us", line) ||
		   sscanf(line, "%lld", &quota) != 1 ||
		   !processors_read_line(folder, "cpu.cfs_period_us", line) ||
		   sscanf(line, "%lld", &period) != 1) {
		return 0;
	}
	if (quota <= 0 || period <= 0 || quota / period >= CPU_SETSIZE)
		return 0;
	return (unsigned)((quota + period - 1) / period);
}

/* Of a group and those above it, up to the folder's first `root` bytes. */
static unsigned processors_of_groups(char *folder, size_t root)
{
	unsigned least = processors_of_group(folder);
	char *slash;

	while ((slash = strrchr(folder, '/')) >= folder + root) {
		unsigned n;

		*slash = '\0';
		n = processors_of_group(folder);
		if (n && (!least || n < least))
			least = n;
	}
	return least;
}

/* Whether a list of controllers has the one of processors. */
static bool processors_controls(const char *controllers)
{
	for (const char *at = controllers; *at; at += at[0] == ',') {
		size_t len = strcspn(at, ",");

		if (len == 3 && !strncmp(at, "cpu", 3))
			return true;
		at += len;
	}
	return false;
}

/* Of a line NUMBER:CONTROLLERS:/GROUP; without controllers it is version 2. */
static unsigned processors_of_line(char *line, const char *mount)
{
	char *controllers = strchr(line, ':');
	char *group = controllers ? strchr(controllers + 1, ':') : NULL;
	char folder[PATH_BYTES];
	int root, len;

	if (!group)
		return 0;
	*controllers++ = *group++ = '\0';
	group[strcspn(group, "\n")] = '\0';
	if (*controllers && !processors_controls(controllers))
		return 0;
	root = snprintf(folder, sizeof(folder), "%s%s", mount,
			*controllers ? "/cpu" : "");
	len = snprintf(folder, sizeof(folder), "%s%s%s", mount,
		       *controllers ? "/cpu" : "", group);
	return len < PATH_BYTES ? processors_of_groups(folder, (size_t)root) :
				  0;
}

unsigned processors_by_quota(const char *groups, const char *mount)
{
	char line[LINE_BYTES];
	unsigned least = 0;
	FILE *f = fopen(groups, "re");

	while (f && fgets(line, sizeof(line), f)) {
		unsigned n = processors_of_line(line, mount);

		if (n && (!least || n < least))
			least = n;
	}
	if (f)
		fclose(f);
	return least;
}

static unsigned processors_by_affinity(void)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	cpu_set_t set;

	if (!sched_getaffinity(0, sizeof(set), &set) && CPU_COUNT(&set) > 0)
		return (unsigned)CPU_COUNT(&set);
	return online > 0 ? (unsigned)online : 1; /* more than a set has */
}

unsigned processors_usable(void)
{
	unsigned n = processors_by_affinity();
	unsigned quota = processors_by_quota("/proc/self/cgroup",
					     "/sys/fs/cgroup");

	return quota && quota < n ? quota : n;
}

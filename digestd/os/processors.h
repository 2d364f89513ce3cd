/*
 * The processors of the machine, and of a container.
 */
#ifndef DIGESTD_OS_PROCESSORS_H
#define DIGESTD_OS_PROCESSORS_H

/* How many this process may keep busy: by its affinity, and by the quota of its
 * control groups, rounded up; at least 1. */
unsigned processors_usable(void);

/*
 * The quota alone; 0: there is none, or it cannot be read. `groups` is the file
 * that names the groups of a process, /proc/self/cgroup, and `mount` the folder
 * of their files, /sys/fs/cgroup. A group has no more than those above it.
 */
unsigned processors_by_quota(const char *groups, const char *mount);

#endif

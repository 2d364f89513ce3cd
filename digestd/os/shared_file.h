/*
 * Files that other processes map: each is made under another name, with all its
 * pages, and renamed to its path when it can be read. Who has the one before
 * mapped keeps that; nothing is ever made shorter, which would end its readers.
 */
#ifndef DIGESTD_OS_SHARED_FILE_H
#define DIGESTD_OS_SHARED_FILE_H

#include <stddef.h>
#include <sys/types.h>

#define SHARED_FILE_NO_GROUP ((gid_t)-1)

struct shared_file {
	void *memory; /* null: there is none */
	size_t bytes;
	char *path;
	char *temporary; /* its name, until it is published; then null */
};

/* The number of a group; -ENOENT: there is none of this name. */
int shared_file_group(const char *name, gid_t *out);

/*
 * Makes a file of bytes that are 0, and maps it. Its mode is 0640; its group is
 * `group`, or the process's. Returns 0 or a negative errno: -ENOSPC, -EPERM:
 * the process is in no such group.
 */
int shared_file_new(const char *path, gid_t group, size_t bytes,
		    struct shared_file *out);

/* Lets it be what its path names. Returns 0 or a negative errno. */
int shared_file_publish(struct shared_file *f);

/* Unmaps it, and removes what was not published. */
void shared_file_free(struct shared_file *f);

#endif

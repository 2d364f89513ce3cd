/*
 * A disk that fails: a test that links disk_faults.c has its own write(),
 * pread(), fdatasync() and what else is called for files, also by libraries.
 * Only regular files have faults, and not the standard streams.
 */
#ifndef TESTS_DISK_DISK_FAULTS_H
#define TESTS_DISK_DISK_FAULTS_H

#include <stdbool.h>

enum disk_call { DISK_CALL_WRITE, DISK_CALL_SYNC, DISK_CALL_READ };

/* The n-th of these calls from now on (1: the next) fails with this errno; and,
 * if it lasts, all after it. n = 0: none. */
void disk_fail_at(enum disk_call call, unsigned n, int error, bool lasts);

/* Each read of the file at that path fails with this errno, until it is 0. */
void disk_fail_reads_of(const char *path, int error);

/* Whether syncs do nothing, for tests of many starts: they take long. */
void disk_skip_syncs(bool skip);

/* How many calls have failed since then. */
unsigned disk_failed(void);

#endif

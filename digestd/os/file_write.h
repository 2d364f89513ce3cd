/*
 * Writing to a file, whole.
 */
#ifndef DIGESTD_OS_FILE_WRITE_H
#define DIGESTD_OS_FILE_WRITE_H

#include <stddef.h>

/* Writes all of it, whatever interrupts; returns 0 or the negative errno of the
 * write that failed. */
int file_write(int fd, const void *bytes, size_t len);

#endif

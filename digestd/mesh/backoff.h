/*
 * A time to wait that doubles with each failure in a row.
 */
#ifndef DIGESTD_MESH_BACKOFF_H
#define DIGESTD_MESH_BACKOFF_H

#include <stdint.h>

/* first_ms * 2^times, but at most max_ms; all are positive. */
int64_t backoff_ms(int64_t first_ms, unsigned times, int64_t max_ms);

#endif

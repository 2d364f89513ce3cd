/*
 * Reads ahead: a thread of its own fills blocks from a source while the caller
 * works on those before, so that unpacking a trace and using it take two
 * cores instead of twice the time.
 *
 * 256 KiB of blocks, which stay in a cache. The source is called by the thread
 * only, from ahead_start() to ahead_stop().
 */
#ifndef TRACE_AHEAD_H
#define TRACE_AHEAD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Gives up to cap bytes: their number, 0 at the end, a negative error (and
 * perhaps errno).
 */
typedef ssize_t ahead_source(void *arg, uint8_t *out, size_t cap);

struct ahead;

/* Starts to read. 0, or TRACE_ENOMEM without memory or thread. */
int ahead_start(struct ahead **out, ahead_source *source, void *arg);

/* As the source. After an error or the end, it says so again. */
ssize_t ahead_read(struct ahead *a, uint8_t *out, size_t cap);

/* Ends the thread, which may finish a block first. Accepts null. */
void ahead_stop(struct ahead **a);

#endif

/*
 * The access log: requests are noted by workers, made to lines and written by a
 * thread of its own, which no worker ever waits for.
 *
 * Each worker has a ring, into which it copies what it knows of a request; the
 * thread takes that out some 20 ms later. If it does not get there in time, as
 * its disk or who reads its pipe is slow, records are dropped, and counted.
 */
#ifndef DIGESTD_OS_ACCESS_LOG_H
#define DIGESTD_OS_ACCESS_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "digestd/http/access_format.h"

struct access_log;
struct access_ring;
struct sockaddr;

/* X(name, what it counts) */
/* clang-format off */
#define ACCESS_LOG_COUNTERS(X) \
	X(written, "lines written to the access log") \
	X(dropped, "requests missing from the access log, whose thread was behind") \
	X(failed,  "lines missing from the access log because of a failed write")
/* clang-format on */

struct access_log_counters {
#define X(name, help) uint64_t name;
	ACCESS_LOG_COUNTERS(X)
#undef X
};

/* Makes one that is off. Returns 0 or -ENOMEM. */
int access_log_new(struct access_log **out);

/* Writes what has been noted, and ends; the rings go, too, which nobody uses by
 * now. Null is allowed. */
void access_log_free(struct access_log **log);

/*
 * Has lines of a format written to a file, which is opened anew, or to
 * standard output ("stdout"); null: none are. What was noted before goes to
 * the file that there was. Returns 0 or a negative errno, and then nothing has
 * changed. From one thread, as access_log_new() and _ring().
 */
int access_log_set(struct access_log *log, const char *path,
		   const char *format);

/* A worker's own ring; null: no memory. */
struct access_ring *access_log_ring(struct access_log *log);

/* Whether requests are to be noted. */
bool access_ring_is_on(const struct access_ring *ring);

/* Notes a request, with its client's address (null: unknown) in place of what
 * the record says of that. Never waits. */
void access_ring_put(struct access_ring *ring, const struct access_record *r,
		     const struct sockaddr *client);

/*
 * Live readers: as long as there are some, all requests are noted, and their
 * lines as JSON are in memory that others may map and read
 * (http/access_feed.h), whether they go to a file or not. What a reader does
 * there costs this process nothing.
 *
 * One reader more: returns a descriptor of that memory, which can be mapped for
 * reading only and is the log's, or a negative errno. And one less. From the
 * thread of access_log_set().
 */
int access_log_add_reader(struct access_log *log);
void access_log_remove_reader(struct access_log *log);

/* From any thread. */
void access_log_count(struct access_log *log, struct access_log_counters *out);

#endif

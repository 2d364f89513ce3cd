/*
 * Follows the cache folder of an nginx (proxy_cache_path) by inotify, and keeps
 * the holdings as the folder is.
 *
 * A file that is moved to its name, or written to, is read: its header has the
 * KEY and the time until which it is fresh. Its KEY is held until then, or
 * until the last file with it is deleted; variants of an object (Vary) are
 * files of other names with the same KEY. When the queue of events has
 * overflowed, and every so often, the folder is read again: what differs is
 * mended, and what had not been announced is counted as drift.
 *
 * Runs on a loop of its own thread, as it reads files. Memory: 48 bytes a file
 * in a table that is between three eighths and three quarters full, and the
 * holdings; a watch of inotify for each folder, of which levels=1:2 has 4,113.
 *
 * Costs: some 15 us an insertion; and every 100 ms a sixteenth of all files is
 * looked at, 2 ns each, for what has gone stale, which is thus offered for up
 * to 1.7 s more.
 */
#ifndef DIGESTD_SIDECAR_NGINX_FOLDER_H
#define DIGESTD_SIDECAR_NGINX_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

#include "digestd/sidecar/nginx_key.h"

struct holdings;
struct loop;
struct nginx_folder;

struct nginx_folder_settings {
	const char *path;
	struct nginx_key key, url; /* see nginx_key_fault() */
	uint64_t max_files;	   /* > 0 */
	int64_t rescan_ms;	   /* > 0: between two readings of it */
};

/* Counters; one row each. name, what it counts. */
/* clang-format off */
#define NGINX_FOLDER_COUNTERS(X) \
	X(events,     "files of nginx's cache folder that were announced: new, changed or deleted") \
	X(expired,    "files that have gone stale in the cache folder of nginx") \
	X(overflows,  "times that announcements were lost, and the folder was read again") \
	X(rescans,    "readings of the whole folder") \
	X(drift,      "files that a reading of the folder found without an announcement, or not any more") \
	X(unreadable, "files that could not be read, or of a version that is not known") \
	X(unmapped,   "files whose KEY is not as nginx_key says")
/* clang-format on */

struct nginx_folder_stats {
	uint64_t files; /* known now */
	bool follows;	/* it is there, and has been read once */
	double lag_ms;	/* the longest of the last minute from a file's change
			   to its being known */
	uint64_t last_drift; /* of the last reading that was no overflow's */
#define X(name, help) uint64_t name;
	NGINX_FOLDER_COUNTERS(X)
#undef X
};

/*
 * Begins to follow a folder; one that is not there yet is waited for.
 * `settings` are copied, but for the path; that, `loop` and `holdings` are
 * borrowed. Returns 0 or -ENOMEM.
 */
int nginx_folder_new(struct loop *loop, struct holdings *holdings,
		     const struct nginx_folder_settings *settings,
		     struct nginx_folder **out);

/* *f becomes null; null is allowed. */
void nginx_folder_free(struct nginx_folder **f);

/* How things stand; from any thread. */
void nginx_folder_stats(const struct nginx_folder *f,
			struct nginx_folder_stats *out);

#endif

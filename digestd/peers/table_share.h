/*
 * The lists of this node's peers in a file that modules of proxies map
 * (codec/shared_table.h), so that they know without a hop which peer to ask.
 *
 * It hears of each change of a list in the thread that makes it (peer_table.h),
 * and of peers and their health from the loop, which also says twice a second
 * that this process lives. Peers whose digests are arrays are not in it, nor is
 * one whose list has the same fingerprint many times.
 *
 * Memory: 5 to 10 bytes an entry, and 160 KiB. A change of an entry takes some
 * 100 ns; when the table has become too full, or much too large, all lists are
 * written to another file, in some 0.2 s for 10^6 entries.
 */
#ifndef DIGESTD_PEERS_TABLE_SHARE_H
#define DIGESTD_PEERS_TABLE_SHARE_H

#include <stdint.h>

#include "codec/key.h"
#include "digestd/mesh/peer_table.h"

struct loop;
struct peerset;
struct table_share;

struct table_share_settings {
	const char *path;
	const char *group; /* of the file; null: the process's */
	uint8_t secret[SCD_SECRET_BYTES]; /* of keys, see scd_key_make() */
};

/* Counters; one row each. name, what it counts. */
/* clang-format off */
#define TABLE_SHARE_COUNTERS(X) \
	X(files,   "files that were written for modules of proxies: the first, and each that was larger or smaller") \
	X(failed,  "files for modules of proxies that could not be written") \
	X(refused, "lists of peers left out of the shared table, with one fingerprint many times")
/* clang-format on */

struct table_share_stats {
	uint64_t entries;
	uint64_t bytes; /* of the file */
	uint64_t peers; /* that can be asked */
#define X(name, help) uint64_t name;
	TABLE_SHARE_COUNTERS(X)
#undef X
};

/*
 * Makes the file, without peers, and begins to say that it lives. `settings`
 * are copied; its texts and the loop are borrowed. Returns 0 or a negative
 * errno, which is logged.
 */
int table_share_new(struct loop *loop,
		    const struct table_share_settings *settings,
		    struct table_share **out);

/* Retires the file; *t becomes null, null is accepted. After the table that it
 * watches. */
void table_share_free(struct table_share **t);

/* What is to hear of lists; valid as long as t is. */
struct peer_table_watcher table_share_watcher(struct table_share *t);

/* The peers as they are now. In the loop's thread. */
void table_share_set_view(struct table_share *t, const struct peerset *view);

/* Leaves the path to another process, which takes over; and takes it back. */
void table_share_retire(struct table_share *t);
void table_share_resume(struct table_share *t);

/* How things stand; from any thread. */
void table_share_stats(const struct table_share *t,
		       struct table_share_stats *out);

#endif

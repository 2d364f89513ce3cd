/*
 * The log: a ring of entries in the order of their counts, with a hash table of
 * lists over them, and the lengths of prefixes that there are.
 * invalidation_log.c writes it, invalidation_log_read.c reads it.
 */
#ifndef DIGESTD_MESH_INVALIDATION_LOG_INSIDE_H
#define DIGESTD_MESH_INVALIDATION_LOG_INSIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "digestd/mesh/invalidation_log.h"

enum {
	LOG_NOWHERE = UINT16_MAX, /* no initiator, or a forgotten one */
};

static const uint32_t log_none = UINT32_MAX;     /* the end of a list */
static const uint32_t log_dead = UINT32_MAX - 1; /* it is in no list any more */
static const uint32_t log_open = UINT32_MAX;     /* it is not settled */

struct log_entry {
	struct scd_key hash;
	uint64_t added;
	uint64_t seq;
	uint32_t settled_after; /* counts behind `added` */
	uint32_t at_s;
	uint32_t next; /* of a list */
	uint16_t source;
	uint16_t kind : 2;
	uint16_t len : 14; /* of a prefix */
};

struct log_source {
	struct invalidation_source is;
	uint64_t latest_tag, latest_all; /* numbers of those */
	uint64_t used; /* the count at which it was heard of last */
};

struct invalidation_log {
	uint64_t now;
	uint8_t secret[SCD_SECRET_BYTES];
	struct log_entry *entries;
	uint32_t *buckets;
	uint32_t max, mask; /* entries; a power of two of buckets, - 1 */
	uint32_t first, n;
	unsigned nopen;       /* walks */
	uint64_t own_settled; /* of own ones all up to here are, while walks
				 are open */
	size_t nlive, ntags;
	struct invalidation_newest tag, prefix; /* of any of them */
	struct invalidation_newest all; /* of kind ALL, and what was lost */
	uint16_t lens[INVALIDATION_PREFIX_MAX]; /* of prefixes, ascending */
	uint32_t uses[INVALIDATION_PREFIX_MAX + 1];
	size_t nlens;
	struct log_source sources[INVALIDATION_LOG_SOURCES];
	size_t nsources;
	bool holds_floors;
};

/* Where the list begins in which an entry of this hash is. */
uint32_t *mesh_log_list(const struct invalidation_log *log,
			const struct scd_key *hash);

/* Whether an entry is of what an invalidation is of. */
bool mesh_log_is_of(const struct log_entry *e, const struct invalidation *of);

/* The number of an initiator; LOG_NOWHERE: it is not known. */
size_t mesh_log_find_source(const struct invalidation_log *log, uint64_t id);

/* The later one, of counts, of seconds, and of what is known of the latest. */
void mesh_log_raise(uint64_t *to, uint64_t at_least);
void mesh_log_raise_s(int64_t *to, int64_t at_least);
void mesh_log_raise_newest(struct invalidation_newest *to,
			   const struct log_entry *e);

#endif

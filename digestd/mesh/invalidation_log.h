/*
 * The log of invalidations that a node has heard of, its own and its peers',
 * and what is held against them.
 *
 * Each that is applied here advances a count. A response is born at the count
 * at which its origin was asked; it is older than an entry that is of it if the
 * entry's count is larger, whatever any clock says. Only entries that are of a
 * response count against it.
 *
 * An entry takes effect for what is fetched when it is added, and for what is
 * found in the store once the store has been walked over for it: then it is
 * settled.
 *
 * An entry's initiator is a node's instance, and has numbered it. A node has
 * applied all of an initiator up to its position there. Up to an initiator's
 * floor all members have applied its entries, so that no peer has anything that
 * is older; what is above is what peers may lack, and what is told to who has
 * been away. A floor falls when a member comes.
 *
 * An entry displaces an older one of the same initiator that is of the same.
 * The log keeps the last `max`. What is displaced by that is held against
 * everything that was born before; a peer that has not heard of it by then is
 * told to forget all it has (INVALIDATION_ALL).
 *
 * Costs: 48 bytes an entry. Adding: O(1), and O(lengths) for a prefix of a
 * length that is new. A question: one lookup for the key, one for each length
 * of a prefix that is in the log, and one for each tag.
 */
#ifndef DIGESTD_MESH_INVALIDATION_LOG_H
#define DIGESTD_MESH_INVALIDATION_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "digestd/mesh/invalidation.h"

struct invalidation_log;

enum {
	INVALIDATION_LOG_MAX = 65536,  /* entries of a node: 3 MiB */
	INVALIDATION_LOG_SOURCES = 256, /* initiators; some restarts of each */
	INVALIDATION_NEED_MAX = 8,
};

/* A number of an initiator's: an entry, or all up to it. */
struct invalidation_position {
	uint64_t source;
	uint64_t seq;
};

/* What entries are held against. */
struct invalidation_subject {
	const struct scd_key *key;
	const char *uri; /* canonical; null: not known, so that it may begin
			    with each prefix */
	const struct fields *fields; /* of the response; null: not known, so
					that each tag may be one of its */
};

/* The latest of what is of a subject; 0: none. */
struct invalidation_newest {
	uint64_t added;	  /* older than that is what was asked for before */
	uint64_t settled; /* and what was found before; UINT64_MAX: not yet */
	int64_t at_s;	  /* when it was added */
	bool local;	  /* there is one without an initiator, and */
	int64_t local_at_s; /* when the latest of those was added */
};

/*
 * Makes an empty log of a node, by its instance, for at most max entries.
 * Returns 0 or -1 without memory.
 */
int invalidation_log_new(uint64_t own, const uint8_t secret[SCD_SECRET_BYTES],
			 uint32_t max, struct invalidation_log **out);

/* *log becomes null; null is allowed. */
void invalidation_log_free(struct invalidation_log **log);

/* The count: of all that was added and settled. May be read by any thread. */
uint64_t invalidation_log_now(const struct invalidation_log *log);

/*
 * Adds an entry at a time, at a count of its own, which is the log's after it:
 * an own one (seq 0), which gets the next number; or an initiator's. Without an
 * initiator (source 0) it holds here only. One of a key is settled at once.
 * Those of an initiator come in ascending order of their numbers.
 * Returns its number.
 */
uint64_t invalidation_log_add(struct invalidation_log *log,
			      const struct invalidation *of,
			      const struct invalidation_position *at,
			      int64_t now_s);

/* A walk over the store begins, for entries that are added next; it ends, and
 * was for those that were added at the counts from `first` to `last`, which are
 * settled by the count of after that. */
void invalidation_log_open(struct invalidation_log *log);
void invalidation_log_settle(struct invalidation_log *log, uint64_t first,
			     uint64_t last);

/* What is of a subject. */
struct invalidation_newest
invalidation_log_newest(const struct invalidation_log *log,
			const struct invalidation_subject *subject);

/* Whether an entry that was added at the counts from `first` to `last` is of a
 * subject, whose fields are known. */
bool invalidation_log_meets(const struct invalidation_log *log,
			    const struct invalidation_subject *subject,
			    uint64_t first, uint64_t last);

/* Whether there are entries by tag, so that a subject's fields matter. */
bool invalidation_log_has_tags(const struct invalidation_log *log);

/*
 * What a peer must have applied before its copy of the subject is as new as
 * what is known here: one position an initiator. Returns their number; more
 * than INVALIDATION_NEED_MAX: too many to say.
 */
size_t invalidation_log_need(const struct invalidation_log *log,
			     const struct invalidation_subject *subject,
			     struct invalidation_position *need);

/* Whether all up to a position has been applied and settled here. */
bool invalidation_log_has(const struct invalidation_log *log,
			  const struct invalidation_position *position);

/* All of an initiator up to a position has been applied here. */
void invalidation_log_reach(struct invalidation_log *log,
			    const struct invalidation_position *position);

/*
 * All members have applied an initiator's entries up to its floor: that it has
 * said together with its number `upto`, which is reached after this call. What
 * it says with a later number counts, also if it is lower, as a member has come
 * that has not applied them; of what it says with one number, the highest.
 */
void invalidation_log_hear_floor(struct invalidation_log *log,
				 const struct invalidation_position *floor,
				 uint64_t upto);

/* Sets the floor of the node's own entries, at most its position. A lower one
 * takes the next number, without an entry, so that others know it from what was
 * said before. */
void invalidation_log_set_floor(struct invalidation_log *log, uint64_t floor);

/* While floors are held down, peers need all that is in the log, whatever was
 * said of it, as far as there is room to say so: there may be members that its
 * initiators do not know yet. */
void invalidation_log_hold_floors(struct invalidation_log *log, bool hold);

/* What is known of an initiator. */
struct invalidation_source {
	uint64_t source, position, floor;
	uint64_t lost; /* the last that the log had no room for; 0: none */
};

/* The initiators, the node itself first; their number. */
size_t invalidation_log_sources(const struct invalidation_log *log);
struct invalidation_source
invalidation_log_source(const struct invalidation_log *log, size_t i);

/* An entry, with its number. */
struct invalidation_entry {
	struct invalidation of;
	uint64_t seq;
};

/*
 * Copies the entries of an initiator behind a number, the first ones first, up
 * to cap of them. Returns how many.
 */
size_t invalidation_log_since(const struct invalidation_log *log,
			      const struct invalidation_position *behind,
			      struct invalidation_entry *out, size_t cap);

/* Entries that are in the log. */
size_t invalidation_log_count(const struct invalidation_log *log);

#endif

/*
 * Purges of many, which walk over the store: those under way, and those that
 * have ended not long ago.
 *
 * While a walk goes on, what it has not reached yet can be found, renewed by a
 * 304, and stored where the walk has been already; and peers may be slower with
 * theirs, and hand out what has been purged here. So what derives from an older
 * response is held against these walks before it is used.
 *
 * An ended walk is kept for as long as a peer may take for the same purge, and
 * then forgotten; so is the oldest where there are too many. What might derive
 * from something that a forgotten walk was of is taken for such: that costs a
 * fetch each time, but such times are short.
 *
 * Times in stamps are those of a purgelog. Costs: a look at each walk.
 */
#ifndef DIGESTD_STORE_PURGE_WALKS_H
#define DIGESTD_STORE_PURGE_WALKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fields;
struct purge_scope;

enum {
	PURGE_WALKS_KEPT = 64,	 /* that have ended */
	PURGE_WALKS_KEPT_S = 20, /* twice the time that a peer has to purge */
};

struct purge_walk {
	struct purge_scope *scope;
	int64_t begun_s, ended_s;
	uint64_t ended;		 /* a stamp; 0: it is under way */
	struct purge_walk *next; /* an older one */
};

/* All zero at first. */
struct purge_walks {
	struct purge_walk *newest;
	size_t nended;
	struct purge_walk forgotten; /* the latest times of those */
};

/* A walk begins; the scope becomes its own. Null: no memory. */
struct purge_walk *purge_walks_begin(struct purge_walks *walks,
				     struct purge_scope *scope, int64_t now_s);

/* It ends, and will be forgotten some time. */
void purge_walks_end(struct purge_walks *walks, struct purge_walk *walk,
		     uint64_t stamp, int64_t now_s);

void purge_walks_free(struct purge_walks *walks);

/* Whether there is a walk that is under way, or has ended after that stamp. */
bool purge_walks_since(const struct purge_walks *walks, uint64_t stamp);

/* Whether such a walk is of what has this URI and these fields. */
bool purge_walks_meet(const struct purge_walks *walks, uint64_t stamp,
		      const char *uri, const struct fields *fields);

/* A peer's copy. */
struct purge_walks_copy {
	const char *uri;
	const struct fields *fields;
	int64_t born_s; /* when its age was 0, a second right at most */
};

/* Whether it may be older than a walk that is of it, while peers may be at the
 * same purge. */
bool purge_walks_meet_copy(const struct purge_walks *walks,
			   const struct purge_walks_copy *copy, int64_t now_s);

#endif

/*
 * Collapsing: one fetch for all who miss the same key at the same time, in all
 * workers.
 *
 * The first request that misses leads; those that come while its fetch is under
 * way join it. They are called in their own loops when it has ended, to look
 * again; or, when its response is a large one, as soon as its header is shown,
 * and then whenever there is more to be read.
 *
 * The bytes stay the leader's, which holds the collapse while they move;
 * readers copy them out.
 *
 * Shared by threads: the table has 64 locks, by key, that are held for a few
 * instructions, and each collapse one of its own.
 */
#ifndef DIGESTD_PROXY_COLLAPSE_H
#define DIGESTD_PROXY_COLLAPSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "codec/key.h"
#include "digestd/cache/cache.h"
#include "digestd/os/loop.h"

struct collapse;  /* a fetch that can be joined */
struct collapses; /* all of them */

/* Who joins; zero at first. loop, call and for_end are the owner's to set. */
struct collapse_reader {
	struct loop *loop;
	struct loop_call call;
	bool for_end;		 /* it has no use for a part */
	struct collapse *joined; /* null: none */
	size_t taken;		 /* bytes of the body */
	enum { COLLAPSE_IDLE, COLLAPSE_LISTED, COLLAPSE_CALLED } state;
	struct collapse_reader *next, **link;
};

/* Returns 0 or -ENOMEM. */
int collapses_new(struct collapses **out);

/* Frees; nothing may be under way. *all becomes null. */
void collapses_free(struct collapses **all);

/* What is to be fetched. Times are those of cache_purges(). */
struct collapse_miss {
	const struct scd_key *key;
	bool renews;	 /* what has been found */
	uint64_t begun;	 /* before anybody is asked, or before that was found */
	uint64_t purged; /* and when a purge that may be of the key was added
			    last, by then; */
	uint64_t settled; /* and when it was settled, see invalidation_log.h */
	bool peers;	 /* it is a peer's, which never leads */
};

enum collapse_place {
	COLLAPSE_LEADS, /* *lead is the key's */
	COLLAPSE_WAITS, /* the reader's call will be posted to its loop */
	COLLAPSE_SHOWN, /* the header is there, and can be followed */
	COLLAPSE_NONE,	/* for a peer: nothing that it may join */
};

/*
 * Joins the fetch that is under way for the key, or leads one. One that began
 * before miss->purged, or that renews and began before miss->settled, is not
 * joined: it goes on for those who have joined it, and another one takes its
 * place. A null reader joins nothing, and gets
 * COLLAPSE_WAITS. A peer joins what is open (collapse_open()), or nothing.
 * Without memory it leads, and nobody can join: *lead is null.
 */
enum collapse_place collapses_join(struct collapses *all,
				   const struct collapse_miss *miss,
				   struct collapse **lead,
				   struct collapse_reader *reader);

/* For the leader. A null collapse, which nobody can join, is allowed. */

/* It waits for an origin from now on: peers may join. Those that wait for each
 * other's fetches would wait in a circle. */
void collapse_open(struct collapse *lead);

/* Shows the header (status, fields, selecting, freshness), which is taken over,
 * of a body that will have len bytes, to who waits and who will join. */
void collapse_show(struct collapse *lead, struct cached *head, size_t len);

/* What is shown may move now, until collapse_grow() says where it is, and how
 * many bytes of it are there. Nothing happens before collapse_show(). */
void collapse_hold(struct collapse *lead);
void collapse_grow(struct collapse *lead, const char *data, size_t len);

/* More of a response has come, its header or a piece of its body, whether it
 * is shown or not. */
void collapse_came(struct collapse *lead);

/*
 * It has ended: nobody joins any more, and all who wait are called. `whole` is
 * the response of which a part was shown, and gets a user more; or null, it
 * broke off. What was shown is gone after this call. *lead becomes null.
 */
void collapses_end(struct collapses *all, struct collapse **lead,
		   struct cached *whole);

/* Whether somebody has joined, in any worker. */
bool collapse_is_joined(const struct collapse *lead);

/* Ends it if nobody has joined; returns whether that is so. */
bool collapses_end_alone(struct collapses *all, struct collapse **lead);

/* For who has joined. */

/* Each call begins with this. Returns whether the header has been shown to the
 * reader; if not, the fetch has ended. */
bool collapse_called(struct collapse_reader *reader);

/* How often more had come by now. */
unsigned collapse_pieces(const struct collapse_reader *reader);

/* What has been shown: the response without its body, which is not in the
 * store; and how long the body will be. */
struct cached *collapse_head(const struct collapse_reader *reader);
size_t collapse_len(const struct collapse_reader *reader);

/*
 * Copies up to cap bytes of the body; returns their number, or BODY_END,
 * BODY_FAIL, or BODY_WAIT, and then the reader's call will be posted.
 */
ssize_t collapse_read(struct collapse_reader *reader, void *buf, size_t cap);

/*
 * Leaves what was joined; allowed when nothing is. Returns false when the call
 * has been posted already, and comes for certain: the reader has not left yet.
 */
bool collapse_leave(struct collapse_reader *reader);

#endif

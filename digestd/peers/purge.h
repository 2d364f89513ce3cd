/*
 * Purging: PURGE, of the admin listener and from peers.
 *
 *	PURGE of a target		all that is stored for that URI, in any
 *					of the forms that the rules of its site
 *					make one
 *	with Purge-Prefix: URI		... for the URIs that begin so
 *	with Purge-Tag: a, b		... that has one of these tags
 *
 * A fetch that began before a purge answers who has joined it before, is not
 * stored, and later requests do not join it. A purge by prefix or tag walks
 * over the whole store, a slice a turn of the loop, so that nobody waits for
 * it; its answer comes at the end.
 */
#ifndef DIGESTD_PEERS_PURGE_H
#define DIGESTD_PEERS_PURGE_H

#include <stdbool.h>
#include <stdint.h>

#include "digestd/http/fields.h"
#include "digestd/server/server.h"

struct cache;
struct sites;
struct teller;
struct purge;

/* Zero apart from the first five. */
struct purger {
	struct loop *loop;
	struct cache *cache;
	uint8_t secret[16]; /* of the hash, see scd_key_make() */
	struct teller *teller; /* who tells peers of it; null: nobody */
	/* By whose rules URIs are stored; borrowed, and changed with the
	 * configuration. Null: there are none. */
	const struct sites *sites;
	struct purge *walks;
};

/* Answers a PURGE, at once or later. */
void purge_serve(struct purger *purger, struct exchange *x);

/* A purge that came by another way than a PURGE. */
struct purge_order {
	struct field_part target;
	const struct fields *fields; /* Host, Purge-Prefix, Purge-Tag */
	const char *asker; /* for the log */
	/* Its end: the status and the body that the answer to a PURGE has had
	 * (without a line's end where it is a refusal); null: there is none, as
	 * there is no memory, or the purger was stopped. */
	void (*done)(void *arg, unsigned status, const char *body);
	void *arg;
};

/* Purges; what the order points to is used only meanwhile. done() is called
 * once, at once or later. */
void purge_obey(struct purger *purger, const struct purge_order *order);

/* Purges what came from a peer of this name, here only. */
void purge_source(struct purger *purger, const char *name);

/* Its exchange is over: the walk goes on without. */
void purge_leave(struct exchange *x);

/* Ends what is under way, unanswered. */
void purger_stop(struct purger *purger);

#endif

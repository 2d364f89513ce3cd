/*
 * Cache-Status (RFC 9211): tells a client, and whoever debugs, how a response
 * came about; and a node, why a peer had no use for what it holds.
 */
#ifndef DIGESTD_HTTP_CACHESTATUS_H
#define DIGESTD_HTTP_CACHESTATUS_H

#include <stdbool.h>
#include <stdint.h>

struct fields;

/* Where the response to a request is from. */
enum cachestatus_how {
	CACHESTATUS_OWN, /* made here: an error */
	CACHESTATUS_HIT, /* from the store, and nobody was asked */
	CACHESTATUS_FORWARDED, /* somebody was asked for this request */
	CACHESTATUS_COLLAPSED, /* ... for another one, which this one joined */
};

/* Why a request was forwarded (RFC 9211, 2.2). */
enum cachestatus_fwd {
	CACHESTATUS_NONE,
	CACHESTATUS_BYPASS,
	CACHESTATUS_METHOD,
	CACHESTATUS_URI_MISS,
	CACHESTATUS_VARY_MISS,
	CACHESTATUS_REQUEST, /* fresh, but the request did not want it */
	CACHESTATUS_STALE,
	CACHESTATUS_PARTIAL, /* a part of what was asked for is stored */
};

/* When a stale copy may be served, as its holder tells a peer: each value
 * includes those before it. */
enum cachestatus_usable {
	CACHESTATUS_USABLE_NO,
	CACHESTATUS_USABLE_ON_DISCONNECT, /* while the origin is out of reach */
	CACHESTATUS_USABLE_ON_ERROR,      /* also if it answers an error */
};

#define CACHESTATUS_NO_TTL INT64_MIN

struct cachestatus {
	const char *node;           /* this cache's name */
	enum cachestatus_how how;
	enum cachestatus_fwd fwd;   /* not of a hit */
	unsigned fwd_status;        /* what who was asked said; 0: nothing */
	int64_t ttl_s;              /* or CACHESTATUS_NO_TTL */
	enum cachestatus_usable usable; /* of an error, to a peer */
	bool stored;                /* what was received, if it was forwarded */
	const char *peer;           /* detail: the peer that had it; null */
	const char *detail;         /* detail otherwise; null */
};

/* The word for it; null for CACHESTATUS_NONE. Static. */
const char *cachestatus_fwd_text(enum cachestatus_fwd fwd);

/*
 * Appends this cache's member to a response's Cache-Status, behind those of
 * the caches nearer to the origin. A hit: "node; hit; ttl=N". A peer's answer
 * has detail="peer=NAME". What does not go with `how` is left out: an error has
 * neither "hit" nor what was received, only a forwarded one is "stored".
 * Returns 0 or -ENOMEM.
 */
int cachestatus_append(struct fields *f, const struct cachestatus *s);

/*
 * What the nearest cache, the one that a response came from, says in its member
 * (the last): why it forwarded the request, or would have if it were allowed
 * to. CACHESTATUS_NONE: nothing that is understood, or a hit.
 */
enum cachestatus_fwd cachestatus_fwd_nearest(const struct fields *f);

/* The same for `usable`: when the stale copy of who has answered may be
 * served. */
enum cachestatus_usable cachestatus_usable_nearest(const struct fields *f);

#endif

/*
 * The door: what becomes of a request by its header alone, before anything is
 * looked up for it. One decision over facts, without I/O and without memory.
 *
 * In this order, of which the first that applies counts:
 *
 *	403	its client may not ask here
 *	429	its client asks too often
 *	508	it has been at this node before (RFC 8586), or at too many
 *	here	OPTIONS for the last that it may reach (RFC 9110, 7.6.2)
 *	here	OPTIONS *, and no Host says for whom
 *	503	no memory to resolve the target
 *	400	the target cannot be resolved, or its host is too long
 *	403	a PURGE by a client that may not
 *	here	a PURGE by one that may
 *	403	a forward proxy's target, and this node is none for it
 *	here	OPTIONS * for a host that has no origin here
 *	421	the host has no origin here
 *	413	a body that says that it is longer than uploads may be
 *
 * The rest is looked up, or goes on. A peer needs no way to an origin: it is
 * answered from the store, or not at all.
 */
#ifndef DIGESTD_NODE_NODE_DOOR_H
#define DIGESTD_NODE_NODE_DOOR_H

#include <stdbool.h>
#include <stdint.h>

#include "digestd/http/cachestatus.h"

struct fields;
struct target;

/* A host: the longest name (RFC 1035, 2.3.4), a dot at its end, and a port. */
enum { NODE_DOOR_HOST_MAX = 253 + 1 + 6 };

/* What a request is, as a PURGE. */
enum node_purge {
	NODE_PURGE_NONE, /* it is none, or there is no list of who may */
	NODE_PURGE_BARRED,
	NODE_PURGE_ALLOWED,
};

/* Facts; all pointers are borrowed. */
struct node_door {
	/* of the node */
	const char *node;	   /* its name */
	bool forward;		   /* is a forward proxy, too */
	bool has_default;	   /* has an origin for what is of no site */
	uint64_t max_upload_bytes; /* what a body may have */

	/* of the request */
	bool from_peer;
	bool barred; /* its client is none that this node answers */
	bool hurried; /* its client asks more often than it may */
	bool get, head, options;     /* its method, if it is one of these */
	const struct fields *fields; /* as they came */
	bool https;		     /* how its client came */
	bool upgrade;		     /* it asks to change protocols */
	bool has_body;
	int64_t body_len; /* -1: unknown */

	/* of its target */
	bool asterisk; /* it is "*" */
	bool has_host; /* its own, or that of the only origin */
	bool site;     /* this node has an origin for its host by name */
	bool no_memory; /* to resolve it */
	const struct target *target; /* null: it was not resolved */
	enum node_purge purge;	     /* of it */
};

enum node_door_action {
	NODE_DOOR_REFUSE,  /* with `status`, and `why` in Cache-Status */
	NODE_DOOR_OPTIONS, /* this node answers OPTIONS itself */
	NODE_DOOR_PURGE,   /* it carries out a PURGE */
	NODE_DOOR_ENTER,
};

/* Where a request goes if it is not answered here. */
enum node_way {
	NODE_WAY_NONE, /* nowhere: it is a peer's */
	NODE_WAY_SITE, /* to the origin of its site */
	NODE_WAY_DEFAULT,
	NODE_WAY_TARGET, /* to the target itself, as a forward proxy */
};

struct node_entry {
	enum node_door_action action;
	unsigned status; /* REFUSE */
	const char *why;

	/* ENTER */
	enum node_way way;
	bool own_scheme; /* the target's is how the client came, see there */
	bool unsafe;	 /* invalidates what it succeeds on */
	bool cacheable;	 /* GET or HEAD that the store may answer */
	bool upgrade;	 /* may change protocols */
	enum cachestatus_fwd fwd; /* why, if it goes on for no other reason */
};

/* What becomes of the request. Cannot fail. */
struct node_entry node_door_enter(const struct node_door *door);

/*
 * The door for peers. They ask for objects, by absolute targets and a token in
 * Proxy-Authorization; for resources of this node, by paths and a token in
 * Authorization; and purge objects.
 */
enum node_peer_wish { NODE_PEER_RESOURCE, NODE_PEER_OBJECT, NODE_PEER_PURGE };

/* What a peer asks for by this method and this target, as it came. */
enum node_peer_wish node_door_peer_wish(const char *method,
					const char *target);

/* The field that has to have the token. */
const char *node_door_token_field(enum node_peer_wish wish);

/* The field by which a 401 or 407 asks for it. */
const char *node_door_challenge_field(enum node_peer_wish wish);

/* The status with which a peer is refused; 0: it is not. `token`: it has the
 * right one; `purges`: peers may purge here. */
unsigned node_door_refuse_peer(enum node_peer_wish wish, bool token,
			       bool purges);

#endif

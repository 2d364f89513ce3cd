/*
 * One purge: part by part of the node's own store, and of its peers' stores
 * meanwhile. A machine without I/O: what has happened goes in, what to do comes
 * out. The client gets one answer, when nothing that is purged can come back:
 * after the last part, once what was removed is off the disk too, and after the
 * last peer has answered, or has failed to within the time that it has.
 *
 *   state      event         what follows
 *   WALKING    PART          the next part
 *   WALKING    LAST_PART     sync the disk: SYNCING
 *   SYNCING    SYNCED        WAITING, or done
 *   WAITING                  for peers
 *   any        PEER          the last one, in WAITING: done
 *   any        LEFT          nobody is answered; the purge goes on
 *   DONE                     nothing happens any more
 */
#ifndef DIGESTD_MESH_PURGING_H
#define DIGESTD_MESH_PURGING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum purging_state {
	PURGING_WALKING, /* over the store */
	PURGING_SYNCING, /* the store is done; the disk is not */
	PURGING_WAITING, /* for peers */
	PURGING_DONE,
};

enum { PURGING_STATES = PURGING_DONE + 1 };

enum purging_event_kind {
	PURGING_PART,      /* of the store is done: `purged` */
	PURGING_LAST_PART, /* the same, and there is no other */
	PURGING_SYNCED,    /* what was removed is off the disk */
	PURGING_PEER,      /* has answered, or failed */
	PURGING_LEFT,      /* the client has */
};

enum { PURGING_EVENTS = PURGING_LEFT + 1 };

struct purging_event {
	enum purging_event_kind kind;
	size_t purged; /* with a part: objects of this node */
};

/* What to do: one of these, or nothing. */
enum purging_action {
	PURGING_WAIT,
	PURGING_WALK,   /* over the next part, in a turn of its own */
	PURGING_SYNC,   /* see that what was removed is off the disk */
	PURGING_ANSWER, /* the client, with purged objects and what peers said;
			   the purge is done */
	PURGING_END,    /* it is done; there is nobody to answer */
};

/* All fields but `purged` are private. */
struct purging {
	enum purging_state state;
	size_t peers;  /* that have not answered */
	size_t purged; /* objects of this node so far */
	bool left;     /* the client has */
};

/* A purge begins, whose peers have been told. Its first part is next. */
void purging_init(struct purging *p, size_t peers);

/* Whether an event can come: the machine asserts it. */
bool purging_expects(const struct purging *p, enum purging_event_kind event);

/* What follows from an event. */
enum purging_action purging_step(struct purging *p,
				 const struct purging_event *event);

#endif

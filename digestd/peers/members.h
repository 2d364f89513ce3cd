/*
 * Who the peers of this node are: those of the configuration, those that a
 * source names (member_source.h), which is read again and again, and those that
 * have introduced themselves; without this node itself. On the service loop.
 *
 * A source that cannot be read changes nothing. A node that has introduced
 * itself is a member until the source has named it and does so no more, or, if
 * it never does, until it has not been reached for MEMBERS_FORGET_MS: name
 * servers may be many seconds late.
 */
#ifndef DIGESTD_PEERS_MEMBERS_H
#define DIGESTD_PEERS_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "digestd/mesh/peerset.h"
#include "digestd/peers/member_list.h"

enum {
	MEMBERS_FORGET_MS = 60000,
	/* Introductions that change something: so many at once, and one more
	 * each time, so that all places can be taken anew before the first is
	 * forgotten. More are not heard, so that nobody keeps a node busy with
	 * new names; whoever is not heard does so again. */
	MEMBERS_INTRODUCTIONS = PEERSET_MAX_PEERS,
	MEMBERS_INTRODUCTION_MS = MEMBERS_FORGET_MS / MEMBERS_INTRODUCTIONS,
};

struct loop;
struct members;

struct members_settings {
	const char *node;    /* this node's name */
	const char *source;  /* null: none; no node introduces itself then */
	int64_t interval_ms; /* between two readings */
	bool https;          /* how members of dns and srv are asked */
	struct member_list configured; /* borrowed */
};

struct members_events {
	/* The list is another one. */
	void (*changed)(void *arg);
	/* When a peer was last known to be there, or else when it became one
	 * [loop_now_ms()]. */
	int64_t (*seen_ms)(void *arg, const char *name);
	void *arg;
};

/* For metrics. */
struct members_stats {
	size_t configured, found, introduced; /* as they are listed */
	uint64_t readings, failed_readings;
	bool reads; /* the last reading went well, or there is no source */
};

/*
 * Makes the list of the configuration's and begins to read the source. The
 * settings are copied. Returns 0 or a negative errno.
 */
int members_new(struct loop *loop, const struct members_settings *settings,
		const struct members_events *events, struct members **out);

/* Null is allowed. */
void members_free(struct members **m);

/* Takes other settings; changed() is not called for it. Returns 0 or -ENOMEM,
 * and then the list is the old one, for now. */
int members_set(struct members *m, const struct members_settings *settings);

/* The peers, without this node: the configuration's in its order, then the
 * others. Until the next event. */
const struct member_list *members_list(const struct members *m);

/*
 * A node says who it is, as in member_list_introduce(): `text`, from an address
 * without brackets. Ignored if it is known, or there is no source.
 */
void members_introduce(struct members *m, const char *text, const char *from);

/* What answers there is this node itself. */
void members_is_itself(struct members *m, const char *url);

/* How many there are of each, and how the source is read. */
void members_count(const struct members *m, struct members_stats *out);

#endif

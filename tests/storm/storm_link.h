/*
 * Connections that play scripts, all in one thread: those that are made, and
 * those that are taken. A role says what input means and what to play next.
 */
#ifndef TEST_STORM_LINK_H
#define TEST_STORM_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "tests/storm/storm_script.h"

struct storm_link;
struct storm_net;

struct storm_role {
	const char *name;

	/* Bytes have come, behind those of link->in. */
	void (*on_input)(struct storm_link *link);

	/* All steps are played: give it another script, or it is closed. */
	void (*on_rest)(struct storm_link *link);

	/* The connection has ended; the link is freed after it. */
	void (*on_end)(struct storm_link *link);
};

struct storm_link {
	struct storm_net *net;
	const struct storm_role *role;
	void *data;    /* the role's */
	uint64_t id;   /* the number that its messages are made from */
	unsigned port; /* that it connected to, or came in by */
	int64_t began_ms;
	int64_t limit_ms; /* ends then, whatever it does; 0: no limit */
	struct storm_text in;
	struct storm_script script;
	bool answered; /* set by the role: a STORM_WAIT is over */
	bool listens;  /* taken: stays without a script until it has one */
	bool ended;    /* no more input comes */
	bool refused;  /* the connection was never made */

	/* of the net */
	int fd;
	size_t place, step, sent, at;
	int64_t due_ms;
	bool dead, connecting;
	unsigned interest;
};

/* A net of connections; at most one that is used at a time. */
struct storm_net *storm_net_new(void);
void storm_net_free(struct storm_net *net);

/* A socket that listens, and the role of what comes in. Returns the port. */
unsigned storm_net_listen(struct storm_net *net, const struct storm_role *role);

/* Connects to a port on loopback, from one of many addresses. Null: no. */
struct storm_link *storm_net_connect(struct storm_net *net, unsigned port,
				     const struct storm_role *role,
				     uint64_t id);

/* Ends a connection at the next chance. */
void storm_link_close(struct storm_link *link);

/* Begins its script from the first step on. */
void storm_link_play(struct storm_link *link);

/* Waits for events, at most some ms, and plays what is due. */
void storm_net_run(struct storm_net *net, int most_ms);

/* Ends all connections at once. */
void storm_net_close_all(struct storm_net *net);

/* Connections of a role that are open; null: of all. */
unsigned storm_net_count(const struct storm_net *net,
			 const struct storm_role *role);

#endif

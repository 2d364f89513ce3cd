/*
 * Two nodes for the tests of the data path: workers with a data and a peer
 * listener between raw clients and an origin whose answers the path chooses,
 * and which counts what reaches it. Node b has node a as its peer.
 */
#ifndef TESTS_PROXY_TWO_NODES_H
#define TESTS_PROXY_TWO_NODES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "digestd/mesh/placement.h"
#include "digestd/proxy/worker.h"

enum {
	BIG = 300000, /* bytes of a body that comes in pieces */
	SLICED = 100000, /* of one that can be had in parts */
};

#define TOKEN "00112233445566778899aabbccddeeff"

struct node {
	struct cache *cache;
	struct collapses *collapses;
	struct lease_desk *leases;
	struct placer *placer; /* null: it keeps all */
	uint64_t instance;
	struct worker *worker;
	struct worker_settings settings;
	atomic_int outcomes[PEER_OUTCOMES];
};

/* Everything there is, from two_nodes_begin() to two_nodes_end(). */
struct two_nodes {
	struct loop *loop; /* the origin's */
	struct server *server;
	pthread_t thread;
	char url[64];
	atomic_int seen, gone; /* requests at the origin; clients that left */
	char last[16384];      /* the last request's fields */
	char big[BIG], sliced[SLICED + 1];
	struct node a, b;
	bool half_open; /* so introduce() shows a */
	enum placement placement; /* of both nodes */
	/* what node a has other than most tests: a disk, and so much memory
	 * for objects; null, 0: it has not */
	const char *disk_path;
	uint64_t memory_bytes;
	/* of both nodes; null: there is none */
	struct access_log *access_log;
	struct client_rates *rates;
	const atomic_bool *ready;
};

extern struct two_nodes at;

/* Set-up and tear-down of a test. */
int two_nodes_begin(void **state);
int two_nodes_end(void **state);

/* Gives a node other settings, and waits until it has them. */
void reconfigure(const struct node *node,
		 const struct worker_settings *changed);

/* Gives b a view in which a, at this URL or (null) its own, holds what is in
 * a's catalog now. */
void introduce(const char *url);

/* Tells b that a was asked for what is in a's catalog now. */
void show_what_a_was_asked_for(void);

/* What the ledger has, while workers change it. */
uint64_t memory_held(void);

/* Sends; receives until the other side closes, to be freed. */
void say(int fd, const char *text);
char *hear(int fd);

/* One request, and its whole answer, to be freed. `fields` are lines. */
char *ask(unsigned port, const char *method, const char *target,
	  const char *fields);

/* The data listeners. */
unsigned port_a(void);
unsigned port_b(void);

/* Frees a reply; it must have this status, and (unless null) this text. */
void expect(char *reply, unsigned status, const char *has);

#endif

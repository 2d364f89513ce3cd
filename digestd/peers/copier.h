/*
 * Copying objects from peers: from one that drains, what it hands over to this
 * node; from all, as this node begins, what is hot there. It fetches the peer's
 * list (offers.h) and has workers copy what is in it, a few objects at a time,
 * up to a number of bytes. On the service loop.
 */
#ifndef DIGESTD_PEERS_COPIER_H
#define DIGESTD_PEERS_COPIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "digestd/http/fields.h"
#include "digestd/os/loop.h"
#include "digestd/peers/token.h"

struct copier;
struct copier_job;
struct fetcher;
struct tls_client;

enum {
	COPIER_AT_ONCE = 4,	 /* objects from one peer */
	COPIER_LIST_MAX = 1 << 20, /* of a list [bytes]; longer, it is none */
	COPIER_FIELDS_MAX = 32,	 /* of one entry */
};

/* An object that is to be copied, by whoever carries it out; see
 * worker_copy(). */
struct peer_copy {
	uint32_t peer; /* its id in views */
	char *uri;     /* canonical */
	struct fields fields; /* of the requests that it is for */
	bool stays;	      /* the peer goes on having it */
	struct loop *loop;    /* to which `done` is posted */
	struct loop_call done;
	bool stored; /* then: it is in the store now */
	uint64_t bytes; /* and its body has so many */

	struct loop_call start; /* the carrier's, as the next */
	void *worker;
	struct copier_job *job; /* the copier's */
};

/* Counters; one row each. name, what it counts. */
/* clang-format off */
#define COPIER_COUNTERS(X) \
	X(lists,        "lists of objects to copy that peers have given") \
	X(copied,       "objects that were copied from peers: handed over, or to warm up") \
	X(copied_bytes, "body bytes of objects that were copied from peers") \
	X(passed_over,  "objects to copy that were here, or could not be had")
/* clang-format on */

struct copier_counters {
#define X(name, help) uint64_t name;
	COPIER_COUNTERS(X)
#undef X
};

struct copier_settings {
	char token[TOKEN_BYTES];
	struct tls_client *tls; /* borrowed; null: see fetch_request */
	int64_t timeout_ms;	/* of a list */
};

/* What is to be copied from where. */
struct copier_order {
	const char *url; /* of the peer's listener; copied, as the next */
	const char *path; /* of the list there */
	uint32_t peer;	 /* its id in views */
	uint64_t bytes;	 /* of bodies, after which it is enough */
	bool again; /* the list comes in pieces, the last of which is empty */
};

/*
 * Makes a copier. copy(arg, c) is called for each object: it is to have it
 * copied. All is borrowed but the settings. Returns 0 or -ENOMEM.
 */
int copier_new(struct loop *loop, struct fetcher *fetcher,
	       const struct copier_settings *settings,
	       void (*copy)(void *arg, struct peer_copy *c), void *arg,
	       struct copier **out);

/* Takes other settings, for lists to come. */
void copier_set(struct copier *c, const struct copier_settings *settings);

/* Begins, unless the same list is being copied already, or there is no
 * memory. */
void copier_begin(struct copier *c, const struct copier_order *order);

/* From now on nothing is begun; lists under way are given up. */
void copier_stop(struct copier *c);

/* *c becomes null; null is allowed. After copier_stop(), and when `done` of
 * all copies has been called. */
void copier_free(struct copier **c);

/* Whether something is being copied; and what was. */
bool copier_is_busy(const struct copier *c);
void copier_count(const struct copier *c, struct copier_counters *out);

#endif

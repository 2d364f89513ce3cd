/*
 * Leases: who in the cluster fetches what, so that one node does and the others
 * ask that one. Each key has an owner among the nodes, by rendezvous hashing of
 * their instances (lease_owner()), whom all ask before they go to an origin; of
 * what has gone stale it is one of those who hold it (lease_owner_among()).
 * The owner fetches nothing for others: it remembers to whom it has said
 * "yours", and names that node to who asks next.
 *
 * A lease is a hint with an end. Nodes that do not agree on the owner, an owner
 * that forgets, a node that has ended: each costs a fetch more, and nothing
 * else.
 *
 * Source: Gray and Cheriton, "Leases", 1989; the owner by Thaler and
 * Ravishankar, "Using Name-Based Mappings to Increase Hit Rates", 1998.
 */
#ifndef DIGESTD_MESH_LEASES_H
#define DIGESTD_MESH_LEASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/key.h"

struct leases;
struct peerset;

/* The field of requests for objects, and of a 504, that has them. */
#define LEASES_FIELD "Scd-Lease"

enum {
	LEASES_TERM_MS = 60000,   /* digests show by then who has it */
	LEASES_ALONE_MS = 120000, /* what is for one request only stays so */
	LEASES_TEXT_BYTES = 48,   /* of any of the texts below */
};

enum lease_word {
	LEASE_NONE,      /* nothing was said of it */
	LEASE_YOURS,     /* fetch it: others will be sent to you */
	LEASE_ELSEWHERE, /* a node has it, or fetches it */
	LEASE_ALONE,     /* one fetch does not answer others: each its own */
};

struct lease_answer {
	enum lease_word word;
	uint64_t holder; /* ELSEWHERE: its instance */
};

/* What a node says with its request for an object. */
struct lease_wish {
	bool waits;    /* it has time to wait for a fetch from an origin */
	uint64_t who;  /* its instance: it asks for the lease; 0: it does not */
	uint64_t not ; /* this one has it not (any more); 0: nobody */
};

/* Makes a memory of at most n leases, > 0; of more, the ones that end first
 * are forgotten. Null: no memory. */
struct leases *leases_new(size_t n);
void leases_free(struct leases **l);

/* Wishes for the lease of a key: who gets it, or has it. */
struct lease_answer leases_ask(struct leases *l, const struct scd_key *key,
			       const struct lease_wish *wish, int64_t now_ms);

/* One response for the key does not answer other requests; or it does, after
 * all. */
void leases_set_alone(struct leases *l, const struct scd_key *key,
		      int64_t now_ms);
void leases_set_shared(struct leases *l, const struct scd_key *key);
bool leases_is_alone(const struct leases *l, const struct scd_key *key,
		     int64_t now_ms);

/*
 * The owner of a key: the instance of this node (self), or that of a peer of
 * the view which may be asked, grants leases, and whose digest is here. Where
 * there are peers at other locations it is the node here whose sector the key
 * is in, as it knows who has the key there; or, while that is away, another one
 * here.
 */
uint64_t lease_owner(const struct peerset *view, const struct scd_key *key,
		     uint64_t self);

/* The same among n peers of the view, by their numbers, and self, unless that
 * is 0; 0: there is nobody. */
uint64_t lease_owner_among(const struct peerset *view,
			   const struct scd_key *key, uint64_t self,
			   const uint32_t *peers, size_t n);

/* The number in the view of the peer with this instance, which may be asked;
 * -1: there is none. */
int lease_find(const struct peerset *view, uint64_t instance);

/*
 * Whether this node, which is asked for a lease, knows of a peer elsewhere that
 * is to be asked instead, of those that may be: *out is its instance. Of
 * several it is one by the key.
 */
bool lease_elsewhere(const struct peerset *view, const struct scd_key *key,
		     uint64_t *out);

/* As texts of a field, for PROTOCOL.md. What is none is LEASE_NONE, or a wish
 * for nothing. */
void lease_wish_write(const struct lease_wish *wish,
		      char text[LEASES_TEXT_BYTES]);
void lease_wish_read(const char *text, struct lease_wish *out);
void lease_answer_write(const struct lease_answer *answer,
			char text[LEASES_TEXT_BYTES]);
struct lease_answer lease_answer_read(const char *text);

#endif

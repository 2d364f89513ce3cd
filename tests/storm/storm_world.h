/*
 * What all roles know: seeds, ports, secrets, and how much was done.
 */
#ifndef TEST_STORM_WORLD_H
#define TEST_STORM_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/key.h"
#include "tests/storm/storm_link.h"

enum {
	STORM_PEERS = 12,   /* listeners that play a peer each */
	STORM_ORIGINS = 4,  /* listeners of the hostile origin */
	STORM_URLS = 20000, /* of a hostile origin */
	STORM_TOKEN = 33,
};

struct storm_counts {
	uint64_t requests;    /* connections with mutated requests */
	uint64_t responses;   /* hostile ones, of origins */
	uint64_t digests;     /* hostile ones, and deltas */
	uint64_t objects;     /* hostile ones, of peers */
	uint64_t good;        /* good requests that were answered rightly */
	uint64_t asked;       /* that came to the good origin */
	uint64_t refused;     /* connections that were never made */
	uint64_t statuses[6]; /* of first answers, by hundreds; 0: none */
	int64_t slowest_ms;   /* of the good requests */
};

struct storm_world {
	struct storm_net *net;
	uint64_t seed;
	unsigned version;     /* of the good bodies now */
	double patience;      /* times what may take so long */
	bool costs;           /* it is measured: there are no peers */
	uint64_t digest_bits; /* the largest filter that is published */

	unsigned data, peer, admin; /* the node's ports */
	unsigned good_origin;
	unsigned origins[STORM_ORIGINS];
	unsigned peers[STORM_PEERS];

	uint8_t secret[SCD_SECRET_BYTES]; /* of the keys' hash */
	char token[STORM_TOKEN];          /* of requests between nodes */
	char tag[64]; /* the last ETag of the node's digest */

	struct storm_counts counts;
};

/* The only one: roles are called with a connection only. */
extern struct storm_world storm;

/* Promises of all that comes from the node: the token stays a secret. */
void storm_world_check_secret(const struct storm_link *link);

#endif

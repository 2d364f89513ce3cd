/*
 * What a request for a digest asks for, read out of its target and fields.
 * Without I/O and state, so that it can be tested alone.
 */
#ifndef DIGESTD_PEERS_DIGEST_REQUEST_H
#define DIGESTD_PEERS_DIGEST_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "digestd/http/fields.h"
#include "digestd/mesh/generations.h"

/* Where a digest and its deltas are: what a node holds, and what it was asked
 * for. */
struct digest_paths {
	const char *current;
	const char *delta; /* what its name begins with */
};

extern const struct digest_paths digest_paths_held, digest_paths_seen;

/* The instance manipulations of A-IM and IM (RFC 3229). */
#define DIGEST_IM_XOR "scd"
#define DIGEST_IM_CONDITIONAL "scd-conditional"

enum { DIGEST_REQUEST_BASES = 8, DIGEST_ETAG_BYTES = 40 };

enum digest_resource { DIGEST_NONE, DIGEST_CURRENT, DIGEST_DELTA };

/* A generation of an instance, as an entity tag names it. */
struct digest_tag {
	uint64_t instance, generation;
};

struct digest_request {
	enum digest_resource resource;
	struct digest_tag tags[DIGEST_REQUEST_BASES]; /* If-None-Match */
	unsigned ntags;
	struct delta_forms takes; /* A-IM */
	int64_t wait_s;   /* Prefer: wait; 0: do not wait */
	/* of a delta resource */
	uint64_t instance, from, to;
};

/* Reads a request's target and fields. Targets that are not of these paths are
 * DIGEST_NONE; unknown or foreign entity tags are left out. */
void digest_request_read(struct digest_request *r,
			 const struct digest_paths *paths,
			 struct field_part target, const struct fields *fields);

/* Whether one of the tags is this one. */
bool digest_request_has(const struct digest_request *r,
			const struct digest_tag *tag);

/* The entity tag of a generation: "<instance, 16 digits>-<generation>". */
void digest_tag_write(const struct digest_tag *tag,
		      char out[DIGEST_ETAG_BYTES + 1]);

/* Reads an entity tag, with its quotes. */
bool digest_tag_read(const char *text, size_t len, struct digest_tag *tag);

#endif

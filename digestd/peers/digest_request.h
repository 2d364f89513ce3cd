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
#include "digestd/mesh/digest_answer.h"
#include "digestd/mesh/sector.h"

/* Where a digest and its deltas are: what a node holds, and what it was asked
 * for. */
struct digest_paths {
	const char *current;
	const char *delta; /* what its name begins with */
	const char *sector; /* the same of a sector's digest; null: none */
};

extern const struct digest_paths digest_paths_held, digest_paths_seen;

/* The instance manipulations of A-IM and IM (RFC 3229). */
#define DIGEST_IM_XOR "scd"
#define DIGEST_IM_CONDITIONAL "scd-conditional"
#define DIGEST_IM_FRAMES "scd-frames"
#define DIGEST_IM_STREAM "scd-stream"
#define DIGEST_IM_AGED "scd-aged" /* frames by age, too */
#define DIGEST_IM_AGES "scd-ages" /* the same, behind the ages */

/* The types of bodies (Content-Type, and Accept of who takes lists). */
#define DIGEST_TYPE_ARRAY "application/scd-digest"
#define DIGEST_TYPE_LIST "application/scd-list"

/* The field by which a node introduces itself, see member_list_introduce(). */
#define DIGEST_INTRODUCTION "Scd-Member"

/* The field of a digest that names the secret by which its keys were made. */
#define DIGEST_HASH_NAME "Scd-Hash"

/* The field of a request for a stream by which its node says which instance it
 * is, and that it takes notes of invalidations (PROTOCOL.md). */
#define DIGEST_HEARS "Scd-Hears"

/* The field of an answer about a digest in which its node says how it works and
 * how it stands, a dictionary (PROTOCOL.md). */
#define DIGEST_NODE "Scd-Node"

struct digest_node {
	bool leases_said, leases; /* "one fetch for the cluster" is on */
	bool drains;		  /* it is about to end */
};

/* The field in which a node names the instances of peers that have sent it
 * something else than the origin has: a list, for who hears it to look closer
 * (PROTOCOL.md). */
#define DIGEST_SUSPECTS "Scd-Suspects"

enum { DIGEST_NODE_BYTES = 32, DIGEST_SUSPECTS_MAX = 8 };

/* Reads the instances that an answer names; returns how many. */
size_t digest_suspects_read(const struct fields *fields,
			    uint64_t out[DIGEST_SUSPECTS_MAX]);

/* Writes the field; reads that of an answer: all false without one, or where it
 * is no dictionary. */
void digest_node_write(const struct digest_node *node,
		       char text[DIGEST_NODE_BYTES]);
void digest_node_read(const struct fields *fields, struct digest_node *node);

enum { DIGEST_ETAG_BYTES = 48 };

enum digest_resource {
	DIGEST_NONE,
	DIGEST_CURRENT,
	DIGEST_DELTA,
	DIGEST_SECTOR,
};

struct digest_request {
	enum digest_resource resource;
	struct digest_ask ask; /* If-None-Match, Accept, A-IM, Prefer: wait */
	uint64_t hears; /* the instance of DIGEST_HEARS; 0: none */
	/* of a delta resource */
	uint64_t instance, from, to;
	bool list; /* it is of frames */
	struct sector sector; /* of a sector resource */
};

/* Writes the path of a sector's digest (count > 0) behind `paths`. */
enum { DIGEST_SECTOR_PATH_BYTES = 64 };
void digest_sector_path_write(const struct digest_paths *paths,
			      const struct sector *sector,
			      char out[DIGEST_SECTOR_PATH_BYTES]);

/* Reads a request's target and fields. Targets that are not of these paths are
 * DIGEST_NONE; unknown or foreign entity tags are left out. */
void digest_request_read(struct digest_request *r,
			 const struct digest_paths *paths,
			 struct field_part target, const struct fields *fields);

/* The entity tag of a generation: "<instance, 16 digits>-<generation>", with
 * "-list" behind it if it is the list's. */
void digest_tag_write(const struct digest_tag *tag,
		      char out[DIGEST_ETAG_BYTES + 1]);

/* Reads an entity tag, with its quotes. */
bool digest_tag_read(const char *text, size_t len, struct digest_tag *tag);

#endif

/*
 * Kinds of peers: how a peer is spoken to. One file each, one row in
 * PEER_KINDS; what a peer is, is said by `kind` in its section of
 * digestd.conf(5).
 *
 * A kind says where the digest of such a peer is, how to ask for it, what its
 * bytes mean, and how to ask for an object. When to ask, and whether a peer may
 * be asked at all, is the same for all of them (digestd/mesh/following.h).
 */
#ifndef DIGESTD_PEERS_PEER_KIND_H
#define DIGESTD_PEERS_PEER_KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/digest.h"

struct digest_body;
struct digest_expected;
struct digest_paths;
struct fields;
struct forward_request;
struct peer_digest;

/* What a digest is of. */
enum digest_subject {
	DIGEST_OF_HELD, /* what the peer holds */
	DIGEST_OF_SEEN, /* what it was asked for */
};

enum { DIGEST_SUBJECTS = DIGEST_OF_SEEN + 1 };

/* A request for a digest. */
struct digest_query {
	const char *token;              /* of the cluster */
	const char *introduction;       /* of the asker; "": none */
	const struct peer_digest *base; /* what is here of it; null: nothing */
	const char *base_modified;      /* its Last-Modified; "": none */
	int64_t wait_s; /* to hold the answer until there is news */
	bool lists;     /* lists are taken, too */
	bool stream;    /* and frames as they are published */
	uint64_t hears; /* by who has this instance, and takes notes of
			 * invalidations between them; 0: it does not */
};

struct peer_kind {
	const char *name;
	/* Where its digests are; null: it has none of this subject. */
	const struct digest_paths *paths[DIGEST_SUBJECTS];
	/* Whether it holds its answer to a query until there is news; if not,
	 * it is polled. */
	bool holds;
	/* Whether it gives the digest of a sector. */
	bool sectors;
	/* Whether it takes messages of purges (teller.h). */
	bool purges;
	/* Bytes by which a body can be judged. */
	size_t header_bytes;

	/* Adds the fields of a request for a digest. Returns 0 or -ENOMEM. */
	int (*query)(const struct digest_query *query, struct fields *out);

	/* The most bytes of a body that has no header to be judged by; 0: it
	 * has one. Null: all have. */
	size_t (*bound)(const struct digest_expected *expected);

	/* Judges a body by its first header_bytes. Returns an SCD_ error, see
	 * digest_body_add(), or 0 with the length of the whole body. */
	int (*judge)(const struct digest_expected *expected,
		     const uint8_t *header, size_t *len);

	/* Decodes a body. Returns 0, with a digest that has one user, or an
	 * SCD_ error. In the decoder's thread, if lists are expected; else from
	 * any. */
	int (*decode)(const struct digest_expected *expected,
		      const struct digest_body *body,
		      struct scd_digest_info *info, struct peer_digest **out);

	/* The fields of a request for an object, which must not make the peer
	 * ask others; *out is overwritten. Returns 0 or -ENOMEM. */
	int (*ask)(const struct fields *request,
		   const struct forward_request *how, const char *token,
		   struct fields *out);
};

/* All kinds; the first is that of peers that name none. */
#define PEER_KINDS(X) \
	X(digestd)    \
	X(squid)

#define X(name) extern const struct peer_kind peer_kind_##name;
PEER_KINDS(X)
#undef X

/* Their names; a null ends them. */
extern const char *const peer_kind_names[];

/* The kind of this name; null: there is none. */
const struct peer_kind *peer_kind_find(const char *name);

#endif

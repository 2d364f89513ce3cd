/*
 * A digest on its way in: its header is judged as soon as it is there, and no
 * more is kept than that says.
 */
#ifndef DIGESTD_PEERS_DIGEST_BODY_H
#define DIGESTD_PEERS_DIGEST_BODY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/digest.h"
#include "digestd/mesh/peer_digest.h"

struct peer_kind;

/* What is expected of a body. */
struct digest_expected {
	const struct peer_kind *kind; /* of the peer that sends it */
	const struct scd_limits *limits;
	bool delta;               /* or a full digest */
	struct peer_digest *base; /* of a delta; null: there is none */
	struct peer_slot slot;    /* for a list; no table: none is taken */
	const struct scd_threads *threads; /* to decode with; null: none */
};

/* The bytes so far; all zero is an empty one. */
struct digest_body {
	uint8_t *bytes;
	size_t len, cap;
	size_t most; /* by the header, or by the kind; 0: it is not judged yet
		      */
};

/*
 * Adds bytes as they come. Returns 0 or an SCD_ error, and then nothing more
 * is to be added: those of the peer's format, such as scd_digest_judge() or
 * scd_squid_parse() has; SCD_EBASE: a delta where none is expected, none where
 * one is, or of another base; SCD_EMISMATCH: of a hashing that is not looked up
 * here; SCD_EFORMAT: longer than its header says; SCD_ENOMEM.
 */
int digest_body_add(struct digest_body *b, const struct digest_expected *e,
		    const void *bytes, size_t len);

/* Moves the first n bytes (at most all) into *out, which was empty. Returns 0
 * or SCD_ENOMEM, and then nothing has changed. */
int digest_body_split(struct digest_body *b, size_t n, struct digest_body *out);

/* Releases the bytes; it is empty again. */
void digest_body_free(struct digest_body *b);

#endif

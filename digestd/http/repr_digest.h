/*
 * Repr-Digest (RFC 9530): what the bytes of a representation hash to, as its
 * origin says. Of its algorithms SHA-256 is read, which all that send the field
 * have.
 */
#ifndef DIGESTD_HTTP_REPR_DIGEST_H
#define DIGESTD_HTTP_REPR_DIGEST_H

#include <stdbool.h>
#include <stdint.h>

struct fields;

enum { REPR_DIGEST_BYTES = 32 };

/* Reads the SHA-256 of a message; false: there is none that is well formed. Of
 * several the last one counts. */
bool repr_digest_read(const struct fields *fields,
		      uint8_t out[REPR_DIGEST_BYTES]);

#endif

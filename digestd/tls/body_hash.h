/*
 * SHA-256 of bodies, as they come.
 */
#ifndef DIGESTD_TLS_BODY_HASH_H
#define DIGESTD_TLS_BODY_HASH_H

#include <stddef.h>
#include <stdint.h>

struct body_hash;

enum { BODY_HASH_BYTES = 32 };

/* Begins one. Null: no memory. */
struct body_hash *body_hash_new(void);

/* More bytes. */
void body_hash_add(struct body_hash *h, const void *bytes, size_t len);

/* The hash of all of them; more may follow, of a new one. */
void body_hash_end(struct body_hash *h, uint8_t out[BODY_HASH_BYTES]);

/* *h becomes null; null is allowed. */
void body_hash_free(struct body_hash **h);

#endif

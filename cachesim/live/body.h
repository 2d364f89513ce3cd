/*
 * Bodies that follow from their URL: whoever knows the URL can check any range
 * of the body without having it. A body is the little-endian words of a
 * splitmix64 sequence that starts at the hash of the URL.
 */
#ifndef LIVE_BODY_H
#define LIVE_BODY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes len bytes of the body of hash, from offset on. */
void body_fill(uint64_t hash, uint64_t offset, uint8_t *out, size_t len);

/* Whether len bytes are those of the body of hash, from offset on. */
bool body_check(uint64_t hash, uint64_t offset, const uint8_t *in, size_t len);

/* An entity tag that names hash and size: "o-<16 hex digits>-<decimal>". */
enum { BODY_ETAG_MAX = 48 };
void body_etag(uint64_t hash, uint64_t size, char out[BODY_ETAG_MAX]);

/* Reads such a tag, len bytes with quotes. False: it is another's tag. */
bool body_etag_parse(const char *in, size_t len, uint64_t *hash,
		     uint64_t *size);

#endif

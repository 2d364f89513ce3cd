/*
 * /v1/admit on the admin listener: what this node would keep, for other caches
 * that ask; PROTOCOL.md has it.
 */
#ifndef DIGESTD_ADMIN_ADMIT_API_H
#define DIGESTD_ADMIN_ADMIT_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct admitter;
struct exchange;

struct admit_api {
	struct admitter *admitter;
	uint8_t secret[16]; /* of the hash, see scd_key_make() */
};

/* Is the request for this resource? */
bool admit_is_meant(const struct exchange *x);

/* What a server's handler does, for such requests, with posted_add() and
 * posted_leave(). */
void admit_serve(struct admit_api *api, struct exchange *x);
void admit_body_end(struct admit_api *api, struct exchange *x);

#endif

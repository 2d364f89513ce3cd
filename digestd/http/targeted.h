/*
 * Cache control for caches that act for the origin: CDN-Cache-Control (RFC
 * 9213) and, older and in wide use, Surrogate-Control (W3C note "Edge
 * Architecture Specification"). What they say counts in place of Cache-Control
 * and Expires. A forward proxy acts for its clients, and reads neither.
 */
#ifndef DIGESTD_HTTP_TARGETED_H
#define DIGESTD_HTTP_TARGETED_H

#include <stdbool.h>

struct cachecontrol;
struct fields;

/*
 * Reads the first of the two that has something to say: CDN-Cache-Control,
 * unless it is empty or no dictionary; then Surrogate-Control's max-age and
 * no-store, without the directives that are for another device than `name`.
 * Returns whether there was any; *out is set only then.
 */
bool targeted_read(const struct fields *response, const char *name,
		   struct cachecontrol *out);

/*
 * Announces to the origin, in Surrogate-Capability, a device of this name.
 * Returns 0 or -ENOMEM.
 */
int targeted_announce(struct fields *request, const char *name);

#endif

/*
 * May this response be stored, in a shared cache (RFC 9111, 3)?
 */
#ifndef DIGESTD_HTTP_STORABLE_H
#define DIGESTD_HTTP_STORABLE_H

#include <stdbool.h>

struct answer;
struct fields;

/* Why not; STORABLE_YES is 0. */
enum storable {
	STORABLE_YES = 0,
	STORABLE_METHOD,        /* the request is not GET */
	STORABLE_STATUS,        /* a status that is not final, or not known */
	STORABLE_NO_STORE,      /* no-store in request or response */
	STORABLE_PRIVATE,
	STORABLE_SET_COOKIE,    /* which would go to others, too */
	STORABLE_AUTHORIZATION, /* for one user, and not marked as public */
	STORABLE_NOT_CACHEABLE, /* no lifetime, and none to be guessed */
	STORABLE_VARY,          /* Vary: * never matches */
};

/*
 * The rule of RFC 9111, section 3, for a complete response. A response
 * without lifetime and validator is not stored either: it could never be used.
 */
enum storable storable(const char *method, const struct fields *request,
		       const struct answer *response);

/* A word for logs and Cache-Status, e.g. "no-store". */
const char *storable_text(enum storable why);

/* Whether a lifetime may be guessed for a status (RFC 9110, 15.1). */
bool storable_heuristic_status(unsigned status);

#endif

/*
 * May this response be stored, in a shared cache (RFC 9111, 3)?
 */
#ifndef DIGESTD_HTTP_STORABLE_H
#define DIGESTD_HTTP_STORABLE_H

#include <stdbool.h>

struct fields;
struct response_facts;

/* The answers, a row each: name, a word for logs, what it is. */
/* clang-format off */
#define STORABLE_ANSWERS(X) \
	X(YES,           "storable",      "it may; this one is 0") \
	X(METHOD,        "method",        "the request is not GET") \
	X(STATUS,        "status",        "a status that is not final, or not known") \
	X(NO_STORE,      "no-store",      "no-store in request or response") \
	X(PRIVATE,       "private",       "for one user") \
	X(SET_COOKIE,    "set-cookie",    "a cookie, which would go to others, too") \
	X(AUTHORIZATION, "authorization", "for one user, and not marked as public") \
	X(NOT_CACHEABLE, "no-lifetime",   "no lifetime, and none to be guessed") \
	X(VARY,          "vary",          "Vary: * never matches")
/* clang-format on */

enum storable {
#define X(name, text, meaning) STORABLE_##name,
	STORABLE_ANSWERS(X)
#undef X
};

/*
 * The rule of RFC 9111, section 3, for a complete response. A response
 * without lifetime and validator is not stored either: it could never be used.
 */
enum storable storable(const char *method, const struct fields *request,
		       const struct response_facts *response);

/* Whether a lifetime may be guessed for a status (RFC 9110, 15.1). */
bool storable_heuristic_status(unsigned status);

#endif

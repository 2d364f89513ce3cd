/*
 * Which requests a stored response with Vary is for (RFC 9111, 4.1).
 */
#ifndef DIGESTD_HTTP_VARY_H
#define DIGESTD_HTTP_VARY_H

#include <stdbool.h>

struct fields;

/*
 * Copies what a later request must match out of the request that led to a
 * response: for each name in the response's Vary one line, its value the
 * combined and normalised one, empty when the request had none. *selecting,
 * which is overwritten, is empty without Vary. Returns 0, -EINVAL when
 * vary_any(), or -ENOMEM.
 */
int vary_select(const struct fields *request, const struct fields *response,
		struct fields *selecting);

/*
 * Whether a request has the selecting fields of a stored response, as made by
 * vary_select(). White space around commas does not matter, nor how a list is
 * spread over lines, nor the case in lists of languages, codings and character
 * sets. Their order does: many origins take it for the client's preference.
 */
bool vary_match(const struct fields *selecting, const struct fields *request);

/*
 * Whether a response says "Vary: *", or has more names than anybody has a use
 * for, which costs each request a comparison: no other request ever matches.
 */
enum { VARY_MAX_NAMES = 32 };
bool vary_any(const struct fields *response);

#endif

/*
 * Conditional requests (RFC 9110, 13): answering them from a stored response,
 * making one to validate it, and taking in the 304 that comes back.
 */
#ifndef DIGESTD_HTTP_CONDITIONAL_H
#define DIGESTD_HTTP_CONDITIONAL_H

#include <stdbool.h>
#include <stdint.h>

struct fields;

/*
 * Whether a GET or HEAD request is answered with 304, given the stored
 * response that would be sent: If-None-Match by weak comparison, otherwise
 * If-Modified-Since against Last-Modified (or Date where there is none).
 */
bool conditional_not_modified(const struct fields *request,
			      const struct fields *stored, int64_t now_s);

/* Whether a request carries any precondition. */
bool conditional_present(const struct fields *request);

/*
 * Whether a stored response has a validator to ask the origin with.
 */
bool conditional_has_validator(const struct fields *stored);

/*
 * Makes a request conditional on a stored response: its own preconditions are
 * replaced with If-None-Match and If-Modified-Since. Returns 0 or -ENOMEM.
 */
int conditional_validate(const struct fields *stored, struct fields *request);

/*
 * Whether the header of a 200 is that of the stored response (RFC 9111, 4.3.5):
 * by the same strong ETag, with no other length.
 */
bool conditional_describes(const struct fields *header,
			   const struct fields *stored);

/*
 * Whether a 304 speaks of the stored response (RFC 9111, 4.3.4), whose
 * validators the origin was asked with. It does with the same ETag, weakly
 * compared, or the same Last-Modified, or with neither. An ETag that differs
 * from the only one asked about does not matter unless Last-Modified differs
 * too: some origins name the representation they would have sent.
 */
bool conditional_confirms(const struct fields *not_modified,
			  const struct fields *stored);

/*
 * Updates a stored response's fields with those of a 304 (RFC 9111, 3.2), which
 * has been through forward_response(). What says how long the stored body is,
 * how it is coded and which part it is stays. Returns 0, or -ENOMEM with
 * *stored as it was.
 */
int conditional_update(const struct fields *not_modified,
		       struct fields *stored);

/*
 * The fields of the 304 that answers for a stored response: those that RFC
 * 9110, 15.4.5 wants, and what caches on the way have added. *out is
 * overwritten. Returns 0 or -ENOMEM.
 */
int conditional_304_fields(const struct fields *stored, struct fields *out);

/* Removes from a 304 all but what says how long the response is fresh, and
 * which it is: for one that is not its origin's. */
void conditional_keep_freshness(struct fields *not_modified);

#endif

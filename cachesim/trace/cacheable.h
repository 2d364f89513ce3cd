/*
 * What a shared cache may do with a request of a trace, by its method and the
 * status of its response; traces hold no header fields. The rules are those of
 * digestd:
 *
 * - A response to GET is cacheable if its status is unknown, one of the
 *   successes and redirects that are heuristically cacheable (RFC 9110, 15.1),
 *   or 304, which confirms a response that may be stored. Errors are not:
 *   digestd stores them with an explicit lifetime or a validator only, which
 *   they rarely have.
 * - All other methods pass to the origin. The unsafe ones, which are not GET,
 *   HEAD or OPTIONS, invalidate the object of their URL if they succeed (RFC
 *   9111, 4.4).
 */
#ifndef TRACE_CACHEABLE_H
#define TRACE_CACHEABLE_H

#include "cachesim/trace/trace_request.h"

/* The class of a request; status 0: unknown, counts as a success. */
enum trace_class trace_cacheable_class(struct trace_text method,
				       unsigned status);

#endif

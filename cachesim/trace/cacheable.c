/*
 * See cacheable.h.
 */
#include "cachesim/trace/cacheable.h"

#include <string.h>

#include "digestd/http/storable.h"

enum { NOT_MODIFIED = 304, FIRST_ERROR = 400 };

/* Methods are case-sensitive. */
static bool cacheable_is_method(struct trace_text method, const char *name)
{
	return method.len == strlen(name) &&
	       !memcmp(method.at, name, method.len);
}

static bool cacheable_is_status(unsigned status)
{
	return status == 0 || status == NOT_MODIFIED ||
	       (status < FIRST_ERROR && storable_heuristic_status(status));
}

enum trace_class trace_cacheable_class(struct trace_text method,
				       unsigned status)
{
	if (cacheable_is_method(method, "GET"))
		return cacheable_is_status(status) ? TRACE_CACHEABLE
						   : TRACE_UNCACHEABLE;
	if (cacheable_is_method(method, "HEAD") ||
	    cacheable_is_method(method, "OPTIONS") || status >= FIRST_ERROR)
		return TRACE_UNCACHEABLE;
	return TRACE_UNSAFE;
}

/*
 * Traces across services: the field traceparent (W3C Trace Context, level 1,
 * 3.2). A node takes no part in a trace, and passes its fields on as they are;
 * it says in its access log which trace a request belongs to, and keeps the
 * same traces as other services where it logs a sample.
 */
#ifndef DIGESTD_HTTP_TRACE_CONTEXT_H
#define DIGESTD_HTTP_TRACE_CONTEXT_H

#include <stdbool.h>

enum { TRACE_ID_BYTES = 33 }; /* 32 hexadecimal digits and the NUL */

/* Takes the trace-id out of a traceparent. False: it is not valid, and then the
 * request belongs to no trace, as if it had several; id is "" then. */
bool trace_context_read(const char *traceparent, char id[TRACE_ID_BYTES]);

/*
 * Whether a trace is in a sample of one in `every` (>= 1): by the last 56 bits
 * of its id, which are random (level 2, 5.1), so that all who sample so keep
 * the same ones.
 */
bool trace_context_is_sampled(const char id[TRACE_ID_BYTES], unsigned every);

#endif

/*
 * The guard: refuses requests that two HTTP implementations might read in two
 * ways (RFC 9112, 11: request smuggling and response splitting), before
 * anything else looks at them. It is for what libmicrohttpd has read, which
 * does not refuse all of them; request_head.h judges as it reads.
 */
#ifndef DIGESTD_HTTP_GUARD_H
#define DIGESTD_HTTP_GUARD_H

#include <stddef.h>

struct fields;

enum {
	GUARD_MAX_FIELDS = 200,
	GUARD_MAX_TARGET = 16384, /* bytes */
};

/* A request as the HTTP library understood it; nothing decoded. */
struct guard_request {
	const char *method;
	const char *target;
	size_t target_len;
	unsigned minor; /* HTTP/1.minor */
	const struct fields *fields;
};

/* A refusal: the status, and a line that says why. Both zero: accepted. */
struct guard_verdict {
	unsigned status; /* 0, 400, 414, 417, 431 or 501 */
	const char *reason;
};

/*
 * Judges a request: method, target, every field name and value, the framing of
 * the body, Host. CONNECT and TRACE are refused with 501: this proxy neither
 * tunnels nor echoes. Cannot fail.
 */
struct guard_verdict guard_check(const struct guard_request *r);

#endif

/*
 * The URL under which origin and replayer know an object: canonical, so that
 * both get the same hash from it, and clean, so that it can be sent.
 */
#ifndef LIVE_OBJECT_URL_H
#define LIVE_OBJECT_URL_H

#include "cachesim/trace/trace_request.h"

enum { OBJECT_URL_MAX = 3 * 65536 + 64 }; /* a long line, every byte escaped */

struct object_url {
	size_t len;
	size_t host_len;  /* of the host and port, from text + 7 on */
	uint64_t hash;	  /* of the text */
	char text[OBJECT_URL_MAX];
};

/*
 * Makes a target of a URL of a trace, or of a request. https becomes http
 * (origin and nodes are asked in plain); bytes that may not stand in a URL are
 * percent-encoded; a key that is no URL becomes a path below http://localhost.
 * 0; TRACE_EURL: another scheme, no host.
 */
int object_url_make(struct object_url *t, struct trace_text url);

/* The part from the path on; never empty. */
const char *object_url_path(const struct object_url *t);

#endif

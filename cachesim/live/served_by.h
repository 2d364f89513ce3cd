/*
 * Where an answer came from, as its Cache-Status (RFC 9211) tells. The last
 * member is the cache nearest to the client, the node that was asked.
 */
#ifndef LIVE_SERVED_BY_H
#define LIVE_SERVED_BY_H

#include <stddef.h>

enum served_by {
	SERVED_UNKNOWN,   /* no Cache-Status */
	SERVED_LOCAL,	   /* "node; hit" */
	SERVED_REMOTE,	   /* forwarded, detail="peer=NAME" */
	SERVED_COLLAPSED, /* shared another request's fetch */
	SERVED_ORIGIN,	   /* forwarded otherwise */
	SERVED_KINDS
};

/* One word for each, for reports. */
const char *served_by_name(enum served_by o);

/* Reads the value of a Cache-Status field. */
enum served_by served_by_parse(const char *value, size_t len);

#endif

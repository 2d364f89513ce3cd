/*
 * Where an answer came from, as its Cache-Status (RFC 9211) tells. The last
 * member is the cache nearest to the client, the node that was asked.
 */
#ifndef LIVE_OUTCOME_H
#define LIVE_OUTCOME_H

#include <stddef.h>

enum outcome {
	OUTCOME_UNKNOWN,   /* no Cache-Status */
	OUTCOME_LOCAL,	   /* "node; hit" */
	OUTCOME_REMOTE,	   /* forwarded, detail="peer=NAME" */
	OUTCOME_COLLAPSED, /* shared another request's fetch */
	OUTCOME_ORIGIN,	   /* forwarded otherwise */
	OUTCOMES
};

/* One word for each, for reports. */
const char *outcome_name(enum outcome o);

/* Reads the value of a Cache-Status field. */
enum outcome outcome_parse(const char *value, size_t len);

#endif

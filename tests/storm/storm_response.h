/*
 * Responses by a grammar, mutated: what a hostile origin, or a peer that has
 * the key, answers.
 */
#ifndef TEST_STORM_RESPONSE_H
#define TEST_STORM_RESPONSE_H

#include <stdbool.h>

#include "tests/storm/storm_script.h"

/* What it answers to. */
struct storm_asked {
	const char *target; /* as it stands in the request */
	size_t target_len;
	const char *own; /* the client's id, if it came whole; 16 digits */
	bool head;
	bool trusted; /* the connection has seen right answers only: after
		       * another, what is asked and answered may not fit */
};

/*
 * The script of an answer. Keeps the connection in most cases. Returns whether
 * the answer is right, so that the next one on the connection is trusted.
 */
bool storm_response_make(struct storm_script *s,
			 const struct storm_asked *asked, uint64_t seed);

#endif

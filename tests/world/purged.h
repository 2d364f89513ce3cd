/*
 * What was purged of each node of a world last, and acknowledged.
 */
#ifndef TESTS_WORLD_PURGED_H
#define TESTS_WORLD_PURGED_H

#include <stdbool.h>
#include <stdint.h>

struct purged {
	int64_t asked_us; /* 0: nothing */
	int64_t told_us;
	bool unsafe; /* a POST did: the node has not waited for its disk */
	bool alone;  /* there are peers that have not acknowledged it: only
			the node itself, while it runs, knows of it */
};

void purged_start(uint32_t resources);
void purged_stop(void);

/* A purge of a resource counts for a node, if it was asked for later than the
 * last one that does. */
void purged_note(uint32_t resource, unsigned node, const struct purged *p);

/* Whether the answer to a PURGE names all other nodes, each with a number. */
bool purged_is_everywhere(const char *answer);

/* When the last one was asked for; 0: there is none. */
int64_t purged_asked_us(uint32_t resource, unsigned node);

/* A node has ended, and what it has not promised may be back. lost: nor is
 * anything else what it was. */
void purged_forget(unsigned node, bool lost);

#endif

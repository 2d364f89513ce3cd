/*
 * What a fetch of a test has led to, and the callbacks that note it.
 */
#ifndef TESTS_FETCH_FETCHED_H
#define TESTS_FETCH_FETCHED_H

#include <stdbool.h>
#include <stddef.h>

#include "digestd/fetch/fetch.h"
#include "digestd/os/loop.h"

struct fetched {
	/* what the test asks for */
	const char *body; /* what comes must be equal; null: it may be any */
	unsigned pauses;  /* one call of on_body in so many; 0: none */
	bool cancels_at_interim, cancels_at_head, lifts_total;
	/* what has happened */
	struct loop *loop;
	struct fetch *fetch;
	struct fetch_done done;
	bool over; /* done, or cancelled */
	unsigned interim, status, calls; /* calls: of on_body, with pauses */
	size_t len;
	char text[64]; /* where the body begins */
	struct loop_timer timer;
};

/* Their argument is a struct fetched. */
extern const struct fetch_callbacks fetched_callbacks;

/* Begins a fetch, which must be possible. */
void fetched_begin(struct fetched *f, struct loop *loop,
		   struct fetcher *fetcher,
		   const struct fetch_request *request);

/* Turns the loop until it is over. Returns how it has ended. */
enum fetch_result fetched_end(struct fetched *f);

#endif

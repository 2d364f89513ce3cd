/*
 * Bodies that say whose they are. A good body is lines of 64 bytes with the
 * URL's path, a version, and the place of the line, so that any part of it
 * can be checked. A mark stands in hostile bodies: who reads one must have
 * asked for it.
 */
#ifndef TEST_STORM_BODY_H
#define TEST_STORM_BODY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/storm/storm_text.h"

/* How many good URLs there are: /good/0 to /good/N-1. */
enum { STORM_BODY_URLS = 400 };

/* The number of a good URL's path; -1: it is none. */
int storm_body_number(const char *path, size_t len);

/* How long the body of a number is; a few are large. */
size_t storm_body_size(unsigned number);

/* Appends the bytes from..to of the body of a number. */
void storm_body_add(struct storm_text *t, unsigned number, unsigned version,
		    size_t from, size_t to);

/* Whether bytes are those from `from` on. */
bool storm_body_is(unsigned number, unsigned version, size_t from,
		   const char *bytes, size_t len);

/*
 * Appends a mark: kind 'u' for a target that was asked for, 'p' for the id of
 * the only client that may read it.
 */
void storm_body_mark(struct storm_text *t, char kind, const char *what,
		     size_t len);

/*
 * The next whole mark in some bytes, from *at on, which is moved behind it.
 * Returns its kind, 0 at the end. What is not a whole mark is skipped.
 */
char storm_body_next_mark(const struct storm_text *in, size_t *at,
			  const char **what, size_t *len);

#endif

/*
 * Bodies of lines that are posted to the admin listener: collected whole, so
 * that one that is refused has changed nothing, and answered with text.
 */
#ifndef DIGESTD_ADMIN_POSTED_H
#define DIGESTD_ADMIN_POSTED_H

#include <stdbool.h>
#include <stddef.h>

struct exchange;

enum { POSTED_BYTES = 1 << 20 };

/* What is said of one that is longer, with 413. */
extern const char posted_too_long[];

/* A body on its way: the data of its exchange. */
struct posted {
	size_t len;
	bool too_long; /* the rest was dropped; the sender can be told */
	char text[POSTED_BYTES];
};

/* A walk over its lines; all zero at its beginning. */
struct posted_walk {
	size_t at, number;
	const char *text; /* of a line, without its LF */
	size_t len;
};

/* Begins to collect. False: no memory, and the exchange has been answered. */
bool posted_begin(struct exchange *x);

/* Adds what has come, if the body is collected. Returns len. */
size_t posted_add(struct exchange *x, const void *data, size_t len);

/* Frees it with its exchange. */
void posted_leave(struct exchange *x);

/* The next line; false: no more. */
bool posted_next(const struct posted *b, struct posted_walk *walk);

/* Answers with plain text, and methods that are allowed with a 405. */
void posted_reply(struct exchange *x, unsigned status, const char *allow,
		  const char *text, size_t len);

#endif

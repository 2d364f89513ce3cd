/*
 * What other caches ask of /v1/admit: whether an object is worth keeping. A
 * question is a URI and, if it is known, the object's size; it comes in the
 * target's query or as a line of a body:
 *
 *	GET /v1/admit?uri=http%3A%2F%2Fwww.example.com%2Fa&size=4711
 *	http://www.example.com/a 4711
 *
 * Both are untrusted: nothing is taken that is longer than the limits here.
 */
#ifndef DIGESTD_ADMISSION_ADMIT_REQUEST_H
#define DIGESTD_ADMISSION_ADMIT_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	ADMIT_URI_BYTES = 8192,   /* of a URI, canonical, with its zero */
	ADMIT_LINES = 10000,      /* of a body */
	ADMIT_DEFAULT_SIZE = 4096, /* of an object that has none */
};

struct admit_question {
	char uri[ADMIT_URI_BYTES]; /* canonical */
	size_t uri_len;
	uint64_t size; /* [bytes] */
	bool note;     /* counts as a use of the object */
};

/*
 * Reads the part behind the question mark: `uri` is required, percent-encoded
 * ('+' is itself); `size` and `note=no` may follow. 0, -EINVAL, or -E2BIG: the
 * URI is too long.
 */
int admit_read_query(const char *query, size_t len, struct admit_question *q);

/* Reads a line without its end: a URI, as it is, and perhaps a size behind a
 * space or a tab. Returns the same. */
int admit_read_line(const char *line, size_t len, struct admit_question *q);

#endif

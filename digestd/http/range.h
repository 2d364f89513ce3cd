/*
 * Which part of a stored body a request wants (RFC 9110, 14.2).
 *
 * One range is served. Several, other units, and what is malformed are answered
 * with the whole, as the RFC allows: an answer in many parts costs more than
 * it saves, and is a way to make a server work.
 */
#ifndef DIGESTD_HTTP_RANGE_H
#define DIGESTD_HTTP_RANGE_H

#include <stdbool.h>
#include <stddef.h>

struct fields;

/* A part of a body: bytes from `first` on. */
struct range {
	size_t first, len;
};

enum range_answer {
	RANGE_WHOLE,         /* 200 */
	RANGE_PART,          /* 206 */
	RANGE_UNSATISFIABLE, /* 416: nothing of it is there */
};

/* What a request wants, before it is known how long the body is. */
struct range_wanted {
	bool suffix;        /* the last `last` bytes */
	size_t first, last; /* else: last may be SIZE_MAX, the end */
};

/* Reads Range; false: there is none, or it is one that is answered with the
 * whole. */
bool range_read(const struct fields *request, struct range_wanted *out);

/* Reads the Content-Range of a 206: which part it is of a body of *len bytes;
 * false: it does not say so. */
bool range_read_content(const struct fields *response, struct range *part,
			size_t *len);

/* Room for a Content-Range of any numbers, with its final NUL. */
enum { RANGE_TEXT = 80 };

/*
 * What answers a GET for a body of len bytes, stored with status 200 and these
 * fields; *part is set with RANGE_PART. An If-Range that is not strongly the
 * stored ETag, nor exactly the stored Last-Modified, means the whole.
 */
enum range_answer range_select(const struct fields *request,
			       const struct fields *stored, size_t len,
			       struct range *part);

/* Writes the Content-Range of a part of len bytes; part null: of a 416. */
void range_text(const struct range *part, size_t len, char out[RANGE_TEXT]);

#endif

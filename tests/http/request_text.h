/*
 * What comes of the bytes of a connection, as text, so that it can be compared
 * with other ways to read them: a request has these lines, and the last line
 * says how the reading ended.
 *
 *     METHOD TARGET FORM AUTHORITY PATH FLAGS    "-" for an empty one
 *     : NAME: VALUE                              each field
 *     ^ VALUE                                    what to upgrade to
 *     = BODY                                     if there is any
 *     + NAME: VALUE                              each field of a trailer
 *     . OFFSET                                   behind it
 *
 * FORM is one of o, a, c (CONNECT), *; FLAGS are 0 or 1 (HTTP/1.x), k (keep),
 * e (expects 100), s (https), t (chunked). At the end: "idle" between
 * requests, "more" within one, "close", "preface", "refused STATUS". Bytes
 * that are no graphics, and backslashes, are \xNN; and so are blanks, but in
 * values and bodies.
 */
#ifndef TESTS_HTTP_REQUEST_TEXT_H
#define TESTS_HTTP_REQUEST_TEXT_H

#include <stddef.h>

#include "digestd/http/request_head.h"

enum { REQUEST_TEXT_MAX = 1 << 18 }; /* bytes of text; inputs have 16384 */

/* How the bytes come. */
struct request_text_way {
	struct request_limits limits;
	size_t step; /* bytes at a time */
};

/*
 * Reads a connection. Each call of the parser gets its bytes in memory of their
 * own, of just that size. Returns the fault that ended it, or MESSAGE_OK.
 */
enum message_fault request_text_read(const char *in, size_t len,
				     const struct request_text_way *way,
				     char out[static REQUEST_TEXT_MAX]);

#endif

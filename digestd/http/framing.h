/*
 * Where a message's body ends (RFC 9112, 6): what Content-Length and
 * Transfer-Encoding say about it. Requests are read strictly; of responses,
 * lengths that are repeated and equal are taken, because RFC 9112 allows it.
 */
#ifndef DIGESTD_HTTP_FRAMING_H
#define DIGESTD_HTTP_FRAMING_H

#include <stdbool.h>
#include <stdint.h>

#include "digestd/http/fields.h"
#include "digestd/http/message_fault.h"

struct framing {
	int64_t length; /* Content-Length, -1: none */
	bool chunked;
};

/* No body. */
static inline void framing_init(struct framing *f)
{
	*f = (struct framing){ .length = -1 };
}

/*
 * Takes the value of a Content-Length field: 1 to 18 digits. strict: at most
 * one of a message. Returns MESSAGE_OK, MESSAGE_LENGTH for one that is none,
 * or differs from one before, or MESSAGE_LENGTH_REPEATED.
 */
enum message_fault framing_add_length(struct framing *f,
				      struct field_part value, bool strict);

/*
 * Takes the value of a Transfer-Encoding field. Returns MESSAGE_OK,
 * MESSAGE_CODING for any other than chunked, or MESSAGE_CODING_REPEATED.
 */
enum message_fault framing_add_coding(struct framing *f,
				      struct field_part value);

/*
 * Whether what was taken fits together; minor: of HTTP/1.minor. Returns
 * MESSAGE_OK, MESSAGE_LENGTH_AND_CODING or MESSAGE_CODING_VERSION.
 */
enum message_fault framing_check(const struct framing *f, unsigned minor);

#endif

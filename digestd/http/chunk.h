/*
 * The line with the size of a chunk (RFC 9112, 7.1), a byte at a time, so that
 * nothing has to be kept when it is cut.
 */
#ifndef DIGESTD_HTTP_CHUNK_H
#define DIGESTD_HTTP_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "digestd/http/fields.h"
#include "digestd/http/message_fault.h"

enum {
	CHUNK_DIGITS_MAX = 15,     /* what fits 60 bits */
	CHUNK_EXTENSION_MAX = 256, /* bytes of a line behind the digits, of
				      requests */
};

/* All zero before the first byte. */
struct chunk_size {
	uint64_t size;
	uint32_t extension; /* bytes behind the digits */
	uint8_t digits;
	uint8_t state;      /* private */
	enum message_fault fault; /* at CHUNK_BAD */
};

enum chunk_event {
	CHUNK_MORE,
	CHUNK_DONE, /* `size` is that of the chunk; 0: it was the last */
	CHUNK_BAD,
};

/*
 * Reads on; what is used of `in` is taken off, at CHUNK_MORE all of it. strict,
 * as of requests: what follows the digits begins with a semicolon, and has up
 * to CHUNK_EXTENSION_MAX bytes; otherwise blanks may be before it. fault is
 * MESSAGE_CHUNK_SIZE, MESSAGE_CHUNK_EXTENSION or MESSAGE_LINE_END.
 */
enum chunk_event chunk_size_read(struct chunk_size *c, struct field_part *in,
				 bool strict);

#endif

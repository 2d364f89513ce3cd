/*
 * The header of a reply as bytes for the wire: a status line and fields. What
 * runs out of memory stays so, and is asked once, at the end.
 */
#ifndef DIGESTD_SERVER_REPLY_HEAD_H
#define DIGESTD_SERVER_REPLY_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "digestd/http/fields.h"

/* All zero is an empty one. Its memory is for the next one, too. */
struct reply_head {
	char *text;
	size_t len, cap;
	bool failed; /* there was no memory for all of it */
};

/* Begins with a status line of HTTP/1.1; what was there is gone. */
void reply_head_begin(struct reply_head *h, unsigned status);

/*
 * Adds fields (null: none), but for those that server_writes_field(). Returns
 * whether Date was among them.
 */
bool reply_head_add_fields(struct reply_head *h, const struct fields *fields);

/* Adds one field. */
void reply_head_add_line(struct reply_head *h, struct field_part name,
			 struct field_part value);
void reply_head_add(struct reply_head *h, const char *name, const char *value);
void reply_head_add_length(struct reply_head *h, uint64_t len);
void reply_head_add_date(struct reply_head *h, int64_t wall_s);

/* Adds bytes as they are. */
void reply_head_add_bytes(struct reply_head *h, const void *bytes, size_t len);

void reply_head_free(struct reply_head *h);

/* The fields that are the connection's own, written by the server. */
#define SERVER_FIELDS(X)       \
	X("Connection")        \
	X("Content-Length")    \
	X("Keep-Alive")        \
	X("Proxy-Connection")  \
	X("Trailer")           \
	X("Transfer-Encoding") \
	X("Upgrade")

/* Whether a field is one of them. */
bool server_writes_field(const char *name, size_t len);

#endif

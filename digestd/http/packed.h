/*
 * Header fields for as long as they are only kept: the text of all lines in
 * one piece, names that many responses have as one byte each, and their dates
 * in four. A list that is opened from it borrows the text: but for dates,
 * nothing is copied but the lines' addresses.
 *
 * A line is a byte and its value, ended by NUL. The byte is the name's number
 * in a table, with PACKED_LOWER where it was all lower case; or 0, and the name
 * follows, ended by NUL. With PACKED_TIME the value is a number of seconds, in
 * this machine's byte order. Values that many responses have are two bytes
 * (packed_values.h). Files have packed fields, too: whoever changes a table or
 * the layout takes the next PACKED_VERSION.
 */
#ifndef DIGESTD_HTTP_PACKED_H
#define DIGESTD_HTTP_PACKED_H

#include <stdbool.h>
#include <stddef.h>

#include "digestd/http/fields.h"
#include "digestd/http/httpdate.h"

enum { PACKED_VERSION = 2 };

/* Packs a list; returns how many bytes it is. If they are more than cap, what
 * is written at `to` is of no use. */
size_t packed_write(const struct fields *f, char *to, size_t cap);

/* Whether bytes from elsewhere are a packed list, which packed_open() assumes:
 * whole lines, with names and values that the tables have. */
bool packed_is_good(const char *bytes, size_t len);

/* Whether the first line has this name, which the table has not. */
bool packed_begins_with(const char *bytes, size_t len, const char *name);

/* A line. Both parts are ended by NUL and live as long as the packed bytes, but
 * for a date, which is in the line itself. */
struct packed_line {
	struct field_part name, value;
	char date[HTTPDATE_LEN + 1];
};

/* Reads the line that begins at *at, of a packed list (packed_is_good()); *at
 * moves behind it, and is the list's end behind the last one. */
void packed_next(const char **at, struct packed_line *line);

/*
 * Makes *f, which is overwritten, the list that was packed into these bytes;
 * they must live as long as it does. Returns 0 or -ENOMEM.
 */
int packed_open(const char *bytes, size_t len, struct fields *f);

#endif

/*
 * The head of a request, as HTTP/1.1 has it.
 */
#ifndef DIGESTD_FETCH_FETCH_HEAD_H
#define DIGESTD_FETCH_FETCH_HEAD_H

#include <stddef.h>

struct fetch_request;
struct fields;
struct fetch_url;

/* How many bytes the head takes at the most; url: what its URL says. */
size_t fetch_head_size(const struct fetch_request *request,
		       const struct fetch_url *url);

/* Writes it to where so many bytes are. Returns its length. */
size_t fetch_head_write(char *out, const struct fetch_request *request,
			const struct fetch_url *url);

/* What fields take, and their lines, written there; returns the end of them.
 * Those that fetch_is_framing() are left out. Null: none. */
size_t fetch_head_fields_size(const struct fields *fields);
char *fetch_head_write_fields(char *at, const struct fields *fields);

#endif

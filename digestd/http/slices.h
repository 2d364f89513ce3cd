/*
 * A large object in slices: which of them a range needs, what is asked of an
 * origin for those that are missing, and what its answer is worth.
 *
 * Slices begin at multiples of one size; the last one may be shorter. Each is
 * stored by itself, whole or not at all, under a name that is its object's URI
 * with the object's generation and its number. What is stored under the URI is
 * the head: the fields, freshness and variant of the object, and in place of a
 * body a record of its length, the size of its slices and its generation. There
 * is no list of the slices that are here: the store knows, and evicts them
 * without telling.
 *
 * A generation belongs to one head and is never used again. So whatever removes
 * a head (a purge, an unsafe method, a new version, eviction) puts all slices
 * of it out of reach at once, without having to find them.
 *
 * Bytes are put together only under one strong validator (RFC 9110, 8.8.1;
 * 14.4; 15.3.7.3): a strong ETag, or without any ETag a Last-Modified that is
 * strong.
 */
#ifndef DIGESTD_HTTP_SLICES_H
#define DIGESTD_HTTP_SLICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "digestd/http/range.h"

struct fields;

/* What a head records. */
struct slices {
	uint64_t len;  /* of the object [bytes]; > 0 */
	uint64_t size; /* of a slice [bytes]; 0: this is none */
	uint64_t generation;
};

/* Slices one after the other: from first up to, and without, end. */
struct slices_run {
	uint64_t first, end;
};

/* Those that a part of the object lies in; part->len > 0. */
struct slices_run slices_of(const struct slices *s, const struct range *part);

/* The bytes of a slice, or of several. */
struct range slices_part(const struct slices *s, struct slices_run run);

/* The record */

/* The name of its line, the first of a stored head. No message has such a
 * name, and none of them gets it. */
extern const char slices_field[];

/* Makes *f, which is overwritten, the fields that are stored of a response
 * (200, or 206, of which only what describes the whole is taken): the record,
 * then the others. Returns 0 or -ENOMEM. */
int slices_write(const struct slices *s, const struct fields *response,
		 struct fields *f);

/* Whether stored fields begin with a record; and whether it is a good one,
 * which is read. */
bool slices_are(const struct fields *stored);
bool slices_read(const struct fields *stored, struct slices *out);

/* What there is to add to a URI, beside its end, for the name of a slice. */
enum { SLICES_NAME = 48 };

/* Writes that, with its final NUL. A URI has no "#", so that no name is one;
 * one begins with its URI, so that prefixes are of both. */
void slices_name(const struct slices *s, uint64_t number,
		 char out[SLICES_NAME]);

/* Asking */

/* Room for a Range of any numbers, with its final NUL. */
enum { SLICES_RANGE = 64 };

/*
 * The Range that asks for whole slices of this size where a client's asks for a
 * part, of an object that nothing is known of; at most `most` slices. False:
 * its range is not one of "bytes=first-last" and "bytes=first-", and goes as it
 * is.
 */
bool slices_align(const struct fields *request, uint64_t size, unsigned most,
		  char out[SLICES_RANGE]);

/* The Range that asks for a part. */
void slices_range(const struct range *part, char out[SLICES_RANGE]);

/* The strong validator of a response, by which its parts belong together, as
 * If-Range has it; null: it has none. wall_s: now. */
const char *slices_validator(const struct fields *response, int64_t wall_s);

/* Judging */

/* A response. */
struct slices_answer {
	unsigned status;
	const struct fields *fields;
	int64_t body_len; /* -1: not said */
	int64_t wall_s;
};

/*
 * Whether an answer to a question about an unknown object, for the whole or in
 * whole slices, begins an object that can be sliced: a 206 of a slice or more,
 * with its length, or a 200 of more than one slice from a server that says it
 * has ranges. *len is the object's then, and *part what the answer brings of
 * it.
 */
bool slices_begin(const struct slices_answer *a, uint64_t size, uint64_t *len,
		  struct range *part);

enum slices_verdict {
	SLICES_USABLE,  /* the part asked for, or a slice or more of its
			   beginning: of *part */
	SLICES_CHANGED, /* there is another version, or none any more, or
			   nobody gets it, or not in parts: whoever asks for it
			   is better served without the head */
	SLICES_FAILED,  /* nothing is known: it may be tried again */
};

/*
 * What the answer to a Range with If-Range comes to. A 200 of the same version
 * is usable, too: the server has ignored the range, and *part is the whole. Its
 * length need not be said: the validator stands for it.
 */
enum slices_verdict slices_judge(const struct slices_answer *a,
				 const struct slices *s, const char *validator,
				 const struct range *asked, struct range *part);

#endif

/*
 * Slices: arithmetic, the record of a head, and the answers of origins.
 */
#include "digestd/http/slices.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "digestd/http/fields.h"
#include "digestd/http/httpdate.h"

enum {
	/* a Last-Modified so much older than its Date is of a version that
	 * cannot change any more without another one */
	SLICES_STRONG_S = 60,
	RECORD = 64, /* three numbers */
};

/* Longer ones, and what begins behind that, are none of ours: sums of two such
 * numbers fit. */
#define SLICES_MAX_BYTES ((uint64_t)1 << 60)

const char slices_field[] = ":slices";

/* Arithmetic */

struct slices_run slices_of(const struct slices *s, const struct range *part)
{
	assert(s->size && part->len && part->len <= s->len &&
	       part->first <= s->len - part->len);
	return (struct slices_run){
		part->first / s->size,
		(part->first + part->len - 1) / s->size + 1,
	};
}

struct range slices_part(const struct slices *s, struct slices_run run)
{
	uint64_t first = run.first * s->size;
	uint64_t end = run.end * s->size < s->len ? run.end * s->size : s->len;

	assert(run.first < run.end && first < s->len);
	return (struct range){first, end - first};
}

/* The record */

/* Whether a line describes only the part, or only this way of sending it. */
static bool slices_is_of_part(const char *name)
{
	return field_name_is(name, "Content-Range") ||
	       field_name_is(name, "Content-Length") ||
	       field_name_is(name, "Accept-Ranges");
}

static int slices_write_fields(const struct slices *s,
			       const struct fields *response, struct fields *f)
{
	char record[RECORD];

	snprintf(record, sizeof(record), "%" PRIu64 "/%" PRIu64 "/%" PRIu64,
		 s->len, s->size, s->generation);
	if (fields_add(f, slices_field, record))
		return -ENOMEM;
	for (size_t i = 0; i < fields_count(response); i++) {
		const struct field *line = fields_at(response, i);

		if (!slices_is_of_part(line->name) &&
		    fields_add(f, line->name, line->value))
			return -ENOMEM;
	}
	return fields_add(f, "Accept-Ranges", "bytes");
}

int slices_write(const struct slices *s, const struct fields *response,
		 struct fields *f)
{
	int err;

	assert(s->size && s->len);
	fields_init(f);
	err = slices_write_fields(s, response, f);
	if (err)
		fields_free(f);
	return err;
}

bool slices_are(const struct fields *stored)
{
	return fields_count(stored) &&
	       !strcmp(fields_at(stored, 0)->name, slices_field);
}

/* A number of a record, up to the next "/" or the end. */
static bool slices_take(struct field_part *rest, uint64_t *out)
{
	struct field_part digits = field_part_take(rest, '/');

	*out = 0;
	for (size_t i = 0; i < digits.len; i++) {
		uint64_t digit = (uint64_t)(digits.at[i] - '0');

		if (digit > 9 || *out > (UINT64_MAX - digit) / 10)
			return false;
		*out = *out * 10 + digit;
	}
	return digits.len;
}

bool slices_read(const struct fields *stored, struct slices *out)
{
	struct field_part rest;

	*out = (struct slices){0};
	if (!slices_are(stored))
		return false;
	rest.at = fields_at(stored, 0)->value;
	rest.len = strlen(rest.at);
	if (slices_take(&rest, &out->len) && slices_take(&rest, &out->size) &&
	    slices_take(&rest, &out->generation) && !rest.len && out->len &&
	    out->size)
		return true;
	out->size = 0;
	return false;
}

void slices_name(const struct slices *s, uint64_t number, char out[SLICES_NAME])
{
	snprintf(out, SLICES_NAME, "#%" PRIx64 "-%" PRIu64, s->generation,
		 number);
}

/* Asking */

void slices_range(const struct range *part, char out[SLICES_RANGE])
{
	assert(part->len);
	snprintf(out, SLICES_RANGE, "bytes=%zu-%zu", part->first,
		 part->first + part->len - 1);
}

bool slices_align(const struct fields *request, uint64_t size, unsigned most,
		  char out[SLICES_RANGE])
{
	struct range_wanted wanted;
	struct range part;
	uint64_t more;

	assert(size && most);
	if (!range_read(request, &wanted) || wanted.suffix ||
	    wanted.first > SLICES_MAX_BYTES)
		return false;
	part.first = wanted.first - wanted.first % size;
	more = (wanted.last - part.first) / size;
	part.len = (more < most ? more + 1 : most) * size;
	slices_range(&part, out);
	return true;
}

/* Whether Last-Modified is a strong validator (RFC 9110, 8.8.2.2). */
static bool slices_modified_long_ago(const struct fields *f, int64_t wall_s)
{
	const char *modified = fields_get(f, "Last-Modified");
	const char *date = fields_get(f, "Date");
	int64_t modified_s, date_s;

	return modified && date &&
	       httpdate_parse(modified, wall_s, &modified_s) &&
	       httpdate_parse(date, wall_s, &date_s) &&
	       date_s - modified_s >= SLICES_STRONG_S;
}

const char *slices_validator(const struct fields *response, int64_t wall_s)
{
	const char *tag = fields_get(response, "ETag");

	if (tag)
		return tag[0] == '"' ? tag : NULL;
	return slices_modified_long_ago(response, wall_s)
		       ? fields_get(response, "Last-Modified")
		       : NULL;
}

/* Judging */

/* Which part of how long an object an answer has; false: that is not known, or
 * it is not all of what it says. */
static bool slices_read_part(const struct slices_answer *a, struct range *part,
			     uint64_t *len)
{
	size_t total;

	if (a->status == 200) {
		*len = a->body_len > 0 ? (uint64_t)a->body_len : 0;
		*part = (struct range){0, *len};
		return *len;
	}
	if (a->status != 206 || !range_read_content(a->fields, part, &total) ||
	    (a->body_len >= 0 && (uint64_t)a->body_len != part->len))
		return false;
	*len = total;
	return true;
}

/* Whether a part has a whole slice from its beginning on, or what there is of
 * one: with less than that, asking for the rest would never come to an end. */
static bool slices_brings_one(const struct range *part, uint64_t size,
			      uint64_t len)
{
	uint64_t end = (part->first / size + 1) * size;

	return part->first + part->len >= (end < len ? end : len);
}

bool slices_begin(const struct slices_answer *a, uint64_t size, uint64_t *len,
		  struct range *part)
{
	if (!size || !slices_validator(a->fields, a->wall_s) ||
	    !slices_read_part(a, part, len) || *len > SLICES_MAX_BYTES)
		return false;
	if (a->status == 206)
		return part->first % size == 0 &&
		       slices_brings_one(part, size, *len);
	return *len > size &&
	       fields_has_token(a->fields, "Accept-Ranges", "bytes");
}

/* Whether an error says nothing of the object, but of the moment (RFC 9110,
 * 15.5.9, 15.5.20, 15.6; RFC 8470, 5.2; RFC 6585, 4). */
static bool slices_is_passing(unsigned status)
{
	return status >= 500 || status == 408 || status == 421 ||
	       status == 425 || status == 429;
}

enum slices_verdict slices_judge(const struct slices_answer *a,
				 const struct slices *s, const char *validator,
				 const struct range *asked, struct range *part)
{
	const char *is = slices_validator(a->fields, a->wall_s);
	uint64_t len;

	if (slices_is_passing(a->status))
		return SLICES_FAILED;
	if (a->status != 200 && a->status != 206)
		return SLICES_CHANGED;
	if (!is || strcmp(is, validator))
		return SLICES_CHANGED;
	if (a->status == 200 && a->body_len < 0) {
		*part = (struct range){0, s->len};
		return SLICES_USABLE;
	}
	if (!slices_read_part(a, part, &len) || len != s->len ||
	    part->first > asked->first ||
	    (part->len < asked->len &&
	     !slices_brings_one(part, s->size, len)) ||
	    (a->status == 206 && part->first != asked->first))
		return SLICES_CHANGED;
	return SLICES_USABLE;
}

/*
 * Reading a response: line by line up to the body, then by counting.
 */
#include "digestd/http/response.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/http/chunk.h"
#include "digestd/http/field_line.h"
#include "digestd/http/framing.h"
#include "digestd/http/octets.h"

enum {
	CHUNK_LINE_MAX = 1024,   /* bytes: its size, and extensions */
	HELD_MIN = 256,
	STATUS_MAX = 599,        /* RFC 9110, 15 */
};

/* A line without its end. */
struct line {
	const char *at;
	size_t len;
	bool crlf; /* not just LF */
};

void response_init(struct response *r, bool head, size_t max_header_bytes)
{
	*r = (struct response){ .head = head,
				.header_left = max_header_bytes };
	fields_init(&r->fields);
	fields_init(&r->trailers);
}

void response_free(struct response *r)
{
	fields_free(&r->fields);
	fields_free(&r->trailers);
	free(r->held);
	r->held = NULL;
	r->nheld = r->held_cap = 0;
}

static enum response_event response_bad(struct response *r)
{
	r->state = RESPONSE_WAS_BAD;
	return RESPONSE_BAD;
}

static enum response_event response_no_memory(struct response *r)
{
	r->state = RESPONSE_WAS_NOMEM;
	return RESPONSE_NOMEM;
}

/* Lines */

/* Keeps bytes of a line that is not whole. Returns 0 or -ENOMEM. */
static int response_hold(struct response *r, const char *at, size_t len)
{
	if (len > r->held_cap - r->nheld) {
		size_t cap = r->held_cap ? r->held_cap : HELD_MIN;
		char *held;

		while (cap < r->nheld + len)
			cap *= 2;
		held = realloc(r->held, cap);
		if (!held)
			return -ENOMEM;
		r->held = held;
		r->held_cap = cap;
	}
	memcpy(r->held + r->nheld, at, len);
	r->nheld += len;
	return 0;
}

/* Whether the line is part of the body's coding, not of a header. */
static bool response_in_chunks(const struct response *r)
{
	return r->state == RESPONSE_AT_CHUNK ||
	       r->state == RESPONSE_AFTER_CHUNK;
}

/* How long the line may be, its end and what is held of it included. */
static size_t response_line_limit(const struct response *r)
{
	return response_in_chunks(r) ? CHUNK_LINE_MAX : r->header_left;
}

static void response_cut_end(struct line *line)
{
	line->len--;
	line->crlf = line->len && line->at[line->len - 1] == '\r';
	line->len -= line->crlf;
}

/*
 * Takes a line; it lies in `in`, or in what is held, until the next call.
 * Returns 0, -EAGAIN when its end has not come, -EINVAL for one that is too
 * long, -ENOMEM.
 */
static int response_take_line(struct response *r, struct response_bytes *in,
			      struct line *line)
{
	const char *end = in->len ? memchr(in->at, '\n', in->len) : NULL;
	size_t n = end ? (size_t)(end - in->at) + 1 : in->len;
	size_t limit = response_line_limit(r);

	if (r->nheld > limit || n > limit - r->nheld)
		return -EINVAL;
	*line = (struct line){ .at = in->at, .len = n };
	if ((!end || r->nheld) && n && response_hold(r, in->at, n))
		return -ENOMEM;
	in->at += n;
	in->len -= n;
	if (!end)
		return -EAGAIN;
	if (r->nheld)
		*line = (struct line){ .at = r->held, .len = r->nheld };
	r->nheld = 0;
	if (!response_in_chunks(r))
		r->header_left -= line->len;
	response_cut_end(line);
	return 0;
}

/* Whether text may be in a reason: no controls but tabs. */
static bool response_is_text(const char *at, size_t len)
{
	return octets_skip_value(at, at + len) == at + len;
}

/* "HTTP/1.1 200 OK" */
int response_status_line(const char *line, size_t len, unsigned *minor,
			 unsigned *status)
{
	static const char version[] = "HTTP/1.";
	enum { AT_MINOR = sizeof(version) - 1, AT_CODE = AT_MINOR + 2,
	       AFTER_CODE = AT_CODE + 3 };

	if (len < AFTER_CODE || memcmp(line, version, AT_MINOR) != 0 ||
	    line[AT_MINOR] < '0' || line[AT_MINOR] > '9' ||
	    line[AT_CODE - 1] != ' ')
		return -EINVAL;
	*minor = (unsigned)(line[AT_MINOR] - '0');
	*status = 0;
	for (int i = AT_CODE; i < AFTER_CODE; i++) {
		if (line[i] < '0' || line[i] > '9')
			return -EINVAL;
		*status = *status * 10 + (unsigned)(line[i] - '0');
	}
	if (len > AFTER_CODE && line[AFTER_CODE] != ' ')
		return -EINVAL;
	return *status >= 100 && *status <= STATUS_MAX &&
			       response_is_text(line, len)
		       ? 0
		       : -EINVAL;
}

int response_field(const char *line, size_t len, struct field_part *name,
		   struct field_part *value)
{
	struct field_line l = { 0 };

	if (field_line_read(&l, line, len, false) != FIELD_LINE_MORE ||
	    field_line_close(&l, line) != FIELD_LINE_DONE)
		return -EINVAL;
	*name = (struct field_part){ line, l.name_len };
	*value = (struct field_part){ line + l.value_at, l.value_len };
	return 0;
}

/* Framing */

/* What a field says about it. Returns 0 or -EINVAL. */
static int response_add_framing(struct framing *framing,
				const struct field *field)
{
	const struct field_part value = { field->value, field->value_len };
	enum message_fault fault = MESSAGE_OK;

	if (field_is(field, "transfer-encoding"))
		fault = framing_add_coding(framing, value);
	else if (field_is(field, "content-length"))
		fault = framing_add_length(framing, value, false);
	return fault ? -EINVAL : 0;
}

int response_frame(const struct fields *fields, unsigned status, bool head,
		   struct response_framing *framing)
{
	struct framing found;

	framing_init(&found);
	if (fields_count(fields) > RESPONSE_MAX_FIELDS)
		return -EINVAL;
	for (size_t i = 0; i < fields_count(fields); i++) {
		if (response_add_framing(&found, fields_at(fields, i)))
			return -EINVAL;
	}
	if (framing_check(&found, 1))
		return -EINVAL;
	framing->has_body = !head && status != 204 && status != 304;
	framing->chunked = found.chunked;
	framing->by_close = framing->has_body && !found.chunked &&
			    found.length < 0;
	framing->body_len = found.length;
	return 0;
}

static bool response_may_keep(const struct response *r)
{
	if (r->framing.by_close)
		return false;
	return r->minor ? !fields_has_token(&r->fields, "Connection", "close") :
			  fields_has_token(&r->fields, "Connection",
					   "keep-alive");
}

static enum response_state response_begin_body(struct response *r)
{
	r->left = (uint64_t)r->framing.body_len;
	if (!r->framing.has_body)
		return RESPONSE_AT_END;
	if (r->framing.chunked)
		return RESPONSE_AT_CHUNK;
	if (r->framing.by_close)
		return RESPONSE_UNTIL_CLOSE;
	return r->left ? RESPONSE_IN_BODY : RESPONSE_AT_END;
}

/* What follows is another protocol's. */
static enum response_event response_upgrade(struct response *r)
{
	if (!r->upgrades || !r->minor)
		return response_bad(r);
	r->framing = (struct response_framing){ .has_body = true,
						.by_close = true,
						.body_len = -1 };
	r->state = RESPONSE_UNTIL_CLOSE;
	return RESPONSE_HEADER;
}

static enum response_event response_end_header(struct response *r)
{
	if (r->status == RESPONSE_UPGRADED)
		return response_upgrade(r);
	if (r->status < 200) { /* the real one follows */
		r->state = RESPONSE_AT_STATUS;
		return r->status == RESPONSE_CONTINUE && !r->continues ?
			       RESPONSE_MORE : RESPONSE_INTERIM;
	}
	if (response_frame(&r->fields, r->status, r->head, &r->framing) ||
	    (r->framing.chunked && !r->minor)) /* RFC 9112, 6.1 */
		return response_bad(r);
	r->keep = response_may_keep(r);
	r->state = response_begin_body(r);
	return RESPONSE_HEADER;
}

static bool response_drops_trailer(struct field_part name)
{
	static const char *const names[] = {
		"age", "authentication-info", "authorization",
		"cache-control", "cdn-cache-control", "connection",
		"content-encoding", "content-length", "content-location",
		"content-range", "content-type", "date", "expires", "host",
		"keep-alive", "location", "pragma", "proxy-authenticate",
		"proxy-authentication-info", "proxy-connection", "retry-after",
		"set-cookie", "set-cookie2", "surrogate-control", "te",
		"trailer", "transfer-encoding", "upgrade", "vary", "via",
		"warning", "www-authenticate",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (field_part_is(name, names[i]))
			return true;
	}
	return false;
}

static enum response_event response_add_trailer(struct response *r,
						struct field_part name,
						struct field_part value)
{
	if (response_drops_trailer(name))
		return RESPONSE_MORE;
	if (fields_count(&r->trailers) == RESPONSE_MAX_FIELDS)
		return response_bad(r);
	if (fields_add_n(&r->trailers, name.at, name.len, value.at, value.len))
		return response_no_memory(r);
	return RESPONSE_MORE;
}

/* One line of a header or trailer; RESPONSE_MORE: go on. */
static enum response_event response_read_field(struct response *r,
					       const struct line *line)
{
	struct field_part name, value;

	if (!line->len && r->state == RESPONSE_AT_FIELD)
		return response_end_header(r);
	if (!line->len) {
		r->state = RESPONSE_AT_END;
		return RESPONSE_END;
	}
	if (response_field(line->at, line->len, &name, &value))
		return response_bad(r);
	if (r->state == RESPONSE_AT_TRAILER)
		return response_add_trailer(r, name, value);
	if (fields_add_n(&r->fields, name.at, name.len, value.at, value.len))
		return response_no_memory(r);
	return RESPONSE_MORE;
}

/* "1f; name=value" */
static int response_take_chunk_size(struct response *r, const struct line *line)
{
	struct field_part in = { line->at, line->len + 2 }; /* with its end */
	struct chunk_size size = { 0 };

	if (!line->crlf || chunk_size_read(&size, &in, false) != CHUNK_DONE)
		return -EINVAL;
	r->left = size.size;
	return 0;
}

static enum response_event response_read_line(struct response *r,
					      const struct line *line)
{
	switch (r->state) {
	case RESPONSE_AT_STATUS:
		if (response_status_line(line->at, line->len, &r->minor,
					 &r->status))
			return response_bad(r);
		fields_clear(&r->fields); /* of an interim response */
		r->state = RESPONSE_AT_FIELD;
		return RESPONSE_MORE;
	case RESPONSE_AT_CHUNK:
		if (response_take_chunk_size(r, line))
			return response_bad(r);
		r->state = r->left ? RESPONSE_IN_CHUNK : RESPONSE_AT_TRAILER;
		return RESPONSE_MORE;
	case RESPONSE_AFTER_CHUNK:
		if (line->len || !line->crlf)
			return response_bad(r);
		r->state = RESPONSE_AT_CHUNK;
		return RESPONSE_MORE;
	case RESPONSE_AT_FIELD:
	case RESPONSE_AT_TRAILER:
	case RESPONSE_IN_BODY:
	case RESPONSE_UNTIL_CLOSE:
	case RESPONSE_IN_CHUNK:
	case RESPONSE_AT_END:
	case RESPONSE_WAS_BAD:
	case RESPONSE_WAS_NOMEM:
		break;
	}
	return response_read_field(r, line);
}

/* Lines of a header that are here whole, and as most are: the same as each of
 * them, without its end being looked for first. */
static enum response_event response_read_whole(struct response *r,
					       struct response_bytes *in)
{
	for (;;) {
		const size_t len = in->len < r->header_left ? in->len :
							      r->header_left;
		struct field_line l = { 0 };

		if (!field_line_read_whole(&l, in->at, len))
			return RESPONSE_MORE;
		if (fields_add_n(&r->fields, in->at, l.name_len,
				 in->at + l.value_at, l.value_len))
			return response_no_memory(r);
		in->at += l.at;
		in->len -= l.at;
		r->header_left -= l.at;
	}
}

static enum response_event response_read_lines(struct response *r,
					       struct response_bytes *in)
{
	struct line line;
	int err;

	if (r->state == RESPONSE_AT_FIELD && !r->nheld &&
	    response_read_whole(r, in) != RESPONSE_MORE)
		return RESPONSE_NOMEM;
	if (!in->len)
		return RESPONSE_MORE;
	err = response_take_line(r, in, &line);
	if (err == -EAGAIN)
		return RESPONSE_MORE;
	if (err)
		return err == -ENOMEM ? response_no_memory(r) : response_bad(r);
	return response_read_line(r, &line);
}

/* A piece of a body whose length is known. */
static enum response_event response_read_counted(struct response *r,
						 struct response_bytes *in,
						 struct response_bytes *body)
{
	*body = *in;
	if (r->left < body->len)
		body->len = (size_t)r->left;
	in->at += body->len;
	in->len -= body->len;
	r->left -= body->len;
	if (!r->left)
		r->state = r->state == RESPONSE_IN_BODY ? RESPONSE_AT_END :
							  RESPONSE_AFTER_CHUNK;
	return RESPONSE_BODY;
}

enum response_event response_next(struct response *r,
				  struct response_bytes *in,
				  struct response_bytes *body)
{
	enum response_event event = RESPONSE_MORE;

	while (event == RESPONSE_MORE) {
		if (r->state == RESPONSE_AT_END)
			return RESPONSE_END;
		if (r->state == RESPONSE_WAS_BAD)
			return RESPONSE_BAD;
		if (r->state == RESPONSE_WAS_NOMEM)
			return RESPONSE_NOMEM;
		if (!in->len)
			return RESPONSE_MORE;
		if (r->state == RESPONSE_IN_BODY ||
		    r->state == RESPONSE_IN_CHUNK)
			return response_read_counted(r, in, body);
		if (r->state == RESPONSE_UNTIL_CLOSE) {
			*body = *in;
			in->at += in->len;
			in->len = 0;
			return RESPONSE_BODY;
		}
		event = response_read_lines(r, in);
	}
	return event;
}

enum response_event response_closed(struct response *r)
{
	if (r->state == RESPONSE_UNTIL_CLOSE)
		r->state = RESPONSE_AT_END;
	return r->state == RESPONSE_AT_END ? RESPONSE_END : response_bad(r);
}

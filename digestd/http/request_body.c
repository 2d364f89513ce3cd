/*
 * Bodies of requests: counted, or in chunks.
 */
#include "digestd/http/request_body.h"

#include <string.h>

enum {
	EXTENSIONS_MAX = 16384, /* bytes in one body */
	EMPTY_LINE = 2,         /* behind the trailer, and not of it */
};

void request_body_init(struct request_body *b, const struct framing *f,
		       size_t max_trailer_bytes)
{
	*b = (struct request_body){
		.extension_left = EXTENSIONS_MAX,
		.trailer_left = (uint32_t)max_trailer_bytes + EMPTY_LINE,
	};
	if (f->chunked) {
		b->state = REQUEST_BODY_AT_SIZE;
	} else if (f->length > 0) {
		b->state = REQUEST_BODY_COUNTED;
		b->left = (uint64_t)f->length;
	} else {
		b->state = REQUEST_BODY_AT_END;
	}
}

static enum request_body_event request_body_refuse(struct request_body *b,
						   enum message_fault fault)
{
	b->fault = fault;
	b->state = REQUEST_BODY_WAS_REFUSED;
	return REQUEST_BODY_REFUSED;
}

static void request_body_take(struct field_part *in, size_t n)
{
	in->at += n;
	in->len -= n;
}

/* A piece of what is counted. */
static enum request_body_event request_body_count(struct request_body *b,
						  struct field_part *in)
{
	size_t n = b->left < in->len ? (size_t)b->left : in->len;

	b->piece = (struct field_part){ in->at, n };
	request_body_take(in, n);
	b->left -= n;
	if (!b->left)
		b->state = b->state == REQUEST_BODY_COUNTED ?
				   REQUEST_BODY_AT_END :
				   REQUEST_BODY_AFTER_CHUNK;
	return REQUEST_BODY_PIECE;
}

static enum request_body_event request_body_read_size(struct request_body *b,
						      struct field_part *in)
{
	uint32_t before = b->size.extension;
	enum chunk_event event = chunk_size_read(&b->size, in, true);
	uint32_t extension = b->size.extension - before;

	/* first, so that it does not depend on how the bytes are cut */
	if (extension > b->extension_left)
		return request_body_refuse(b, MESSAGE_CHUNK_EXTENSION);
	if (event == CHUNK_BAD)
		return request_body_refuse(b, b->size.fault);
	b->extension_left -= extension;
	if (event == CHUNK_DONE) {
		b->left = b->size.size;
		b->state = b->left ? REQUEST_BODY_IN_CHUNK :
				     REQUEST_BODY_AT_TRAILER;
	}
	return REQUEST_BODY_MORE;
}

/* The end of line behind a chunk; `left` of it is there already. */
static enum request_body_event request_body_end_chunk(struct request_body *b,
						      struct field_part *in)
{
	static const char end[] = { '\r', '\n' };

	if (*in->at != end[b->left])
		return request_body_refuse(b, MESSAGE_CHUNK_END);
	request_body_take(in, 1);
	if (++b->left == sizeof(end)) {
		b->size = (struct chunk_size){ 0 };
		b->state = REQUEST_BODY_AT_SIZE;
	}
	return REQUEST_BODY_MORE;
}

/*
 * Fields that mean nothing, or harm, behind a body (RFC 9110, 6.5.1): those
 * that frame or route a message, are the connection's, modify a request,
 * authenticate, or say how to read a body. An origin that sees them through CGI
 * cannot tell "_" from "-".
 */
bool request_body_drops(struct field_part name)
{
	static const char *const names[] = {
		"authorization", "cache-control", "cdn-loop", "connection",
		"content-encoding", "content-length", "content-range",
		"content-type", "cookie", "expect", "forwarded", "host",
		"if-match", "if-modified-since", "if-none-match", "if-range",
		"if-unmodified-since", "keep-alive", "max-forwards", "pragma",
		"proxy-authenticate", "proxy-authentication-info",
		"proxy-authorization", "proxy-connection", "range", "te",
		"trailer", "transfer-encoding", "upgrade", "via",
		"x-http-method", "x-http-method-override", "x-method-override",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (field_name_begins(name.at, name.len, names[i]) &&
		    name.len == strlen(names[i]))
			return true;
	}
	return false;
}

/* A line of the trailer is whole: it is taken, and handed out or dropped. */
static enum request_body_event request_body_end_line(struct request_body *b,
						     struct field_part *in)
{
	const struct field_line l = b->line;

	b->name = (struct field_part){ in->at, l.name_len };
	b->value = (struct field_part){ in->at + l.value_at, l.value_len };
	b->line = (struct field_line){ 0 };
	b->trailer_left -= l.at;
	request_body_take(in, l.at);
	if (++b->nfields > REQUEST_BODY_FIELDS)
		return request_body_refuse(b, MESSAGE_FIELD_COUNT);
	return request_body_drops(b->name) ? REQUEST_BODY_MORE :
					     REQUEST_BODY_TRAILER;
}

static enum request_body_event request_body_read_line(struct request_body *b,
						      struct field_part *in)
{
	size_t len = in->len < b->trailer_left ? in->len : b->trailer_left;

	switch (field_line_read(&b->line, in->at, len, true)) {
	case FIELD_LINE_MORE:
		if (len == b->trailer_left)
			return request_body_refuse(b, MESSAGE_HEADER_LENGTH);
		return REQUEST_BODY_MORE;
	case FIELD_LINE_DONE:
		return request_body_end_line(b, in);
	case FIELD_LINE_EMPTY:
		request_body_take(in, b->line.at);
		b->state = REQUEST_BODY_AT_END;
		return REQUEST_BODY_END;
	case FIELD_LINE_BAD:
		break;
	}
	return request_body_refuse(b, b->line.fault);
}

static enum request_body_event request_body_step(struct request_body *b,
						 struct field_part *in)
{
	switch (b->state) {
	case REQUEST_BODY_COUNTED:
	case REQUEST_BODY_IN_CHUNK:
		return request_body_count(b, in);
	case REQUEST_BODY_AT_SIZE:
		return request_body_read_size(b, in);
	case REQUEST_BODY_AFTER_CHUNK:
		return request_body_end_chunk(b, in);
	case REQUEST_BODY_AT_TRAILER:
		return request_body_read_line(b, in);
	case REQUEST_BODY_AT_END:
		return REQUEST_BODY_END;
	case REQUEST_BODY_WAS_REFUSED:
		break;
	}
	return REQUEST_BODY_REFUSED;
}

/* Whether the next event needs no more bytes than there are. */
static bool request_body_may_step(const struct request_body *b, size_t len)
{
	if (b->state == REQUEST_BODY_AT_END ||
	    b->state == REQUEST_BODY_WAS_REFUSED)
		return true;
	return len > (b->state == REQUEST_BODY_AT_TRAILER ? b->line.at : 0);
}

enum request_body_event request_body_next(struct request_body *b,
					  struct field_part *in)
{
	enum request_body_event event = REQUEST_BODY_MORE;

	while (event == REQUEST_BODY_MORE && request_body_may_step(b, in->len))
		event = request_body_step(b, in);
	return event;
}

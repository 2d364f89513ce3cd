/*
 * Connections as text: a small server's loop.
 */
#include "tests/http/request_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "digestd/http/request_body.h"

struct reading {
	const char *in;
	size_t len;      /* of all */
	size_t begin;    /* of what is not used */
	size_t come;     /* so far */
	size_t step;
	char *at;        /* of the text */
	char *copy;      /* what the parser reads */
	bool ended;
	struct request_limits limits;
	struct request_head head;
	struct request_body body;
	enum message_fault fault;
};

static void request_text_put(struct reading *r, const char *text)
{
	size_t len = strlen(text);

	memcpy(r->at, text, len + 1);
	r->at += len;
}

static void request_text_escape(struct reading *r, struct field_part part,
				bool blanks)
{
	for (size_t i = 0; i < part.len; i++) {
		unsigned char c = (unsigned char)part.at[i];

		if (c > ' ' && c < 0x7f && c != '\\')
			*r->at++ = (char)c;
		else if (c == ' ' && blanks)
			*r->at++ = ' ';
		else
			r->at += sprintf(r->at, "\\x%02x", c);
	}
	*r->at = '\0';
}

static void request_text_put_span(struct reading *r, struct request_span span)
{
	if (span.len)
		request_text_escape(r, request_head_part(&r->head, span),
				    false);
	else
		request_text_put(r, "-");
	request_text_put(r, " ");
}

static void request_text_put_field(struct reading *r, const char *mark,
				   struct field_part name,
				   struct field_part value)
{
	request_text_put(r, mark);
	request_text_escape(r, name, false);
	request_text_put(r, ": ");
	request_text_escape(r, value, true);
	request_text_put(r, "\n");
}

static void request_text_put_head(struct reading *r)
{
	static const char *const forms[] = { "o ", "a ", "c ", "* " };
	const struct request_head *h = &r->head;

	request_text_put_span(r, h->method);
	request_text_put_span(r, h->target);
	request_text_put(r, forms[h->form]);
	request_text_put_span(r, h->authority);
	request_text_put_span(r, h->path);
	r->at += sprintf(r->at, "%u%s%s%s%s\n", h->minor, h->keep ? "k" : "",
			 h->expects_continue ? "e" : "", h->https ? "s" : "",
			 h->framing.chunked ? "t" : "");
	for (unsigned i = 0; i < h->nfields; i++)
		request_text_put_field(
			r, ": ", request_head_part(h, h->fields[i].name),
			request_head_part(h, h->fields[i].value));
	if (h->upgrade.len) {
		request_text_put(r, "^ ");
		request_text_escape(r, request_head_part(h, h->upgrade), true);
		request_text_put(r, "\n");
	}
}

static void request_text_refuse(struct reading *r, enum message_fault fault)
{
	r->fault = fault;
	r->ended = true;
	r->at += sprintf(r->at, "refused %u", message_fault_status(fault));
}

/* What is not used, as it has come, in memory of its own. */
static struct field_part request_text_copy(struct reading *r)
{
	size_t n = r->come - r->begin;

	free(r->copy);
	r->copy = malloc(n + 1);
	if (!r->copy)
		abort();
	memcpy(r->copy, r->in + r->begin, n);
	r->copy = realloc(r->copy, n ? n : 1);
	return (struct field_part){ r->copy, n };
}

/* More bytes; false: there are none. */
static bool request_text_wait(struct reading *r)
{
	size_t n = r->len - r->come;

	r->come += n < r->step ? n : r->step;
	return n > 0;
}

/* Whether there is a request, which is written. */
static bool request_text_read_head(struct reading *r)
{
	request_head_init(&r->head, &r->limits);
	for (;;) {
		struct field_part in = request_text_copy(r);

		switch (request_head_read(&r->head, in.at, in.len)) {
		case REQUEST_HEAD_DONE:
			request_text_put_head(r);
			r->begin += r->head.len;
			return true;
		case REQUEST_HEAD_PREFACE:
			request_text_put(r, "preface");
			r->ended = true;
			return false;
		case REQUEST_HEAD_REFUSED:
			request_text_refuse(r, r->head.fault);
			return false;
		case REQUEST_HEAD_MORE:
			if (request_text_wait(r))
				break;
			request_text_put(r, in.len ? "more" : "idle");
			r->ended = true;
			return false;
		}
	}
}

static void request_text_put_piece(struct reading *r, bool *in_body)
{
	if (!*in_body)
		request_text_put(r, "= ");
	*in_body = true;
	request_text_escape(r, r->body.piece, true);
}

static void request_text_end_piece(struct reading *r, bool *in_body)
{
	if (*in_body)
		request_text_put(r, "\n");
	*in_body = false;
}

static void request_text_read_body(struct reading *r)
{
	bool in_body = false;

	request_body_init(&r->body, &r->head.framing,
			  r->limits.max_header_bytes - r->head.header_len);
	for (;;) {
		struct field_part in = request_text_copy(r);
		size_t len = in.len;
		enum request_body_event event = request_body_next(&r->body,
								  &in);

		r->begin += len - in.len;
		if (event == REQUEST_BODY_PIECE)
			request_text_put_piece(r, &in_body);
		else if (event != REQUEST_BODY_MORE)
			request_text_end_piece(r, &in_body);
		if (event == REQUEST_BODY_TRAILER)
			request_text_put_field(r, "+ ", r->body.name,
					       r->body.value);
		if (event == REQUEST_BODY_REFUSED)
			request_text_refuse(r, r->body.fault);
		if (event == REQUEST_BODY_END)
			r->at += sprintf(r->at, ". %zu\n", r->begin);
		if (event == REQUEST_BODY_REFUSED || event == REQUEST_BODY_END)
			return;
		if (event == REQUEST_BODY_MORE && !request_text_wait(r)) {
			request_text_end_piece(r, &in_body);
			request_text_put(r, "more");
			r->ended = true;
			return;
		}
	}
}

enum message_fault request_text_read(const char *in, size_t len,
				     const struct request_text_way *way,
				     char out[static REQUEST_TEXT_MAX])
{
	struct reading *r = calloc(1, sizeof(*r));
	enum message_fault fault;

	if (!r)
		abort();
	*r = (struct reading){ .in = in, .len = len, .step = way->step,
			       .limits = way->limits, .at = out };
	while (!r->ended && request_text_read_head(r)) {
		request_text_read_body(r);
		if (!r->ended && !r->head.keep) {
			request_text_put(r, "close");
			r->ended = true;
		}
	}
	fault = r->fault;
	free(r->copy);
	free(r);
	return fault;
}

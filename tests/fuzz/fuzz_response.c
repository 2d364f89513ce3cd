/*
 * Any bytes as a response: the first says how it was asked for and in which
 * pieces it comes. Whole and in pieces it must come to the same, and what its
 * events say must fit together.
 */
#include <string.h>

#include "digestd/http/response.h"
#include "tests/fuzz/fuzz.h"

enum { MAX_HEADER = 1000, MAX_INPUT = 4096, STEPS = 64 };

struct outcome {
	enum response_event end;
	unsigned status;
	bool keep;
	size_t nfields, ninterim;
	struct response_framing framing;
	size_t used, nbody;
	char body[MAX_INPUT];
};

static void note_header(const struct response *r, struct outcome *o)
{
	fuzz_must(!o->status && r->status >= 200 && r->status <= 599);
	fuzz_must(!r->keep || !r->framing.by_close);
	fuzz_must(!r->framing.chunked || r->framing.body_len < 0);
	for (size_t i = 0; i < fields_count(&r->fields); i++) {
		const struct field *f = fields_at(&r->fields, i);

		fuzz_must(field_is_token(f->name, strlen(f->name)));
		fuzz_must(!f->value[strcspn(f->value, "\r\n")]);
	}
	o->status = r->status;
	o->keep = r->keep;
	o->nfields = fields_count(&r->fields);
	o->framing = r->framing;
}

static void note_body(const struct response_bytes *body, struct outcome *o)
{
	fuzz_must(o->status && o->framing.has_body && body->len > 0);
	fuzz_must(o->nbody + body->len <= sizeof(o->body));
	memcpy(o->body + o->nbody, body->at, body->len);
	o->nbody += body->len;
}

static enum response_event feed(struct response *r, struct response_bytes in,
				struct outcome *o)
{
	struct response_bytes body;
	size_t len = in.len;

	for (;;) {
		enum response_event event = response_next(r, &in, &body);

		fuzz_must(in.len <= len);
		o->used += len - in.len;
		len = in.len;
		if (event == RESPONSE_INTERIM) {
			fuzz_must(!o->status && r->status > 101 &&
				  r->status < 200);
			o->ninterim++;
		} else if (event == RESPONSE_HEADER) {
			note_header(r, o);
		} else if (event == RESPONSE_BODY) {
			note_body(&body, o);
		} else {
			fuzz_must(event != RESPONSE_MORE || !in.len);
			return event;
		}
	}
}

static void read_in(struct response_bytes all, size_t step, bool head,
		    struct outcome *o)
{
	struct response r;

	memset(o, 0, sizeof(*o));
	o->end = RESPONSE_MORE;
	response_init(&r, head, MAX_HEADER);
	for (size_t at = 0; at < all.len && o->end == RESPONSE_MORE;
	     at += step) {
		size_t n = all.len - at < step ? all.len - at : step;

		o->end = feed(&r, (struct response_bytes){ all.at + at, n }, o);
	}
	if (o->end == RESPONSE_MORE)
		o->end = response_closed(&r);
	fuzz_must(o->end == RESPONSE_END || o->end == RESPONSE_BAD);
	if (o->end == RESPONSE_END && o->framing.has_body &&
	    o->framing.body_len >= 0)
		fuzz_must(o->nbody == (size_t)o->framing.body_len);
	response_free(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct outcome whole, pieces;
	struct response_bytes all;

	if (len < 1 || len > MAX_INPUT)
		return 0;
	all = (struct response_bytes){ (const char *)data + 1, len - 1 };
	read_in(all, len, data[0] & 128, &whole);
	read_in(all, data[0] % STEPS + 1, data[0] & 128, &pieces);
	fuzz_must(whole.end == pieces.end && whole.status == pieces.status);
	fuzz_must(whole.keep == pieces.keep && whole.nbody == pieces.nbody);
	fuzz_must(whole.nfields == pieces.nfields);
	fuzz_must(whole.ninterim == pieces.ninterim);
	fuzz_must(!memcmp(whole.body, pieces.body, whole.nbody));
	if (whole.end == RESPONSE_END)
		fuzz_must(whole.used == pieces.used);
	return 0;
}

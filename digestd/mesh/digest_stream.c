/*
 * The stream of a list's frames.
 */
#include "digestd/mesh/digest_stream.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "codec/error.h"

enum {
	DIGEST_STREAM_AGED_SHARE = 4, /* of the entries: when it has gone */
	DIGEST_STREAM_VARINT_BITS = 7,
};

struct blob *digest_note_make(enum digest_note kind, const void *body,
			      size_t len)
{
	uint8_t *bytes = malloc(DIGEST_NOTE_HEAD_BYTES + len);
	size_t n = 0, rest = len;

	assert(len <= UINT32_MAX);
	if (!bytes)
		return NULL;
	bytes[n++] = (uint8_t)(DIGEST_NOTE_TYPE + (unsigned)kind);
	for (; rest > 0x7f; rest >>= DIGEST_STREAM_VARINT_BITS)
		bytes[n++] = (uint8_t)(rest | 0x80);
	bytes[n++] = (uint8_t)rest;
	if (len)
		memcpy(bytes + n, body, len);
	return blob_take(bytes, n + len);
}

bool digest_stream_begin(struct digest_stream *s, const struct digest_ask *ask,
			 const struct publication *p,
			 const struct digest_answer *answer)
{
	*s = (struct digest_stream){0};
	if (!ask->takes_stream || !ask->takes_frames || ask->wait_s <= 0 ||
	    !answer->list)
		return false;
	if (answer->kind != DIGEST_ANSWER_WAIT &&
	    answer->kind != DIGEST_ANSWER_DELTA)
		return false;
	s->aged = ask->takes_aged;
	s->takes_ages = ask->takes_ages;
	s->instance = p->instance;
	s->generation = answer->kind == DIGEST_ANSWER_DELTA ? answer->from
							    : p->generation;
	return true;
}

/* It has been read whole. */
static void digest_stream_drop_frame(struct digest_stream *s)
{
	blob_unref(s->frame);
	s->frame = NULL;
}

void digest_stream_end(struct digest_stream *s)
{
	digest_stream_drop_frame(s);
	for (unsigned i = 0; i < DIGEST_NOTES; i++) {
		blob_unref(s->notes[i]);
		s->notes[i] = NULL;
	}
}

void digest_stream_add(struct digest_stream *s, enum digest_note kind,
		       struct blob *note)
{
	blob_unref(s->notes[kind]);
	s->notes[kind] = note;
}

/* Takes the next note. False: there is none. */
static bool digest_stream_take_note(struct digest_stream *s)
{
	for (unsigned i = 0; i < DIGEST_NOTES && !s->is_note; i++) {
		s->frame = s->notes[i];
		s->notes[i] = NULL;
		s->is_note = s->frame != NULL;
	}
	s->sent = 0;
	return s->is_note;
}

/* Whether it is time for ages: so much goes that they pay, see
 * peer_digest_wants_ages(). */
static bool digest_stream_wants_ages(const struct digest_stream *s,
				     const struct publication *p)
{
	return s->takes_ages && !s->aged && p->list &&
	       s->gone >= p->list->nkeys / DIGEST_STREAM_AGED_SHARE;
}

/* Takes the next frame. False: there is none, yet or any more. */
static bool digest_stream_take_frame(struct digest_stream *s,
				     const struct publication *p, bool *over)
{
	const struct digest_ask ask = {
		.tags = { { s->instance, s->generation, true } },
		.ntags = 1,
		.takes_lists = true,
		.takes_frames = true,
		.takes_aged = s->aged,
		.takes_ages = digest_stream_wants_ages(s, p),
	};
	const struct digest_answer answer = digest_answer_to(&ask, p, 0);

	*over = !answer.list || answer.kind == DIGEST_ANSWER_FULL;
	if (*over || answer.kind != DIGEST_ANSWER_DELTA)
		return false;
	s->sent = 0;
	if (answer.ages) {
		s->frame = blob_ref(p->list->ages);
		s->aged = true;
		return true;
	}
	s->frame = list_publication_frame(p->list, answer.step, s->aged);
	s->gone += p->list->steps[answer.step].gone;
	s->generation = answer.step + 1 < p->list->nsteps
				? p->list->steps[answer.step + 1].from
				: p->generation;
	return true;
}

/* Copies of the frame or note at hand. */
static size_t digest_stream_copy(struct digest_stream *s, uint8_t *buf,
				 size_t cap)
{
	const size_t left = s->frame->len - s->sent;
	const size_t n = left < cap ? left : cap;

	memcpy(buf, s->frame->bytes + s->sent, n);
	s->sent += n;
	s->noted += s->is_note ? n : 0;
	if (n == left) {
		digest_stream_drop_frame(s);
		s->is_note = false;
	}
	return n;
}

size_t digest_stream_finish(struct digest_stream *s, void *buf, size_t cap)
{
	return s->frame ? digest_stream_copy(s, buf, cap) : 0;
}

static bool digest_stream_take(struct digest_stream *s,
			       const struct publication *p, bool *over)
{
	return digest_stream_take_note(s) ||
	       digest_stream_take_frame(s, p, over);
}

size_t digest_stream_read(struct digest_stream *s, const struct publication *p,
			  void *buf, size_t cap, bool *over)
{
	uint8_t *to = buf;
	size_t n = 0;

	assert(cap > 0);
	*over = false;
	while (n < cap && (s->frame || digest_stream_take(s, p, over)))
		n += digest_stream_copy(s, to + n, cap - n);
	*over &= !n; /* for the next call to say */
	return n;
}

/* Reads the length of a frame behind its type. *used: bytes of both; 0: not all
 * of them are there. */
static int digest_stream_length(const uint8_t *bytes, size_t len,
				uint64_t *length, size_t *used)
{
	enum { BYTES = 9 };

	*length = 0;
	*used = 0;
	for (size_t i = 1; i < len; i++) {
		*length |= (uint64_t)(bytes[i] & 0x7f)
			   << (i - 1) * DIGEST_STREAM_VARINT_BITS;
		if (!(bytes[i] & 0x80)) {
			*used = i + 1;
			return SCD_OK;
		}
		if (i == BYTES)
			return SCD_EFORMAT;
	}
	return SCD_OK;
}

/* The size of the first frame or note of so many bytes, and where its body is;
 * 0: it is not whole. */
static int digest_stream_first(const uint8_t *bytes, size_t len, size_t most,
			       size_t *size, size_t *body)
{
	uint64_t length;
	int error = digest_stream_length(bytes, len, &length, body);

	*size = 0;
	if (error || !*body)
		return error;
	if (length > most || *body + length > most)
		return SCD_ELIMIT;
	if (length <= len - *body)
		*size = *body + (size_t)length;
	return SCD_OK;
}

static bool digest_stream_is_note(uint8_t type)
{
	return type >= DIGEST_NOTE_TYPE && type < DIGEST_NOTE_TYPE_END;
}

static void digest_stream_pass_note(const struct digest_stream_input *in,
				    const uint8_t *note, size_t size,
				    size_t body)
{
	const unsigned kind = *note - (unsigned)DIGEST_NOTE_TYPE;

	if (kind < DIGEST_NOTES)
		in->on_note(in->arg, kind, note + body, size - body);
}

/* Moves `n` bytes down to the end of what stays. */
static void digest_stream_keep(struct digest_stream_input *in, size_t *kept,
			       size_t from, size_t n)
{
	if (*kept < from)
		memmove(in->bytes + *kept, in->bytes + from, n);
	*kept += n;
}

/* One pass, however small the pieces are: a peer may send any. */
int digest_stream_sort(struct digest_stream_input *in, bool *quiet)
{
	size_t at = 0, kept = 0, size = 1, body;
	int error = SCD_OK;

	*quiet = false;
	while (at < in->len && size && !error) {
		const uint8_t *next = in->bytes + at;

		if (*next == DIGEST_STREAM_QUIET) {
			*quiet = true;
			at++;
			continue;
		}
		error = digest_stream_first(next, in->len - at, in->most,
					    &size, &body);
		if (size && digest_stream_is_note(*next))
			digest_stream_pass_note(in, next, size, body);
		else
			digest_stream_keep(in, &kept, at, size);
		at += size;
	}
	in->whole = kept;
	digest_stream_keep(in, &kept, at, in->len - at);
	in->len = kept;
	return error;
}

/*
 * The stream of a list's frames.
 */
#include "digestd/mesh/digest_stream.h"

#include <assert.h>
#include <string.h>

#include "codec/error.h"

enum { DIGEST_STREAM_AGED_SHARE = 4 }; /* of the entries: when it has gone */

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

void digest_stream_end(struct digest_stream *s)
{
	blob_unref(s->frame);
	s->frame = NULL;
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
static bool digest_stream_take(struct digest_stream *s,
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

/* Copies of the frame at hand. */
static size_t digest_stream_copy(struct digest_stream *s, uint8_t *buf,
				 size_t cap)
{
	const size_t left = s->frame->len - s->sent;
	const size_t n = left < cap ? left : cap;

	memcpy(buf, s->frame->bytes + s->sent, n);
	s->sent += n;
	if (n == left)
		digest_stream_end(s);
	return n;
}

size_t digest_stream_finish(struct digest_stream *s, void *buf, size_t cap)
{
	return s->frame ? digest_stream_copy(s, buf, cap) : 0;
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
	enum { BITS = 7, BYTES = 9 };

	*length = 0;
	*used = 0;
	for (size_t i = 1; i < len; i++) {
		*length |= (uint64_t)(bytes[i] & 0x7f) << (i - 1) * BITS;
		if (!(bytes[i] & 0x80)) {
			*used = i + 1;
			return SCD_OK;
		}
		if (i == BYTES)
			return SCD_EFORMAT;
	}
	return SCD_OK;
}

/* Takes out what says at a place that there is no frame. */
static void digest_stream_drop_quiet(uint8_t *bytes, size_t *len, size_t at)
{
	size_t n = 0;

	while (at + n < *len && bytes[at + n] == DIGEST_STREAM_QUIET)
		n++;
	*len -= n;
	if (n)
		memmove(bytes + at, bytes + at + n, *len - at);
}

int digest_stream_whole(uint8_t *bytes, size_t *len, size_t most,
			size_t *whole)
{
	size_t at = 0, head;
	uint64_t length;

	*whole = 0;
	for (;;) {
		int error;

		digest_stream_drop_quiet(bytes, len, at);
		if (at == *len)
			return SCD_OK;
		error = digest_stream_length(bytes + at, *len - at, &length,
					     &head);
		if (error)
			return error;
		if (!head)
			return SCD_OK;
		if (length > most || head + length > most)
			return SCD_ELIMIT;
		if (length > *len - at - head)
			return SCD_OK;
		at += head + (size_t)length;
		*whole = at;
	}
}

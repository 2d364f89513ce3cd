/*
 * The stream of a list's frames: a response that goes on, to which a node adds
 * each frame as it publishes it (PROTOCOL.md, "A stream of frames"). Here are a
 * reader's place in it, and how its reader tells frames apart. Without I/O.
 *
 * A reader costs no memory but its place: what it has not taken yet is in the
 * publication of the moment, for as long as frames lead from where it is. When
 * they do not, or are more than a full digest, the stream is over, and its
 * reader asks for the digest.
 */
#ifndef DIGESTD_MESH_DIGEST_STREAM_H
#define DIGESTD_MESH_DIGEST_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "digestd/mesh/digest_answer.h"

/* A reader's place. */
struct digest_stream {
	uint64_t instance, generation; /* what it has with the frame below */
	struct blob *frame; /* of which it has the first `sent` bytes */
	size_t sent;
	bool aged;       /* it has ages, so frames by age are for it */
	bool takes_ages; /* it has none, and gets them when they pay */
	uint64_t gone;   /* entries that the stream has told to go */
};

/*
 * Begins a stream: *answer is what digest_answer_to() gave for an ask that
 * takes streams, as p is. False: it is to be answered so, and not by a stream,
 * as it is a full digest, or about an array, or nobody is kept waiting.
 */
bool digest_stream_begin(struct digest_stream *s, const struct digest_ask *ask,
			 const struct publication *p,
			 const struct digest_answer *answer);

/* Releases a frame that was begun. */
void digest_stream_end(struct digest_stream *s);

/*
 * Copies what comes next, as far as `cap` (> 0) bytes, of one frame or several,
 * while p is the current publication. Returns their number; 0: the reader has
 * all, or, by *over, nothing leads on.
 */
size_t digest_stream_read(struct digest_stream *s, const struct publication *p,
			  void *buf, size_t cap, bool *over);

/* The same of the frame at hand alone, where the stream is to end. 0: there is
 * none of which the reader has got a part. */
size_t digest_stream_finish(struct digest_stream *s, void *buf, size_t cap);

/* The byte that says, where a frame would begin, that there is none: the
 * reader has what is current. */
enum { DIGEST_STREAM_QUIET = 0 };

/*
 * The other side: how many of *len bytes are whole frames, from the first on.
 * Their content is not looked at. Those that say that there is none are taken
 * out, so that *len may be less then. `most`: bytes of a frame. Errors:
 * SCD_EFORMAT, a length that is none; SCD_ELIMIT, a frame of more bytes than
 * that.
 */
int digest_stream_whole(uint8_t *bytes, size_t *len, size_t most,
			size_t *whole);

#endif

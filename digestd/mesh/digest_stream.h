/*
 * The stream of a list's frames: a response that goes on, to which a node adds
 * each frame as it publishes it (PROTOCOL.md, "A stream of frames"). Here are a
 * reader's place in it, and how its reader tells frames apart. Without I/O.
 *
 * A reader costs no memory but its place: what it has not taken yet is in the
 * publication of the moment, for as long as frames lead from where it is. When
 * they do not, or are more than a full digest, the stream is over, and its
 * reader asks for the digest.
 *
 * Between two frames there may be notes: what else the node has to say to its
 * reader. Of each kind one at most waits to be read; a newer one takes its
 * place.
 */
#ifndef DIGESTD_MESH_DIGEST_STREAM_H
#define DIGESTD_MESH_DIGEST_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "digestd/mesh/digest_answer.h"

/* Kinds of notes, with what the body of each is. */
enum digest_note {
	DIGEST_NOTE_NODE,     /* the value of Scd-Node */
	DIGEST_NOTE_SUSPECTS, /* the value of Scd-Suspects */
	DIGEST_NOTE_INVALIDATIONS,   /* a ticket, and a message (heard.h) */
	DIGEST_NOTE_ACKNOWLEDGEMENT, /* its ticket, and the answer to it; none:
				      * it is still being applied */
};

enum {
	DIGEST_NOTES = DIGEST_NOTE_ACKNOWLEDGEMENT + 1,
	/* Types of the note that kinds have, and of such as there may be once:
	 * who does not know one leaves it out. Frames of a list have lower
	 * types. */
	DIGEST_NOTE_TYPE = 16,
	DIGEST_NOTE_TYPE_END = 128,
	DIGEST_NOTE_HEAD_BYTES = 10, /* type and length, at most */
	DIGEST_NOTE_MAX = 32768,     /* a reader takes one of so many bytes */
};

/* Makes a note of `len` bytes (at most UINT32_MAX). Null: no memory. */
struct blob *digest_note_make(enum digest_note kind, const void *body,
			      size_t len);

/* A reader's place. */
struct digest_stream {
	uint64_t instance, generation; /* what it has with the frame below */
	struct blob *frame; /* or note; it has the first `sent` bytes of it */
	size_t sent;
	struct blob *notes[DIGEST_NOTES]; /* that come next; null: none */
	bool is_note;     /* `frame` is one */
	size_t noted;     /* bytes of notes that were read so far */
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

/* Has a note, of which one use becomes its own, read behind the frame or note
 * at hand, in place of one of that kind that was to be. */
void digest_stream_add(struct digest_stream *s, enum digest_note kind,
		       struct blob *note);

/* Releases what it holds. */
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

/* The other side: what has come of a stream. */
struct digest_stream_input {
	uint8_t *bytes;
	size_t len;
	size_t most;  /* bytes of a frame */
	size_t whole; /* the first so many bytes are whole frames */
	/* Is called for each note; it does not touch the input. */
	void (*on_note)(void *arg, enum digest_note kind, const uint8_t *body,
			size_t len);
	void *arg;
};

/*
 * Finds out how much of it is whole frames, whose content is not looked at.
 * What says that there is none, and notes once they are whole, are taken out.
 * Returns SCD_OK; SCD_EFORMAT, a length that is none; SCD_ELIMIT, a frame or
 * note of more bytes than `most`. *quiet: it was said that there is none.
 */
int digest_stream_sort(struct digest_stream_input *in, bool *quiet);

#endif

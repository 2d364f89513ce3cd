/*
 * What a node answers to a request for its digest (PROTOCOL.md, "The current
 * digest"): a decision, without I/O.
 */
#ifndef DIGESTD_MESH_DIGEST_ANSWER_H
#define DIGESTD_MESH_DIGEST_ANSWER_H

#include <stdbool.h>
#include <stdint.h>

#include "digestd/mesh/generations.h"

/* A generation of an instance, as an entity tag names it. */
struct digest_tag {
	uint64_t instance, generation;
	bool list; /* the list of it; or the array */
};

enum {
	DIGEST_ASK_BASES = 8,
	DIGEST_ARRAY_WAIT_S = 5, /* while an array is made */
};

/* What somebody who asks has, and takes. */
struct digest_ask {
	struct digest_tag tags[DIGEST_ASK_BASES];
	unsigned ntags;
	struct delta_forms takes; /* of arrays */
	bool takes_lists;  /* and prefers them */
	bool takes_frames; /* of lists */
	bool takes_stream; /* of them, as they are published: digest_stream.h
			    */
	bool takes_aged;   /* of lists whose ages it has */
	bool takes_ages;   /* it has none, and wants them */
	int64_t wait_s; /* for something new; 0: it does not wait, but for the
			 * first array */
};

enum digest_answer_kind {
	DIGEST_ANSWER_NONE,      /* there is no generation yet */
	DIGEST_ANSWER_NO_ARRAY,  /* there is one, but of lists only */
	DIGEST_ANSWER_WAIT,      /* for the next, or the first with an array,
				  * wait_s at most; then again */
	DIGEST_ANSWER_UNCHANGED, /* it has the current one */
	DIGEST_ANSWER_DELTA,     /* from a generation that it has */
	DIGEST_ANSWER_FULL,
};

struct digest_answer {
	enum digest_answer_kind kind;
	int64_t wait_s;    /* to wait */
	uint64_t from;     /* of a delta */
	bool conditional;  /* its form */
	bool list;         /* it is about the list; or the array */
	size_t step;       /* delta of a list: the first one */
	bool aged;         /* its frames are by age where that is smaller */
	bool ages;         /* before them, the ages of `from`; then step may
			    * be nsteps */
	struct blob *blob; /* the body; borrowed from the publication. Null:
			    * the delta of a list, digest_answer_frames() */
};

/*
 * The answer as long as p is the current publication; null: there is none yet.
 * max_wait_s bounds what is waited; 0: nobody is kept waiting any more, or the
 * time is over.
 */
struct digest_answer digest_answer_to(const struct digest_ask *ask,
				      const struct publication *p,
				      int64_t max_wait_s);

/* The body of a delta of a list, with one user more. Null: no memory. */
struct blob *digest_answer_frames(const struct digest_answer *answer,
				  const struct publication *p);

#endif

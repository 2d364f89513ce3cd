/*
 * A strict reader of responses: what the node sends to clients must be one
 * well-formed message after the other.
 */
#ifndef TEST_STORM_ANSWER_H
#define TEST_STORM_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

#include "tests/storm/storm_text.h"

struct storm_answer {
	unsigned status;
	const char *head; /* the status line and the fields */
	size_t head_len;
	struct storm_text body; /* without its chunks' frames */
	bool by_close;          /* the body ends with the connection */
	size_t len;        /* of the whole message, interim ones included */
	const char *wrong; /* what is malformed */
};

enum storm_answer_state {
	STORM_ANSWER_PARTIAL,
	STORM_ANSWER_WHOLE,
	STORM_ANSWER_WRONG,
};

/*
 * Reads a message from its first byte on. head: it answers HEAD; ended: no
 * more bytes come. The fields point into the bytes. Release it with
 * storm_answer_free(), whatever came out.
 */
enum storm_answer_state storm_answer_read(struct storm_answer *a,
					  const char *in, size_t len, bool head,
					  bool ended);
void storm_answer_free(struct storm_answer *a);

/* A field's value, into `value`; false: there is none. */
bool storm_answer_field(const struct storm_answer *a, const char *name,
			char *value, size_t max);

#endif

/*
 * The feed: lines by which a cache, or a script beside it, says what it holds.
 *
 *   insert URL   the cache holds it
 *   evict URL    it does not
 *   reset        it holds nothing
 *   ack TEXT     is answered, once all before it is in the catalog, by
 *                "ack TEXT held N refused N": the URIs that are held, and those
 *                that were refused, of this sender
 *
 * Lines end with a line feed, which may have a carriage return before it; empty
 * ones are nothing. A line that is none of these is answered by
 * "error LINE: WHAT", LINE being its number from 1, and changes nothing.
 * digestd(8) has this for who writes such a script.
 */
#ifndef DIGESTD_SIDECAR_FEED_LINES_H
#define DIGESTD_SIDECAR_FEED_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "digestd/sidecar/holdings.h"

enum {
	FEED_LINE_BYTES = 16384, /* longer ones are an error */
	FEED_ACK_BYTES = 64,	 /* of the text of an ack */
	FEED_ANSWER_BYTES = 160, /* at most, with its end */
};

enum feed_word { FEED_INSERT, FEED_EVICT, FEED_RESET, FEED_ACK, FEED_NOTHING };

/* What a line says. */
struct feed_line {
	enum feed_word word;
	struct holdings_key key; /* INSERT, EVICT */
	const char *text;   /* ACK: lent, of the line */
	size_t text_len;
};

/* Reads a line without its end. Returns what is wrong with it, in English;
 * null: nothing. */
const char *feed_line_read(const struct holdings *h, const char *line,
			   size_t len, struct feed_line *out);

/* Does what a line says, with the lock of the holdings; an ack does nothing.
 * False: it was refused. */
bool feed_line_apply(struct holdings *h, const struct feed_line *line);

/* Writes the answer to an ack, with its end; returns its length. */
size_t feed_line_answer(const struct feed_line *line, uint64_t held,
			uint64_t refused, char out[FEED_ANSWER_BYTES]);

#endif

/*
 * The lines of the feed.
 */
#include "digestd/sidecar/feed_lines.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* In the order of enum feed_word. */
static const char *const feed_words[] = { "insert", "evict", "reset", "ack",
					  NULL };

/* Splits a line at its first blank; *rest is empty when there is none. */
static enum feed_word feed_line_word(const char *line, size_t len,
				     size_t *rest)
{
	const char *blank = memchr(line, ' ', len);
	size_t n = blank ? (size_t)(blank - line) : len;

	*rest = blank ? n + 1 : len;
	for (size_t i = 0; feed_words[i]; i++) {
		if (strlen(feed_words[i]) == n &&
		    !memcmp(feed_words[i], line, n))
			return (enum feed_word)i;
	}
	return FEED_NOTHING;
}

static bool feed_line_is_text(const char *text, size_t len)
{
	if (len > FEED_ACK_BYTES)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < ' ' || text[i] > '~')
			return false;
	}
	return true;
}

const char *feed_line_read(const struct holdings *h, const char *line,
			   size_t len, struct feed_line *out)
{
	size_t rest;

	*out = (struct feed_line){ .word = FEED_NOTHING };
	if (len && line[len - 1] == '\r')
		len--;
	if (!len)
		return NULL;
	out->word = feed_line_word(line, len, &rest);
	out->text = line + rest;
	out->text_len = len - rest;
	switch (out->word) {
	case FEED_INSERT:
	case FEED_EVICT:
		return holdings_key(h, out->text, out->text_len, &out->key) ?
			       "not an http or https URL" : NULL;
	case FEED_RESET:
		return out->text_len ? "reset has no argument" : NULL;
	case FEED_ACK:
		return feed_line_is_text(out->text, out->text_len) ?
			       NULL : "not a text of up to 64 characters";
	case FEED_NOTHING:
		break;
	}
	return "not insert, evict, reset or ack";
}

bool feed_line_apply(struct holdings *h, const struct feed_line *line)
{
	switch (line->word) {
	case FEED_INSERT:
		return holdings_insert(h, &line->key);
	case FEED_EVICT:
		holdings_evict(h, &line->key.own);
		break;
	case FEED_RESET:
		holdings_reset(h);
		break;
	case FEED_ACK:
	case FEED_NOTHING:
		break;
	}
	return true;
}

size_t feed_line_answer(const struct feed_line *line, uint64_t held,
			uint64_t refused, char out[FEED_ANSWER_BYTES])
{
	return (size_t)snprintf(out, FEED_ANSWER_BYTES,
				"ack %.*s held %" PRIu64 " refused %" PRIu64
				"\n", (int)line->text_len, line->text, held,
				refused);
}

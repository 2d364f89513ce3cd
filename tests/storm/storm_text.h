/*
 * Growing text, and the changes that make hostile messages out of good ones:
 * bytes changed, removed, repeated and put in, lines folded, doubled and
 * removed, the end cut off, two messages spliced. Everything follows from the
 * state of a random generator.
 */
#ifndef TEST_STORM_TEXT_H
#define TEST_STORM_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct storm_text {
	char *at;
	size_t len, cap;
};

/* Appends bytes; aborts without memory, as everything here does. */
void storm_text_add(struct storm_text *t, const void *bytes, size_t len);
void storm_text_fill(struct storm_text *t, char byte, size_t len);
void storm_text_print(struct storm_text *t, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void storm_text_free(struct storm_text *t);

/* Whether the bytes occur in the text. */
bool storm_text_has(const struct storm_text *t, const char *bytes, size_t len);

/* Changes the text in 1 to `most` places. */
void storm_text_mutate(struct storm_text *t, uint64_t *random, unsigned most);

/* A random prefix of t, then a random end of `other`. */
void storm_text_splice(struct storm_text *t, const struct storm_text *other,
		       uint64_t *random);

/* One of n strings. */
const char *storm_text_choose(uint64_t *random, const char *const *from,
			      size_t n);
#define STORM_CHOOSE(random, list)                                             \
	storm_text_choose(random, list, sizeof(list) / sizeof(*(list)))

/* True once in n times. */
bool storm_text_once_in(uint64_t *random, unsigned n);

/* Whether the bytes up to `end` are a token (RFC 9110, 5.6.2). By itself: what
 * judges the node does not ask the node's own code. */
bool storm_text_is_token(const char *at, const char *end);

#endif

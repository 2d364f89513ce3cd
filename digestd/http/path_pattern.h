/*
 * Patterns of paths: `*` stands for any bytes but a slash, `**` for any bytes,
 * everything else for itself.
 *
 * A pattern becomes an automaton whose states are bits of a word, so that a
 * path costs the same few instructions a byte whatever the pattern is; 2 KB
 * each. Source: Baeza-Yates and Gonnet, "A New Approach to Text Searching",
 * CACM 35(10), 1992.
 */
#ifndef DIGESTD_HTTP_PATH_PATTERN_H
#define DIGESTD_HTTP_PATH_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PATH_PATTERN_MAX = 63 }; /* bytes and stars of a pattern */

/* All fields are private. */
struct path_pattern {
	uint64_t at[256];  /* states in which this byte leads on */
	uint64_t within;   /* states of * */
	uint64_t anything; /* states of ** */
	uint64_t end;      /* the state behind the last */
};

/* Returns 0, or -EINVAL: it is empty, or longer than PATH_PATTERN_MAX. */
int path_pattern_init(struct path_pattern *p, const char *text);

/* Whether a text of len bytes is one of the pattern, from end to end. */
bool path_pattern_match(const struct path_pattern *p, const char *text,
			size_t len);

#endif

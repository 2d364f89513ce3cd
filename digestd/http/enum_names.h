/*
 * The words that stand for the values of an enum: their table has them in its
 * order, and ends with a null.
 */
#ifndef DIGESTD_HTTP_ENUM_NAMES_H
#define DIGESTD_HTTP_ENUM_NAMES_H

#include <string.h>

/* The value that a word stands for; -1: it is none of them. */
static inline int enum_names_find(const char *const words[], const char *word)
{
	for (int i = 0; words[i]; i++) {
		if (!strcmp(words[i], word))
			return i;
	}
	return -1;
}

#endif

/*
 * The names of the values of an enum: one table has them in the enum's order,
 * and ends with a null. From it a name is read, and what may be said is told.
 */
#ifndef DIGESTD_HTTP_ENUM_NAMES_H
#define DIGESTD_HTTP_ENUM_NAMES_H

#include <stdio.h>
#include <string.h>

/* The value that a name stands for; -1: it is none of them. */
static inline int enum_names_find(const char *const names[], const char *name)
{
	for (int i = 0; names[i]; i++) {
		if (!strcmp(names[i], name))
			return i;
	}
	return -1;
}

/* What follows a name that is none: "is not a, b or c". */
static inline void enum_names_refuse(const char *const names[], char *out,
				     size_t size)
{
	size_t at = (size_t)snprintf(out, size, "is not ");

	for (size_t i = 0; names[i] && at < size; i++)
		at += (size_t)snprintf(out + at, size - at, "%s%s",
				       !i             ? ""
				       : names[i + 1] ? ", "
						      : " or ",
				       names[i]);
}

#endif

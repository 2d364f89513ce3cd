/*
 * Reading values from the command line. What is wrong is told on stderr, with
 * the program's and the option's name.
 */
#ifndef TOOL_ARGUMENTS_H
#define TOOL_ARGUMENTS_H

#include <stdbool.h>
#include <stdint.h>

/* Tells that an option's value is not what it should be; returns false. */
bool arguments_refuse(const char *option, const char *text, const char *what);

/* A whole number, as 1000 or 1e3, with a unit of 1024 where it is a size: 64K,
 * 64M, 64G. */
bool arguments_number(const char *option, const char *text, uint64_t *out);

/* The same, of least..most. */
bool arguments_number_within(const char *option, const char *text,
			     uint64_t least, uint64_t most, uint64_t *out);

/* A number of least..most, which may be INFINITY. */
bool arguments_real(const char *option, const char *text, double least,
		    double most, double *out);

/*
 * Tells what is missing, too much or does not go together, and how the command
 * is used; returns TOOL_USAGE. A program without commands has a null for it.
 */
int arguments_wrong(const char *command, const char *what, const char *help);

#endif

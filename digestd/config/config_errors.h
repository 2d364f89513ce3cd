/*
 * What is wrong with a configuration: lines of text, in the order in which they
 * were found.
 */
#ifndef DIGESTD_CONFIG_CONFIG_ERRORS_H
#define DIGESTD_CONFIG_CONFIG_ERRORS_H

#include <stdbool.h>
#include <stddef.h>

/* One line a fault, "FILE:LINE: OPTION: what is wrong". */
struct config_errors {
	char text[16384];
	size_t len;
	bool full;
};

/* Adds to findings. What there is no room for is left out, with all that comes
 * after it and a line that says so. */
void config_report(struct config_errors *e, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif

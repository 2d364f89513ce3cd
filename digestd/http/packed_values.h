/*
 * Values of header fields that many responses have, each with a number, so that
 * they need not be kept with each of these.
 */
#ifndef DIGESTD_HTTP_PACKED_VALUES_H
#define DIGESTD_HTTP_PACKED_VALUES_H

#include <stddef.h>

/* The number of a value of so many bytes, and a NUL, 1 to 255; 0: it is not one
 * of these. */
unsigned packed_value_number(const char *value, size_t len);

/* The value with a number; null: there is none. */
const char *packed_value(unsigned number);

#endif

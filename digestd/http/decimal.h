/*
 * Numbers as text. A reply has three of them, and snprintf(), which reads its
 * format anew each time, takes 600 instructions for each: a tenth as many here.
 */
#ifndef DIGESTD_HTTP_DECIMAL_H
#define DIGESTD_HTTP_DECIMAL_H

#include <stddef.h>
#include <stdint.h>

enum { DECIMAL_BYTES = 21 }; /* of the longest, with its sign and the NUL */

/* Writes a number and a NUL; returns how many bytes it has without that. */
size_t decimal_write(int64_t number, char out[DECIMAL_BYTES]);

/* The same for a number without a sign: at most 20 digits and the NUL, which
 * are DECIMAL_BYTES, too. */
size_t decimal_write_size(uint64_t number, char *out);

#endif

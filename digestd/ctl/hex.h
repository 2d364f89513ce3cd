/*
 * Hexadecimal digits.
 */
#ifndef DIGESTD_CTL_HEX_H
#define DIGESTD_CTL_HEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The n bytes of 2 * n digits, of either case. False if there are others; out
 * is undefined then. */
bool hex_bytes(const char *digits, size_t n, uint8_t *out);

#endif

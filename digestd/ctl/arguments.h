/*
 * Reading values from the command line. What is wrong is told on stderr, with
 * the option's name.
 */
#ifndef DIGESTD_CTL_ARGUMENTS_H
#define DIGESTD_CTL_ARGUMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "codec/key.h"

/* A whole number, with a unit of 1024 where it is a size: 64K, 64M, 64G. */
bool arguments_number(const char *option, const char *text, uint64_t *out);

/* A number within min..max. */
bool arguments_real(const char *option, const char *text, double max,
		    double *out);

/* The 32 hexadecimal digits of a cluster key; *secret is its hash secret. */
bool arguments_key(const char *text, uint8_t secret[SCD_SECRET_BYTES]);

/* How positions derive from keys: "double" or "squid". */
bool arguments_hashing(const char *text, enum scd_hashing *out);

/* Tells that there is too much or too little; returns CTL_USAGE. */
int arguments_wrong(const char *command, const char *help);

#endif

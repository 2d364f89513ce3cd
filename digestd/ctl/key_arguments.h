/*
 * Values on the command line that say how keys are made and hashed. What is
 * wrong is told on stderr.
 */
#ifndef DIGESTD_CTL_KEY_ARGUMENTS_H
#define DIGESTD_CTL_KEY_ARGUMENTS_H

#include "codec/key.h"
#include "digestd/tool/arguments.h"

/* The 32 hexadecimal digits of a cluster key; *secret is its hash secret. */
bool arguments_key(const char *text, uint8_t secret[SCD_SECRET_BYTES]);

/* How positions derive from keys: "double" or "squid". */
bool arguments_hashing(const char *text, enum scd_hashing *out);

#endif

/*
 * The cluster key on the command line.
 */
#ifndef DIGESTD_CTL_KEY_ARGUMENTS_H
#define DIGESTD_CTL_KEY_ARGUMENTS_H

#include "codec/key.h"
#include "digestd/tool/arguments.h"

/* The 32 hexadecimal digits of a cluster key; *secret is its hash secret.
 * False: it is none, which was told. */
bool arguments_key(const char *text, uint8_t secret[SCD_SECRET_BYTES]);

#endif

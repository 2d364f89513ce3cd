/*
 * Squid's digests as the commands read and write them: files like those of
 * digest_open.h, with errors in words of their own.
 */
#ifndef DIGESTD_CTL_DIGEST_SQUID_H
#define DIGESTD_CTL_DIGEST_SQUID_H

#include <stdbool.h>

#include "digestd/ctl/digest_open.h"

/* Whether a file that was read may be one: no scd digest begins with 0. */
bool digest_squid_maybe(const struct digest_open *d);

/*
 * Checks and decodes one that was read: filter and header, as those of a full
 * digest of instance 1 and generation 1. Told if it is none, and an exit code
 * returned; *d is the caller's to close.
 */
int digest_squid_open(struct digest_open *d);

/*
 * Writes the filter as one of Squid's. Of d->squid, capacity and entry_bits
 * are read, 0 for what is to be found (codec/squid.h). An exit code.
 */
int digest_squid_write(const struct digest_open *d, const char *output);

#endif

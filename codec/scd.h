/*
 * libscd: Summary Cache digests. This header brings in all the others; each
 * of them may be included alone.
 *
 * The library is pure: it does no I/O, reads no clock, starts no thread and
 * keeps no global state. Any function may be called from any thread as long as
 * no two threads change the same object at a time, and nobody uses what another
 * changes, but for a peer index (index.h) and an admission filter
 * (admission.h).
 *
 * Room to grow. Structures that the caller allocates end with reserved words,
 * which are zero; initialize all of a structure, as "= {0}" or a list of named
 * members does. Later versions may give them a meaning, with zero for what is
 * so today. They may also add values to enumerations.
 */
#ifndef SCD_H
#define SCD_H

#include "admission.h"
#include "bloom.h"
#include "counting.h"
#include "delta.h"
#include "digest.h"
#include "error.h"
#include "index.h"
#include "key.h"
#include "squid.h"
#include "tune.h"
#include "uri.h"
#include "version.h"

#endif

/*
 * libscd: Summary Cache digests, for C11 and C++11. A cache keeps a filter of
 * the keys that it holds (counting.h), publishes it as a digest (digest.h) and
 * then as deltas (delta.h), and asks the digests of its peers, one by one
 * (bloom.h) or all at once (index.h), before it goes to an origin. Lists of
 * fingerprints (list.h) are another form of the same, and have a table for all
 * at once (table.h), or one that other processes read (shared_table.h). tune.h
 * finds the sizes. This header brings in all the others; each may be included
 * alone.
 *
 * Threads. The library does no I/O, reads no clock, starts no thread and keeps
 * no global state. A program may lend it threads (threads.h). Any function may
 * be called from any thread. Two threads must not use an object at a time if
 * one of them changes it; index.h, table.h and admission.h say what they allow
 * beyond that.
 *
 * Errors. A function that can fail returns int: 0, or a negative code
 * (error.h). Unless its comment says otherwise, it then leaves everything that
 * its arguments point to as it was. Pointers must not be null where the comment
 * does not allow it; assert() catches much of what breaks such a rule.
 *
 * Memory. What is const is borrowed for the call. What a function makes, the
 * caller releases, with the function that the comment names.
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
#include "list.h"
#include "shared_table.h"
#include "squid.h"
#include "table.h"
#include "threads.h"
#include "tune.h"
#include "uri.h"
#include "version.h"

#endif

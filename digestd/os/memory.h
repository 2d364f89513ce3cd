/*
 * The memory of this process: its ledger, and what the system says of it.
 *
 * The ledger knows what is allocated for clients, origins and peers; the rest,
 * from the program to what the allocator keeps of what was freed, is measured
 * now and then. Without memory_limit() there is no limit.
 */
#ifndef DIGESTD_OS_MEMORY_H
#define DIGESTD_OS_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "digestd/store/ledger.h"

extern struct ledger memory_ledger;

/* Sets the limit [bytes]; from one thread. */
void memory_limit(uint64_t bytes);

/*
 * Adds to LEDGER_objects, or returns. Threads that store and evict would write
 * the ledger's cache line all the time, so one may say that it counts in a
 * batch: the ledger is then told of up to LEDGER_TOKEN_BYTES later, and of all
 * when the batch ends. Both are about the calling thread.
 */
void memory_count_object(int64_t bytes);
void memory_batch(bool batch);

/*
 * What is taken to save work later leaves a quarter of the limit to what has to
 * be there now.
 */
uint64_t memory_reserve(void);

/*
 * Measures what the ledger does not know, LEDGER_other; when the process is
 * near its limit, gives what was freed back to the system, once a second. To be
 * called several times a second, from one thread.
 */
void memory_measure(int64_t now_ms);

#endif

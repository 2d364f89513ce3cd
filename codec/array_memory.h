/*
 * Memory for arrays. Large ones are laid onto huge pages where the system has
 * them: memory that is new costs a fault for each page of 4 KiB, which for a
 * digest takes longer than decoding it does, and lookups, which go anywhere,
 * find their pages more often.
 */
#ifndef SCD_ARRAY_MEMORY_H
#define SCD_ARRAY_MEMORY_H

#include <stddef.h>

enum { SCD__HUGE_PAGE = 1 << 21 };

/*
 * What is taken from the system for an array of len bytes: len, or whole huge
 * pages if these are no more than a quarter of it above.
 */
size_t scd__array_memory_size(size_t len);

/* len > 0 bytes, to be released with free(); null: none left. What they are is
 * undefined, or zero. */
void *scd__array_memory(size_t len);
void *scd__array_memory_zeros(size_t len);

#endif

/*
 * Seeds of worlds that have failed, and what they have shown: each is run again
 * whenever no seeds are asked for.
 */
#ifndef TESTS_WORLD_FAILED_ONCE_H
#define TESTS_WORLD_FAILED_ONCE_H

#include <stddef.h>
#include <stdint.h>

extern const uint64_t failed_once[];
extern const size_t failed_once_count;

#endif

/*
 * The table that compares the kinds of digests (codec/kind/kind.h): what each
 * needs on the wire and in memory for a rate of false positives, and how fast
 * it is. Nothing in it is predicted: keys are added, bytes encoded and decoded,
 * keys looked up in what comes of it.
 */
#ifndef DIGESTD_BENCH_KIND_TABLE_H
#define DIGESTD_BENCH_KIND_TABLE_H

#include <stdbool.h>
#include <stdint.h>

enum { KIND_TABLE_MAX_KEYS = 1 << 28 };

/*
 * Prints it for nkeys (1..KIND_TABLE_MAX_KEYS) random keys of a seed; takes
 * some 80 bytes of memory a key. Times are the best of seven. json: as a list
 * of measurements. Returns an exit code.
 */
int kind_table_print(uint64_t nkeys, uint64_t seed, bool json);

#endif

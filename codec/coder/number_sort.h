/*
 * Sorting numbers that are spread evenly, as hashes are: by their bytes.
 */
#ifndef SCD_NUMBER_SORT_H
#define SCD_NUMBER_SORT_H

#include <stddef.h>
#include <stdint.h>

/*
 * Sort n numbers, none above max, in ascending order. Takes as much memory
 * again for the while, if they are more than a few. SCD_ENOMEM: they are in the
 * order in which they were.
 * Source: Knuth, "The Art of Computer Programming", 3, 5.2.5: radix sorting
 * from the lowest digit on; here of 8 bits.
 */
int scd__number_sort(uint64_t *numbers, size_t n, uint64_t max);

#endif

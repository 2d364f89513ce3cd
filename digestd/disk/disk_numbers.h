/*
 * The numbers that files have for names: gathered from folders, then sorted and
 * searched.
 */
#ifndef DIGESTD_DISK_DISK_NUMBERS_H
#define DIGESTD_DISK_DISK_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero at first; `at` is to be freed. */
struct disk_numbers {
	uint64_t *at;
	size_t n, cap;
};

/*
 * Adds the numbers of a folder, which is named relative to another one: those
 * for which read(name, folder, &number) is true. Returns 0 or a negative errno,
 * and then some may have been added.
 */
int disk_numbers_add_folder(struct disk_numbers *numbers, int base,
			    const char *folder,
			    bool (*read)(const char *name, const char *folder,
					 uint64_t *number));

/* Brings them in ascending order. */
void disk_numbers_sort(struct disk_numbers *numbers);

/* Where a number is among n in that order; null: nowhere. */
const uint64_t *disk_numbers_find(const uint64_t *at, size_t n,
				  uint64_t number);

#endif
